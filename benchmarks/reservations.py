"""What it costs to keep windows in the database, by design, where the database is 1, 10 and 50 ms away.

A proxy on this machine delays what goes to PostgreSQL and back. Every design reserves a row of the ledger, in a
transaction that waits for its turn (`one writer`); what differs is how it learns what others have used:

- nothing: windows belong to one process.
- the ledger: the statement that inserts the row returns the rows of others. This is what the store does.
- a counter: one more statement counts, and refuses.
- a row for each window: it is read, decided on, and written back.
- leased shares: every tenth reservation takes ten slots from a counter, in its own transaction.

The designs take turns, so that what else the machine does slows down all of them; the fastest tenth is shown.
"""

import threading
import time
from collections.abc import Callable
from functools import partial

from benchmarks.figure import Figure, sized
from benchmarks.server import a_server
from benchmarks.server_link import link_server
from socialcrawl.engine.model import Grant, Request, Stop, Wait, format_time
from socialcrawl.ratelimit.billing_cycle import BillingCycles
from socialcrawl.ratelimit.other_processes import OtherProcesses
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.connection import close_connection, connect
from socialcrawl.storage.ledger.shared_ledger import SharedLedger
from socialcrawl.storage.sql_store import SqlStore

TITLE = "Reserving a request on PostgreSQL, by how windows are shared: one process, and two at once"
COUNT, TRIPS = sized(60, 3), (1, 10, 50)[: sized(3, 1)]
LEASE = 10  # slots that are leased together
BEGIN = 1_800_000_000.0
INSERT = (
    "insert into request (campaign, n, part, endpoint, params, credential, items, most, sent_at, digest) "
    "values (%s, %s, 1, '/e', '{}', 'main', 100, 0, %s, 'd')"
)
COUNTED = "update slots set used = used + %s where id = 1 and used < k returning used"
Design = Callable[["_Process", int], None]


class _Process:
    """One process: a connection, and its campaign. `store` follows other processes, `alone` does not."""

    def __init__(self, where: DatabaseAddress, name: str) -> None:
        self.connection = connect(where)
        self.number = ensure_campaign(
            self.connection, {"name": name, "seed": 1, "source": {"platform": "x"}}, {}, BEGIN
        )
        self.alone, self.store = (SqlStore(self.connection, self.number, "x") for _ in range(2))
        self.leased = 0
        others = OtherProcesses(threading.RLock(), BillingCycles())
        shared = SharedLedger(self.connection, self.number, others, _Free(), find_sender=lambda *_: None, now=time.time)
        shared.begin()
        self.store.follow_others(shared)


class _Free:
    """Decisions that let everything leave."""

    def list_opened(self, grant: Grant) -> tuple[int, ...]:
        """Return that nothing is opened."""
        return ()

    def reconsider(self, grant: Grant, now: float) -> Wait | Stop | None:
        """Return that the grant holds."""
        return None


def measure() -> list[Figure]:
    """Milliseconds of a reservation, by design."""
    figures = []
    with a_server() as server, server("windows") as direct:
        connection = connect(direct)
        with connection.begin():
            connection.exec_driver_sql("create table slots (id int primary key, used int, k int)")
            connection.exec_driver_sql("insert into slots values (1, 0, 1000000)")
        close_connection(connection)
        for trip in TRIPS:
            with link_server(direct, trip / 2000.0) as link:
                alone, both = (_run(link.where, count) for count in (1, 2))
            for name in DESIGNS:
                text = f"{alone[name] * 1e3:.1f} ms; {both[name] * 1e3:.1f} ms"
                figures.append(Figure(f"database {trip} ms away, {name}: one process; each of two", text))
    return figures


def _run(where: DatabaseAddress, count: int) -> dict[str, float]:
    """Return the seconds of a reservation by design, with so many processes at once."""
    processes = [_Process(where, f"{count}{name}") for name in range(count)]
    took: dict[str, list[float]] = {name: [] for name in DESIGNS}

    def work(process: _Process) -> None:
        for n in range(COUNT):
            for name, design in DESIGNS.items():
                begin = time.perf_counter()
                design(process, n)
                took[name].append(time.perf_counter() - begin)

    threads = [threading.Thread(target=work, args=(one,)) for one in processes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in processes:
        one.store.close()
    return {name: sorted(its)[len(its) // 10] for name, its in took.items()}


def _reserve(process: _Process, n: int) -> None:
    """Reserve, and know of no other process."""
    process.alone.reserve(_grant(n))


def _share(process: _Process, n: int) -> None:
    """Reserve as the store does where processes share windows."""
    process.store.reserve(_grant(n))


def _grant(n: int) -> Grant:
    return Grant(Request((n, 1), "/e", {}, 100, 0), "main", time.time())


def _count(process: _Process, n: int, *, reads: bool = False) -> None:
    """Count in a row beside the ledger, with the row of the ledger."""
    with process.connection.begin():
        if reads:
            process.connection.exec_driver_sql("select used, k from slots where id = 1 for update").one()
        process.connection.exec_driver_sql(COUNTED, (1,)).one()
        _insert(process, n)


def _lease(process: _Process, n: int) -> None:
    """Take ten slots where none is left, and use one."""
    if process.leased == 0:
        with process.connection.begin():
            process.connection.exec_driver_sql(COUNTED, (LEASE,)).one()
        process.leased = LEASE
    process.leased -= 1
    with process.connection.begin():
        _insert(process, n)


def _insert(process: _Process, n: int) -> None:
    process.connection.exec_driver_sql(INSERT, (process.number, n, format_time(time.time())))


DESIGNS: dict[str, Design] = {
    "nothing is shared": _reserve,
    "the ledger": _share,
    "a counter": _count,
    "a row for each window": partial(_count, reads=True),
    f"leases of {LEASE} slots": _lease,
}
