"""The variance of the mean of a series that remembers: of one walk's visits, or of several walks'."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

NEAR = 128  # lags that are summed one by one, before all are by a Fourier transform
ROUNDING = 1e-12  # of a variance: what is below comes from the Fourier transform


def estimate_variance(z: Floats, begins: Ints) -> tuple[float, float]:
    """Return (long-run variance, its degrees of freedom) of a series with mean 0, by Geyer's initial positive sequence.

    The sequence is made monotone too. The sum over lags up to m, of n visits, has n / (2 m + 1) degrees of freedom, and
    is too small by that part, since the mean was estimated from the same visits.

    Args:
        z: float64[n], the walks one after the other.
        begins: int64[walks + 1], where each begins, and n.
    """
    n = len(z)
    covariance = _list_near_covariances(z, begins) / n
    pairs, ended = _sum_positive(covariance)
    if not ended and len(covariance) == NEAR:
        pairs, _ = _sum_positive(_compute_autocovariances(z, begins) / n)
    kept = np.minimum.accumulate(pairs)
    lags = max(0, 2 * len(kept) - 1)
    freedom = max(1.0, n / (2.0 * lags + 1.0))
    # Visits in turn (the first pair is not positive) are taken as independent: more than that is not trusted.
    variance = 2.0 * float(kept.sum()) - float(covariance[0]) if len(kept) else float(covariance[0])
    return variance / max(0.25, 1.0 - 1.0 / freedom), freedom


def estimate_variance_between(z: Floats, pieces: Ints | None, there: Flags) -> tuple[float, float]:
    """Return (long-run variance, degrees of freedom) of a series with mean 0, by how much its pieces differ.

    (0, inf) where there is one piece only. What a walk has not forgotten by the end of a piece shows in this variance,
    and not in the autocovariances.

    Args:
        z: float64[n].
        pieces: int64[n], in which piece each is; None: there is one piece.
        there: bool[n], which of them count: a piece without any is none.
    """
    many = 1 if pieces is None else len(np.unique(pieces[there]))
    if pieces is None or many < 2:
        return 0.0, np.inf
    sums = np.bincount(pieces, z).astype(np.float64)
    return compute_dot(sums, sums) * many / (many - 1) / len(z), many - 1.0


def cut_pieces(weights: Floats, begins: Ints, least: int) -> Ints:
    """Return the piece of each row, int64[n]: walks are the pieces, or equal parts of walks where these are few.

    Args:
        weights: float64[n], the walks one after the other; parts are equal in rows with a weight.
        begins: int64[walks + 1], where each begins, and n.
        least: pieces that there are to be.
    """
    walks = len(begins) - 1
    if not walks:
        return np.zeros(0, np.int64)
    each = -(-least // walks)
    walk = np.repeat(np.arange(walks), np.diff(begins))
    running = np.append(0, np.cumsum(weights > 0.0))
    rank = running[1:] - running[begins[:-1]][walk]
    lengths = np.maximum(1, (running[begins[1:]] - running[begins[:-1]])[walk])
    found: Ints = walk * each + np.clip((rank - 1) * each // lengths, 0, each - 1)
    return found


def _sum_positive(covariance: Floats) -> tuple[Floats, bool]:
    """Return the sums of two covariances each up to the first that is not positive, and whether there is such a one."""
    pairs = covariance[: len(covariance) // 2 * 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= ROUNDING * covariance[0])
    return pairs[: ends[0] if len(ends) else len(pairs)], bool(len(ends))


def _list_near_covariances(z: Floats, begins: Ints) -> Floats:
    """Return the first autocovariances, up to the pair that is not positive: most series soon have one."""
    lengths = np.diff(begins)
    apart = np.zeros(len(z) + NEAR * len(lengths))  # as many zeros after each walk: no pair is of two
    apart[np.arange(len(z)) + NEAR * np.repeat(np.arange(len(lengths)), lengths)] = z
    found: list[float] = []
    for lag in range(min(NEAR, int(lengths.max()))):
        found.append(compute_dot(apart[: len(apart) - lag], apart[lag:]))
        if lag % 2 and found[-2] + found[-1] <= ROUNDING * found[0]:
            break
    return np.array(found)


def _compute_autocovariances(z: Floats, begins: Ints) -> Floats:
    """Return the sums of z[i] z[i + lag] over pairs within one walk, by lag, from 0."""
    longest = int(np.max(np.diff(begins)))
    size = 1 << (2 * longest - 1).bit_length()
    power = np.zeros(size // 2 + 1)
    for begin, end in zip(begins[:-1].tolist(), begins[1:].tolist(), strict=True):
        power += np.abs(np.fft.rfft(z[begin:end], size)) ** 2
    return np.asarray(np.fft.irfft(power, size)[:longest], np.float64)


def compute_dot(a: Floats, b: Floats) -> float:
    """Return the inner product, by one thread: the library adds up in as many parts as there are processors."""
    return float(np.einsum("i,i->", a, b))
