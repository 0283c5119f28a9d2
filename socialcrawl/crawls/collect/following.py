"""Following the best shadow: a campaign changes its estimator where the evidence is overwhelming (`[crawl] follow`).

Only drawn steps count (`[crawl] control`): no estimator chose them, so that they favour none. Two steps in a row that
were drawn in the same way are a pair. Of a pair each estimator would read the account first that it scores higher. What
a shadow gains in a pair is the relevance of its account less that of the steering estimator's; 0 where both agree.

The test was fixed before any data: one-sided Student's t of the gains, at 20, 40, 80, ... pairs, always of the first
pairs. One more pair counts in which the shadow loses as much as the most relevant account of all steps has: few drawn
steps easily miss the few accounts with high relevance. p-values are multiplied by the number of shadows (Bonferroni).
Look k = 0, 1, ... may err with a probability of `FALSE` / ((k + 1) (k + 2)), which adds up to `FALSE` over all looks;
after each switch it is half as much. docs/how-to/shadows.md has how often it errs, and what it finds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.steering import split_steps
from socialcrawl.engine.model import Outcome, Stop, Wait
from socialcrawl.engine.protocols import Batch, Crawl, History
from socialcrawl.forecast.intervals import compute_p_value
from socialcrawl.storage.campaigns import follow_shadow
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.queries.traces import CampaignTraces
from socialcrawl.storage.versions import list_followed, read_versions

Floats = NDArray[np.float64]

FALSE = 0.01  # the probability that a campaign follows a shadow that is not better, until the first switch
FIRST = 20  # pairs at the first look


@dataclass(frozen=True, slots=True, eq=False)
class DrawnPairs:
    """m pairs of drawn steps, as columns in order of the second step.

    Attributes:
        names: the k shadows.
        gain: float64[k, m], what each shadow gains over the steering estimator.
        largest: float64[m], the most that any step up to then found.
    """

    names: tuple[str, ...]
    gain: Floats
    largest: Floats


@dataclass(frozen=True, slots=True)
class ShadowEvidence:
    """That a shadow orders accounts better than the estimator that steers.

    Attributes:
        shadow: its name.
        pairs: how many pairs were looked at.
        gain: the relevance that it gains in a pair, on average.
        p: the p-value, corrected for the number of shadows.
    """

    shadow: str
    pairs: int
    gain: float
    p: float


def make_pairs(names: Sequence[str], scores: Floats, value: Floats, arms: Sequence[NDArray[np.intp]]) -> DrawnPairs:
    """Return the pairs of drawn steps.

    Args:
        names: the shadows.
        scores: float64[1 + k, n], the scores of all steps: by the steering estimator, then by each shadow.
        value: float64[n], what the steps found.
        arms: the places of the steps that were drawn in each way, in order.
    """
    said: NDArray[np.bool_] = ~np.any(np.isnan(scores), axis=0)
    usable = [places[said[places]] for places in arms]
    pairs = np.concatenate([places[: len(places) // 2 * 2].reshape(-1, 2) for places in usable])
    first, second = pairs[np.argsort(pairs[:, 1])].T
    prefers: Floats = np.sign(scores[:, first] - scores[:, second])
    gain = (value[first] - value[second]) * (prefers[1:] - prefers[0]) / 2.0
    return DrawnPairs(tuple(names), gain, np.maximum.accumulate(value)[second])


def find_better_shadow(pairs: DrawnPairs, switches: int = 0) -> ShadowEvidence | None:
    """Return the best of the shadows that are better beyond doubt, at the last look; None: none is.

    Args:
        pairs: all pairs so far.
        switches: how often the campaign has followed a shadow before.
    """
    look = find_look(len(pairs.largest))
    if look < 0:
        return None
    size, allowed = FIRST << look, FALSE / 2.0**switches / ((look + 1) * (look + 2))
    found = []
    for name, gain in zip(pairs.names, pairs.gain[:, :size], strict=True):
        missed = np.append(gain, -pairs.largest[size - 1])
        p = compute_p_value(missed) / 2.0 * len(pairs.names)
        if missed.mean() > 0 and p <= allowed:
            found.append(ShadowEvidence(name, size, float(gain.mean()), p))
    return max(found, key=lambda one: one.gain, default=None)


def find_look(pairs: int) -> int:
    """Return the number of the last look, from 0 on, with so many pairs; -1 before the first."""
    return (pairs // FIRST).bit_length() - 1


def read_pairs(traces: CampaignTraces, campaign: int, seed: int, control: float, names: Sequence[str]) -> DrawnPairs:
    """Return the pairs of a campaign since its topic, or its way to crawl, last changed, that all shadows scored.

    Args:
        traces: of its database.
        campaign: campaign.id.
        seed: the campaign's.
        control: the share of the steps that is drawn.
        names: its shadows.
    """
    steps = traces.read_steps(campaign)
    places = {n: place for place, n in enumerate(steps.n.tolist())}
    rows = {name: number for number, name in enumerate(names, 1)}
    scores = np.full((1 + len(names), len(steps.n)), np.nan)
    for n, name, own, score in traces.read_shadow_scores(campaign, steps.since):
        if n in places and name in rows:
            scores[0, places[n]], scores[rows[name], places[n]] = own, score
    value = np.where(steps.n >= steps.since, steps.value, 0.0)
    return make_pairs(names, scores, value, split_steps(steps, seed, control)[1:])


class ShadowFollower:
    """A crawl whose best shadow takes over where the evidence is overwhelming.

    Whenever the crawl has learned, what is stored decides whether a shadow takes over. The switch is stored before the
    crawl changes, so that a process that is killed in between finds it done.

    Args:
        inner: the crawl within its bounds.
        crawl: the same crawl without them.
        connection: the database.
        campaign: campaign.id.
        now: the clock.
        tell: is told of a switch, in a sentence, or None.
    """

    def __init__(
        self,
        inner: Crawl,
        crawl: Collect,
        connection: Opened,
        campaign: int,
        *,
        now: Callable[[], float],
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self.inner, self.crawl, self.connection, self.campaign = inner, crawl, connection, campaign
        self.now, self.tell = now, tell
        self._due = 0  # steps of the crawl before which no look is due

    def choose(self, size: int, now: float) -> Batch | Wait | Stop:
        """Return what the inner crawl chooses."""
        return self.inner.choose(size, now)

    def absorb(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """Let the inner crawl learn; then change its estimator if a shadow is better beyond doubt."""
        self.inner.absorb(batch, outcomes)
        self._look()

    def fold(self, history: History) -> None:
        """Let the inner crawl fold; then change its estimator if a shadow is better beyond doubt."""
        self.inner.fold(history)
        self._look()

    def _look(self) -> None:
        if self.crawl.taken < self._due:
            return
        with self.connection.begin():
            settings = read_versions(self.connection, self.campaign)[-1].settings
            switches = len(list_followed(self.connection, self.campaign))
        section, traces = settings["crawl"], CampaignTraces(self.connection)
        pairs = read_pairs(traces, self.campaign, settings["seed"], section["control"], section["shadows"])
        found = find_better_shadow(pairs, switches)
        if found is None:
            known = len(pairs.largest)
            missing = (FIRST << (find_look(known) + 1)) - known
            self._due = self.crawl.taken + max(1, 2 * missing - 2)  # each way to draw may have one without a pair
            return
        follow_shadow(self.connection, self.campaign, found.shadow, self.now())
        self.crawl.switch_estimator(section["estimator"], found.shadow)
        self._due = 0
        if self.tell is not None:
            self.tell(describe_switch(section["estimator"], found))


def describe_switch(before: str, found: ShadowEvidence) -> str:
    """Return that a shadow took over, and why."""
    return (
        f"{found.shadow} chooses from now on, instead of {before} (follow = true): in {found.pairs:,} pairs of drawn "
        f"accounts it would have found {found.gain:.3f} more a pair (p = {found.p:.1g})"
    )
