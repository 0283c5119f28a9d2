"""The daemon's own rows in each database of its campaigns: that it lives, what it runs, and what others ask of it.

Each database has a connection of its own beside those of the campaigns. One that cannot be reached is said once, and
tried again at the next look; the campaigns wait for it on their own.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from socialcrawl.errors import StoreError
from socialcrawl.store import daemons
from socialcrawl.store.address import Where
from socialcrawl.store.daemons import Held, Told
from socialcrawl.store.database import Opened, closed, connect, hurried

Heard = tuple[bool, Mapping[str, Held]]
"""What a database has to say: whether the daemon is to stop, and its campaigns by name."""


@dataclass(slots=True)
class _Book:
    connection: Opened | None = None
    enrolled: bool = False
    trouble: str | None = None
    held: Mapping[str, Held] = field(default_factory=dict)


class Books:
    """The rows of one daemon in all databases.

    Args:
        name: daemon.id.
        host, pid: the machine and process that it is.
        complain: told, once each time, what is wrong with a database, and when it is well again ("").
    """

    def __init__(self, name: str, host: str, pid: int, complain: Callable[[Where, str], None]) -> None:
        self.name, self.host, self.pid, self.complain = name, host, pid, complain
        self._books: dict[Where, _Book] = {}

    def heard(self, where: Where, now: float) -> Heard | None:
        """What a database says; None while it cannot be reached."""
        book = self._books.setdefault(where, _Book())
        try:
            connection = self._connection(where, book, now)
            stop, held = daemons.asked(connection, self.name), daemons.held(connection)
        except StoreError as error:
            self._lose(where, book, error)
            return None
        book.held = {one.campaign: one for one in held}
        self._well(where, book)
        return stop, book.held

    def told(self, where: Where, standings: Iterable[Told], now: float) -> None:
        """Write how the campaigns of a database stand."""
        book = self._books.setdefault(where, _Book())
        try:
            daemons.beaten(self._connection(where, book, now), self.name, standings, now)
        except StoreError as error:
            self._lose(where, book, error)

    def other(self, where: Where, campaign: str, now: float, alive: Callable[[int], bool]) -> Held | None:
        """The other daemon that has a campaign, as of the last look; None: nobody.

        Args:
            where: the database.
            campaign: its name.
            now: Unix seconds.
            alive: whether a process of this machine still is.
        """
        book = self._books.get(where)
        one = book.held.get(campaign) if book else None
        if one is None or one.daemon == self.name or not one.alive(now):
            return None
        gone = one.host == self.host and one.pid is not None and not alive(one.pid)
        return None if gone else one

    def leave(self, now: float) -> None:
        """Write that the daemon is gone, wherever that can be done at once."""
        for book in self._books.values():
            if book.connection is not None:
                with suppress(StoreError):
                    daemons.left(book.connection, self.name, now)
                closed(book.connection)
                book.connection = None

    def _connection(self, where: Where, book: _Book, now: float) -> Opened:
        if book.connection is None:
            book.connection = connect(where)
            hurried(book.connection)
        if not book.enrolled:
            daemons.enrolled(book.connection, self.name, self.host, self.pid, now)
            book.enrolled = True
        return book.connection

    def _lose(self, where: Where, book: _Book, error: StoreError) -> None:
        if book.connection is not None:
            closed(book.connection)
            book.connection, book.enrolled = None, False
        if book.trouble is None:
            self.complain(where, str(error))
        book.trouble = str(error)

    def _well(self, where: Where, book: _Book) -> None:
        if book.trouble is not None:
            book.trouble = None
            self.complain(where, "")
