"""The crawl that refreshes: its order against rules written out once more, its ends, what it makes of odd answers."""

import numpy as np
import pytest
from old_datasets import bring, drive, lines_of, order_of, refresh, said, web
from pydantic import ValidationError

from socialcrawl.crawls.refresh.cost import assign_workers
from socialcrawl.crawls.refresh.liveranks import DYNAMIC, RANKS, SAMPLED, STATIC, LiveRanks
from socialcrawl.crawls.refresh.old_dataset import OldDataset
from socialcrawl.crawls.refresh.section import RefreshSection
from socialcrawl.engine.model import Node, Pick, SameAs, Stop


def referee(old, active, rank, z, seed=1):
    """The order of a crawl of one test at a time, by the words of the paper, without any cleverness."""
    ranks = LiveRanks(old, seed)
    tested = ranks.choose_training("random", z).tolist()
    if rank not in DYNAMIC:
        return tested + ranks.order(rank, np.array(tested, int), active[tested]).tolist()
    by_p = ranks.order_static("pagerank").tolist()
    queue = [v for u in tested if active[u] for v in old.list_targets(u).tolist()]
    while len(tested) < old.size:
        if rank == "bfs":
            left = [v for v in queue if v not in tested] or [v for v in by_p if v not in tested]
            row = left[0]
        elif rank == "ai":
            score = {v: sum(v in old.list_targets(u) for u in tested if active[u]) for v in by_p if v not in tested}
            row = max(score, key=score.get)  # of equals the first, by PageRank
        else:
            found = np.array([u for u in tested if active[u]], int)
            y = ranks.score_adaptive(found)
            top = sorted(by_p, key=lambda v: -y[v])[: len(found)]
            y = ranks.score_adaptive(np.array([v for v in top if y[v] > 0], int))
            row = max((v for v in by_p if v not in tested), key=lambda v: y[v])
        tested.append(row)
        if active[row]:
            queue += old.list_targets(row).tolist()
    return tested


@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_crawl_of_one_test_at_a_time_goes_by_the_words_of_the_paper(rank, seed):
    old, active = web(24, 70, seed)
    crawl = refresh(old, rank=rank, z=6)
    assert order_of(drive(crawl, active)) == referee(old, active, rank, 6)
    assert (crawl.picks, crawl.taken, crawl.relevance) == (24, 24, active.sum())


@pytest.mark.parametrize("rank", [*STATIC, *SAMPLED])
def test_the_size_of_batches_does_not_change_an_order_that_is_not_dynamic(rank):
    old, active = web(60, 200)
    orders = [order_of(drive(refresh(old, rank=rank, z=10, width=width), active, size)) for size, width in
              [(1, 1), (7, 1), (3, 5)]]  # fmt: skip
    assert orders[0] == orders[1] == orders[2]


@pytest.mark.parametrize("rank", RANKS)
def test_a_batch_fills_requests_but_never_reaches_from_the_training_set_into_the_rest(rank):
    old, active = web(100, 300)
    batches = [[pick.node for pick in batch] for batch, _ in drive(refresh(old, rank=rank, z=25, width=10), active, 2)]
    assert [len(batch) for batch in batches] == [20, 5, 20, 20, 20, 15]
    assert sorted(node for batch in batches for node in batch) == list(range(100))


@pytest.mark.parametrize("rank", DYNAMIC)
def test_dynamic_orders_learn_after_every_batch(rank):
    old, active = web(80, 300, 3)
    history = drive(refresh(old, rank=rank, z=10), active, 12)
    for k in range(2, len(history)):
        again = refresh(old, rank=rank, z=10)
        for batch, outcomes in history[:k]:
            again.absorb(batch, outcomes)
        assert again.choose(12, 0.0) == history[k][0]  # what was kept on the way is what the history says
    dull = drive(refresh(old, rank=rank, z=10), np.zeros(80, bool), 12)
    assert order_of(dull) != order_of(history)


def test_the_score_of_a_pick_is_what_its_place_goes_by():
    old, active = web(60, 300)
    scores = {}
    for rank in (*RANKS,):
        batch = drive(refresh(old, rank=rank, z=10), active, 5, most=15)[2][0]
        scores[rank] = [pick.score for pick in batch]
        assert scores[rank] == sorted(scores[rank], reverse=True)
    assert scores["random"] == scores["bfs"] == [0.0] * 5
    assert scores["indegree"] == [
        float(old.indegree[row]) for row in order_of(drive(refresh(old, rank="indegree", z=10), active))[10:15]
    ]
    assert 1.0 <= scores["ai"][0] == int(scores["ai"][0])


def test_nodes_that_are_tested_to_estimate_come_first_and_train_nobody():
    old, active = web(60, 200)
    crawl = refresh(old, rank="pa+-", training="pagerank", z=10, check=20, width=100)
    history = drive(crawl, active)
    trained = LiveRanks(old, 1).choose_training("pagerank", 10)
    checked = LiveRanks(old, 1).choose_training("random", 20, purpose="liverank check").tolist()
    first, second = ([pick.node for pick in batch] for batch, _ in history)
    assert first == [*checked, *(row for row in trained.tolist() if row not in checked)], "one round: all known before"
    wanted = LiveRanks(old, 1).order("pa+-", trained, active[trained]).tolist()
    assert second == [row for row in wanted if row not in first]
    known = crawl.estimate()
    assert (known.tested, known.value, known.low, known.high) == (60, active.sum(), active.sum(), active.sum())


def test_it_is_done_when_the_wanted_fraction_of_the_estimate_is_found():
    old, active = web(400, 2000)
    crawl = refresh(old, rank="pa", z=100, fraction=0.5, stop="estimate")
    drive(crawl, active)
    known = crawl.estimate()
    assert known.value == 4.0 * active[LiveRanks(old, 1).choose_training("random", 100)].sum()
    assert known.found - 1 < 0.5 * known.value <= known.found == crawl.relevance
    assert known.tested < 400
    end = crawl.choose(1, 0.0)
    assert end.kind == "done"
    assert f"{known.found} active nodes found with {known.tested} tests, of about {known.value:.0f} (" in end.why


def test_no_fraction_counts_before_the_whole_sample_is_tested():
    old, _ = web(100, 300)
    assert len(drive(refresh(old, rank="pa", z=60, fraction=0.01), np.ones(100, bool))) == 60


def test_it_ends_with_its_steps_or_with_the_dataset_and_says_so():
    old, active = web(30, 60)
    short = refresh(old, z=5, steps=12, width=5)
    assert [len(batch) for batch, _ in drive(short, active)] == [5, 5, 2]
    assert short.choose(1, 0.0) == Stop("done", "the limit of 12 steps is reached")
    whole = refresh(old, z=5)
    drive(whole, active)
    assert whole.choose(1, 0.0) == Stop(
        "done", f"every node of the dataset was tested: {active.sum()} of 30 are active"
    )


def test_without_a_dataset_it_says_how_to_bring_one():
    stop = refresh().choose(1, 0.0)
    assert stop.kind == "failed"
    assert "socialcrawl import FILE --as dataset" in stop.why


def test_active_site_first_without_sites_fails_and_names_what_to_take_instead():
    crawl = refresh(rank="asf")
    bring(crawl, [(3, [5], "", None), (5, [], "", None)])
    assert crawl.choose(1, 0.0) == Stop(
        "failed",
        "active-site first (asf) needs sites, and no node of this dataset has one: take another rank, pa+- or pa",
    )


def test_a_dataset_that_picks_bring_is_refreshed_as_one_that_was_given():
    old, active = web(50, 150)
    crawl = refresh(z=10, rank="asf")
    bring(crawl, lines_of(old))
    assert (crawl.imported, crawl.graph.size, crawl.graph.left, crawl.picks, crawl.taken) == (50, 50, 50, 50, 0)
    assert order_of(drive(crawl, active)) == order_of(drive(refresh(old, z=10, rank="asf"), active))


def test_nodes_that_are_only_linked_to_count_where_that_is_wanted():
    for linked, nodes in ((False, [3, 5]), (True, [3, 5, 8])):
        crawl = refresh(linked=linked, z=0)
        bring(crawl, [(3, [5, 8, 9], "", None), (5, [8], "", None), (9, [3], "", "forgotten")])
        assert sorted(order_of(drive(crawl, np.zeros(10)))) == nodes


def test_a_late_import_joins_in_and_what_was_tested_stays_tested():
    old, active = web(60, 200)
    lines = lines_of(old)
    crawl, whole = (refresh(z=10, rank="pa") for _ in range(2))
    bring(crawl, lines[:40])
    before = set(order_of(drive(crawl, active, most=40 + 25)))
    bring(crawl, lines[40:])
    bring(whole, lines)
    assert (crawl.graph.size, crawl.graph.left) == (60, 35)
    order = order_of(drive(crawl, active))
    training = [row for row in whole.view.training.tolist() if row not in before]
    assert training
    assert order[: len(training)] == training
    assert sorted([*before, *order]) == list(range(60))
    assert crawl.relevance == active.sum()


# -- Odd answers


def test_a_node_that_fails_for_a_while_is_asked_again_later_and_given_up_after_three_times():
    old, active = web(80, 200)
    crawl = refresh(old, z=10, rank="pa")
    tries = {}

    def odd(pick):
        tries.setdefault(pick.node, []).append(pick.n)
        if pick.node == victim or (pick.node == brief and len(tries[pick.node]) == 1):
            return said(pick, missing="temporary")
        return None

    order = referee(old, active, "pa", 10)
    victim, brief = order[15], order[20]
    drive(crawl, active, odd=odd)
    assert tries[victim] == [15, 35, 55]
    assert tries[brief] == [20, 40]
    assert crawl.failures == {victim: 3}
    assert all(len(n) == 1 for node, n in tries.items() if node not in (victim, brief))
    assert crawl.estimate().tested == 80
    assert crawl.graph.left == 0


def test_the_training_set_waits_for_those_who_failed_but_asks_them_at_once_when_nobody_else_is_left():
    old, active = web(40, 100)
    crawl = refresh(old, z=5, rank="pa")
    first = LiveRanks(old, 1).choose_training("random", 5).tolist()
    failed = []

    def odd(pick):
        if pick.node == first[2] and not failed:
            failed.append(pick.n)
            return said(pick, missing="temporary")
        return None

    order = order_of(drive(crawl, active, odd=odd))
    assert order[:6] == [*first, first[2]]
    assert order == [*order[:6], *referee(old, active, "pa", 5)[5:]]


@pytest.mark.parametrize("rank", ["pa", "bfs", "ai", "dpr"])
def test_with_nobody_else_left_those_who_failed_are_asked_before_their_time(rank):
    old, active = web(12, 30)
    crawl = refresh(old, z=3, rank=rank)
    order = order_of(drive(crawl, active, odd=lambda pick: said(pick, missing="temporary") if pick.n == 9 else None))
    assert len(order) == 13
    assert order[-1] == order[9]
    assert crawl.graph.left == 0


@pytest.mark.parametrize("together", [[[0], [1], [2]], [[0, 1, 2]], [[2, 1], [0]]])
@pytest.mark.parametrize("size", [6, 60])
def test_nobody_is_in_a_batch_twice_however_often_a_score_grew(together, size):
    old = OldDataset.of(np.array([0, 1, 2, 0]), np.array([5, 5, 5, 4]), size)
    crawl = refresh(old, z=0, rank="ai")
    for nodes in together:
        batch = tuple(Pick(crawl.picks + i, Node(node), "probe") for i, node in enumerate(nodes))
        crawl.choose(1, 0.0)
        crawl.absorb(batch, [said(pick, 1.0) for pick in batch])
    best = crawl.choose(size, 0.0)
    assert [(pick.node, pick.score) for pick in best[:2]] == [(5, 3.0), (4, 1.0)]
    assert sorted(pick.node for pick in best) == list(range(3, size))


@pytest.mark.parametrize("why", ["forgotten", "excluded", "opted-out"])
def test_who_is_forgotten_leaves_the_dataset(why):
    old, active = web(20, 40)
    crawl = refresh(old, z=20)
    drive(crawl, active, odd=lambda pick: said(pick, missing=why) if pick.node in (3, 4) else None)
    known = crawl.estimate()
    assert (known.nodes, known.tested, known.sampled, crawl.graph.size) == (18, 18, 18, 18)
    assert crawl.taken == 20


@pytest.mark.parametrize("why", ["suspended", "deleted", "unknown", "protected"])
def test_who_cannot_be_read_is_not_active_unless_the_source_says_so(why):
    old, _ = web(20, 40)
    crawl = refresh(old, z=20)
    drive(crawl, np.ones(20), odd=lambda pick: said(pick, missing=why) if pick.node == 3 else None)
    assert (crawl.relevance, crawl.graph.size) == (19.0, 20)


def test_two_names_of_one_node_are_tested_as_one_and_links_to_either_count():
    #  0 -> 1, 2 -> 3; 1 turns out to be 3, whom ai then knows by two links.
    old = OldDataset.of(np.array([0, 2, 4]), np.array([1, 3, 5]), 6)
    crawl = refresh(old, z=0, rank="ai")
    for node, value, missing in ((0, 1.0, None), (2, 1.0, None), (4, 1.0, None), (1, 0.0, SameAs(3))):
        pick = Pick(crawl.picks, Node(node), "probe")
        crawl.choose(1, 0.0)
        crawl.absorb((pick,), [said(pick, value, missing=missing)])
    assert [(pick.node, pick.score) for pick in crawl.choose(2, 0.0)] == [(3, 2.0), (5, 1.0)]
    assert (crawl.graph.size, crawl.graph.left, crawl.relevance) == (5, 2, 3.0)


def test_a_node_that_is_somebody_the_dataset_does_not_know_goes_on_under_that_name():
    old, _ = web(20, 40)
    crawl = refresh(old, z=20)
    told = drive(crawl, np.ones(100), odd=lambda pick: said(pick, missing=SameAs(77)) if pick.node == 5 else None)
    order = order_of(told)
    assert order[order.index(5) + 1] == 77
    assert len(order) == 21
    assert (crawl.graph.size, crawl.graph.left, crawl.relevance) == (20, 0, 20.0)


def test_names_that_stand_for_each_other_end():
    old, _ = web(6, 12)
    crawl = refresh(old, z=6)
    say = {5: SameAs(77), 77: SameAs(5), 2: SameAs(3), 3: SameAs(2)}
    drive(crawl, np.ones(100), odd=lambda pick: said(pick, missing=say[pick.node]) if pick.node in say else None)
    assert crawl.graph.left == 0
    assert crawl.choose(1, 0.0).kind == "done"


def test_a_second_test_of_a_node_counts_in_place_of_the_first():
    old, active = web(40, 160, 2)
    for rank in ("bfs", "ai", "pa"):
        crawl = refresh(old, z=5, rank=rank)
        history = drive(crawl, active, most=20)
        first = history[0][0][0].node
        pick = Pick(crawl.picks, first, "probe")
        again = ((pick,), [said(pick, 1.0 - active[first])])
        crawl.absorb(*again)
        fresh = refresh(old, z=5, rank=rank)
        fresh.fold([*history, again])
        assert crawl.relevance == fresh.relevance != active[order_of(history)].sum()
        assert crawl.choose(5, 0.0) == fresh.choose(5, 0.0)


def test_results_from_elsewhere_for_nodes_that_are_not_in_the_dataset_change_nothing():
    old, _ = web(20, 40)
    crawl = refresh(old, z=5)
    pick = Pick(0, Node(99), "probe")
    crawl.choose(1, 0.0)
    crawl.absorb((pick,), [said(pick, 1.0)])
    assert (crawl.relevance, crawl.graph.left, crawl.picks) == (0.0, 20, 1)


# -- Workers


def test_workers_count_places_without_those_who_were_tested_to_estimate():
    old, active = web(30, 90)
    crawls = [refresh(old, z=0, check=7, rank="pagerank", worker=(j, 2)) for j in range(2)]
    checked = [drive(crawl, active) for crawl in crawls]
    for crawl, history in zip(crawls, reversed(checked), strict=True):
        for batch, outcomes in history:
            crawl.absorb(batch, outcomes)
    left = [row for row in LiveRanks(old, 1).order_static("pagerank").tolist() if row not in crawls[0].view.check]
    assert [order_of(drive(crawl, active)) for crawl in crawls] == [left[1::2], left[0::2]]


def test_workers_share_each_round_by_place_and_need_each_others_training_results():
    old, active = web(50, 200)
    alone = referee(old, active, "pa+-", 12)
    crawls = [refresh(old, z=12, rank="pa+-", worker=(j, 3)) for j in range(3)]
    first = [drive(crawl, active, most=50) for crawl in crawls]
    parts = assign_workers(np.array(alone[:12]), 3)
    assert [order_of(history) for history in first] == [
        [row for row, part in zip(alone[:12], parts, strict=True) if part == j] for j in range(3)
    ]
    assert "has tested its part of the training set: bring the results of the others" in crawls[0].choose(1, 0.0).why
    for j, crawl in enumerate(crawls):
        for other in (history for i, history in enumerate(first) if i != j):
            for batch, outcomes in other:
                crawl.absorb(batch, outcomes)
    second = [order_of(drive(crawl, active, most=99)) for crawl in crawls]
    parts = assign_workers(np.array(alone[12:]), 3)
    for j in range(3):
        assert second[j] == [row for row, part in zip(alone[12:], parts, strict=True) if part == j]
        assert "part of the dataset" in crawls[j].choose(1, 0.0).why


# -- Settings


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rank": "pb"}, "'random', 'indegree'"),
        ({"training": "pa"}, "'auto', 'random', 'indegree' or 'pagerank'"),
        ({"z": -1}, "greater than or equal to 0"),
        ({"check": -1}, "greater than or equal to 0"),
        ({"damping": 1.0}, "less than 1"),
        ({"tolerance": 0.0}, "greater than 0"),
        ({"every": 0}, "greater than or equal to 1"),
        ({"fraction": 1.5}, "less than or equal to 1"),
        ({"stop": "soon"}, "'bound' or 'estimate'"),
        ({"fraction": 0.5, "training": "pagerank"}, "needs an estimate"),
        ({"fraction": 0.5, "neighbours": False}, "needs an estimate"),
        ({"fraction": 0.5, "z": 0}, "needs an estimate"),
        ({"worker": 3, "workers": 3}, "worker = 3 is not one of 3 workers"),
        ({"worker": 1}, "worker = 1 is not one of 1 workers"),
        ({"workers": 2, "rank": "ai"}, "changes with every answer"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong, message):
    with pytest.raises(ValidationError, match=message):
        RefreshSection(**wrong)


def test_a_fraction_goes_with_a_random_sample():
    assert RefreshSection(fraction=0.5, training="pagerank", check=10).make_rules("x").samples


# -- dpr


@pytest.mark.parametrize(("seed", "every"), [(1, 3), (3, 7)])
def test_the_dynamic_pagerank_is_computed_anew_after_so_many_tests(seed, every):
    old, active = web(20, 60, seed)
    history = drive(refresh(old, rank="dpr", z=6, every=every), active)
    order = order_of(history)
    ranks = LiveRanks(old, 1)
    for k in range(6, 20):
        used = k - k % every
        found = np.array([row for row in order[:used] if active[row]], int)
        y = ranks.score_adaptive(found)
        top = sorted(ranks.by_pagerank.tolist(), key=lambda v, y=y: -y[v])[: len(found)]
        y = ranks.score_adaptive(np.array([v for v in top if y[v] > 0], int))
        left = [v for v in ranks.by_pagerank.tolist() if v not in order[:k]]
        assert order[k] == max(left, key=lambda v, y=y: y[v])
