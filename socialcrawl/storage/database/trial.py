"""A connection on which everything can be done to a database, and nothing of it is kept."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from socialcrawl.errors import StoreError
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.connection import TRIAL, close_connection, make_engine
from socialcrawl.storage.database.health import CURRENT, check_ours, open_existing, read_schema_state
from socialcrawl.storage.database.trouble import convert_error


@contextmanager
def open_trial(where: DatabaseAddress) -> Iterator[Connection]:
    """Open a connection whose transactions are all parts of one, which is rolled back at the end.

    What is written is seen on this connection only. Other processes that write wait until it is closed.

    Raises:
        StoreError: the database cannot be read or written, is another program's, or has another schema than this
            program's.
    """
    with open_existing(where) as reader:
        if check_ours(read_schema_state(reader), where) != CURRENT:
            raise StoreError(
                f"{where} has the schema of an older socialcrawl, and is not changed here: `socialcrawl report` brings "
                "it up to date first."
            )
    engine = make_engine(where)
    vars(engine.dialect)["do_commit"] = _keep_open
    try:
        connection = engine.connect().execution_options(**{TRIAL: True})
        try:
            yield connection
        finally:
            close_connection(connection)
    except DBAPIError as error:
        raise convert_error(error, where) from error


def _keep_open(_: Any) -> None:
    """Commit nothing: closing the connection rolls everything back."""
