"""What the columns of an export repeat, queried from the tables that `restore_export` filled from it."""

from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import Connection, text

from socialcrawl.engine.model import Reason
from socialcrawl.exporters.columns import Person
from socialcrawl.storage.schema.views import LIVENESS

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
        named.setdefault(key, []).append(Person(number, username).shown)
    return named


def find_tested(connection: Connection) -> dict[tuple[str, int], dict[str, Any]]:
    """Return what the last test of each account found, as view `liveness` has it, by campaign and node."""
    rows = (dict(zip(LIVENESS.columns, row, strict=True)) for row in connection.execute(text(LIVENESS.sql)))
    return {(row["campaign"], row["node"]): row for row in rows if row["status"] != Reason.FORGOTTEN}


def _read_rows(connection: Connection, sql: str, keys: Sequence[Any]) -> Sequence[Any]:
    return connection.execute(text(sql), {"keys": orjson.dumps(keys).decode()}).all()
