"""What daemons write down and are told through the database: that they live, what they run, what is asked of them.

The right to run a campaign is `lease.Lease`, which ends with its process. The rows here say who has it, and how it
goes, for other terminals and daemons. Whose holder was not heard of for EXPIRY seconds counts as let go.
"""

import os
import re
import socket
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, insert, select, text, update
from sqlalchemy.exc import DBAPIError

from socialcrawl.engine.model import format_time, parse_time
from socialcrawl.storage.database.connection import name_process, read_unlocked
from socialcrawl.storage.database.trouble import convert_errors
from socialcrawl.storage.schema.tables import campaign, daemon, lease
from socialcrawl.system.locks import is_alive

PAUSER = re.compile(r"(.+) \(process ([0-9]+) on (.+)\)")
STOPPED_BY = "stop"  # in column `paused_by`: it was stopped rather than paused; earlier versions take it for a pause
ELSEWHERE = "elsewhere"  # the state of a campaign that another process runs
EXPIRY = 30.0  # seconds after which a daemon that was not heard of counts as gone

END_SILENT = """
with session as (
  select pid, state_change from pg_stat_activity where datname = current_database() and application_name = :name
)
select case
  when (select max(state_change) from session) < clock_timestamp() - make_interval(secs => :silence)
  then pg_terminate_backend(pid)
end from session
"""


@dataclass(frozen=True, slots=True)
class CampaignHeartbeat:
    """What a daemon says of one campaign: its name, and the columns of table `lease`; instants in Unix seconds.

    `held`: whether it has the right to run it now.
    """

    campaign: str
    state: str
    why: str
    until: float | None
    moved: float | None
    held: bool
    since: float | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Pauser:
    """A command that pauses campaigns until it is done: its name, its process and the machine of that."""

    command: str
    pid: int
    host: str

    def __str__(self) -> str:
        return f"{self.command} (process {self.pid} on {self.host})"


def parse_pauser(written: str) -> Pauser | None:
    """Return the command that column `paused_by` names; None: it was written by another program."""
    found = PAUSER.fullmatch(written)
    return Pauser(found[1], int(found[2]), found[3]) if found else None


@dataclass(frozen=True, slots=True)
class CampaignLease:
    """A campaign and who runs it, as the database knows.

    `daemon`, `host` and `pid` are None, and `state` "" where no daemon ever ran it; `paused` is when somebody paused
    it, `paused_by` the command that did so until it is done (None: a person), `beat` when its holder was last heard of,
    `released` when it let go, `file` the campaign file of its daemon. `stopped`: it was stopped rather than paused.
    Instants are Unix seconds.
    """

    campaign: str
    paused: float | None
    daemon: str | None = None
    host: str | None = None
    pid: int | None = None
    state: str = ""
    why: str = ""
    until: float | None = None
    moved: float | None = None
    beat: float | None = None
    released: float | None = None
    since: float | None = None
    file: str | None = None
    paused_by: Pauser | None = None
    stopped: bool = False

    def is_alive(self, now: float) -> bool:
        """Return whether a daemon has it: it has not let go, and was heard of a short while ago."""
        return self.beat is not None and self.released is None and now - self.beat < EXPIRY


@dataclass(frozen=True, slots=True)
class LiveDaemon:
    """A daemon that has not left: its id, machine, process, and when it was last heard of (Unix seconds).

    `weight` and `campaigns` (names) are those that it shares with others; it shares none on a file.
    """

    id: str
    host: str
    pid: int
    beat: float
    asked: bool
    weight: float = 1.0
    campaigns: frozenset[str] = frozenset()

    @property
    def process(self) -> str:
        """Its machine and process, for people."""
        return f"{self.host}:{self.pid}"


def read_clock(connection: Connection, now: float) -> float:
    """Return the instant by the clock that heartbeats are told by: the server's; where a database is a file, `now`.

    Machines whose clocks differ agree on who is silent. Unix seconds.
    """
    if connection.dialect.name != "postgresql":
        return now
    with convert_errors(connection), read_unlocked(connection):
        return float(connection.exec_driver_sql("select extract(epoch from clock_timestamp())").scalar_one())


def enroll_daemon(connection: Connection, name: str, host: str, pid: int, now: float) -> None:
    """Insert a row for a daemon that starts."""
    with convert_errors(connection), connection.begin():
        if connection.execute(select(daemon.c.id).where(daemon.c.id == name)).first() is None:
            values = {"id": name, "host": host, "pid": pid, "began_at": format_time(now), "beat_at": format_time(now)}
            connection.execute(insert(daemon).values(values))


def write_heartbeat(connection: Connection, name: str, standings: Iterable[CampaignHeartbeat], now: float) -> None:
    """Write a daemon's heartbeat and the state of its campaigns, in one transaction. New campaigns have no row."""
    with convert_errors(connection), connection.begin():
        connection.execute(update(daemon).where(daemon.c.id == name).values(beat_at=format_time(now)))
        numbers = {row.name: row.id for row in connection.execute(select(campaign.c.id, campaign.c.name))}
        rows = {row.campaign: row for row in connection.execute(select(lease))}
        others = {one.id for one in _find_live(connection, now)} - {name}
        for one in standings:
            row = rows.get(numbers.get(one.campaign, -1))
            if one.campaign in numbers and (one.held or _is_ours(row, one, name, others)):
                _write_row(connection, numbers[one.campaign], row, one, (name, format_time(now)))


def write_share(connection: Connection, name: str, weight: float, campaigns: Iterable[str]) -> None:
    """Write the weight of a daemon and the names of the campaigns that it can run, for others to share them."""
    values = {"weight": weight, "campaigns": orjson.dumps(sorted(campaigns)).decode()}
    with convert_errors(connection), connection.begin():
        connection.execute(update(daemon).where(daemon.c.id == name).values(values))


def end_silent_sessions(connection: Connection, host: str, pid: int) -> bool | None:
    """End the connections of a process that hangs to a server.

    What that process writes afterwards fails, so that it cannot run a campaign together with another process.

    Returns:
        True: they are ended. False: one of them has begun or finished a statement within EXPIRY seconds, and none is
        ended. None: there are none, or the server does not let this user end them.
    """
    given = {"name": name_process(pid, host), "silence": EXPIRY}
    try:
        with read_unlocked(connection):
            ended = connection.execute(text(END_SILENT), given).scalars().all()
    except DBAPIError:
        return None
    return any(ended) if ended else None


def sign_off(connection: Connection, name: str, now: float) -> None:
    """Record that a daemon ended and released everything."""
    with convert_errors(connection), connection.begin():
        connection.execute(update(daemon).where(daemon.c.id == name).values(ended_at=format_time(now)))
        mine = (lease.c.daemon == name) & lease.c.released_at.is_(None)
        connection.execute(update(lease).where(mine).values(released_at=format_time(now)))


def record_ending(connection: Connection, name: str, state: str, why: str, now: float) -> None:
    """Record how a campaign ended that this process ran without a daemon, after it was released.

    The row of a daemon that still looks after the campaign stays as it is: that one decides what follows.

    Args:
        connection: the database.
        name: the campaign.
        state: done or stopped.
        why: why it ended.
        now: Unix seconds.
    """
    host, pid = socket.gethostname(), os.getpid()
    me = f"{host}:{pid}:{format_time(now)}"
    before = next((one for one in read_leases(connection) if one.campaign == name), None)
    moved, file = (None, None) if before is None else (before.moved, before.file)
    enroll_daemon(connection, me, host, pid, now)
    write_heartbeat(connection, me, [CampaignHeartbeat(name, state, why, None, moved, False, now, file)], now)
    sign_off(connection, me, now)


def is_stop_requested(connection: Connection, name: str) -> bool:
    """Return whether somebody asked a daemon to stop."""
    with convert_errors(connection), read_unlocked(connection):
        return connection.execute(select(daemon.c.stop_at).where(daemon.c.id == name)).scalar() is not None


def pause_campaigns(connection: Connection, names: Sequence[str], now: float, by: Pauser | None = None) -> list[str]:
    """Pause campaigns, which no daemon runs until `resume_campaigns`; return those of them that were not.

    Args:
        connection: the database.
        names: the campaigns.
        now: Unix seconds.
        by: the command that resumes them when it is done; None: a person pauses them, also those that a command has
            paused.
    """
    free = campaign.c.paused_at.is_(None)
    which = free if by is not None else free | campaign.c.paused_by.is_not(None)
    return _set_paused(connection, names, which, format_time(now), None if by is None else str(by))


def stop_campaigns(connection: Connection, names: Sequence[str], now: float) -> list[str]:
    """Stop campaigns: whoever runs one lets go of it, and no daemon runs it until `resume_campaigns`.

    Unlike a pause, this also ends a run that is no daemon's.

    Args:
        connection: the database.
        names: the campaigns.
        now: Unix seconds.

    Returns:
        Those of them that were not paused by a command: that one goes on when the command is done.
    """
    free = campaign.c.paused_by.is_(None) | (campaign.c.paused_by == STOPPED_BY)
    return _set_paused(connection, names, free, format_time(now), STOPPED_BY)


def resume_campaigns(connection: Connection, names: Sequence[str], by: Pauser | None = None) -> list[str]:
    """Resume campaigns; return those that were paused: `by` a command, or by anybody."""
    which = campaign.c.paused_at.is_not(None) if by is None else campaign.c.paused_by == str(by)
    return _set_paused(connection, names, which, None, None)


def request_stop(connection: Connection, now: float) -> list[LiveDaemon]:
    """Return the daemons that run campaigns of this database, which are now asked to stop."""
    with convert_errors(connection), connection.begin():
        found = _find_live(connection, now)
        mine = daemon.c.id.in_([one.id for one in found])
        connection.execute(update(daemon).where(mine, daemon.c.stop_at.is_(None)).values(stop_at=format_time(now)))
    return found


def read_stop(connection: Connection, name: str) -> float | None:
    """Return when a campaign was stopped (Unix seconds); None: it is not."""
    return next((one.paused for one in read_leases(connection) if one.campaign == name and one.stopped), None)


def find_live_daemons(connection: Connection, now: float) -> list[LiveDaemon]:
    """Return the daemons of this database that have not left and were heard of a short while ago."""
    with convert_errors(connection), read_unlocked(connection):
        return _find_live(connection, now)


def read_leases(connection: Connection) -> list[CampaignLease]:
    """Return all campaigns of the database, oldest first, and who runs them."""
    mine = campaign.c.name, campaign.c.paused_at, campaign.c.paused_by
    joined = select(*mine, lease, daemon.c.host, daemon.c.pid).select_from(
        campaign.outerjoin(lease, lease.c.campaign == campaign.c.id).outerjoin(daemon, daemon.c.id == lease.c.daemon)
    )
    with convert_errors(connection), read_unlocked(connection):
        rows = connection.execute(joined.order_by(campaign.c.id)).all()
    found = []
    for row in rows:
        paused, until, moved, beat, released, since = (
            None if said is None else parse_time(said)
            for said in (row.paused_at, row.until, row.moved_at, row.beat_at, row.released_at, row.since)
        )
        who = row.daemon, row.host, row.pid, row.state or "", row.why or ""
        by = None if row.paused_by is None else parse_pauser(row.paused_by)
        stopped = row.paused_by == STOPPED_BY
        found.append(CampaignLease(row.name, paused, *who, until, moved, beat, released, since, row.file, by, stopped))
    return found


def _find_live(connection: Connection, now: float) -> list[LiveDaemon]:
    recent = daemon.c.ended_at.is_(None) & (daemon.c.beat_at >= format_time(now - EXPIRY))
    rows = connection.execute(select(daemon).where(recent).order_by(daemon.c.began_at, daemon.c.id)).all()
    found = [
        LiveDaemon(
            row.id,
            row.host,
            row.pid,
            parse_time(row.beat_at),
            row.stop_at is not None,
            1.0 if row.weight is None else row.weight,
            frozenset(orjson.loads(row.campaigns or "[]")),
        )
        for row in rows
    ]
    return [one for one in found if not is_gone(one.host, one.pid)]


def is_gone(host: str | None, pid: int | None) -> bool:
    """Return whether a process was on this machine and is no more: a daemon that was killed has said nothing."""
    return host == socket.gethostname() and pid is not None and not is_alive(pid)


def _is_ours(row: Any, one: CampaignHeartbeat, name: str, others: Collection[str]) -> bool:
    """Return whether a daemon that does not hold a campaign writes its row: it was the last that did, or that is gone.

    Of another daemon that has let go, it is also its own where the campaign has moved since. That another process runs
    a campaign is only said of its own: the row of who had it last says how to go on.
    """
    if row is None or one.state == ELSEWHERE:
        return one.state != ELSEWHERE or (row is not None and row.daemon == name)
    moved = "" if one.moved is None else format_time(one.moved)
    later = row.released_at is not None and moved > (row.moved_at or "")
    return later or row.daemon not in others


def _write_row(connection: Connection, number: int, row: Any, one: CampaignHeartbeat, mine: tuple[str, str]) -> None:
    """Write one campaign's row, for a daemon at an instant (`mine`)."""
    name, now = mine
    still = row is not None and row.daemon == name
    held_on = still and row.released_at is None
    values = {
        "daemon": name,
        "taken_at": row.taken_at if still and (held_on or not one.held) else now,
        "beat_at": now,
        "released_at": None if one.held else now if held_on or not still else row.released_at,
        "state": one.state,
        "why": one.why,
        "until": None if one.until is None else format_time(one.until),
        "moved_at": None if one.moved is None else format_time(one.moved),
        "since": None if one.since is None else format_time(one.since),
        "file": one.file,
    }
    if row is None:
        connection.execute(insert(lease).values(campaign=number, **values))
    else:
        connection.execute(update(lease).where(lease.c.campaign == number).values(values))


def _set_paused(
    connection: Connection, names: Sequence[str], which: ColumnElement[bool], at: str | None, by: str | None
) -> list[str]:
    which = campaign.c.name.in_(list(names)) & which
    with convert_errors(connection), connection.begin():
        found = connection.execute(select(campaign.c.name).where(which).order_by(campaign.c.id)).scalars().all()
        connection.execute(update(campaign).where(which).values(paused_at=at, paused_by=by))
    return list(found)
