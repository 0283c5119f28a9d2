"""How much relevance a way of reading accounts will find for a budget, by what it has found so far. Pure.

Searches return posts that match. The relevance that n of them show follows

    R(n) = C n / (1 + (n / N) ** SHAPE) ** (1 / SHAPE)

which grows with n at first, and slower where more posts are of accounts that are known. N is found by rarefaction: the
relevance in half of the searches, a mean over orders that are drawn, says how much the other half added.

What is found by matches or timelines grows with the dollars after the seeds: m times as many of them find m ** g times
the relevance, where g is partly that of the second half of these dollars, partly that of all topics (`Growth`).

A range has two parts, one for how far is looked ahead: the value times exp(-+(a + b ln m)). The constants were set by
campaigns on the topics of two networks; docs/explanation/coverage.md has the coverage, measured on other topics.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from socialcrawl.engine.draws import make_generator

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SHAPE = 0.7
ORDERS = 20  # of the searches, over which half of them are averaged
LEAST_POSTS, LEAST_SEARCHES = 400, 3  # that a forecast of searches needs
STEEPEST = 12.0  # ln(N / n) at most: then relevance grows with the posts


class SearchYield(NamedTuple):
    """What searches returned.

    Attributes:
        posts: int64[searches], the posts of each search that returned any.
        search: int64[k], the place in `posts` of a search;
        account: int64[k], an author of posts that it returned;
        occurrences: int64[k], how often the topic occurs in those of them that no earlier search had returned.
    """

    posts: Integers
    search: Integers
    account: Integers
    occurrences: Integers


class ReadingRecord(NamedTuple):
    """What a campaign found after its seeds.

    Attributes:
        campaign: its name.
        read: how it read accounts: "search", "match" or "timeline".
        seeds: dollars spent before its first decision after the seeds.
        spent: float64[k], dollars spent up to each decision, those for the seeds included.
        relevance: float64[k], found by then; seeds not counted.
        searches: what the searches returned, where it read accounts from these.
        is_complete: whether there is nothing left to read.
    """

    campaign: str
    read: str
    seeds: float
    spent: Floats
    relevance: Floats
    searches: SearchYield | None = None
    is_complete: bool = False

    @property
    def dollars(self) -> float:
        """What it has spent."""
        return float(self.spent[-1]) if len(self.spent) else self.seeds

    @property
    def found(self) -> float:
        """The relevance that it has found."""
        return float(self.relevance[-1]) if len(self.relevance) else 0.0


class Expectation(NamedTuple):
    """The relevance that a way of reading finds for a budget.

    Attributes:
        value: the relevance; seeds not counted.
        low, high: its 95 % range; the value itself where it was measured.
        basis: MEASURED; EXPECTED; IF_ENOUGH, which holds if enough posts match: nobody has counted them, so `low` is
            what was found so far; or EVERYTHING, where all that matches is found for less.
    """

    value: float
    low: float
    high: float
    basis: str


MEASURED, EXPECTED, IF_ENOUGH, EVERYTHING = "measured", "expected", "if enough posts match", "everything"


@dataclass(frozen=True, slots=True)
class Growth:
    """How the relevance of a way of reading grows with the dollars after the seeds, and how far off that may be.

    Attributes:
        usual, own: the exponent is `usual + own * g`, g being that of the second half of the dollars, at most 3.
        low, high: (a, b) of the two ends of the range.
        dollars: after the seeds, that a forecast needs.
        relevance: that it needs.
        reach: how many times as many dollars are looked ahead to.
        most: the largest budget, in dollars: up to it the coverage of the ranges was measured.
    """

    usual: float
    own: float
    low: tuple[float, float]
    high: tuple[float, float]
    dollars: float
    relevance: float
    reach: float
    most: float


SEARCHES = Growth(0.0, 1.0, (0.02, 0.11), (0.02, 0.11), 0.0, 1.0, 10.0, 100.0)
MATCHES = Growth(0.5, 0.3, (0.12, 0.55), (0.15, 0.5), 5.0, 20.0, 3.0, 50.0)
TIMELINES = Growth(0.7, 0.25, (0.15, 0.5), (0.18, 0.3), 5.0, 10.0, 3.0, 50.0)
GROWTHS = {"search": SEARCHES, "match": MATCHES, "timeline": TIMELINES}


USUAL = 50.0
BUDGETS = (10.0, 25.0, 50.0, 100.0)  # dollars


class ReadingCurve(NamedTuple):
    """The relevance that ways of reading find for budgets.

    Attributes:
        budgets: dollars, the lowest first.
        records: what was found so far, by way.
        expected: by way, one for each budget; None where too little is known.
        matching: how many posts match; None: nobody counted them.
        budget: the one that ways are compared for: of those that not all ways have spent, the largest up to the
            campaign's for which most ways are known.
    """

    budgets: tuple[float, ...]
    records: Mapping[str, ReadingRecord]
    expected: Mapping[str, list[Expectation | None]]
    matching: int | None
    budget: float

    def rank_ways(self) -> list[tuple[str, Expectation]]:
        """Return what is expected for `budget` of each way of which that is known, the best first."""
        place = self.budgets.index(self.budget)
        known = [(way, some[place]) for way, some in self.expected.items()]
        return sorted(((way, one) for way, one in known if one is not None), key=lambda pair: -pair[1].value)


def make_reading_curve(
    records: Mapping[str, ReadingRecord], budget: float | None, matching: int | None = None
) -> ReadingCurve:
    """Return what each way of reading finds for usual budgets and for that of the campaign, in dollars.

    Args:
        records: what was found so far, by way.
        budget: the campaign's; None: it has none.
        matching: how many posts match, where they were counted.
    """
    budgets = tuple(sorted({*BUDGETS, *([budget] if budget else [])}))
    expected = {way: forecast_relevance(record, budgets, matching) for way, record in records.items()}
    least = min((record.dollars for record in records.values()), default=0.0)
    known = {one: sum(some[budgets.index(one)] is not None for some in expected.values()) for one in budgets}
    ahead = [one for one in budgets if one > 1.01 * least] or [budgets[-1]]
    within = [one for one in ahead if one <= (budget or USUAL)] or ahead[:1]
    compared = max(within, key=lambda one: (known[one], one))
    return ReadingCurve(budgets, records, expected, matching, compared)


def forecast_relevance(
    record: ReadingRecord, budgets: Sequence[float], matching: int | None = None
) -> list[Expectation | None]:
    """Return the relevance found for each budget in dollars; None where too little is known.

    Args:
        record: what was found so far.
        budgets: dollars, for seeds too.
        matching: how many posts match, where they were counted: a search finds no more.
    """
    law = None if record.is_complete or explain_lack(record) else _make_law(record, matching)
    return [_read_measured(record, budget) or (law and law.forecast(budget)) for budget in budgets]


def explain_lack(record: ReadingRecord) -> str:
    """Return what a forecast still needs, as a phrase; "" where it needs nothing."""
    if record.is_complete:
        return ""
    if record.searches is not None:
        lacking = LEAST_POSTS - int(record.searches.posts.sum())
        if lacking > 0:
            return f"{lacking:,} more posts"
        if len(record.searches.posts) < LEAST_SEARCHES:
            return "more searches"
    growth = GROWTHS[record.read]
    dollars = growth.dollars - (record.dollars - record.seeds)
    if dollars > 0:
        return f"${dollars:,.2f} more, after the seeds"
    return f"relevance of {growth.relevance:g} or more" if record.found < growth.relevance else ""


def _read_measured(record: ReadingRecord, budget: float) -> Expectation | None:
    """Return what had been found when a budget was spent; None if less was spent, and there is more to find."""
    if budget > record.dollars and not record.is_complete:
        return None
    done = int(np.searchsorted(record.spent, budget, "right"))
    value = float(record.relevance[done - 1]) if done else 0.0
    return Expectation(value, value, value, EVERYTHING if budget > record.dollars else MEASURED)


class _Law(NamedTuple):
    """How relevance grows from `found`, at `base` dollars or posts: m times as many find exp(growth(m)) times as much.

    Attributes:
        before: dollars that find nothing.
        price: dollars of each unit of `base`.
        most: how many units there are; None: nobody knows.
    """

    found: float
    base: float
    before: float
    price: float
    most: float | None
    growth: Growth
    exponent: float
    scale: float  # ln N of searches

    def forecast(self, budget: float) -> Expectation | None:
        """Return the relevance found for a budget that is larger than what was spent."""
        most = inf if self.most is None else self.most
        units = min((budget - self.before) / self.price, most)
        times = max(1.0, units / self.base)
        if times > self.growth.reach or (budget > self.growth.most and units < most):
            return None
        value = self.found * exp(self._grow(log(times)))
        below, above = (a + b * log(times) for a, b in (self.growth.low, self.growth.high))
        low, high = max(self.found, value * exp(-below)), value * exp(above)
        if self.most is None:
            return Expectation(value, self.found, high, IF_ENOUGH)
        return Expectation(value, low, high, EVERYTHING if units >= most else EXPECTED)

    def _grow(self, further: float) -> float:
        if self.exponent:
            return self.exponent * further
        begin = log(self.base)
        return _accumulate(begin, begin + further, self.scale)


def _make_law(record: ReadingRecord, matching: int | None) -> _Law:
    growth, found = GROWTHS[record.read], record.found
    dollars = record.dollars - record.seeds
    if record.searches is not None:
        posts = float(record.searches.posts.sum())
        most = None if matching is None else max(float(matching), posts)
        scale = _fit_scale(record.searches)
        return _Law(found, posts, record.seeds, dollars / posts, most, growth, 0.0, scale)
    middle = int(np.searchsorted(record.spent, record.seeds + dollars / 2, "right"))
    half = float(record.relevance[middle - 1]) if middle else 0.0
    own = min(3.0, log(max(found, 1.0) / max(half, 0.5)) / log(2.0))
    exponent = growth.usual + growth.own * max(0.0, own)
    return _Law(found, dollars, record.seeds, 1.0, inf, growth, exponent, 0.0)


def _fit_scale(searches: SearchYield) -> float:
    """Return ln N, by which the relevance of all searches is as much above that of half of them as it is."""
    posts, half = _rarefy(searches)
    everything = float(searches.posts.sum())
    if not half:
        return STEEPEST + log(everything)
    rise = log(_sum_relevance(searches, np.ones(len(searches.posts), np.bool_)) / half)
    begin, end = log(posts), log(everything)
    low, high = -STEEPEST, end + STEEPEST
    for _ in range(60):  # it grows with the scale
        middle = (low + high) / 2
        low, high = (middle, high) if _accumulate(begin, end, middle) < rise else (low, middle)
    return low


def _accumulate(begin: float, end: float, scale: float) -> float:
    """Return ln(R(n2) / R(n1)) for ln n1, ln n2 and ln N."""
    bends = np.logaddexp(0.0, SHAPE * (np.array([begin, end]) - scale)) / SHAPE
    return end - begin - float(bends[1] - bends[0])


def _rarefy(searches: SearchYield) -> tuple[float, float]:
    """Return how many posts half of the searches returned, and their relevance: means over orders that are drawn."""
    count = len(searches.posts)
    sums = np.zeros(2)
    for n in range(ORDERS):
        chosen = np.zeros(count, np.bool_)
        chosen[make_generator(0, "rarefaction", n).permutation(count)[: max(1, round(count / 2))]] = True
        sums += searches.posts[chosen].sum(), _sum_relevance(searches, chosen)
    posts, relevance = (sums / ORDERS).tolist()
    return posts, relevance


def _sum_relevance(searches: SearchYield, chosen: NDArray[np.bool_]) -> float:
    """Return the relevance in the posts of some searches: sum of 1 + ln x over accounts with x > 0 occurrences."""
    kept = chosen[searches.search]
    counted = np.bincount(searches.account[kept], searches.occurrences[kept])
    counted = counted[counted > 0]
    return float(len(counted) + np.log(counted).sum())
