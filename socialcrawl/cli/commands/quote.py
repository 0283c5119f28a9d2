"""The command `quote`: what a campaign will need and cost; and the confirmation of a run above a price."""

import json
import sys

from rich.console import Console

from socialcrawl.campaign.cost_outlook import (
    check_curve,
    describe_excess_cost,
    has_begun,
    make_campaign_quote,
    read_curve,
    read_progress,
)
from socialcrawl.campaign.credentials import open_access
from socialcrawl.campaign.plan import Plan, make_plan
from socialcrawl.campaign.post_counting import plan_counting
from socialcrawl.campaign.settings import Settings
from socialcrawl.cli.post_counts import count_posts, count_searches_left
from socialcrawl.cli.single_requests import find_meters
from socialcrawl.engine.clock import SystemClock
from socialcrawl.engine.model import MILLS_PER_DOLLAR
from socialcrawl.errors import SettingsError
from socialcrawl.forecast.shape import CampaignProgress
from socialcrawl.render import quote
from socialcrawl.render.console import Text
from socialcrawl.render.way_comparison import build_curve, show_curve
from socialcrawl.text.terminal import write_error, write_json
from socialcrawl.text.wording import pluralize


def show_quote(settings: Settings, console: Console, *, count: bool, curve: bool = False, as_json: bool) -> None:
    """Compute the quote of a campaign and show it; nothing is begun.

    Args:
        settings: the campaign.
        console: where a person looks.
        count: whether to request from X how many posts the searches find, which it bills.
        curve: whether to compare ways of reading accounts.
        as_json: whether to print one JSON object and nothing else.

    Raises:
        SettingsError, SourceError, StoreError: see `count_posts`, `make_campaign_quote` and `read_curve`.
    """
    plan = make_plan(settings)
    if curve:
        check_curve(plan)
    if count and not count_searches_left(plan):
        count = False
        write_error("Nothing was requested from X: all searches of this campaign are done.")
    if count and (plan.shape.captures or not as_json):
        announcement = _describe_counting(plan)
        if as_json:
            write_error(announcement)
        else:
            console.print(Text(announcement))
    matches = count_posts(plan) if count else None
    found = make_campaign_quote(plan, matches)
    compared = read_curve(plan, matches) if curve else None
    for _, warning in plan.warnings:
        write_error(f"warning: {warning}")
    if as_json:
        together = {} if compared is None else {"curve": build_curve(compared)}
        write_json(json.dumps(quote.build_object(plan, found) | together))
        return
    quote.show(console, plan, found)
    if compared is not None:
        console.print()
        show_curve(console, compared)


def confirm_billed_run(plan: Plan, console: Console, *, yes: bool, ask: bool) -> None:
    """Check that a run that is billed may begin: there is a token, and a person agrees to its cost.

    Raises:
        SettingsError: a token is missing, or see `confirm_cost`.
    """
    if not plan.billed:
        return
    plan.guard()
    open_access(plan.settings, plan.base, lease=False)  # a token first: without it nothing can cost anything
    confirm_cost(plan, read_progress(plan), console, yes=yes, ask=ask)


def confirm_cost(plan: Plan, spent: CampaignProgress, console: Console, *, yes: bool, ask: bool = True) -> None:
    """Ask a person to agree to what a run may still cost, unless it costs no more than confirm_above.

    Args:
        plan: the campaign.
        spent: what it has spent already.
        console: where a person is asked, if it is a terminal.
        yes: whether they have agreed beforehand.
        ask: whether a person may be asked at all.

    Raises:
        SettingsError: they have not, or nobody is there to be asked, or the campaign has no bound at all.
    """
    excess = describe_excess_cost(plan, spent)
    if yes or excess is None:
        return
    what, above = excess
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


def _describe_counting(plan: Plan) -> str:
    """Return what counting the posts of a campaign costs, and where that is recorded, as a sentence."""
    where = "recorded in the campaign's ledger" if has_begun(plan) else "in no ledger, as the campaign has not begun"
    meters = find_meters(plan)
    counting = plan_counting(plan, read_progress(plan), SystemClock().now())
    fee = plan.policy.compute_fee(meters.counts if counting is None else counting.endpoint) / MILLS_PER_DOLLAR
    if counting is None or counting.span is None:
        return f"Asking X how many posts each search finds, for ${fee:.3f} each, {where}."
    requests, most = pluralize(counting.requests, "request"), counting.price / MILLS_PER_DOLLAR
    return (
        f"Counting the posts of {pluralize(counting.queries, 'query', 'queries')} on {plan.platform.title}: at most "
        f"{requests} at ${fee:.3f} each, ${most:.3f} in total, {where}."
    )
