"""The columns of exported tables and what their cells hold, before they are written or made unreadable."""

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

Kind = Literal["text", "int", "float", "bool", "time", "list"]
Holds = Literal["", "person", "username", "user id", "people", "post", "posts", "prose", "words", "node", "why", "own"]


IDENTIFYING = ("user id", "post", "posts", "node")
"""What columns hold whose cells are ids, as `Column.holds` says it."""


class Column(NamedTuple):
    """A column: its name, type, and what it holds about people.

    Times are ISO 8601 text, lists are lists of texts. `holds` says what a cell is:

    - person: a `Person`, shown by username, or by id without one; username, user id: one, shown by that.
    - people: a list of persons.
    - post, posts: ids of posts. prose, words: a text, a list of texts. node: account.node. why: `Outcome.missing`.
    - own: what only an export that names people has.
    """

    name: str
    kind: Kind = "text"
    holds: Holds = ""

    @property
    def is_id(self) -> bool:
        """Whether its cells only name something: numbers in it are not to be reckoned with, and lose no digit."""
        return self.holds in IDENTIFYING


class Person(NamedTuple):
    """An account as rows name it: the platform's own id, username, display name."""

    id: str | None
    username: str | None
    name: str | None = None

    @property
    def display_name(self) -> str | None:
        """The username, or the id where there is none."""
        return self.username or self.id


NAMES: dict[str, Callable[[Any], Any]] = {
    "person": lambda person: person.display_name,
    "username": lambda person: person.username,
    "user id": lambda person: person.id,
    "people": lambda people: [person.display_name for person in people],
}
"""What is shown of cells that hold people, by what they hold."""


def name_people(columns: tuple[Column, ...], rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return rows with people as what they are called."""
    named = [(place, NAMES[column.holds]) for place, column in enumerate(columns) if column.holds in NAMES]
    shown = []
    for row in rows:
        cells = list(row)
        for place, name in named:
            cells[place] = name(cells[place])
        shown.append(tuple(cells))
    return shown
