"""Ordinary least squares with intercept from sums that are kept exactly.

X'X and X'y are sums of products. Kept in floating point they lose what a near-singular system needs, and the order of
additions would show; kept as integers (every feature times 2**200) they are exact, and adding in bulk is adding one
by one. A refit of three features costs some 30 microseconds, whatever the number of rows.
"""

import math
from itertools import chain

import numpy as np
from numpy.typing import NDArray

SCALE = 2.0**200  # floats of at least 2**-147 (some 1e-44) are kept exactly; what is smaller is cut at 2**-200
UNIT = 2**200
BITS = 200
LARGEST = 2.0**800  # floats above are not cut into limbs
REGULAR = 10**12  # a determinant above 1/REGULAR of trace**width leaves no eigenvalue below TOLERANCE**2 of the largest
TOLERANCE = 1e-6  # singular values below this share of the largest are zero: `tol` of scikit-learn >= 1.9
THREE = 3  # the features of the paper: their determinants are written out
NOISE = 10**26  # columns that vary by less than 1e-13 of their size are constant: the rest is rounding


FEW = 32  # rows that are added as fast one by one
LIMB = 18  # bits: 2 * LIMB and the bits of TOGETHER make less than 53
TOGETHER = 2**16
LIMBS = 8


class Moments:
    """The exact sums 1'1, X'1, X'X, X'y, y'1 of a regression with `width` features."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.rows = 0
        self.first = [0] * (width + 1)  # sums of each feature, then of y
        self.second = [[0] * (width + 1) for _ in range(width)]  # products of features with features and y

    def add(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
        """Take in rows: `x` of shape (m, width), `y` of shape (m,); finite numbers."""
        if len(y) > FEW:
            rows = np.concatenate([x, y[:, None]], axis=1)
            for begin in range(0, len(rows), TOGETHER):
                self._add_all(rows[begin : begin + TOGETHER])
            return
        self._add_each(x, y)

    def _add_all(self, rows: NDArray[np.float64]) -> None:
        """Take in up to TOGETHER rows of features and value.

        Numbers are cut into limbs of LIMB bits, which products of matrices add up exactly: a sum of TOGETHER products
        of two limbs is an integer below 2**53. Where numbers are too far apart for that, they are added one by one.
        """
        limbs, units = _split_limbs(rows)
        if not units:
            self._add_each(rows[:, :-1], rows[:, -1])
            return
        sums: list[list[int]] = limbs.sum(axis=1).astype(np.int64).tolist()
        self.rows += len(rows)
        self.first = [
            total + sum(int(limb[i]) << unit for limb, unit in zip(sums, units, strict=True))
            for i, total in enumerate(self.first)
        ]
        for a, first in zip(units, limbs, strict=True):
            for b, second in zip(units, limbs, strict=True):
                products = (first[:, : self.width].T @ second).astype(np.int64).tolist()
                for i, line in enumerate(self.second):
                    for j in range(i, self.width + 1):
                        line[j] += products[i][j] << (a + b)

    def _add_each(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
        for features, value in zip(x.tolist(), y.tolist(), strict=True):
            values = [int(part * SCALE) for part in (*features, value)]
            self.rows += 1
            self.first = [total + part for total, part in zip(self.first, values, strict=True)]
            for i, line in enumerate(self.second):
                for j in range(i, self.width + 1):
                    line[j] += values[i] * values[j]

    def solve(self) -> tuple[NDArray[np.float64], float]:
        """Return the coefficients, shape (width,), and the intercept; minimum norm where the rows are singular.

        As scikit-learn's LinearRegression: centred, the intercept apart from the norm, singular values below
        TOLERANCE of the largest count as zero. Elsewhere every coefficient is the correctly rounded solution.
        """
        if not self.rows:
            return np.zeros(self.width), 0.0
        gram, right = self._center()
        trace = sum(gram[i][i] for i in range(self.width))
        if trace * NOISE <= self.rows * sum(self.second[i][i] for i in range(self.width)):
            numerators, determinant = [0] * self.width, 1
        else:
            gram, right = _drop_common_zeros(gram, right)
            trace = sum(gram[i][i] for i in range(self.width))
            numerators, determinant = _solve_cramer(gram, right)
            if determinant * REGULAR <= trace**self.width and (null := _find_null_space(gram, trace)):
                numerators, determinant = _solve_cramer(*_block_directions(gram, right, trace, null))
        weights = np.array([part / determinant for part in numerators])
        above = self.first[-1] * determinant - sum(w * total for w, total in zip(numerators, self.first, strict=False))
        return weights, above / (self.rows * UNIT * determinant)

    def _center(self) -> tuple[list[list[int]], list[int]]:
        """Return the products about the means: rows * (X'X - sum sum'/rows) and rows * (X'y - ...), exact integers."""
        n, width, first = self.rows, self.width, self.first
        gram = [[0] * width for _ in range(width)]
        for i in range(width):
            for j in range(i, width):
                gram[i][j] = gram[j][i] = n * self.second[i][j] - first[i] * first[j]
        return gram, [n * self.second[i][width] - first[i] * first[width] for i in range(width)]


def _split_limbs(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], list[int]]:
    """Return integers below 2**LIMB, shape (limbs, *rows.shape), and units: limb k counts 2**(units[k]) / SCALE.

    Their sum is `rows`, exactly; no units, where LIMBS limbs do not reach, or there is more to it than SCALE keeps.
    """
    limbs: list[NDArray[np.float64]] = []
    units: list[int] = []
    left, largest = rows.copy(), float(np.abs(rows).max(initial=0.0))
    unit = math.frexp(largest)[1] + BITS if largest < LARGEST else 0
    while left.any():
        unit -= LIMB
        if unit < 0 or len(limbs) == LIMBS:
            return np.empty(0), []
        size = 2.0 ** (unit - BITS)
        limbs.append(np.trunc(left / size))
        left -= limbs[-1] * size
        units.append(unit)
    return (np.stack(limbs), units) if limbs else (np.zeros((1, *rows.shape)), [0])


def _drop_common_zeros(gram: list[list[int]], right: list[int]) -> tuple[list[list[int]], list[int]]:
    """Return a system with the same solution, whose numbers are as short as their common power of two allows."""
    every = 0
    for value in chain(right, *gram):
        every |= value
    zeros = (every & -every).bit_length() - 1
    return [[value >> zeros for value in line] for line in gram], [value >> zeros for value in right]


def _block_directions(
    gram: list[list[int]], right: list[int], trace: int, null: list[list[float]]
) -> tuple[list[list[int]], list[int]]:
    """Return the system with a wall across each of the directions `null`, so that its solution does not go there.

    A single direction is first made exact (inverse iteration): next to a weak second one, rounding in it would show.
    """
    directions = [[round(part * 2.0**60) for part in vector] for vector in null]
    if len(null) == 1 and any(exact := _compute_numerators(gram, directions[0])):
        excess = max(0, max(abs(part) for part in exact).bit_length() - 128)
        directions = [[part >> excess for part in exact]]
    for u in directions:
        norm = sum(part * part for part in u)
        wall = trace << 60
        gram = [
            [norm * g + wall * a * b for g, b in zip(line, u, strict=True)] for line, a in zip(gram, u, strict=True)
        ]
        right, trace = [norm * value for value in right], norm * trace
    return gram, right


def _find_null_space(gram: list[list[int]], trace: int) -> list[list[float]]:
    """Return unit vectors along which the rows do not vary, to TOLERANCE."""
    values, vectors = np.linalg.eigh(np.array([[value / trace for value in line] for line in gram]))
    null: list[list[float]] = vectors[:, values < values[-1] * TOLERANCE**2].T.tolist()
    return null


def _solve_cramer(matrix: list[list[int]], right: list[int]) -> tuple[list[int], int]:
    """Return the numerators of the solution of a regular system, and their common denominator, the determinant."""
    if len(matrix) != THREE:
        return _compute_numerators(matrix, right), _compute_determinant(matrix)
    (a, b, c), (d, e, f), (g, h, i) = matrix
    x, y, z = right
    one, two, three = e * i - f * h, f * g - d * i, d * h - e * g
    numerators = [
        one * x + (c * h - b * i) * y + (b * f - c * e) * z,
        two * x + (a * i - c * g) * y + (c * d - a * f) * z,
        three * x + (b * g - a * h) * y + (a * e - b * d) * z,
    ]
    return numerators, a * one + b * two + c * three


def _compute_numerators(matrix: list[list[int]], right: list[int]) -> list[int]:
    """Return det(matrix with column k replaced by `right`) for each k: the solution times det(matrix)."""
    return [
        _compute_determinant([[*line[:k], value, *line[k + 1 :]] for line, value in zip(matrix, right, strict=True)])
        for k in range(len(matrix))
    ]


def _compute_determinant(matrix: list[list[int]]) -> int:
    """Return the exact determinant, by Bareiss' elimination without fractions."""
    a = [line[:] for line in matrix]
    previous, sign, size = 1, 1, len(a)
    for k in range(size - 1):
        pivot = next((i for i in range(k, size) if a[i][k]), None)
        if pivot is None:
            return 0
        if pivot > k:
            a[k], a[pivot], sign = a[pivot], a[k], -sign
        for i in range(k + 1, size):
            for j in range(k + 1, size):
                a[i][j] = (a[i][j] * a[k][k] - a[i][k] * a[k][j]) // previous
        previous = a[k][k]
    return sign * a[-1][-1]
