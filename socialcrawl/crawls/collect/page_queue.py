"""Which account's timeline is read further, where accounts are matched by a search first. Pure.

A search for the posts that match shows no links of the others: they come from timelines. What a page is worth is the
relevance of the accounts that it leads to. It is expected to be

    (rate (value + NEARNESS ln(1 + in-links)) + found) / (1 + pages) ** DECLINE

for an account of which `pages` pages were read, which led to accounts of the relevance `found` together. `rate` is
learned: what all pages led to, divided by the sum of value + NEARNESS ln(1 + in-links) over them. (That sum has no
DECLINE: the more pages of the same accounts were read, the more `found` counts. It was tuned so.) Who wrote about the
topic links to others who did, and so does who is linked to often; but some do far more than others, and later pages
repeat the links of earlier ones. Measured by `socialcrawl lab reading`; see docs/how-to/match.md.
"""

from math import inf

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.seeds import REST, TRIES
from socialcrawl.engine.model import Act, Node, Outcome, Pick, Reason
from socialcrawl.graph.graph import CrawlGraph, Rows, Weights
from socialcrawl.graph.links import grow_array

NEARNESS = 0.3
DECLINE = 1.5
TRUST = 10.0  # relevance that was expected, and found, before the first page: `rate` is not learned from one


class ReadingGains:
    """How much relevance timelines brought, for a timeline that was read, of accounts of the frontier and of others.

    Before the first of them, TRUST timelines brought one each.
    """

    def __init__(self) -> None:
        self._sums = {Act.EXPAND: TRUST, Act.PAGE: TRUST}
        self._counts = {Act.EXPAND: TRUST, Act.PAGE: TRUST}

    def add(self, act: Act, gain: float) -> None:
        """Take what a timeline brought: `act` is "expand" for accounts of the frontier, "page" for others."""
        self._sums[act] += gain
        self._counts[act] += 1.0

    def prefers_pages(self) -> bool:
        """Return whether pages of accounts that were found have brought as much as accounts of the frontier."""
        expand, page = (self._sums[act] / self._counts[act] for act in (Act.EXPAND, Act.PAGE))
        return page >= expand


class PageQueue:
    """The accounts that were matched, and how far their timelines are read.

    Args:
        graph: has their values and in-links.
        most: pages of a timeline that are read at most.
    """

    def __init__(self, graph: CrawlGraph, most: int) -> None:
        self.graph, self.most = graph, most
        self._place: dict[Node, int] = {}
        self._rows: NDArray[np.int64] = np.empty(64, np.int64)
        self._pages = np.zeros(64)  # read of each; inf: it has no more
        self._rests = np.zeros(64)  # the pick from which on each may be read
        self._found = np.zeros(64)  # the relevance that the pages of each led to
        self._all_found = self._all_expected = TRUST
        self._finder: dict[Node, int] = {}  # by account that is not matched, the place of whose page led to it first
        self._marks: dict[Node, str] = {}  # where the next page begins
        self._failures: dict[Node, int] = {}

    def note_matched(self, node: Node, value: float) -> None:
        """Take an account that was matched, with its relevance."""
        finder = self._finder.pop(node, None)
        if finder is not None:
            self._found[finder] += value
            self._all_found += value
        if node in self._place:
            return
        place = self._place[node] = len(self._place)
        if place >= len(self._rows):
            self._rows, self._pages = grow_array(self._rows, place + 1), grow_array(self._pages, place + 1)
            self._rests, self._found = grow_array(self._rests, place + 1), grow_array(self._found, place + 1)
        self._rows[place], self._pages[place] = self.graph.row(node), 0.0

    def note_page(self, pick: Pick, outcome: Outcome) -> None:
        """Take what came of a page, before the graph does.

        One that failed is tried again later, where that may help.
        """
        place = self._place.get(pick.node)
        if place is None:  # it was forgotten
            return
        if outcome.missing is not None:
            self._failures[pick.node] = self._failures.get(pick.node, 0) + 1
            over = outcome.missing != Reason.TEMPORARY or self._failures[pick.node] >= TRIES
            self._pages[place], self._rests[place] = inf if over else self._pages[place], pick.n + REST
            return
        self._failures.pop(pick.node, None)
        self._marks[pick.node] = outcome.mark
        self._pages[place] = self._pages[place] + 1.0 if outcome.mark else inf
        self._all_expected += float(self._rate_rows(self._rows[place : place + 1])[0])
        for node in outcome.targets.tolist():
            if not self.graph.is_known(Node(node)):
                self._finder[Node(node)] = place

    def choose(self, size: int, n: int) -> list[tuple[int, float, str]]:
        """Return the accounts whose next pages are read, each as its row, its score and where the page begins.

        Those that rest at pick `n` are read only where there are no others.
        """
        count = len(self._place)
        rows, pages = self._rows[:count], self._pages[:count]
        places = np.flatnonzero(pages < self.most)
        awake = places[self._rests[places] <= n]
        places = awake if len(awake) else places
        rate = self._all_found / self._all_expected
        expected = rate * self._rate_rows(rows[places]) + self._found[places]
        scores = expected / (1.0 + pages[places]) ** DECLINE
        best = np.argsort(-scores, kind="stable")[:size]
        found = [(int(rows[places[one]]), float(scores[one])) for one in best]
        return [(row, score, self._marks.get(self.graph.node(row), "")) for row, score in found]

    def _rate_rows(self, rows: Rows) -> Weights:
        """Return value + NEARNESS ln(1 + in-links) of accounts."""
        return self.graph.value(rows) + NEARNESS * np.log1p(self.graph.column("links", rows))
