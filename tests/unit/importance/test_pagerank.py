"""PageRank: against dense solutions of Y = d Y A + (1-d) X for all options, and against networkx."""

import networkx as nx
import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.importance.link_matrix import make_out_links
from socialcrawl.importance.pagerank import DANGLING, compute_pagerank


def rows(numbers):
    return np.array(numbers, np.int64)


@st.composite
def linked(draw):
    """Up to 40 rows, of which some have no links, with weights or without, and a zap vector or none."""
    size = draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.sampled_from([0, 1, size, 4 * size]))
    weights = rng.choice([0.0, 0.5, 1.0, 100.0], count) if draw(st.booleans()) else None
    zap = rng.integers(0, 3, size) + np.eye(size)[rng.integers(0, size)] if draw(st.booleans()) else None
    return make_out_links(rng.integers(0, size, count), rng.integers(0, size, count), size, weights), zap


def solved(links, damping, zap, dangling):
    """The referee: the system as it is written, solved."""
    a = links.toarray()
    size = len(a)
    jump = np.full(size, 1 / size) if zap is None else zap / zap.sum()
    refuge = {"zap": jump, "all": np.full(size, 1 / size), "drop": np.zeros(size)}[dangling]
    for row in a:
        row[:] = row / row.sum() if row.any() else refuge
    return np.linalg.solve(np.eye(size) - damping * a.T, (1 - damping) * jump)


@settings(deadline=None, max_examples=many(60))
@given(linked(), st.sampled_from([0.0, 0.5, 0.85, 0.99]), st.sampled_from(DANGLING), st.sampled_from([1e-3, 1e-10]))
def test_ranks_solve_the_system_to_the_tolerance(made, damping, dangling, tolerance):
    links, zap = made
    found = compute_pagerank(links, damping=damping, zap=zap, dangling=dangling, tolerance=tolerance)
    wanted = solved(links, damping, zap, dangling)
    assert np.abs(found - wanted).sum() <= tolerance + 1e-12
    if dangling != "drop":
        assert found.sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_ranks_are_those_of_networkx_with_weights_zap_and_dangling_rows(seed):
    rng = np.random.default_rng(seed)
    size, count = 300, 1_200
    weights = rng.random(count) if seed % 2 else None
    links = make_out_links(rng.integers(0, 250, count), rng.integers(0, size, count), size, weights)
    zap = rng.random(size) if seed > 1 else np.ones(size)
    graph = nx.from_scipy_sparse_array(links, create_using=nx.DiGraph)
    options = {"personalization": dict(enumerate(zap)), "tol": 1e-16, "max_iter": 1000}
    for dangling, to in (("zap", None), ("all", dict.fromkeys(range(size), 1.0))):
        wanted = nx.pagerank(graph, 0.85, dangling=to, **options)
        found = compute_pagerank(links, zap=zap, dangling=dangling)
        assert np.abs(found - [wanted[v] for v in range(size)]).max() < 1e-8


def test_a_wider_tolerance_takes_fewer_steps_so_that_it_is_really_used():
    rng = np.random.default_rng(1)
    links = make_out_links(rng.integers(0, 50, 200), rng.integers(0, 50, 200), 50)
    errors = [
        np.abs(compute_pagerank(links, tolerance=t) - solved(links, 0.85, None, "zap")).sum() for t in (1e-2, 1e-12)
    ]
    assert 1e-6 < errors[0] < 1e-2
    assert errors[1] < 1e-12


def test_where_dangling_rank_goes_changes_the_order():
    # 0 -> 1 and 2 -> 3; 1 and 3 dangle. The walk is zapped to 0 mostly.
    links, zap = make_out_links(rows([0, 2]), rows([1, 3]), 4), np.array([9.0, 0.0, 1.0, 0.0])
    drop, to_all = (compute_pagerank(links, zap=zap, dangling=way, damping=0.5) for way in ("drop", "all"))
    assert drop == pytest.approx([0.45, 0.225, 0.05, 0.025])
    assert drop.sum() < 1
    assert drop[2] > drop[3]
    assert to_all[3] > to_all[2]
    shared = (to_all[1] + to_all[3]) * 0.5 / 4
    assert to_all == pytest.approx([0.45 + shared, 0.225 + 1.5 * shared, 0.05 + shared, 0.025 + 1.5 * shared])


def test_who_cannot_be_reached_by_the_zap_has_no_rank():
    links = make_out_links(rows([0, 2]), rows([1, 1]), 3)
    assert compute_pagerank(links, zap=np.array([1.0, 0.0, 0.0]), dangling="drop")[2] == 0.0


def test_no_rows_have_no_ranks_and_the_smallest_tolerance_ends():
    assert compute_pagerank(make_out_links(rows([]), rows([]), 0)).tolist() == []
    assert compute_pagerank(make_out_links(rows([0]), rows([1]), 2), tolerance=0.0).sum() == pytest.approx(
        1.0, abs=1e-14
    )


@pytest.mark.parametrize("damping", [-0.1, 1.0, np.nan])
def test_a_damping_out_of_range_is_refused(damping):
    with pytest.raises(ValueError, match="must be at least 0 and less than 1"):
        compute_pagerank(make_out_links(rows([0]), rows([1]), 2), damping=damping)


@pytest.mark.parametrize("zap", [[0.0, 0.0], [1.0], [2.0, -1.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_a_zap_vector_that_is_none_is_refused(zap):
    with pytest.raises(ValueError, match="a zap vector has 2 numbers, none below 0 and not all 0"):
        compute_pagerank(make_out_links(rows([0]), rows([1]), 2), zap=np.array(zap))


def test_an_unknown_place_for_dangling_rank_is_refused():
    with pytest.raises(ValueError, match=r"Unknown place for dangling rank 'home'. Choose one of: zap, all, drop"):
        compute_pagerank(make_out_links(rows([0]), rows([1]), 2), dangling="home")
