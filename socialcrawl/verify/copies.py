"""What the tables of an export repeat for readers, held against the tables it is copied from."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from socialcrawl.exporters.columns import Person
from socialcrawl.exporters.restore import Reader, count_hits, find_mentioned, find_opted_out, find_people, find_tested
from socialcrawl.storage.database.connection import Opened
from socialcrawl.verify.findings import Check

SHOWN, ID = "shown", "id"  # what a column copies of an account: what it is called, or the platform's own id
COPIES = {
    "accounts": (("node",), (("account", "node", SHOWN),)),
    "posts": (("id",), (("author", "author_node", SHOWN), ("author_id", "author_node", ID))),
    "mentions": (("post", "node"), (("account", "node", SHOWN), ("account_id", "node", ID))),
    "picks": (("campaign", "n"), (("account", "node", SHOWN),)),
    "links": (
        ("campaign", "n", "position"),
        (("source_account", "source", SHOWN), ("target_account", "target", SHOWN)),
    ),
    "seeds": (("campaign", "position"), (("account", "node", SHOWN),)),
    "standings": (("campaign", "node"), (("account", "node", SHOWN),)),
    "liveness": (("campaign", "node"), (("account", "node", SHOWN), ("platform_id", "node", ID))),
    "sampled": (("campaign", "node"), (("account", "node", SHOWN),)),
}
"""By table: the columns of its key, and those that copy what table accounts says of the account of another column."""
MORE = {
    "posts": ("mentions", "occurrences"),
    "liveness": ("n", "active", "status", "checked_at"),
}
"""By table, what it copies of other tables than accounts."""
SOME = 5_000  # rows that are held against others together
OPTED_OUT = "seeds that are not named, as they have opted out"
UNKNOWN = "seeds that are not in the table accounts"
Row = dict[str, Any]


class CopyCheck:
    """Whether the columns that an export repeats agree with the tables they are copied from.

    Args:
        connection: the tables, as `restore_export` fills them.
        read: gives the cells of some columns of a table, row by row.
        whole: whether it is an export of all campaigns, whose posts tell no occurrences.

    Attributes:
        check: what came of it.
    """

    def __init__(self, connection: Opened, read: Reader, *, whole: bool) -> None:
        self.connection, self.read, self.whole = connection, read, whole
        self.check = Check("copied columns")

    def run(self, tables: Sequence[str]) -> None:
        """Check those of some tables of the export."""
        for table in tables:
            keys, copied = COPIES[table]
            columns = [*keys, *(name for one in copied for name in one[:2]), *MORE.get(table, ())]
            tested = find_tested(self.connection) if table == "liveness" else {}
            for rows in self._read_chunks(table, list(dict.fromkeys(columns))):
                self._check_names(table, rows)
                if table == "posts":
                    self._check_counts(rows)
                    self._check_mentions(rows)
                if table == "liveness":
                    self._check_tests(rows, tested)

    def _read_chunks(self, table: str, columns: Sequence[str]) -> Iterator[list[Row]]:
        found = self.read(table, columns)
        while rows := [dict(zip(columns, row, strict=True)) for row in islice(found, SOME)]:
            yield rows

    def _check_names(self, table: str, rows: Sequence[Row]) -> None:
        copied = COPIES[table][1]
        nodes = list({row[node] for row in rows for _, node, _ in copied} - {None})
        people = find_people(self.connection, nodes)
        seated = table == "seeds"
        unnamed = find_opted_out(self.connection, nodes) if seated else ()
        for row in rows:
            for column, node, what in copied:
                if row[column] is None and row[node] in unnamed:
                    self.check.leave(OPTED_OUT)
                elif seated and row[node] is not None and row[node] not in people:
                    self.check.leave(UNKNOWN)  # it is the same as an account that this campaign has not met otherwise
                else:
                    person = people.get(row[node], Person(None, None))
                    self._compare(table, row, column, person.display_name if what == SHOWN else person.id)

    def _check_counts(self, rows: Sequence[Row]) -> None:
        """Hold the occurrences of posts against the matches of the one campaign."""
        found = {} if self.whole else count_hits(self.connection, [row["id"] for row in rows])
        for row in rows:
            self._compare("posts", row, "occurrences", None if self.whole else found.get(row["id"], 0))

    def _check_mentions(self, rows: Sequence[Row]) -> None:
        """Hold the lists of whom posts mention against the table of mentions."""
        named = find_mentioned(self.connection, [row["id"] for row in rows])
        for row in rows:
            self._compare("posts", row, "mentions", named.get(row["id"], []))

    def _check_tests(self, rows: Sequence[Row], tested: Mapping[tuple[str, int], Row]) -> None:
        """Hold what tests of accounts found against the last picks that tested them."""
        for row in rows:
            found = tested.get((row["campaign"], row["node"]), {})
            for column in MORE["liveness"]:
                self._compare("liveness", row, column, found.get(column))

    def _compare(self, table: str, row: Row, column: str, copied: Any) -> None:
        if row[column] == copied:
            self.check.prove()
        else:
            key = ", ".join(f"{name} {row[name]}" for name in COPIES[table][0])
            self.check.differ(f"{table}, {key}", column, row[column], copied)
