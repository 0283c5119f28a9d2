"""Which endpoint a path fits: templates with names (`:id`) and rests (`*rest`); words go before names before rests."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from socialcrawl.errors import MockError

T = TypeVar("T")


@dataclass
class _Step(Generic[T]):
    """What may follow one part of a path: a certain word, any word, anything; and what ends here, by method."""

    words: dict[str, "_Step[T]"] = field(default_factory=dict)
    any_word: "_Step[T] | None" = None
    rest: dict[str, T] = field(default_factory=dict)
    ends: dict[str, T] = field(default_factory=dict)


class Routes(Generic[T]):
    """What stands at each (method, template); HEAD is answered where GET is."""

    def __init__(self) -> None:
        self._root: _Step[T] = _Step()

    def add(self, method: str, template: str, what: T) -> None:
        """One more endpoint, as `/2/users/:id` or `/*rest`.

        Raises:
            MockError: it is taken.
        """
        step, parts = self._root, template.strip("/").split("/")
        for part in parts:
            if part.startswith("*"):
                break
            if part.startswith(":"):
                step.any_word = step.any_word or _Step()
                step = step.any_word
            else:
                step = step.words.setdefault(part, _Step())
        here = step.rest if parts[-1].startswith("*") else step.ends
        if method in here:
            raise MockError(f"Two platforms of the mock have the endpoint {method} {template}; remove one of them.")
        here[method] = what

    def find(self, method: str, path: str) -> tuple[T, list[str]] | None:
        """Return what stands at a path, and the parts that its template names, in their order.

        None where nothing does.
        """
        parts = path.removeprefix("/").split("/")
        return _find(self._root, method, parts, 0)


def _find(step: _Step[T], method: str, parts: list[str], at: int) -> tuple[T, list[str]] | None:
    if at == len(parts):
        what = _at(step.ends, method)
        if what is not None:
            return what, []
    else:
        word = step.words.get(parts[at])
        found = None if word is None else _find(word, method, parts, at + 1)
        if found is None and step.any_word is not None and parts[at]:
            found = _find(step.any_word, method, parts, at + 1)
            if found is not None:
                found[1].insert(0, parts[at])
        if found is not None:
            return found
    what = _at(step.rest, method)
    return None if what is None else (what, ["/".join(parts[at:])])


def _at(here: dict[str, T], method: str) -> T | None:
    return here.get("GET") if method == "HEAD" and "HEAD" not in here else here.get(method)
