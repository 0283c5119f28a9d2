"""What every kind of reply means for the requests after it, and what a budget lets through."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.limits.budget import Caps
from socialcrawl.limits.planner import LONGEST, PATIENCE, TRIES, WindowPlanner
from socialcrawl.limits.policy import Endpoint, Policy, steps_in
from socialcrawl.limits.quote import ceiling
from socialcrawl.model import Answer, Grant, Limit, Page, PostRow, Reply, Request, Stop, Wait

POSTS, USERS = "/posts", "/users"
POLICY = Policy(
    "x", "", "2026", {POSTS: Endpoint(5, 900.0, 10, "post"), USERS: Endpoint(5, 900.0, 10, "user")},
    {"post": 0.005, "user": 0.01},
)  # fmt: skip
DATE = 50_000.0  # the server's clock, which is not ours


def planner(caps=None, credentials=("main",), pause=1.0):
    return WindowPlanner(POLICY, credentials, caps or Caps(), pause)


def asked(n=0, endpoint=POSTS, items=10):
    return Request((n, 0), endpoint, {}, items, POLICY.most(endpoint, items))


def page(posts):
    return Page(posts=[PostRow(str(i), "a", None, "", *[None] * 14) for i in range(posts)])


def answered(by, request, kind, at, **more):
    """Take and settle one request: the grant's credential, and what settle said."""
    grant = by.take(request, at)
    assert isinstance(grant, Grant), grant
    return by.settle(grant, Reply(kind, at, why="because", **more), at)


@pytest.mark.parametrize("kind", ["ok", "missing"])
def test_a_good_reply_goes_to_the_talk(kind):
    assert answered(planner(), asked(), kind, 100.0, rows=Answer()) is None


def test_a_used_up_window_is_waited_for_by_the_servers_clock():
    by = planner()
    again = answered(by, asked(), "window", 100.0, date=DATE, limits=[Limit(0, 5, DATE + 300.0)])
    assert again == Wait(401.0, "because")
    assert by.take(asked(), 400.9) == Wait(401.0, "the server asked for a pause")
    assert isinstance(by.take(asked(), 401.0), Grant)


def test_a_used_up_window_of_a_server_that_does_not_tell_its_time_is_waited_for_in_full():
    again = answered(planner(), asked(), "window", 100.0, limits=[Limit(0, 5, DATE + 300.0)])
    assert again == Wait(1000.0, "because")


def test_a_used_up_day_is_waited_for_by_its_own_headers():
    limits = [Limit(3, 5, DATE + 300.0), Limit(0, 100, DATE + 7200.0, daily=True)]
    assert answered(planner(), asked(), "day", 100.0, date=DATE, limits=limits) == Wait(7301.0, "because")


@pytest.mark.parametrize("more", [{}, {"limits": [Limit(0, 9, DATE, daily=True)]}])
def test_a_used_up_day_without_an_instant_is_asked_again_in_a_quarter_of_an_hour(more):
    assert answered(planner(), asked(), "day", 100.0, **more) == Wait(100.0 + LONGEST, "because")


@pytest.mark.parametrize(("kind", "stop"), [("month", "budget"), ("money", "budget"), ("refused", "failed")])
def test_what_asking_again_cannot_mend_stops(kind, stop):
    assert answered(planner(), asked(), kind, 100.0) == Stop(stop, "because")


def test_too_many_without_an_instant_backs_off_twice_as_long_each_time_and_gives_up_at_the_fifth():
    by, now = planner(), 100.0
    for pause in (1.0, 2.0, 4.0, 8.0):
        assert answered(by, asked(), "backoff", now) == Wait(now + pause, "because")
        assert by.take(asked(), now + pause - 0.01) == Wait(now + pause, "the server asked for a pause")
        now += pause
    last = answered(by, asked(), "backoff", now)
    assert isinstance(last, Stop)
    assert (last.kind, last.why) == ("failed", "because (5 times in a row); all is saved, run again later to go on")


def test_no_back_off_is_longer_than_a_quarter_of_an_hour():
    by, now = planner(pause=600.0), 100.0
    assert answered(by, asked(), "backoff", now) == Wait(700.0, "because")
    assert answered(by, asked(), "backoff", 700.0) == Wait(700.0 + LONGEST, "because")


def test_a_request_that_stays_broken_is_told_to_the_talk_and_the_fifth_in_a_row_stops():
    by, now, said = planner(), 100.0, []
    for n in (0, 0, 0, 1, 1):
        said.append(answered(by, asked(n), "broken", now))
        now += 100.0
    assert [type(answer) for answer in said] == [Wait, Wait, type(None), Wait, Stop]
    assert (TRIES, PATIENCE) == (3, 5)


def test_a_good_reply_begins_the_row_anew():
    by, now = planner(), 100.0
    for n in range(20):
        assert answered(by, asked(n), "broken", now) == Wait(now + 1.0, "because")
        assert answered(by, asked(n), "backoff", now + 1.0) == Wait(now + 2.0, "because")
        assert answered(by, asked(n), "ok", now + 2.0) is None
        now += 1000.0


def test_requests_that_fail_together_count_as_one_failure():
    by = planner()
    answered(by, asked(), "ok", 100.0)
    burst = [by.take(asked(n), 101.0) for n in range(1, 4)]
    said = [by.settle(grant, Reply("broken", 102.0, why="because"), 102.0) for grant in burst]
    assert said == [Wait(103.0, "because")] * 3
    assert answered(by, asked(1), "broken", 103.0) == Wait(105.0, "because")


def test_a_429_does_not_count_as_a_broken_answer():
    by, now = planner(), 100.0
    for pause in (1.0, 2.0, 4.0):
        assert answered(by, asked(), "backoff", now) == Wait(now + pause, "because")
        now += pause
    assert answered(by, asked(), "broken", now) == Wait(now + 1.0, "because")


def test_the_credential_that_is_free_first_is_taken():
    by = planner(credentials=("a", "b"))
    first, second = by.take(asked(), 100.0), by.take(asked(), 100.0)
    assert (first.credential, second.credential) == ("a", "b")
    assert by.take(asked(), 100.0) == Wait(100.05, "the first request of the window is in flight")
    for grant in (first, second):
        by.settle(grant, Reply("ok", 101.0), 101.0)
    taken = [by.take(asked(), 101.0).credential for _ in range(8)]
    assert sorted(taken) == ["a"] * 4 + ["b"] * 4
    assert by.take(asked(), 101.0) == Wait(1001.0, "all 5 requests of the window for /posts are used")


def test_a_closed_window_of_one_credential_leaves_the_other_open():
    by = planner(credentials=("a", "b"))
    answered(by, asked(), "window", 100.0, date=DATE, limits=[Limit(0, 5, DATE + 300.0)])
    assert by.take(asked(), 100.0).credential == "b"


def test_endpoints_have_windows_of_their_own():
    by = planner()
    answered(by, asked(), "window", 100.0, date=DATE, limits=[Limit(0, 5, DATE + 300.0)])
    assert isinstance(by.take(asked(endpoint=USERS), 100.0), Grant)


def test_the_limit_of_the_headers_replaces_that_of_the_table():
    by = planner()
    answered(by, asked(), "ok", 100.0, date=DATE, limits=[Limit(1, 2, DATE + 900.0)])
    assert isinstance(by.take(asked(), 100.0), Grant)
    assert by.take(asked(), 100.0) == Wait(1000.0, "all 2 requests of the window for /posts are used")


BUDGETS = [
    (Caps(requests=2), 2, "max_requests = 2 requests is reached (2 were sent)"),
    (Caps(posts=25), 2, "max_posts = 25 posts is reached (20 were read, a page may hold 10)"),
    (Caps(money=14_999), 2, "max_money = $0.15 is reached ($0.10 are spent, the next request may cost $0.05)"),
]


@pytest.mark.parametrize(("caps", "granted", "words"), BUDGETS)
def test_a_budget_stops_before_it_could_be_passed_and_says_so(caps, granted, words):
    by = planner(caps)
    for n in range(granted):
        answered(by, asked(n), "ok", 100.0, rows=page(10), cost=5_000)
    stop = by.take(asked(9), 100.0)
    assert stop == Stop("budget", f"the budget {words}; raise it and run again to go on")


def test_a_request_that_was_never_settled_counts_as_spent():
    by = planner(Caps(money=9_999))
    by.fold([(Grant(asked(), "main", 100.0), None)])
    assert (by.budget.requests, by.budget.posts, by.budget.money) == (1, 10, 5_000)
    assert isinstance(by.take(asked(1), 5_000.0), Stop)


STEPS = st.lists(
    st.tuples(
        st.sampled_from([POSTS, USERS]),
        st.sampled_from(["ok", "ok", "ok", "missing", "window", "broken", "backoff", "lost"]),
        st.integers(0, 10),
        st.floats(0.0, 400.0),
    ),
    max_size=40,
)


def live(by, steps, in_flight=1):
    """What a planner let through: the ledger, with every reply where its grant is. Ends at a Stop."""
    now, ledger, flying = 1_000.0, [], []

    def land():
        place, grant, reply = flying.pop(0)
        reply = replace(reply, at=now)
        ledger[place] = (grant, reply)
        return isinstance(by.settle(grant, reply, now), Stop)

    for n, (endpoint, kind, used, gap) in enumerate(steps):
        now += gap
        while not isinstance(grant := by.take(asked(n, endpoint), now), Grant):
            if flying:
                now += 0.01
                if land():
                    return ledger, now
                continue
            if isinstance(grant, Stop):
                return ledger, now
            now = grant.until
        ledger.append((grant, None))
        if kind != "lost":
            rows, cost = (page(used), POLICY.price("post", used)) if endpoint == POSTS else (None, 1_000 * used)
            good = kind in ("ok", "missing")
            flying.append((len(ledger) - 1, grant, Reply(kind, now, rows if good else None, cost=cost if good else 0)))
        else:
            by.window("main", endpoint).sound()  # its process was killed
        while len(flying) >= in_flight:
            now += 0.25
            if land():
                return ledger, now
    while flying:
        now += 0.25
        land()
    return ledger, now


@settings(deadline=None)
@given(STEPS, st.integers(1, 60), st.integers(0, 300), st.integers(0, 200_000), st.integers(1, 4))
def test_no_budget_is_ever_passed_not_even_by_one_mill(steps, requests, posts, money, in_flight):
    by = planner(Caps(requests, posts, money))
    ledger, _ = live(by, steps, in_flight)
    settled = [(grant, reply) for grant, reply in ledger if reply is not None]
    lost = [grant.request for grant, reply in ledger if reply is None]
    assert len(ledger) <= requests
    assert sum(len(r.rows.posts) for _, r in settled if r.rows) + 10 * sum(q.endpoint == POSTS for q in lost) <= posts
    assert sum(reply.cost for _, reply in settled) + sum(request.most for request in lost) <= money


@settings(deadline=None)
@given(STEPS, st.integers(1, 4), st.integers(40_000, 400_000))
def test_folding_the_ledger_is_living_through_it_except_that_the_next_request_flies_alone(steps, in_flight, money):
    lived = planner(Caps(money=money))
    ledger, now = live(lived, [step for step in steps if step[1] != "lost"], in_flight)
    folded = planner(Caps(money=money))
    folded.fold(ledger)
    assert folded.budget == lived.budget
    for (credential, endpoint), window in folded.windows.items():
        twin = lived.window(credential, endpoint)
        kept = ("k", "d", "used", "end", "flying", "late", "left", "early")
        assert {name: getattr(window, name) for name in kept} == {name: getattr(twin, name) for name in kept}
        assert (window.sounding, window.alone) == (True, False)
        full = window.end is not None and now < window.end and window.used >= window.k
        assert window.when(now) == (window.closed_until if now < window.closed_until else window.end if full else now)


def test_budgets_and_quotes_count_as_the_paper_and_the_price_list_do():
    assert steps_in(3_600.0, Endpoint(15, 900.0)) == 60
    assert POLICY.most(POSTS, 100) == 50_000
    assert ceiling(POLICY, Caps(), posts=100, users=10) == 60_000
    assert ceiling(POLICY, Caps(money=40_000), posts=100, users=10) == 40_000
    assert ceiling(POLICY, Caps(posts=10), posts=None, users=0) == 5_000
    assert ceiling(POLICY, Caps(), posts=None, users=0) is None
    assert POLICY.limited(3, 2.0).endpoints[USERS] == Endpoint(3, 2.0, 10, "user")


@pytest.mark.parametrize("kind", ["window", "day"])
def test_a_reset_that_no_window_can_mean_is_none_and_the_next_run_is_not_bound_by_it(kind):
    by, ledger = planner(), []
    limits = [Limit(0, 5, DATE * 1000, daily=kind == "day")]  # milliseconds
    for n in range(PATIENCE):
        now = 100.0 + 1000.0 * n
        grant = by.take(asked(n), now)
        reply = Reply(kind, now, why="because", date=DATE, limits=limits)
        ledger.append((grant, reply))
        again = by.settle(grant, reply, now)
        assert isinstance(again, Stop if n == PATIENCE - 1 else Wait)
        assert n == PATIENCE - 1 or again.until <= now + LONGEST
    later = planner()
    later.fold(ledger)
    assert isinstance(later.take(asked(9), 100_000.0), Grant)


def test_after_a_429_with_its_reset_a_new_window_begins():
    by = planner()
    for n in range(2):
        assert (
            answered(by, asked(n), "ok", 100.0 + n, rows=Answer(), date=DATE, limits=[Limit(4 - n, 5, DATE + 899)])
            is None
        )
    again = answered(by, asked(2), "window", 103.0, date=DATE + 3, limits=[Limit(0, 5, DATE + 6.0)])
    assert again == Wait(107.0, "because")  # the server ends its window long before the table says
    assert isinstance(by.take(asked(2), 107.0), Grant)
