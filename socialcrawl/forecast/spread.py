"""How far the needs of the next steps may lie from those of the last steps. Pure.

Three things keep a forecast from being exact. Accounts differ, and accounts that are alike come one after the other.
The mean moves while a crawl goes on. And it mostly falls: accounts that many others name come first, and post most.
The range of the mean's logarithm has a part for each: a standard error, a random walk over the logarithm of the number
of steps, and, on one side, the change from the first half of the steps to the second, continued. The constants were set
by crawls of known graphs; docs/explanation/limits.md has the measured coverage.
"""

from array import array
from dataclasses import dataclass
from math import exp, inf, log, sqrt

CLUSTERED = 1.75  # the standard error of a mean, in those of a mean of independent draws
DRIFT = 0.3  # the standard deviation of the mean's logarithm by the time that the steps have grown e-fold
ENOUGH = 200  # steps that a range needs
FEW = 100  # steps that a range of requests needs, in which accounts differ less
READ = 0.5  # the least share of steps with posts: where few accounts can be read, those come in clusters
WIDEST = 10.0  # a range whose ends are further apart than that many times is not shown
NORMAL = 1.96  # standard deviations on each side that hold 95 % of a normal distribution


@dataclass(frozen=True, slots=True)
class Spread:
    """How much the steps of a campaign differed in what they needed.

    Attributes:
        steps: the steps done so far.
        used: how many of the latest of these the mean and the variation are taken from: about half.
        variation: their standard deviation, divided by their mean.
        change: the logarithm of their mean, divided by the mean of the steps before them.
        read: the share of them that brought posts.
        enough: how many steps a range needs.
    """

    steps: int
    used: int
    variation: float
    change: float = 0.0
    read: float = 1.0
    enough: int = ENOUGH

    def compute_factors(self, ahead: float) -> tuple[float, float] | None:
        """Return by what the known mean is to be multiplied for the ends of the 95 % range of the next steps' mean.

        None where too few steps are known or brought posts, or where the range would be too wide to be of use.
        """
        if self.steps < self.enough or self.used < 2 or self.read < READ or not 0 < ahead < inf:
            return None
        differs = CLUSTERED * self.variation * sqrt(1 / self.used + 1 / ahead)
        moves = DRIFT * log(1 + ahead / self.steps)
        width = NORMAL * sqrt(differs**2 + moves**2)
        # The middles of the two halves are log(3) apart; so far is the middle of the next steps from the second.
        goes_on = self.change * log((2 * self.steps + ahead) / (1.5 * self.steps)) / log(3)
        low, high = min(0.0, goes_on) - width, max(0.0, goes_on) + width
        return (exp(low), exp(high)) if high - low <= log(WIDEST) else None


@dataclass(frozen=True, slots=True)
class NeedSums:
    """What steps needed: how many they are, the sum of what each needed, and the sum of its square."""

    count: int
    total: float
    squares: float = 0.0


def measure_spread(before: NeedSums, used: NeedSums, read: float = 1.0, enough: int = ENOUGH) -> Spread:
    """Return how much the steps of a campaign differed.

    Args:
        before: the first half of the steps.
        used: the second half.
        read: the share of the second half that brought posts.
        enough: how many steps a range needs.
    """
    steps = before.count + used.count
    if used.count < 2 or used.total <= 0:
        return Spread(steps, used.count, 0.0, 0.0, read, enough)
    variance = max(0.0, used.squares - used.total**2 / used.count) / (used.count - 1)
    mean, first = used.total / used.count, before.total / before.count if before.count else 0.0
    return Spread(steps, used.count, sqrt(variance) / mean, log(mean / first) if first else 0.0, read, enough)


class StepNeeds:
    """What each step of a run needed, in order, as running sums, from which both halves are read off at any time."""

    def __init__(self) -> None:
        self._totals, self._squares = array("d", [0.0]), array("d", [0.0])
        self._read = array("q", [0])

    def add(self, needed: float, *, read: bool) -> None:
        """Note what the next step needed, and whether it brought posts."""
        self._totals.append(self._totals[-1] + needed)
        self._squares.append(self._squares[-1] + needed * needed)
        self._read.append(self._read[-1] + read)

    @property
    def total(self) -> float:
        """What all steps needed together."""
        return self._totals[-1]

    def estimate_range(self, steps: int, enough: int) -> tuple[float, float] | None:
        """Return the ends of the 95 % range of what the next `steps` need together; None where there is none."""
        last = len(self._read) - 1
        middle = last // 2
        before, used = self._sum_between(0, middle), self._sum_between(middle, last)
        if not used.count:
            return None
        read = (self._read[last] - self._read[middle]) / used.count
        factors = measure_spread(before, used, read, enough).compute_factors(steps)
        together = used.total / used.count * steps
        return None if factors is None else (factors[0] * together, factors[1] * together)

    def _sum_between(self, begin: int, end: int) -> NeedSums:
        """Return the sums over the steps from number `begin` to before number `end`."""
        total, squares = (sums[end] - sums[begin] for sums in (self._totals, self._squares))
        return NeedSums(end - begin, total, squares)
