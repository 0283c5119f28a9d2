"""Rows of a query in SQL, streamed: memory does not grow with the answer."""

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, text

from socialcrawl.storage.queries.row_values import join_transaction


def stream_rows(
    connection: Connection, sql: str, parameters: Mapping[str, Any], size: int
) -> Generator[Sequence[Sequence[Any]], None, None]:
    """Yield the rows of a query, at most `size` at a time.

    Args:
        connection: the database.
        sql: a SELECT; `:name` stands for a parameter.
        parameters: their values.
        size: at least 1.
    """
    query = text(sql).execution_options(yield_per=size)
    # Closed here, and not whenever it is collected, if the rows are not read to their end.
    with join_transaction(connection), connection.execute(query, parameters) as rows:
        yield from rows.partitions(size)  # without a number, rows come one at a time
