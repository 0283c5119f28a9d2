"""Death on a web: it spreads along links and takes whole sites, until a wanted share of the pages is left.

A page's hazard at any time is its frailty times (0.1 + the share of dead among the pages that point to it). Frailty is
its site's times its own, less the more links lead to it: what is much pointed at lasts. Sites of near numbers, which
link to each other, have like frailties. Nothing is fitted.
"""

from dataclasses import dataclass

import numpy as np

from socialcrawl.engine.draws import make_generator
from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments.liverank.dataset_worlds import DatasetWorld, Flags, Floats, Ints
from socialcrawl.lab.experiments.liverank.weblike import SitedWeb

WORDS = ("not found (404)", "no answer", "redirected (301)", "soft 404 (200)", "other error", "really there (200)")
NOT_FOUND, SILENT, MOVED, SOFT, OTHER, THERE = range(6)
GONE = {SILENT: 0.56, MOVED: 0.44}  # how sites end of which nothing is left: as in the paper's table 1, 24 to 19
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
