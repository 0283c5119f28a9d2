"""`socialcrawl explain`: why an account was collected or not."""

import json
from typing import Any

from rich.console import Console

from socialcrawl.cli.commands.sql import choose_campaign
from socialcrawl.crawls.reporting import explain
from socialcrawl.render.explanation import collect_explanation, show_explanation
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.queries.traces import CampaignTraces
from socialcrawl.text.terminal import write_json


def explain_account(
    where: DatabaseAddress, user: str, campaign: str | None, console: Console, *, top: int = 10, as_json: bool = False
) -> int:
    """Say why a campaign asked `user`, or did not, and return the exit code: 1 if nothing is known of that name.

    Args:
        where: the database.
        user: a username or id.
        campaign: its name; None: the newest.
        console: where it is read.
        top: how many links are listed.
        as_json: one JSON object to stdout instead.

    Raises:
        StoreError: there is no such database or campaign.
    """
    trace = _read_trace(where, user, campaign)
    if as_json:
        write_json(json.dumps(collect_explanation(trace), ensure_ascii=False))
    else:
        show_explanation(trace, console, top)
    return int(getattr(trace, "state", "") == "unknown")


def _read_trace(where: DatabaseAddress, user: str, campaign: str | None) -> Any:
    from socialcrawl.storage.database.health import open_readable  # noqa: PLC0415

    with open_readable(where) as connection:
        traces, campaign = CampaignTraces(connection), choose_campaign(connection, campaign)
        return explain(traces, user, campaign)
