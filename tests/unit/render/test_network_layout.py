"""Where the accounts of a large network are drawn."""

from itertools import combinations

import numpy as np
import pytest

from socialcrawl.render.network_layout import _make_kernels, _sum_pushes, compute_large_layout

CELLS = 64


def make_groups(count, size):
    """Links of groups in which everybody is joined to everybody, and of a ring through the groups."""
    inside = [(group * size + a, group * size + b) for group in range(count) for a, b in combinations(range(size), 2)]
    ring = [(group * size, (group + 1) % count * size) for group in range(count)]
    return np.array([*inside, *ring], np.int64).T


def test_accounts_that_mention_each_other_are_near_each_other():
    count, size = 5, 12
    source, target = make_groups(count, size)
    at = compute_large_layout(count * size, source, target).reshape(count, size, 2)
    middle = at.mean(axis=1)
    within = np.linalg.norm(at - middle[:, None], axis=2).mean()
    apart = min(np.linalg.norm(middle[a] - middle[b]) for a, b in combinations(range(count), 2))
    assert apart > 2 * within


def test_places_are_the_same_each_time_and_fit_into_the_picture():
    generator = np.random.default_rng(3)
    source, target = generator.integers(0, 300, (2, 900))
    at = compute_large_layout(300, source, target)
    assert np.array_equal(at, compute_large_layout(300, source, target))
    assert np.abs(at).max() == 1
    assert len(np.unique(at, axis=0)) > 290


@pytest.mark.parametrize("size", [0, 1, 2])
def test_hardly_any_accounts_have_places_too(size):
    nothing = np.empty(0, np.int64)
    at = compute_large_layout(size, nothing, nothing)
    assert at.shape == (size, 2)
    assert np.isfinite(at).all()


def test_pushes_on_the_grid_are_those_of_all_pairs():
    """Exactly where nodes are on crossings of the grid; the push of a node at the same crossing is left out."""
    generator = np.random.default_rng(5)
    cells = generator.choice(CELLS * CELLS, 60, replace=False)
    cells[:2] = 0, CELLS * CELLS - 1
    place = np.stack(np.divmod(np.unique(cells), CELLS), axis=1).astype(np.float64)
    at = place * (CELLS - 1.001) / (CELLS - 1)  # so that one cell is as wide as one unit
    mass = generator.random(len(at)) + 0.5
    apart = at[:, None] - at[None]
    far = np.maximum((apart**2).sum(axis=2), 1e-9)
    pairs = (apart * (mass[None] / far)[..., None]).sum(axis=1)
    found = _sum_pushes(at, mass, _make_kernels(CELLS))
    assert np.abs(found - pairs).max() < 0.05 * np.abs(pairs).max()
