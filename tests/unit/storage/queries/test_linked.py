"""Numbers of a query, and accounts that are linked to, are read as a row each would give them."""

import sqlite3
from collections.abc import Iterator

import numpy as np
import pytest
from postgres import a_place
from sqlalchemy import BigInteger, Connection, literal, select

from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.database.connection import close_connection, connect
from socialcrawl.storage.queries.linked import find_linked, read_numbers
from socialcrawl.storage.schema.tables import link, pick

LINKS = [(0, 0, 7), (0, 1, 3), (1, 0, 9), (2, 0, 3)]  # of the picks 0 and 2; pick 1 only tests an account
ACTS = ["seed", "probe", "expand"]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def connection(request: pytest.FixtureRequest) -> Iterator[Connection]:
    with a_place(request.param) as place:
        made = connect(place)
        store_links(made)
        yield made
        close_connection(made)


def store_links(made: Connection) -> None:
    ensure_campaign(made, {"name": "a", "seed": 1, "source": {"platform": "x"}}, {}, 0.0)
    with made.begin():
        made.execute(pick.insert(), [{"campaign": 1, "n": n, "batch": n, "node": n, "act": act, "score": 0.0}
                                     for n, act in enumerate(ACTS)])  # fmt: skip
        made.execute(link.insert(), [{"campaign": 1, "n": n, "position": place, "node": node, "alpha": 1.0}
                                     for n, place, node in LINKS])  # fmt: skip


def test_numbers_come_row_after_row(connection: Connection) -> None:
    query = select(link.c.n, link.c.position, link.c.node).order_by(link.c.n, link.c.position)
    with connection.begin():
        assert read_numbers(connection, query).reshape(-1, 3).tolist() == [list(row) for row in LINKS]
        assert read_numbers(connection, query.where(link.c.n > 99)).tolist() == []
        twice = select(link.c.node, pick.c.node).join_from(link, pick, link.c.n == pick.c.n)
        named = twice.where(pick.c.act.in_(["seed", "50 %"])).order_by(link.c.position)
        assert read_numbers(connection, named).tolist() == [7, 0, 3, 0], "columns of one name, texts and a percent sign"
        large = select(link.c.node * literal(10**12, BigInteger)).where(link.c.n == 1)
        assert read_numbers(connection, large).tolist() == [9 * 10**12]


def test_numbers_of_a_text_that_is_too_long_for_sqlite_come_too(connection: Connection) -> None:
    raw = connection.connection.driver_connection
    if not isinstance(raw, sqlite3.Connection):
        pytest.skip("a server has no such limit")
    numbers = select(link.c.node + 10**17).order_by(link.c.n, link.c.position)
    before = raw.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 60)  # they would have 75 characters
    try:
        with connection.begin():
            assert read_numbers(connection, numbers).tolist() == [node + 10**17 for _, _, node in LINKS]
    finally:
        raw.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, before)


def test_accounts_are_linked_to_by_picks_that_read_an_account(connection: Connection) -> None:
    with connection.begin():
        assert np.flatnonzero(find_linked(connection, 1)).tolist() == [3, 7]
        assert find_linked(connection, 2).tolist() == []
