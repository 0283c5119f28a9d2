"""Rows of a query come in batches of the size that was asked for."""

from sqlalchemy import create_engine

from socialcrawl.storage.queries.streams import stream_rows

NUMBERS = "with recursive a (x) as (select 1 union all select x + 1 from a where x < :last) select x from a"


def test_rows_come_in_batches_of_the_size_that_was_asked_for():
    with create_engine("sqlite://").connect() as connection:
        batches = [[row[0] for row in rows] for rows in stream_rows(connection, NUMBERS, {"last": 25}, 10)]
    assert batches == [[*range(1, 11)], [*range(11, 21)], [*range(21, 26)]]
