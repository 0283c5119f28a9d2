"""The most requests that fetching posts by their ids takes, against a budget that is used up request by request."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from socialcrawl.campaign.policies import load_policy
from socialcrawl.engine.model import Request
from socialcrawl.forecast.quote import bound_requests
from socialcrawl.forecast.shape import CampaignParameters, CampaignProgress, EndpointRoles
from socialcrawl.platforms.x.source import BY_ID, BY_NAME, POSTS, SEARCH, TIMELINE
from socialcrawl.ratelimit.budget import Budget, Caps

X = load_policy("x")
POST = 500  # mills
ROLES = EndpointRoles(SEARCH, BY_NAME, BY_ID, TIMELINE, posts=POSTS)


def count_requests(ids, caps, shares):
    """How many requests leave until the ids or the budget are used up; of each group a share of the posts is there."""
    budget, left, sent = Budget(caps), ids, 0
    while left:
        size = min(100, left)
        asked = {"ids": ",".join(map(str, range(size)))}
        request = X.fit_page(
            Request((0, sent), POSTS, asked, size, X.compute_most(POSTS, size)), budget.count_affordable
        )
        if budget.explain_refusal(request, request.items) is not None:
            return sent
        budget.reserve(request, request.items, 0.0)
        came = round(request.items * shares[sent % len(shares)])
        budget.settle(request, request.items, came, POST * came)
        left, sent = left - request.items, sent + 1
    return sent


@given(
    st.integers(1, 900),
    st.one_of(st.none(), st.integers(0, 900)),
    st.one_of(st.none(), st.integers(0, 900)),
    st.lists(st.sampled_from([0.0, 0.3, 0.9, 1.0]), min_size=1, max_size=12),
)
@example(ids=250, posts=120, dollars=None, shares=[1.0, 0.0])
@example(ids=250, posts=None, dollars=101, shares=[1.0, 0.01])
def test_no_more_requests_leave_than_the_quote_says(ids, posts, dollars, shares):
    caps = Caps(posts=posts, money=None if dollars is None else POST * dollars)
    shape = CampaignParameters(policy=X, roles=ROLES, queries=0, steps=0, caps=caps, captures=True)
    most = bound_requests(shape, CampaignProgress(ids=ids)).get(POSTS)
    sent = count_requests(ids, caps, shares)
    assert sent <= (0 if most is None else most.requests)


@pytest.mark.parametrize(("posts", "most"), [(None, 3), (250, 3), (120, 1 + 229), (50, 250)])
def test_groups_are_whole_while_the_budget_has_room_for_a_group(posts, most):
    shape = CampaignParameters(policy=X, roles=ROLES, queries=0, steps=0, caps=Caps(posts=posts), captures=True)
    assert bound_requests(shape, CampaignProgress(ids=250))[POSTS].requests == most
