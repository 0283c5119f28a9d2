"""What it takes to let a platform count the posts of a campaign's searches: requests, and their price."""

from dataclasses import dataclass

from socialcrawl.campaign.plan import Plan
from socialcrawl.campaign.policies import check_endpoint
from socialcrawl.engine.model import MILLS_PER_DOLLAR
from socialcrawl.errors import SettingsError
from socialcrawl.forecast.shape import CampaignProgress, find_remaining
from socialcrawl.platforms.server_info import CountedSpan
from socialcrawl.text.wording import pluralize


@dataclass(frozen=True, slots=True)
class PostCounting:
    """The requests that count the posts of a campaign's searches.

    Attributes:
        endpoint: what they go to.
        span: the span of time in which posts are counted; None: the last seven days.
        queries: how many searches are counted: the last ones of the campaign.
        pages: how many requests each of them takes at most.
        fee: the price of a request, in mills.
    """

    endpoint: str
    span: CountedSpan | None
    queries: int
    pages: int
    fee: int

    @property
    def requests(self) -> int:
        """How many requests it takes at most."""
        return self.queries * self.pages

    @property
    def price(self) -> int:
        """What it costs at most, in mills."""
        return self.requests * self.fee


def plan_counting(plan: Plan, done: CampaignProgress, now: float) -> PostCounting | None:
    """Return what it takes to count the posts of a campaign at `now` (Unix seconds); None: its platform counts none.

    Raises:
        SettingsError: the campaign's own policy does not know the endpoint.
    """
    meters = plan.platform.make_meters(plan.settings, plan.policy)
    if meters is None:
        return None
    span, queries = (
        plan.kind.find_counted_span(plan.settings, done.began, now),
        find_remaining(plan.shape, done).queries,
    )
    endpoint = meters.counts if span is None else meters.get_counts_endpoint(span)
    check_endpoint(plan.policy, endpoint)
    pages = 1 if span is None else max(0, meters.count_pages(span))
    return PostCounting(endpoint, span, queries, pages, plan.policy.compute_fee(endpoint))


def check_counting(plan: Plan, counting: PostCounting, done: CampaignProgress) -> None:
    """Check that the budget of a campaign pays for counting its posts.

    Raises:
        SettingsError: it does not, or its span of time has not begun.
    """
    span, caps = counting.span, plan.caps
    if span is not None and span.begin >= span.end:
        raise SettingsError(
            "Nothing was counted: the span of time of the capture has not begun. Quote without --counts."
        )
    if caps.money is not None and counting.price > (left := max(0, caps.money - done.money)):
        costs, rest, budget = (f"${mills / MILLS_PER_DOLLAR:.3f}" for mills in (counting.price, left, caps.money))
        raise SettingsError(
            f"Nothing was counted: it may cost {costs}, and {rest} of max_money = {budget} are left. Raise max_money, "
            "or quote without --counts."
        )
    if caps.requests is not None and counting.requests > (left := max(0, caps.requests - done.requests)):
        raise SettingsError(
            f"Nothing was counted: it may take {pluralize(counting.requests, 'request')}, and {left} of max_requests = "
            f"{caps.requests} are left. Raise max_requests, or quote without --counts."
        )
