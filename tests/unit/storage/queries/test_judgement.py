"""Who would have guessed best: what is stored of those who look on, and how all are judged over the same picks."""

import json
from dataclasses import replace
from io import StringIO
from itertools import pairwise, permutations
from math import inf, isnan, nan

import numpy as np
import pytest
from example_counts import many
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rich.console import Console
from scipy.stats import spearmanr
from stores import AT, a_store, beside, failing, reopened, rows
from tiny_town import Clock, Wire, close, parts_of, stored, story

from socialcrawl.cli.commands.run import Ending, build_object
from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import make_estimator
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Act, Node, Outcome, Pick, Stop
from socialcrawl.errors import StoreError
from socialcrawl.render.campaign_report import CampaignReport, show
from socialcrawl.storage.memory_store import MemoryStore
from socialcrawl.storage.queries.judgement import (
    EstimatorRank,
    Judgement,
    ScoredPicks,
    compute_rank_correlation,
    compute_regret,
    judge_estimators,
    judge_shadows,
    read_scores,
)
from socialcrawl.storage.queries.summary import summarize_campaign

FLOATS = st.one_of(st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.floats(-1e12, 1e12))
VALUES = st.one_of(st.sampled_from([0.0, 0.0, 1.0, 2.5]), st.floats(0.0, 1e6, allow_subnormal=False))


@settings(deadline=None, max_examples=many(100))
@given(st.lists(st.tuples(st.one_of(FLOATS, st.sampled_from([inf, -inf])), VALUES), max_size=30))
def test_the_rank_correlation_is_that_of_scipy(pairs):
    score, value = np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])
    found = compute_rank_correlation(score, value)
    if len(set(score.tolist())) < 2 or len(set(value.tolist())) < 2:
        assert found is None
    else:
        assert found == pytest.approx(spearmanr(score, value).statistic, abs=1e-12)


@settings(deadline=None, max_examples=many(60))
@given(st.lists(st.tuples(st.one_of(FLOATS, st.just(inf), st.just(-inf)), VALUES), max_size=6))
def test_the_regret_is_that_of_the_mean_of_all_orders_that_the_scores_allow(pairs):
    allowed = [order for order in permutations(pairs) if all(a[0] >= b[0] for a, b in pairwise(order))]
    areas = [sum((len(pairs) - place) * value for place, (_, value) in enumerate(order)) for order in allowed]
    best = max(sum((len(pairs) - i) * v for i, (_, v) in enumerate(order)) for order in permutations(pairs))
    found = compute_regret(np.array([a for a, _ in pairs]), np.array([b for _, b in pairs]))
    if not pairs:
        assert found is None
        return
    assert found == pytest.approx(1 - np.mean(areas) / best if best else 0.0, abs=1e-9)
    assert 0.0 <= found < 1.0


def test_the_regret_of_three_picks_by_hand():
    # best: 4, 1, 0 finds 4, 5, 5 = 14; the worst: 0, 1, 4 finds 0, 1, 5 = 6; by chance: 5/3, 10/3, 5 = 10.
    value = np.array([0.0, 4.0, 1.0])
    assert compute_regret(np.array([1.0, 3.0, 2.0]), value) == 0.0
    assert compute_regret(np.array([3.0, 1.0, 2.0]), value) == pytest.approx(1 - 6 / 14)
    assert compute_regret(np.zeros(3), value) == pytest.approx(1 - 10 / 14)
    assert compute_regret(np.array([3.0, 2.0, 2.0]), value) == pytest.approx(1 - (0 + 2.5 + 5) / 14)
    assert compute_rank_correlation(np.array([3.0, 1.0, 2.0]), value) == -1.0
    assert (compute_regret(np.arange(3.0), np.zeros(3)), compute_rank_correlation(np.arange(3.0), np.zeros(3))) == (
        0.0,
        None,
    )


def test_the_best_is_first_and_whoever_says_no_number_is_not_judged_by_it():
    value = np.array([0.0, 4.0, 1.0, 9.0])
    scores = np.array([[3.0, 1.0, 2.0, 0.0], [1.0, 3.0, 2.0, nan], [5.0, 5.0, 5.0, 5.0], [10.0, 30.0, 20.0, inf]])
    found = judge_estimators(ScoredPicks(("steers", "good", "flat", "alike"), scores, value))
    assert found == Judgement(
        3,
        pytest.approx(1 - 10 / 14),
        (
            EstimatorRank("good", False, 1.0, 0.0),
            EstimatorRank("alike", False, 1.0, 0.0),
            EstimatorRank("flat", False, None, pytest.approx(1 - 10 / 14)),
            EstimatorRank("steers", True, -1.0, pytest.approx(1 - 6 / 14)),
        ),
    )
    nothing = judge_estimators(ScoredPicks(("a", "b"), np.empty((2, 0)), np.empty(0)))
    assert nothing == Judgement(0, None, (EstimatorRank("a", True, None, None), EstimatorRank("b", False, None, None)))


def picked(n, score=1.0, act=Act.EXPAND, **shadows):
    return Pick(n, Node(n), act, score, (1.0,) * 8 if act == Act.EXPAND else (), shadows=tuple(shadows.items()))


def found_by(store):
    """What the estimators thought, as plain values."""
    found = store.collect_scores() if isinstance(store, MemoryStore) else read_scores(store.connection, "tiny")
    return None if found is None else (found.names[1:], found.scores.tolist(), found.value.tolist())


def lived(store, picks, **missing):
    """Open and finish picks one by one; pick n is worth n."""
    for pick in picks:
        why = missing.get(f"n{pick.n}")
        store.open((pick,))
        store.finish((pick,), [Outcome(pick.n, pick.node, AT, 0.0 if why else float(pick.n), missing=why)])


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request):
    with a_store(request.param) as made:
        yield made


def test_what_they_thought_is_kept_with_the_pick_and_no_part_of_it(store):
    batch = (picked(0, 0.5, bfs=0.25, nr=-inf), picked(1, inf, bfs=nan, nr=5e-324), picked(2, 1.0))
    assert found_by(store) is None
    store.open(batch)
    bare = tuple(replace(pick, shadows=()) for pick in batch)
    assert list(map(repr, reopened(store).unfinished())) == list(map(repr, bare))
    assert found_by(store) == (("nr",), [[], []], [])
    if not isinstance(store, MemoryStore):
        stored_ = rows(store, "select campaign, n, estimator, score from shadow order by n, estimator")
        assert stored_ == [(1, 0, "bfs", 0.25), (1, 0, "nr", -inf), (1, 1, "nr", 5e-324)], "no row for no number"
    store.finish(batch, [Outcome(n, Node(n), AT, float(n)) for n in range(3)])
    assert list(map(repr, next(iter(reopened(store).history()))[0])) == list(map(repr, bare))
    assert found_by(reopened(store)) == (("nr",), [[0.5, inf], [-inf, 5e-324]], [0.0, 1.0])


@settings(deadline=None, max_examples=15)
@given(st.lists(st.floats(), min_size=1, max_size=12), st.integers(1, 4))
def test_scores_come_back_as_they_were(database, scores, size):
    assume(not isnan(scores[-1]))
    with a_store(database) as store:
        for first in range(0, len(scores), size):
            some = list(enumerate(scores[first : first + size], first))
            store.open(batch := tuple(picked(n, bfs=score) for n, score in some))
            store.finish(batch, [Outcome(n, Node(n), AT, 1.0) for n, _ in some])
        found = read_scores(store.connection, "tiny").scores[1]
        assert found.tolist() == [x for x in scores if not isnan(x)], "but for the sign of zero, which SQLite drops"


def test_judged_are_answered_picks_that_all_scored_who_look_on_today(store):
    lived(
        store,
        [
            picked(0, act="seed", bfs=1.0, nr=1.0),
            picked(1, 5.0),
            picked(2, 6.0, old=1.0),
            picked(3, 7.0, bfs=1.0, old=2.0),
        ],
    )
    lived(store, [picked(4, 8.0, bfs=2.0), picked(5, 9.0, bfs=3.0, nr=1.0), picked(6, 1.0, nr=2.0)])
    lived(store, [picked(7, 2.0, nr=3.0, bfs=4.0), picked(8, 3.0, bfs=5.0, nr=4.0)], n7="deleted")
    assert found_by(store) == (("bfs", "nr"), [[9.0, 3.0], [3.0, 5.0], [1.0, 4.0]], [5.0, 8.0])
    lived(store, [picked(9, 4.0)])
    store.open((picked(10, 4.5, bfs=7.0),))
    assert found_by(store)[0] == ("bfs",)
    assert found_by(store)[2] == [3.0, 4.0, 5.0, 8.0], "the open one has no value yet, pick 7 was missing"


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_only_picks_of_the_same_topic_and_way_are_judged(kind):
    with a_store(kind) as store:
        lived(store, [picked(n, bfs=float(n)) for n in range(6)])
        for number, (first, why) in enumerate([(1, "forget"), (2, "seeds,topic"), (4, "accounts"), (5, "topics")], 1):
            with store.connection.begin():
                store.connection.exec_driver_sql(f"insert into epoch values (1, {number}, {first}, 'now', '{why}')")
        assert found_by(store)[2] == [2.0, 3.0, 4.0, 5.0]
        with store.connection.begin():
            store.connection.exec_driver_sql("insert into epoch values (1, 5, 4, 'now', 'crawl')")
        assert found_by(store)[2] == [4.0, 5.0]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_each_campaign_has_its_own_judgement_and_names_who_steers_today(kind):
    with a_store(kind) as store:
        other = beside(store)
        lived(store, [picked(n, float(n), bfs=1.0) for n in range(4)])
        lived(other, [picked(n, float(-n), nr=2.0) for n in range(3)])
        mine, theirs = judge_shadows(store.connection, "tiny"), judge_shadows(store.connection, "second")
        assert [(one.estimator, one.steered) for one in mine.estimators] == [("", True), ("bfs", False)]
        assert (mine.picks, theirs.picks, theirs.estimators[0].estimator) == (4, 3, "nr")
        assert judge_shadows(store.connection, "nobody") is None
        for number, name in ((1, "lnh-sum"), (2, "hybrid-sum")):
            with store.connection.begin():
                settings_ = f"""'{{"crawl": {{"estimator": "{name}"}}}}'"""
                store.connection.exec_driver_sql(
                    f"insert into version values (1, {number}, 'now', 0, {settings_}, '[]')"
                )
        assert judge_shadows(store.connection, "tiny").estimators[0] == EstimatorRank("hybrid-sum", True, 1.0, 0.0)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_picks_and_what_was_thought_of_them_are_one_transaction(kind):
    with a_store(kind) as store:
        with failing(store.connection, "shadow"), pytest.raises(StoreError):
            store.open((picked(0, bfs=1.0),))
        assert reopened(store).unfinished() == ()
        store.open((picked(0, bfs=1.0),))
        assert found_by(store) == (("bfs",), [[], []], [])


SHADOWS = ("bfs", "lnh-sum", "random")


def parts_in_company(store, wire, *, steps=9):
    """The crawl of the town with others who look on."""
    alone = parts_of(store, wire, steps=steps)
    others = {name: make_estimator(name, seed=3, switch_after=3) for name in SHADOWS}
    by = alone.crawl
    return replace(alone, crawl=Collect(by.seeds, by.estimator, steps, by.width, shadows=others))


@pytest.mark.parametrize("size", [1, 3])
def test_a_campaign_of_the_town_in_company_is_the_same_campaign_on_every_store(place, size):
    memory, alone, sql = MemoryStore(), MemoryStore(), stored(place)
    run(parts_of(alone, Wire(Clock()), steps=9), size=size)
    for store in (memory, sql):
        assert run(parts_in_company(store, Wire(Clock())), size=size).kind == "done"
    assert story(memory) == story(sql) == story(alone)
    assert found_by(memory) == found_by(sql)
    assert len(found_by(sql)[2]) >= 6
    assert (found_by(alone), judge_shadows(sql.connection, "tiny").picks) == (None, len(found_by(sql)[2]))
    close(sql)


@pytest.mark.parametrize("size", [1, 3])
def test_what_they_think_after_a_restart_is_what_they_would_have_thought(tmp_path, size):
    whole, broken = stored(tmp_path / "whole.db"), stored(tmp_path / "broken.db")
    run(parts_in_company(whole, Wire(Clock())), size=size)
    wire = Wire(Clock())
    for steps in range(1, 10):
        run(parts_in_company(reopened(broken), wire, steps=steps), size=1 if size == 1 else min(size, steps))
    if size == 1:
        assert found_by(broken) == found_by(whole)
    assert len(rows(broken, "select * from shadow")) == len(rows(whole, "select * from shadow")) > 0
    close(whole)
    close(broken)


def printed(store):
    console = Console(width=100, record=True, file=StringIO())
    judgement = judge_shadows(store.connection, "tiny")
    show(console, CampaignReport(summarize_campaign(store.connection), billed=False, judgement=judgement))
    return console.export_text()


def test_the_report_shows_who_would_have_guessed_best_where_somebody_looked_on(place):
    store = stored(place)
    run(parts_in_company(store, Wire(Clock())))
    told = printed(store)
    found = judge_shadows(store.connection, "tiny")
    lines = [line.rstrip() for line in told.splitlines()]
    begin = lines.index("estimators by how they order accounts, lowest regret first") + 2
    shown = [line.split() for line in lines[begin : begin + 4]]
    assert [line[0] for line in shown] == [one.estimator or "?" for one in found.estimators]
    assert sum("steered" in line for line in shown) == 1
    assert sum("shadow" in line for line in shown) == 3
    assert [line[-1] for line in shown] == [str(found.picks)] * 4
    assert [line[-2] for line in shown] == ["-"] * 4, "nine picks are too few to compare orders"
    assert [line[-3] for line in shown] == [f"{one.regret:.3f}" for one in found.estimators]
    assert f"an order by chance has a regret of {found.chance:.3f}" in told
    ending = Ending(Stop("done", "done"), CampaignReport(summarize_campaign(store.connection), False, found))
    guesses = json.loads(json.dumps(build_object(ending)))["guesses"]
    assert (guesses["picks"], guesses["estimators"][0]["regret"]) == (found.picks, found.estimators[0].regret)
    assert "guesses" not in build_object(replace(ending, report=replace(ending.report, judgement=None)))
    close(store)


def test_the_report_says_nothing_of_estimators_where_nobody_looked_on(place):
    store = stored(place)
    run(parts_of(store, Wire(Clock())))
    assert "estimators by" not in printed(store)
    close(store)
