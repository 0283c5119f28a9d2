"""The links of a campaign as arrays; of a long history a second process reads them, one piece ahead.

Ten million links are half of what is read when a long campaign goes on. A row costs Python more than the database, so a
second processor halves the time; and nobody waits for a server.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import reduce
from io import BufferedReader, BufferedWriter
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import BigInteger, Connection, Select, Text, case, func, literal, literal_column, select
from sqlalchemy.exc import DBAPIError

from socialcrawl.graph.relevance import compute_worth
from socialcrawl.storage.database.address import find_address, parse_address
from socialcrawl.storage.schema.tables import link, outcome, pick

PIECE = 32_768  # picks whose links are read together
LONG = 200_000  # picks from which on a second process is worth its start
LINKING = ("seed", "expand", "match", "page", "walk", "import")
"""Acts whose links say whom an account that was read links to."""
# A link is read as one number, (n, node, alpha): one value a row is read faster than two. Of alpha it holds the place
# among the weights of few occurrences, nearly all there are; a link whose number says OTHER is read once more.
BITS = 6
OTHER = 2**BITS - 1
WEIGHTS = np.array([compute_worth(count) for count in range(OTHER)])
NODES = 2**40  # more than any database has; with the picks of a piece and the weights it fills 61 bits
WEIGHT = case(
    {literal_column(repr(float(weight))): literal_column(str(place)) for place, weight in enumerate(WEIGHTS)},
    value=link.c.alpha,
    else_=literal_column(str(OTHER)),
)
SERVE = "import sys; from socialcrawl.storage.queries.linked import serve; serve(*map(int, sys.argv[1:]))"


class StoredLinks(NamedTuple):
    """Links in order: int64[m] n of the pick, int64[m] node linked to, float64[m] alpha."""

    n: NDArray[np.int64]
    node: NDArray[np.int64]
    alpha: NDArray[np.float64]


def read_numbers(connection: Connection, query: Select[Any]) -> NDArray[np.int64]:
    """Return the cells of a query for whole numbers, row after row, int64; called in a transaction.

    They come as one text, which takes half as long as a row each.
    """
    cells: list[Any] = [cell.cast(Text) for cell in query.subquery().c]
    row = reduce(lambda line, cell: line.concat(",").concat(cell), cells)
    join = func.group_concat if connection.dialect.name == "sqlite" else func.string_agg
    with suppress(DBAPIError), connection.begin_nested():  # the text would be longer than the database allows
        found = connection.execute(select(join(row, ","))).scalar() or ""
        return np.fromstring(found, np.int64, sep=",") if found else np.empty(0, np.int64)
    with open_cursor(connection, query) as cursor:
        return np.fromiter(chain.from_iterable(cursor), np.int64)


def read_stored_links(connection: Connection, campaign: int, first: int, last: int) -> StoredLinks:
    """Return the links of picks `first` to `last` of a campaign; called in a transaction."""
    some = (link.c.campaign == campaign) & link.c.n.between(first, last)
    place = (link.c.n - literal(first, BigInteger)) * literal(NODES, BigInteger) + link.c.node
    query = select(place * literal(2**BITS, BigInteger) + WEIGHT).where(some).order_by(link.c.n, link.c.position)
    found = read_numbers(connection, query)
    code, places = found & OTHER, found >> BITS
    alpha = WEIGHTS.take(code, mode="clip")
    if (rare := code == OTHER).any():
        others = select(link.c.alpha).where(some, WEIGHT == OTHER).order_by(link.c.n, link.c.position)
        with open_cursor(connection, others) as cursor:
            alpha[rare] = np.fromiter(chain.from_iterable(cursor), np.float64)
    return StoredLinks((places // NODES) + first, places % NODES, alpha)


def find_linked(connection: Connection, campaign: int) -> NDArray[np.bool_]:
    """Return whether accounts that a campaign read link to each node, up to the last one that they link to.

    Called in a transaction. Of millions of links, a database that sorts them to tell nodes apart takes several times
    as long.
    """
    found = np.zeros(0, np.bool_)
    reads = select(pick.c.n).where(pick.c.campaign == campaign, pick.c.act.in_(LINKING))
    last = connection.execute(select(func.max(link.c.n)).where(link.c.campaign == campaign)).scalar()
    for first in range(0, 0 if last is None else last + 1, PIECE):
        some = (link.c.campaign == campaign) & link.c.n.between(first, first + PIECE - 1) & link.c.n.in_(reads)
        query = select(link.c.node).where(some)
        nodes = read_numbers(connection, query if connection.dialect.name == "sqlite" else query.distinct())
        if len(nodes) and (size := int(nodes.max()) + 1) > len(found):
            found = np.concatenate([found, np.zeros(size - len(found), np.bool_)])
        found[nodes] = True
    return found


@contextmanager
def open_cursor(connection: Connection, statement: Select[Any]) -> Iterator[Any]:
    """Open the driver's own cursor with the rows of a statement: SQLAlchemy's rows would take twice as long."""
    with connection.execute(statement) as result:
        yield result.cursor


class LinkReader:
    """All links of a campaign, asked for piece by piece in order of n; used as a context, in a transaction.

    Args:
        connection: to the database, which nobody writes meanwhile.
        campaign: campaign.id.
    """

    def __init__(self, connection: Connection, campaign: int) -> None:
        self.connection, self.campaign = connection, campaign
        self._process: subprocess.Popen[bytes] | None = None
        self._held: list[StoredLinks] = []
        self._next = 0  # the n with which the next piece of the other process begins

    def __enter__(self) -> Self:
        where = find_address(self.connection)
        last = select(func.max(outcome.c.n)).where(outcome.c.campaign == self.campaign)
        long = (self.connection.execute(last).scalar() or 0) >= LONG
        if long and (os.cpu_count() or 1) > 1:
            command = [sys.executable, "-c", SERVE, str(self.campaign), str(PIECE)]
            with suppress(OSError):  # then this process reads all of it
                self._process = process = subprocess.Popen(  # noqa: S603  (our own code, on the database of this one)
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
                )
                with cast("BufferedWriter", process.stdin) as stdin:  # all processes see the words of a command
                    stdin.write(os.fsencode(f"sqlite:///{where}" if isinstance(where, Path) else where.url))
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            cast("BufferedReader", self._process.stdout).close()
            self._process.wait()
            self._process = None

    def read_range(self, first: int, last: int) -> StoredLinks:
        """Return the links of picks `first` to `last`."""
        while self._process is not None and self._next <= last:
            self._read(self._process)
        if self._process is None:
            self._held.clear()
            return read_stored_links(self.connection, self.campaign, first, last)
        n, node, alpha = (np.concatenate(column) for column in zip(*self._held, strict=True))
        begin, end = np.searchsorted(n, [first, last + 1]).tolist()
        self._held = [StoredLinks(n[end:], node[end:], alpha[end:])]
        return StoredLinks(n[begin:end], node[begin:end], alpha[begin:end])

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        """Take the next piece; a process that failed is done without."""
        stream = cast("BufferedReader", process.stdout)
        size = np.zeros(1, np.int64)
        if _fill_column(stream, size):
            count = int(size[0])
            found = StoredLinks(np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.float64))
            if all(_fill_column(stream, column) for column in found):
                self._held.append(found)
                self._next += PIECE
                return
        self.__exit__()


def serve(campaign: int, piece: int) -> None:
    """Write the links of a campaign of the database that stdin names to stdout, until the reader ends this process."""
    from socialcrawl.storage.database.health import open_existing  # noqa: PLC0415  (for the other process only)

    where, first = parse_address(os.fsdecode(sys.stdin.buffer.read())), 0
    with open_existing(where) as connection, connection.begin(), suppress(BrokenPipeError):
        if not isinstance(where, Path):  # a planner without statistics would read the whole table for each piece
            connection.exec_driver_sql("set local enable_seqscan = off")
        while True:
            found = read_stored_links(connection, campaign, first, first + piece - 1)
            for column in (np.array([len(found.n)], np.int64), *found):
                sys.stdout.buffer.write(np.ascontiguousarray(column).data)
            sys.stdout.buffer.flush()
            first += piece
    os._exit(0)  # what is still in the buffer has nobody to read it


def _fill_column(stream: BufferedReader, column: NDArray[Any]) -> bool:
    """Return whether a stream had enough to fill an array."""
    view = column.view(np.uint8).data
    done = 0
    while done < len(view):
        count = stream.readinto(view[done:])
        if not count:
            return False
        done += count
    return True
