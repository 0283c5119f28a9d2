"""The best of the frontier, found without scoring all of it: exactly what a full rescan would find.

The order is (score, row): the higher score, and of equals the node discovered first. Four kinds of frontier rows:

- *candidates*, some thousand rows that are scored at every step;
- *near* rows, some ten thousand, and *far* rows, all the rest: each kind stays below a bound (`score_bounds.py`);
- *crowds*: rows whose values are equal, number by number, so that one score serves all, whatever the weights are;
  only the first row of a crowd can be the next one. Masses of ties are kept in crowds (`equal_rows.py`).

While the best candidate or crowd beats both bounds, it is the best of all. When the near rows might beat it, those are
scored anew and the best of them become candidates; when the far rows might, all is scored anew. A row that changes is
given the place that its new values deserve.
"""

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.collect.equal_rows import FIRST, EqualRows
from socialcrawl.crawls.collect.estimators import Estimator
from socialcrawl.crawls.collect.estimators.base import ScoreTerms
from socialcrawl.crawls.collect.score_bounds import FarRows
from socialcrawl.crawls.collect.strategies import choose_greedily
from socialcrawl.graph.graph import CrawlGraph, Rows

Floats = NDArray[np.float64]

KEPT = 1024  # candidates that are left, at least, when the rest is let go; four times as many make that worth while
NEAR = 32  # times as many near rows
TOGETHER = 65_536  # rows that are scored at once where all are
FAR, CLOSE = 0, -1  # places of rows; a candidate has its number + 1, those in crowds FIRST and below


class Ranking:
    """The frontier of `graph` in the order of an estimator, best first."""

    def __init__(self, graph: CrawlGraph, estimator: Estimator, kept: int = KEPT) -> None:
        self.graph, self.estimator, self.kept = graph, estimator, kept
        self.scans = 0  # how often all was scored: a measure for benchmarks
        self._terms: ScoreTerms | None = None
        self._clear(1)

    def _clear(self, width: int) -> None:
        self.count = 0
        self._place = np.zeros(4 * self.graph.size + 1024, np.int32)
        self._rows: Rows = np.empty(8 * self.kept, np.int64)  # of candidates
        self._values: Floats = np.empty((width, 8 * self.kept))
        self._near: list[Rows] = []  # with those that have left
        self._below, self._far, self._crowds = FarRows(), FarRows(), EqualRows(width, self._place)

    def list_all(self, n: int) -> tuple[Rows, Floats]:
        """Return the whole frontier in order of discovery, and its scores after `n` steps."""
        if self._terms is None:
            self.graph.take_changes()  # nobody keeps candidates, so nobody needs them
        rows = self.graph.frontier()
        return rows, self.estimator.score(self.graph, rows, n)

    def get_depth(self, rows: Rows) -> Floats:
        """Return the shortest known distance of `rows` from the seeds."""
        return self.graph.column("depth", rows)

    def is_open(self, rows: Rows) -> NDArray[np.bool_]:
        """Return whether each of `rows` is a row of the frontier."""
        known = (rows >= 0) & (rows < self.graph.size)
        known[known] = self.graph.is_open(rows[known])
        return known

    def find_best(self, size: int, n: int) -> tuple[Rows, Floats]:
        """Return the `size` best rows of the frontier after `n` steps, best first, and their scores."""
        terms = self.estimator.get_terms(n)
        if terms is None:
            rows, scores = self.list_all(n)
            chosen = choose_greedily(scores, size)
            return rows[chosen], scores[chosen]
        if not any(terms.weights):  # as of a regression that has seen one value only
            rows = self.graph.find_earliest(size)
            return rows, np.full(len(rows), terms.intercept)
        self._follow(terms, size)
        while True:
            rows, scores = self._rows[: self.count], terms.combine(self._values[:, : self.count])
            chosen = _find_first(rows, scores, size)
            rows, scores = rows[chosen], scores[chosen]
            if self._is_best(terms, rows, scores, size):
                return rows, scores

    def _is_best(self, terms: ScoreTerms, rows: Rows, scores: Floats, size: int) -> bool:
        """Return whether these best of the candidates are the best of all; if not, there are other candidates now."""
        enough = 0 < min(size, self.graph.left) == len(rows)
        worst = (float(scores[-1]), -int(rows[-1])) if enough else (-np.inf, 0)
        if len(more := self._crowds.list_ahead(terms, worst, max(size, self.kept))):
            self._append(more, terms.values(self.graph, more))
        elif self._below.might_beat(terms, worst):
            self._part(terms, self._count_room(size))
        elif self._far.might_beat(terms, worst):
            self._scan(terms, size)
        else:
            return True
        return False

    def _count_room(self, size: int) -> int:
        """Return how many candidates are left when the rest is let go: enough for some batches of `size`."""
        return max(self.kept, 4 * size)

    def _follow(self, terms: ScoreTerms, size: int) -> None:
        """Take in what has changed in the graph since the last step."""
        if self._terms is None or self._terms.of is not terms.of:
            self._scan(terms, size)
            return
        self._terms = terms
        changed = self.graph.take_changes()
        if self.graph.size > len(self._place):
            self._place = self._crowds.place = np.concatenate([self._place, np.zeros(3 * self.graph.size, np.int32)])
        self._place_anew(terms, changed)
        if self.count > 4 * self._count_room(size):
            self._part(terms, self._count_room(size))

    def _place_anew(self, terms: ScoreTerms, changed: Rows) -> None:
        """Give rows that may have changed the place that is theirs now."""
        places, values = self._place[changed], terms.values(self.graph, changed)
        if len(here := (places > 0).nonzero()[0]):
            self._renew(changed[here], places[here], values[:, here])
        if len(here := (places <= FIRST).nonzero()[0]):
            here = here[~self.graph.is_open(changed[here]) | self._crowds.find_strangers(places[here], values[:, here])]
            self._place[changed[here]] = places[here] = FAR
        rising = self._far.find_rising(changed, values)
        if not terms.fixed:
            others = places <= 0
            others[rising] = False
            self._far.widen(values if others.all() else values.take(others.nonzero()[0], axis=1))
        if len(rising):
            at = places[rising]
            rising = rising[((at == FAR) | (at == CLOSE)) & self.graph.is_open(changed[rising])]
        if len(rising):
            rows, first = _sort_once(changed[rising])
            self._add_near(terms, rows, values[:, rising[first]])

    def _renew(self, rows: Rows, places: NDArray[np.int32], values: Floats) -> None:
        """Give candidates their new values, and take out whoever is closed."""
        if len(rows) == 1 and not self.graph.is_open(rows)[0]:  # as after most steps: the one that was picked
            self._dismiss(int(rows[0]))
            return
        self._values[:, places - 1] = values
        for row in rows[~self.graph.is_open(rows)].tolist():
            self._dismiss(row)

    def _add_near(self, terms: ScoreTerms, rows: Rows, values: Floats) -> None:
        """Place rows (ascending, none a candidate) that may score above all far ones."""
        first = self._below.find_rising(rows, values)
        if len(first) < len(rows):
            others = np.ones(len(rows), bool)
            others[first] = False
            if not terms.fixed:
                self._below.widen(values[:, others])
            rest = rows[others]
            self._near.append(rest[self._place[rest] != CLOSE])
            self._place[rest] = CLOSE
            rows, values = rows[first], values[:, first]
        if len(rows):
            waiting = ~self._crowds.join(rows, values)
            self._append(rows[waiting], values[:, waiting])

    def _scan(self, terms: ScoreTerms, size: int) -> None:
        """Score the whole frontier, and part it anew."""
        self.scans += 1
        self._terms = terms
        self.graph.take_changes()
        self._clear(len(terms.weights))
        kept = self._count_room(size)
        rows, values = self._score_all(terms, NEAR * kept)
        if len(rows) > 2 * NEAR * kept:
            rows, values = self._drop_crowds(rows, values)
        self._divide(terms, rows, values, kept)

    def _score_all(self, terms: ScoreTerms, kept: int) -> tuple[Rows, Floats]:
        """Return the best `kept` rows of the frontier, with all their equals, and their values; let the rest go.

        Piece by piece: values of millions of rows would be made only to be let go.
        """
        frontier, held, room = self.graph.frontier(), 0, kept
        rows, values = [frontier[:0]], [np.empty((len(terms.weights), 0))]
        for begin in range(0, len(frontier), TOGETHER):
            rows.append(frontier[begin : begin + TOGETHER])
            values.append(terms.values(self.graph, rows[-1]))
            held += len(rows[-1])
            if held > 2 * room or begin + TOGETHER >= len(frontier):  # not at every piece: equals may be millions
                best, chosen = self._far.let_go(terms, np.concatenate(rows), np.concatenate(values, axis=1), kept)
                rows, values, held = [best], [chosen], len(best)
                room = max(kept, held)
        return np.concatenate(rows), np.concatenate(values, axis=1)

    def _part(self, terms: ScoreTerms, kept: int) -> None:
        """Score candidates and near rows, and part them anew."""
        mine = self._rows[: self.count].copy()
        near = np.concatenate([np.empty(0, np.int64), *self._near])
        near = near[(self._place[near] == CLOSE) & self.graph.is_open(near)]
        self._place[near] = once = np.arange(len(near))
        near = near[self._place[near] == once]  # whoever left and came back is there twice
        self._near, self.count = [], 0
        self._below = FarRows()
        rows = np.concatenate([mine, near])
        self._place[rows] = FAR
        values = terms.values(self.graph, rows)
        if len(rows) > 4 * NEAR * kept:
            self._far.rebase(terms)
            rows, values = self._far.let_go(terms, rows, values, NEAR * kept)
        self._divide(terms, rows, values, kept)

    def _divide(self, terms: ScoreTerms, rows: Rows, values: Floats, kept: int) -> None:
        """Make the best `kept` of `rows`, with their equals, candidates; the others of `rows` are near."""
        best, chosen = self._below.let_go(terms, rows, values.copy(), kept)
        if len(best) < len(rows):
            self._place[rows] = CLOSE
            self._place[best] = FAR
            self._near = [rows[self._place[rows] == CLOSE]]
        if len(best) > 2 * kept:
            best, chosen = self._drop_crowds(best, chosen)
        self._append(best, chosen)

    def _drop_crowds(self, rows: Rows, values: Floats) -> tuple[Rows, Floats]:
        waiting = ~self._crowds.find_crowds(rows, values)
        return rows[waiting], values[:, waiting]

    def _append(self, rows: Rows, values: Floats) -> None:
        end = self.count + len(rows)
        if end > len(self._rows):
            self._rows = np.concatenate([self._rows[: self.count], np.empty(end, np.int64)])
            self._values = np.concatenate([self._values[:, : self.count], np.empty((len(values), end))], axis=1)
        self._rows[self.count : end] = rows
        self._values[:, self.count : end] = values
        self._place[rows] = np.arange(self.count + 1, end + 1)
        self.count = end

    def _dismiss(self, row: int) -> None:
        """Take a candidate out; the last one takes its place."""
        place, last = int(self._place[row]) - 1, self.count - 1
        if place < 0:
            return
        self._rows[place] = moved = self._rows[last]
        self._values[:, place] = self._values[:, last]
        self._place[moved] = place + 1
        self._place[row] = FAR
        self.count = last


def _sort_once(rows: Rows) -> tuple[Rows, NDArray[np.int64]]:
    """Return `rows` in ascending order, each once, and where it stood."""
    first = rows.argsort()
    ordered = rows[first]
    again = ordered[1:] == ordered[:-1]
    if len(again.nonzero()[0]):
        first = first[np.concatenate([[True], ~again])]
        ordered = rows[first]
    return ordered, first


def _find_first(rows: Rows, scores: Floats, size: int) -> NDArray[np.int64]:
    """Return places of the `size` best by (score, row); `rows` are in any order."""
    if not len(rows):
        return np.empty(0, np.int64)
    if size == 1:
        best = (scores == np.maximum.reduce(scores)).nonzero()[0]
        return np.asarray(best if len(best) == 1 else best[[rows[best].argmin()]])
    if size < len(rows):
        cut = -np.partition(-scores, size - 1)[size - 1]
        best = np.flatnonzero(scores >= cut)
    else:
        best = np.arange(len(rows))
    return best[np.lexsort((rows[best], -scores[best]))][:size]
