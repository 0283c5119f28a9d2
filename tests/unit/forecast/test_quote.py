"""The pure part of quotes, against a campaign that is played request by request in a few lines."""

from math import ceil, floor, inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.engine.model import Answer, Credential, Grant, Reply, Request
from socialcrawl.forecast.expected import ASSUMED, COUNTED, FULL, TOKENS, ReachedBudget, TypicalNeeds, estimate_likely
from socialcrawl.forecast.quote import bound_requests, bound_total, make_quote
from socialcrawl.forecast.shape import (
    Amount,
    CampaignParameters,
    CampaignProgress,
    EndpointRoles,
    compute_pace,
    count_allowed,
    count_bursts,
    count_windows,
)
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.ratelimit.policy import Endpoint, Policy, Rule

SEARCH, NAMES, IDS, TIMELINE = "search", "by name", "by id", "timeline"
POST, USER = 500, 1_000  # mills
WEEK = 604_800.0
OF_A_USER = (Rule(90, 900.0),)


def policy(*rules, of_users=OF_A_USER, **prices):
    """X in small: pages of 100 posts, look-ups of 100 users."""
    app = rules or (Rule(300, 900.0),)
    kinds = {SEARCH: "post", NAMES: "user", IDS: "user", TIMELINE: "post"}
    endpoints = {name: Endpoint(app, of_users, 100, returns) for name, returns in kinds.items()}
    return Policy("x", "", "2026-11-01", endpoints, {"post": 0.005, "user": 0.01} | prices)


def shape(**more):
    given = {"policy": policy(), "roles": EndpointRoles(SEARCH, NAMES, IDS, TIMELINE), "queries": 1, "steps": 10}
    return CampaignParameters(**given | more)


class BudgetReachedError(Exception):
    pass


class Played:
    """A campaign in its order, every request on its own; `draw(what, most)` is what a server brings of `most`."""

    def __init__(self, s, draw, requests=None):
        self.shape, self.draw, self.requests = s, draw, requests
        self.used = {name: np.zeros(4) for name in (SEARCH, NAMES, IDS, TIMELINE)}  # requests, posts, users, mills
        self.to_search, self.to_name, self.to_step = s.queries, s.usernames, s.steps
        self.to_id = self.to_ask = self.found = self.gone = self.looked_up = 0
        self.turns = {"searches": 0, "look-ups": 0, "seeds": 0, "steps": 0}

    def play(self):
        """Go on to the end, or to the end of a budget: the phase in which that is, or None."""
        turns = {"searches": self.search, "look-ups": self.look_up, "seeds": self.seed, "steps": self.step}
        for phase, turn in turns.items():
            try:
                while turn():
                    self.turns[phase] += 1
            except BudgetReachedError:
                return phase
        return None

    def send(self, endpoint, posts, users, dearest):
        """One request that brings so much, and could have brought `dearest` (posts, users)."""
        caps, (requests, read, _, money) = self.shape.caps, sum(self.used.values())
        asked = (
            (requests + 1, self.requests),
            (requests + 1, caps.requests),
            (read + dearest[0], caps.posts),
            (money + dearest[0] * POST + dearest[1] * USER, caps.money),
        )
        if any(cap is not None and amount > cap for amount, cap in asked):
            raise BudgetReachedError
        self.used[endpoint] += (1, posts, users, posts * POST + users * USER)

    def search(self):
        if not self.to_search:
            return False
        s, authors = self.shape, 0
        for _ in range(s.search_pages):
            posts = self.draw("found", 100)
            users = self.draw("authors", posts)
            self.send(SEARCH, posts, users if s.expanded else 0, (100, 100 if s.expanded else 0))
            authors += users
        more = authors if s.most_found is None else min(authors, s.most_found - self.found)
        self.to_search, self.found = self.to_search - 1, self.found + more
        self.to_id, self.to_ask = (0, self.found) if s.expanded else (self.found, 0)
        return True

    def look_up(self):
        asked = min(100, self.to_name or self.to_id)
        if not asked:
            return False
        here = self.draw("here", asked)
        self.send(NAMES if self.to_name else IDS, 0, here, (0, asked))
        if self.to_name:
            self.to_name -= asked
        else:
            self.to_id -= asked
        self.to_ask, self.gone, self.looked_up = self.to_ask + here, self.gone + asked - here, self.looked_up + asked
        return True

    def seed(self):
        if not self.to_ask:
            return False
        self.ask()
        self.to_ask -= 1
        return True

    def step(self):
        if not self.to_step:
            return False
        self.ask(named=self.draw("named", 1) == 1)
        self.to_step -= 1
        return True

    def ask(self, *, named=False):
        if self.turns["seeds"] + self.turns["steps"] == self.shape.max_nodes:
            raise BudgetReachedError
        if named:
            self.send(NAMES, 0, self.draw("here", 1), (0, 1))
        for _ in range(max(1, self.draw("pages", self.shape.pages_per_user))):
            self.send(TIMELINE, self.draw("posts", 100), 0, (100, 0))

    def done(self):
        requests, posts, _, money = map(int, sum(self.used.values()))
        seeds, steps = self.turns["seeds"], self.turns["steps"]
        spent = {"requests": requests, "posts": posts, "money": money}
        begun = {"queries": self.turns["searches"], "found": self.found, "looked_up": self.looked_up, "gone": self.gone}
        return CampaignProgress(**spent, **begun, asked=seeds + steps, seeds=seeds, steps=steps)


def everything(what, most):
    """A server that brings all it may."""
    return most


def columns(amount):
    return [amount.requests, amount.posts, amount.users, amount.money]


CAPS = st.builds(Caps, *(st.none() | st.integers(0, most) for most in (400, 40_000, 30_000_000)))
SHAPES = st.builds(
    shape,
    queries=st.integers(0, 3),
    search_pages=st.integers(1, 3),
    expanded=st.booleans(),
    usernames=st.integers(0, 230),
    most_found=st.none() | st.integers(1, 250),
    pages_per_user=st.integers(1, 4),
    steps=st.integers(1, 40),
    max_nodes=st.none() | st.integers(1, 300),
    caps=CAPS,
)


@given(SHAPES, st.integers(0, 2**32), st.integers(0, 500))
@settings(deadline=None)
def test_nobody_who_answers_brings_more_than_at_most_before_or_after_an_interruption(s, seed, first):
    rng = np.random.default_rng(seed)
    lavish = rng.random()

    def draw(what, most):
        return most if rng.random() < lavish else int(rng.integers(0, most, endpoint=True))

    played, was = Played(s, draw, first), CampaignProgress()
    for _ in range(2):
        lines = bound_requests(s, was)
        before = {name: used.copy() for name, used in played.used.items()}
        played.play()
        more = {name: used - before[name] for name, used in played.used.items()}
        for name, used in more.items():
            assert (used <= columns(lines.get(name, Amount()))).all(), name
        assert (sum(more.values()) <= columns(bound_total(s, lines, was))).all()
        was, played.requests = played.done(), None  # and now to its end


@given(SHAPES)
@settings(deadline=None)
def test_at_most_is_what_it_takes_where_all_there_is_comes_and_no_budget_ends_it(s):
    s = shape(**{name: getattr(s, name) for name in CampaignParameters.__slots__} | {"caps": Caps(), "max_nodes": None})
    played = Played(s, everything)
    assert played.play() is None
    most = bound_requests(s)
    # Whom the names belong to may be known by then; they are looked up by one or the other, not by both.
    for name in (SEARCH, NAMES, TIMELINE):
        assert columns(most.get(name, Amount())) == played.used[name].tolist()
    both = sum(played.used.values())
    assert columns(bound_total(s, most))[1:] == both.tolist()[1:]
    assert both[0] <= bound_total(s, most).requests <= both[0] + ceil(s.usernames / 100) + 1


FIXED = st.fixed_dictionaries(
    {
        "found": st.integers(0, 100),
        "named": st.integers(0, 1),
        "posts": st.integers(0, 100),
        "pages": st.integers(1, 4),
    }
)


@given(SHAPES, FIXED)
@settings(deadline=None)
def test_where_every_answer_is_the_mean_one_the_probable_numbers_are_what_it_takes(s, means):
    """All accounts alike, all posts by new authors, nobody gone: no chance is left, and the budget ends it in the same
    turn."""
    one_page = {"search_pages": 1, "pages_per_user": means["pages"]}
    s = shape(**{name: getattr(s, name) for name in CampaignParameters.__slots__} | one_page)
    played = Played(s, means.get)
    phase = played.play()
    typical = TypicalNeeds(means["posts"], (1.0,), 0.0, means["named"], 1.0, 0.0, (means["found"],) * s.queries)
    lines, whole, reached = estimate_likely(s, typical)
    assert (reached and reached.phase) == phase
    if phase is None:
        assert {name: columns(used) for name, used in lines.items()} == {
            name: used.tolist() for name, used in played.used.items() if used.any()
        }
        assert columns(whole) == sum(played.used.values()).tolist()
    elif phase in ("seeds", "steps"):
        assert floor(reached.turns + 1e-9) == played.turns[phase]


def test_the_budget_that_is_reached_first_is_named_with_its_place():
    def first(typical=FULL, **more):
        return estimate_likely(shape(pages_per_user=1, usernames=3, queries=0, **more), typical)[2]

    assert first() is None
    assert first(caps=Caps(money=3 * USER + 8 * 50_000 + 5 * USER)) == ReachedBudget("max_money", "steps", 5.0)
    assert first(caps=Caps(posts=250)) == ReachedBudget("max_posts", "seeds", 2.5)
    assert first(caps=Caps(requests=2)) == ReachedBudget("max_requests", "seeds", 1.0)
    assert first(max_nodes=5) == ReachedBudget("max_nodes", "steps", 2.0)
    slow = TypicalNeeds(answer=3.0)
    assert first(slow, caps=Caps(seconds=3.0 * 5)).budget == "max_time"
    assert first(slow, caps=Caps(seconds=3.0 * 5), flight=16) is None
    assert first(policy=policy(of_users=()), kinds=("user",)) == ReachedBudget(TOKENS, "look-ups", 0.0)


def test_a_week_at_300_in_15_minutes_is_201_600_requests():
    one = shape(policy=policy(Rule(300, 900.0)))
    assert count_allowed(one, TIMELINE, WEEK) == 201_600
    assert make_quote(shape(caps=Caps(seconds=WEEK)), TypicalNeeds()).allowed == 201_600
    assert make_quote(shape(), TypicalNeeds()).allowed is None
    both = shape(kinds=("app", "app", "user"), policy=policy(Rule(300, 900.0), Rule(24, 86_400.0)))
    assert count_allowed(both, TIMELINE, WEEK) == 2 * 7 * 24 + 7 * 96 * 90
    assert compute_pace(both, TIMELINE) == pytest.approx(2 * 24 / 86_400 + 90 / 900)
    assert count_allowed(shape(policy=policy(of_users=()), kinds=("user",)), TIMELINE, WEEK) == 0


RULES = st.lists(
    st.builds(
        Rule,
        st.integers(1, 9),
        st.sampled_from([0.5, 2.0, 7.0, 10.0]),
        st.sampled_from(["fixed", "sliding", "aligned"]),
    ),
    min_size=1,
    max_size=3,
)


@given(RULES, st.integers(1, 3), st.floats(0.1, 60.0))
@settings(deadline=None)
def test_the_windows_never_let_more_leave_in_a_time_than_the_quote_says(rules, credentials, seconds):
    s = shape(policy=policy(*rules), kinds=("app",) * credentials)
    planner = WindowPlanner(s.policy, [Credential(f"t{i}") for i in range(credentials)], Caps())
    now, sent, begin = 1_000.0, 0, 1_000.0
    while now < begin + seconds:
        answer = planner.take(Request((sent, 1), TIMELINE, {}, 100), now)
        if isinstance(answer, Grant):
            planner.settle(answer, Reply("ok", now, Answer(), date=now), now)
            sent += 1
        else:
            now = answer.until
    most = count_bursts(s, TIMELINE, seconds)
    assert sent <= most
    if len(rules) == 1 and rules[0].kind != "aligned":
        assert sent == most  # and they use it to the full
        assert count_allowed(s, TIMELINE, seconds) <= most
        assert count_windows(s, TIMELINE, sent) == ceil(seconds / rules[0].d)


def test_time_and_windows_are_those_of_all_credentials_together():
    s = shape(queries=0, usernames=50, steps=1_000, kinds=("app", "user"), policy=policy(Rule(300, 900.0)))
    most = bound_requests(s)
    assert most[TIMELINE].requests == 1_050
    assert most[TIMELINE].seconds == pytest.approx(1_050 / (300 + 90) * 900)
    assert [count_windows(s, TIMELINE, n) for n in (0, 1, 390, 391, 1_050, inf)] == [0, 1, 1, 2, 3, inf]
    assert bound_total(s, most).seconds == pytest.approx(sum(line.seconds for line in most.values()))
    lines, whole, _ = estimate_likely(s, TypicalNeeds(named=0.5, missing=0.0, answer=0.0))
    in_turn = lines[TIMELINE].seconds + 1 / 390 * 900  # the look-up of the seeds; that by name runs beside the steps
    assert whole.seconds == pytest.approx(in_turn)
    assert estimate_likely(s, TypicalNeeds(answer=10.0))[1].seconds == pytest.approx(
        estimate_likely(s, TypicalNeeds())[1].requests * 10.0
    )


def test_a_time_cuts_the_numbers_and_what_is_left_of_it_counts():
    s = shape(queries=0, usernames=1, steps=10_000, caps=Caps(seconds=3_600.0))
    assert bound_requests(s)[TIMELINE].requests == 4 * 300
    assert bound_requests(s, CampaignProgress(began=5_000.0), 5_000.0 + 2_700.0)[TIMELINE].requests == 300
    assert bound_requests(s, CampaignProgress(began=5_000.0), 9_000.0)[TIMELINE] == Amount()
    assert bound_total(s, bound_requests(s)).money == 1_200 * 50_000 + 1_200 * USER + USER


def test_without_an_end_there_is_no_bound_but_that_of_the_budget():
    endless = shape(steps=None)
    assert bound_total(endless, bound_requests(endless)).money == inf
    assert columns(estimate_likely(endless, TypicalNeeds(named=0.2))[1]) == [inf] * 4
    for caps, money in (
        (Caps(money=70_000), 70_000),
        (Caps(posts=1_000), inf),  # profiles that are looked up have no bound
        (Caps(posts=1_000, requests=20), 1_000 * POST + (100 + 20) * USER),
        (Caps(requests=20), 2_000 * POST + (100 + 20) * USER),
    ):
        s = shape(steps=None, caps=caps)
        assert bound_total(s, bound_requests(s)).money == money
    nodes = shape(steps=None, max_nodes=7, queries=0, usernames=3)
    assert bound_total(nodes, bound_requests(nodes)).money == 7 * 50_000 + (3 + 7) * USER
    free = shape(steps=None, policy=policy(post=0.0, user=0.0))
    assert bound_total(free, bound_requests(free)).money == 0


def test_money_bounds_what_is_billed_and_not_how_often_is_asked():
    s = shape(queries=0, usernames=20, steps=100, caps=Caps(money=205_300))
    whole = bound_total(s, bound_requests(s))
    assert columns(whole) == [1 + 100 + 120, 410, 120, 205_300]
    endpoints = {**policy().endpoints, TIMELINE: Endpoint((Rule(1, 1.0),), (), 100, "post", 0.002)}
    fee = Policy("x", "", "", endpoints, {"post": 0.005, "user": 0.01})
    s = shape(queries=0, usernames=1, steps=1, policy=fee)
    assert bound_total(s, bound_requests(s)).money == 200 * POST + 2 * USER + 2 * 200


@given(st.lists(st.integers(1, 9), min_size=1, max_size=40), st.integers(1, 9), st.integers(1, 9))
def test_the_mean_number_of_pages_follows_from_the_share_that_has_another(pages, read, wanted):
    """Accounts of so many pages, of which `read` were asked for: exact for any number up to that."""
    shares = []
    for page in range(1, read + 1):
        here = [count for count in pages if count >= page]
        if here:
            shares.append(sum(count > page for count in here) / len(here))
    wanted = min(wanted, read)
    mean = sum(min(count, wanted) for count in pages) / len(pages)
    assert TypicalNeeds(more=tuple(shares)).estimate_pages(wanted) == pytest.approx(mean)


def test_further_pages_are_as_the_last_one_that_is_known():
    assert TypicalNeeds(more=(0.5,)).estimate_pages(4) == 1 + 0.5 + 0.25 + 0.125
    assert TypicalNeeds(more=(1.0, 0.0)).estimate_pages(32) == 2.0


def test_who_is_gone_costs_a_request_and_brings_nothing():
    s = shape(queries=0, usernames=10, steps=90, pages_per_user=5)
    pages = 1 + 0.5 + 0.25 + 0.125 + 0.0625
    for named in (0.1, 0.2, 0.3):  # in the steps, of those known by name only as many as can be are gone
        lines, whole, _ = estimate_likely(s, TypicalNeeds(40.0, (0.5,), 0.2, named, 0.0, 0.0))
        assert lines[TIMELINE].posts == pytest.approx(0.8 * 100 * pages * 40)
        assert lines[TIMELINE].requests == pytest.approx(0.8 * 100 * pages + 0.2 * 10 + max(0, 0.2 - named) * 90)
        assert lines[NAMES].requests == pytest.approx(1 + named * 90)
        assert lines[NAMES].users == pytest.approx(10 + max(0, named - 0.2) * 90)
        assert whole.money == pytest.approx(whole.posts * POST + whole.users * USER)


def test_counted_posts_decide_how_much_is_searched_and_how_many_are_found():
    s = shape(queries=3, search_pages=3, steps=1)
    counted = TypicalNeeds(authors=0.5, matches=(1_000, 150, 0), rests={"matches": COUNTED})
    lines, _, _ = estimate_likely(s, counted)
    assert (lines[SEARCH].requests, lines[SEARCH].posts) == (3 + 2 + 1, 300 + 150 + 0)
    assert lines[IDS].users == 225
    assert estimate_likely(s, counted, CampaignProgress(queries=1, found=7))[0][IDS].users == 7 + 75
    assert [counted.explain_basis(name) for name in ("matches", "authors")] == [COUNTED, ASSUMED]


def test_whoever_has_begun_with_the_steps_is_done_with_the_rest():
    s = shape(queries=2, usernames=5, steps=100)
    done = CampaignProgress(queries=1, found=20, looked_up=3, asked=31, seeds=15, waiting=2, steps=16)
    assert set(bound_requests(s, done)) == {NAMES, TIMELINE}
    assert bound_requests(s, done)[TIMELINE].requests == 84 + 2
    over = CampaignProgress(queries=2, found=9, looked_up=14, asked=114, seeds=14, steps=100)
    assert bound_requests(s, over) == {}
    assert make_quote(s, TypicalNeeds(), over).reached is None
