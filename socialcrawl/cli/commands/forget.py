"""`socialcrawl forget` and `retain`: what goes is shown and agreed to, then it goes."""

import json
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import typer

from socialcrawl.cli.commands.status import CampaignPlaces
from socialcrawl.cli.running_campaigns import give_way
from socialcrawl.crawls.reporting import renew_snapshots
from socialcrawl.engine.clock import SystemClock
from socialcrawl.engine.model import format_time
from socialcrawl.errors import HeldError, SettingsError, SocialcrawlError
from socialcrawl.platforms.facts import find_platform_facts, list_id_starts
from socialcrawl.platforms.registry import find_platform
from socialcrawl.render.progress import show_progress
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.connection import Opened, open_database
from socialcrawl.storage.database.health import is_missing
from socialcrawl.storage.erasure import execution, forgetting
from socialcrawl.storage.erasure.forgetting import ErasureReport
from socialcrawl.storage.erasure.orders import ErasureOrder
from socialcrawl.storage.erasure.ownership import find_similar_names
from socialcrawl.storage.erasure.retention import retain_while_running
from socialcrawl.storage.queries.summary import ElsewhereError, choose_platform
from socialcrawl.storage.queries.traces import CampaignTraces
from socialcrawl.text.terminal import write_error, write_json, write_line
from socialcrawl.text.wording import pluralize

DAY = 86_400.0  # seconds
UNITS = {"d": 1, "w": 7, "y": 365}
SPAN = re.compile(r"(\d{1,5}) ?([dwy])")
ROWS = {
    "account": ("account emptied", "accounts emptied"),
    "post": ("post removed", "posts removed"),
    "mention": ("mention removed", "mentions removed"),
    "hit": ("hit removed", "hits removed"),
    "text": ("text or reference of others edited", "texts and references of others edited"),
    "response": ("original answer removed", "original answers removed"),
    "request": ("row of the ledger edited", "rows of the ledger edited"),
    "charge": ("charge made anonymous", "charges made anonymous"),
    "outcome": ("outcome recomputed", "outcomes recomputed"),
    "link": ("link removed or recomputed", "links removed or recomputed"),
    "campaign": ("campaign that named them as seeds", "campaigns that named them as seeds"),
    "tombstone": ("tombstone added", "tombstones added"),
    "epoch": ("epoch begun", "epochs begun"),
}
"""What is said of the rows of each table: of one, and of several."""

SHOWN, LONGEST = 5, 60  # accounts whose values are shown, and characters of each value
MOST = 10_000  # rows of a table that --json prints
ELSEWHERE = {
    "text": "texts and references of others",
    "response": "original answers",
    "request": "the ledger",
    "charge": "charges",
    "campaign": "settings of campaigns",
}
"""What holds more about those who are named, of which rows are counted and not shown."""
MATCHES = {
    "request": "the address that was fetched names them",
    "id": "a field holds their id or that of a post of theirs",
    "name": "a field holds their name",
    "text": "a text holds their @name",
    "link": "a link leads to their profile, page or post",
}


@dataclass(frozen=True, slots=True)
class ErasureOptions:
    """How it is done: `dry` changes nothing, `yes` asks nobody, `as_json` prints one JSON object.

    `pause`: campaigns that a daemon runs are paused meanwhile. `running`: they run on; only `retain` can do that.
    """

    dry: bool = False
    yes: bool = False
    as_json: bool = False
    pause: bool = False
    running: bool = False


def parse_days(text: str) -> float:
    """Return the seconds of a span written as 90d, 12w or 2y.

    Raises:
        SettingsError: it is none, or nothing at all.
    """
    written = SPAN.fullmatch(text.strip().lower())
    if written is not None and not int(written[1]):
        raise SettingsError(f"{text!r} would keep nothing at all: write 90d, 12w or 2y.")
    if written is None:
        raise SettingsError(f"{text!r} is not a span of days: write 90d, 12w or 2y.")
    return int(written[1]) * UNITS[written[2]] * DAY


def erase_in(
    given: CampaignPlaces,
    erase: Callable[[DatabaseAddress, ErasureOptions], ErasureReport],
    manner: ErasureOptions,
    *,
    several: bool,
) -> int:
    """Erase in a database, or in all databases of campaign files, and return the exit code.

    Args:
        given: the databases.
        erase: `forget` or `retain` with what is to be erased.
        manner: how it is done.
        several: whether campaign files are named: then one database after the other is named, and an error in one does
            not keep the others from it, but makes the exit code 1.

    Raises:
        SocialcrawlError: it cannot be done in the only database that is named.
    """
    if not several:
        (where,) = given.places
        report = erase(where, manner)
        if manner.as_json:
            write_json(json.dumps(_make_plain(report, manner)))
        return 0
    for _, why in given.broken:
        write_error(f"left out: {why}")
    reports = [{"database": str(where)} | _erase_one(where, erase, manner) for where in given.places]
    if manner.as_json:
        write_json(json.dumps({"databases": reports}))
    return int(bool(given.broken) or any("error" in one for one in reports))


def _erase_one(
    where: DatabaseAddress, erase: Callable[[DatabaseAddress, ErasureOptions], ErasureReport], manner: ErasureOptions
) -> dict[str, Any]:
    """Return what came of one of several databases, as plain values."""
    say = _ignore if manner.as_json else write_line
    say(f"{where}:")
    try:
        if is_missing(where):
            say("  not begun: nothing is stored yet")
            return {"begun": False}
        return _make_plain(erase(where, manner), manner)
    except ElsewhereError as error:
        say(f"  {error}")
        return {"skipped": str(error)}
    except SocialcrawlError as error:
        write_error(f"{where}: {error}")
        return {"error": str(error)}


def _ignore(line: str) -> None:
    """Write nothing."""


def forget(where: DatabaseAddress, manner: ErasureOptions, order: ErasureOrder, platform: str | None) -> ErasureReport:
    """Carry out an order on a database, after it was agreed to, and return what went.

    Raises:
        StoreError: a campaign runs, or the database cannot be used.
        SettingsError: nobody is there to agree.
    """
    now = format_time(SystemClock().now())
    lines = pluralize(order.passed, "line of the file requires", "lines of the file require")
    passed = f", {lines} for nothing" if order.passed else ""
    with open_database(where, create=False) as connection:
        chosen = choose_platform(connection, platform)
        order = normalize_order(connection, order, chosen)
    kind = "page" if find_platform_facts(chosen).pages else "user"
    shown = (MOST if manner.as_json else SHOWN) if manner.dry else 0
    work = partial(forgetting.forget, order=order, now=now, platform=chosen, shown=shown)
    return run_erasure(where, PlannedErasure("forget", work, passed, kind), manner)


def normalize_order(connection: Any, order: ErasureOrder, platform: str) -> ErasureOrder:
    """Return an order in the words of a platform: names in full, addresses of pages in their one form.

    Args:
        connection: the database, which is asked whom a name without its domain may mean.
        order: as it was given.
        platform: that of the ids and names.

    Raises:
        SettingsError: on that platform nobody can be called so; the message names the accounts that may be meant.
    """
    if find_platform_facts(platform).numeric_ids:
        return order
    posts = {find_platform(platform).normalize(key): why for key, why in order.posts.items()}
    normal = ErasureOrder(posts=posts, places=order.places, passed=order.passed)
    for key, why in (*order.users.items(), *order.names.items()):
        name = _normalize_account(connection, key, platform)
        (normal.users if name.startswith(list_id_starts()) or name.isdecimal() else normal.names)[name] = why
    return normal


def _normalize_account(connection: Any, given: str, platform: str) -> str:
    asked = find_platform(platform)
    try:
        return asked.identify(given)
    except SettingsError as error:
        found = find_similar_names(connection, platform, given)
        here = f" In this database it may be {', '.join(found)}." if found else ""
        raise SettingsError(f"{given!r} is not a whole name on {platform}: {asked.full_name}.{here}") from error


def retain(where: DatabaseAddress, manner: ErasureOptions, kept: float) -> ErasureReport:
    """Forget what was fetched more than `kept` seconds ago, after it was agreed to, and return what went.

    Raises:
        StoreError: a campaign runs, or the database cannot be used.
        SettingsError: nobody is there to agree.
    """
    now = SystemClock().now()
    before = format_time(max(0.0, now - kept))
    work = partial(forgetting.retain, before=before, now=format_time(now))
    steps = partial(retain_while_running, before=before, now=format_time(now), rest=time.sleep)
    with open_database(where, create=False) as connection:
        oldest = forgetting.find_oldest(connection)
    nothing = f"all content here was fetched since {oldest[:19]}Z" if oldest else "no content is stored here"
    return run_erasure(
        where, PlannedErasure("retain", work, f", fetched before {before[:19]}Z", nothing=nothing, steps=steps), manner
    )


class PlannedErasure(NamedTuple):
    """What a command does: its name and work in a transaction, what is said of it and where nothing goes.

    `steps`: the same work in small transactions, while campaigns run; None: it cannot be done so.
    """

    command: str
    work: Callable[[Opened], ErasureReport]
    more: str
    kind: str = "user"
    nothing: str = "there is nothing of it here"
    steps: Callable[..., ErasureReport] | None = None


def run_erasure(where: DatabaseAddress, erasure: PlannedErasure, manner: ErasureOptions) -> ErasureReport:
    """Say what would go, for which no campaign has to be paused; or have it agreed to, and carry it out.

    Raises:
        StoreError: a campaign runs, or the database cannot be used.
        SettingsError: nobody is there to agree.
    """
    if manner.running and manner.pause:
        raise SettingsError("With --while-running campaigns go on, so nothing is paused: leave out --pause.")
    if manner.dry or not manner.yes:
        with open_database(where, create=False) as connection, show_progress("counting what would be forgotten"):
            found = execution.erase(connection, erasure.work, dry=True)
        if not manner.dry and (manner.as_json or not sys.stdin.isatty()):
            raise SettingsError("An erasure cannot be undone: agree to it with --yes, or look first with --dry-run.")
        report = _name_by_kind(found, erasure.kind)
        if not manner.as_json:
            _print_report(report, erasure, replace(manner, dry=True))
        if manner.dry:
            if not manner.as_json:
                _print_stored(report)
            return report
        typer.confirm("This cannot be undone. Go on?", abort=True)

    def erase() -> ErasureReport:
        with open_database(where, create=False, durable=True) as connection, show_progress("forgetting") as watch:
            if manner.running and erasure.steps is not None:
                return erasure.steps(connection, watch=partial(watch, "posts"))
            report = execution.erase(connection, erasure.work)
            watch("computing reports again")
            renew_snapshots(CampaignTraces(connection))
            return report

    try:
        done = give_way(erasure.command, where, None, erase, pause=manner.pause)
    except HeldError as error:
        if erasure.steps is None or manner.running:
            raise
        raise HeldError(f"{error} Or add --while-running: it deletes beside what runs.") from error
    report = _name_by_kind(done, erasure.kind)
    if not manner.as_json:
        _print_report(report, erasure, manner)
    return report


def _make_plain(report: ErasureReport, manner: ErasureOptions) -> dict[str, Any]:
    """Return a report as plain values."""
    values = {"dry_run": manner.dry, "rows": report.counts, "not_held": report.unheld, "before": report.before}
    return values | {"answers": report.answers} | _collect_stored(report)


def _collect_stored(report: ErasureReport) -> dict[str, Any]:
    """Return what is stored about those who are named, as plain values; nothing where it was not looked up."""
    if report.stored is None:
        return {}
    return {
        "stored": {name: table.rows for name, table in report.stored.items()},
        "stored_cut": [name for name, table in report.stored.items() if table.total > len(table.rows)],
        "stored_elsewhere": {name: report.counts[name] for name in ELSEWHERE if report.counts.get(name)},
    }


def _name_by_kind(report: ErasureReport, kind: str) -> ErasureReport:
    """Return the report, in which accounts are called what they are: on the web they are pages."""

    def named(keys: list[str]) -> list[str]:
        return [f"{kind}:{key.removeprefix('user:')}" if key.startswith("user:") else key for key in keys]

    return replace(report, unheld=named(report.unheld), before=named(report.before))


def _print_report(report: ErasureReport, erasure: PlannedErasure, manner: ErasureOptions) -> None:
    write_line(f"{'would be forgotten' if manner.dry else 'forgotten'}{erasure.more}:")
    for table, (one, several) in ROWS.items():
        if count := report.counts.get(table):
            write_line(f"  {count:>9,}  {one if count == 1 else several}")
        for kind, why in MATCHES.items() if table == "response" else ():
            if report.answers.get(kind):
                write_line(f"  {'':>9}    {report.answers[kind]:,}: {why}")
    if report.is_empty:
        write_line(f"  nothing: {erasure.nothing}")
    _format_list("not held, and from now on kept out", report.unheld)
    _format_list("forgotten before", report.before)


def _print_stored(report: ErasureReport) -> None:
    """Print which fields are stored about those who are named; the values of accounts are short enough to be shown."""
    if report.stored is None:
        return
    rows = f"--json prints the values, at most {MOST:,} rows of each table"
    write_line(f"stored about them ({rows}):" if report.stored else "stored about them: no rows of their own")
    for name, table in report.stored.items():
        write_line(f"  {pluralize(table.total, 'row'):>12} of {name}: {', '.join(table.columns)}")
        for row in table.rows if name == "account" else ():
            values = ", ".join(f"{name} {_shorten(value)}" for name, value in row.items())
            write_line(f"  {'':>12}   {values}")
    if more := [what for name, what in ELSEWHERE.items() if report.counts.get(name)]:
        write_line(f"counted above and not shown, though they may hold more about them: {', '.join(more)}")


def _shorten(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _format_list(words: str, names: list[str], most: int = 10) -> None:
    if names:
        rest = f" and {len(names) - most} more" if len(names) > most else ""
        write_line(f"{words}: {', '.join(names[:most])}{rest}")
