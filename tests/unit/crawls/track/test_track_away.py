"""Accounts that were lost and may be back: when they are asked again, what they hold meanwhile, and what is told."""

import copy
from collections import defaultdict

import httpx
import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from test_track import state_of
from test_track_campaign import LIMIT, crawled
from time_graphs import Timed, answer, drive, tell, track
from x_crawls import posts_file, rows

from socialcrawl.campaign.settings import check_settings
from socialcrawl.crawls.track.target import Target
from socialcrawl.crawls.track.tracked_graph import CRAWLED, FRONTIER
from socialcrawl.crawls.track.visit_policies import PolicyMixture
from socialcrawl.engine.model import SameAs, Stop, Wait
from socialcrawl.errors import SettingsError
from socialcrawl.mock.server import serve_in_thread

BACK = PolicyMixture("gai", "u", 1.0, 1)
AGAIN = 100.0
REASONS = ("suspended", "protected", "deleted", "unknown")
FOR_GOOD = ("excluded", "opted-out", "forgotten")


def asked(crawl, now, size=20):
    """Who would be asked, in order of their names; nobody where the crawl waits or stops."""
    choice = crawl.choose(size, now)
    return sorted(pick.node for pick in choice) if isinstance(choice, tuple) else []


@pytest.mark.parametrize("why", REASONS)
def test_who_was_lost_is_away_for_a_while_and_then_asked_from_its_mark_on(why):
    crawl = track(0, 1, choice=BACK, again=AGAIN, mark=repr, window=1000.0)
    tell(crawl, 0, "seed", at=5.0, links=[1, 2], mark="post 7")
    tell(crawl, 1, "seed", at=5.0)
    tell(crawl, 0, "recrawl", at=10.0, missing=why)
    assert asked(crawl, 109.9) == [1]
    assert crawl.gone == {0: why}
    assert 0 not in dict(crawl.rank_nodes())
    (one, other) = sorted(crawl.choose(9, 110.0), key=lambda pick: pick.node)
    assert (one.node, one.act, one.since, other.node) == (0, "recrawl", "post 7", 1)
    assert crawl.gone == {0: why}
    (late, _) = sorted(crawl.choose(9, 1005.1), key=lambda pick: pick.node)
    assert late.since == repr(1005.1 - 1000.0)
    tell(crawl, 0, "recrawl", "post 7", at=111.0, links=[3])
    assert crawl.gone == {}
    assert 0 in dict(crawl.rank_nodes())
    assert asked(crawl, 111.0) == [0, 1]


def test_the_pause_doubles_with_every_loss_in_a_row_and_an_answer_ends_the_row():
    crawl = track(0, 1, choice=BACK, again=AGAIN)
    for node in (0, 1):
        tell(crawl, node, "seed")
    lost = 0.0
    for pause in (100, 200, 400, 800):
        tell(crawl, 0, "recrawl", at=lost, missing="suspended")
        assert asked(crawl, lost + pause - 0.1) == [1]
        assert asked(crawl, lost + pause) == [0, 1]
        lost += pause
    tell(crawl, 0, "recrawl", at=lost)
    tell(crawl, 0, "recrawl", at=lost, missing="protected")
    assert asked(crawl, lost + 99.9) == [1]
    assert asked(crawl, lost + 100.0) == [0, 1]


@pytest.mark.parametrize("why", [*FOR_GOOD, SameAs(1)])
def test_some_are_never_asked_again(why):
    crawl = track(0, 1, choice=BACK, again=AGAIN)
    for node in (0, 1):
        tell(crawl, node, "seed")
    tell(crawl, 0, "recrawl", missing=why)
    assert asked(crawl, 1e12) == [1]


@pytest.mark.parametrize("why", FOR_GOOD)
def test_who_is_away_and_then_gone_for_good_is_not_asked_again(why):
    crawl = track(0, 1, choice=BACK, again=AGAIN)
    for node in (0, 1):
        tell(crawl, node, "seed")
    tell(crawl, 0, "recrawl", missing="suspended")
    tell(crawl, 0, "recrawl", at=150.0, missing=why)
    assert asked(crawl, 1e12) == [1]


def test_without_a_pause_nobody_who_was_lost_is_asked_again():
    crawl = track(0, 1, choice=BACK)
    for node in (0, 1):
        tell(crawl, node, "seed")
    tell(crawl, 0, "recrawl", missing="suspended")
    assert asked(crawl, 1e12) == [1]
    assert crawl.graph.away == {}


def test_who_fails_three_times_in_a_row_is_away_and_has_three_more_tries_then():
    crawl = track(0, 1, choice=BACK, again=AGAIN)
    for node in (0, 1):
        tell(crawl, node, "seed")
    for lost, pause in ((10.0, 100.0), (200.0, 200.0)):
        for tries in (1, 2, 3):
            assert crawl.failures.get(0, 0) == tries - 1
            tell(crawl, 0, "recrawl", at=lost, missing="temporary")
        assert crawl.gone == {0: "temporary"}
        assert asked(crawl, lost + pause - 0.1) == [1]
        assert asked(crawl, lost + pause) == [0, 1]


def test_an_unknown_account_is_left_out_of_the_frontier_until_an_answer_comes_after_its_pause():
    crawl = track(choice=PolicyMixture("gai", "u", 0.0, 1), again=AGAIN)
    tell(crawl, 0, "seed", links=[1, 2])
    tell(crawl, 1, at=10.0, missing="unknown")
    assert (crawl.graph.left, asked(crawl, 109.0), asked(crawl, 110.0)) == (1, [2], [1, 2])
    assert crawl.graph.left == 1  # choosing changes nothing
    assert not crawl._was_asked(2)
    assert crawl._was_asked(1)  # it needs not be asked as a seed, where a search finds it
    tell(crawl, 2, at=110.0)
    assert (crawl.graph.left, [pick.act for pick in crawl.choose(9, 110.0)]) == (1, ["expand"])
    tell(crawl, 1, at=111.0)
    assert (crawl.graph.left, crawl.graph.is_crawled(1)) == (0, True)


# -- Waiting


def test_where_nobody_else_is_left_the_crawl_waits_for_the_first_who_may_be_back():
    crawl = track(choice=PolicyMixture("gai", "u", 0.0, 1), again=AGAIN)
    tell(crawl, 0, "seed", links=[1, 2, 3])
    tell(crawl, 1, at=10.0, missing="suspended")
    tell(crawl, 2, at=20.0, missing="suspended")
    tell(crawl, 3, at=20.0)
    wait = crawl.choose(5, 30.0)
    assert (type(wait), wait.until) == (Wait, 110.0)
    assert asked(crawl, wait.until) == [1]
    tell(crawl, 1, at=110.0, missing="suspended")
    assert crawl.choose(5, 110.0).until == 120.0
    tell(crawl, 2, at=120.0)
    assert crawl.choose(5, 120.0).until == 310.0
    tell(crawl, 1, at=310.0)
    assert isinstance(crawl.choose(5, 310.0), Stop)


def test_the_crawl_waits_for_who_rests_or_is_away_whoever_is_first_and_only_for_whom_it_would_ask():
    made = lambda p: track(0, 1, choice=PolicyMixture("gai", "u", p, 1), again=AGAIN, rest=50.0)  # noqa: E731 (made thrice)
    for p, until in ((1.0, 60.0), (0.5, 60.0)):
        crawl = made(p)
        tell(crawl, 0, "seed", at=10.0)
        tell(crawl, 1, "seed", at=10.0, missing="suspended")
        assert crawl.choose(3, 10.0).until == until
    never_back = made(0.0)
    tell(never_back, 0, "seed", at=10.0)
    tell(never_back, 1, "seed", at=10.0)
    tell(never_back, 1, "recrawl", at=60.0, missing="suspended")
    assert isinstance(never_back.choose(3, 60.0), Stop)
    rested = made(1.0)
    tell(rested, 0, "seed", at=10.0)
    tell(rested, 1, "seed", at=10.0)
    tell(rested, 1, "recrawl", at=60.0, missing="suspended")
    tell(rested, 0, "recrawl", at=140.0)
    assert rested.choose(3, 141.0).until == 160.0  # before the rest of the other is over


def test_who_failed_for_a_while_is_asked_before_the_crawl_waits_for_who_is_away():
    crawl = track(choice=PolicyMixture("gai", "u", 0.0, 1), again=AGAIN)
    tell(crawl, 0, "seed", links=[1, 2])
    tell(crawl, 1, missing="suspended")
    tell(crawl, 2, missing="temporary")
    assert asked(crawl, 0.0) == [2]


def test_a_seed_that_was_away_before_it_could_be_read_is_asked_as_a_seed_whatever_the_policies():
    for p in (0.0, 0.5, 1.0):
        crawl = track(0, 1, choice=PolicyMixture("gai", "u", p, 1), again=AGAIN)
        tell(crawl, 0, "seed", links=[5, 6])
        tell(crawl, 1, "seed", at=10.0, missing="suspended")
        assert 1 not in asked(crawl, 109.0)
        (pick,) = crawl.choose(1, 110.0)
        assert (pick.act, pick.node) == ("seed", 1)
        crawl.absorb((pick,), [answer(pick, 110.0)])
        assert (crawl.gone, crawl.graph.is_crawled(1)) == ({}, True)


def test_where_no_seed_can_be_read_the_crawl_fails_rather_than_waits_and_may_go_on_another_day():
    crawl = track(again=AGAIN)
    tell(crawl, 0, "seed", missing="suspended")
    assert crawl.choose(1, 0.0).kind == "failed"
    assert [(pick.act, pick.node) for pick in crawl.choose(1, 100.0)] == [("seed", 0)]


# -- The referee


class Referee:
    """Who may be asked: by a look at everything that ever happened to an account."""

    def __init__(self, again, rest):
        self.again, self.rest, self.story = again, rest, defaultdict(list)

    def row(self, node):
        """Since the last answer: when it was lost, and how often it failed after that."""
        lost, failed = [], 0
        for at, missing in self.story[node]:
            failed = failed + 1 if missing == "temporary" else 0
            if missing is None:
                lost = []
            elif missing in REASONS or failed == 3:
                lost, failed = [*lost, at], 0
        return lost, failed

    def away(self, node, now):
        lost, _ = self.row(node)
        return bool(lost) and (self.again is None or now < lost[-1] + self.again * 2 ** (len(lost) - 1))

    def may(self, node, now):
        lost, failed = self.row(node)
        if failed or self.away(node, now) or any(missing in FOR_GOOD for _, missing in self.story[node]):
            return False  # who failed for a while rests until more was decided than is here
        visits = [at for at, missing in self.story[node] if missing is None]
        return bool(lost or not visits or not self.rest) or now >= visits[-1] + self.rest


EVENTS = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.sampled_from([None, None, "suspended", "unknown", "temporary", "temporary", "excluded"]),
        st.sampled_from([0.0, 10.0, 90.0, 300.0]),  # seconds later
    ),
    max_size=16,
)


def open_rows(crawl, state):
    """Whom the policies choose among."""
    tree = crawl.graph.make_urn(state)
    leaves = tree.settle()[tree._leaves :][: crawl.graph.size]
    return {crawl.graph.nodes[row] for row, weight in enumerate(leaves) if weight}


@settings(deadline=None, max_examples=many(60))
@given(EVENTS, st.sampled_from([0.0, 150.0]), st.sampled_from([None, AGAIN]))
def test_who_may_be_asked_is_who_the_referee_says_at_any_time(events, rest, again):
    crawl, referee, at = (
        track(9, choice=PolicyMixture("ai", "u", 0.5, 1), rest=rest, again=again),
        Referee(again, rest),
        0.0,
    )
    tell(crawl, 9, "seed", links=range(5))
    referee.story[9].append((0.0, None))
    for node, missing, later in events:
        at += later
        if referee.may(node, at) or referee.row(node)[1]:  # the others no crawl would ask
            tell(crawl, node, "recrawl" if crawl.graph.is_crawled(node) else "expand", at=at, missing=missing)
            referee.story[node].append((at, missing))
    for now in (at, at + 50, at + 100, at + 450, at + 1e5, at + 20, at - 30):
        crawl.graph.wake(now)
        unread = {node for node in (*range(5), 9) if all(missing for _, missing in referee.story[node])}
        may = {node for node in (*range(5), 9) if referee.may(node, now)}
        assert open_rows(crawl, FRONTIER) == may & unread
        assert open_rows(crawl, CRAWLED) == may - unread
    # As of the latest answer.
    last = crawl.latest
    assert crawl.graph.left == sum(referee.may(node, last) for node in unread)
    assert set(crawl.graph.lost) == {
        crawl.graph.row(node)
        for node in range(5)
        if referee.away(node, last) or any(missing in FOR_GOOD for _, missing in referee.story[node])
    }


# -- Cash


@pytest.mark.parametrize("memory", [None, 2.0])
def test_who_is_away_holds_no_cash_and_comes_back_as_a_newcomer_whom_the_richest_choice_can_find(memory):
    crawl = track(
        0, 1, 2, choice=PolicyMixture("opic", "opic", 1.0, 3), again=AGAIN, target=Target("importance", memory=memory)
    )
    for node in (0, 1, 2):
        tell(crawl, node, "seed", links=[0, 1, 2])
    cash, graph = crawl.graph.cash, crawl.graph
    tell(crawl, 0, "recrawl", at=10.0, missing="suspended")
    for at in (11.0, 60.0, 109.0):
        tell(crawl, 1, "recrawl", at=at, links=[0])
        tell(crawl, 2, "recrawl", at=at, links=[0])
        assert (graph.column("cash")[0], cash.size) == (0.0, 2)
        assert cash.sum_cash() == pytest.approx(1.0, abs=1e-12)
        assert {pick.node for pick in crawl.choose(1, at)} < {1, 2}
    # Asked when nothing was answered since, it is the last: it holds nothing.
    assert [pick.node for pick in crawl.choose(3, 110.0)][-1] == 0
    assert graph.find_heaviest(CRAWLED, "cash").find_best(frozenset({1, 2})) == 0
    tell(crawl, 1, "recrawl", at=110.0)
    tell(crawl, 2, "recrawl", at=110.0)
    assert cash.size == 3
    assert graph.column("cash")[0] > 0
    assert cash.sum_cash() == pytest.approx(1.0, abs=1e-12)
    (pick,) = crawl.choose(1, 111.0)
    assert pick.node == 0  # the others have just paid
    tell(crawl, 0, "recrawl", at=111.0, missing="suspended")
    assert (graph.column("cash")[0], cash.size) == (0.0, 2)


def test_another_name_of_who_is_away_ends_the_pause():
    crawl = track(0, 1, choice=BACK, again=AGAIN, target=Target("importance"))
    tell(crawl, 0, "seed", links=[3, 1])
    tell(crawl, 1, "seed", links=[4], mark="post 1")
    tell(crawl, 1, "recrawl", missing="suspended")
    assert asked(crawl, 1.0) == [0]
    tell(crawl, 0, "recrawl", missing=SameAs(1))
    assert (crawl.gone, crawl.losses, asked(crawl, 1.0)) == ({}, {}, [1])
    cash = crawl.graph.cash
    assert cash.sum_cash() == pytest.approx(1.0, abs=1e-12)
    assert cash.size == cash.known.sum() == 3


def test_an_away_name_that_turns_out_to_be_another_is_that():
    crawl = track(0, 1, choice=BACK, again=AGAIN)
    tell(crawl, 0, "seed", links=[3])
    tell(crawl, 1, "seed", links=[4], mark="post 1")
    tell(crawl, 1, "recrawl", missing="suspended")
    tell(crawl, 1, "recrawl", at=100.0, missing=SameAs(7))
    assert (crawl.gone, crawl.graph.away, asked(crawl, 100.0)) == ({}, {}, [0, 7])
    tell(crawl, 7, "recrawl", at=100.0, missing="suspended")
    tell(crawl, 7, "recrawl", at=200.0, missing=SameAs(1))  # it changed its name back
    assert (crawl.gone, crawl.graph.away, asked(crawl, 200.0)) == ({}, {}, [0, 1])


# -- Replay

SETUPS = [
    ("ai", "or", Target(parallel="each"), 0.0),
    ("gai", "ldu", Target(parallel="visits"), 90.0),
    ("ai", "opic", Target("importance", memory=2.0), 0.0),
    ("opic", "opic", Target("importance", lean=-1.0), 70.0),
    ("opic", "oru", Target("importance", topical=True, lean=0.5), 0.0),
]


def failing(pick):
    return {0: "suspended", 30: "forgotten", 33: SameAs(3), 44: SameAs(90)}.get(pick.n) or (
        {0: "suspended", 1: "unknown", 2: "temporary"}.get(pick.n % 7) if pick.n > 4 else None
    )


def lossy(expansion, recrawl, target, rest):
    return track(
        0,
        1,
        choice=PolicyMixture(expansion, recrawl, 0.5, 3),
        mark=repr,
        window=400.0,
        target=target,
        rest=rest,
        again=60.0,
    )


@pytest.mark.parametrize("setup", SETUPS)
@pytest.mark.parametrize("size", [1, 4])
def test_folding_is_absorbing_and_who_was_away_came_back_in_it(setup, size):
    crawl, world = lossy(*setup), Timed(30, 200, 2000.0, seed=1, window=400.0)
    history = drive(crawl, world, 160, size, failing)
    told = [(p.node, o.missing) for batch, outcomes in history for p, o in zip(batch, outcomes, strict=True)]
    back = {node for i, (node, why) in enumerate(told) if why in REASONS and (node, None) in told[i:]}
    assert back
    again = lossy(*setup)
    again.fold(history)
    now = 20.0 * crawl.picks
    assert again.choose(5, now) == crawl.choose(5, now)
    for one in (again, crawl):
        one.graph._due.sort()  # a heap, in which the same may lie in another order
    assert repr((state_of(again), again.losses)) == repr((state_of(crawl), crawl.losses))
    twin = lossy(*setup)
    at = 0.0
    for batch, outcomes in history:
        assert twin.choose(len(batch) if len(batch) == size else size, at) == batch
        twin.absorb(batch, outcomes)
        at = outcomes[-1].at


@pytest.mark.parametrize("setup", SETUPS)
def test_choosing_for_any_time_changes_nothing(setup):
    crawl = lossy(*setup)
    drive(crawl, Timed(30, 200, 2000.0, seed=2), 60, 1, failing)
    now = 20.0 * crawl.picks
    first = [crawl.choose(size, now) for size in (1, 3, 9)]
    gone, left, money = copy.copy(crawl.gone), crawl.graph.left, crawl.graph.column("cash")
    for size, other in ((2, now + 1e6), (4, now), (1, now - 1e6), (9, now + 61), (3, now - 61), (50, now)):
        crawl.choose(size, other)
    assert (crawl.gone, crawl.graph.left) == (gone, left)
    assert np.array_equal(crawl.graph.column("cash"), money)
    assert [crawl.choose(size, now) for size in (1, 3, 9)] == first


@pytest.mark.parametrize("setup", SETUPS)
def test_trees_hold_what_is_known_now_after_every_visit_and_loss(setup):
    crawl, world = lossy(*setup), Timed(30, 200, 2000.0, seed=6)
    for picks in range(1, 90):
        drive(crawl, world, picks, 1, failing)
        crawl.graph.wake(20.0 * picks)
        for tree in crawl.graph._trees.values():
            leaves = tree.settle()[tree._leaves :]
            assert leaves[: crawl.graph.size] == [tree._weigh(row) for row in range(crawl.graph.size)]


# -- Settings, and live


@pytest.mark.parametrize(
    ("given", "seconds"), [({}, 14 * 86_400.0), ({"again": "never"}, None), ({"again": "2d"}, 172_800.0)]
)
def test_a_campaign_says_when_the_lost_are_tried_again(given, seconds):
    assert (
        check_settings(
            {"name": "a", "kind": "track", "topic": {"keywords": ["sky"]}, "track": given}, "a"
        ).track.absence
        == seconds
    )


@pytest.mark.parametrize("given", ["", "14", "soon", "always", 14, True])
def test_what_is_no_span_of_time_is_refused(given):
    with pytest.raises(SettingsError, match="again"):
        check_settings(
            {"name": "a", "kind": "track", "topic": {"keywords": ["sky"]}, "track": {"again": given}}, "a.toml"
        )


def fault(mock, kind, names):
    rules = [{"kind": kind, "account": name} for name in names]
    httpx.post(f"{mock.url}/_mock/faults", json={"fault": rules}).raise_for_status()


def test_accounts_that_were_suspended_and_restored_are_read_again_live(tmp_path):
    database = tmp_path / "a.db"
    track = {"recrawl": "u", "p": 1.0, "again": "0.000001s", "rest": "0.000001s"}
    with serve_in_thread(posts_file(), limit=LIMIT) as mock:
        crawled(mock.url, database, 10, **track)
        names = [name for (name,) in rows(database, "select account from tracked_account where visits > 0 order by 1")][
            :3
        ]
        fault(mock, "suspend", names)
        crawled(mock.url, database, 70, **track)
        gone = dict(rows(database, "select account, gone from tracked_account where gone is not null and visits > 0"))
        assert gone == dict.fromkeys(names, "suspended")
        fault(mock, "restore", names)
        crawled(mock.url, database, 160, **track)
    gone = dict(rows(database, "select account, gone from tracked_account where gone is not null and visits > 0"))
    assert gone == {}
