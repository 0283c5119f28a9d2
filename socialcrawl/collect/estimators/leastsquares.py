"""Ordinary least squares with intercept from sums that are kept exactly.

X'X and X'y are sums of products. Kept in floating point they lose what a near-singular system needs, and the order of
additions would show; kept as integers (every feature times 2**80) they are exact, and adding in bulk is adding one
by one. A refit costs some tens of microseconds, whatever the number of rows.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

SCALE = 2.0**80  # floats of at least 2**-27 are kept exactly; what is smaller is cut at 2**-80
UNIT = 2**80


class Moments:
    """The exact sums 1'1, X'1, X'X, X'y, y'1 of a regression with `width` features."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.rows = 0
        self.first = [0] * (width + 1)  # sums of each feature, then of y
        self.second = [[0] * (width + 1) for _ in range(width)]  # products of features with features and y

    def add(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
        """Take in rows: `x` of shape (m, width), `y` of shape (m,); finite numbers."""
        table = np.column_stack([x, y]) * SCALE
        for row in table.tolist():
            values = [int(value) for value in row]
            self.rows += 1
            for i, value in enumerate(values):
                self.first[i] += value
            for i in range(self.width):
                line, value = self.second[i], values[i]
                for j in range(i, self.width + 1):
                    line[j] += value * values[j]

    def solve(self) -> tuple[NDArray[np.float64], float]:
        """The coefficients, shape (width,), and the intercept; minimum norm where the rows are singular.

        As scikit-learn's LinearRegression: centred, the intercept apart from the norm, singular values below
        max(rows, width) * eps of the largest count as zero.
        """
        if not self.rows:
            return np.zeros(self.width), 0.0
        gram, right = self._centred()
        exact = _solve_exactly(gram, right)
        weights = self._minimum_norm(gram, right) if exact is None or self._is_singular(gram) else exact
        means = [Fraction(total, self.rows * UNIT) for total in self.first]
        intercept = means[-1] - sum(Fraction(w) * m for w, m in zip(weights.tolist(), means, strict=False))
        return weights, float(intercept)

    def _centred(self) -> tuple[list[list[int]], list[int]]:
        """Products about the means: rows * (X'X - sum sum'/rows) and rows * (X'y - ...), in exact integers."""
        n, width, first = self.rows, self.width, self.first
        gram = [[0] * width for _ in range(width)]
        for i in range(width):
            for j in range(i, width):
                gram[i][j] = gram[j][i] = n * self.second[i][j] - first[i] * first[j]
        return gram, [n * self.second[i][width] - first[i] * first[width] for i in range(width)]

    def _is_singular(self, gram: list[list[int]]) -> bool:
        """Whether the smallest singular value of the centred rows is nothing beside the largest."""
        largest = max(gram[i][i] for i in range(self.width))
        # det / (product of the other eigenvalues) >= smallest eigenvalue is exact where eigvalsh drowns in rounding.
        others = np.linalg.eigvalsh(_floats(gram, largest))[1:]
        product = Fraction(float(np.prod(np.maximum(others, 0.0)))) or Fraction(1, 2**1000)
        smallest = Fraction(_determinant(gram), largest**self.width) / product
        cut = max(self.rows, self.width) * np.finfo(float).eps
        return bool(smallest <= (cut * cut) * float(others[-1] if len(others) else 1.0))

    def _minimum_norm(self, gram: list[list[int]], right: list[int]) -> NDArray[np.float64]:
        largest = max(gram[i][i] for i in range(self.width))
        if largest == 0:
            return np.zeros(self.width)
        values, vectors = np.linalg.eigh(_floats(gram, largest))
        keep = values > values[-1] * 1e-13  # rounding of eigh; true singular directions are far below
        b = np.array([float(Fraction(value, largest)) for value in right])
        return np.asarray(vectors[:, keep] @ ((vectors[:, keep].T @ b) / values[keep]))


def _floats(gram: list[list[int]], unit: int) -> NDArray[np.float64]:
    return np.array([[value / unit for value in line] for line in gram])


def _determinant(matrix: list[list[int]]) -> int:
    """The exact determinant, by Bareiss' elimination without fractions."""
    a = [line[:] for line in matrix]
    previous, size = 1, len(a)
    for k in range(size - 1):
        if a[k][k] == 0:
            return 0  # a Gram matrix with a zero pivot is singular
        for i in range(k + 1, size):
            for j in range(k + 1, size):
                a[i][j] = (a[i][j] * a[k][k] - a[i][k] * a[k][j]) // previous
        previous = a[k][k]
    return a[-1][-1]


def _solve_exactly(gram: list[list[int]], right: list[int]) -> NDArray[np.float64] | None:
    """The solution of a regular system, each component correctly rounded (Cramer's rule); None if singular."""
    determinant = _determinant(gram)
    if determinant <= 0:
        return None
    size = len(gram)
    return np.array([_ratio(_minor_sum(gram, right, k), determinant) for k in range(size)])


def _minor_sum(gram: list[list[int]], right: list[int], column: int) -> int:
    """det(gram with `column` replaced by `right`); general pivots, so by exact fractions where Bareiss stalls."""
    swapped = [[*line[:column], value, *line[column + 1 :]] for line, value in zip(gram, right, strict=True)]
    order = [column, *(i for i in range(len(gram)) if i != column)]
    # The replaced column goes last: the leading minors are then those of a positive definite matrix, never 0.
    moved = [[swapped[i][j] for j in reversed(order)] for i in reversed(order)]
    return _determinant(moved)


def _ratio(a: int, b: int) -> float:
    try:
        return a / b
    except OverflowError:
        return float(Fraction(a, b))
