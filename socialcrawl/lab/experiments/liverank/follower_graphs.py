"""Generated follower graphs: few are followed by many, the famous are active more often, and death does not spread.

A link goes from who follows to who is followed. Whether somebody is active depends on how famous he is and how many he
follows, and on chance; given that, not at all on the neighbours. Nothing is fitted.
"""

from dataclasses import dataclass

import numpy as np

from socialcrawl.crawls.refresh.old_dataset import compress_links
from socialcrawl.engine.draws import make_generator
from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments.liverank.dataset_worlds import DatasetWorld, Floats, Ints

WORDS = ("no longer there", "never posted", "posted, but not lately", "active")
GONE, NEVER, ONCE, LATELY = range(4)
LEFT, MUTE = 0.12, 0.25  # shares of those that are gone, and of those that never posted
FAME = 1.2  # the tail of fame: the share above f falls as f ** -1.2
MOST = 2e-3  # the share of all links that nobody exceeds
BACK = 0.22  # the share of links that are answered by one back
RECENT, SPAN = 182.0, 1_760.0  # days: six months, and from the snapshot (July 2009) to the present (May 2014)
FEWEST = 10  # accounts that make a graph


@dataclass(frozen=True)
class FollowerParameters:
    """What is generated.

    Attributes:
        accounts: n.
        degree: how many each follows, on average.
        alive: the share that is active; the paper's Twitter: 0.1753.
        bond: how much fame says of activity: 0 nothing.
        seed: of all draws.
    """

    accounts: int = 200_000
    degree: float = 20.0
    alive: float = 0.1753
    bond: float = 1.0
    seed: int = 1

    def __post_init__(self) -> None:
        if self.accounts < FEWEST or not 1 <= self.degree <= self.accounts or self.seed < 0 or self.bond < 0:
            raise SettingsError(
                f"a generated follower graph has at least {FEWEST} accounts, a link each, a bond and a seed from 0 up."
            )
        if not 0 < self.alive < 1 - LEFT - MUTE:
            raise SettingsError(f"--alive {self.alive:g}: give a share between 0 and {1 - LEFT - MUTE:g}.")


def generate_followers(name: str, shape: FollowerParameters) -> DatasetWorld:
    """Return the follower graph of that shape, and who is active in it."""
    rng = make_generator(shape.seed, "follower graph", 0)
    fame = rng.pareto(FAME, shape.accounts) + 0.05
    fame = np.minimum(fame, MOST * fame.sum())
    busy = rng.lognormal(0.0, 1.2, shape.accounts)
    drawn = np.rint(busy * (shape.degree / (1.0 + BACK) / busy.mean())).astype(np.int64)
    sources = np.repeat(np.arange(shape.accounts), drawn)
    places = np.searchsorted(np.cumsum(fame), rng.random(len(sources)) * fame.sum(), side="right")
    targets = np.minimum(places, shape.accounts - 1)
    back = rng.random(len(sources)) < BACK
    ends = np.concatenate([sources, targets[back]]), np.concatenate([targets, sources[back]])
    indptr, indices = compress_links(*ends, shape.accounts)
    status, age = _draw_lives(shape, fame, busy, rng)
    return DatasetWorld(name, indptr, indices, status == LATELY, None, status, WORDS, age)


def _draw_lives(shape: FollowerParameters, fame: Floats, busy: Floats, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Return the status of each account, and the days since its last post; who was gone or mute was seldom famous."""
    size = shape.accounts
    zeal = shape.bond * (np.log(fame) + 0.3 * np.log(busy)) + rng.logistic(0.0, 1.5, size)
    order = np.argsort(-zeal, kind="stable")
    # The famous may leave too: who is gone is drawn evenly, the others by their zeal.
    gone = rng.random(size) < LEFT
    status = np.full(size, GONE)
    there = order[~gone[order]]
    posted = there[: max(1, len(there) - round(MUTE * size))]
    status[there[len(posted) :]] = NEVER
    lately = max(1, round(shape.alive * size))
    status[posted] = ONCE
    status[posted[:lately]] = LATELY
    return status, _compute_ages(posted, lately, size)


def _compute_ages(posted: Ints, lately: int, size: int) -> Floats:
    """Return days since the last post, float64[n]: the busiest today, the `lately`th 6 months ago, the last at SPAN."""
    age = np.full(size, np.nan)
    place = (np.arange(len(posted)) + 0.5) / lately
    power = np.log(SPAN / RECENT) / max(np.log(len(posted) / lately), 1e-9)
    age[posted] = RECENT * np.where(place < 1, place, place**power)
    return age
