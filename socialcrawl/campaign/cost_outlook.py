"""What a campaign has done and spent, and what it will need and cost."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from pathlib import Path

from socialcrawl.campaign.plan import Plan
from socialcrawl.campaign.post_counting import plan_counting
from socialcrawl.engine.clock import SystemClock
from socialcrawl.engine.model import MILLS_PER_DOLLAR, format_time
from socialcrawl.errors import SettingsError
from socialcrawl.forecast.expected import COUNTED, TypicalNeeds
from socialcrawl.forecast.quote import Quote, bound_requests, bound_total, make_quote
from socialcrawl.forecast.reading_curve import ReadingCurve, make_reading_curve
from socialcrawl.forecast.shape import CampaignProgress, StoredResources
from socialcrawl.ratelimit.budget import format_dollars
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.database.health import open_if_any
from socialcrawl.storage.queries.statistics import count_done, count_stored, estimate_typical
from socialcrawl.storage.queries.summary import list_campaigns
from socialcrawl.storage.queries.traces import CampaignTraces

HOUR = 3600.0  # seconds


def read_progress(plan: Plan) -> CampaignProgress:
    """Return what a campaign has done and spent; nothing is made or changed where it has not begun.

    Raises:
        StoreError: the database is not ours, or a newer program's.
    """
    with _open_readonly(plan) as connection:
        return CampaignProgress() if connection is None else _read_done(plan, connection)


def explain_missing_dataset(plan: Plan, file: Path) -> str | None:
    """Return that a campaign needs a dataset that nobody has imported yet, with the command; None where it needs none.

    Raises:
        StoreError: see `read_progress`.
    """
    if not plan.kind.dataset or read_progress(plan).dataset:
        return None
    command = f"socialcrawl import FILES --as dataset --db {file}"
    return f"This campaign needs an old dataset, which was not imported yet. Import it first, in a terminal: {command}"


def read_knowledge(plan: Plan, changed: Opened | None = None) -> tuple[CampaignProgress, TypicalNeeds]:
    """Return what a campaign has done and spent, and what the answers in its database are like.

    Args:
        plan: the campaign.
        changed: a connection that sees changes which are not kept; None: the database as it is.

    Raises:
        StoreError: the database is not ours, or a newer program's.
    """
    with _open_readonly(plan, changed) as connection:
        if connection is None:
            return CampaignProgress(), TypicalNeeds()
        return _read_done(plan, connection), estimate_typical(connection, plan.shape.roles, plan.settings.name)


@contextmanager
def _open_readonly(plan: Plan, changed: Opened | None = None) -> Iterator[Opened | None]:
    """Yield a connection that reads a campaign's database; None where there is none, or nothing in it."""
    if changed is not None:
        yield changed
        return
    with open_if_any(plan.settings.database) as connection:
        yield connection


def has_begun(plan: Plan) -> bool:
    """Return whether a campaign is in its database; nothing is made or changed.

    Raises:
        StoreError: the database is not ours, or a newer program's.
    """
    with _open_readonly(plan) as connection:
        return connection is not None and _is_stored(plan, connection)


def _is_stored(plan: Plan, connection: Opened) -> bool:
    return plan.settings.name in [name for _, name in list_campaigns(connection)]


def _read_done(plan: Plan, connection: Opened) -> CampaignProgress:
    settings = plan.settings
    reading = [name for name, endpoint in plan.policy.endpoints.items() if endpoint.returns == "post"]
    linked = plan.kind.tests_linked(settings) if plan.shape.tests else None
    return count_done(
        connection,
        settings.name,
        reading,
        settings.source.platform,
        plan.usernames,
        queries=plan.queries,
        linked=linked,
    )


def make_campaign_quote(plan: Plan, matches: tuple[int, ...] | None = None, changed: Opened | None = None) -> Quote:
    """Return the quote of a campaign, begun or not.

    Args:
        plan: the campaign.
        matches: how many posts each of its searches finds, where X was asked.
        changed: see `read_knowledge`.

    Raises:
        StoreError: the database is not ours, or a newer program's.
    """
    now = SystemClock().now()
    with _open_readonly(plan, changed) as connection:
        spare = StoredResources() if connection is None else _count_stored(plan, connection, now)
        finished = connection is not None and _has_searched_all(plan, connection)
    spent, mean = read_knowledge(plan, changed)
    if matches is not None:
        mean = replace(mean, matches=matches, rests={**mean.rests, "matches": COUNTED})
    shape = replace(plan.shape, queries=0) if finished else plan.shape
    found = make_quote(shape, mean, spent, now, spare)
    uncounted = not found.is_estimated and not plan.shape.matches
    return replace(found, counting=_find_counting_price(plan, spent, now)) if uncounted else found


def _has_searched_all(plan: Plan, connection: Opened) -> bool:
    """Return whether a campaign has begun, and has nothing left to search."""
    return _is_stored(plan, connection) and plan.kind.has_searched_all(CampaignTraces(connection), plan.settings)


def _find_counting_price(plan: Plan, spent: CampaignProgress, now: float) -> int | None:
    """Return what counting the posts of a campaign costs at most, in mills; None where the platform does not count."""
    try:
        counting = plan_counting(plan, spent, now)
    except SettingsError:
        return None
    return None if counting is None else counting.price


def _count_stored(plan: Plan, connection: Opened, now: float) -> StoredResources:
    source = plan.settings.source
    hours = 0.0 if plan.shape.tests else plan.reuse_hours  # a test reuses no answers
    return count_stored(connection, plan.settings.name, source.platform, now - hours * HOUR, format_time(now)[:10])


def check_curve(plan: Plan) -> None:
    """Check that ways of reading accounts can be compared by what they find for the money.

    Raises:
        SettingsError: the campaign has one way only, or its platform charges nothing.
    """
    if not plan.policy.is_billed:
        raise SettingsError(
            f"--curve compares what ways of reading find for the money, and {plan.platform.title} is free of charge: "
            "docs/how-to/match.md says which way to choose there."
        )
    if not plan.kind.searches:
        raise SettingsError('--curve compares ways of reading accounts: it is for kind = "collect".')


def read_curve(plan: Plan, matches: Sequence[int] | None = None) -> ReadingCurve:
    """Return how much relevance each way of reading accounts finds for a budget, by what the database holds.

    Args:
        plan: the campaign.
        matches: how many posts each of its searches finds, where they were counted.

    Raises:
        SettingsError: see `check_curve`.
        StoreError: the database is not ours, or a newer program's.
    """
    check_curve(plan)
    counts_all = plan.kind.find_counted_span(plan.settings, None, SystemClock().now()) is not None
    matching = sum(matches) if matches is not None and counts_all else None
    price = plan.policy.compute_price("post", 1)
    with _open_readonly(plan) as connection:
        traces = None if connection is None else CampaignTraces(connection)
        found = {} if traces is None else plan.kind.read_reading_records(traces, plan.settings, price)
    return make_reading_curve(found, plan.settings.budget.max_money, matching)


def compute_remaining_cost(plan: Plan, spent: CampaignProgress) -> float:
    """Return the most that a campaign can still cost after what it has spent, in mills; inf where nothing bounds it."""
    now = SystemClock().now()
    return bound_total(plan.shape, bound_requests(plan.shape, spent, now), spent, now).money


def describe_excess_cost(plan: Plan, spent: CampaignProgress) -> tuple[str, str] | None:
    """Return what a run may still cost and the limit that this exceeds, as phrases; None if it is within confirm_above.

    Raises:
        SettingsError: a live host may charge without any bound.
    """
    plan.guard()
    money, limit = compute_remaining_cost(plan, spent), plan.settings.budget.confirm_above
    if not plan.billed or money <= limit * MILLS_PER_DOLLAR:
        return None
    price = "without bound" if money == inf else f"up to {format_dollars(round(money))}"
    before = f" ({format_dollars(spent.money)} are spent already)" if spent.money else ""
    what = f"This run may cost {price}{before} by the price table of {plan.policy.as_of}"
    return what, f"confirm_above = {limit:g} dollars under [budget]"
