"""The tables of an export as a database again, for those who check it: what no export has stays empty.

From these tables comes what the columns of an export repeat.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
from sqlalchemy import Connection, Table, insert, text, update
from sqlalchemy.exc import DBAPIError

from socialcrawl.crawls.facts import DEFAULT
from socialcrawl.engine.model import FINDING, USEFUL, Reason
from socialcrawl.exporters.columns import Person
from socialcrawl.exporters.datasheet_facts import ACTS, POSTS, REQUESTS
from socialcrawl.storage.counting_rule import COUNTING
from socialcrawl.storage.database.connection import close_connection, make_engine
from socialcrawl.storage.schema.tables import (
    account,
    campaign,
    epoch,
    hit,
    link,
    mention,
    metadata,
    outcome,
    pick,
    post,
    request,
    sampled,
    shadow,
    standing,
    tombstone,
    version,
)
from socialcrawl.storage.schema.views import LIVENESS
from socialcrawl.system.garbage_collection import pause_garbage_collection

TABLES = {
    "accounts": ("node", "platform", "platform_id", "username"),
    "posts": ("id", "author_node", "text", "lang", "created_at", "urls", "metrics_at", "fetched_at"),
    "mentions": ("post", "node", "kind", "position"),
    "hits": ("campaign", "post", "occurrences"),
    "picks": (
        "campaign", "n", "batch", "node", "act", "score", "features", "at", "value", "occurrences", "posts", "missing",
    ),
    "links": ("campaign", "n", "position", "source", "target", "alpha"),
    "requests": (
        "campaign", "id", "n", "part", "endpoint", "items", "most", "sent_at", "arrived_at", "kind", "posts", "cost",
        "new_posts", "new_users", "post_ids",
    ),
}  # fmt: skip
"""What is read of every export: the columns of its tables."""
DECISIONS = {
    "picks": (*TABLES["picks"], "since", "mark"),
    "shadows": ("campaign", "n", "estimator", "score"),
    "versions": ("campaign", "number", "at", "first", "settings", "changed"),
    "seeds": ("campaign", "position", "node"),
    "standings": (
        "campaign", "node", "visits", "visited_at", "relevance", "occurrences", "indegree", "outlinks", "yield",
        "link_score", "importance", "history", "gone",
    ),
    "sampled": ("campaign", "node", "visits", "weight", "degree"),
}  # fmt: skip
"""What is read in addition to replay the decisions, which exports of earlier versions do not have."""
LAST = 2**31 - 1  # a place behind all others
SOME = 5_000  # rows that are written together
PLACE = "create temp table place (post text, position integer, node integer, primary key (post, position, node))"
NAMED = "select post, node from place where post in (select value from {keys}) order by post, position, node"
AUTHORS = "select id, author from post where id in (select value from {keys})"
Reader = Callable[[str, Sequence[str]], Iterator[Sequence[Any]]]


@contextmanager
def restore_export(
    campaigns: Sequence[Mapping[str, Any]], read: Reader, erased: Sequence[Mapping[str, Any]], *, decisions: bool
) -> Iterator[tuple[Connection, dict[str, int]]]:
    """Open a temporary database with the rows of an export, in a transaction.

    Args:
        campaigns: what its datasheet says of each.
        read: gives the cells of some columns of a table, row by row.
        erased: what it says of tombstones, by their kinds.
        decisions: whether it has what a replay of the decisions needs.

    Yields:
        the connection, and by table how many of its rows had the key of another one.

    Raises:
        ArithmeticError, LookupError, TypeError, ValueError: rows that no export has.
    """
    with TemporaryDirectory(prefix="socialcrawl-") as folder:
        connection = make_engine(Path(folder) / "export.db").connect()
        try:
            with connection.begin():
                metadata.create_all(connection)
                try:
                    with pause_garbage_collection():
                        twice = _Restoring(connection, campaigns, read, erased, decisions=decisions).run()
                except DBAPIError as error:  # a cell that no column takes
                    raise ValueError(str(error.orig)) from error
                yield connection, twice
        finally:
            close_connection(connection)


class _Restoring:
    def __init__(
        self,
        connection: Connection,
        campaigns: Sequence[Mapping[str, Any]],
        read: Reader,
        erased: Sequence[Mapping[str, Any]],
        *,
        decisions: bool,
    ) -> None:
        self.connection, self.read = connection, read
        self.columns: Mapping[str, Sequence[str]] = TABLES | (DECISIONS if decisions else {})
        self.numbers = {one["name"]: number for number, one in enumerate(campaigns, 1)}
        self.platforms = {number: one["platform"] for number, one in enumerate(campaigns, 1)}
        self.erased = {number: _find_first_whole(one) for number, one in enumerate(campaigns, 1)}
        self.twice: dict[str, int] = {}
        self.acts: dict[tuple[int, int], str] = {}  # of picks that find authors
        self.slots: dict[int, list[int | None]] = {number: [] for number in self.platforms}
        self.identities = {number: _make_identity(one) for number, one in enumerate(campaigns, 1)}
        for number, one in enumerate(campaigns, 1):
            self._begin(number, one)
        for number, row in enumerate(erased):
            values = {"digest": str(number), "kind": row["kind"], "why": row["why"], "at": ""}
            self.connection.execute(insert(tombstone).values(values))

    def run(self) -> dict[str, int]:
        self.connection.exec_driver_sql(PLACE)
        for name, work in (
            ("accounts", self._restore_accounts), ("posts", self._restore_posts),
            ("mentions", self._restore_mentions), ("hits", self._restore_hits), ("picks", self._restore_picks),
            ("links", self._restore_links), ("requests", self._restore_requests),
            ("shadows", partial(self._restore_as_is, "shadows", shadow)), ("versions", self._restore_versions),
            ("seeds", self._restore_seeds), ("standings", partial(self._restore_as_is, "standings", standing)),
            ("sampled", partial(self._restore_as_is, "sampled", sampled)),
        ):  # fmt: skip
            columns = self.columns.get(name, ())
            found = self.read(name, columns) if columns else iter(())
            self.twice |= {name: 0} if columns else {}
            while rows := list(islice(found, SOME)):
                work([dict(zip(columns, row, strict=True)) for row in rows])
        for number, slots in self.slots.items():
            identity = orjson.dumps(self.identities[number] | {"seeds": {"usernames": slots}}).decode()
            self.connection.execute(update(campaign).where(campaign.c.id == number).values(identity=identity))
        return self.twice

    def _begin(self, number: int, facts: Mapping[str, Any]) -> None:
        settings = {**facts["settings"], "name": facts["name"], "kind": facts.get("kind", DEFAULT.name)}
        values = {"id": number, "name": facts["name"], "platform": facts["platform"], "seed": facts["seed"]}
        texts = {"settings": orjson.dumps(settings).decode(), "identity": "{}", "created_at": facts["created_at"]}
        self.connection.execute(insert(campaign).values(values | texts))
        for row in facts["epochs"]:
            columns = {name: row[name] for name in ("number", "first", "began_at", "why")}
            self.connection.execute(insert(epoch).values(columns | {"campaign": number}))

    def _put(self, name: str, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        before, columns = self._count_changes(), list(rows[0])
        # By the driver itself, as Core takes four times as long.
        marks = ", ".join("?" * len(columns))
        sql = f"insert or ignore into {table.name} ({', '.join(columns)}) values ({marks})"  # noqa: S608  (our names)
        self.connection.exec_driver_sql(sql, [tuple(row[name] for name in columns) for row in rows])
        self.twice[name] += len(rows) - (self._count_changes() - before)

    def _count_changes(self) -> int:
        return int(self.connection.exec_driver_sql("select total_changes()").scalar_one())

    def _restore_accounts(self, rows: Sequence[dict[str, Any]]) -> None:
        self._put("accounts", account, [{**row, "first_seen_at": ""} for row in rows])

    def _restore_posts(self, rows: Sequence[dict[str, Any]]) -> None:
        for row in rows:
            row["author"] = row.pop("author_node")
            row["urls"] = None if row["urls"] is None else orjson.dumps(row["urls"]).decode()
        self._put("posts", post, rows)

    def _restore_mentions(self, rows: Sequence[dict[str, Any]]) -> None:
        places = [(row["post"], LAST if (at := row.pop("position")) is None else at, row["node"]) for row in rows]
        self.connection.exec_driver_sql("insert or ignore into place values (?, ?, ?)", places)
        self._put("mentions", mention, rows)

    def _restore_hits(self, rows: Sequence[dict[str, Any]]) -> None:
        self._put("hits", hit, [self._number_campaign(row) for row in rows])

    def _restore_picks(self, rows: Sequence[dict[str, Any]]) -> None:
        asked = ("campaign", "n", "batch", "node", "act", "score", "features", "since")
        found = ("campaign", "n", "node", "at", "value", "occurrences", "posts", "missing", "mark")
        for row in map(self._number_campaign, rows):
            if row["act"] in FINDING:
                self.acts[row["campaign"], row["n"]] = row["act"]
        self._put("picks", pick, [{name: row.get(name) for name in asked} for row in rows])
        answered: list[dict[str, Any]] = [
            {name: row.get(name) for name in found} for row in rows if row["at"] is not None
        ]
        if answered:
            self.connection.execute(insert(outcome).prefix_with("or ignore"), answered)
        gone = {row["node"]: row["campaign"] for row in answered if row["missing"] == Reason.FORGOTTEN}
        for node, number in gone.items():  # exports leave their accounts out
            nobody = {"node": node, "platform": self.platforms[number], "first_seen_at": ""}
            self.connection.execute(insert(account).prefix_with("or ignore").values(nobody))

    def _restore_as_is(self, name: str, table: Table, rows: Sequence[dict[str, Any]]) -> None:
        """Put rows whose columns the database has under the same names."""
        self._put(name, table, [self._number_campaign(row) for row in rows])

    def _restore_versions(self, rows: Sequence[dict[str, Any]]) -> None:
        for row in rows:
            settings = orjson.loads(row["settings"]) | {"name": row["campaign"]}
            row |= {"settings": orjson.dumps(settings).decode(), "changed": orjson.dumps(row["changed"]).decode()}
        self._restore_as_is("versions", version, rows)

    def _restore_seeds(self, rows: Sequence[dict[str, Any]]) -> None:
        for row in map(self._number_campaign, rows):
            self.slots[row["campaign"]].append(row["node"])

    def _restore_links(self, rows: Sequence[dict[str, Any]]) -> None:
        for row in map(self._number_campaign, rows):
            ends = row.pop("target"), row.pop("source")
            row["node"] = ends[self.acts.get((row["campaign"], row["n"])) == "inward"]
        self._put("links", link, rows)

    def _restore_requests(self, rows: Sequence[dict[str, Any]]) -> None:
        keys = list({key for row in rows for key in row["post_ids"] or ()})
        named: dict[str, list[int]] = {}
        for key, node in self._read_by_keys(NAMED, keys):
            named.setdefault(key, []).append(node)
        authors = dict(self._read_by_keys(AUTHORS, keys))
        for row in map(self._number_campaign, rows):
            ids, mine = row["post_ids"], (row["campaign"], row["n"])
            if ids is None and row["posts"] and row["n"] < self.erased[row["campaign"]] and row["kind"] in USEFUL:
                ids = []  # all of them were erased
            if ids is not None:
                flat = [part for place, key in enumerate(ids) for node in named.get(key, ()) for part in (place, node)]
                found = dict.fromkeys(authors[key] for key in ids if key in authors) if mine in self.acts else ()
                row["nodes"] = orjson.dumps([flat, list(found), []]).decode()
            row["post_ids"] = None if ids is None else orjson.dumps(ids).decode()
            row["nodes"] = row.get("nodes")
            row |= {"params": "{}", "credential": ""}
        self._put("requests", request, rows)

    def _read_by_keys(self, sql: str, keys: Sequence[str]) -> Sequence[Any]:
        wanted = text(sql.format(keys="json_each(:keys)"))
        return self.connection.execute(wanted, {"keys": orjson.dumps(keys).decode()}).all()

    def _number_campaign(self, row: dict[str, Any]) -> dict[str, Any]:
        row["campaign"] = self.numbers[row["campaign"]]
        return row


def _make_identity(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return by which rule a campaign counts its topic; exports of earlier versions do not say."""
    return {"topic": facts["settings"].get("topic"), COUNTING: facts[COUNTING]} if COUNTING in facts else {}


def _find_first_whole(facts: Mapping[str, Any]) -> int:
    """Return the first pick that was decided after everything that was erased."""
    return max((row["first"] for row in facts["epochs"] if {"forget", "retain"} & {*row["why"].split(",")}), default=0)


def count_picks(connection: Connection, campaign: int) -> dict[str, int]:
    """Return the picks of a campaign by their acts."""
    return {act: int(count) for act, count in connection.execute(text(ACTS), {"campaign": campaign})}


def sum_posts(connection: Connection) -> dict[str, Any]:
    """Return how many posts there are, of how many authors, and when the first and last was written and fetched."""
    return dict(connection.execute(text(f"select count(*) as posts, {POSTS}")).mappings().one())


def sum_requests(connection: Connection, campaign: int) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Return (requests, posts, mills) of a campaign by (endpoint, kind of answer)."""
    rows = connection.execute(text(REQUESTS), {"campaign": campaign})
    return {(row.endpoint, row.kind): (int(row.requests), int(row.posts), int(row.mills)) for row in rows}


NAMES = "select node, platform_id, username from account where node in (select value from json_each(:keys))"
HITS = "select post, occurrences from hit where post in (select value from json_each(:keys))"
MENTIONED = """
select p.post, a.platform_id, a.username from place p left join account a on a.node = p.node
where p.post in (select value from json_each(:keys)) order by p.post, p.position, p.rowid
"""
UNNAMED = "select node from outcome where missing = 'opted-out' and node in (select value from json_each(:keys))"


def find_people(connection: Connection, nodes: Sequence[int]) -> dict[int, Person]:
    """Return who some accounts are."""
    return {row.node: Person(row.platform_id, row.username) for row in _read_rows(connection, NAMES, nodes)}


def find_opted_out(connection: Connection, nodes: Sequence[int]) -> set[int]:
    """Return which of some accounts have opted out."""
    return {row.node for row in _read_rows(connection, UNNAMED, nodes)}


def count_hits(connection: Connection, posts: Sequence[str]) -> dict[str, int]:
    """Return the occurrences of the topic in those of some posts that match, where there is one campaign."""
    return {row.post: row.occurrences for row in _read_rows(connection, HITS, posts)}


def find_mentioned(connection: Connection, posts: Sequence[str]) -> dict[str, list[str | None]]:
    """Return whom those of some posts mention that mention anybody, in order, as they are shown."""
    named: dict[str, list[str | None]] = {}
    for key, number, username in _read_rows(connection, MENTIONED, posts):
        named.setdefault(key, []).append(Person(number, username).display_name)
    return named


def find_tested(connection: Connection) -> dict[tuple[str, int], dict[str, Any]]:
    """Return what the last test of each account found, as view `liveness` has it, by campaign and node."""
    rows = (dict(zip(LIVENESS.columns, row, strict=True)) for row in connection.execute(text(LIVENESS.sql)))
    return {(row["campaign"], row["node"]): row for row in rows if row["status"] != Reason.FORGOTTEN}


def _read_rows(connection: Connection, sql: str, keys: Sequence[Any]) -> Sequence[Any]:
    return connection.execute(text(sql), {"keys": orjson.dumps(keys).decode()}).all()
