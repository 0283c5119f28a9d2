"""Rows without names: usernames and ids become keyed hashes, texts lose every name that can be told from a word."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Column as Field
from sqlalchemy import MetaData, Table, Text, select

from socialcrawl.engine.model import SAME_AS
from socialcrawl.exporters.columns import NAMES, Column, Person
from socialcrawl.exporters.pseudonyms import Pseudonyms
from socialcrawl.exporters.selection import ExportSelection
from socialcrawl.exporters.text_redaction import SHORT, KnownNames, split_words
from socialcrawl.storage.database.bulk import Lookup, make_insert, match_keys
from socialcrawl.storage.schema.tables import account


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
    for rows in choice.reader.execute(query).partitions():
        keep.run([(name,) for row in rows if (name := " ".join(split_words(row.name)[:SHORT]))])
    return select(names.c.name).where(match_keys(choice.reader, names.c.name))
