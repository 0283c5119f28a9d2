"""What a stored campaign would read next: its crawl is folded, as after a restart, and chooses; nobody is asked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from socialcrawl.campaign.plan import make_word_topic
from socialcrawl.campaign.settings import Settings, load_stored
from socialcrawl.crawls.base import Crawling, remember_seeds
from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.explain import explain_frontier
from socialcrawl.crawls.reporting import find_stored_kind
from socialcrawl.engine.draws import STEERED, assign_arms
from socialcrawl.engine.model import FIRST_READS, Node, Pick, Stop, Wait
from socialcrawl.engine.protocols import Batch
from socialcrawl.platforms.registry import platform_of
from socialcrawl.storage.identity import read_queries
from socialcrawl.storage.queries.traces import CampaignTraces, StoredCampaign
from socialcrawl.text.wording import pluralize


@dataclass(frozen=True, slots=True)
class NextPick:
    """A decision that a campaign would take.

    Attributes:
        pick: the decision.
        name: how its account is called; None: it is a search.
        id: the platform's own id of it; None: nobody knows.
        is_open: whether it was taken, and its answer has not come yet.
        drawn: how the account is drawn for comparison, as `draws.assign_arms`; 0: it is not.
        explanation: why, where its kind of campaign explains accounts of its frontier; None elsewhere.
    """

    pick: Pick
    name: str | None
    id: str | None
    is_open: bool
    drawn: int = STEERED
    explanation: Any = None


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


def list_next(traces: CampaignTraces, campaign: str | None, most: int, now: float) -> NextPicks:
    """Return what a campaign (the newest, if none is named) would read next.

    Args:
        traces: the database.
        campaign: its name.
        most: how many decisions.
        now: the present, Unix seconds.

    Raises:
        StoreError: there is no such campaign.
        SettingsError: its settings are not understood.
    """
    stored = traces.read_campaign(campaign)
    kind = find_stored_kind(stored)
    settings = load_stored(traces.read_versions(stored)[-1].settings, f"the campaign {stored.name!r}")
    steps, topic = settings.crawl.steps, make_word_topic(settings)
    endless = settings.crawl.model_copy(update={"steps": None, "shadows": []})
    names = traces.read_seeds(stored.platform, stored.identity["seeds"]["usernames"])
    _, queries = read_queries(stored.identity, kind.list_queries(settings, platform_of(settings), topic))
    settings = settings.model_copy(update={"crawl": endless})
    crawl = kind.make_crawl(settings, remember_seeds(settings, names, traces.read_topics(stored.id), queries))
    crawl.fold(traces.read_history(stored, kind.features))
    begun = {pick.node for pick in traces.read_picks(stored.id, crawl.picks, kind.features)}
    choice, why = crawl.choose(most, now), ""
    picks = choice[:most] if isinstance(choice, tuple) else ()  # several may be of one account
    if isinstance(choice, Wait | Stop):
        why = choice.why
    elif steps is not None and crawl.taken >= steps:
        why = f"the limit of {pluralize(steps, 'step')} is reached: with a higher one, these are next"
    return NextPicks(
        stored.platform,
        crawl.taken,
        crawl.graph.left,
        [*_describe(traces, stored, crawl, settings, (picks, begun))],
        why,
    )


def _describe(
    traces: CampaignTraces, stored: StoredCampaign, crawl: Crawling, settings: Settings, chosen: tuple[Batch, set[Node]]
) -> Iterator[NextPick]:
    """Yield the next decisions of a crawl, of which some have begun, with all that is known of their accounts."""
    picks, begun = chosen
    nodes = [pick.node for pick in picks if pick.node >= 0]
    called, ids = traces.read_names(nodes), traces.read_ids(nodes)
    explained: dict[Node, Any] = {}
    arms = [STEERED] * len(picks)
    if isinstance(crawl, Collect) and all(pick.act in FIRST_READS and not pick.since for pick in picks):
        explained = dict(zip(nodes, explain_frontier(traces, stored, crawl, nodes), strict=True))
        arms = assign_arms(settings.seed, settings.crawl.control, crawl.taken, len(picks)).tolist()
    for pick, arm in zip(picks, arms, strict=True):
        node = pick.node
        yield NextPick(pick, called.get(node), ids.get(node), node in begun, arm, explained.get(node))
