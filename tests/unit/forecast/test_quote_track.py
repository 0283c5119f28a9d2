"""Quotes of campaigns that track accounts: against one that is played visit by visit, and against a mock's ledger."""

import io
import json
from collections import deque
from fractions import Fraction
from math import floor

import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from test_quote import NAMES, POST, TIMELINE, USER, policy, shape
from test_track_campaign import crawled, earlier, posts_file, tracking
from x_crawls import rows

from socialcrawl.campaign.cost_outlook import make_campaign_quote, read_knowledge
from socialcrawl.campaign.plan import make_plan
from socialcrawl.forecast.expected import ASSUMED, FULL, STORED, TypicalNeeds, estimate_likely
from socialcrawl.forecast.quote import bound_requests, make_quote
from socialcrawl.forecast.shape import CampaignProgress
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.policy import Rule
from socialcrawl.render.quote import build_object, show
from socialcrawl.storage.queries.statistics import LEAST

PAGE, BEHIND = 40, 7  # posts of a first visit, of a return
MEANS = TypicalNeeds(PAGE, (0.0,), 0.0, 1.0, answer=0.0, returned=BEHIND)
SPEED = 2  # visits a second


def played(steps, seeds, p, rest, money=None):
    """(requests, posts, users, steps) of a campaign that asks an account every half second, each n-th step going back.

    Step i goes back where floor(p (i + 1)) > floor(p i), if somebody was left alone for `rest` seconds; there is always
    somebody new. Everybody is looked up by name once. It ends before the step that `money` may not pay.
    """
    waiting = deque(Fraction(i, SPEED) for i in range(seeds))
    requests = posts = users = cost = 0
    now, due = Fraction(seeds, SPEED), Fraction(0)
    for done in range(steps):
        rested = bool(waiting) and waiting[0] + rest <= now
        due = due + p if rested else Fraction(0)
        back = rested and due >= 1
        due -= back
        dearest = 100 * POST + (0 if back else USER)
        if money is not None and cost + dearest > money:
            return requests, posts, users, done
        if back:
            waiting.popleft()
        waiting.append(now)
        requests, posts, users = requests + (1 if back else 2), posts + (BEHIND if back else PAGE), users + (not back)
        cost = posts * POST + users * USER
        now += Fraction(1, SPEED)
    return requests, posts, users, steps


def a_track(steps, seeds, p, rest, **more):
    rules = policy(Rule(SPEED * 100, 100.0))
    return shape(policy=rules, queries=0, usernames=seeds, steps=steps, back=float(p), rest=float(rest), **more)


COURSES = st.tuples(
    st.integers(1, 300),
    st.integers(1, 30),
    st.fractions(0, 1, max_denominator=10).filter(lambda p: p < 1),
    st.integers(0, 120),
)


@given(COURSES)
@settings(deadline=None, max_examples=many(60))
def test_a_share_of_the_steps_goes_back_once_somebody_is_rested_and_brings_only_what_is_new(course):
    seeds = course[1]
    requests, posts, users, _ = played(*course)
    lines, whole, reached = estimate_likely(a_track(*course), MEANS)
    assert reached is None
    asked = lines[TIMELINE].requests + lines[NAMES].requests - seeds - 1  # the seeds, and one look-up for all of them
    # The play rounds: a step more or less goes back, and the window of a second holds whole visits.
    assert asked == pytest.approx(requests, abs=2)
    assert whole.posts - seeds * PAGE == pytest.approx(posts, abs=2 * (PAGE - BEHIND))
    assert whole.users - seeds == pytest.approx(users, abs=2)
    assert whole.money == pytest.approx(whole.posts * POST + whole.users * USER)


@given(COURSES, st.integers(0, 3_000_000))
@settings(deadline=None, max_examples=many(60))
def test_a_budget_ends_it_at_the_step_at_which_it_would_end_in_the_play(course, more):
    steps, seeds, _, _ = course
    begun = seeds * (PAGE * POST + USER)
    money = begun + 100 * POST + USER + more
    *_, done = played(*course, money=money - begun)
    reached = estimate_likely(a_track(*course, caps=Caps(money=money)), MEANS)[2]
    if reached is None:
        assert done >= steps - 3
    else:
        assert (reached.budget, reached.phase) == ("max_money", "steps")
        # What a first visit more or less costs pays for a few returns.
        assert floor(reached.turns) == pytest.approx(done, abs=8)


def test_steps_before_and_after_somebody_is_rested_count_together_up_to_the_budget():
    course = 1_000, 10, Fraction(1, 2), 60  # 110 first visits, then every other step goes back
    begun = 10 * (PAGE * POST + USER)
    dearest = 100 * POST - PAGE * POST  # what the last request might have brought beyond the mean
    money = 110 * (PAGE * POST + USER) + 200 * ((PAGE + BEHIND) * POST + USER) // 2 + dearest
    *_, done = played(*course, money=money)
    reached = estimate_likely(a_track(*course, caps=Caps(money=begun + money)), MEANS)[2]
    assert (reached.budget, reached.phase) == ("max_money", "steps")
    assert reached.turns == pytest.approx(310, abs=3)
    assert done == pytest.approx(310, abs=3)


@pytest.mark.parametrize("ago", [0, 30, 60, 61, 10_000])
def test_what_was_done_already_counts_as_time_in_which_accounts_have_rested(ago):
    s = a_track(1_000, 10, Fraction(7, 10), 60)
    was = CampaignProgress(looked_up=10, asked=10, seeds=10, requests=11, began=1_000.0)
    found = make_quote(s, MEANS, was, 1_000.0 + ago)
    assert found.alone == max(0, SPEED * (60 - ago))
    left = 1_000 - found.alone
    assert found.likely.posts == pytest.approx(found.alone * PAGE + left * (0.3 * PAGE + 0.7 * BEHIND))
    half = make_quote(s, MEANS, CampaignProgress(looked_up=10, asked=510, seeds=10, steps=500, began=1_000.0), 2_000.0)
    assert half.likely.posts == pytest.approx(500 * (0.3 * PAGE + 0.7 * BEHIND))


def test_the_dearest_is_as_if_nobody_were_gone_back_to():
    plain, back = (a_track(500, 5, p, 0, caps=Caps(money=20_000_000)) for p in (0, 0.7))
    assert bound_requests(plain) == bound_requests(back)
    assert make_quote(plain, MEANS).soonest == make_quote(back, MEANS).soonest
    assert make_quote(plain, MEANS).soonest is not None
    assert make_quote(back, MEANS).likely.money < 0.5 * make_quote(plain, MEANS).likely.money
    assert estimate_likely(plain, FULL)[1].posts >= estimate_likely(back, MEANS)[1].posts


def test_who_never_expands_has_returns_only_and_who_never_goes_back_none():
    never, always = (estimate_likely(a_track(100, 5, p, 3600), MEANS)[0] for p in (0, 1))
    assert (never[TIMELINE].posts, never[NAMES].users) == (105 * PAGE, 105)
    assert (always[TIMELINE].posts, always[NAMES].users) == (5 * PAGE + 100 * BEHIND, 5)


def test_a_return_brings_no_more_than_its_pages_may_hold_and_is_looked_up_as_often_as_others_were():
    often = TypicalNeeds(PAGE, (1.0,), 0.0, returned=5_000.0, return_pages=50.0, return_named=0.25)
    lines, _, _ = estimate_likely(a_track(100, 0, 1, 0, pages_per_user=3), often)
    assert (lines[TIMELINE].requests, lines[TIMELINE].posts) == (300, 30_000)
    assert (lines[NAMES].requests, lines[NAMES].users) == (25, 25)


@pytest.fixture(scope="module")
def visited(tmp_path_factory):
    """A database in which accounts were gone back to after they had posted more."""
    database = tmp_path_factory.mktemp("quote") / "a.db"
    with serve_in_thread(earlier(), limit=100_000, missing=0.1) as mock:
        crawled(mock.url, database, 40)
    with serve_in_thread(posts_file(), limit=100_000, missing=0.1) as mock:
        crawled(mock.url, database, 160, p=0.7)
    return database


def acts(database):
    return dict(rows(database, "select n, act from pick"))


def test_stored_means_of_returns_are_those_of_returns_and_of_first_visits_those_of_first_visits(visited):
    other = tracking("http://127.0.0.1:9", visited, 160).model_copy(update={"name": "another"})
    mean = read_knowledge(make_plan(other))[1]  # of one that has not begun: all answers of the database
    act = acts(visited)
    failed = {n for (n,) in rows(visited, "select n from outcome where missing = 'temporary'")}
    asked = rows(visited, "select n, kind, posts from request where endpoint = '/2/users/:id/tweets' and part > 0")
    back = [n for n, name in act.items() if name == "recrawl" and n not in failed]
    assert len(back) > LEAST
    pages = [(n, posts or 0) for n, kind, posts in asked if kind in ("ok", "missing") and act[n] == "recrawl"]
    assert mean.returned == pytest.approx(sum(posts for _, posts in pages) / len(back))
    assert mean.return_pages == pytest.approx(len(pages) / len(back))
    assert mean.return_named == 0.0
    first = [posts for n, kind, posts in asked if kind == "ok" and act[n] != "recrawl"]
    assert mean.posts_per_page == pytest.approx(sum(first) / len(first))
    assert 0 < mean.returned < 0.5 * mean.posts_per_page
    assert {mean.explain_basis(name) for name in ("returned", "return_pages", "return_named", "posts_per_page")} == {
        STORED
    }


def test_with_stored_means_the_probable_numbers_are_near_those_of_the_steps_that_were_done(visited):
    settings = tracking("http://127.0.0.1:9", visited, 160, p=0.7)
    act = acts(visited)
    steps = [n for n, name in act.items() if name in ("expand", "recrawl")]
    share = sum(act[n] == "recrawl" for n in steps) / len(steps)
    twin = settings.model_copy(update={"name": "twin", "track": settings.track.model_copy(update={"p": share})})
    found = make_campaign_quote(make_plan(twin))
    kinds = "kind in ('ok', 'missing')"
    requests, posts = rows(visited, f"select count(*), sum(posts) from request where {kinds}")[0]
    assert found.alone == 0
    assert found.likely.requests == pytest.approx(requests, rel=0.1)
    assert found.likely.posts == pytest.approx(posts, rel=0.1)
    collected = make_campaign_quote(
        make_plan(twin.model_copy(update={"track": twin.track.model_copy(update={"p": 0.0})}))
    )
    assert collected.likely.posts > 2 * posts


def test_what_was_done_of_returns_is_not_quoted_again(visited):
    meant = make_plan(tracking("http://127.0.0.1:9", visited, 160, p=0.7))
    assert make_campaign_quote(meant).done.steps == 160
    assert make_campaign_quote(meant).lines == ()
    more = make_campaign_quote(make_plan(tracking("http://127.0.0.1:9", visited, 200, p=0.7)))
    mean = more.typical
    first = (1 - mean.missing) * mean.estimate_pages(32) * mean.posts_per_page
    assert more.likely.posts == pytest.approx(40 * (0.3 * first + 0.7 * mean.returned))


def shown(meant, found):
    by = Console(file=io.StringIO(), width=80, markup=False, emoji=False, highlight=False)
    show(by, meant, found)
    assert max(map(len, by.file.getvalue().splitlines())) <= 80
    return " ".join(by.file.getvalue().split())


def test_it_is_said_what_returns_rest_on_and_what_is_assumed(tmp_path, visited):
    def told(database, steps=3_000, **track):
        meant = make_plan(tracking("http://127.0.0.1:9", database, steps, **track))
        return shown(meant, make_campaign_quote(meant)), json.loads(
            json.dumps(build_object(meant, make_campaign_quote(meant)))
        )

    new = tmp_path / "new.db"
    text, whole = told(new, p=0.7, window="7d", rest="1d")
    assert "steps that revisit an account, once one is rested: 70% (p under [track])" in text
    assert "new posts per revisit: 10.0 (assumed)" in text
    assert "always a new account to visit" in text
    assert "all steps are first visits: until then no account is rested (rest = 1d)" in text
    assert "first visits bring as much as without window = 7d, which can only reduce it (assumed)" in text
    assert whole["means"]["back"] == {"value": 0.7, "rests_on": "said"}
    assert whole["means"]["returned"] == {"value": 10.0, "rests_on": ASSUMED}
    assert whole["first_visits_before_rest"] == 3_000
    text, whole = told(visited, p=0.7)
    assert "(from the database)" in text.split("new posts per revisit:")[1][:30]
    assert "window" not in text.split("The probable estimate uses")[1]
    assert "no account is rested" not in text
    text, whole = told(new, p=0.0)
    assert "revisit" not in text
    assert "back" not in whole["means"]
