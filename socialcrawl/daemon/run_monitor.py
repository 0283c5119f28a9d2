"""What a daemon sees of a campaign that runs: what is in flight, what came, when it last moved."""

from collections import Counter
from collections.abc import Callable, Sequence

import structlog

from socialcrawl.campaign.build import OpenCampaign
from socialcrawl.daemon.campaign_state import CampaignFigures, WindowUse
from socialcrawl.engine.model import FAILED, Grant, Outcome, Reply, ReplyKind, Wait
from socialcrawl.engine.protocols import Batch
from socialcrawl.ratelimit.policy import parse_path

SEARCHED = frozenset({"query", "hashtag", "q", "list"})  # parameters of searches
LATEST = 50  # endpoints whose windows are shown


def describe_reply(grant: Grant, reply: Reply) -> str:
    """Return what to report of a reply although the run continues: a token set aside, a search that is not allowed."""
    if reply.kind == ReplyKind.REFUSED:
        return f"the credential {grant.credential} is set aside: {reply.why}"
    if reply.kind == ReplyKind.MISSING and not SEARCHED.isdisjoint(grant.request.params):
        return reply.why
    return ""


class RunMonitor:
    """A watcher that counts; other threads may read it at any time.

    Args:
        now: the clock.
        campaign: its name, for the log.

    Attributes:
        down: since when the platform has not answered (Unix seconds), and what happened, as somebody has noted here;
            None from the next answer on.
    """

    def __init__(self, now: Callable[[], float], campaign: str = "") -> None:
        self.now, self.campaign = now, campaign
        self.down: tuple[float, str] | None = None
        self.moved: float | None = None
        self.wait: Wait | None = None
        self.note = ""  # what a person should know although the run goes on
        self.requests: Counter[tuple[str, str, int]] = Counter()  # by path: there may be very many servers
        self.latest: dict[str, None] = {}  # the endpoints that were asked last, with their servers
        self._flying: dict[tuple[int, int], tuple[str, float]] = {}

    def sent(self, grant: Grant) -> None:
        """Count a request that left."""
        self.wait = None
        self._flying[grant.request.key] = grant.request.endpoint, grant.at

    def landed(self, grant: Grant, reply: Reply) -> None:
        """Count a reply; one that refuses its credential is worth a note."""
        self._flying.pop(grant.request.key, None)
        endpoint = grant.request.endpoint
        self.requests[parse_path(endpoint), reply.kind, reply.status] += 1
        self.latest.pop(endpoint, None)
        self.latest[endpoint] = None
        if len(self.latest) > LATEST:
            del self.latest[next(iter(self.latest))]
        self.moved = self.now()
        if reply.kind not in FAILED:
            self.down = None
        self.note = describe_reply(grant, reply) or self.note

    def learned(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """Count a batch that was absorbed."""
        self.moved = self.now()

    def waits(self, wait: Wait) -> None:
        """Note that nothing can be sent for a moment."""
        self.wait = wait

    def tell(self, text: str) -> None:
        """Take a note of what a person should know, and log it."""
        self.note = text
        structlog.get_logger().info("the campaign follows a shadow", campaign=self.campaign, why=text)

    def list_flying(self) -> list[tuple[str, float]]:
        """Return what is in flight: the endpoints, and when each request left."""
        return list(self._flying.values())

    def clear_flying(self) -> None:
        """Note that nothing is in flight any more: a turn has ended."""
        self._flying.clear()
        self.wait = None


def measure_campaign(campaign: OpenCampaign, monitor: RunMonitor, lag: float) -> CampaignFigures:
    """Return a campaign in numbers, as it is now."""
    crawl, budget = campaign.crawl, campaign.planner.budget
    return CampaignFigures(
        steps=crawl.taken,
        relevance=crawl.relevance,
        known=crawl.graph.size,
        frontier=crawl.graph.left,
        requests=dict(monitor.requests),
        sent=budget.requests,
        posts=budget.spent[0],  # what is reserved may come back: counters never fall
        money=budget.spent[1],
        windows=_measure_windows(campaign, set(monitor.latest)),
        lag=lag,
        caps=budget.caps,
    )


def _measure_windows(campaign: OpenCampaign, endpoints: set[str]) -> list[WindowUse]:
    now = campaign.clock.now()
    found = []
    for endpoint in sorted(endpoints):
        for lane in campaign.planner.window_sets.find_usable(endpoint):
            left, k = lane.count_slots(now, now), lane.main.k
            found.append(WindowUse(lane.credential, endpoint, k - min(k, left), k, lane.main.find_end(now)))
    return found
