"""Generated webs of pages: the number of links that point to a page follows a law, where they come from is drawn.

Abiteboul et al., section 4, leave the details out: what is not in the paper is a field of `LinkLaw`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from socialcrawl.engine.draws import make_generator
from socialcrawl.errors import SettingsError
from socialcrawl.text.wording import explain_unknown

Rows = NDArray[np.int64]

FEWEST: Final = 10  # pages that make a web
TRIES: Final = 100


@dataclass(frozen=True)
class LinkLaw:
    """How links are spread over pages.

    Attributes:
        into: of in-degrees: "power", P(k) ~ k ** -exponent from 1 to a tenth of the pages, or "poisson".
        exponent: of the power law; the paper's (after Broder et al.): 2.1.
        mean: of Poisson, the mean in-degree.
        out: where links come from: "even" (any page, so that out-degrees are Poisson) or "power" (page i by a weight
            whose tail has Broder's exponent of out-degrees, 2.72).
    """

    into: str = "power"
    exponent: float = 2.1
    mean: float = 8.0
    out: str = "even"


LAWS: Final = {"power": LinkLaw(), "poisson": LinkLaw("poisson"), "broder": LinkLaw(out="power")}
"""The laws by name: the paper's, the one it began with, and one whose out-degrees follow a power law too."""


def get_law(name: str) -> LinkLaw:
    """Return the law of that name.

    Raises:
        SettingsError: there is none.
    """
    if name not in LAWS:
        raise SettingsError(explain_unknown("law of webs", name, LAWS))
    return LAWS[name]


class GeneratedWeb:
    """A graph of n pages that can change: whom each page links to, and who links to it; no link twice, none to itself.

    Attributes:
        out: the targets of each page's links, in the order in which they came.
        into: the sources of the links to each page.
        arrays: what `targets` has made of `out`, until it changes.
    """

    def __init__(self, size: int, sources: Rows, targets: Rows) -> None:
        self.out: list[list[int]] = _group_targets(size, sources, targets)
        self.into: list[list[int]] = _group_targets(size, targets, sources)
        self.arrays: list[Rows | None] = [None] * size

    @property
    def size(self) -> int:
        """The number of pages, n."""
        return len(self.out)

    def get_links(self) -> tuple[Rows, Rows]:
        """Return the web as it is now, as compressed sparse rows: indptr int64[n + 1] and the targets, int64[m]."""
        indptr = np.zeros(self.size + 1, np.int64)
        np.cumsum([len(some) for some in self.out], out=indptr[1:])
        targets = np.fromiter((page for some in self.out for page in some), np.int64, int(indptr[-1]))
        return indptr, targets

    def get_targets(self, page: int) -> Rows:
        """Return whom a page links to now, int64."""
        kept = self.arrays[page]
        if kept is None:
            kept = self.arrays[page] = np.array(self.out[page], np.int64)
        return kept

    def link(self, source: int, target: int) -> bool:
        """Return whether a link was added: not where it is there already, or would lead to its own page."""
        if source == target or target in self.out[source]:
            return False
        self.out[source].append(target)
        self.into[target].append(source)
        self.arrays[source] = None
        return True

    def cut(self, sources: Sequence[int], target: int) -> None:
        """Take some of the links to a page away."""
        gone = set(sources)
        self.into[target] = [source for source in self.into[target] if source not in gone]
        for source in sources:
            self.out[source].remove(target)
            self.arrays[source] = None


def generate_web(law: LinkLaw, size: int, seed: int) -> GeneratedWeb:
    """Return the web of `size` pages that `seed` makes: in-degrees by the law, sources drawn, without doubles.

    Raises:
        SettingsError: the law or size cannot be used.
    """
    _check(law, size)
    degrees = draw_indegrees(law, size, seed)
    targets = np.repeat(np.arange(size, dtype=np.int64), degrees)
    weights = _draw_weights(law, size, seed)
    sources = np.full(len(targets), -1, np.int64)
    open_now = np.arange(len(targets))
    for attempt in range(TRIES):
        sources[open_now] = _draw_links(weights, len(open_now), size, seed, attempt)
        open_now = _find_doubles(sources, targets, size)
        if not len(open_now):
            break
    complete = np.setdiff1d(np.arange(len(targets)), open_now)  # a page that nearly all link to keeps a few links less
    return GeneratedWeb(size, sources[complete], targets[complete])


def draw_indegrees(law: LinkLaw, size: int, seed: int) -> Rows:
    """Return how many links point to each page, int64[size]: at most a tenth of the pages do."""
    most = max(size // 10, 1)
    draws = make_generator(seed, "indegrees", 0)
    if law.into == "poisson":
        return np.minimum(draws.poisson(law.mean, size), most).astype(np.int64)
    k = np.arange(1, most + 1, dtype=np.float64)
    ends = np.cumsum(k**-law.exponent)
    return np.asarray(np.searchsorted(ends / ends[-1], draws.random(size), side="right") + 1, np.int64).clip(1, most)


def _check(law: LinkLaw, size: int) -> None:
    if law.into not in ("power", "poisson") or law.out not in ("even", "power"):
        raise SettingsError(f"No law {law.into}, {law.out}: in-degrees are power or poisson, sources even or power.")
    if size < FEWEST:
        raise SettingsError(f"{size} pages are no web; give at least {FEWEST}.")
    if law.into == "power" and not law.exponent > 1:
        raise SettingsError(f"An exponent of {law.exponent:g} gives no in-degrees; give one above 1.")
    if law.into == "poisson" and not 0 < law.mean <= size / 10:
        raise SettingsError(
            f"A mean in-degree of {law.mean:g} cannot be; it must be above 0, and not above a tenth of {size} pages."
        )


def _draw_weights(law: LinkLaw, size: int, seed: int) -> NDArray[np.float64] | None:
    """Return the ends of the pages' shares of all sources; None: all pages alike."""
    if law.out == "even":
        return None
    weights = (1.0 - make_generator(seed, "outdegrees", 0).random(size)) ** (-1 / 1.72)  # Pareto: density exponent 2.72
    ends = np.cumsum(np.minimum(weights, size**0.5))
    return np.asarray(ends / ends[-1])


def _draw_links(ends: NDArray[np.float64] | None, count: int, size: int, seed: int, attempt: int) -> Rows:
    draws = make_generator(seed, "sources", attempt)
    if ends is None:
        return np.asarray(draws.integers(0, size, count), np.int64)
    return np.minimum(np.searchsorted(ends, draws.random(count), side="right"), size - 1).astype(np.int64)


def _find_doubles(sources: Rows, targets: Rows, size: int) -> Rows:
    """Return the places of links that lead to their own page or are there already, before them."""
    _, first = np.unique(sources * size + targets, return_index=True)
    fine = np.zeros(len(sources), bool)
    fine[first] = True
    return np.flatnonzero(~fine | (sources == targets))


def _group_targets(size: int, keys: Rows, values: Rows) -> list[list[int]]:
    order = np.argsort(keys, kind="stable")
    ends = np.searchsorted(keys[order], np.arange(size + 1))
    listed = values[order].tolist()
    return [listed[begin:end] for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]
