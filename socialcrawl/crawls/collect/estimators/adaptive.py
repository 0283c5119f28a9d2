"""An estimator that fits one linear score while it crawls, from a start that works on most graphs (ours).

The score of a frontier node is a weighted sum of its features (FEATURES). All but the last follow Gouriten et al.,
section 5.2, or the flow of value along links. The last one is the *record* of those who mention the node: how relevant
the other accounts were that they mentioned. It is the mean over mentioners u of

    (sum of the values of u's fetched targets + DOUBT mu) / (their number + DOUBT)

with mu the mean value of all fetched nodes. The weights are a ridge regression of values on features, drawn towards
START; all are >= 0, except that of the number of mentioners. HOPE is a fixed score that leads before there is anything
to fit, and fades: of both, each divided by its standard deviation over the rows learned,

    score = fit + FADE / (FADE + rows) hope

Weights, mu and the fading share change at refits only, whenever the rows have grown by a tenth. The record of a
mentioner is updated when it has grown by a quarter. So in between, scores change only where the graph does. Records and
flow of a node that turned out to be another one stay with its first name.
"""

from collections.abc import Sequence
from math import ceil, sqrt

import numpy as np

from socialcrawl.crawls.collect.estimators.base import Estimator, Floats, ScoreTerms
from socialcrawl.graph.graph import NO_ROWS, CrawlGraph, Rows
from socialcrawl.graph.links import grow_array

FEATURES = (
    *("log n_sum", "log e_sum", "log ne_sum", "log links", "log flow", "n_max", "e_max", "n_avg", "e_avg"),
    "record of mentioners",
)
"""The features by name; "log x" is `take_logarithm` of x."""
PARTS = (*FEATURES, "its uncertainty")
"""The terms of a score: the features, with the record in two parts, that which is known and that which is to be mu."""

START = (0.1, 0.1, 0.1, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0, 0.3)
HOPE = (0.5, 0.5, 0.25, 0.0, 0.25, 0.0, 0.0, 0.0, 0.0, 2.0)
ANY_SIGN = 3  # the number of mentioners may speak against a node
DRAW = 30.0  # towards START: lambda of the ridge
DOUBT = 3.0  # targets of value mu that a record begins with
GROWN = 1.25  # growth at which the record of a mentioner is updated
FADE = 200.0  # rows after which hope counts half
REFIT = 1.1
EARLY = 10  # rows before the first fit
SMALL = 1e-12  # a variance below is none
VALUE, SHARE, SUM, COUNT, TOLD_SUM, TOLD_COUNT = range(6)  # columns of what is known of fetched nodes
ROUNDS, CLOSE = 200, 1e-9  # of the descent to the weights: how often at most, and when they stand still
LN2 = 0.6931471805599453


class Records:
    """How relevant the targets of each fetched node turned out to be, and what that says of frontier nodes.

    Arrays by row have at least one place more than there were rows, which stays 0: later rows are read from there.

    Attributes:
        known: float64 by row: the sum over mentioners u of (sum of values) / (number + DOUBT).
        unknown: likewise of DOUBT / (number + DOUBT), which is to be multiplied by mu.
        mentioners: int32 by row: how many there are.
        flow: float64 by row: the sum over mentioners u of value(u) / sqrt(number of links of u).
    """

    def __init__(self) -> None:
        self.known, self.unknown, self.flow = np.zeros(1024), np.zeros(1024), np.zeros(1024)
        self.mentioners = np.zeros(1024, np.int32)
        self._number = np.full(1024, -1, np.int32)  # of each fetched row
        self._last = np.full(1024, -1, np.int32)  # the last of the links to each row
        self._links = 0
        self._before = np.zeros(1024, np.int32)  # the link to the same row before each link
        self._from = np.zeros(1024, np.int32)  # the number of the node from which each link comes
        self._targets: list[Rows] = []  # by number
        self._own = np.zeros((1024, TOLD_COUNT + 1))  # by number

    def reserve(self, size: int) -> None:
        """Make room for `size` rows."""
        if (size := size + 1) > len(self.known):
            self.known, self.unknown = grow_array(self.known, size), grow_array(self.unknown, size)
            self.flow, self.mentioners = grow_array(self.flow, size), grow_array(self.mentioners, size)
            longer = len(grow_array(self._number, size))
            self._number, self._last = (
                np.concatenate([old, np.full(longer - len(old), -1, np.int32)]) for old in (self._number, self._last)
            )

    def note(self, graph: CrawlGraph, row: int, value: float) -> list[Rows]:
        """Take in a node that was fetched, or read further, with its value.

        Returns:
            Rows whose records change without a new link, in pieces, some repeatedly.
        """
        self.reserve(graph.size)
        number, before = int(self._number[row]), 0.0
        if is_new := number < 0:
            number = self._number[row] = len(self._targets)
            self._targets.append(NO_ROWS)
            if number >= len(self._own):
                self._own = grow_array(self._own, number + 1)
        else:
            before = float(self._own[number, VALUE])
            self._spread(number, -1)
        targets = graph.list_links(row)[0]
        self._connect(number, targets if is_new else targets[~np.isin(targets, self._targets[number])])
        self._targets[number] = targets
        values = graph.value(targets)
        values = values[~np.isnan(values)]
        total = float(np.add.accumulate(values)[-1]) if len(values) else 0.0
        share = value / sqrt(max(len(targets), 1))
        self._own[number] = value, share, total, len(values), total, len(values)
        self._spread(number, 1)
        return self._tell_mentioners(row, value - before, is_new=is_new)

    def average(self, rows: Rows) -> tuple[Floats, Floats]:
        """Return the mean of `known` and of `unknown` over the mentioners of each of `rows`; 0 and 1 without any."""
        many = self.mentioners.take(rows, mode="clip")
        known, unknown = (of.take(rows, mode="clip") / np.maximum(many, 1) for of in (self.known, self.unknown))
        return known, np.where(many > 0, unknown, 1.0)

    def _connect(self, number: int, targets: Rows) -> None:
        """Note that a node links to these rows, each of which it had no link to."""
        begin, end = self._links, self._links + len(targets)
        if end > len(self._before):
            self._before, self._from = grow_array(self._before, end), grow_array(self._from, end)
        self._before[begin:end], self._from[begin:end] = self._last[targets], number
        self._last[targets] = np.arange(begin, end)
        self._links = end

    def _spread(self, number: int, sign: int) -> None:
        """Add what a node says of its targets, or take it back."""
        targets, (_, share, _, _, total, count) = self._targets[number], self._own[number].tolist()
        self.mentioners[targets] += sign
        self.flow[targets] += sign * share
        self.known[targets] += sign * (total / (count + DOUBT))
        self.unknown[targets] += sign * (DOUBT / (count + DOUBT))

    def _tell_mentioners(self, row: int, more: float, *, is_new: bool) -> list[Rows]:
        """Let those who mention a node know its value, or what was added to it; return rows whose records change."""
        found, link = [], int(self._last[row])
        while link >= 0:
            found.append(int(self._from[link]))
            link = int(self._before[link])
        if not found:
            return []
        own = self._own[found]
        own[:, SUM] += more
        own[:, COUNT] += is_new
        tells = own[:, COUNT] + DOUBT >= GROWN * (own[:, TOLD_COUNT] + DOUBT)
        after, before = (own[tells, a] / (own[tells, b] + DOUBT) for a, b in ((SUM, COUNT), (TOLD_SUM, TOLD_COUNT)))
        surer = DOUBT / (own[tells, COUNT] + DOUBT) - DOUBT / (own[tells, TOLD_COUNT] + DOUBT)
        own[tells, TOLD_SUM], own[tells, TOLD_COUNT] = own[tells, SUM], own[tells, COUNT]
        self._own[found] = own
        changed = []
        by_teller = np.array(found)[tells].tolist(), (after - before).tolist(), surer.tolist()
        for number, known, unknown in zip(*by_teller, strict=True):
            self.known[self._targets[number]] += known
            self.unknown[self._targets[number]] += unknown
            changed.append(self._targets[number])
        return changed


class Adaptive(Estimator):
    """The linear score of FEATURES, fitted to what was fetched, from a start that fades."""

    def __init__(self) -> None:
        self.records = Records()
        self.mean = 0.0  # mu, as of the last refit
        self.weights: tuple[float, ...] = HOPE
        self.rows, self._next = 0, 1
        self._values, self._fetched = 0.0, 0
        self._features = np.zeros(len(FEATURES))  # of the node that was fetched last, before it was
        self._first, self._second = np.zeros(len(FEATURES) + 1), np.zeros((len(FEATURES) + 1, len(FEATURES) + 1))

    def score(self, graph: CrawlGraph, rows: Rows, n: int) -> Floats:
        """Return the weighted sum of the features of `rows`."""
        terms = self.get_terms(n)
        return terms.combine(terms.values(graph, rows))

    def get_terms(self, n: int) -> ScoreTerms:
        """Return the features, the record in two parts, with the weights of the last refit."""
        *others, record = self.weights
        return ScoreTerms(self, (*others, record, record * self.mean), 0.0, self._read_terms)

    def note_fetched(self, graph: CrawlGraph, row: int) -> None:
        """Keep the features that a node had, then let records know its value."""
        self._features = self._read_features(graph, np.array([row]))[:, 0]
        value = float(graph.value(np.array([row]))[0])
        self._values += value
        self._fetched += 1
        for rows in self.records.note(graph, row, value):
            graph.note_changed(rows)

    def learn(self, x: Floats, y: Floats) -> None:
        """Take in the value of the node that was fetched last, with the features that it had then."""
        for value in y.tolist():
            row = np.append(self._features, value)
            self._first += row
            self._second += row[:, None] * row
            self.rows += 1
            if self.rows >= self._next:
                self._refit()

    def _read_terms(self, graph: CrawlGraph, rows: Rows) -> Floats:
        """Return the features of `rows`, float64 of shape (len(FEATURES) + 1, len(rows))."""
        n, e, ne, links, n_max, e_max = graph.columns(("n_sum", "e_sum", "ne_sum", "links", "n_max", "e_max"), rows)
        many = np.maximum(links, 1.0)
        logs = take_logarithm(np.stack([n, e, ne, links, self.records.flow.take(rows, mode="clip")]))
        return np.concatenate([logs, np.stack([n_max, e_max, n / many, e / many, *self.records.average(rows)])])

    def _read_features(self, graph: CrawlGraph, rows: Rows) -> Floats:
        terms = self._read_terms(graph, rows)
        return np.concatenate([terms[:-2], terms[-2:-1] + self.mean * terms[-1:]])

    def _refit(self) -> None:
        """Fit the weights to all rows."""
        self._next = max(self.rows + 1, ceil(self.rows * REFIT))
        self.mean = self._values / max(1, self._fetched)
        if self.rows < EARLY:
            return
        mean = self._first / self.rows
        spread = (self._second - self.rows * (mean[:, None] * mean)).tolist()
        fit = solve_ridge(spread)
        fade = FADE / (FADE + self.rows)
        deviations = [sqrt(max(compute_variance(spread, one) / self.rows, SMALL)) for one in (fit, HOPE)]
        self.weights = tuple(a / deviations[0] + fade * b / deviations[1] for a, b in zip(fit, HOPE, strict=True))


def take_logarithm(x: Floats) -> Floats:
    """Return ln(1 + x) at powers of two, and linear between them: it is the same number on every machine."""
    mantissa, exponent = np.frexp(1.0 + x)
    return np.asarray((exponent + 2.0 * mantissa - 2.0) * LN2)


def compute_variance(spread: Sequence[Sequence[float]], weights: Sequence[float]) -> float:
    """Return the sum of squares of a weighted sum of features around its mean, from sums of products around means."""
    return sum(a * spread[i][j] * b for i, a in enumerate(weights) for j, b in enumerate(weights))


def solve_ridge(spread: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Return the weights that make sum (y - w.x)^2 + DRAW |w - START|^2 least, by descent along one at a time.

    All but the one of ANY_SIGN are >= 0. In plain numbers, so that it is the same on every machine.

    Args:
        spread: the sums of products of features with features and, in the last column, with y, around their means.
    """
    width = len(START)
    weights = [0.0] * width
    for _ in range(ROUNDS):
        moved = 0.0
        for i in range(width):
            line = spread[i]
            rest = line[width] + DRAW * START[i] - sum(line[j] * weights[j] for j in range(width) if j != i)
            best = rest / (line[i] + DRAW)
            if i != ANY_SIGN:
                best = max(0.0, best)
            moved = max(moved, abs(best - weights[i]))
            weights[i] = best
        if moved <= CLOSE * max(map(abs, weights)):
            break
    return tuple(weights)
