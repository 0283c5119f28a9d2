"""The stall detector: which campaign should have moved and did not, and what it waits for."""

from collections.abc import Sequence
from datetime import UTC, datetime

from socialcrawl.daemon.campaign_state import RUNNING, WAITING, CampaignState
from socialcrawl.text.wording import format_span

Flying = Sequence[tuple[str, float]]


def detect_stall(standing: CampaignState, flying: Flying, now: float, patience: float) -> str | None:
    """Return what a campaign waits for that should have moved, as a sentence for people; None: all is well.

    Only one that runs or waits can stall. It has when more than `patience` seconds have gone since each of: its last
    reply or step, the moment at which it was to go on, and its coming into this state (so that one which has rested
    for a week is given its time).

    Args:
        standing: the campaign.
        flying: its requests without a reply, each by its endpoint and the moment it was sent (Unix seconds).
        now: Unix seconds, by the same clock.
        patience: seconds.
    """
    if standing.state not in (RUNNING, WAITING):
        return None
    heard = max(instant for instant in (standing.since, standing.moved, standing.until) if instant is not None)
    if not now - heard > patience:
        return None
    last = standing.since if standing.moved is None else max(standing.since, standing.moved)
    return f"Nothing has come for {format_span(now - last)}: it waits for {_describe_awaited(standing, flying, now)}."


def _describe_awaited(standing: CampaignState, flying: Flying, now: float) -> str:
    if flying:
        endpoint, since = min(flying, key=lambda asked: (asked[1], asked[0]))
        others = f", and for {len(flying) - 1} more" if len(flying) > 1 else ""
        return f"a reply from {endpoint}, asked {format_span(max(0.0, now - since))} ago{others}"
    if standing.state == RUNNING:
        return "the database, as no request is on its way: look for a lock, a full disk or a server that is away"
    if standing.until is not None:
        return f"its window, which ended at {_format_moment(standing.until)}, and was not woken"
    return f"what it said last ({standing.why.strip().rstrip('.') or 'nothing'})"


def _format_moment(instant: float) -> str:
    return f"{datetime.fromtimestamp(instant, UTC):%Y-%m-%d %H:%M:%S} UTC"
