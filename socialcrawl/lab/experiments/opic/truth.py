"""What importance really is: the off-line algorithm on the web as it is now, virtual page included."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.errors import SettingsError
from socialcrawl.importance.link_matrix import add_virtual_page, iterate, make_out_links
from socialcrawl.lab.experiments.opic.webs import GeneratedWeb

Floats = NDArray[np.float64]

NEGLIGIBLE = 1e-12  # the sum of all changes in the last iteration
MOST = 10_000  # iterations; webs of the paper's kind take about a hundred


def build_matrix(web: GeneratedWeb, small: float) -> Any:
    """Return the random walk on a web of n pages and the virtual page, the last of n + 1 rows, as OPIC pays by."""
    indptr, targets = web.links()
    sources = np.repeat(np.arange(web.size, dtype=np.int64), np.diff(indptr))
    return add_virtual_page(make_out_links(sources, targets, web.size), small)


def compute_truth(web: GeneratedWeb, small: float, start: Floats | None = None) -> Floats:
    """Return the importance of the pages and, last, the virtual page, float64[n + 1] of sum 1.

    Convergent iterations: a web of few links is hardly more than a star around the virtual page, whose circles have
    all two links, so that plain iterations would swing for ever.

    Args:
        web: as it is now.
        small: the weight of the small edges, an ordinary link having 1.
        start: a vector that is thought to be near, as that before the last change; None: equal shares.

    Raises:
        SettingsError: the iterations do not come to an end.
    """
    before = np.full(web.size + 1, 1.0 / (web.size + 1)) if start is None else start
    change = np.inf
    for after in islice(iterate(build_matrix(web, small), before), MOST):
        change = float(np.abs(after - before).sum())
        if change <= NEGLIGIBLE:
            return after
        before = after
    raise SettingsError(
        f"The importance of this web was not found in {MOST:,} iterations (the last one changed {change:.1e}): its "
        f"pages hardly reach each other. Give small edges more weight than {small:g} (--small), or take another web."
    )


def iterate_offline(web: GeneratedWeb, small: float, *, convergent: bool) -> Iterator[Floats]:
    """Yield the vectors after 1, 2, 3, ... iterations from equal shares, float64[n + 1]: the off-line algorithm."""
    return iterate(build_matrix(web, small), convergent=convergent)
