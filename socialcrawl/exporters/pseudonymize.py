"""Rows without names: usernames and ids become keyed hashes, texts lose every name that can be told from a word.

The same key makes the same names again; without it nobody can try names out. It is kept nowhere: in no database,
export or log. In texts names are hidden wherever they stand, or only where they are no ordinary words:

- always: `@name`, whoever that is; addresses of the web down to their host, as they lead to profiles and posts; mail
  addresses; numbers of 15 digits or more, also within a word, as ids of posts and people are; ids of known people;
- everybody's usernames that have a digit or `_` or 8 letters or more, and everybody's display names of two words or
  more, or of one such word;
- the usernames and display names, whatever they are, of the author and of those whom the post mentions.

So the word jazz stays although somebody is called @jazz, except in what @jazz writes and in what mentions @jazz.
"""

import re
from base64 import b32encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from sqlalchemy import Column as Field
from sqlalchemy import MetaData, Table, Text, select

from socialcrawl.engine.model import SAME_AS
from socialcrawl.errors import SettingsError
from socialcrawl.exporters.columns import NAMES, Column, Person
from socialcrawl.exporters.selection import ExportSelection
from socialcrawl.storage.database.bulk import Lookup, make_insert, match_keys
from socialcrawl.storage.schema.tables import account

SHORTEST = 16  # bytes of a key
REMEMBERED = 200_000  # pseudonyms, as the same people come again and again
LETTERS = 14  # 70 bits: among 10,000,000 people the chance that two share a pseudonym is below 1 in 10,000,000


class Pseudonyms:
    """Names made of a key: equal for equal people in every table, and for equal posts.

    Raises:
        SettingsError: the key is shorter than SHORTEST bytes.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) < SHORTEST:
            raise SettingsError(
                f"The key for pseudonyms has {len(key)} bytes: give one of at least {SHORTEST}, such as the output of "
                "`openssl rand -hex 32`."
            )
        self._key = blake2b(key, digest_size=64, person=b"socialcrawl").digest()
        self._letters = lru_cache(REMEMBERED)(self._make_name)

    def name_person(self, who: Person) -> str | None:
        """Return the pseudonym of an account, shaped like a username.

        By its id, or by its name where no id is known.
        """
        if who.id is None and who.username is None:
            return None
        return "u" + self._letters(f"user {who.id}" if who.id is not None else f"name {str(who.username).lower()}")

    def name_post(self, key: str) -> str:
        """Return the pseudonym of a post."""
        return "p" + self._letters(f"post {key}")

    def name_node(self, node: int) -> int:
        """Return the pseudonym of account.node, up to 2^62; queries keep their negative numbers."""
        return node if node < 0 else int.from_bytes(self._hash(f"node {node}")) >> 2

    def _hash(self, text: str) -> bytes:
        return blake2b(text.encode(), digest_size=8, key=self._key).digest()

    def _make_name(self, text: str) -> str:
        digest = blake2b(text.encode(), digest_size=10, key=self._key).digest()
        return b32encode(digest).decode().lower()[:LETTERS]


SHORT = 5  # words of a display name that are looked for; the rest of a longer one goes with them
LONG_WORD = 8  # letters from which on a username is hidden everywhere
NAME = "[name]"

WORD = re.compile(r"\w+")
# A mail address, an address, a name after @ (also as in an address, %40, and as wide as Chinese letters are), a long
# number. Lengths are bounded: a text of one long word must not take its square.
MARKED = re.compile(
    r"(?P<mail>[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,5}\w{2,})"
    r"|(?:https?|ftp)://(?P<host>[^\s/?#\"'<>]*)[^\s\"'<>]*"
    r"|(?P<bare>(?:[\w-]{1,63}\.){1,5}[a-z]{2,18})/[^\s\"'<>]+"
    r"|(?:[@\uff20]|%40)(?P<name>\w+)"
    r"|(?P<number>\d{15,})",
    re.IGNORECASE,
)


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case: letters, digits and `_`."""
    return [word.lower() for word in WORD.findall(text)]


class KnownNames:
    """The people who could be named in some texts.

    Args:
        pseudonyms: who is called what.
        handles: people by username in lower case.
        ids: people by the platform's id.
        names: display names, as words in lower case with one blank between.
    """

    def __init__(
        self, pseudonyms: Pseudonyms, handles: Mapping[str, Person], ids: Mapping[str, Person], names: set[str]
    ) -> None:
        self.pseudonyms, self.handles, self.ids = pseudonyms, handles, ids
        self._all_names = names
        self._names = {name for name in names if " " in name or _is_unmistakable(name)}
        self._near: dict[str, Person] = {}

    def add_people(self, people: Sequence[Person]) -> "KnownNames":
        """Return the same names, where a text is about these people: their names are hidden in all cases."""
        made = KnownNames(self.pseudonyms, self.handles, self.ids, self._all_names)
        for person in people:
            if person.username:
                made._near[person.username.lower()] = person
            if person.name and (words := split_words(person.name)[:SHORT]):
                made._names.add(" ".join(words))
        return made

    def hide_names(self, text: str) -> str:
        """Return the text without names."""
        parts, end = [], 0
        for match in MARKED.finditer(text):
            parts += [self._hide_words(text[end : match.start()]), self._replace_marked(match)]
            end = match.end()
        return "".join([*parts, self._hide_words(text[end:])])

    def _replace_marked(self, match: re.Match[str]) -> str:
        if match["mail"]:
            return "[mail]"
        if name := match["name"]:
            return f"@{self.pseudonyms.name_person(self.handles.get(name.lower()) or Person(None, name))}"
        if number := match["number"]:
            who = self.ids.get(number)
            return self.pseudonyms.name_post(number) if who is None else str(self.pseudonyms.name_person(who))
        if match["bare"]:
            return self._hide_words(match["bare"]) + "/…"
        return match[0].split("://", 1)[0] + "://" + self._hide_words(match["host"].rpartition("@")[2]) + "/…"

    def _hide_words(self, text: str) -> str:
        """Return a text without marked names: the words that are names are replaced, the rest stays as it is."""
        found = list(WORD.finditer(text))
        low = [match[0].lower() for match in found]
        parts, end, place = [], 0, 0
        while place < len(found):
            shown, length = self._find_name(low, place)
            if shown is not None:
                parts += [text[end : found[place].start()], shown]
                end = found[place + length - 1].end()
            place += length
        return "".join([*parts, text[end:]])

    def _find_name(self, words: list[str], place: int) -> tuple[str | None, int]:
        """Return what stands for the name that begins at a word, or None, and how many words that is."""
        for length in range(min(SHORT, len(words) - place), 1, -1):
            if " ".join(words[place : place + length]) in self._names:
                return NAME, length
        word = words[place]
        if (person := self._near.get(word)) or (_is_unmistakable(word) and (person := self.handles.get(word))):
            return self.pseudonyms.name_person(person), 1
        if (who := self.ids.get(word)) is not None:
            return self.pseudonyms.name_person(who), 1
        return NAME if word in self._names else None, 1


def _is_unmistakable(word: str) -> bool:
    return len(word) >= LONG_WORD or "_" in word or any(letter.isdigit() for letter in word)


class Pseudonymizer:
    """The rows of tables, some at a time, without anything that names a person.

    Args:
        choice: what is exported.
        pseudonyms: who is called what.
    """

    def __init__(self, choice: ExportSelection, pseudonyms: Pseudonyms) -> None:
        self.pseudonyms = pseudonyms
        who = (account.c.platform_id, account.c.username, account.c.name)
        # Of several accounts that had a name the last one counts, as everywhere: see `nodes.Nodes`.
        rank = (account.c.platform_id.is_not(None), account.c.profile_at.nulls_first(), account.c.node.desc())
        by_name = select(account.c.handle, *who).where(match_keys(choice.reader, account.c.handle))
        self._by_name = Lookup(choice.reader, by_name.order_by(*rank))
        self._by_id = Lookup(choice.reader, select(*who).where(match_keys(choice.reader, account.c.platform_id)))
        self._names = Lookup(choice.reader, _create_name_table(choice))

    def hide_rows(self, columns: tuple[Column, ...], rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Return rows with pseudonyms for people and posts, and with texts that name nobody."""
        held = [(place, column.holds) for place, column in enumerate(columns) if column.holds]
        people = [place for place, holds in held if holds in NAMES]
        known = self.find_names(_list_texts(held, rows))
        has_text = any(holds in ("prose", "words") for _, holds in held)
        hidden = []
        for row in rows:
            here = (
                known.add_people([person for place in people for person in _list_people(row[place])])
                if has_text
                else known
            )
            cells = list(row)
            for place, holds in held:
                cells[place] = None if cells[place] is None else self._hide_cell(holds, cells[place], here)
            hidden.append(tuple(cells))
        return hidden

    def hide_text(self, text: str) -> str:
        """Return one text that names nobody."""
        return self.find_names([text]).hide_names(text)

    def find_names(self, texts: Iterable[str]) -> KnownNames:
        """Return who of all that are known could be named in these texts."""
        texts = list(texts)
        words = {word for text in texts for word in split_words(text)}
        phrases = {phrase for text in texts for phrase in _iterate_phrases(text)}
        handles = {row[0]: Person(*row[1:]) for row in self._by_name.fetch_rows(sorted(words))}
        by_id = {
            row[0]: Person(*row) for row in self._by_id.fetch_rows(sorted(word for word in words if word.isdigit()))
        }
        names = {row[0] for row in self._names.fetch_rows(sorted(phrases))}
        return KnownNames(self.pseudonyms, handles, by_id, names)

    def _hide_cell(self, holds: str, cell: Any, known: KnownNames) -> Any:
        match holds:
            case "person" | "username" | "user id":
                return self.pseudonyms.name_person(cell)
            case "people":
                return [self.pseudonyms.name_person(person) for person in cell]
            case "post":
                return self._hide_post(cell, known)
            case "posts":
                return [self.pseudonyms.name_post(key) for key in cell]
            case "prose":
                return known.hide_names(cell)
            case "words":
                return [known.hide_names(word) for word in cell]
            case "node":
                return self.pseudonyms.name_node(cell)
            case "why":
                return self._hide_reason(cell)
        return None  # what only an export that names people has

    def _hide_reason(self, text: str) -> str:
        """Return a reason, or a state of an account, with the pseudonym of the account that it may name."""
        if not text.startswith(SAME_AS):
            return text
        return SAME_AS + str(self.pseudonyms.name_node(int(text.removeprefix(SAME_AS))))

    def _hide_post(self, key: str, known: KnownNames) -> str | None:
        """Return the pseudonym of a post; files that were imported may name an author where a post is answered."""
        if key.lower() in known.handles and not key.isdigit():
            return self.pseudonyms.name_person(known.handles[key.lower()])
        return self.pseudonyms.name_post(key)


def _list_people(cell: Any) -> Iterable[Person]:
    return [cell] if isinstance(cell, Person) else cell


def _list_texts(held: Iterable[tuple[int, str]], rows: Sequence[tuple[Any, ...]]) -> Iterator[str]:
    for place, holds in held:
        if holds in ("prose", "post"):
            yield from (row[place] for row in rows if row[place] is not None)
        elif holds == "words":
            yield from (word for row in rows for word in row[place] or ())


def _iterate_phrases(text: str) -> Iterator[str]:
    """Yield the runs of one to SHORT words in a text."""
    words = split_words(text)
    for start in range(len(words)):
        for length in range(1, SHORT + 1):
            yield " ".join(words[start : start + length])


def _create_name_table(choice: ExportSelection) -> Any:
    """Return the table of display names, made for this export, and the question which of some phrases are in it."""
    names = Table("export_name", MetaData(), Field("name", Text, primary_key=True), prefixes=["temporary"])
    names.create(choice.reader, checkfirst=False)
    keep = make_insert(choice.reader, names, ("name",), "ignore")
    query = select(account.c.name).where(account.c.name.is_not(None)).execution_options(yield_per=10_000)
    for rows in choice.reader.execute(query).partitions(10_000):
        keep.run([(name,) for row in rows if (name := " ".join(split_words(row.name)[:SHORT]))])
    return select(names.c.name).where(match_keys(choice.reader, names.c.name))
