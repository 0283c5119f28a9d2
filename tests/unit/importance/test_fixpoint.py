"""Link matrices and their fixpoints: against loops over pairs, eigenvectors of dense matrices and networkx."""

from itertools import islice

import networkx as nx
import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.importance.link_matrix import (
    MATRICES,
    add_virtual_page,
    compute_reference,
    find_fixpoint,
    iterate,
    link_both_ways,
    make_in_links,
    make_kleinberg,
    make_out_links,
    normalize_rows,
)


def rows(numbers):
    return np.array(numbers, np.int64)


@st.composite
def linked(draw):
    """Up to 25 rows and links between them, some twice, some from a row to itself, some rows alone."""
    size = draw(st.integers(1, 25))
    row = st.integers(0, size - 1)
    pairs = draw(st.lists(st.tuples(row, row), max_size=80))
    weights = draw(st.none() | st.lists(st.integers(0, 4), min_size=len(pairs), max_size=len(pairs)))
    return size, pairs, weights


def matrix_of(made):
    size, pairs, weights = made
    sources, targets = rows([i for i, _ in pairs]), rows([j for _, j in pairs])
    return make_out_links(sources, targets, size, None if weights is None else np.array(weights, float))


def strong(seed, size=30, links=150):
    """A strongly connected, aperiodic graph: a ring, chords and one link of a row to itself."""
    rng = np.random.default_rng(seed)
    ring = np.arange(size)
    sources = np.concatenate([ring, [0], rng.integers(0, size, links)])
    return make_out_links(sources, np.concatenate([(ring + 1) % size, [0], rng.integers(0, size, links)]), size)


def dominant(matrix):
    """The referee: the eigenvector of the largest eigenvalue of the transposed dense matrix, of sum 1."""
    values, vectors = np.linalg.eig(matrix.T)
    vector = np.abs(vectors[:, values.real.argmax()].real)
    return vector / vector.sum()


@settings(deadline=None, max_examples=many(60))
@given(linked(), st.sampled_from([0.3, 1.0, 5.0]))
def test_every_matrix_is_what_it_says_pair_by_pair(made, small):
    size, pairs, weights = made
    links = matrix_of(made)
    one, all_rows = np.zeros((size, size)), range(size)
    for number, (i, j) in enumerate(pairs):
        one[i, j] = 1 if weights is None else one[i, j] + weights[number]
    assert (links.toarray() == one).all()
    assert links.nnz == np.count_nonzero(one)
    assert (make_in_links(links).toarray() == [[one[j, i] for j in all_rows] for i in all_rows]).all()
    assert (link_both_ways(links).toarray() == [[max(one[i, j], one[j, i]) for j in all_rows] for i in all_rows]).all()
    cited = [[sum(one[k, i] * one[k, j] for k in all_rows) for j in all_rows] for i in all_rows]
    assert (make_kleinberg(links).toarray() == cited).all()
    walk, virtual = np.zeros((size + 1, size + 1)), size
    for i in all_rows:
        children = np.count_nonzero(one[i])
        for j in all_rows:
            walk[i, j] = one[i, j] / max(one[i].sum(), 1) * children / (children + small)
        walk[i, virtual], walk[virtual, i] = small / (children + small), 1 / size
    assert add_virtual_page(links, small).toarray() == pytest.approx(walk, abs=1e-15)
    assert walk.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert normalize_rows(links).toarray() == pytest.approx(one / np.maximum(one.sum(axis=1), 1)[:, None], abs=1e-15)


@pytest.mark.parametrize("name", MATRICES)
def test_the_fixpoint_is_the_dominant_eigenvector_of_each_matrix(name):
    matrix = MATRICES[name](strong(4))
    found = find_fixpoint(matrix)
    assert found == pytest.approx(dominant(matrix.toarray()), abs=1e-10)
    assert find_fixpoint(matrix, convergent=False) == pytest.approx(found, abs=1e-10)


def test_the_fixpoints_are_those_of_networkx():
    links = strong(9)
    graph = nx.from_scipy_sparse_array(links, create_using=nx.DiGraph)
    _, authorities = nx.hits(graph, max_iter=1000, tol=1e-14)
    assert find_fixpoint(make_kleinberg(links)) == pytest.approx([authorities[v] for v in range(30)], abs=1e-9)
    central = np.array(list(nx.eigenvector_centrality_numpy(graph).values()))
    assert find_fixpoint(links) == pytest.approx(central / central.sum(), abs=1e-9)


@pytest.mark.parametrize("damping", [0.85, 0.5])
def test_googles_patch_is_pagerank_where_every_page_has_links(damping):
    links = strong(2)
    graph = nx.from_scipy_sparse_array(links, create_using=nx.DiGraph)
    wanted = nx.pagerank(graph, damping, tol=1e-16, max_iter=1000)
    eps = (1 / damping - 1) / 30
    for convergent in (True, False):
        found = find_fixpoint(normalize_rows(links), eps=eps, convergent=convergent)
        assert found == pytest.approx([wanted[v] for v in range(30)], abs=1e-9)


@settings(deadline=None, max_examples=many(30))
@given(linked(), st.sampled_from([0.02, 0.2]))
def test_a_patch_is_an_edge_of_weight_eps_between_any_two_rows(made, eps):
    walk = normalize_rows(matrix_of(made))
    whole = walk.toarray() + eps
    assert find_fixpoint(walk, eps=eps) == pytest.approx(dominant(whole), abs=1e-8)


@settings(deadline=None, max_examples=many(30))
@given(linked(), st.sampled_from([0.5, 1.0, 3.0]))
def test_the_reference_is_the_stationary_walk_with_the_virtual_page(made, small):
    links = matrix_of(made)
    walk = add_virtual_page(links, small).toarray()
    size = len(walk)
    system = np.vstack([walk.T - np.eye(size), np.ones(size)])
    wanted = np.linalg.lstsq(system, np.append(np.zeros(size), 1.0), rcond=None)[0]
    assert compute_reference(links, small) == pytest.approx(wanted, abs=1e-9)


def test_only_the_convergent_iteration_ends_on_a_periodic_graph():
    star = make_out_links(rows([0, 0, 1, 2]), rows([1, 2, 0, 0]), 3)  # two steps lead home: period 2
    assert find_fixpoint(normalize_rows(star)) == pytest.approx([0.5, 0.25, 0.25], abs=1e-12)
    with pytest.raises(ValueError, match=r"no fixpoint after 500 steps.*take the convergent iteration or an eps"):
        find_fixpoint(normalize_rows(star), convergent=False, most=500)


def test_without_strong_connection_it_is_the_projection_of_equal_shares():
    pairs = make_out_links(rows([0, 1, 2, 3, 4]), rows([1, 0, 3, 4, 2]), 5)  # a pair and a ring of three
    assert find_fixpoint(normalize_rows(pairs)) == pytest.approx([0.2] * 5, abs=1e-12)
    trap = make_out_links(rows([0, 1]), rows([1, 1]), 2)
    assert find_fixpoint(normalize_rows(trap)) == pytest.approx([0, 1], abs=1e-12)


def test_a_step_by_hand_and_from_a_given_start():
    chain = make_out_links(rows([0, 0, 1]), rows([1, 2, 2]), 3)
    first, second = islice(iterate(chain), 2)
    assert first == pytest.approx(np.array([1, 2, 3]) / 6)  # (1, 1, 1) + (0, 1, 2), over 6
    assert second == pytest.approx(np.array([1, 3, 6]) / 10)
    plain = next(iterate(chain, np.array([0.5, 0.5, 0.0]), convergent=False))
    assert plain == pytest.approx([0, 1 / 3, 2 / 3])


def test_without_rows_or_links_there_is_nothing_to_say():
    assert find_fixpoint(make_out_links(rows([]), rows([]), 0)).tolist() == []
    for convergent in (True, False):
        assert find_fixpoint(make_out_links(rows([]), rows([]), 4), convergent=convergent).tolist() == [0.25] * 4
    assert compute_reference(make_out_links(rows([]), rows([]), 4)) == pytest.approx([0.125] * 4 + [0.5])
