"""`socialcrawl compliance`: what the platform no longer shows is looked up, and deleted."""

import json
import sys
import threading
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

from socialcrawl.campaign.build import build
from socialcrawl.campaign.check_selection import make_check
from socialcrawl.campaign.cost_outlook import has_begun
from socialcrawl.campaign.deletion_check import CheckProgress, JobResult, remove_named
from socialcrawl.campaign.plan import Plan
from socialcrawl.cli.commands.forget import ErasureOptions, PlannedErasure, run_erasure
from socialcrawl.cli.running_campaigns import give_way
from socialcrawl.engine.clock import SystemClock
from socialcrawl.engine.model import Wait, format_time
from socialcrawl.errors import SettingsError, SourceError, StoreError
from socialcrawl.render.live_screen import CampaignView
from socialcrawl.storage import stored_checks
from socialcrawl.storage.database.connection import open_database
from socialcrawl.storage.erasure import execution
from socialcrawl.text.terminal import write_error, write_json, write_line
from socialcrawl.text.wording import pluralize

COMMAND = "compliance"
DONE, WAITS = 0, 3


@dataclass(slots=True)
class _Tally:
    """What a check has removed so far, and until when it waits (ISO 8601), for `--json`.

    `since` is the instant before which earlier checks are repeated; None: not known yet.
    """

    posts: int = 0
    accounts: int = 0
    until: str | None = None
    rows: list[dict[str, int]] = field(default_factory=list)
    since: float | None = None
    progress: CheckProgress | None = None


def check_compliance(plan: Plan, manner: ErasureOptions, *, wait: bool) -> int:
    """Check what a platform no longer shows of what is stored, delete that, and return the exit code.

    Args:
        plan: a campaign, whose tokens are used and whose database is checked.
        manner: how what is found is deleted.
        wait: whether to wait while the platform works on it; else the command is to be run again, which goes on.

    Raises:
        SettingsError: the platform offers no such check, or nobody is there to agree.
        SourceError: the platform does not do it, or the budget does not allow it.
        StoreError: a campaign of the database runs, or nothing is stored yet.
    """
    if not has_begun(plan):
        raise StoreError(
            f"The campaign {plan.settings.name!r} has not begun: nothing is stored yet that could be checked."
        )
    if not (manner.dry or manner.yes) and (manner.as_json or not sys.stdin.isatty()):
        raise SettingsError(
            "What the platform no longer shows is deleted for good: agree to it with --yes, or look first with "
            "--dry-run."
        )
    clock, where, tally = SystemClock(), plan.settings.database, _Tally()
    while True:
        try:
            found = give_way(COMMAND, where, [plan.settings.name], partial(_advance, plan, tally), pause=manner.pause)
        except SourceError:
            _show_progress(tally, manner)
            raise
        if found is None:
            break
        if isinstance(found, JobResult):
            _apply(plan, found, manner, tally)
            if manner.dry:
                break
            continue
        if found.until <= clock.now():
            continue
        tally.until = format_time(found.until)
        if not wait:
            break
        if not manner.as_json:
            write_error(f"{found.why}: waiting until {tally.until[:19]}Z (Ctrl-C stops; run it again to go on)")
        clock.wait(threading.Event(), found.until)
        tally.until = None
    return _show(tally, manner)


def _advance(plan: Plan, tally: _Tally) -> JobResult | Wait | None:
    """Do the steps that need no waiting, with the campaign opened for them alone."""
    with closing(build(plan.settings, CampaignView())) as campaign:
        campaign.planner.fold(campaign.store.ledger(), campaign.clock.now())
        check = make_check(campaign.plan, campaign.store, campaign.planner, campaign.wire, campaign.clock.now)
        tally.since = check.find_since() if tally.since is None else tally.since
        try:
            found = check.advance(tally.since)
        except SourceError:
            tally.progress = check.measure()
            raise
        tally.progress = check.measure()
        return found


def _apply(plan: Plan, found: JobResult, manner: ErasureOptions, tally: _Tally) -> None:
    where, platform = plan.settings.database, plan.platform.facts.name
    work = partial(remove_named, result=found, platform=platform, at=format_time(SystemClock().now()))
    if found.job.status == stored_checks.APPLIED:

        def clear() -> None:
            with open_database(where, create=False, durable=True) as connection:
                execution.erase(connection, work)

        give_way(COMMAND, where, None, clear, pause=manner.pause)
    else:
        planned = PlannedErasure(COMMAND, work, f", as {plan.platform.title} says of {found.job.kind}")
        report = run_erasure(where, planned, manner)
        tally.rows.append(report.counts)
        tally.posts += report.counts.get("post", 0)
        tally.accounts += report.counts.get("account", 0)
    if not manner.dry:
        with open_database(where, create=False, durable=True) as connection:
            stored_checks.note_job(connection, found.job, status=stored_checks.DONE)


def _show_progress(tally: _Tally, manner: ErasureOptions) -> None:
    """Show how far a check by look-ups has come."""
    found = tally.progress
    if found is None or manner.as_json:
        return
    again = "" if found.again is None else f", looked up again from {format_time(found.again)[:19]}Z on"
    write_line(f"posts looked up in this round: {found.checked:,}; left: {found.left:,}")
    write_line(f"absent once: {found.absent:,}{again}")
    if found.unclear:
        write_line(f"without evidence, looked up again in the next round: {found.unclear:,}")
    if found.unknown:
        write_line(f"cannot be checked, as no id on a server that the campaign asks is known: {found.unknown:,}")


def _show(tally: _Tally, manner: ErasureOptions) -> int:
    _show_progress(tally, manner)
    if manner.as_json:
        removed = {"posts": tally.posts, "accounts": tally.accounts, "rows": tally.rows}
        shown = {} if tally.progress is None else {"progress": _pack_progress(tally.progress)}
        write_json(json.dumps({"dry_run": manner.dry, "removed": removed, "until": tally.until, **shown}))
    elif tally.until is not None:
        write_line(f"not done yet: run it again after {tally.until[:19]}Z to go on")
    elif manner.dry and tally.rows:
        write_line("nothing was deleted: --yes deletes this, and goes on with the check")
    else:
        gone = pluralize(tally.posts, "post")
        if tally.progress is None:  # where posts are looked up, accounts are not checked
            gone += f" and {pluralize(tally.accounts, 'account')}"
        write_line(f"checked: {gone} removed that the platform no longer shows")
    return DONE if tally.until is None else WAITS


def _pack_progress(progress: CheckProgress) -> dict[str, int | str | None]:
    return progress._asdict() | {"again": None if progress.again is None else format_time(progress.again)}
