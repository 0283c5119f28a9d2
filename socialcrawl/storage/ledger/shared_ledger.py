"""The ledger as the account of rate-limit windows that processes share: reserving a row tells what others reserved.

One statement inserts the row, reads the server's clock, and reads what others have reserved or settled since the last
one. The writer's lock, which each transaction has, puts reservations of all processes in one order: that of request.id.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import orjson
from sqlalchemy import Connection, Float, Insert, Row, Update, bindparam, cast, func, insert, literal_column, update

from socialcrawl.engine.model import Grant, Stop, Wait, parse_time
from socialcrawl.ratelimit.other_processes import OtherProcesses, OtherRequest
from socialcrawl.ratelimit.received_requests import LAG
from socialcrawl.storage.database.connection import read_unlocked
from socialcrawl.storage.database.trouble import convert_errors
from socialcrawl.storage.queries import row_values
from socialcrawl.storage.schema.tables import request

OWN_CLOCK = "extract(epoch from clock_timestamp())::float8"
CLOCK = f"coalesce(%(at)s::float8, {OWN_CLOCK})"
LATELY = 500  # rows: what is further back is not in flight
NEWS = """select r.id, r.campaign, r.credential, r.endpoint, r.items, r.sent_at, r.arrived_at, r.kind, r.status,
r.posts, r.cost, r.cursor, r.headers, r.opens, coalesce(r.clock, extract(epoch from r.sent_at::timestamptz)) as clock,
(select c.xmin::text from campaign c where c.id = r.campaign) as version from request r
where r.kind is distinct from 'held' and """
SINCE = "(r.id > %(seen)s or r.id = any(%(pending)s))"
IN_FLIGHT = """r.arrived_at is null and r.campaign <> %(campaign)s and r.id > %(seen)s - %(lately)s
and r.id <= %(seen)s and coalesce(r.clock, 0) > """


class Sender(NamedTuple):
    """Who sent a request: the unique name of its ledger, the marks of its bills, and that of its token."""

    ledger: str
    bills: frozenset[str]
    mark: str


class Decisions(Protocol):
    """What gives grants, and takes them back."""

    def list_opened(self, grant: Grant) -> tuple[int, ...]:
        """See `WindowPlanner.list_opened`."""

    def reconsider(self, grant: Grant, now: float) -> Wait | Stop | None:
        """See `WindowPlanner.reconsider`."""


FindSender = Callable[[int, str, str], Sender | None]
"""Who sent a request, by campaign.id, the version of its row, and credential; None: with no token that is set here."""


class SharedLedger:
    """The ledger of a PostgreSQL database, for one campaign.

    Args:
        connection: that of the campaign's store.
        campaign: campaign.id.
        others: what other processes have sent.
        decisions: the planner of the campaign.
        find_sender: tells whose requests these are.
        now: the clock of this process, Unix seconds.
        clock: that of the server, Unix seconds; None: its own.
    """

    def __init__(
        self,
        connection: Connection,
        campaign: int,
        others: OtherProcesses,
        decisions: Decisions,
        *,
        find_sender: FindSender,
        now: Callable[[], float],
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.connection, self.campaign, self.others, self.decisions = connection, campaign, others, decisions
        self.find_sender, self.now, self._clock = find_sender, now, clock
        self._sql: dict[tuple[str, ...], str] = {}

    def begin(self) -> None:
        """Begin to follow the other processes, unless another campaign of this one did; in a transaction of its own."""
        if self.others.seen is not None:
            return
        with convert_errors(self.connection), read_unlocked(self.connection):
            before = self.now()
            seen, clock = self._execute(f"select coalesce(max(id), 0), {CLOCK} from request").one()  # noqa: S608  (ours)
            self.others.note_clock(before, self.now(), clock)
            given = {"campaign": self.campaign, "seen": seen, "lately": LATELY}
            rows = self._execute(f"{NEWS}{IN_FLIGHT}{CLOCK} - {LAG}", given)
            self.others.begin(seen, self._parse_rows(rows), self.now())

    def reserve(self, names: Sequence[str], row: tuple[Any, ...], grant: Grant) -> tuple[int, Wait | Stop | None]:
        """Insert a row, and count what others have reserved before it.

        Args:
            names: the columns.
            row: their values.
            grant: what is reserved.

        Returns:
            its request.id, and None; or why the request may not leave, and the row is not there any more.
        """
        opens = self.decisions.list_opened(grant)
        sql = self._compile_insert((*names, "opens"))
        number = self._write(sql, {**dict(zip(names, row, strict=True)), "opens": _pack_places(opens)})
        refused = self.decisions.reconsider(grant, self.now())
        if refused is not None:
            self._execute("delete from request where id = %(id)s", {"id": number})
        self.others.note_own(number)
        return number, refused

    def settle(self, names: Sequence[str], row: tuple[Any, ...]) -> None:
        """Update the columns `names` of the row whose id is last in `row`, and count what others have done since."""
        self._write(self._compile_update(tuple(names)), dict(zip((*names, "the_id"), row, strict=True)))

    def refresh(self, now: float) -> bool:
        """Count what others have reserved or settled, where that may let a request leave; return whether it did."""
        if not self.others.is_due(now):
            return False
        version = self.others.version
        with convert_errors(self.connection), read_unlocked(self.connection):
            rows = self._execute(NEWS + SINCE, self._make_limits()).all()
            self.others.count(self._parse_rows(rows), self.now())
        return self.others.version != version

    def _write(self, sql: str, given: dict[str, Any]) -> int:
        """Execute a statement that writes one row; return its id."""
        before = self.now()
        rows = self._execute(sql, given | self._make_limits()).all()
        after = self.now()
        self.others.note_clock(before, after, rows[0].now)
        self.others.count(self._parse_rows(row for row in rows if row.id is not None), after)
        return int(rows[0].mine)

    def _make_limits(self) -> dict[str, Any]:
        return {"seen": self.others.seen or 0, "pending": self.others.list_pending()}

    def _parse_rows(self, rows: Iterable[Row[Any]]) -> list[OtherRequest]:
        found = ((row, self.find_sender(row.campaign, row.version, row.credential)) for row in rows)
        return [_parse_row(row, sender) for row, sender in found if sender is not None]

    def _compile_insert(self, names: tuple[str, ...]) -> str:
        if names not in self._sql:
            values: dict[str, Any] = {name: bindparam(name) for name in names}
            given = cast(bindparam("at"), Float)
            made = insert(request).values({**values, "clock": func.coalesce(given, literal_column(OWN_CLOCK))})
            self._sql[names] = self._join_news(made)
        return self._sql[names]

    def _compile_update(self, names: tuple[str, ...]) -> str:
        if names not in self._sql:
            made = update(request).where(request.c.id == bindparam("the_id"))
            self._sql[names] = self._join_news(made.values({name: bindparam(name) for name in names}))
        return self._sql[names]

    def _join_news(self, statement: Insert | Update) -> str:
        """Return the SQL of a statement that writes one row and returns its id, the clock, and what is new."""
        sql = statement.returning(request.c.id).compile(dialect=self.connection.dialect)
        news = f"left join lateral ({NEWS}{SINCE}) n on true"
        return f"with mine as ({sql}) select mine.id as mine, {CLOCK} as now, n.* from mine {news}"  # noqa: S608  (ours)

    def _execute(self, sql: str, given: dict[str, Any] | None = None) -> Any:
        clock = {"at": None if self._clock is None else self._clock()}
        return self.connection.exec_driver_sql(sql, {**(given or {}), **clock})


def _pack_places(places: Sequence[int]) -> str | None:
    return orjson.dumps(places).decode() if places else None


def _parse_row(row: Row[Any], sender: Sender) -> OtherRequest:
    opens = tuple(orjson.loads(row.opens)) if row.opens else ()
    reply = row_values.parse_reply(row) if row.arrived_at else None
    given = row.clock, parse_time(row.sent_at), row.items
    return OtherRequest(row.id, sender.ledger, sender.bills, sender.mark, row.endpoint, *given, opens, reply)
