"""What every kind of reply means for the requests after it, and what a budget lets through."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limit_referees import Summed

from socialcrawl.engine.model import Answer, Credential, Grant, Limit, Page, PostRow, Reply, Request, Stop, Wait
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.ratelimit.policy import Endpoint, Policy, Rule, Tariff, count_steps
from socialcrawl.ratelimit.retry import FEW, JITTER, LONGEST, PROBE, TRIES, Backoff

POSTS, USERS, APPS = "/posts", "/users", "/apps"
FIVE = (Rule(5, 900.0),)
POLICY = Policy(
    "x", "", "2026",
    {POSTS: Endpoint(FIVE, (Rule(2, 900.0),), 10), USERS: Endpoint(FIVE, FIVE, 10, "user"), APPS: Endpoint(FIVE)},
    {"post": 0.005, "user": 0.01},
)  # fmt: skip
DATE = 50_000.0  # the server's clock, which is not ours


def planner(caps=None, credentials=("main",), policy=POLICY, **backoff):
    return WindowPlanner(
        policy, [Credential(*name.split(":")) for name in credentials], caps or Caps(), Backoff(**backoff)
    )


WIDE = POLICY.override_limits(100_000, 900.0)  # windows that no test of pauses fills


def worked(by, at=100.0):
    """Let one request be answered well: from now on the planner is patient."""
    answered(by, asked(999), "ok", at)
    return by


def paused(again, now):
    """The seconds of a Wait that began at `now`."""
    assert isinstance(again, Wait), again
    assert again.why == "because"
    return again.until - now


def asked(n=0, endpoint=POSTS, items=10):
    return Request((n, 0), endpoint, {}, items, POLICY.compute_most(endpoint, items))


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
    assert by.take(asked(), 400.9) == Wait(401.0, "the server requires a pause (/posts)")
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


def test_a_used_up_day_of_which_nothing_is_known_leaves_the_window_as_it_is():
    by = planner(policy=POLICY.override_limits(2, 3600.0))
    answered(by, asked(), "ok", 100.0)
    answered(by, asked(), "day", 100.0)
    assert by.take(asked(), 2_000.0) == Wait(3700.0, "all 2 requests of the window are used (/posts)")


@pytest.mark.parametrize("kind", ["month", "money"])
def test_a_cap_of_the_month_and_no_credits_pause_until_the_next_billing_cycle(kind):
    june = 1_780_358_400.0  # 2026-06-02
    stop = answered(planner(), asked(), kind, june)
    why = "because; the next billing cycle begins on 2026-07-01 (UTC)"
    assert stop == Stop("budget", why, 1_782_864_000.0)
    by = WindowPlanner(POLICY, [Credential("main")], Caps(), cycle_day=3)
    assert answered(by, asked(), kind, 100.0, date=june).until == june + 86_400.0  # the server's clock


@pytest.mark.parametrize("kind", ["refused", "invalid"])
def test_what_asking_again_cannot_mend_stops(kind):
    assert answered(planner(), asked(), kind, 100.0) == Stop("failed", "because")


def pauses(by, kind, count, now=1_000.0, request=asked):
    """The pauses after so many failures, each of a request of its own."""
    found = []
    for n in range(count):
        again = answered(by, request(n), kind, now)
        found.append(paused(again, now))
        assert isinstance(by.take(asked(), again.until - 0.001), Wait)
        now = again.until
    return found


def test_too_many_without_an_instant_backs_off_twice_as_long_each_time_with_some_jitter():
    found = pauses(worked(planner(policy=WIDE)), "backoff", 11)
    for row, pause in enumerate(found):
        assert min(LONGEST, 2.0**row) <= pause * (1 + 1e-9) or pause >= LONGEST / (1 + JITTER)
        assert pause <= min(LONGEST, 2.0**row * (1 + JITTER))
    assert len({round(pause / 2.0**row, 9) for row, pause in enumerate(found[:9])}) == 9, "chance has its share"
    assert pauses(worked(planner(policy=WIDE)), "backoff", 11) == found, "the same seed, the same pauses"
    assert pauses(worked(planner(policy=WIDE, seed=2)), "backoff", 11) != found


def test_a_request_that_the_longest_pause_has_not_helped_is_given_back():
    by, now, said = worked(planner(policy=WIDE, give_up=1e9)), 1_000.0, []
    while not said or said[-1] is not None:
        said.append(answered(by, asked(), "backoff", now))
        now = said[-1].until if said[-1] else now
    assert len(said) == 12  # 1, 2, ... 512 s, 600 s; the longest with jitter is LONGEST
    assert LONGEST / (1 + JITTER) <= paused(said[-2], said[-3].until) <= LONGEST


def test_a_request_that_stays_broken_is_told_to_the_talk():
    by, now = worked(planner(policy=WIDE, give_up=1e9)), 1_000.0
    for n in range(4):
        said = []
        for _ in range(TRIES):
            said.append(answered(by, asked(n), "broken", now))
            now += 2_000.0
        assert [type(answer) for answer in said] == [Wait] * (TRIES - 1) + [type(None)]


def test_where_nothing_has_worked_yet_the_fifth_failure_in_a_row_stops():
    by, now, said = planner(), 100.0, []
    for n in (0, 0, 0, 1, 1):
        said.append(answered(by, asked(n), "broken", now))
        now += 100.0
    assert [type(answer) for answer in said] == [Wait, Wait, type(None), Wait, Stop]
    assert said[-1].why == "because (5 times in a row); all is saved, run again later to go on"
    assert FEW == 5


def test_where_something_has_worked_an_hour_of_failures_stops():
    by, now, said = worked(planner(policy=WIDE, give_up=3600.0)), 1_000.0, None
    begun = now
    while not isinstance(said, Stop):
        said = answered(by, asked(int(now)), "broken", now)
        now = said.until if isinstance(said, Wait) else now + 100.0
    assert 3600.0 <= now - begun <= 3600.0 + PROBE + 100.0
    assert "times in a row, for " in said.why
    assert 3600 / PROBE < by.budget.requests < 100


def test_a_good_reply_begins_the_row_anew():
    by, now = planner(), 100.0
    for n in range(20):
        assert 1.0 <= paused(answered(by, asked(n), "broken", now), now) <= 1.0 + JITTER
        assert 1.0 <= paused(answered(by, asked(n), "backoff", now + 2.0), now + 2.0) <= 1.0 + JITTER
        assert answered(by, asked(n), "ok", now + 4.0) is None
        now += 1000.0


def test_requests_that_fail_together_count_as_one_failure():
    by = worked(planner(policy=WIDE))
    burst = [by.take(asked(n), 101.0) for n in range(1, 4)]
    said = [by.settle(grant, Reply("broken", 102.0, why="because"), 102.0) for grant in burst]
    assert all(1.0 <= paused(again, 102.0) <= 1.0 + JITTER for again in said)
    assert 2.0 <= paused(answered(by, asked(1), "broken", 104.0), 104.0) <= 2.0 * (1 + JITTER)


def test_a_429_does_not_count_as_a_broken_answer():
    by = worked(planner(policy=WIDE))
    pauses(by, "backoff", 3)
    assert 1.0 <= paused(answered(by, asked(50), "broken", 2_000.0), 2_000.0) <= 1.0 + JITTER


def test_one_failure_rests_its_request_only_and_two_in_a_row_close_the_endpoint():
    by = worked(planner(policy=WIDE))
    again = answered(by, asked(1), "broken", 1_000.0)
    assert by.take(asked(1), 1_000.5) == Wait(again.until, "because; it is tried again after a pause")
    second = answered(by, asked(2), "broken", 1_000.5)
    assert by.take(asked(9), 1_000.6) == Wait(second.until, "because (/posts)")
    assert isinstance(by.take(asked(endpoint=USERS), 1_000.6), Grant)


def test_a_server_in_trouble_is_left_alone_by_every_credential():
    by = worked(planner(policy=WIDE, credentials=("a", "b")))
    grants = []
    while len({grant.credential for grant in grants}) < 2:
        grants.append(by.take(asked(len(grants)), 1_000.0))
    for n, grant in enumerate(grants):
        by.settle(grant, Reply("ok", 1_000.0), 1_000.0)
        assert n < 9
    for n in range(2):
        until = answered(by, asked(20 + n), "broken", 1_001.0 + n).until
    assert by.take(asked(30), 1_002.1) == Wait(until, "because (/posts)")


def test_a_429_without_a_date_is_about_one_credential():
    by = worked(planner(credentials=("a", "b")))
    refused = by.take(asked(), 1_000.0)
    by.settle(refused, Reply("backoff", 1_000.0, why="because"), 1_000.0)
    assert by.take(asked(), 1_000.1).credential != refused.credential


def test_a_question_about_one_account_that_is_not_understood_is_put_off_and_five_in_a_row_stop():
    by = worked(planner(policy=WIDE))

    def about(n, at):
        request = replace(asked(n), params={"id": str(n)})
        return answered(by, request, "invalid", at, status=400)

    assert [about(n, 1_000.0 + n) for n in range(FEW - 1)] == [None] * (FEW - 1)
    answered(by, asked(50), "ok", 1_100.0)
    assert [about(n, 1_200.0 + n) for n in range(FEW - 1)] == [None] * (FEW - 1)
    assert about(9, 1_300.0) == Stop("failed", "because")
    assert answered(planner(), asked(), "invalid", 100.0, status=400) == Stop("failed", "because"), "a search or a list"


def test_a_ledger_of_an_endpoint_that_the_policy_no_longer_has_is_paid_all_the_same():
    by = planner()
    gone = Request((0, 0), "/gone", {}, 10, 5_000)
    by.fold([(Grant(gone, "main", 100.0), Reply("ok", 101.0, cost=700)), (Grant(gone, "main", 102.0), None)])
    assert (by.budget.requests, by.budget.money) == (2, 5_700)


def test_the_credential_that_is_free_first_is_taken():
    by = planner(credentials=("a", "b"))
    first, second = by.take(asked(), 100.0), by.take(asked(), 100.0)
    assert (first.credential, second.credential) == ("a", "b")
    assert by.take(asked(), 100.0) == Wait(100.05, "the first request of the window is in flight (/posts)")
    for grant in (first, second):
        by.settle(grant, Reply("ok", 101.0), 101.0)
    taken = [by.take(asked(), 101.0).credential for _ in range(8)]
    assert sorted(taken) == ["a"] * 4 + ["b"] * 4
    assert by.take(asked(), 101.0) == Wait(1001.0, "all 5 requests of the window are used (/posts)")


def test_of_two_windows_the_one_that_ends_first_is_used_up_first_and_one_that_has_not_begun_before_both():
    by = planner(credentials=("a", "b", "c"))
    for at in (100.0, 300.0):
        answered(by, asked(), "ok", at)
    begun = [lane.credential for lane in by.window_sets.find_usable(POSTS) if lane.main.count_used(300.0)]
    assert begun == ["a", "b"]
    answered(by, asked(), "ok", 400.0)
    assert [by.take(asked(), 500.0).credential for _ in range(12)] == ["a"] * 4 + ["b"] * 4 + ["c"] * 4


def test_a_credential_that_is_refused_is_set_aside_and_the_last_one_stops():
    by = planner(credentials=("a", "b"))
    assert answered(by, asked(), "refused", 100.0, status=401) == Wait(100.0, "the credential a is set aside: because")
    assert by.window_sets.aside == {"a": "because"}
    for endpoint in (POSTS, USERS):
        assert by.take(asked(endpoint=endpoint), 101.0).credential == "b"
    assert answered(planner(), asked(), "refused", 100.0, status=401) == Stop("failed", "because")


def test_a_credential_that_one_endpoint_refuses_is_used_on_the_others():
    by = planner(credentials=("a", "b"))
    assert isinstance(answered(by, asked(), "refused", 100.0, status=403), Wait)
    assert [by.take(asked(endpoint=e), 101.0).credential for e in (POSTS, USERS)] == ["b", "a"]
    by.fold([])
    assert [lane.credential for lane in by.window_sets.find_usable(POSTS)] == ["a", "b"], (
        "a new run tries again: it may be mended"
    )


def test_a_token_of_a_user_has_other_windows_and_is_not_used_where_it_has_none():
    by = planner(credentials=("u:user",))
    assert [(answered(by, asked(), "ok", 100.0) is None) for _ in range(2)] == [True, True]
    assert by.take(asked(), 100.0) == Wait(1000.0, "all 2 requests of the window are used (/posts)")
    assert by.take(asked(endpoint=APPS), 100.0) == Stop("failed", "no credential may use /apps (any more)")


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
    assert by.take(asked(), 100.0) == Wait(1000.0, "all 2 requests of the window are used (/posts)")


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
            rows, cost = (page(used), POLICY.compute_price("post", used)) if endpoint == POSTS else (None, 1_000 * used)
            good = kind in ("ok", "missing")
            flying.append((len(ledger) - 1, grant, Reply(kind, now, rows if good else None, cost=cost if good else 0)))
        else:
            by.window_sets.get("main", endpoint).forget_in_flight()  # its process was killed
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
    assert vars(folded.cycle) == vars(lived.cycle)
    assert vars(folded.window_sets.offset) == vars(lived.window_sets.offset)
    for endpoint in sorted({grant.request.endpoint for grant, _ in ledger}):
        lane, twin = (by.window_sets.get("main", endpoint) for by in (folded, lived))
        assert len(lane.windows) == len(twin.windows)
        assert [state(one) for one in lane.windows] == [state(one) for one in twin.windows]
        assert (lane.main.next_flies_alone, lane.main.alone) == (True, None)
        assert [one.find_slot(now) for one in lane.windows] == [one.find_slot(now) for one in twin.windows]


@settings(deadline=None)
@given(STEPS, st.integers(1, 4), st.floats(0.0, 3_000_000.0))
def test_a_ledger_of_which_most_is_sums_spends_and_waits_as_the_whole_one(steps, in_flight, apart):
    well = [step for step in steps if step[1] not in ("backoff", "broken")]  # pauses have jitter, by their number
    ledger, now = live(planner(), well, in_flight)
    for n, (grant, reply) in enumerate(ledger):  # long ago, but for the last of it
        if n < len(ledger) - 12:
            far = grant.at - apart
            ledger[n] = replace(grant, at=far), reply and replace(reply, at=reply.at - apart)
    whole, summed = (WindowPlanner(replace(POLICY, cap=500), [Credential("main")], Caps()) for _ in "ab")
    whole.fold(ledger)
    summed.fold(Summed(ledger))
    assert summed.budget == whole.budget
    for at, posts in ((now, 1), (now, 500 - whole.cycle.posts), (now, 501 - whole.cycle.posts), (now + 3e6, 500)):
        assert summed.cycle.would_exceed_cap(posts, at) == whole.cycle.would_exceed_cap(posts, at)
    for endpoint in sorted({grant.request.endpoint for grant, _ in ledger}):
        first, other = (one.window_sets.find_first(endpoint, now) for one in (whole, summed))
        assert (first[0], first[1] is None) == (other[0], other[1] is None)


def state(window):
    """All that a window knows, except whether its next request flies alone."""
    known = {**vars(window), "received": vars(window.received)}
    return {name: value for name, value in known.items() if name not in ("next_flies_alone", "alone", "offset")}


def test_a_budget_of_time_stops_before_a_wait_that_would_pass_its_end():
    by = planner(Caps(seconds=600.0))
    for n in range(5):
        answered(by, asked(n), "ok", 100.0 + n)
    stop = by.take(asked(5), 110.0)  # the next window opens after the end
    assert (stop.kind, "max_time" in stop.why) == ("budget", True)
    by = planner(Caps(seconds=600.0))
    answered(by, asked(), "ok", 100.0)
    assert isinstance(by.take(asked(), 699.9), Grant)
    assert isinstance(by.take(asked(), 700.0), Stop)


def test_the_cap_of_a_billing_cycle_stops_until_the_next_one_begins():
    june, july = 1_780_358_400.0, 1_782_864_000.0
    by = planner(policy=replace(POLICY, cap=25))
    for n in range(2):
        answered(by, asked(n), "ok", june, rows=page(10))
    why = "the cap of 25 posts in a billing cycle is reached; the next one begins on 2026-07-01 (UTC)"
    assert by.take(asked(2), june + 1.0) == Stop("budget", why, july)
    assert isinstance(by.take(asked(2, USERS), june + 1.0), Grant)
    assert isinstance(by.take(asked(3), july), Grant)


def test_a_reply_that_was_lost_counts_at_its_dearest_and_one_that_broke_costs_nothing():
    by = worked(planner(policy=WIDE))
    answered(by, asked(), "lost", 1_000.0, cost=5_000)
    assert (by.budget.posts, by.budget.money) == (10, 5_000)
    answered(by, asked(), "broken", 2_000.0)
    assert (by.budget.requests, by.budget.posts, by.budget.money) == (3, 10, 5_000)


def test_prices_and_steps_count_as_the_paper_and_the_price_list_do():
    assert count_steps(3_600.0, Rule(15, 900.0)) == 60
    assert count_steps(7 * 86_400.0, Rule(300, 900.0)) == 201_600
    assert POLICY.compute_most(POSTS, 100) == 50_000
    assert POLICY.override_limits(3, 2.0).endpoints[USERS] == Endpoint((Rule(3, 2.0),), (Rule(3, 2.0),), 10, "user")
    assert (POLICY.tariff, replace(POLICY, once_a_day=True).tariff) == (None, Tariff(500, 1000))


def test_the_end_of_so_many_requests_is_foretold_over_all_credentials():
    by = planner(credentials=("a", "b"))
    assert by.predict_done(POSTS, 10, 100.0) == 100.0
    for _ in range(10):
        answered(by, asked(), "ok", 100.0)
    assert by.predict_done(POSTS, 1, 100.0) == pytest.approx(1000.0, abs=10.0)
    assert by.predict_done(POSTS, 101, 100.0) == pytest.approx(100.0 + 11 * 900.0, rel=0.011)
    assert by.predict_done(POSTS, 10**9, 100.0) is None


@pytest.mark.parametrize("kind", ["window", "day"])
def test_a_reset_that_no_window_can_mean_is_none_and_the_next_run_is_not_bound_by_it(kind):
    by, ledger = planner(), []
    limits = [Limit(0, 5, DATE * 1000, daily=kind == "day")]  # milliseconds
    for n in range(FEW):
        now = 100.0 + 1000.0 * n
        grant = by.take(asked(n), now)
        reply = Reply(kind, now, why="because", date=DATE, limits=limits)
        ledger.append((grant, reply))
        again = by.settle(grant, reply, now)
        assert isinstance(again, Stop if n == FEW - 1 else Wait)
        assert n == FEW - 1 or again.until <= now + LONGEST
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
