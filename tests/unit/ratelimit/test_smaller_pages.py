"""Where a budget or a cap leaves room for a part of a page, a smaller one is asked for; the rest is read later."""

from dataclasses import replace

import pytest
from bluesky_posts import POLICY as BLUESKY
from bluesky_posts import did
from hypothesis import given, settings
from hypothesis import strategies as st
from mastodon_posts import POLICY as MASTODON
from x_crawls import campaign_of, crawl, posts, rows, sequence

from socialcrawl.campaign.policies import load_policy
from socialcrawl.engine.model import Answer, Credential, Grant, Node, Page, Pick, PostRow, Reply, Request, Stop, Who
from socialcrawl.graph.liveness import Activity
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.world import build_world
from socialcrawl.platforms.bluesky.source import BlueskySource
from socialcrawl.platforms.mastodon.source import MastodonSource
from socialcrawl.platforms.x.source import XSource
from socialcrawl.platforms.x.vocabulary import TWEET
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.ratelimit.policy import Endpoint, Policy, Rule

POSTS, USERS, WHOLE = "/posts", "/users", "/whole"
MANY = (Rule(100_000, 900.0),)
POLICY = Policy(
    "x", "", "2026",
    {POSTS: Endpoint(MANY, page=100, smallest=5), USERS: Endpoint(MANY, page=100, returns="user", smallest=1, fee=0.02),
     WHOLE: Endpoint(MANY, page=100)},
    {"post": 0.005, "user": 0.01}, page_parameter="max_results",
)  # fmt: skip
PAGE = {"max_results": "100", "id": "7"}


def planner(cap=None, **caps):
    return WindowPlanner(replace(POLICY, cap=cap), [Credential("main")], Caps(**caps))


def asked(endpoint=POSTS, items=100, n=0):
    return Request((n, 1), endpoint, {**PAGE, "max_results": str(items)}, items, POLICY.compute_most(endpoint, items))


def page(count):
    return Page(posts=[PostRow(str(i), "a", None, "", *[None] * 14) for i in range(count)])


def read(by, request, count, at=100.0):
    """Take a request whose page turns out to have `count` posts, or as many as were asked for; what was granted."""
    grant = by.take(request, at)
    assert isinstance(grant, Grant), grant
    count = min(count, grant.request.items)
    by.settle(grant, Reply("ok", at, page(count), cost=POLICY.compute_price("post", count)), at)
    return grant.request


@pytest.mark.parametrize(
    ("left", "size"), [(1000, 100), (100, 100), (99, 95), (96, 95), (95, 95), (94, 94), (50, 50), (6, 6), (5, 5)]
)
def test_the_largest_page_that_fits_is_asked_for_whose_rest_is_a_page_too(left, size):
    request = read(planner(posts=left), asked(), 100)
    assert (request.key, request.endpoint, request.items) == ((0, 1), POSTS, size)
    assert dict(request.params) == {**PAGE, "max_results": str(size)}
    assert request.most == POLICY.compute_most(POSTS, size)


@pytest.mark.parametrize(("left", "said"), [(4, "a page may hold 5"), (0, "a page may hold 5")])
def test_where_not_even_the_smallest_page_fits_the_budget_is_reached(left, said):
    by = planner(posts=100 + left)
    read(by, asked(), 100)
    stop = by.take(asked(n=1), 100.0)
    assert (stop.kind, "max_posts" in stop.why, said in stop.why) == ("budget", True, True)


def test_a_rest_that_cannot_be_parted_is_asked_for_as_a_whole_or_not_at_all():
    assert isinstance(planner(posts=8).take(asked(items=9), 100.0), Stop)
    assert read(planner(posts=9), asked(items=9), 9).items == 9
    assert read(planner(posts=8), asked(items=10), 9).items == 5


def test_an_endpoint_whose_pages_have_one_size_is_asked_for_no_smaller_one():
    assert "a page may hold 100" in planner(posts=99).take(asked(WHOLE), 100.0).why
    assert planner(posts=0).take(asked(items=0), 100.0).request == asked(items=0), "it brings nothing that counts"
    bare = replace(asked(), params={"id": "7"})
    assert "a page may hold 100" in planner(posts=99).take(bare, 100.0).why


def test_money_and_the_cap_of_a_billing_cycle_make_pages_smaller_too():
    assert read(planner(money=POLICY.compute_price("post", 42) + 499), asked(), 100).items == 42
    assert read(planner(cap=17), asked(), 100).items == 17
    assert read(planner(money=20_000, posts=30, cap=35), asked(), 100).items == 30
    users = read(planner(money=POLICY.compute_fee(USERS) + POLICY.compute_price("user", 3)), asked(USERS), 0)
    assert (users.items, users.most) == (3, POLICY.compute_fee(USERS) + 3 * POLICY.compute_price("user", 1))
    assert isinstance(planner(money=POLICY.compute_fee(USERS)).take(asked(USERS), 100.0), Stop)


NAMED = [f"u{n}" for n in range(100)]


@pytest.mark.parametrize(("cents", "size"), [(1000, 100), (102, 100), (101, 99), (52, 50), (3, 1), (2, None)])
@pytest.mark.parametrize("parameter", ["ids", "usernames"])
def test_a_look_up_names_as_many_accounts_as_the_budget_pays_for(parameter, cents, size):
    named = Request(
        (4, 2), USERS, {parameter: ",".join(NAMED), "user.fields": "id,name"}, 100, POLICY.compute_most(USERS, 100)
    )
    answer = planner(money=1000 * cents).take(named, 100.0)
    if size is None:
        assert "the next request may cost $0.03" in answer.why
        return
    assert answer.request == replace(
        named,
        params={**named.params, parameter: ",".join(NAMED[:size])},
        items=size,
        most=POLICY.compute_most(USERS, size),
    )
    whole = replace(named, endpoint=WHOLE)
    assert planner(posts=99).take(whole, 100.0).kind == "budget", "this endpoint has one size only"


def test_no_page_is_made_smaller_while_something_in_flight_may_give_back_what_it_reserved():
    by = planner(posts=150)
    by.take(asked(WHOLE), 99.0)  # opens the window alone
    by = planner(posts=250)
    read(by, asked(), 100)
    grant = by.take(asked(n=1), 101.0)
    assert (by.budget.posts, by.budget.spent, by.budget.reserved) == (200, (100, 50_000), (100, 50_000))
    assert isinstance(by.take(asked(n=2), 101.0), Stop), "the loop waits for what is in flight"
    by.settle(grant, Reply("ok", 102.0, page(10), cost=5_000), 102.0)
    assert (by.budget.posts, by.budget.spent, by.budget.reserved) == (110, (110, 55_000), (0, 0))
    assert read(by, asked(n=2), 100, 103.0).items == 100


def test_what_was_abandoned_is_spent_and_reserves_nothing():
    by = planner(posts=150)
    grant = by.take(asked(), 100.0)
    by.abandon(grant)
    assert (by.budget.spent, by.budget.reserved, by.budget.in_flight) == ((100, 50_000), (0, 0), 0)
    again = planner(posts=150)
    again.fold([(grant, None)])
    assert (again.budget.spent, again.budget.reserved, again.budget.in_flight) == ((100, 50_000), (0, 0), 0)
    assert read(again, asked(n=1), 100, 5_000.0).items == 50


STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 100), st.sampled_from([10, 40, 100])), max_size=40)


@settings(deadline=None)
@given(STEPS, st.integers(0, 700), st.integers(0, 300_000), st.integers(1, 4))
def test_the_budget_is_never_passed_and_spent_never_falls(steps, most, money, in_flight):
    by = planner(posts=most, money=money)
    flying, before = [], (0, 0)
    for n, (lands, count, items) in enumerate(steps):
        if flying and (lands or len(flying) == in_flight):
            grant = flying.pop(0)
            came = min(count, grant.request.items)
            by.settle(grant, Reply("ok", 100.0 + n, page(came), cost=POLICY.compute_price("post", came)), 100.0 + n)
        elif isinstance(grant := by.take(asked(items=items, n=n), 100.0 + n), Grant):
            flying.append(grant)
        assert by.budget.posts <= most
        assert by.budget.money <= money
        assert by.budget.reserved[0] == sum(grant.request.items for grant in flying)
        assert by.budget.spent >= before
        before = by.budget.spent


def pages_of(talk, *replies):
    """What a talk asks for, page by page, when it is sent these replies."""
    requests = [next(talk), *(talk.send(reply) for reply in replies[:-1])]
    with pytest.raises(StopIteration):
        talk.send(replies[-1])
    return [request for request in requests if "max_results" in request.params or "limit" in request.params]


def came(items, cursor=None, **answer):
    cursor = cursor or f"after {items}"
    return Reply("ok", 5.0, rows=Answer(posts=items, **answer), cursor=cursor, items=items)


ANN = Who("ann@home.example", "ann@home.example")
TALKS = {
    "x": (lambda: XSource(load_policy("x"), TWEET, [], pages_per_user=2), Who("42", "ann"), 100, ()),
    "bluesky": (
        lambda: BlueskySource(BLUESKY, [], pages_per_user=2, opt_outs=False),
        Who(did("ann"), "ann.test"),
        100,
        (),
    ),
    "mastodon": (
        lambda: MastodonSource(MASTODON, [], "home.example", pages_per_user=2),
        ANN,
        40,
        (came(1, "11", found={3: ANN.id}),),
    ),
}


@pytest.mark.parametrize("platform", TALKS)
def test_a_talk_that_was_given_a_smaller_page_asks_for_the_rest_and_reads_as_much_in_the_end(platform):
    source, who, size, first = TALKS[platform]
    pick = Pick(7, Node(3), "expand")
    (talk,) = source().start_conversations((pick,), {pick.node: who})
    asked = pages_of(talk, *first, came(size - 10), came(size), came(7), came(3))
    assert [request.items for request in asked] == [size, size, 10, 3]
    assert [request.key[1] for request in asked] == [1, 2, 3, 4]
    names = {"max_results", "limit"}
    assert [next(request.params[name] for name in names & request.params.keys()) for request in asked] == [
        str(size), str(size), "10", "3",
    ]  # fmt: skip


def looks(act, *replies, count=5):
    """What a talk about accounts looks up, request by request, when it is sent these replies; and what it finds."""
    source = XSource(load_policy("x"), TWEET, [], activity=Activity(None))
    batch = tuple(Pick(n, Node(n), act) for n in range(count))
    (talk,) = source.start_conversations(batch, {pick.node: Who(str(pick.n), None) for pick in batch})
    requests = [next(talk), *(talk.send(reply) for reply in replies[:-1])]
    with pytest.raises(StopIteration) as end:
        talk.send(replies[-1])
    assert [request.key for request in requests] == [(0, part) for part in range(len(replies))]
    assert all(request.items == request.params["ids"].count(",") + 1 for request in requests)
    found = {n: outcome.missing for n, outcome in end.value.value.items()}
    return [request.params["ids"] for request in requests], found


def told(items, found="", kind="ok", missing=""):
    there, gone = {Node(int(n)): n for n in found}, dict.fromkeys((Node(int(n)) for n in missing), "suspended")
    return Reply(kind, 5.0, rows=Answer(found=there, missing=gone), items=items)


ACTS = pytest.mark.parametrize("act", ["resolve", "probe"])


@ACTS
def test_a_look_up_that_was_granted_for_some_goes_on_with_the_others(act):
    asked, found = looks(act, told(2, "0", missing="1"), told(1, "2"), told(2, "34"))
    assert asked == ["0,1,2,3,4", "2,3,4", "3,4"]
    assert found == {0: None, 1: "suspended", 2: None, 3: None, 4: None}


@ACTS
def test_whoever_is_not_answered_about_is_asked_for_once_more_and_no_more_than_that(act):
    asked, found = looks(act, told(2, "0"), told(2, "2"), told(2, "34"))
    assert asked == ["0,1,2,3,4", "1,2,3,4", "3,4"]
    assert found == {0: None, 1: "unknown", 2: None, 3: None, 4: None}


@ACTS
def test_a_look_up_of_some_that_failed_puts_off_these_and_not_the_others(act):
    asked, found = looks(act, told(3, kind="broken"), told(2, "34"))
    assert asked == ["0,1,2,3,4", "3,4"]
    assert found == {0: "temporary", 1: "temporary", 2: "temporary", 3: None, 4: None}


def test_whom_an_answer_tells_of_was_asked_for_wherever_it_stood_in_the_list():
    """After a restart the list may have one more account, whose id was learned meanwhile."""
    asked, found = looks("resolve", told(4, "0234"), told(1, "1"))
    assert asked == ["0,1,2,3,4", "1"]
    assert set(found.values()) == {None}


def test_what_the_database_tells_of_some_is_about_all_that_were_asked_for():
    asked, found = looks("resolve", told(0, "13", kind="held"), told(1, "0"), told(2, "24"))
    assert asked == ["0,1,2,3,4", "0,2,4", "2,4"]
    assert set(found.values()) == {None}
    asked, found = looks("probe", told(0, "13", kind="held"), told(3, "012"), told(2, "34"))
    assert asked == ["0,1,2,3,4", "0,1,2,3,4", "3,4"]
    assert set(found.values()) == {None}


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), limit=100_000) as found:
        yield found


def outcomes(database):
    return rows(database, "select n, value, posts, occurrences, missing, mark from outcome order by n")


@pytest.mark.parametrize("name", ["max_posts", "max_money"])
def test_a_budget_is_used_up_to_less_than_a_smallest_page_and_raising_it_changes_nothing(mock, tmp_path, name):
    sections = {"source": {"pages_per_user": 2}, "crawl": {"steps": 25}}
    _, planner = crawl(campaign_of(mock.url, tmp_path / "whole.db", **sections))
    unit, spent = (
        (1, planner.budget.posts) if name == "max_posts" else (POLICY.compute_price("post", 1), planner.budget.money)
    )
    database = tmp_path / "a.db"
    for part in (0.2, 0.33, 0.5, 0.71, 0.9, 1.0):
        cap = int(part * spent / unit) if part < 1.0 else 100_000
        budget = {name: cap if name == "max_posts" else cap * 0.005}
        reason, planner = crawl(campaign_of(mock.url, database, budget=budget, **sections))
        used = (planner.budget.posts if name == "max_posts" else planner.budget.money) / unit
        assert used <= cap
        assert (reason.kind == "budget") == (part < 1.0)
        assert cap - used < 20 or part == 1.0, "twice the smallest page of a search"
    assert reason.kind == "done"
    assert sequence(database) == sequence(tmp_path / "whole.db")
    assert outcomes(database) == outcomes(tmp_path / "whole.db")


def test_money_is_used_up_by_look_ups_too_and_raising_it_changes_nothing(mock, tmp_path):
    """Seeds are looked up by name, a hundred at once; an account costs a cent, and nothing if it is not there."""
    names = [*build_world(posts()).accounts.usernames[:110], "nobody"]
    sections = {"seeds": {"usernames": names, "search": False}, "crawl": {"steps": 3}}
    crawl(campaign_of(mock.url, tmp_path / "whole.db", **sections))
    database = tmp_path / "a.db"
    for cents in (1, 2, 40, 103, 109.5):
        reason, planner = crawl(campaign_of(mock.url, database, budget={"max_money": cents / 100}, **sections))
        assert reason.kind == "budget"
        assert 1000 * (cents - 1) < planner.budget.money <= 1000 * cents, "less than an account costs is left"
        assert rows(database, "select sum(new_users), sum(new_posts) from request") == [(int(cents), 0)]
    assert crawl(campaign_of(mock.url, database, **sections))[0].kind == "done"
    assert sequence(database) == sequence(tmp_path / "whole.db")
    assert outcomes(database) == outcomes(tmp_path / "whole.db")
