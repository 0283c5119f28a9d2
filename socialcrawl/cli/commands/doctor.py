"""`socialcrawl doctor`: is everything there that a campaign needs? Few requests, and nothing is made or changed.

It is one request, one more for each other thing that a capture reads, and two more of an instance of Mastodon, whose
rules are shown.
"""

import asyncio
import json
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from socialcrawl import __version__
from socialcrawl.campaign.build import find_reserved_space
from socialcrawl.campaign.credentials import CampaignAccess, open_access
from socialcrawl.campaign.plan import Plan, make_plan
from socialcrawl.campaign.policies import load_policy
from socialcrawl.campaign.settings import Settings, read
from socialcrawl.cli.single_requests import find_admitted, open_wire
from socialcrawl.crawls.registry import kind_of
from socialcrawl.engine.clock import SystemClock
from socialcrawl.engine.model import Credential, Grant, Page, Reply, ReplyKind, Request, format_time
from socialcrawl.errors import SettingsError, SocialcrawlError, StoreError
from socialcrawl.fleet.dask_client import inspect_workers
from socialcrawl.fleet.fleet_executor import check_fleet
from socialcrawl.fleet.worker_wires import WireSpec
from socialcrawl.platforms.base import CaptureProbe, Wired
from socialcrawl.platforms.facts import DEFAULT
from socialcrawl.ratelimit.billing_cycle import find_cycle
from socialcrawl.ratelimit.budget import format_dollars
from socialcrawl.ratelimit.clock_offset import ClockOffset
from socialcrawl.ratelimit.policy import Policy
from socialcrawl.ratelimit.window_set import find_tightest
from socialcrawl.render.console import Text
from socialcrawl.storage.database.health import (
    CURRENT,
    EMPTY,
    FOREIGN,
    OLDER,
    find_faults,
    find_server_faults,
    find_write_error,
    is_missing,
    open_existing,
    read_schema_state,
)
from socialcrawl.system.plugins import describe_error
from socialcrawl.system.state_folder import make_state_folder
from socialcrawl.text.terminal import write_json
from socialcrawl.text.wording import format_span, pluralize

if TYPE_CHECKING:
    from socialcrawl.platforms.server_info import InstanceRules

OK, WARN, FAIL, NOTE = "ok", "warn", "FAIL", "-"
STYLES = {OK: "green", WARN: "yellow", FAIL: "bold red", NOTE: ""}
PYTHON = (3, 11)
OLD = 90  # days after which a price table should be compared with the platform's
SKEW = 60.0  # seconds by which a clock may be wrong
ROOM = 1_000_000_000  # bytes that should be free
WAITS = (ReplyKind.WINDOW, ReplyKind.DAY, ReplyKind.BACKOFF)


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One thing that was looked at: `state` is OK | WARN | FAIL, or NOTE; `text` says what was found and what to do."""

    state: str
    name: str
    text: str


def run_checks(file: Path | None, console: Console, *, offline: bool = False, as_json: bool = False) -> int:
    """Return the exit code: 0 if nothing failed, else 1; every check is a line on `console`.

    Args:
        file: the campaign file; without one, only what needs none is looked at.
        console: where a person looks.
        offline: whether nothing is to be sent.
        as_json: one JSON object to stdout instead.
    """
    checks = []
    for check in _make_checks(file, offline=offline):
        checks.append(check)
        if not as_json:
            console.print(_format_check(check))
    failed = any(check.state == FAIL for check in checks)
    if as_json:
        write_json(json.dumps({"ready": not failed, "checks": [asdict(check) for check in checks]}))
    return int(failed)


def _make_checks(file: Path | None, *, offline: bool) -> Iterator[DoctorCheck]:
    clock = SystemClock()
    yield _check_program()
    if file is None:
        yield _check_prices(load_policy(DEFAULT.name), clock.now())
        yield _check_disk(Path())
        yield DoctorCheck(NOTE, "campaign", "none was named: socialcrawl doctor CAMPAIGN.toml looks at one")
        return
    try:
        settings = read(file)
        plan = make_plan(settings)
        kind_of(settings).check(settings)
    except SettingsError as error:
        yield DoctorCheck(FAIL, "settings", str(error))
        return
    yield DoctorCheck(OK, "settings", f"{file}: campaign {settings.name!r}")
    yield from (DoctorCheck(WARN, about, warning) for about, warning in plan.warnings)
    yield from _check_budget(plan)
    yield _check_prices(plan.table, clock.now())
    if plan.policy.is_billed:
        yield _check_cycle(plan, clock.now())
    if isinstance(settings.database, Path):
        yield _check_disk(settings.database.parent, find_reserved_space(settings, None).describe_shortage())
    yield _check_database(settings)
    if settings.fleet.scheduler and not offline:
        yield _check_fleet(plan, settings.fleet.scheduler)
    yield from _check_tokens(plan, clock, offline=offline)


def _check_program() -> DoctorCheck:
    text = f"Python {platform.python_version()}, socialcrawl {__version__}"
    if sys.version_info < PYTHON:
        return DoctorCheck(FAIL, "program", f"{text}: install Python {'.'.join(map(str, PYTHON))} or newer")
    return DoctorCheck(OK, "program", text)


def _check_budget(plan: Plan) -> Iterator[DoctorCheck]:
    try:
        plan.guard()
    except SettingsError as error:
        yield DoctorCheck(FAIL, "budget", str(error))
        return
    if plan.billed:
        most = "is not bounded" if plan.max_cost is None else f"is at most {format_dollars(plan.max_cost)}"
        yield DoctorCheck(WARN if plan.max_cost is None else OK, "budget", f"what the campaign can cost {most}")


def _check_prices(table: Policy, now: float) -> DoctorCheck:
    age = (date.fromisoformat(format_time(now)[:10]) - date.fromisoformat(table.as_of)).days
    text = f"the table of {'prices and ' if table.is_billed else ''}limits is of {table.as_of}"
    if age > OLD:
        source = f" ({table.source})" if table.source else ""
        return DoctorCheck(
            WARN, "prices", f"{text}, {pluralize(age, 'day')} ago: compare it with the platform's{source}"
        )
    return DoctorCheck(OK, "prices", text)


def _check_cycle(plan: Plan, now: float) -> DoctorCheck:
    day = plan.settings.limits.cycle_day
    begins, ends = (format_time(at)[:10] for at in find_cycle(now, day))
    cap = "" if plan.policy.cap is None else f", with {pluralize(plan.policy.cap, 'post')} at most"
    text = f"the billing cycle runs from {begins} to {ends} (cycle_day = {day} under [limits]){cap}"
    return DoctorCheck(OK, "cycle", text)


def _check_disk(folder: Path, lack: str | None = None) -> DoctorCheck:
    """Look at the disk of a folder; `lack` says what a campaign there lacks to run."""
    if lack is not None:
        return DoctorCheck(FAIL, "disk", lack)
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return DoctorCheck(FAIL, "disk", f"the folder {folder} cannot be used ({error.strerror}): make it")
    text = f"{free / 1e9:,.1f} GB are free in {folder.resolve()}"
    return DoctorCheck(OK, "disk", text) if free >= ROOM else DoctorCheck(WARN, "disk", f"{text}: make room")


def _check_database(settings: Settings) -> DoctorCheck:
    path = settings.database
    if (why := find_write_error(path)) is not None:
        return DoctorCheck(FAIL, "database", why)
    if is_missing(path):
        return DoctorCheck(OK, "database", f"{path} is not there yet: the first run makes it")
    try:
        with open_existing(path) as connection:
            state, wrong, lacks = read_schema_state(connection), find_faults(connection), find_server_faults(connection)
    except StoreError as error:
        return DoctorCheck(FAIL, "database", str(error))
    if wrong:
        return DoctorCheck(FAIL, "database", f"{path} is damaged ({'; '.join(wrong)}): restore a copy, or name another")
    if lacks:
        return DoctorCheck(FAIL, "database", f"{path} cannot be used: {'; '.join(lacks)}")
    if state in (CURRENT, EMPTY):
        return DoctorCheck(OK, "database", f"{path} is sound")
    if state == OLDER:
        return DoctorCheck(WARN, "database", f"{path} is sound, of an older version: the next run brings it up to date")
    whose = "another program" if state == FOREIGN else "a newer socialcrawl"
    return DoctorCheck(FAIL, "database", f"{path} belongs to {whose}: name another database, or install that version")


def _check_tokens(plan: Plan, clock: SystemClock, *, offline: bool) -> Iterator[DoctorCheck]:
    try:
        open_access(plan.settings, plan.base, lease=False)
        make_state_folder()
    except SocialcrawlError as error:
        yield DoctorCheck(FAIL, "tokens", str(error))
        return
    yield DoctorCheck(OK, "tokens", f"set: {', '.join(_list_variables(plan.settings))}")
    if offline:
        yield DoctorCheck(NOTE, "request", "left out: whether the token works was not tried")
        return
    yield from _send_request(plan, clock)


def _check_fleet(plan: Plan, scheduler: str) -> DoctorCheck:
    """Look at the workers that send the requests: whether they answer, their versions and their tokens."""
    try:
        check_fleet(plan)
        found = asyncio.run(inspect_workers(scheduler, WireSpec.of(plan).list_names()))
    except SettingsError as error:
        return DoctorCheck(FAIL, "workers", str(error))
    except (OSError, TimeoutError) as error:
        why = f"no Dask scheduler answers at {scheduler} ({describe_error(error)})"
        return DoctorCheck(
            FAIL, "workers", f"{why}: start it with `dask scheduler`, or correct scheduler under [fleet]"
        )
    if not found:
        return DoctorCheck(
            WARN, "workers", f"{scheduler} has no workers yet: start some with `dask worker {scheduler}`"
        )
    if faults := {name: lacks for name, facts in found.items() if (lacks := facts.list_faults())}:
        wrong = "; ".join(f"{name}: {', '.join(lacks)}" for name, lacks in faults.items())
        count = f"{len(faults)} of {pluralize(len(found), 'worker')} cannot send"
        return DoctorCheck(FAIL, "workers", f"{count}: {wrong}. Then start them again")
    names = f"{pluralize(len(found), 'worker')} of {scheduler}"
    return DoctorCheck(OK, "workers", f"{names}, with this version of socialcrawl and all tokens")


def _list_variables(settings: Settings) -> Iterator[str]:
    """Yield the environment variables of the tokens, and of what kind those are."""
    source = settings.source
    if not source.tokens:
        yield f"{source.variable} (app)" if source.variable else "none is needed"
    for token in source.tokens:
        yield f"{token.env if isinstance(token.env, str) else ' + '.join(token.env)} ({token.speaks})"


def _send_request(plan: Plan, clock: SystemClock) -> Iterator[DoctorCheck]:
    """Yield one search of ten posts, as a campaign would ask."""
    captures = plan.terms.slices is not None
    request = plan.platform.make_probe(plan.terms, plan.queries, () if captures else plan.usernames)
    others = plan.platform.list_capture_probes(plan.terms, clock.now()) if captures else ()
    if request is None:
        yield DoctorCheck(NOTE, "request", "left out: the campaign file names no page to fetch")
        return
    try:
        with open_wire(plan, clock.now) as (allowed, wire):
            credential = find_admitted(allowed, plan.policy, request.endpoint)
            read_rules = plan.platform.make_rules_reader(wire)
            yield DoctorCheck(NOTE, "request", _announce(plan, request, others, rules=read_rules is not None))
            grant = Grant(request, credential.name, clock.now())
            reply = wire.send(grant)
            read = [_check_capture_probe(plan, allowed, wire, probe, clock.now()) for probe in others]
            rules = [] if read_rules is None else list(_fetch_rules(read_rules(), plan.base))
    except StoreError as error:
        yield DoctorCheck(WARN, "request", f"left out: {error}")
        return
    except SettingsError as error:
        yield DoctorCheck(FAIL, "request", str(error))
        return
    yield _check_answer(plan, credential, reply)
    yield from read
    if untried := [other.name for other in allowed.credentials if other != credential]:
        yield DoctorCheck(NOTE, "request", f"not tried, as it is one request: {', '.join(untried)}")
    if reply.status:
        yield from _check_limit(plan, credential, request, reply)
        yield _check_clock(grant, reply)
    yield from rules


def _announce(plan: Plan, request: Request, others: Sequence[CaptureProbe], *, rules: bool) -> str:
    """Return what will be sent, and what it may cost."""
    sent = [f"one request to {one.endpoint}" for one in (request, *(probe.request for probe in others))]
    most = request.most + sum(probe.request.most for probe in others)
    free = "costs nothing on this machine" if plan.policy.is_billed else "costs nothing"
    costs = f"may cost {format_dollars(most)}" if plan.billed else free
    more = ", and two for the rules of the instance" if rules else ""
    return f"{', '.join(sent)}{more}, outside of the campaign's ledger, {costs}"


def _check_capture_probe(
    plan: Plan, allowed: CampaignAccess, wire: Wired, probe: CaptureProbe, now: float
) -> DoctorCheck:
    """Return whether something else that a capture reads can be read."""
    try:
        credential = find_admitted(allowed, plan.policy, probe.request.endpoint)
    except SettingsError as error:
        return DoctorCheck(FAIL, probe.name, str(error))
    reply = wire.send(Grant(probe.request, credential.name, now))
    if reply.kind == ReplyKind.OK:
        return DoctorCheck(OK, probe.name, probe.shows)
    if reply.kind in WAITS:
        return DoctorCheck(WARN, probe.name, f"{reply.why}: try again later")
    return DoctorCheck(FAIL, probe.name, f"{reply.why}{f'; {probe.hint}' if probe.hint else ''}")


def _fetch_rules(about: "InstanceRules", base: str) -> Iterator[DoctorCheck]:
    """Yield the rules of an instance and the addresses of its terms: what they allow is for people to judge."""
    if about.rules is None:
        yield DoctorCheck(WARN, "rules", f"the instance does not show its rules: read {base}/about before you collect")
    elif about.rules:
        listed = "\n".join(f"{number}. {rule}" for number, rule in enumerate(about.rules, 1))
        yield DoctorCheck(NOTE, "rules", f"the instance's own; check that they allow this campaign:\n{listed}")
    else:
        yield DoctorCheck(NOTE, "rules", "the instance has none of its own")
    if about.addresses:
        yield DoctorCheck(NOTE, "terms", ", ".join(f"{title}: {url}" for title, url in about.addresses.items()))


def _check_answer(plan: Plan, credential: Credential, reply: Reply) -> DoctorCheck:
    if reply.kind in WAITS:
        return DoctorCheck(WARN, "answer", f"{reply.why}: try again later")
    if reply.kind not in (ReplyKind.OK, ReplyKind.MISSING):
        return DoctorCheck(FAIL, "answer", reply.why)
    who = "it answers without a token" if credential.kind == "public" else f"the token {credential.name} works"
    page = reply.rows if isinstance(reply.rows, Page) else Page()
    if reply.kind == ReplyKind.MISSING or page.missing:
        why = ", ".join(dict.fromkeys(reason for _, reason in page.missing)) or reply.why or "gone"
        return DoctorCheck(WARN, "answer", f"{who}, but what was requested is not available: {why}")
    if page.accounts and not page.posts:
        return DoctorCheck(OK, "answer", f"{who}, and shows profiles")
    if plan.platform.probe_shows:
        return DoctorCheck(OK, "answer", f"{who}: {plan.platform.probe_shows}")
    posts = len(page.posts)
    if not posts:
        silent = pluralize(page.opted_out, "post")
        why = f"{silent} found, only of accounts that opted out" if page.opted_out else "no post was found"
        return DoctorCheck(WARN, "answer", f"{who}, but the fields of posts could not be checked: {why}")
    cost = f"; it cost at most {format_dollars(reply.cost)}" if plan.billed else ""
    return DoctorCheck(OK, "answer", f"{who}, all fields arrived in {pluralize(posts, 'post')}{cost}")


def _check_limit(plan: Plan, credential: Credential, request: Request, reply: Reply) -> Iterator[DoctorCheck]:
    """Yield what the headers allow against the table; the campaign's own [limits] come first."""
    rule = plan.policy.get_endpoint(request.endpoint).get_rules(credential.kind)[0]
    tightest = find_tightest(reply.limits, daily=False)
    ours = f"{pluralize(rule.k, 'request')} in {format_span(rule.d)}"
    if tightest is None:
        yield DoctorCheck(WARN, "limits", f"no rate-limit headers came: {ours} are kept, as in the table")
    elif tightest.most < rule.k:
        text = (
            f"the server allows {tightest.most:,} such requests, not {ours}: runs will keep to it; set k under [limits]"
        )
        yield DoctorCheck(WARN, "limits", text)
    else:
        text = (
            f"the server allows {tightest.most:,} such requests in a window, {tightest.left:,} left; "
            f"the campaign sends at most {ours}"
        )
        yield DoctorCheck(OK, "limits", text)
    for limit in reply.limits:
        if limit.daily:
            yield DoctorCheck(
                OK if limit.left else WARN, "limits", f"of {limit.most:,} in 24 hours {limit.left:,} are left"
            )


def _check_clock(grant: Grant, reply: Reply) -> DoctorCheck:
    offset = ClockOffset()
    offset.learn(grant.at, reply.at, reply.date)
    if not offset.is_known:
        return DoctorCheck(WARN, "clock", "the server did not say what time it is")
    wrong = 0.0 if offset.low <= 0.0 <= offset.high else abs(offset.guess)  # a slow answer tells less exactly
    text = f"this clock and the server's differ by {format_span(wrong)}"
    return (
        DoctorCheck(OK, "clock", text)
        if wrong <= SKEW
        else DoctorCheck(WARN, "clock", f"{text}: set the clock of this machine")
    )


def _format_check(check: DoctorCheck) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=4, no_wrap=True)
    grid.add_column(width=8, no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(check.state, style=STYLES[check.state]), check.name, Text(check.text))
    return grid
