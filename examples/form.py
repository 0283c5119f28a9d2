"""Deep-web siphoning: a database behind a search form, emptied keyword by keyword (section 2.2).

A keyword that was found in a record is the next that may be submitted. The value of a keyword is the number of records
it returns, also those that another keyword has returned before: beta is the paper's, defined on single nodes.
"""

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from examples.asking import Asking, Own, answered, silent
from socialcrawl.engine.model import Grant, Reply
from socialcrawl.errors import SettingsError
from socialcrawl.graph.relevance import fold

_WORD = re.compile(r"[^\W\d_]{3,}")


class Form(Asking):
    """The keywords of a search form as a source: one request for each page of results.

    A step of the crawl is a keyword; it takes 1 to `pages` requests, as many as its results fill. So n requests are
    between n / pages and n steps, and exactly n where `pages` is 1.
    """

    def __init__(self, pages: int = 1) -> None:
        super().__init__("form", float, pages)


class FormWire:
    """A search form over an SQLite full-text table (FTS5), which is only read.

    Args:
        database: the SQLite file.
        table: the full-text table in it; all its columns are shown in the results.
        limit: the records on one page of results, in the order of their rowid.
        stop: words that are not submitted.

    Raises:
        SettingsError: the file cannot be read, or has no such full-text table; or the limit is not positive.
    """

    def __init__(self, database: Path | str, table: str, limit: int = 10, stop: Iterable[str] = ()) -> None:
        if limit < 1:
            raise SettingsError(f"The limit of a page of results is {limit}: give 1 record or more.")
        self.uri = f"{Path(database).absolute().as_uri()}?mode=ro"
        self.limit, self.stop = limit, frozenset(map(fold, stop))
        name = '"' + table.replace('"', '""') + '"'
        # "table"."table" is the column that a full-text table is searched by: a lone "table" may be taken for a text.
        # The rowid orders the records for ever; one more than a page holds tells whether there is another page.
        self.query = f"SELECT rowid, * FROM {name} WHERE {name}.{name} MATCH ? ORDER BY rowid LIMIT ? OFFSET ?"  # noqa: S608  # the name is quoted
        try:
            self._records("a", 0)
        except (sqlite3.Error, UnicodeError) as error:
            raise SettingsError(
                f"{database} has no full-text table {table!r} that can be searched ({error}). "
                f"Make one: CREATE VIRTUAL TABLE {table} USING fts5(column, ...)."
            ) from error

    def send(self, grant: Grant) -> Reply:
        """Return one page of results: its records, and the keywords in them with their occurrences."""
        begin = int(grant.request.params.get("cursor", "0"))
        try:
            records = self._records(grant.request.params["key"], begin)
        except (sqlite3.Error, UnicodeError) as error:
            return silent(grant, f"the form does not answer: {error}")
        shown = records[: self.limit]
        found = Counter(word for _, text, _ in shown for word in keywords(text) if word not in self.stop)
        more = str(begin + self.limit) if len(records) > self.limit else None
        return answered(grant, shown, found, more)

    def _records(self, keyword: str, begin: int) -> list[Own]:
        """Return the records from number `begin` on, one more than a page shows if there are; each counts 1."""
        phrase = '"' + keyword.replace('"', '""') + '"'
        with closing(sqlite3.connect(self.uri, uri=True)) as connection:
            rows = connection.execute(self.query, (phrase, self.limit + 1, begin)).fetchall()
        return [(str(row[0]), " ".join(str(cell) for cell in row[1:] if cell is not None), 1) for row in rows]


def keywords(text: str) -> list[str]:
    """Return the words of a text that can be submitted, folded, in order, repeated: three letters or more."""
    return _WORD.findall(fold(text))
