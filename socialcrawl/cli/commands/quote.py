"""The command `quote`: what a campaign will need and cost, before it begins."""

import json

from rich.console import Console

from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import Settings
from socialcrawl.cli.campaign_quotes import make_campaign_quote
from socialcrawl.cli.post_counts import count_posts, count_searches_left, has_begun
from socialcrawl.cli.render import quote
from socialcrawl.cli.render.console import Text
from socialcrawl.text.terminal import write_error, write_json


def show_quote(settings: Settings, console: Console, *, count: bool, as_json: bool) -> None:
    """Compute the quote of a campaign and show it; nothing is begun.

    Args:
        settings: the campaign.
        console: where a person looks.
        count: whether X may be asked how many posts the searches find, which it bills.
        as_json: whether to print one JSON object and nothing else.

    Raises:
        SettingsError, SourceError, StoreError: see `count_posts` and `make_campaign_quote`.
    """
    plan = make_plan(settings)
    if count and not count_searches_left(plan):
        count = False
        write_error("Nothing was requested from X: all searches of this campaign are done.")
    if count and not as_json:
        where = (
            "recorded in the campaign's ledger" if has_begun(plan) else "in no ledger, as the campaign has not begun"
        )
        console.print(Text(f"Asking X how many posts each search finds, {quote.describe_fee(plan)} each, {where}."))
    found = make_campaign_quote(plan, count_posts(plan) if count else None)
    for _, warning in plan.warnings:
        write_error(f"warning: {warning}")
    if as_json:
        write_json(json.dumps(quote.build_object(plan, found)))
    else:
        quote.show(console, plan, found)
