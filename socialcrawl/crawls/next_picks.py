"""What a stored campaign would read next: its crawl is folded, as after a restart, and chooses; nobody is asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from socialcrawl.campaign.settings import load_stored
from socialcrawl.crawls.base import NextReason
from socialcrawl.crawls.kept_crawls import KeptCrawls
from socialcrawl.crawls.reporting import find_stored_kind
from socialcrawl.engine.draws import STEERED
from socialcrawl.engine.model import Pick, Stop, Wait
from socialcrawl.storage.queries.traces import CampaignTraces
from socialcrawl.text.wording import pluralize

NOTHING = NextReason(None)


@dataclass(frozen=True, slots=True)
class NextPick:
    """A decision that a campaign would take.

    Attributes:
        pick: the decision.
        name: how its account is called; None: it is a search.
        id: the platform's own id of it; None: nobody knows.
        is_open: whether it was taken, and its answer has not come yet.
        explanation: why, where its kind of campaign explains accounts of its frontier; None elsewhere.
        drawn: how the account is drawn for comparison, as `draws.assign_arms`; 0: it is not.
    """

    pick: Pick
    name: str | None
    id: str | None
    is_open: bool
    explanation: Any = None
    drawn: int = STEERED


@dataclass(frozen=True, slots=True)
class NextPicks:
    """What a campaign would read next, as if no answer in between changed the order.

    Attributes:
        platform: that of the campaign.
        taken: steps that were done.
        left: accounts that are known and were not read yet.
        picks: the next decisions, in order.
        why: why there are none, or why they would not be taken; "": nothing stands against it.
    """

    platform: str
    taken: int
    left: int
    picks: Sequence[NextPick]
    why: str = ""


def list_next(
    traces: CampaignTraces, campaign: str | None, most: int, now: float, crawls: KeptCrawls | None = None
) -> NextPicks:
    """Return what a campaign (the newest, if none is named) would read next.

    Args:
        traces: the database.
        campaign: its name.
        most: how many decisions.
        now: the present, Unix seconds.
        crawls: keeps crawls for a while; None: nothing is kept.

    Raises:
        StoreError: there is no such campaign.
        SettingsError: its settings are not understood.
    """
    stored = traces.read_campaign(campaign)
    kind = find_stored_kind(stored)
    steps = load_stored(traces.read_versions(stored)[-1].settings, f"the campaign {stored.name!r}").crawl.steps
    with (crawls or KeptCrawls(least=inf)).hold(traces, stored, kind) as crawl:
        begun = {pick.node for pick in traces.read_picks(stored.id, crawl.picks, kind.features)}
        choice, why = crawl.choose(most, now), ""
        picks = choice[:most] if isinstance(choice, tuple) else ()  # several may be of one account
        if isinstance(choice, Wait | Stop):
            why = choice.why
        elif steps is not None and crawl.taken >= steps:
            why = f"the limit of {pluralize(steps, 'step')} is reached: with a higher one, these are next"
        nodes = [pick.node for pick in picks if pick.node >= 0]
        called, ids = traces.read_names(nodes), traces.read_ids(nodes)
        reasons = kind.explain_next(traces, stored, crawl, picks)
        described = [
            NextPick(
                pick, called.get(pick.node), ids.get(pick.node), pick.node in begun, *reasons.get(pick.node, NOTHING)
            )
            for pick in picks
        ]
        return NextPicks(stored.platform, crawl.taken, crawl.graph.left, described, why)
