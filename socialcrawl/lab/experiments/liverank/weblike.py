"""Generated webs: sites of power-law sizes, whose pages link to pages of their own, of sites near by, and of any.

Nothing is fitted: the shape is that of crawls of one country's web (most links stay inside a site, famous pages are
pointed at by many, a seventh of the pages link nowhere). Pages are numbered at random: a number says nothing.

Death on a web spreads along links and takes whole sites, until a wanted share of the pages is left. A page's hazard at
any time is its frailty times (0.1 + the share of dead among the pages that point to it). Frailty is its site's times
its own, less the more links lead to it: what is much pointed at lasts. Sites of near numbers, which link to each
other, have like frailties. Nothing is fitted.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.refresh.old_dataset import compress_links
from socialcrawl.engine.draws import make_generator
from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments.liverank.dataset_worlds import DatasetWorld, Flags, Floats, Ints

LOCAL, NEAR = 0.85, 0.10  # shares of links inside the site, and to sites near by; the rest goes anywhere
REACH = 10  # sites on either side that are near
SIZES = 0.9  # the tail of the sizes of sites: the share larger than s falls as s ** -0.9
FAME = 1.1  # the tail of the fame of sites
LARGEST = 0.02  # the share of all pages that no site exceeds
SILENT = 0.14  # the share of pages that link nowhere
MOST = 1_000  # links of a page
FEWEST = 10  # pages that make a web


@dataclass(frozen=True)
class WebParameters:
    """What is generated: `pages` of about `a_site` pages a site (on average), each with `degree` links on average."""

    pages: int = 200_000
    degree: float = 16.0
    a_site: float = 190.0
    seed: int = 1

    def __post_init__(self) -> None:
        if self.pages < FEWEST or not 1 <= self.degree <= self.pages or not self.a_site >= 1 or self.seed < 0:
            raise SettingsError(
                f"a generated web has at least {FEWEST} pages, a link a page, a page a site and a seed from 0 up."
            )


@dataclass(frozen=True, eq=False)
class SitedWeb:
    """Pages, links and sites.

    Attributes:
        indptr: int64[n + 1], of the out-links.
        indices: int32[m], where they go.
        sites: int64[n], the site of each page, from 0; sites near each other have near numbers.
    """

    indptr: Ints
    indices: NDArray[np.int32]
    sites: Ints


def generate_web(shape: WebParameters) -> SitedWeb:
    """Return the web of that shape."""
    rng = make_generator(shape.seed, "web-like", 0)
    first = _draw_sites(shape, rng)  # where each site's pages begin, while they still stand one beside the other
    count = len(first) - 1
    site = np.repeat(np.arange(count), np.diff(first))
    fame = np.minimum((rng.pareto(FAME, count) + 0.05) * np.sqrt(np.diff(first)), 1e6)
    sources = np.repeat(np.arange(shape.pages), _draw_degrees(shape, rng))
    goals = _draw_goals(site[sources], fame, rng)
    targets = _draw_pages(goals, first, site[sources] == goals, rng)
    name = rng.permutation(shape.pages)
    indptr, indices = compress_links(name[sources], name[targets], shape.pages)
    sites = np.empty(shape.pages, np.int64)
    sites[name] = site
    return SitedWeb(indptr, indices, sites)


def _draw_sites(shape: WebParameters, rng: np.random.Generator) -> Ints:
    """Return the first page of each site, and the end: int64[sites + 1]."""
    count = max(1, round(shape.pages / shape.a_site))
    weight = rng.pareto(SIZES, count) + 1.0
    weight = np.minimum(weight, LARGEST * weight.sum())
    sizes = np.maximum(1, np.floor(weight * (shape.pages / weight.sum()))).astype(np.int64)
    ends = np.minimum(np.cumsum(sizes), shape.pages)
    ends[-1] = shape.pages
    return np.unique(np.concatenate([[0], ends])).astype(np.int64)


def _draw_degrees(shape: WebParameters, rng: np.random.Generator) -> Ints:
    """Return how many links each page has before doubles are left out: heavy tails, int64[n]."""
    drawn = rng.lognormal(0.0, 1.0, shape.pages)
    drawn[rng.random(shape.pages) < SILENT] = 0.0
    links = np.rint(drawn * (shape.degree / max(float(drawn.mean()), 1e-9)))
    return np.asarray(np.minimum(links, MOST), np.int64)


def _draw_goals(own: Ints, fame: Floats, rng: np.random.Generator) -> Ints:
    """Return the site that each link goes to, int64[m]: its own, one near by, or any, the latter two by their fame."""
    total = np.concatenate([[0.0], np.cumsum(fame)])
    kind = rng.random(len(own))
    low = np.where(kind < LOCAL + NEAR, total[np.maximum(own - REACH, 0)], 0.0)
    high = np.where(kind < LOCAL + NEAR, total[np.minimum(own + REACH + 1, len(fame))], total[-1])
    drawn = np.searchsorted(total, low + rng.random(len(own)) * (high - low), side="right") - 1
    return np.asarray(np.where(kind < LOCAL, own, np.minimum(drawn, len(fame) - 1)), np.int64)


def _draw_pages(goals: Ints, first: Ints, inside: NDArray[np.bool_], rng: np.random.Generator) -> Ints:
    """Return the page of its site that each link goes to, int64[m]: the first ones most."""
    size = first[goals + 1] - first[goals]
    place = (size * rng.random(len(goals)) ** np.where(inside, 4.0, 8.0)).astype(np.int64)
    return np.asarray(first[goals] + np.minimum(place, size - 1), np.int64)


WORDS = ("not found (404)", "no answer", "redirected (301)", "soft 404 (200)", "other error", "really there (200)")
NOT_FOUND, NO_ANSWER, MOVED, SOFT, OTHER, THERE = range(6)
GONE = {NO_ANSWER: 0.56, MOVED: 0.44}  # how sites end of which nothing is left: as in the paper's table 1, 24 to 19
FAULTS = {NOT_FOUND: 0.69, SOFT: 0.13, OTHER: 0.18}  # how living sites answer for a dead page: 35 to 6.5 to 9.5
ALONE = 0.1  # the hazard of a page to which no dead one points, as a part of one to which dead ones only do
A_ROUND = 0.05  # the share of pages that die in a round, about


@dataclass(frozen=True)
class DeathModel:
    """What has become of a web.

    Attributes:
        alive: the share of pages that are left: the paper's uk-2002 0.0629, uk-2006 0.3556.
        spread: how much dead pages that point to it add to a page's hazard: 1 as above, 0 nothing.
        by_site: the spread of the sites' frailties (the sigma of a lognormal): 0: all sites are alike.
        resist: the power of (1 + in-degree) by which frailty falls.
        seed: of all draws.
    """

    alive: float = 0.0629
    spread: float = 1.0
    by_site: float = 1.5
    resist: float = 0.4
    seed: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.alive < 1:
            raise SettingsError(f"--alive {self.alive:g}: give the share of pages that are left, between 0 and 1.")
        if min(self.spread, self.by_site, self.resist, self.seed) < 0:
            raise SettingsError("what spreads death, and the seed, are 0 or more.")


def plant_death(name: str, web: SitedWeb, death: DeathModel) -> DatasetWorld:
    """Return the web as the old snapshot of a world in which that death has passed."""
    indegree = np.bincount(web.indices, minlength=len(web.sites))
    active = _draw_survivors(web, _draw_frailty(web, indegree, death), death)
    status = _choose_status(web, active, death)
    return DatasetWorld(name, web.indptr, web.indices, active, web.sites, status, WORDS, np.full(len(active), np.nan))


def _draw_frailty(web: SitedWeb, indegree: Ints, death: DeathModel) -> Floats:
    rng = make_generator(death.seed, "frailty", 0)
    count = int(web.sites.max()) + 1
    drawn = rng.normal(size=count + 4)
    near = np.convolve(drawn, np.full(5, 5**-0.5), mode="valid")  # of variance 1, and alike in neighbours
    site = np.exp(death.by_site * (near + rng.normal(size=count)) / np.sqrt(2.0))
    own = rng.lognormal(0.0, 0.5, len(web.sites))
    return np.asarray(site[web.sites] * own * (1.0 + indegree) ** -death.resist)


def _draw_survivors(web: SitedWeb, frailty: Floats, death: DeathModel) -> Flags:
    """Return who is left, bool[n]: a page dies when its hazards have added up to a number that was drawn for it."""
    size = len(frailty)
    end = make_generator(death.seed, "death", 0).standard_exponential(size)
    into = np.maximum(np.bincount(web.indices, minlength=size), 1)
    degree = np.diff(web.indptr)
    suffered, active = np.zeros(size), np.ones(size, np.bool_)
    left, wanted = size, max(1, round(death.alive * size))
    while left > wanted:
        dead = np.bincount(web.indices[np.repeat(~active, degree)], minlength=size) / into
        hazard = np.where(active, frailty * (ALONE + death.spread * dead), 0.0)
        suffered += hazard * (A_ROUND * size / hazard.sum())
        over = np.where(active, suffered - end, -np.inf)
        dying = np.flatnonzero(over >= 0)
        if len(dying) > left - wanted:
            dying = dying[np.argsort(-over[dying], kind="stable")[: left - wanted]]
        active[dying] = False
        left -= len(dying)
    return active


def _choose_status(web: SitedWeb, active: Flags, death: DeathModel) -> Ints:
    """Return what a request for each page is answered with: sites with nothing left go in one way."""
    count = int(web.sites.max()) + 1
    rng = make_generator(death.seed, "status", 0)
    ends = rng.choice(list(GONE), count, p=list(GONE.values()))
    faults = rng.choice(list(FAULTS), count, p=list(FAULTS.values()))
    living = np.bincount(web.sites, weights=active, minlength=count) > 0
    fate = np.where(living, faults, ends)
    return np.where(active, THERE, fate[web.sites])
