"""`socialcrawl quote`: what a campaign needs, before its first request; and the confirmation above a price."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from typing import Any

from rich.console import Console

from socialcrawl.campaign.plan import Plan
from socialcrawl.engine.clock import SystemClock
from socialcrawl.engine.model import MILLS_PER_DOLLAR, format_time
from socialcrawl.errors import SettingsError
from socialcrawl.forecast.expected import COUNTED, TypicalNeeds
from socialcrawl.forecast.quote import Quote, bound_requests, bound_total, make_quote
from socialcrawl.forecast.shape import CampaignProgress, StoredResources
from socialcrawl.ratelimit.budget import format_dollars
from socialcrawl.storage.database.health import has_tables, is_missing, open_existing
from socialcrawl.storage.queries.statistics import count_done, count_stored, estimate_typical

HOUR = 3600.0  # seconds


def read_progress(plan: Plan) -> CampaignProgress:
    """Return what a campaign has done and spent; nothing is made or changed where it has not begun.

    Raises:
        StoreError: the database is not ours, or a newer program's.
    """
    with _open_readonly(plan) as connection:
        return CampaignProgress() if connection is None else _read_done(plan, connection)


def read_knowledge(plan: Plan) -> tuple[CampaignProgress, TypicalNeeds]:
    """Return what a campaign has done and spent, and what the answers in its database are like.

    Raises:
        StoreError: the database is not ours, or a newer program's.
    """
    with _open_readonly(plan) as connection:
        if connection is None:
            return CampaignProgress(), TypicalNeeds()
        return _read_done(plan, connection), estimate_typical(connection, plan.shape.roles, plan.settings.name)


@contextmanager
def _open_readonly(plan: Plan) -> Iterator[Any]:
    """Yield a connection that reads a campaign's database; None where there is none, or nothing in it."""
    where = plan.settings.database
    if is_missing(where):
        yield None
        return
    with open_existing(where) as connection:
        yield connection if has_tables(connection, where) else None


def _read_done(plan: Plan, connection: Any) -> CampaignProgress:
    settings = plan.settings
    reading = [name for name, endpoint in plan.policy.endpoints.items() if endpoint.returns == "post"]
    linked = plan.kind.tests_linked(settings) if plan.shape.tests else None
    return count_done(connection, settings.name, reading, settings.source.platform, plan.usernames, linked=linked)


def make_campaign_quote(plan: Plan, matches: tuple[int, ...] | None = None) -> Quote:
    """Return the quote of a campaign, begun or not.

    Args:
        plan: the campaign.
        matches: how many posts each of its searches finds, where X was asked.

    Raises:
        StoreError: the database is not ours, or a newer program's.
    """
    now = SystemClock().now()
    with _open_readonly(plan) as connection:
        spare = StoredResources() if connection is None else _count_stored(plan, connection, now)
    spent, mean = read_knowledge(plan)
    if matches is not None:
        mean = replace(mean, matches=matches, rests={**mean.rests, "matches": COUNTED})
    return make_quote(plan.shape, mean, spent, now, spare)


def _count_stored(plan: Plan, connection: Any, now: float) -> StoredResources:
    source = plan.settings.source
    hours = 0.0 if plan.shape.tests else source.reuse_hours  # a test reuses no answers
    return count_stored(connection, plan.settings.name, source.platform, now - hours * HOUR, format_time(now)[:10])


def compute_remaining_cost(plan: Plan, spent: CampaignProgress) -> float:
    """Return the most that a campaign can still cost after what it has spent, in mills; inf where nothing bounds it."""
    now = SystemClock().now()
    return bound_total(plan.shape, bound_requests(plan.shape, spent, now), spent, now).money


def confirm_cost(plan: Plan, spent: CampaignProgress, console: Console, *, yes: bool, ask: bool = True) -> None:
    """Nothing, once a person has agreed to what a run may still cost, or where it costs less than confirm_above.

    Args:
        plan: the campaign.
        spent: what it has spent already.
        console: where a person is asked, if it is a terminal.
        yes: whether they have agreed beforehand.
        ask: whether a person may be asked at all.

    Raises:
        SettingsError: they have not, or nobody is there to be asked, or the campaign has no bound at all.
    """
    plan.guard()
    settings, money = plan.settings, compute_remaining_cost(plan, spent)
    if yes or not plan.billed or money <= settings.budget.confirm_above * MILLS_PER_DOLLAR:
        return
    price = "without bound" if money == inf else f"up to {format_dollars(round(money))}"
    before = f" ({format_dollars(spent.money)} are spent already)" if spent.money else ""
    what = f"This run may cost {price}{before} by the price table of {plan.policy.as_of}"
    above = f"confirm_above = {settings.budget.confirm_above:g} dollars under [budget]"
    if not (ask and console.is_terminal and sys.stdin is not None and sys.stdin.isatty()):
        raise SettingsError(
            f"{what}, which is more than {above}. Run `socialcrawl quote` with the same campaign file first, then "
            "`socialcrawl run` with --yes. Nothing was sent, nothing was spent."
        )
    console.print(f"{what}.", soft_wrap=True)
    if not _ask_consent(console):
        raise SettingsError("Not confirmed: nothing was sent, nothing was spent.")


def _ask_consent(console: Console) -> bool:
    try:
        return console.input("Continue? [y/N] ", markup=False).strip().lower() in ("y", "yes")
    except EOFError:
        return False
