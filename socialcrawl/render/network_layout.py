"""Where the nodes of a network are drawn: linked ones near each other, the same places each time."""

import numpy as np
from numpy.typing import NDArray

ROUNDS = 120
GRAVITY = 0.08  # pull to the middle, which keeps parts together that no link joins
CELLS = 128  # cells of a side of the grid on which the nodes of a large network push each other, at most
STEPS = 240
PUSH, WEIGHT = 10.0, 0.2  # how nodes push each other, and are pulled to the middle, where a link pulls with its length


def compute_layout(size: int, source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return places for the nodes 0 .. size - 1, float64[size, 2] (Fruchterman and Reingold, 1991).

    All pairs push each other away, so this is for a few hundred nodes; `compute_large_layout` is for thousands.

    Args:
        size: the number of nodes.
        source: where links begin.
        target: where they end.
    """
    turn = np.arange(size) * np.pi * (3 - 5**0.5)  # a spiral: no two at the same place, and nothing is drawn
    at = np.sqrt((np.arange(size) + 0.5) / max(1, size))[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    near = 1.0 / np.sqrt(max(1, size))
    for number in range(ROUNDS):
        apart = at[:, None] - at[None]
        force = (apart * (near**2 / ((apart**2).sum(axis=2) + 1e-9))[..., None]).sum(axis=1)
        pull = at[source] - at[target]
        pull *= (np.sqrt((pull**2).sum(axis=1)) / near)[:, None]
        np.subtract.at(force, source, pull)
        np.add.at(force, target, pull)
        force -= GRAVITY * at
        length = np.sqrt((force**2).sum(axis=1))
        step = np.minimum(length, 0.2 * (1 - number / ROUNDS))
        at = at + force * (step / np.maximum(length, 1e-12))[:, None]
    return np.asarray(np.round(at, 3))


def compute_large_layout(size: int, source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return places for the nodes 0 .. size - 1, float64[size, 2], from -1 to 1: for thousands of nodes.

    ForceAtlas2 (Jacomy, Venturini, Heymann, Bastian, 2014), with the pushes of all nodes summed on a grid by Fourier
    transforms, as in Linderman et al. (2019): the time grows with nodes and links, not with pairs of nodes.

    Args:
        size: the number of nodes.
        source: where links begin.
        target: where they end.
    """
    ends, others = np.concatenate([source, target]), np.concatenate([target, source])
    mass = np.bincount(ends, minlength=size).astype(np.float64) + 1.0
    turn = np.arange(size) * np.pi * (3 - 5**0.5)  # a spiral, as above
    at = 10.0 * np.sqrt(np.arange(size) + 0.5)[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    kernels = _make_kernels(min(CELLS, 16 + 2 * int(size**0.5)))
    before, speed = np.zeros_like(at), 1.0
    for _ in range(STEPS if size > 1 else 0):
        far = np.maximum(np.linalg.norm(at, axis=1), 1e-9)[:, None]
        force = mass[:, None] * (PUSH * _sum_pushes(at, mass, kernels) - WEIGHT * at / far)
        for axis, pull in enumerate((at[others] - at[ends]).T):
            force[:, axis] += np.bincount(ends, pull, minlength=size)
        swing, pace = (np.linalg.norm(force + sign * before, axis=1) for sign in (-1, 1))
        speed = min((mass * pace).sum() / max(2 * (mass * swing).sum(), 1e-9), 1.5 * speed)
        at = at + force * (speed / (1 + speed * np.sqrt(swing)))[:, None]
        before = force
    return np.asarray(np.round(_fit(at), 4)) + 0.0


def _fit(at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return places from -1 to 1: the few that are far out are drawn nearer, or all others would be small."""
    if not len(at):
        return at
    at = at - np.median(at, axis=0)
    far = np.linalg.norm(at, axis=1)
    usual = max(float(np.quantile(far, 0.9)), 1e-9)
    beyond = np.maximum(far / usual, 1.0)
    at = at * ((1.0 + 0.3 * np.log(beyond)) / beyond)[:, None]
    return at / max(float(np.abs(at).max()), 1e-9)


def _make_kernels(cells: int) -> list[NDArray[np.complex128]]:
    """Return the transforms of the push of a node on those at each distance on a grid, along each axis."""
    far = np.fft.fftfreq(2 * cells, 1 / (2 * cells))
    x, y = np.meshgrid(far, far, indexing="ij")
    square = np.maximum(x**2 + y**2, 1.0)
    return [np.fft.rfft2(one / square) for one in (x, y)]


def _sum_pushes(
    at: NDArray[np.float64], mass: NDArray[np.float64], kernels: list[NDArray[np.complex128]]
) -> NDArray[np.float64]:
    """Return how all nodes together push each node, of mass 1: mass over distance, float64[size, 2].

    The mass of a node is shared out among the four corners of its cell; twice the grid keeps its ends apart.
    """
    low, cells = at.min(axis=0), len(kernels[0]) // 2
    wide = max(float((at.max(axis=0) - low).max()), 1e-9) / (cells - 1.001)
    corner = ((at - low) / wide).astype(np.int64)
    part = (at - low) / wide - corner
    shape = (2 * cells, 2 * cells)
    spots = [
        ((corner[:, 0] + i) * shape[1] + corner[:, 1] + j, np.abs(1 - i - part[:, 0]) * np.abs(1 - j - part[:, 1]))
        for i in (0, 1)
        for j in (0, 1)
    ]
    grid = sum(np.bincount(spot, share * mass, minlength=shape[0] * shape[1]) for spot, share in spots)
    total = np.fft.rfft2(np.asarray(grid).reshape(shape))
    fields = [np.fft.irfft2(total * kernel, s=shape).ravel() for kernel in kernels]
    return np.stack([sum(field[spot] * share for spot, share in spots) for field in fields], axis=1) / wide
