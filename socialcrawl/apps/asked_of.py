"""What is asked of daemons from another terminal, through the databases: how they stand, to pause, to stop."""

import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from socialcrawl.apps.check import campaign_files
from socialcrawl.apps.console import Text
from socialcrawl.apps.query import database as chosen
from socialcrawl.clock import SystemClock
from socialcrawl.errors import SettingsError, SocialcrawlError
from socialcrawl.model import iso
from socialcrawl.settings import describe_namesake, read
from socialcrawl.store import daemons
from socialcrawl.store.address import Where
from socialcrawl.store.daemons import Held, Living
from socialcrawl.store.database import HURRY, opened
from socialcrawl.store.health import missing
from socialcrawl.terminal import write_error, write_json
from socialcrawl.words import span

DONE, NOT_DONE = 0, 1
TOGETHER = 16  # databases that are looked at at the same time
PATIENCE = 15.0  # seconds to wait for daemons that were asked to stop


@dataclass(frozen=True, slots=True)
class Addressed:
    """The databases that are meant, and the campaigns in each ([] for all); files that nobody understands, and why."""

    places: dict[Where, list[str]]
    broken: list[tuple[Path, str]] = field(default_factory=list)


def addressed(files: Sequence[Path], database: str | None, names: Sequence[str]) -> Addressed:
    """The databases and campaigns that a person means: by campaign files and folders, or by a database.

    Raises:
        SettingsError: both are given, or a file cannot be read.
    """
    if files and (database or names):
        raise SettingsError("Name campaign files, or a database with --db and --campaign; not both.")
    if not files:
        return Addressed({chosen(database, changed=True): list(names)})
    found, broken = dict[Where, list[str]](), list[tuple[Path, str]]()
    owners = dict[tuple[Where, str], Path]()
    for file in campaign_files(files):
        try:
            settings = read(file)
        except SettingsError as error:
            if file in files:
                raise
            broken.append((file, str(error)))
            continue
        first = owners.setdefault((settings.database, settings.name), file)
        if first != file:
            broken.append((file, f"{file} is left out: {describe_namesake(first, settings)}"))
            continue
        found.setdefault(settings.database, []).append(settings.name)
    if not found:
        raise SettingsError("\n".join(["None of these campaign files can be read:", *(why for _, why in broken)]))
    return Addressed(found, broken)


def told(given: Addressed, console: Console, *, as_json: bool) -> int:
    """Show how the campaigns stand; the exit code."""
    now = SystemClock().now()
    with ThreadPoolExecutor(min(TOGETHER, len(given.places))) as pool:  # one that hangs holds up no other
        seen = list(pool.map(lambda place: _seen(place[0], place[1], now), given.places.items()))
    rows: list[tuple[Where, Held]] = [(one.where, held) for one in seen for held in one.campaigns]
    rows += [(file, Held(file.stem, None, state="broken", why=why)) for file, why in given.broken]
    watching = {one.id: one for place in seen for one in place.daemons}
    if as_json:
        write_json(json.dumps([_plain(where, one, now) | {"watched": one.daemon in watching} for where, one in rows]))
        return DONE
    table = Table(box=None, pad_edge=False)
    for name in ("campaign", "state", "until (UTC)", "why"):
        table.add_column(name, overflow="fold", no_wrap=name == "until (UTC)")
    for _, one in rows:
        table.add_row(*(Text(text) for text in _row(one, now)))
    console.print(table)
    for line in _daemons([one for _, one in rows], list(watching.values()), now):
        console.print(Text(line), soft_wrap=True)
    return DONE


def paused(given: Addressed, console: Console, *, again: bool) -> int:
    """Pause campaigns, or let them go on `again`; the exit code."""
    code = DONE
    _left_out(given)
    for where, names in given.places.items():
        with opened(where, create=False, busy=HURRY) as connection:
            there = [one.campaign for one in daemons.held(connection)]
            wanted = names or there
            done = daemons.resume(connection, wanted) if again else daemons.pause(connection, wanted, _now())
        for name in wanted:
            word = "goes on" if again else "is paused"
            known = word if name in done else f"{'was not paused' if again else 'is paused already'}"
            if name not in there:
                known, code = "has not begun in this database, so there is nothing to change", NOT_DONE
            console.print(Text(f"{name}: {known}"), soft_wrap=True)
    return code


def stopped(given: Addressed, console: Console) -> int:
    """Ask daemons to stop, and wait until they have; the exit code."""
    waiting: list[tuple[Where, str]] = []
    _left_out(given)
    for where in given.places:
        with opened(where, create=False, busy=HURRY) as connection:
            waiting += [(where, one.id) for one in daemons.ask_to_stop(connection, _now())]
    if not waiting:
        console.print("no daemon runs campaigns of these databases")
        return DONE
    console.print(Text(f"asked to stop: {', '.join(sorted({name for _, name in waiting}))}"), soft_wrap=True)
    left = _left(waiting)
    for name in sorted({name for _, name in left}):
        console.print(Text(f"{name} has not left yet: it looks every few seconds, and waits for what is in flight"))
    return NOT_DONE if left else DONE


def _left_out(given: Addressed) -> None:
    for _, why in given.broken:
        write_error(f"left out: {why}")


def _left(waiting: list[tuple[Where, str]]) -> list[tuple[Where, str]]:
    """Those who have not left after PATIENCE seconds."""
    ends = time.monotonic() + PATIENCE
    while waiting and time.monotonic() < ends:
        time.sleep(0.2)
        waiting = [(where, name) for where, name in waiting if name in _alive(where)]
    return waiting


def _alive(where: Where) -> list[str]:
    with opened(where, create=False, busy=HURRY) as connection:
        return [one.id for one in daemons.living(connection, _now())]


class _Seen(NamedTuple):
    """What a database says: its campaigns, and the daemons that watch it."""

    where: Where
    campaigns: list[Held]
    daemons: list[Living]


def _seen(where: Where, names: Sequence[str], now: float) -> _Seen:
    """Return the campaigns of a database by name, those that have not begun too, and its daemons."""
    try:
        if missing(where):
            return _Seen(where, [Held(name, None) for name in names], [])
        with opened(where, create=False, busy=HURRY) as connection:
            found = {one.campaign: one for one in daemons.held(connection)}
            living = daemons.living(connection, now)
    except SocialcrawlError as error:
        return _Seen(where, [Held(name, None, state="broken", why=str(error)) for name in names or ["?"]], [])
    return _Seen(where, [found.get(name, Held(name, None)) for name in names or found], living)


def _state(one: Held, now: float) -> tuple[str, str]:
    """The state of a campaign as a person needs it: what a daemon wrote that is gone is not what it does now."""
    if one.alive(now):
        return one.state, one.why
    if one.paused is not None:
        return "paused", f"paused at {iso(one.paused)[:19].replace('T', ' ')} UTC"
    if one.daemon is None:
        return one.state or "idle", one.why or "no daemon has run it"
    if one.released is None:
        return "lost", f"its daemon was not heard of for {span(now - (one.beat or now))}; it was {one.state}: {one.why}"
    return one.state, one.why


def _row(one: Held, now: float) -> tuple[str, ...]:
    state, why = _state(one, now)
    until = "" if one.until is None or one.until < now else iso(one.until)[:19].replace("T", " ")
    return one.campaign, state, until, why


def _daemons(rows: Sequence[Held], living: Sequence[Living], now: float) -> list[str]:
    """Return a line for each daemon that watches the databases; it has those campaigns open that are not at rest."""
    lines = []
    for one in sorted(living, key=lambda one: one.id):
        watches = [held for held in rows if held.daemon == one.id]
        has = f"watches {len(watches)} of them and has {sum(held.alive(now) for held in watches)} open"
        heard = span(max(0.0, now - one.beat))
        lines.append(
            f"process {one.pid} on {one.host} {has if watches else 'stands by'}; its last heartbeat was {heard} ago"
        )
    return lines or ["no daemon watches them now"]


def _plain(where: Where, one: Held, now: float) -> dict[str, Any]:
    state, why = _state(one, now)
    whole = asdict(one) | {"state": state, "why": why, "alive": one.alive(now), "database": str(where)}
    instants = ("paused", "until", "moved", "beat", "released")
    return {key: iso(value) if key in instants and value is not None else value for key, value in whole.items()}


def _now() -> float:
    return SystemClock().now()
