"""Campaigns with one token divide its windows by weight, and lose nothing: against servers that know of no shares."""

from collections import Counter
from types import SimpleNamespace

import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from limit_referees import BEGIN, Aligned, Fixed, Sliding
from shared_tokens import Crowd

from socialcrawl.engine.model import Request
from socialcrawl.ratelimit.counted_window import SlidingWindow
from socialcrawl.ratelimit.policy import Rule
from socialcrawl.ratelimit.sharing import WindowShares
from socialcrawl.ratelimit.window import ALONE, ROUNDING

NAMES = "abcdef"


def crowd(k, d, weights, *, windows=40, hungry=True, **more):
    """Campaigns of these weights and a server with fixed windows, after so many windows."""
    it = Crowd((Rule(k, d),), lambda: Fixed(k, d), **more)
    for name, weight in zip(NAMES, weights, strict=False):
        campaign = it.add(name, weight)
        if hungry:
            campaign.claim_share()
    it.advance(BEGIN + windows * d)
    it.check()
    return it


def taken(it, token="t"):
    return sum((Counter(counts) for _, _, counts in it.full(token)), Counter())


@pytest.mark.parametrize("weights", [(1, 1, 1), (1, 2, 3), (5, 1, 1, 1), (0.1, 0.25), (1,) * 6])
@pytest.mark.parametrize(("k", "windows"), [(1, 60), (2, 40), (7, 40), (15, 40), (300, 6)])
def test_windows_are_full_and_divided_by_weight_within_one_slot_each_and_all_in_all(k, windows, weights):
    it, whole = crowd(k, 300.0, weights, windows=windows), sum(weights)
    full = it.full()
    assert len(full) >= 0.95 * windows - 2
    assert all(sum(counts.values()) == k for _, _, counts in full)
    for name, weight in zip(NAMES, weights, strict=False):
        exact = k * weight / whole
        assert all(abs(counts.get(name, 0) - exact) < 1.0 for _, _, counts in full), name
        assert taken(it)[name] == pytest.approx(exact * len(full), abs=1.5), "who is short takes turns"


def test_one_slot_a_window_goes_round():
    full = crowd(1, 60.0, (1, 1, 1)).full()
    turns = "".join(next(iter(counts)) for _, _, counts in full)
    assert all(len(set(turns[i : i + 3])) == 3 for i in range(len(turns) - 2)), turns


def test_without_headers_shares_are_the_same():
    it = crowd(15, 60.0, (1, 2, 2), headers=False)
    assert all(counts == {"a": 3, "b": 6, "c": 6} for _, _, counts in it.full())


def test_weights_may_change_at_any_time():
    it = crowd(12, 60.0, (1, 1), windows=10)
    assert it.full()[-1][2] == {"a": 6, "b": 6}
    it.campaigns["a"].member.weight = 3.0
    it.advance(it.now + 180.0)
    assert it.full()[-1][2] == {"a": 9, "b": 3}


def test_the_share_of_one_that_waits_goes_to_the_others_at_once_and_back_when_it_is_hungry():
    it = crowd(15, 300.0, (1, 1, 1), windows=10)
    it.campaigns["c"].drop_claim()
    it.advance(it.now + 900.0)
    assert sorted(it.full()[-1][2].items()) in ([("a", 7), ("b", 8)], [("a", 8), ("b", 7)])
    it.campaigns["c"].claim_share()
    it.advance(it.now + 900.0)
    assert it.full()[-1][2] == {"a": 5, "b": 5, "c": 5}


def test_who_leaves_leaves_its_slots_to_others_that_are_told_so():
    it = Crowd((Rule(10, 300.0),), lambda: Fixed(10, 300.0))
    a, b = it.add("a"), it.add("b")
    b.claim_share()
    b.is_claiming = False  # it asked, and is busy
    it.advance(it.now + 1.0)
    a.claim_share()
    it.advance(it.now + 20.0)
    assert len(a.ledger) == 5
    told, it.shared.on_release = [], lambda name: told.append((name, it.shared.lock.acquire(blocking=False)))
    b.member.leave()
    assert told == [("a", True)]
    a.go_on()
    it.advance(it.now + 20.0)
    assert len(a.ledger) == 10 - len(b.ledger)


def test_claims_lapse_as_the_window_passes_so_that_nothing_is_lost():
    it = Crowd((Rule(12, 300.0),), lambda: Fixed(12, 300.0))
    a, b = it.add("a"), it.add("b")
    b.work = 1
    b.claim_share()  # one request, and it only says that it wants more
    b.work = 0
    it.advance(it.now + 1.0)
    it.shared.members["b"].claim_share()
    a.claim_share()
    it.advance(BEGIN + 299.0)
    lapses = [at - BEGIN for at, _ in a.log[6:]]
    assert len(a.log) == 11
    assert lapses == pytest.approx([300.0 * part / 7 for part in (2, 3, 4, 5, 6)], abs=1.0)
    said = a.planner.take(Request((99, 0), "/e", {}), it.now)
    assert said.why == "all 12 requests of the window are used (/e)"


def test_who_has_used_its_share_is_told_how_many_are_kept_and_until_when():
    it = Crowd((Rule(12, 300.0),), lambda: Fixed(12, 300.0), latency=0.0)
    a, b = it.add("a"), it.add("b")
    b.work = 1
    b.claim_share()
    b.work = 0
    b.member.claim_share()
    it.advance(BEGIN + 1.0)
    a.work = 6
    a.claim_share()
    it.advance(BEGIN + 2.0)
    wait = a.planner.take(Request((99, 0), "/e", {}), it.now)
    assert wait.why == "its share of the window is used; 5 requests are kept for other campaigns (/e)"
    assert wait.until == pytest.approx(BEGIN + 300.0 * 2 / 7, abs=0.1)


def test_a_slot_comes_back_to_the_share_of_a_campaign_whose_request_did_not_reach_the_server():
    members = {name: SimpleNamespace(weight=1.0, eager=True) for name in "ab"}
    shares, window = WindowShares(members), SlidingWindow(4, 300.0)
    shares.note_request("a", BEGIN)
    shares.note_request("b", BEGIN)
    for at in (BEGIN + 1.0, BEGIN + 2.0):
        assert shares.find_slot("a", window, at) == (at, 0)
        shares.take("a", window, at)
        window.take(at)
    assert shares.find_slot("a", window, BEGIN + 3.0)[0] > BEGIN + 3.0
    shares.give_back("a", BEGIN - 1.0)  # of the period before
    assert shares.find_slot("a", window, BEGIN + 3.0)[0] > BEGIN + 3.0
    shares.give_back("a", BEGIN + 2.0)
    window.give_back(BEGIN + 2.0)
    assert shares.find_slot("a", window, BEGIN + 3.0) == (BEGIN + 3.0, 0)


MOVES = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["drop_claim", "claim_share", "claim_share"]), st.floats(0.0, 400.0)),
    max_size=25,
)


@settings(deadline=None, max_examples=many(50))
@given(
    st.integers(1, 20),
    st.lists(st.sampled_from([1.0, 1.0, 2.0, 3.0, 0.5]), min_size=2, max_size=4),
    MOVES,
    st.integers(1, 4),
    st.integers(0, 10**6),
    st.booleans(),
)
def test_whoever_is_always_hungry_has_its_quota_in_every_window_and_all_slots_are_used(  # noqa: PLR0917
    k, weights, moves, most, seed, headers
):
    d, whole = 300.0, sum(weights)
    it = Crowd((Rule(k, d),), lambda: Fixed(k, d), seed, headers=headers)
    campaigns = [it.add(name, weight, most=most) for name, weight in zip(NAMES, weights, strict=False)]
    campaigns[0].claim_share()
    for number, what, gap in moves:
        it.advance(it.now + gap)
        getattr(campaigns[1 + number % (len(campaigns) - 1)], what)()  # the first is always hungry
    it.advance(it.now + 3 * d)
    it.check()
    for begin, end, counts in it.full():
        assert sum(counts.values()) == k
        for campaign, weight in zip(campaigns, weights, strict=True):
            if campaign.stayed(begin, end):
                assert counts.get(campaign.name, 0) >= int(k * weight / whole)
    for (_, end, _), (begin, _, _) in zip(it.full(), it.full()[1:], strict=False):
        assert begin - end <= 2 * it.latency + 2 * ROUNDING + 2 * ALONE + d / 2 * (k < len(weights))


@pytest.mark.parametrize("kind", ["sliding", "aligned"])
@pytest.mark.parametrize(("k", "d"), [(15, 300.0), (1, 2.0), (50, 100.0)])
def test_windows_of_other_kinds_are_divided_too(kind, k, d):
    skew = 17.3

    def referee():
        return Sliding(k, d) if kind == "sliding" else Aligned(k, d, skew)

    it = Crowd((Rule(k, d, kind),), referee, skew=skew, latency=0.05)
    for name, weight in zip("abc", (1, 2, 2), strict=True):
        it.add(name, weight).claim_share()
    it.advance(BEGIN + 60 * d)
    it.check()
    sent = Counter({name: len(campaign.log) for name, campaign in it.campaigns.items()})
    assert sent.total() >= 0.9 * 60 * k
    for name, weight in zip("abc", (1, 2, 2), strict=True):
        assert sent[name] == pytest.approx(sent.total() * weight / 5, rel=0.1, abs=2.0)


def test_two_tokens_are_shared_by_those_that_have_them():
    it = Crowd((Rule(12, 300.0),), lambda: Fixed(12, 300.0))
    it.add("a", tokens=("t",)).claim_share()
    it.add("b", tokens=("t", "u")).claim_share()
    it.advance(BEGIN + 3000.0)
    it.check()
    assert all(counts == {"b": 12} for _, _, counts in it.full("u"))
    assert all(counts == {"a": 6, "b": 6} for _, _, counts in it.full("t"))


class Slots:
    """A window of k slots that never ends by itself."""

    def __init__(self, k, d):
        self.k, self.d, self.taken = k, d, 0

    def count_used(self, now):
        return self.taken

    def find_end(self, now):
        return None


class One:
    def __init__(self, weight):
        self.weight, self.is_claiming = weight, False


@settings(deadline=None)
@given(
    st.integers(1, 12),
    st.lists(st.floats(0.1, 9.0), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 4), st.floats(0.0, 30.0)), max_size=60),
)
def test_a_wait_for_a_share_is_never_over_before_it_began_and_never_outlasts_the_period(k, weights, asks):
    shares, window, now = WindowShares(), Slots(k, 100.0), 1_000.0
    for name, weight in zip(NAMES, weights, strict=False):
        shares.members[name] = One(weight)
    for number, gap in asks:
        name, now = NAMES[number % len(weights)], now + gap
        if now >= shares.end:
            window.taken = 0
        if window.taken >= k:
            continue
        shares.note_request(name, now)
        when, kept = shares.find_slot(name, window, now)
        assert (kept, name in shares.waiting) == (kept, when > now)
        assert now <= when < shares.end or when == now
        if when > now:
            assert kept > 0
            window_then = shares.find_slot(name, window, when)
            assert window_then[0] == when, "nobody took anything meanwhile"
        if shares.find_slot(name, window, now)[0] <= now:
            window.taken += 1
            shares.take(name, window, now)
