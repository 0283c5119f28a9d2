"""An estimator that fits one linear score while it crawls, from a start that works on most graphs (ours).

The score of a frontier node is a weighted sum of its features (FEATURES). Most follow Gouriten et al., section 5.2, or
the flow of value along links. Two are made of *records*: how relevant the other accounts turned out to be that a
mentioner links to in the same way, with weight or without. The record of a link from u is

    (sum of the values of u's fetched targets + DOUBT mu) / (their number + DOUBT)

over those targets to which u's links are of the same kind, with mu the mean value of all targets that were fetched by
links of this kind, drawn by DOUBT of them to the mean of all fetched nodes. The last feature is the *evidence*: the
value of posts that are held of a node which was not fetched yet, such as those of a capture. Without any, it changes
nothing. The weights are a ridge regression of values on features, drawn towards START; all are >= 0, except that of the
number of links. HOPE is a fixed score that leads before there is anything to fit, and fades: of both, each divided by
its standard deviation over the rows learned,

    score = fit + FADE / (FADE + rows) hope

Weights and the fading share change at refits only, whenever the rows have grown by a tenth; mu whenever they have
doubled. A record is updated when it has grown by a quarter. So in between, scores change only where the graph does.
Records and flow of a node that turned out to be another one stay with its first name.
"""

from collections.abc import Sequence
from math import ceil, sqrt

import numpy as np

from socialcrawl.crawls.collect.estimators.base import Estimator, FetchedNodes, Floats, ScoreTerms
from socialcrawl.crawls.collect.estimators.bulk_records import BulkRecords
from socialcrawl.crawls.collect.estimators.records import DOUBT, KINDS
from socialcrawl.graph.graph import COLUMNS, CrawlGraph, Rows

FEATURES = (
    *("log n_sum", "log e_sum", "log ne_sum", "log links", "log flow", "log known"),
    *("n_max", "e_max", "n_avg", "e_avg", "record", "evidence"),
)
"""The features by name; "log x" is `take_logarithm` of x. Of the records of all links to the node, "record" is the mean
and "known" the sum without mu: what is known and not only supposed."""
USED = ("n_sum", "e_sum", "ne_sum", "links", "n_max", "e_max")
COLUMNS_USED = [COLUMNS.index(name) for name in USED]

START = (0.1, 0.1, 0.1, 0.0, 0.1, 0.2, 0.0, 0.0, 0.0, 0.0, 0.3, 0.0)
HOPE = (0.75, 0.75, 0.75, 0.5, 0.25, 0.5, 0.0, 0.0, 0.0, 0.0, 1.5, 2.0)
ANY_SIGN = 3  # the number of links may speak against a node
DRAW = 10.0  # towards START: lambda of the ridge
FADE = 200.0  # rows after which hope counts half
REFIT = 1.1
EARLY = 10  # rows before the first fit
SMALL = 1e-12  # a variance below is none
TOGETHER = 1024  # rows whose products are held in memory
ROUNDS, CLOSE = 200, 1e-9  # of the descent to the weights: how often at most, and when they stand still
LN2 = 0.6931471805599453
FRACTION = 52  # bits of a float64 after its exponent, which is greater by 1023


class Adaptive(Estimator):
    """The linear score of FEATURES, fitted to what was fetched, from a start that fades."""

    def __init__(self) -> None:
        self.records = BulkRecords()
        self.means = (0.0,) * (KINDS + 1)  # mu by kind of link, then of all fetched nodes: at the last doubling
        self.weights: tuple[float, ...] = HOPE
        self.rows, self._refit_at, self._renew_at = 0, 1, 1
        self._own: tuple[Floats, ...] = (np.zeros(1),) * 4  # known of the node that was fetched last, just before
        self._first, self._second = np.zeros(len(FEATURES) + 1), np.zeros((len(FEATURES) + 1, len(FEATURES) + 1))

    def score(self, graph: CrawlGraph, rows: Rows, n: int) -> Floats:
        """Return the weighted sum of the features of `rows`."""
        terms = self.get_terms(n)
        return terms.combine(terms.values(graph, rows))

    def get_terms(self, n: int) -> ScoreTerms:
        """Return the features with the weights of the last refit; as if another spoke, where mu changed."""
        return ScoreTerms(self.means, self.weights, 0.0, self.read_features)

    def read_features(self, graph: CrawlGraph, rows: Rows) -> Floats:
        """Return the features of `rows`, float64 of shape (len(FEATURES), len(rows))."""
        return make_features(graph.columns(USED, rows), *self._list_known(graph, rows))

    def is_sequential(self) -> bool:
        """Return False: `learn_all` takes in a history."""
        return False

    def note_fetched(self, graph: CrawlGraph, row: int) -> None:
        """Keep what was known of a node, then let records know its value."""
        self._own = self._list_known(graph, np.array([row]))
        for rows in self.records.note(graph, row, float(graph.value(np.array([row]))[0])):
            graph.note_changed(rows)

    def learn(self, x: Floats, y: Floats) -> None:
        """Take in the value of the node that was fetched last, with its features: x as picked, and what was known."""
        records = self.records
        features = make_features(x.T[COLUMNS_USED], *(np.broadcast_to(one, y.shape) for one in self._own))
        for i in range(len(y)):
            self._learn_rows(features[:, i : i + 1], y[i : i + 1])
            self._go_on(records.total / max(1, records.fetched), records.sums, records.counts)

    def learn_all(self, graph: CrawlGraph, nodes: FetchedNodes) -> None:
        """Take in a history at once; see `teach_history`."""
        if not len(nodes.rows):
            return
        base = self.records.fetched
        past = self.records.note_all(graph, nodes.rows, nodes.values)
        at, columns, begin = np.flatnonzero(nodes.taught), nodes.x.T[COLUMNS_USED], 0
        while begin < len(at):
            some = slice(begin, begin + max(1, min(self._refit_at, self._renew_at) - self.rows))
            own = past.average(at[some], self.means)
            evidence = graph.get_evidence(nodes.rows[at[some]])
            self._learn_rows(make_features(columns[:, some], *own, evidence), nodes.values[at[some]])
            begin = some.stop
            if begin <= len(at):
                last = int(at[begin - 1])
                mean = float(past.totals[last]) / (base + last + 1)
                self._go_on(mean, past.sums[:, last].tolist(), past.counts[:, last].tolist())

    def _list_known(self, graph: CrawlGraph, rows: Rows) -> tuple[Floats, Floats, Floats, Floats]:
        """Return what `make_features` takes besides columns."""
        return *self.records.add_up(rows, self.means), graph.get_evidence(rows)

    def _learn_rows(self, features: Floats, values: Floats) -> None:
        """Add rows to the sums of products, one after the other."""
        if len(values) == 1:  # as while a crawl goes on: the same, without arrays of arrays
            row = np.append(features[:, 0], values)
            self._first = self._first + row
            self._second = self._second + row[:, None] * row
            self.rows += 1
            return
        for begin in range(0, len(values), TOGETHER):
            some = slice(begin, begin + TOGETHER)
            rows = np.concatenate([features[:, some], values[None, some]]).T
            self._first = np.add.accumulate(np.concatenate([self._first[None], rows]))[-1]
            products = rows[:, :, None] * rows[:, None, :]
            self._second = np.add.accumulate(np.concatenate([self._second[None], products]))[-1]
        self.rows += len(values)

    def _go_on(self, mean: float, sums: Sequence[float], counts: Sequence[float]) -> None:
        """Renew mu and the weights if it is time, by the mean of all fetched nodes, and sums and counts by kind."""
        if self.rows >= self._renew_at:
            self._renew_at = 2 * self.rows
            by_kind = zip(sums, counts, strict=True)
            self.means = (*((total + DOUBT * mean) / (count + DOUBT) for total, count in by_kind), mean)
        if self.rows >= self._refit_at:
            self._refit_at = max(self.rows + 1, ceil(self.rows * REFIT))
            if self.rows >= EARLY:
                self._refit()

    def _refit(self) -> None:
        """Fit the weights to all rows."""
        mean = self._first / self.rows
        spread = (self._second - self.rows * (mean[:, None] * mean)).tolist()
        fit = solve_ridge(spread)
        fade = FADE / (FADE + self.rows)
        deviations = [sqrt(max(compute_variance(spread, one) / self.rows, SMALL)) for one in (fit, HOPE)]
        self.weights = tuple(a / deviations[0] + fade * b / deviations[1] for a, b in zip(fit, HOPE, strict=True))


def make_features(columns: Floats, flow: Floats, known: Floats, record: Floats, evidence: Floats) -> Floats:
    """Return the features of m nodes, float64 of shape (len(FEATURES), m).

    Args:
        columns: of the graph, by USED, shape (len(USED), m).
        flow: as `Records.add_up` returns it, as the next two.
        known: likewise.
        record: likewise.
        evidence: as `CrawlGraph.get_evidence` returns it.
    """
    n, e, _, links, n_max, e_max = columns
    many, made = np.maximum(links, 1.0), np.empty((len(FEATURES), len(links)))
    made[:4], made[4], made[5] = columns[:4], flow, known
    made[:6] = take_logarithm(made[:6])
    made[6], made[7] = n_max, e_max
    np.divide(n, many, out=made[8])
    np.divide(e, many, out=made[9])
    made[10], made[11] = record, evidence
    return made


def take_logarithm(x: Floats) -> Floats:
    """Return ln(1 + x) at powers of two, and linear between them: it is the same number on every machine.

    The bits of a float64 are its exponent and then its fraction: read as an integer, they are that logarithm to base 2.
    """
    bits = (1.0 + x).view(np.int64)
    bits -= (1023 - 2) << FRACTION  # 2 more than it is: so it is rounded as a number above 1 is
    logarithm = bits.astype(np.float64)
    logarithm *= 2.0**-FRACTION
    logarithm -= 2.0
    logarithm *= LN2
    return logarithm


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
