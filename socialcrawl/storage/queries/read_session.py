"""The connection that a dataset and everything made from it share, until the dataset is closed."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from weakref import finalize

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from socialcrawl.errors import StoreError
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.snapshot import open_unchanged
from socialcrawl.storage.database.trouble import convert_error
from socialcrawl.storage.queries.streams import stream_rows


class ReadSession:
    """An open database: it stays open as long as a dataset, table or network refers to it, or until `close`.

    Attributes:
        place: the database as the user named it.
        source: what is read: `place`, or the copy of a file that an older version wrote.
    """

    def __init__(self, place: DatabaseAddress) -> None:
        self.place = place
        stack = ExitStack()
        self._connection, self.source = stack.enter_context(open_unchanged(place))
        self._release = finalize(self, stack.close)  # not a cycle, whose parts would end in any order

    def close(self) -> None:
        """Close the database; once more does nothing."""
        self._release()

    def check_open(self) -> None:
        """Raise an error if the database was closed.

        Raises:
            StoreError: it was.
        """
        if not self._release.alive:
            raise StoreError(
                f"{self.place} was closed, and tables are read when you convert them. Convert them inside the `with` "
                "block, or open the database again."
            )

    @property
    def connection(self) -> Connection:
        """The connection.

        Raises:
            StoreError: the database was closed.
        """
        self.check_open()
        return self._connection

    @contextmanager
    def open_reader(self) -> Iterator[Connection]:
        """Yield a connection of its own for what takes several queries: a table may be in the middle of being read.

        Raises:
            StoreError: the database was closed, or cannot be opened.
        """
        self.check_open()
        with open_unchanged(self.source) as (connection, _):
            yield connection

    def stream(self, sql: str, parameters: Mapping[str, Any], size: int) -> Iterator[Sequence[Sequence[Any]]]:
        """Yield the rows of a query, at most `size` at a time.

        Raises:
            StoreError: the database was closed, also between two batches, or cannot be read.
        """
        try:
            for rows in stream_rows(self.connection, sql, parameters, size):
                yield rows
                self.check_open()
        except SQLAlchemyError as error:
            self.check_open()
            if isinstance(error, DBAPIError):
                raise convert_error(error, self.place) from error
            raise
