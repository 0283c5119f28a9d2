"""Campaigns of one process that use the same tokens know of each other's requests, whenever and however they join."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from example_counts import many
from hypothesis import example, given, settings
from hypothesis import strategies as st
from limit_referees import BEGIN, Aligned, Fixed, Sliding, said
from shared_tokens import BASE, Crowd, planner, policy

from socialcrawl.engine.model import Credential, Grant, Limit, Page, PostRow, Reply, Request, Stop, Wait
from socialcrawl.errors import SettingsError
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.ratelimit.policy import Rule
from socialcrawl.ratelimit.received_requests import LAG
from socialcrawl.ratelimit.retry import Backoff
from socialcrawl.ratelimit.shared_windows import SharedWindows
from socialcrawl.ratelimit.window import DAY

FIVE = Rule(5, 900.0)
JUNE, JULY = 1_780_358_400.0, 1_782_864_000.0  # 2026-06-02, 2026-07-01


def asked(n=0, items=0):
    return Request((n, 0), "/e", {}, items)


def answered(by, n, at, *limits, items=0, posts=0, **more):
    """Take and settle a request at once; what take said."""
    grant = by.take(asked(n, items), at)
    if isinstance(grant, Grant):
        rows = Page(posts=[PostRow(str(i), "a", None, "", *[None] * 14) for i in range(posts)])
        by.settle(grant, Reply("ok", at, rows, limits=limits, date=at if limits else None, **more), at)
    return grant


def granted(by, at, wanted=99):
    """How many requests may leave at once, each answered at once."""
    return next(n for n in range(wanted) if not isinstance(answered(by, n, at), Grant))


KINDS = ["ok", "ok", "ok", "ok", "missing", "window", "broken", "backoff", "lost", "refused"]
RULES = st.lists(
    st.builds(Rule, st.integers(1, 6), st.floats(3.0, 40.0), st.sampled_from(["fixed", "fixed", "sliding", "aligned"])),
    min_size=1,
    max_size=3,
)
MOVES = st.lists(
    st.tuples(
        st.sampled_from(["take", "take", "land"]), st.floats(0.0, 8.0), st.sampled_from(KINDS), st.integers(0, 6)
    ),
    max_size=50,
)


@settings(deadline=None, max_examples=many(100))
@example(
    [Rule(2, 29.65034249301379, "aligned")],
    [("take", 7.0, "ok", 0), ("land", 4.0, "ok", 0), ("take", 4.0, "ok", 0), ("land", 0.0, "ok", 1)],
    [],
    1,
)
@example(
    [Rule(2, 3.0, "sliding")],
    [("take", 0.0, "ok", 0), ("take", 0.0, "ok", 0), ("land", 0.0, "broken", 0), ("land", 0.0, "broken", 0)],
    [],
    2,
)
@given(RULES, MOVES, MOVES, st.integers(1, 3))
def test_a_campaign_alone_on_its_tokens_decides_bit_for_bit_as_one_that_shares_nothing(rules, before, moves, tokens):
    names = "tuv"[:tokens]
    ledger = lived([planner(None, "a", rules, names)], before)
    twins = [planner(None, "a", rules, names), planner(SharedWindows(), "a", rules, names)]
    for by in twins:
        by.fold(ledger)
    lived(twins, moves, BEGIN + 500.0)
    alone, member = twins
    assert alone.budget == member.budget
    assert vars(alone.cycle) == vars(member.cycle)
    now = BEGIN + 500.0 + sum(gap for _, gap, _, _ in moves)
    for lane in alone.window_sets.find_usable("/e"):
        twin = member.window_sets.get(lane.credential, "/e")
        assert [known(one, now) for one in lane.windows] == [known(one, now) for one in twin.windows]


def known(window, now):
    """What a window knows, without what no request from now on can meet: requests and closures that are over."""
    window.received.forget(window.find_begin(min((now, *window.received.in_flight))))
    closed = max(now, window.closed_until)
    return {**vars(window), "received": vars(window.received), "offset": window.d and None, "closed_until": closed}


def lived(planners, moves, now=BEGIN):
    """Let all planners decide the same, step by step; the ledger of it."""
    ledger, flying = [], []
    for n, (move, gap, kind, left) in enumerate(moves):
        now += gap
        if move == "take":
            said_by = [by.take(asked(n), now) for by in planners]
            assert all(answer == said_by[0] for answer in said_by), said_by
            if isinstance(said_by[0], Grant):
                flying.append((len(ledger), said_by[0]))
                ledger.append((said_by[0], None))
        elif flying:
            place, grant = flying.pop(n % len(flying))
            limits = [Limit(left, 6, now + 20.0)] if left else []
            reply = Reply(kind, now, date=float(int(now)) if limits else None, limits=limits, why="because", status=403)
            ledger[place] = grant, reply
            heard = [by.settle(grant, reply, now) for by in planners]
            assert all(answer == heard[0] for answer in heard), heard
    return ledger


JOINS = st.lists(
    st.tuples(
        st.sampled_from(["rejoin", "rejoin", "leave", "restart", "drop_claim", "claim_share", "claim_share"]),
        st.integers(0, 2),
        st.one_of(st.floats(0.0, 3.0), st.floats(0.0, 50.0)),
    ),
    max_size=25,
)


@settings(deadline=None, max_examples=many(80))
@given(
    st.integers(1, 7),
    st.floats(8.0, 40.0),
    st.sampled_from(["fixed", "fixed", "fixed", "sliding", "aligned"]),
    JOINS,
    st.integers(0, 10**6),
    st.sampled_from([0.1, 1.0, 4.0]),
    st.booleans(),
)
def test_no_window_is_ever_exceeded_whoever_joins_leaves_or_is_killed_and_when(  # noqa: PLR0917
    k, d, kind, moves, seed, latency, headers
):
    skew = 123.4

    def referee():
        return Fixed(k, d) if kind == "fixed" else Sliding(k, d) if kind == "sliding" else Aligned(k, d, skew)

    it = Crowd((Rule(k, d, kind),), referee, seed, latency, skew, headers=headers)
    for name in "abc":
        it.add(name).claim_share()
    for what, number, gap in moves:
        it.advance(it.now + gap)
        name = "abc"[number]
        if what == "restart":
            restart(it, name if kind == "fixed" and gap > 0.5 else "abc")
        elif name not in it.shared.members or what == "rejoin":
            it.rejoin(name, summed=gap > 1.0).claim_share()
        elif what == "leave":
            it.campaigns[name].drop_claim()
            it.campaigns[name].member.leave()
        else:
            getattr(it.campaigns[name], what)()
        if len(it.shared.members) == 3:
            for campaign in it.campaigns.values():
                campaign.work = float("inf")
    for name in "abc":
        if name not in it.shared.members:
            it.rejoin(name)
    for campaign in it.campaigns.values():
        campaign.work = float("inf")
        campaign.claim_share()
    before = sum(len(campaign.log) for campaign in it.campaigns.values())
    it.advance(it.now + 4 * (d + LAG))
    it.check()
    assert sum(len(campaign.log) for campaign in it.campaigns.values()) - before >= 2 * k, "nobody waits for ever"


def restart(it, names):
    """Kill the process; of what those that do not run in the next one have sent, it knows nothing until they join."""
    it.restart(names)
    room = it.referees["t"].room(it.now) - it.under_way if len(names) < 3 else float("inf")
    for name, campaign in it.campaigns.items():
        campaign.work = room if name in names else 0
        if name in names:
            campaign.claim_share()


@pytest.mark.parametrize("order", ["ab", "ba"])
@pytest.mark.parametrize("apart", [0.0, 1.0, 300.0])
def test_ledgers_of_one_token_are_counted_together_whoever_is_folded_first(order, apart):
    ledgers = {
        name: [(Grant(asked(n), f"{name}-t", BEGIN + shift), Reply("ok", BEGIN + shift + 0.5)) for n in range(2)]
        for name, shift in (("a", 0.0), ("b", apart))
    }
    shared, now = SharedWindows(), BEGIN + 400.0
    planners = {}
    for name in order:
        planners[name] = planner(shared, name, [FIVE])
        planners[name].fold(ledgers[name])
    assert granted(planners["a"], now) == 1
    assert planners["b"].take(asked(50), now).until <= BEGIN + apart + 900.5
    assert granted(planners["b"], BEGIN + apart + 901.0) >= 2


def test_a_ledger_that_is_folded_into_live_windows_is_counted_and_forgets_nothing_in_flight():
    shared = SharedWindows()
    first = planner(shared, "a", [FIVE])
    answered(first, 0, BEGIN)
    flies = first.take(asked(1), BEGIN + 1.0)
    second = planner(shared, "b", [FIVE])
    second.fold([(Grant(asked(n), "b-t", BEGIN - 100.0), Reply("ok", BEGIN - 99.0)) for n in range(2)])
    assert "in flight" in second.take(asked(0), BEGIN + 2.0).why
    first.settle(flies, Reply("ok", BEGIN + 3.0), BEGIN + 3.0)
    grant = second.take(asked(0), BEGIN + 3.0)
    assert isinstance(grant, Grant)
    assert isinstance(first.take(asked(2), BEGIN + 3.0), Wait), "the next one flies alone"
    second.settle(grant, Reply("ok", BEGIN + 3.0), BEGIN + 3.0)
    assert isinstance(first.take(asked(2), BEGIN + 4.0), Wait), "two, two, and one are five"


def test_headers_that_were_counted_later_have_what_a_ledger_tells():
    shared = SharedWindows()
    first = planner(shared, "a", [FIVE])
    answered(first, 0, BEGIN, Limit(2, 5, BEGIN + 400.0))  # two of somebody else's
    first.shared.drop_claim()
    second = planner(shared, "b", [FIVE])
    second.fold([(Grant(asked(n), "b-t", BEGIN - 100.0), Reply("ok", BEGIN - 99.0)) for n in range(2)])
    assert granted(second, BEGIN + 1.0) == 2


def test_what_a_ledger_tells_of_later_requests_is_added_to_what_the_headers_told():
    shared = SharedWindows()
    first = planner(shared, "a", [FIVE])
    answered(first, 0, BEGIN, Limit(2, 5, BEGIN + 400.0))
    second = planner(shared, "b", [FIVE])
    second.fold([(Grant(asked(n), "b-t", BEGIN + 10.0), Reply("ok", BEGIN + 11.0)) for n in range(2)])
    assert second.take(asked(5), BEGIN + 20.0).until >= BEGIN + 400.0


@pytest.mark.parametrize("live", [False, True])
def test_what_did_not_reach_the_server_counts_for_no_campaign_whoever_is_folded_first(live):
    shared = SharedWindows()
    first, second = (planner(shared, name, [FIVE]) for name in "ab")
    if live:
        answered(second, 0, BEGIN - 90.0)
    sent = [BEGIN - 100.0 + n for n in range(20)]
    first.fold([(Grant(asked(n), "a-t", at), Reply("broken", at + 0.5)) for n, at in enumerate(sent)], BEGIN)
    assert granted(second, BEGIN) == 5 - live


def test_a_day_that_only_the_headers_of_another_campaign_told_of_is_kept():
    shared = SharedWindows()
    told = Reply(
        "ok", BEGIN + 1.0, date=BEGIN + 1.0, limits=[Limit(4, 5, BEGIN + 500.0), Limit(1, 9, BEGIN + DAY, True)]
    )
    a, b = (planner(shared, name, [Rule(5, 900.0)]) for name in "ab")
    a.fold([(Grant(asked(), "a-t", BEGIN - 5000.0), Reply("ok", BEGIN - 4999.0))])
    b.fold([(Grant(asked(), "b-t", BEGIN), told)])
    assert granted(a, BEGIN + 2000.0) == 1
    assert b.take(asked(9), BEGIN + 2000.0).until > BEGIN + DAY - 1.0


def test_a_campaign_that_begins_anew_is_not_counted_twice():
    it = Crowd((Rule(10, 300.0),), lambda: Fixed(10, 300.0), headers=False)
    it.add("a")
    it.campaigns["a"].work = 4
    it.campaigns["a"].claim_share()
    it.advance(BEGIN + 10.0)
    for _ in range(3):
        it.rejoin("a")
    assert granted(it.campaigns["a"].planner, it.now) == 6


def test_tokens_are_told_apart_by_their_marks_whatever_they_are_called():
    shared = SharedWindows()
    marks = {"a": {"X": "one", "Y": "two"}, "b": {"Y": "one", "Z": "three"}}
    made = {
        name: WindowPlanner(
            policy(Rule(2, 900.0)), [Credential(one) for one in known], Caps(), Backoff(),
            shared=shared.join(name, 1.0, BASE, known),
        )
        for name, known in marks.items()
    }  # fmt: skip
    assert granted(made["a"], BEGIN) == 4
    names = [answered(made["b"], n, BEGIN + 1.0) for n in range(3)]
    assert [grant.credential for grant in names[:2]] == ["Z", "Z"]
    assert isinstance(names[2], Wait)


def test_campaigns_on_one_server_have_one_idea_of_its_clock_and_others_another():
    shared = SharedWindows()
    a, b = planner(shared, "a", [FIVE], "t"), planner(shared, "b", [FIVE], "u")
    other = WindowPlanner(
        policy(FIVE), [Credential("v")], Caps(), shared=shared.join("c", 1.0, "https://other", {"v": "v"})
    )
    answered(a, 0, BEGIN, Limit(4, 5, BEGIN + 100.0))
    assert b.window_sets.offset is a.window_sets.offset
    assert (a.window_sets.offset.is_known, other.window_sets.offset.is_known) == (True, False)


def test_other_rules_for_one_token_are_refused_with_both_names_the_key_and_the_remedy():
    shared = SharedWindows()
    planner(shared, "a", [Rule(15, 900.0)])
    for rules, key in (
        ([Rule(10, 900.0)], "[limits] k"),
        ([Rule(15, 60.0)], "[limits] d"),
        ([Rule(10, 60.0)], "[limits] k and d"),
        ([Rule(15, 900.0), Rule(1, 1.0)], "[source] policy"),
    ):
        with pytest.raises(SettingsError) as error:
            planner(shared, f"b{key}", rules)
        for words in ("campaigns a and", f"b{key}", key, "/e", "15 requests in 900 s", "a token of its own"):
            assert words in str(error.value)
    planner(shared, "c", [Rule(10, 900.0)], "u")
    with pytest.raises(SettingsError, match="Two campaigns are called 'c'"):
        shared.join("c", 1.0, BASE, {})


def test_rules_may_change_when_nobody_else_uses_the_token_and_what_was_sent_still_counts():
    shared = SharedWindows()
    a = planner(shared, "a", [Rule(4, 900.0)])
    assert granted(a, BEGIN) == 4
    with pytest.raises(SettingsError):
        planner(shared, "b", [Rule(6, 900.0)])
    a.shared.leave()
    shared.members["b"].leave()
    again = planner(shared, "a", [Rule(6, 900.0)])
    assert granted(again, BEGIN + 100.0) == 2


@pytest.mark.parametrize("how", ["lived", "folded", "left"])
def test_the_cap_of_a_billing_cycle_is_of_all_that_share_a_token(how):
    shared, rules = SharedWindows(), [Rule(100, 900.0)]

    def made(name, tokens):
        member = shared.join(name, 1.0, BASE, {token: token for token in tokens})
        return WindowPlanner(policy(*rules, cap=25), [Credential(token) for token in tokens], Caps(), shared=member)

    a, b, c, far = made("a", "t"), made("b", "tu"), made("c", "u"), made("d", "v")
    if how == "folded":
        page = Page(posts=[PostRow(str(i), "a", None, "", *[None] * 14) for i in range(10)])
        a.fold([(Grant(asked(n, 10), "t", at), Reply("ok", at, page)) for n, at in enumerate((JUNE - 9e6, JUNE, JUNE))])
    else:
        for n in range(2):
            answered(a, n, JUNE, items=10, posts=10)
    if how == "left":
        a.shared.leave()
    for by in (b, c):
        stop = by.take(asked(5, 10), JUNE + 1.0)
        assert isinstance(stop, Stop)
        assert stop.until == JULY
        assert isinstance(answered(by, 6, JUNE + 1.0, items=2, posts=2), Grant)
    assert isinstance(far.take(asked(5, 10), JUNE + 1.0), Grant)
    assert isinstance(b.take(asked(7, 10), JULY + 1.0), Grant)


def test_a_cycle_that_is_counted_otherwise_is_refused():
    shared = SharedWindows()
    for name, day in (("a", 1), ("b", 2)):
        member = shared.join(name, 1.0, BASE, {"t": "t"})
        if name == "a":
            WindowPlanner(policy(FIVE, cap=9), [Credential("t")], Caps(), shared=member)
            continue
        with pytest.raises(SettingsError, match=r"'a' and 'b' .* \[limits\] cycle_day"):
            WindowPlanner(policy(FIVE, cap=9), [Credential("t")], Caps(), cycle_day=day, shared=member)


def test_a_request_whose_campaign_left_counts_and_nobody_waits_for_it():
    shared = SharedWindows()
    a, b = planner(shared, "a", [FIVE]), planner(shared, "b", [FIVE])
    assert isinstance(a.take(asked(), BEGIN), Grant)
    assert isinstance(b.take(asked(), BEGIN + 1.0), Wait)
    a.shared.leave()
    assert granted(b, BEGIN + LAG + 1.0) == 4


def test_an_abandoned_request_is_waited_for_by_nobody():
    shared = SharedWindows()
    a, b = planner(shared, "a", [FIVE]), planner(shared, "b", [FIVE])
    a.abandon(a.take(asked(), BEGIN))
    a.shared.drop_claim()
    assert granted(b, BEGIN + LAG + 1.0) == 4


def test_threads_that_decide_at_once_take_no_slot_twice():
    shared, count = SharedWindows(), 8
    planners = [planner(shared, f"{number}", [Rule(100, 900.0, "sliding")]) for number in range(count)]

    def work(by):
        return sum(isinstance(by.take(asked(n), BEGIN + 800.0), Grant) for n in range(100))

    for by in planners:
        by.take(asked(999), BEGIN)
    with ThreadPoolExecutor(count) as pool:
        assert sum(pool.map(work, planners)) == 100 - count


def test_a_server_in_trouble_and_a_used_up_window_close_the_lane_for_all():
    shared = SharedWindows()
    a, b = planner(shared, "a", [FIVE]), planner(shared, "b", [FIVE])
    grant = a.take(asked(), BEGIN)
    limits = [said(Fixed(5, 900.0), (5, BEGIN + 300.0), 0.0)]
    a.settle(grant, Reply("window", BEGIN + 1.0, date=BEGIN + 1.0, limits=limits, why="full"), BEGIN + 1.0)
    assert b.take(asked(), BEGIN + 2.0) == Wait(BEGIN + 301.0, "the server requires a pause (/e)")


def test_a_token_that_one_campaign_was_refused_is_tried_by_the_others():
    shared = SharedWindows()
    a, b = planner(shared, "a", [FIVE]), planner(shared, "b", [FIVE])
    grant = a.take(asked(), BEGIN)
    assert isinstance(a.settle(grant, replace(Reply("refused", BEGIN, why="no"), status=401), BEGIN), Stop)
    assert isinstance(a.take(asked(1), BEGIN + 1.0), Stop)
    assert isinstance(b.take(asked(), BEGIN + 1.0), Grant)
