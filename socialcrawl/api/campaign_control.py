"""Starting a campaign in a process that outlives the caller, and stopping one through its database.

It is started as `socialcrawl daemon FILE --until-done`, not as `run FILE`: a daemon writes how the campaign stands
while it waits, obeys pauses and stops, takes up a changed file without a restart, and never prompts. With
`--until-done` no process is left behind.
"""

import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from socialcrawl.campaign.cost_outlook import describe_excess_cost, explain_missing_dataset, read_progress
from socialcrawl.campaign.credentials import open_access
from socialcrawl.campaign.plan import Plan
from socialcrawl.campaign.settings import read
from socialcrawl.daemon.campaign_check import check_campaign
from socialcrawl.daemon.campaign_state import ELSEWHERE, PAUSED, STOPPED, describe_pause
from socialcrawl.daemon.campaign_status import open_upgraded
from socialcrawl.daemon.log_file import open_log
from socialcrawl.engine.clock import SystemClock
from socialcrawl.errors import CostError, HeldError, SettingsError, StoreError
from socialcrawl.storage import daemons
from socialcrawl.storage.daemons import CampaignLease, is_gone
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.health import is_missing
from socialcrawl.storage.database.lease import Holder, find_holder
from socialcrawl.system.locks import Lock
from socialcrawl.system.state_folder import REMEDY, make_state_folder

COMMAND = (sys.executable, "-m", "socialcrawl", "daemon", "--until-done", "--log", "people", "--log-file")
PATIENCE = 60.0  # seconds until a campaign that was started has said how it stands
LOOK = 0.1  # seconds between two looks
LETTING_GO = 30.0  # seconds for a daemon to look (2 s), and for what is in flight (8 s)
LONGEST = 200  # characters of a name of a file


@dataclass(frozen=True, slots=True)
class CampaignPlace:
    """A campaign to be started or stopped: its name, its key, its database, and its campaign file."""

    name: str
    key: str
    where: DatabaseAddress
    file: str | None = None


def check_cost(plan: Plan) -> None:
    """Refuse a run that may cost more than `confirm_above`.

    Raises:
        CostError: it may.
    """
    excess = describe_excess_cost(plan, read_progress(plan))
    if excess is not None:
        said = f"{excess[0]}, which is more than {excess[1]}"
        raise CostError(f"{said}. Look at quote() first, then pass accept_cost=True. Nothing was sent.", said)


def check_start(place: CampaignPlace, *, accept_cost: bool) -> Path:
    """Return the file of a campaign that can be started.

    Raises:
        SettingsError: it has no campaign file here, the file is wrong, or a token or the dataset is missing.
        CostError: see `check_cost`.
        StoreError: its database cannot be used.
    """
    file = _find_file(place)
    plan = check_campaign(read(file))
    if plan.settings.name != place.name or _resolve(plan.settings.database) != _resolve(place.where):
        raise SettingsError(f"{file} is the file of another campaign now: reload the list of campaigns.")
    open_access(plan.settings, plan.base, lease=False)
    if (missing := explain_missing_dataset(plan, file)) is not None:
        raise SettingsError(missing)
    if not accept_cost:
        check_cost(plan)
    return file


def start_campaign(place: CampaignPlace, *, accept_cost: bool) -> None:
    """Start a campaign; return when its process has said in the database how the campaign stands.

    Raises:
        SettingsError, CostError: see `check_start`.
        HeldError: somebody runs it already, or is starting it.
        StoreError: its database cannot be used, or the process ended at once.
    """
    file = check_start(place, accept_cost=accept_cost)
    folder = make_state_folder()
    lock = Lock(folder / f"{place.key[:LONGEST]}.start", f"The campaign {place.name!r} is being started.", REMEDY)
    try:
        if not _make_free(place):
            _spawn(place, file, folder / f"{place.key[:LONGEST]}.log")
    finally:
        lock.release()


def stop_campaign(place: CampaignPlace) -> bool:
    """Ask whoever runs a campaign to let go of it, within some seconds; return False if it was stopped already.

    Raises:
        StoreError: it has not begun, a command has paused it, or its database cannot be written.
    """
    with open_upgraded(place.where) as connection:
        one = _find_lease(daemons.read_leases(connection), place.name)
        if one is None:
            raise StoreError(f"The campaign {place.name!r} has not begun, so there is nothing to stop.")
        if one.stopped and find_holder(connection, place.name) is None:
            return False
        if not daemons.stop_campaigns(connection, [place.name], SystemClock().now()):
            raise StoreError(f"The campaign {place.name!r} is {describe_pause(one)}: wait for that.")
    return True


def await_release(place: CampaignPlace, within: float = LETTING_GO) -> None:
    """Wait until nobody runs a campaign.

    Raises:
        StoreError: somebody still does after that many seconds.
    """
    ends = time.monotonic() + within
    while (holder := _read(place)[1]) is not None:
        if time.monotonic() > ends:
            raise HeldError(f"Process {holder.pid} on {holder.host} has not let go within {within:.0f} s: wait for it.")
        time.sleep(LOOK)


def _resolve(where: DatabaseAddress) -> DatabaseAddress:
    return where.resolve() if isinstance(where, Path) else where


def _find_file(place: CampaignPlace) -> Path:
    """Return the campaign file.

    Raises:
        SettingsError: there is none here.
    """
    if place.file is None or not Path(place.file).is_file():
        named = "" if place.file is None else f" (it was {place.file})"
        raise SettingsError(
            f"The campaign {place.name!r} has no campaign file here{named}: open the folder that has it."
        )
    return Path(place.file).resolve()


def _make_free(place: CampaignPlace) -> bool:
    """Resume a campaign that is paused or stopped; return whether a daemon that watches it goes on with it.

    Raises:
        HeldError: somebody runs it, or a daemon that watches it has nothing to do, now or later.
        StoreError: a command has paused it.
    """
    if is_missing(place.where):
        return False
    one, holder, watching = _read(place)
    if holder is not None:
        raise HeldError(f"Process {holder.pid} on {holder.host} runs the campaign {place.name!r} already.")
    if one is None:
        return False
    if one.paused_by is not None:
        raise StoreError(f"The campaign {place.name!r} is {describe_pause(one)}: wait for that.")
    if one.paused is not None:
        with open_upgraded(place.where) as connection:
            daemons.resume_campaigns(connection, [place.name])
        if watching:
            return _await_daemon(place)
    elif watching and one.state == STOPPED and one.until is not None:
        return _retry_now(place)
    elif watching:
        raise HeldError(
            f"A daemon (process {one.pid} on {one.host}) looks after the campaign {place.name!r}: it is {one.state}, "
            f"{one.why}."
        )
    return watching


def _retry_now(place: CampaignPlace) -> bool:
    """Have a daemon that waits before it tries a campaign again do so now; return whether one still goes on with it."""
    with open_upgraded(place.where) as connection:
        daemons.pause_campaigns(connection, [place.name], SystemClock().now())
    ends = time.monotonic() + LETTING_GO
    while time.monotonic() < ends:
        one, _, watching = _read(place)
        if not watching or one is None or one.state == PAUSED:
            break
        time.sleep(LOOK)
    with open_upgraded(place.where) as connection:
        daemons.resume_campaigns(connection, [place.name])
    return _await_daemon(place)


def _await_daemon(place: CampaignPlace) -> bool:
    """Return whether the daemon of a campaign that was resumed goes on with it: not if it was just leaving."""
    ends = time.monotonic() + LETTING_GO
    while time.monotonic() < ends:
        one, holder, watching = _read(place)
        if not watching or one is None:
            return False
        if holder is not None or one.state not in (PAUSED, STOPPED):
            return True
        time.sleep(LOOK)
    return True


def _read(place: CampaignPlace) -> tuple[CampaignLease | None, Holder | None, bool]:
    """Return what a database knows of a campaign, who runs it, and whether a daemon looks after it."""
    with open_upgraded(place.where) as connection:
        now = daemons.read_clock(connection, SystemClock().now())
        one = _find_lease(daemons.read_leases(connection), place.name)
        holder = find_holder(connection, place.name)
        if one is not None and one.is_alive(now) and not is_gone(one.host, one.pid):
            holder = Holder(one.pid or 0, one.host or "")
        live = [daemon.id for daemon in daemons.find_live_daemons(connection, now)]
        return one, holder, one is not None and one.daemon in live


def _find_lease(leases: list[CampaignLease], name: str) -> CampaignLease | None:
    return next((one for one in leases if one.campaign == name), None)


def _spawn(place: CampaignPlace, file: Path, log: Path) -> None:
    """Begin the process, and wait until it has said how the campaign stands.

    Raises:
        HeldError: another process was faster.
        StoreError: it ended at once; the message has what it said last.
    """
    began = log.stat().st_size if log.exists() else 0
    with open(open_log(log), "wb") as said:  # noqa: PTH123  (a descriptor)
        child = subprocess.Popen(  # noqa: S603  (our own program with paths as arguments)
            [*COMMAND, str(log), str(file)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,  # it outlives this process, its terminal and their signals
        )
    threading.Thread(target=child.wait, name="started", daemon=True).start()  # no zombie, which would look alive
    ends = time.monotonic() + PATIENCE
    while child.poll() is None and time.monotonic() < ends:
        if (one := _read_spoken(place, child.pid)) is not None and one.state != ELSEWHERE:
            return
        time.sleep(LOOK)
    one = _read_spoken(place, child.pid)
    if one is not None and one.state != ELSEWHERE:
        return
    if child.poll() is None:
        raise StoreError(f"Process {child.pid} was started, but says nothing yet. Its log is {log}.")
    if one is not None or child.returncode == 0:
        why = "another process runs it" if one is None else one.why
        raise HeldError(f"The campaign {place.name!r} was not started: {why}.")
    raise StoreError(f"The campaign {place.name!r} was not started: {_read_last_line(log, began)} Its log is {log}.")


def _read_spoken(place: CampaignPlace, pid: int) -> CampaignLease | None:
    """Return what a daemon of this machine says of a campaign; None: nothing yet."""
    if is_missing(place.where):
        return None
    with suppress(StoreError), open_upgraded(place.where) as connection:
        one = _find_lease(daemons.read_leases(connection), place.name)
        return one if one is not None and (one.pid, one.host) == (pid, socket.gethostname()) else None
    return None


def _read_last_line(log: Path, began: int) -> str:
    """Return what a process said last in its log, as a sentence."""
    with suppress(OSError):
        lines = log.read_bytes()[began:].decode("utf-8", "replace").strip().splitlines()
        if lines:
            return f"{lines[-1].removeprefix('error: ').rstrip('.')}."
    return "it ended at once."
