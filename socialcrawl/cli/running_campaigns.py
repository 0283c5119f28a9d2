"""Campaigns that are in the way of a command: named, or paused until it is done, and then resumed.

A daemon holds the right to run each campaign that it has open. `forget`, `retain` and imports into a campaign need that
right for themselves.
"""

import os
import shlex
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn, TypeVar

from socialcrawl.engine.clock import SystemClock
from socialcrawl.errors import HeldError, SocialcrawlError, StoreError
from socialcrawl.storage import daemons
from socialcrawl.storage.daemons import CampaignLease, Pauser
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.connection import open_database
from socialcrawl.storage.database.health import is_missing
from socialcrawl.text.terminal import write_error

PATIENCE = 30.0  # seconds for a daemon to look (2 s), and for what is in flight (8 s)
LOOK = 0.2  # seconds between two looks whether it has let go
ROUNDS = 3  # times the work is begun: a daemon may open a campaign that rested just before
TERMINATED = 128 + signal.SIGTERM
T = TypeVar("T")


def give_way(
    command: str, where: DatabaseAddress, names: Sequence[str] | None, work: Callable[[], T], *, pause: bool
) -> T:
    """Do some work on a database, and return what comes of it.

    Args:
        command: the name of the command whose work it is.
        where: the database.
        names: the campaigns that can be in the way; None: all of them.
        work: what to do. It changes nothing where it raises HeldError, and may be begun again.
        pause: whether campaigns that a daemon runs are paused first, and resumed at the end, also after an error,
            Ctrl-C or SIGTERM. Those that were paused before stay paused.

    Raises:
        HeldError: a campaign is in the way; the message names it, who runs it, and what to do.
        StoreError: a daemon has not let go of a campaign within PATIENCE seconds.
    """
    if not pause:
        return _attempt(where, names, work)
    paused, by = list[str](), Pauser(command, os.getpid(), socket.gethostname())
    with _allow_interrupt():
        try:
            for _ in range(ROUNDS - 1):
                _pause(where, names, by, paused)
                try:
                    return work()
                except HeldError:
                    if not _find_blocking(where, names):
                        break
            _pause(where, names, by, paused)
            return _attempt(where, names, work)
        finally:
            _resume(where, by, paused)


def _attempt(where: DatabaseAddress, names: Sequence[str] | None, work: Callable[[], T]) -> T:
    try:
        return work()
    except HeldError as error:
        found = _find_blocking(where, names)
        if not found:
            raise HeldError(f"{error} No daemon runs it: press Ctrl-C where it runs, or wait.") from error
        them = "it" if len(found) == 1 else "them"
        by = ", ".join(sorted({f"process {one.pid} on {one.host}" for one in found}))
        raise HeldError(
            f"{_format_names([one.campaign for one in found])} in the way: a daemon runs {them} ({by}). Add --pause to "
            f"this command to pause {them}, do it, and resume {them}."
        ) from error


def _find_blocking(where: DatabaseAddress, names: Sequence[str] | None) -> list[CampaignLease]:
    """Return the campaigns that daemons have open."""
    if is_missing(where):
        return []
    with open_database(where, create=False) as connection:
        now = daemons.read_clock(connection, SystemClock().now())
        return [
            one
            for one in daemons.read_leases(connection)
            if one.is_alive(now) and (names is None or one.campaign in names)
        ]


def _pause(where: DatabaseAddress, names: Sequence[str] | None, by: Pauser, paused: list[str]) -> None:
    """Pause what is in the way, note it in `paused`, and wait until daemons have let go of it."""
    if not (found := [one.campaign for one in _find_blocking(where, names)]):
        return
    with open_database(where, create=False) as connection:
        done = daemons.pause_campaigns(connection, found, SystemClock().now(), by)
        paused += done
    if done:
        write_error(f"paused until this is done: {', '.join(done)} (if it is killed: {_format_command(where, done)})")
    ends = time.monotonic() + PATIENCE
    while left := [one.campaign for one in _find_blocking(where, found)]:
        if time.monotonic() > ends:
            raise StoreError(
                f"{_format_names(left)} still open: the daemon has not let go within {PATIENCE:.0f} s. Look at "
                "`socialcrawl status`, and run this command again."
            )
        time.sleep(LOOK)


def _resume(where: DatabaseAddress, by: Pauser, paused: Sequence[str]) -> None:
    """Resume campaigns, whatever happened, and whatever is pressed meanwhile; not those that a person paused since."""
    if not paused:
        return
    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
    try:
        with open_database(where, create=False) as connection:
            resumed = daemons.resume_campaigns(connection, paused, by)
        if resumed:
            write_error(f"resumed: {', '.join(resumed)}")
    except SocialcrawlError as error:
        write_error(f"{_format_names(paused)} still paused ({error}). Resume with: {_format_command(where, paused)}")
    finally:
        if main:
            signal.signal(signal.SIGINT, before)


@contextmanager
def _allow_interrupt() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does: what is to be done at its end is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> NoReturn:
        raise SystemExit(TERMINATED)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _format_names(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names)
    return f"The campaign {shown} is" if len(names) == 1 else f"The campaigns {shown} are"


def _format_command(where: DatabaseAddress, names: Sequence[str]) -> str:
    words = [word for name in names for word in ("--campaign", name)]
    return shlex.join(["socialcrawl", "resume", "--db", str(where), *words])
