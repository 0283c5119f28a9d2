"""What daemons write down and are told through the database: that they live, what they run, what is asked of them.

The right to run a campaign is `lease.Lease`, which ends with its process. The rows here say who has it, and how it
goes, for other terminals and daemons. Whose holder was not heard of for EXPIRY seconds counts as let go.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select, update

from socialcrawl.model import iso, unix
from socialcrawl.store.database import unlocked
from socialcrawl.store.tables import campaign, daemon, lease
from socialcrawl.store.trouble import in_words

EXPIRY = 30.0  # seconds after which a daemon that was not heard of counts as gone


@dataclass(frozen=True, slots=True)
class Told:
    """What a daemon says of one campaign: its name, and the columns of table `lease`; instants in Unix seconds.

    `held`: whether it has the right to run it now.
    """

    campaign: str
    state: str
    why: str
    until: float | None
    moved: float | None
    held: bool


@dataclass(frozen=True, slots=True)
class Held:
    """A campaign and who runs it, as the database knows.

    `daemon`, `host` and `pid` are None, and `state` "" where no daemon ever ran it; `paused` is when somebody paused
    it, `beat` when its holder was last heard of, `released` when it let go. Instants are Unix seconds.
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

    def alive(self, now: float) -> bool:
        """Whether a daemon has it: it has not let go, and was heard of a short while ago."""
        return self.beat is not None and self.released is None and now - self.beat < EXPIRY


@dataclass(frozen=True, slots=True)
class Living:
    """A daemon that has not left: its id, machine, process, and when it was last heard of (Unix seconds)."""

    id: str
    host: str
    pid: int
    beat: float
    asked: bool


def enrolled(connection: Connection, name: str, host: str, pid: int, now: float) -> None:
    """A row for a daemon that begins, once."""
    with in_words(connection), connection.begin():
        if connection.execute(select(daemon.c.id).where(daemon.c.id == name)).first() is None:
            values = {"id": name, "host": host, "pid": pid, "began_at": iso(now), "beat_at": iso(now)}
            connection.execute(insert(daemon).values(values))


def beaten(connection: Connection, name: str, standings: Iterable[Told], now: float) -> None:
    """The sign of life of a daemon, and how its campaigns stand; one transaction. Campaigns not begun have no row."""
    with in_words(connection), connection.begin():
        connection.execute(update(daemon).where(daemon.c.id == name).values(beat_at=iso(now)))
        numbers = {row.name: row.id for row in connection.execute(select(campaign.c.id, campaign.c.name))}
        rows = {row.campaign: row for row in connection.execute(select(lease))}
        for one in standings:
            if (number := numbers.get(one.campaign)) is not None:
                _write(connection, number, rows.get(number), one, (name, iso(now)))


def left(connection: Connection, name: str, now: float) -> None:
    """The end of a daemon: it has let go of everything."""
    with in_words(connection), connection.begin():
        connection.execute(update(daemon).where(daemon.c.id == name).values(ended_at=iso(now)))
        mine = (lease.c.daemon == name) & lease.c.released_at.is_(None)
        connection.execute(update(lease).where(mine).values(released_at=iso(now)))


def asked(connection: Connection, name: str) -> bool:
    """Whether somebody asked a daemon to stop."""
    with in_words(connection), unlocked(connection):
        return connection.execute(select(daemon.c.stop_at).where(daemon.c.id == name)).scalar() is not None


def pause(connection: Connection, names: Sequence[str], now: float) -> list[str]:
    """The campaigns that were paused by this, of those named: no daemon runs them until `resume`."""
    return _set_paused(connection, names, iso(now))


def resume(connection: Connection, names: Sequence[str]) -> list[str]:
    """The campaigns of those named that were paused, and are no longer."""
    return _set_paused(connection, names, None)


def ask_to_stop(connection: Connection, now: float) -> list[Living]:
    """The daemons that run campaigns of this database, which are now asked to stop."""
    with in_words(connection), connection.begin():
        found = _living(connection, now)
        mine = daemon.c.id.in_([one.id for one in found])
        connection.execute(update(daemon).where(mine, daemon.c.stop_at.is_(None)).values(stop_at=iso(now)))
    return found


def living(connection: Connection, now: float) -> list[Living]:
    """The daemons of this database that have not left and were heard of a short while ago."""
    with in_words(connection), unlocked(connection):
        return _living(connection, now)


def held(connection: Connection) -> list[Held]:
    """All campaigns of the database, oldest first, and who runs them."""
    joined = select(campaign.c.name, campaign.c.paused_at, lease, daemon.c.host, daemon.c.pid).select_from(
        campaign.outerjoin(lease, lease.c.campaign == campaign.c.id).outerjoin(daemon, daemon.c.id == lease.c.daemon)
    )
    with in_words(connection), unlocked(connection):
        rows = connection.execute(joined.order_by(campaign.c.id)).all()
    found = []
    for row in rows:
        paused, until, moved, beat, released = (
            None if text is None else unix(text)
            for text in (row.paused_at, row.until, row.moved_at, row.beat_at, row.released_at)
        )
        who = row.daemon, row.host, row.pid, row.state or "", row.why or ""
        found.append(Held(row.name, paused, *who, until, moved, beat, released))
    return found


def _living(connection: Connection, now: float) -> list[Living]:
    recent = daemon.c.ended_at.is_(None) & (daemon.c.beat_at >= iso(now - EXPIRY))
    rows = connection.execute(select(daemon).where(recent).order_by(daemon.c.began_at, daemon.c.id)).all()
    return [Living(row.id, row.host, row.pid, unix(row.beat_at), row.stop_at is not None) for row in rows]


def _write(connection: Connection, number: int, row: Any, one: Told, mine: tuple[str, str]) -> None:
    """Write one campaign's row, for a daemon at an instant (`mine`).

    Another daemon's row only if this one holds the campaign, or that one has let go and it has moved since.
    """
    name, now = mine
    moved = None if one.moved is None else iso(one.moved)
    still = row is not None and row.daemon == name
    later = row is not None and row.released_at is not None and moved is not None and moved > (row.moved_at or "")
    if row is not None and not (one.held or still or later):
        return
    held_on = still and row.released_at is None
    values = {
        "daemon": name,
        "taken_at": row.taken_at if still and (held_on or not one.held) else now,
        "beat_at": now,
        "released_at": None if one.held else now if held_on or later or row is None else row.released_at,
        "state": one.state,
        "why": one.why,
        "until": None if one.until is None else iso(one.until),
        "moved_at": moved,
    }
    if row is None:
        connection.execute(insert(lease).values(campaign=number, **values))
    else:
        connection.execute(update(lease).where(lease.c.campaign == number).values(values))


def _set_paused(connection: Connection, names: Sequence[str], at: str | None) -> list[str]:
    to_do = campaign.c.paused_at.is_(None) if at else campaign.c.paused_at.is_not(None)
    which = campaign.c.name.in_(list(names)) & to_do
    with in_words(connection), connection.begin():
        found = connection.execute(select(campaign.c.name).where(which).order_by(campaign.c.id)).scalars().all()
        connection.execute(update(campaign).where(which).values(paused_at=at))
    return list(found)
