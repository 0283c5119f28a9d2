"""What is asked of daemons from another terminal, through the databases: how they stand, to pause, to stop."""

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from socialcrawl.campaign.settings import Settings, read
from socialcrawl.cli.commands.check import find_campaign_files
from socialcrawl.cli.databases import choose_database, is_campaign_file, is_database
from socialcrawl.daemon.campaign_state import BROKEN
from socialcrawl.daemon.campaign_status import DatabaseStatus, KnownCampaign, StatusReading, explain_idle, read_status
from socialcrawl.engine.clock import SystemClock
from socialcrawl.engine.model import format_time
from socialcrawl.errors import SettingsError
from socialcrawl.render.console import Text
from socialcrawl.storage import daemons
from socialcrawl.storage.daemons import CampaignLease, LiveDaemon
from socialcrawl.storage.database.address import DatabaseAddress, parse_address
from socialcrawl.storage.database.connection import HURRY, open_database
from socialcrawl.storage.database.filetypes import DATABASE, recognize, require_database
from socialcrawl.text.terminal import write_error, write_json
from socialcrawl.text.wording import format_span

DONE, NOT_DONE = 0, 1
TOGETHER = 16  # databases that are looked at at the same time
PATIENCE = 15.0  # seconds to wait for daemons that were asked to stop
INSTANTS = ("paused", "until", "moved", "beat", "released", "since")


@dataclass(frozen=True, slots=True)
class CampaignPlaces:
    """The campaigns that a person means.

    Attributes:
        places: by database and name, the files of each campaign; no names for all campaigns of a database.
        broken: files that nobody understands, and why.
    """

    places: dict[DatabaseAddress, dict[str, dict[Path, Settings]]]
    broken: list[tuple[Path, str]] = field(default_factory=list)


def find_campaigns(
    given: Sequence[str], database: str | None, names: Sequence[str], *, reads: bool = False
) -> CampaignPlaces:
    """Return the campaigns that a person means: by campaign files, folders of them, and databases.

    Args:
        given: campaign files, folders of them, and databases.
        database: one of these as --db; without any, the only database in this folder.
        names: campaigns of one database; none: all.
        reads: whether nothing is changed: then all databases in this folder are meant where none is named.

    Raises:
        SettingsError: what is named does not go together, or a file cannot be read.
        StoreError: a database is not there, or is something else.
    """
    if given and database:
        raise SettingsError(f"Name what you mean as arguments, or one database with --db {database}; not both.")
    whole = [parse_address(one) for one in given if is_database(one) and not is_campaign_file(one)]
    files = [Path(one) for one in given if not is_database(one) or is_campaign_file(one)]
    here = sorted(Path().glob("*.db")) if reads and not names else []
    if not given and not database and "SOCIALCRAWL_DB" not in os.environ and len(here) > 1:
        whole = [path for path in here if recognize(path) == DATABASE]
    elif not given:
        where, _, file = choose_database(None, database, changed=True)
        whole, files = ([where], []) if file is None else ([], [file])
    if names and (files or len(whole) > 1):
        raise SettingsError("--campaign names campaigns of one database: name that, and no campaign file or folder.")
    found = CampaignPlaces({})
    for file in find_campaign_files(files):
        try:
            settings = read(file)
        except SettingsError as error:
            if file in files:
                raise
            found.broken.append((file, str(error)))
            continue
        found.places.setdefault(settings.database, {}).setdefault(settings.name, {})[file] = settings
    for place in whole:
        require_database(place)
        found.places[place] = {name: {} for name in names}
    if not found.places:
        whys = (why for _, why in found.broken)
        raise SettingsError("\n".join(["None of these campaign files can be read:", *whys]))
    return found


def show_status(given: CampaignPlaces, console: Console, *, as_json: bool) -> int:
    """Show how the campaigns stand; return the exit code."""
    now = SystemClock().now()
    with ThreadPoolExecutor(min(TOGETHER, len(given.places))) as pool:  # one that hangs holds up no other
        reading = StatusReading(now, figures=True)
        seen = list(pool.map(lambda place: read_status(place[0], place[1], reading), given.places.items()))
    rows = [row for one in seen for row in _explain_rows(given, one, now)]
    rows += [
        KnownCampaign(file, CampaignLease(file.stem, None, state=BROKEN, why=why), file) for file, why in given.broken
    ]
    rows.sort(key=lambda row: row.held.state == BROKEN and row.held.daemon is None)  # left out: after the others
    watching = _join_daemons(one for place in seen for one in place.daemons)
    if as_json:
        write_json(json.dumps([_make_plain(row, now) | {"watched": row.held.daemon in watching} for row in rows]))
        return DONE
    console.print(_make_table(rows, watching))
    for line in _format_daemons(rows, list(watching.values()), now):
        console.print(Text(line), soft_wrap=True)
    for where, checks in {row.where: row.checks for row in rows if row.checks is not None}.items():
        console.print(Text(f"{where}, {checks.describe()}"), soft_wrap=True)
    return DONE


def _explain_rows(given: CampaignPlaces, seen: DatabaseStatus, now: float) -> Iterator[KnownCampaign]:
    """Yield the campaigns of a database; those that nobody runs say whether they are done."""
    for row in seen.rows:
        name, found = row.held.campaign, seen.figures or {}
        if name not in found:
            yield row
            continue
        file = None if row.file is None else given.places[row.where][name][row.file]
        settings = found[name].settings if file is None else file.model_dump(mode="json")
        yield row._replace(held=explain_idle(row.held, found[name], settings, now))


def set_paused(given: CampaignPlaces, console: Console, *, again: bool) -> int:
    """Pause campaigns, or resume them (`again`); return the exit code."""
    code = DONE
    _report_broken(given)
    for where, names in given.places.items():
        with open_database(where, create=False, busy=HURRY) as connection:
            there = [one.campaign for one in daemons.read_leases(connection)]
            wanted = list(names) or there
            done = (
                daemons.resume_campaigns(connection, wanted)
                if again
                else daemons.pause_campaigns(connection, wanted, _get_now())
            )
        for name in wanted:
            word = "goes on" if again else "is paused"
            known = word if name in done else f"{'was not paused' if again else 'is paused already'}"
            if name not in there:
                known, code = "has not begun in this database, so there is nothing to change", NOT_DONE
            console.print(Text(f"{name}: {known}"), soft_wrap=True)
    return code


def stop_daemons(given: CampaignPlaces, console: Console) -> int:
    """Ask daemons to stop, and wait until they have; return the exit code."""
    waiting: list[tuple[DatabaseAddress, str]] = []
    _report_broken(given)
    for where in given.places:
        with open_database(where, create=False, busy=HURRY) as connection:
            now = daemons.read_clock(connection, _get_now())
            waiting += [(where, one.id) for one in daemons.request_stop(connection, now)]
    if not waiting:
        console.print("no daemon runs campaigns of these databases")
        return DONE
    console.print(Text(f"stopping: {', '.join(sorted({name for _, name in waiting}))}"), soft_wrap=True)
    left = _wait_for_leaving(waiting)
    for name in sorted({name for _, name in left}):
        console.print(Text(f"{name} has not left yet: it looks every few seconds, and waits for what is in flight"))
    return NOT_DONE if left else DONE


def _report_broken(given: CampaignPlaces) -> None:
    for _, why in given.broken:
        write_error(f"left out: {why}")


def _wait_for_leaving(waiting: list[tuple[DatabaseAddress, str]]) -> list[tuple[DatabaseAddress, str]]:
    """Return those who have not left after PATIENCE seconds."""
    ends = time.monotonic() + PATIENCE
    while waiting and time.monotonic() < ends:
        time.sleep(0.2)
        waiting = [(where, name) for where, name in waiting if name in _find_alive(where)]
    return waiting


def _find_alive(where: DatabaseAddress) -> list[str]:
    with open_database(where, create=False, busy=HURRY) as connection:
        now = daemons.read_clock(connection, _get_now())
        return [one.id for one in daemons.find_live_daemons(connection, now)]


def _make_table(rows: Sequence[KnownCampaign], watching: Mapping[str, LiveDaemon]) -> Table:
    """Return the campaigns as a table; it has their files where a name does not tell which one is meant.

    Where several daemons watch them, it also has the daemon that runs each one, or ran it last.
    """
    named = any(row.file is not None and (row.file.stem != row.held.campaign or row.where == row.file) for row in rows)
    table = Table(box=None, pad_edge=False)
    several = ("daemon",) if len(watching) > 1 else ()
    for name in ("campaign", *(("file",) if named else ()), *several, "state", "until (UTC)", "why"):
        table.add_column(name, overflow="fold", no_wrap=name == "until (UTC)")
    for row in rows:
        one = row.held
        until = "" if one.until is None else format_time(one.until)[:19].replace("T", " ")
        file = (row.file.name if row.file else "",) if named else ()
        its = watching.get(one.daemon or "")
        who = ("" if its is None else its.process,) if several else ()
        table.add_row(*(Text(text) for text in (one.campaign, *file, *who, one.state, until, one.why)))
    return table


def _join_daemons(found: Iterable[LiveDaemon]) -> dict[str, LiveDaemon]:
    """Return daemons by their ids; one of several databases with the campaigns that it can run of all."""
    joined: dict[str, LiveDaemon] = {}
    for one in found:
        before = joined.get(one.id, one)
        joined[one.id] = replace(one, campaigns=one.campaigns | before.campaigns)
    return joined


def _format_daemons(rows: Sequence[KnownCampaign], living: Sequence[LiveDaemon], now: float) -> list[str]:
    """Return a line for each daemon that watches the databases; it has those campaigns open that are not at rest."""
    lines = []
    for one in sorted(living, key=lambda one: one.id):
        heard = format_span(max(0.0, now - one.beat))
        does = _describe_daemon(one, rows, now)
        lines.append(f"process {one.pid} on {one.host} {does}; its last heartbeat was {heard} ago")
    return lines or ["no daemon watches them now"]


def _describe_daemon(one: LiveDaemon, rows: Sequence[KnownCampaign], now: float) -> str:
    watches = [row.held for row in rows if row.held.daemon == one.id]
    if watches:
        return f"watches {len(watches)} of them and has {sum(held.is_alive(now) for held in watches)} open"
    able = sum(row.held.campaign in one.campaigns for row in rows)
    if able or any(isinstance(row.where, Path) for row in rows):
        return f"stands by for {able} of them" if able else "stands by"
    return "can run none of them: it lacks their files or tokens, or another program of that machine uses the tokens"


def _make_plain(row: KnownCampaign, now: float) -> dict[str, Any]:
    file = row.held.file if row.file is None else str(row.file)
    values = asdict(row.held) | {"alive": row.held.is_alive(now), "file": file, "database": str(row.where)}
    values["compliance"] = None if row.checks is None else row.checks._asdict()
    return {
        key: format_time(value) if key in INSTANTS and value is not None else value for key, value in values.items()
    }


def _get_now() -> float:
    return SystemClock().now()
