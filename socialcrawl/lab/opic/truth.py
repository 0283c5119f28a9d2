"""What importance really is: the off-line algorithm on the web as it is now, virtual page included."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.importance.fixpoint import iterations
from socialcrawl.importance.matrix import out_links, with_virtual
from socialcrawl.lab.opic.webs import Web

Floats = NDArray[np.float64]

NEGLIGIBLE = 1e-12  # the sum of all changes in the last iteration


def matrix(web: Web, small: float) -> Any:
    """The random walk on a web of n pages and the virtual page, the last of n + 1 rows, as OPIC pays by."""
    indptr, targets = web.links()
    sources = np.repeat(np.arange(web.size, dtype=np.int64), np.diff(indptr))
    return with_virtual(out_links(sources, targets, web.size), small)


def truth(web: Web, small: float, start: Floats | None = None) -> Floats:
    """The importance of the pages and, last, the virtual page, float64[n + 1] of sum 1.

    Plain iterations: with the virtual page there are circles of two and of three links, so that they converge.

    Args:
        web: as it is now.
        small: the weight of the small edges, an ordinary link having 1.
        start: a vector that is thought to be near, as that before the last change; None: equal shares.
    """
    for before, after in pairwise(iterations(matrix(web, small), start, convergent=False)):
        if float(np.abs(after - before).sum()) <= NEGLIGIBLE:
            return after
    raise AssertionError  # iterations have no end


def offline(web: Web, small: float, *, convergent: bool) -> Iterator[Floats]:
    """The vectors after 1, 2, 3, ... iterations from equal shares, float64[n + 1] each: the off-line algorithm."""
    return iterations(matrix(web, small), convergent=convergent)
