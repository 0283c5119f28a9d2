"""LiveRanks: against dense linear algebra, networkx and rules written out a second time for small graphs."""

from fractions import Fraction
from itertools import pairwise
from math import log

import networkx as nx
import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.crawls.refresh.liveranks import DIGITS, RANKS, SAMPLED, STATIC, LiveRanks, compute_log_ratio
from socialcrawl.crawls.refresh.old_dataset import OldDataset, OldDatasetBuilder
from socialcrawl.engine.draws import draw_chance, draw_keys, shuffle
from socialcrawl.importance import pagerank_batch
from socialcrawl.importance.link_matrix import make_out_links
from socialcrawl.importance.pagerank import compute_pagerank
from socialcrawl.importance.pagerank_batch import BatchPageRank


def old_of(pairs, size, sites=None):
    sources, targets = np.array(pairs or [(0, 0)], np.int64).T
    return OldDataset.of(sources, targets, size, sites=None if sites is None else np.array(sites))


@st.composite
def datasets(draw):
    """Up to 30 rows with some links, sites, and a training set with what was found of it."""
    size = draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.sampled_from([1, size, 4 * size]))
    old = OldDataset.of(
        rng.integers(0, size, count), rng.integers(0, size, count), size, sites=rng.integers(-1, 4, size)
    )
    if (old.sites < 0).all():
        old.sites[0] = 0
    tested = rng.permutation(size)[: rng.integers(0, size + 1)]
    return old, tested, rng.random(len(tested)) < 0.5


def solved(old, zap, damping=0.85):
    """The referee: Y = d Y A + (1-d) X as it is written, solved; rows of A without links are 0."""
    a = np.zeros((old.size, old.size))
    for u in range(old.size):
        for v in old.list_targets(u):
            a[u, v] = 1 / len(old.list_targets(u))
    x = np.zeros(old.size)
    x[zap] = 1 / max(len(zap), 1)
    return np.linalg.solve(np.eye(old.size) - damping * a.T, (1 - damping) * x)


def exactly(old, zap, damping=Fraction(0.85)):
    """The same in fractions, without any rounding: Gauss's elimination."""
    rows = [[Fraction(int(u == v)) for u in range(old.size)] for v in range(old.size)]
    for u in range(old.size):
        for v in old.list_targets(u).tolist():
            rows[v][u] -= damping / len(old.list_targets(u))
    for v, row in enumerate(rows):
        row.append((1 - damping) / len(zap) if v in zap else Fraction(0))
    for i, pivot in enumerate(rows):
        for j, row in enumerate(rows):
            if j != i and row[i]:
                rows[j] = [a - row[i] / pivot[i] * b for a, b in zip(row, pivot, strict=True)]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


def reached(old, rows):
    graph = nx.DiGraph()
    graph.add_nodes_from(range(old.size))
    graph.add_edges_from((u, int(v)) for u in range(old.size) for v in old.list_targets(u))
    return set().union(*({int(row)} | nx.descendants(graph, int(row)) for row in rows))


def is_sorted_by(order, *columns, unsure=()):
    """Whether an order goes by the first column downwards, and by the next where that is (nearly) equal.

    Of rows that are `unsure`, nearly equal ones may have been told apart.
    """
    for u, v in pairwise(order):
        for column in columns if u not in unsure else columns[:1]:
            if column[u] != pytest.approx(column[v], rel=1e-9, abs=1e-300, nan_ok=True):
                assert column[u] > column[v]
                break


@settings(deadline=None, max_examples=many(50))
@given(datasets(), st.sampled_from([0.0, 0.5, 0.85]), st.sampled_from([5, 20, 100]))
def test_ranks_solve_the_system_and_are_zero_exactly_where_the_walk_cannot_come(made, damping, block):
    old, tested, active = made
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pagerank_batch, "BLOCK", block)
        walk = BatchPageRank(old.indptr, old.indices, damping=damping)
        zaps = [tested[active], None, tested[~active]]
        found = walk.compute_ranks(zaps, tolerance=1e-14)
    for zap, ranks in zip(zaps, found, strict=True):
        rows = np.arange(old.size) if zap is None else zap
        assert np.abs(ranks - solved(old, rows, damping)).sum() < 1e-12
        reach = {int(row) for row in rows} if damping == 0 else reached(old, rows)
        assert set(np.flatnonzero(ranks > 0).tolist()) == reach


@settings(deadline=None, max_examples=many(30))
@given(datasets(), st.integers(1, 5))
def test_a_vector_has_the_same_bits_alone_and_in_company(made, block):
    old, tested, active = made
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pagerank_batch, "BLOCK", block)
        walk = BatchPageRank(old.indptr, old.indices)
        together = walk.compute_ranks([None, tested[active], tested[~active]], tolerance=1e-3)
        alone = [walk.compute_ranks([zap], tolerance=1e-3)[0] for zap in (None, tested[active], tested[~active])]
    assert [one.tobytes() for one in together] == [one.tobytes() for one in alone]


@pytest.mark.parametrize("seed", range(3))
def test_ranks_are_those_of_the_weighted_pagerank_that_drops_what_dangles(seed):
    rng = np.random.default_rng(seed)
    sources, targets = rng.integers(0, 400, (2, 2000))
    old = OldDataset.of(sources, targets, 500)
    kept = sources != targets
    for zap in (None, rng.permutation(500)[:20]):
        x = np.ones(500) if zap is None else np.isin(np.arange(500), zap).astype(float)
        wanted = compute_pagerank(
            make_out_links(sources[kept], targets[kept], 500), zap=x, dangling="drop", tolerance=1e-13
        )
        assert (
            np.abs(BatchPageRank(old.indptr, old.indices).compute_ranks([zap], tolerance=1e-13)[0] - wanted).sum()
            < 1e-12
        )


def test_on_a_long_chain_all_that_can_be_reached_has_a_rank_however_far_and_however_small():
    old = old_of([(i, i + 1) for i in range(999)], 1002)
    ranks = LiveRanks(old, 1, damping=0.2, tolerance=1e-6).score_adaptive(np.array([0]))
    assert (ranks[:1000] > 0).all()
    assert (ranks[1000:] == 0).all()
    assert (np.diff(ranks[:1000]) <= 0).all()
    assert ranks[300] == pytest.approx(0.8 * 0.2**300)
    assert LiveRanks(old, 1).order("pa", np.array([0]), np.array([True]))[:999].tolist() == [*range(1, 1000)]


def test_a_wider_tolerance_takes_fewer_sweeps_so_that_it_is_really_used():
    rng = np.random.default_rng(5)
    old = OldDataset.of(*rng.integers(0, 50, (2, 300)), 50)
    wanted = solved(old, np.arange(50))
    walk = BatchPageRank(old.indptr, old.indices)
    errors = [np.abs(walk.compute_ranks([None], tolerance=t)[0] - wanted).sum() for t in (1e-2, 1e-12)]
    assert 1e-6 < errors[0] < 1e-1
    assert errors[1] < 1e-11


def far_apart(seed):
    """A chain of rows that all link back to the first ones: ranks become a million times smaller along it."""
    rng = np.random.default_rng(seed)
    on, back = [(max(u, 3), max(u, 3) + 1) for u in range(18)], [(u, v) for u in range(18) for v in range(4) if u != v]
    return old_of([*on, *back, *((u, u - 1) for u in range(6, 19) if rng.random() < 0.4), (0, 5)], 19)


@pytest.mark.parametrize("seed", range(4))
def test_logarithms_of_ratios_are_right_to_1e12_for_small_ranks_too(seed):
    old = far_apart(seed)
    tested, active = np.array([0, 1, 2, 3]), np.array([True, False, True, False])
    for_it, against = exactly(old, [0, 2]), exactly(old, [1, 3])
    found = LiveRanks(old, 1).score_double_adaptive(tested, active)
    told = [row for row in range(old.size) if for_it[row] and against[row]]
    assert 0 < min(for_it) < 1e-6 * max(for_it)
    assert len(told) > 18
    for row in told:
        assert abs(found[row] - log(for_it[row] / against[row])) < 1e-12


def test_a_wider_tolerance_tells_apart_no_more_than_it_leaves():
    for_it, against = np.array([1.0, 1.0 + 3e-7]), np.ones(2)
    assert compute_log_ratio(for_it, against, 1e-6).tolist() == [0.0, 0.0]
    assert compute_log_ratio(for_it, against, 1e-8)[1] == pytest.approx(3e-7)


@settings(deadline=None, max_examples=many(40))
@given(datasets())
def test_every_order_holds_each_untested_row_once_and_goes_by_its_score(made):
    old, tested, active = made
    ranks = LiveRanks(old, 7, tolerance=1e-14)
    p = solved(old, np.arange(old.size))
    pa, against = solved(old, tested[active]), solved(old, tested[~active])
    for row in set(range(old.size)) - reached(old, tested[active]):
        pa[row] = 0.0
    there = reached(old, tested[~active])
    least = min((against[row] for row in there), default=1.0)
    both = np.array([pa[v] / (against[v] if v in there else least) for v in range(old.size)])
    with np.errstate(divide="ignore", invalid="ignore"):  # an error decides which way a half is rounded
        halves = np.flatnonzero(np.abs(np.log(both) * 10.0**DIGITS % 1.0 - 0.5) < 0.1)
    indegree = np.array([sum(v in old.list_targets(u) for u in range(old.size)) for v in range(old.size)])
    by = {"random": [], "indegree": [indegree], "pagerank": [p], "pa": [pa, p], "pa+-": [both, p], "asf": []}
    for rank, columns in by.items():
        order = ranks.order(rank, tested, active)
        assert sorted([*order.tolist(), *tested.tolist()]) == list(range(old.size))
        is_sorted_by(order, *columns, unsure=halves if rank == "pa+-" else ())


def test_the_ratio_takes_zeros_below_for_the_smallest_other_entry():
    made = compute_log_ratio(np.array([0.2, 0.2, 0.2, 0.0]), np.array([0.4, 0.1, 0.0, 0.1]))
    assert np.exp(made) == pytest.approx([0.5, 2.0, 2.0, 0.0])
    assert np.exp(compute_log_ratio(np.array([0.2, 0.0]), np.zeros(2))) == pytest.approx([0.2, 0.0])
    assert compute_log_ratio(np.array([0.1]), np.array([5e-324]))[0] > 700  # the quotient itself would be no number


def test_active_sites_come_first_whole_site_after_site_and_sites_without_a_sample_last():
    sites = [0] * 10 + [1] * 10 + [2] * 10 + [3] * 10 + [-1] * 5
    old = old_of([(0, 1)], 45, sites)
    tested = np.array([0, 1, 10, 11, 20, 21])
    active = np.array([True, False, True, True, False, False])
    order = LiveRanks(old, 3).order("asf", tested, active)
    assert [sites[row] for row in order[:24]] == [1] * 8 + [0] * 8 + [2] * 8
    last = [sites[row] for row in order[24:]]
    assert sorted(last) == [-1] * 5 + [3] * 10
    assert last not in ([3] * 10 + [-1] * 5, [-1] * 5 + [3] * 10)  # those are mixed
    assert order[:8].tolist() != sorted(order[:8].tolist())


def test_sites_of_one_rate_are_not_mixed():
    sites = np.arange(60) % 6
    old = OldDataset.of(np.array([0]), np.array([1]), 60, sites=sites)
    order = LiveRanks(old, 3).order("asf", np.arange(6), np.ones(6, bool))
    seen = sites[order]
    assert np.count_nonzero(np.diff(seen)) == 5


def test_active_site_first_without_sites_says_so():
    with pytest.raises(ValueError, match="needs sites, and no node of this dataset has one"):
        LiveRanks(old_of([(0, 1)], 2, [-1, -1]), 1).order("asf", np.array([0]), np.array([True]))


@settings(deadline=None, max_examples=many(40))
@given(datasets(), st.sampled_from(STATIC), st.integers(0, 30))
def test_a_training_set_without_neighbours_has_none_while_others_are_there(made, rank, z):
    old, _, _ = made
    ranks = LiveRanks(old, 2)
    whole, apart = ranks.choose_training(rank, old.size), ranks.choose_training(rank, z, neighbours=False).tolist()
    assert ranks.choose_training(rank, z).tolist() == whole[:z].tolist()
    taken, left = [], []
    for v in whole.tolist():
        near = any(v in old.list_targets(u) or u in old.list_targets(v) for u in taken)
        (left if near or len(taken) >= z else taken).append(v)
    assert apart == [*taken, *left][:z]


def test_who_is_drawn_depends_on_the_node_the_seed_and_the_purpose_and_on_nobody_else():
    nodes = np.arange(1000)
    one = draw_keys(5, "a", nodes)
    assert [int(key >> np.uint64(11)) * 2.0**-53 for key in one[:50]] == [draw_chance(5, "a", n) for n in range(50)]
    assert (draw_keys(5, "a", nodes[::-1]) == one[::-1]).all()
    assert (
        len(
            {*draw_keys(5, "a", nodes).tolist(), *draw_keys(6, "a", nodes).tolist(), *draw_keys(5, "b", nodes).tolist()}
        )
        == 3000
    )
    few, more = shuffle(5, "a", nodes[:500]), shuffle(5, "a", nodes)
    assert more[more < 500].tolist() == few.tolist()
    first = [int(shuffle(seed, "a", np.arange(10))[0]) for seed in range(500)]
    assert all(25 <= first.count(row) <= 80 for row in range(10))  # 50 each, give or take four deviations


def test_ties_go_by_chance_and_not_by_the_order_of_the_rows():
    old = old_of([(0, 1)], 200)
    for rank in ("indegree", "pagerank"):
        order = LiveRanks(old, 1).order_static(rank).tolist()
        assert order[0] == 1
        assert order[1:] != sorted(order[1:])
        assert order != LiveRanks(old, 2).order_static(rank).tolist()


def test_an_unknown_rank_is_refused():
    ranks = LiveRanks(old_of([(0, 1)], 2), 1)
    with pytest.raises(ValueError, match=r"Unknown static rank 'pb'. Choose one of: random, indegree, pagerank"):
        ranks.order_static("pb")
    with pytest.raises(ValueError, match="'ai' has no scores before it is tested"):
        ranks.compute_scores("ai", np.array([0]), np.array([True]))
    with pytest.raises(ValueError, match="must be at least 0 and less than 1"):
        LiveRanks(ranks.old, 1, damping=1.0)
    assert {*STATIC, *SAMPLED} < {*RANKS}


def added(pieces, *, linked=False):
    growing = OldDatasetBuilder()
    for piece in pieces:
        nodes = np.array([node for node, *_ in piece], np.int64)
        offsets = np.cumsum([0, *(len(targets) for _, targets, *_ in piece)])
        targets = np.array([target for _, targets, *_ in piece for target in targets], np.int64)
        marks = np.array([mark for _, _, mark, _ in piece])
        growing.add(nodes, offsets, targets, marks, np.array([there for *_, there in piece]))
    return growing.build(linked=linked)


def test_a_dataset_grows_by_pieces_to_the_same_whole_as_at_once():
    lines = [
        (7, [3, 9, 3, 7], "a", True),
        (3, [7, 5], "b", True),
        (9, [7], "", False),
        (4, [3, 9], "", True),
        (7, [4], "c", True),
    ]
    for linked, nodes, links in (
        (False, [7, 3, 4], {(7, 3), (3, 7), (4, 3), (7, 4)}),
        (True, [7, 3, 4, 5], {(7, 3), (3, 7), (3, 5), (4, 3), (7, 4)}),
    ):
        for pieces in ([lines], [[line] for line in lines], [lines[:2], lines[2:]]):
            old = added(pieces, linked=linked)
            assert old.nodes.tolist() == nodes
            assert {(nodes[u], nodes[v]) for u in range(old.size) for v in old.list_targets(u)} == links
            assert old.links == len(links)
            assert old.sites.tolist() == [2, 1, -1, -1][: old.size]
            assert old.find_rows(np.array([4, 9, 7, 99])).tolist() == [2, -1, 0, -1]
    assert old.indegree.tolist() == [1, 2, 1, 1]


def test_an_empty_dataset_and_one_without_sites_are_datasets():
    empty = OldDatasetBuilder().build()
    assert (empty.size, empty.links, empty.find_rows(np.array([1])).tolist()) == (0, 0, [-1])
    assert LiveRanks(empty, 1).order("pa+-", np.array([], int), np.array([], bool)).tolist() == []
    assert added([[(1, [2], "", True), (2, [], "", True)]]).sites is None


@settings(deadline=None, max_examples=many(30))
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=60))
def test_links_are_those_of_a_set_of_pairs(pairs):
    sources, targets = np.array(pairs, np.int64).reshape(-1, 2).T
    old = OldDataset.of(sources, targets, 13)
    assert {(u, int(v)) for u in range(13) for v in old.list_targets(u)} == {(u, v) for u, v in pairs if u != v}
    begins, ends = old.inward
    assert {(int(u), v) for v in range(13) for u in ends[begins[v] : begins[v + 1]]} == {
        (u, v) for u, v in pairs if u != v
    }
