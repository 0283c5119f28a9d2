"""How campaigns stand, as their databases, locks and files say: for other terminals, programs and the web pages.

What a daemon wrote that is gone is not what a campaign does: the states here are true now.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from socialcrawl.campaign.policies import find_window_rule
from socialcrawl.campaign.settings import Settings
from socialcrawl.daemon.campaign_state import BROKEN, DONE, PAUSED, RUNNING, STOPPED, describe_pause
from socialcrawl.daemon.duplicate_campaigns import choose_file, describe_left_out
from socialcrawl.engine.model import parse_time
from socialcrawl.errors import EmptyDatabaseError, OutdatedError, SocialcrawlError
from socialcrawl.storage import daemons
from socialcrawl.storage.daemons import CampaignLease, LiveDaemon, is_gone
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.connection import HURRY, Opened, open_database, read_unlocked
from socialcrawl.storage.database.health import EMPTY, OLDER, check_ours, is_missing, open_existing, read_schema_state
from socialcrawl.storage.database.lease import find_holder
from socialcrawl.storage.queries.progress_figures import ProgressFigures, read_progress_figures
from socialcrawl.storage.stored_checks import ComplianceSummary, summarize_checks
from socialcrawl.storage.versions import compare_file, read_latest_settings
from socialcrawl.text.wording import format_span, parse_seconds, pluralize

IDLE, LOST, OUTDATED = "idle", "lost", "outdated"  # states that no daemon writes
UNKNOWN = "?"  # the name of a campaign in a database that cannot be read
BOUNDS = ("budget", "topic", "seeds", "crawl.steps")  # what continues a campaign that has ended, and its kind's section
Files = Mapping[Path, Settings]
Open = Callable[[DatabaseAddress], AbstractContextManager[Opened]]


class KnownCampaign(NamedTuple):
    """How a campaign stands: where it is, as its database knows it, its file, if it has one, and what was checked."""

    where: DatabaseAddress
    held: CampaignLease
    file: Path | None = None
    checks: ComplianceSummary | None = None


class DatabaseStatus(NamedTuple):
    """What a database says: its campaigns, the daemons that watch it, and how far campaigns are, if that is read."""

    rows: list[KnownCampaign]
    daemons: list[LiveDaemon]
    figures: Mapping[str, ProgressFigures] | None = None


def open_upgraded(where: DatabaseAddress) -> AbstractContextManager[Opened]:
    """Open a database, brought up to date, for somebody who is in a hurry."""
    return open_database(where, create=False, busy=HURRY)


@contextmanager
def open_as_it_is(where: DatabaseAddress) -> Iterator[Opened]:
    """Open a read-only connection to a database of this version.

    Raises:
        OutdatedError: an older version wrote it; it stays as it is.
        EmptyDatabaseError: it has no tables.
        StoreError: it cannot be read, is another program's, or a newer socialcrawl's.
    """
    with open_existing(where) as connection:
        state = check_ours(read_schema_state(connection), where)
        if state == EMPTY:
            raise EmptyDatabaseError(f"There is no campaign in {where} yet.")
        if state == OLDER:
            raise OutdatedError(
                f"An older version of socialcrawl wrote {where}. It is not changed here: `socialcrawl report {where}` "
                "upgrades it."
            )
        yield connection


@dataclass(frozen=True, slots=True)
class StatusReading:
    """What is looked for in databases.

    Attributes:
        now: Unix seconds.
        open: opens a database.
        all: whether campaigns are also shown that are in a database and not among those that are named.
        figures: whether it is read how far they are.
    """

    now: float
    open: Open = open_upgraded
    all: bool = False
    figures: bool = False


def read_status(where: DatabaseAddress, names: Mapping[str, Files], reading: StatusReading) -> DatabaseStatus:
    """Return the campaigns of a database by name, those that have not begun too, and its daemons.

    Args:
        where: the database, which need not be there yet.
        names: the files of each campaign; no names for all campaigns of the database.
        reading: how to look.
    """
    try:
        if is_missing(where):
            return _make_unbegun_status(where, names)
        with reading.open(where) as connection:
            ahead = daemons.read_clock(connection, reading.now) - reading.now
            found = {one.campaign: _shift_beat(one, ahead) for one in daemons.read_leases(connection)}
            rows = [
                row
                for name in ({**names, **found} if reading.all else names or found)
                for row in _make_row(connection, where, found.get(name, _make_unbegun(name)), names.get(name, {}),
                                     reading.now)
            ]  # fmt: skip
            with read_unlocked(connection):
                checks = summarize_checks(connection)
                figures = read_progress_figures(connection, find_window_rule) if reading.figures else None
            rows = [row._replace(checks=checks) for row in rows]
            living = daemons.find_live_daemons(connection, reading.now + ahead)
            return DatabaseStatus(rows, [replace(one, beat=one.beat - ahead) for one in living], figures)
    except SocialcrawlError as error:
        if isinstance(error, EmptyDatabaseError) and names:
            return _make_unbegun_status(where, names)
        state = OUTDATED if isinstance(error, OutdatedError) else BROKEN
        faulty = [CampaignLease(name, None, state=state, why=str(error)) for name in names or [UNKNOWN]]
        return DatabaseStatus(
            [KnownCampaign(where, one, next(iter(names.get(one.campaign, [])), None)) for one in faulty], []
        )


def _make_unbegun_status(where: DatabaseAddress, names: Mapping[str, Files]) -> DatabaseStatus:
    rows = [row for name, files in names.items() for row in _make_rows(where, _make_unbegun(name), files)]
    return DatabaseStatus(rows, [])


def _shift_beat(one: CampaignLease, ahead: float) -> CampaignLease:
    """Return a lease whose heartbeat is dated by the reader's clock; the server's is `ahead` seconds ahead of it."""
    return one if one.beat is None else replace(one, beat=one.beat - ahead)


def explain_idle(
    held: CampaignLease, figures: ProgressFigures, settings: Mapping[str, Any], now: float
) -> CampaignLease:
    """Return how a campaign stands that nobody runs: whether that is its end.

    Args:
        held: how it stands as its database says; unchanged where it neither is idle nor has ended. An end counts no
            more once a later run has sent requests, which was killed, or the campaign file has changed.
        figures: how far it is.
        settings: those of its file, or the stored ones.
        now: Unix seconds.
    """
    budget, steps = settings.get("budget") or {}, (settings.get("crawl") or {}).get("steps")
    requests, longest = budget.get("max_requests"), budget.get("max_time")
    if _is_out_of_date(held, figures, settings):
        held = replace(held, state=IDLE, since=None)
    if held.state != IDLE:
        return held
    if steps is not None and figures.steps >= steps:
        return replace(held, state=DONE, why=f"all {pluralize(steps, 'step')} that were planned are done")
    if requests is not None and figures.requests >= requests:
        return replace(held, state=STOPPED, why=f"the budget of {pluralize(requests, 'request')} is spent")
    if longest is not None and figures.began is not None and parse_time(figures.began) + parse_seconds(longest) <= now:
        return replace(held, state=STOPPED, why="the time of its budget is over")
    return replace(held, why="nobody runs it now")


def _is_out_of_date(held: CampaignLease, figures: ProgressFigures, settings: Mapping[str, Any]) -> bool:
    """Return whether a campaign has ended, and was continued or got other settings since."""
    if held.state not in (DONE, STOPPED) or held.released is None or held.paused is not None:
        return False
    later = figures.last is not None and parse_time(figures.last) > held.released
    changed = compare_file(figures.settings, settings)
    bounds = {*BOUNDS, settings.get("kind")}
    return later or any(key in bounds or key.partition(".")[0] in bounds for key in changed)


def _make_row(
    connection: Opened, where: DatabaseAddress, held: CampaignLease, files: Files, now: float
) -> list[KnownCampaign]:
    """Return how a campaign of a database stands, and its second file, which is left out."""
    stored = read_latest_settings(connection, held.campaign) if len(files) > 1 else None
    return _make_rows(where, _find_state(connection, held, now), files, stored)


def _make_rows(
    where: DatabaseAddress, held: CampaignLease, files: Files, stored: dict[str, Any] | None = None
) -> list[KnownCampaign]:
    if not files:
        return [KnownCampaign(where, held)]
    its = choose_file(files, held.file, stored)
    rows = [KnownCampaign(where, held, its)]
    for file, settings in files.items():
        if file != its:
            why = describe_left_out(file, its, settings)
            rows.append(KnownCampaign(file, CampaignLease(file.stem, None, state=BROKEN, why=why), file))
    return rows


def _make_unbegun(name: str) -> CampaignLease:
    return CampaignLease(name, None, state=IDLE, why="it has not begun")


def _find_state(connection: Opened, one: CampaignLease, now: float) -> CampaignLease:
    """Return how a campaign stands now, as a person needs it: what a daemon wrote that is gone is not what it does."""
    gone = is_gone(one.host, one.pid)
    if one.is_alive(now) and not gone:
        return one if one.until is None or one.until > now else replace(one, until=None)
    if (holder := find_holder(connection, one.campaign)) is not None and (
        holder.pid != one.pid or one.released is not None  # a program may run a campaign several times
    ):
        why = f"process {holder.pid} on {holder.host} works on it"
        held = replace(one, state=RUNNING, why=why, beat=now, released=None, until=None, since=None)
        return held if holder.pid == one.pid else replace(held, daemon=None, host=holder.host, pid=holder.pid)
    one = replace(one, until=None)
    if one.paused is not None:
        return replace(one, state=STOPPED if one.stopped else PAUSED, why=describe_pause(one))
    if one.daemon is None:
        return replace(one, state=IDLE, why=one.why or "no daemon has run it")
    if one.released is None:
        heard = format_span(now - (one.beat or now))
        sign = f"process {one.pid} on {one.host}, its daemon, is gone" if gone else f"no sign of its daemon for {heard}"
        return replace(one, state=LOST, why=f"{sign}; it was {one.state}: {one.why}")
    return one
