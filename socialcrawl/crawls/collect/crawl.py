"""Algorithm 1 of Gouriten, Maniu, Senellart (section 3), as a crawl that the loop can drive.

    1  V <- ()                                                self.picks
    2  G' <- G0, the graph of the seeds                       the acts search, resolve, seed
    3  for i = 1 .. n/r                                       engine/loop.py, until choose says Stop
    4      frontier <- extractFrontier(G')                    Ranking keeps it from step to step
    5      scored <- estimator.scoreFrontier(G', frontier)    ... and scores of it what may have moved
    6      nodes <- strategy.getNextNodes(scored, r)          strategy.pick(ranking, r, n)
    7      V <- (V, nodes)                                    the picks that choose returns
    8-9    for u in nodes: G' <- G' + crawlNode(u)            absorb(...)

It decides and learns; it never waits, reads or writes. The seeds are asked first, in their order; they are no training
rows. Authors whom a capture brings enter the frontier, with what is held of their posts as evidence. `choose` changes
nothing; `absorb` is the only method that does, except for `fold`, which absorbs a whole history at once (bulk_fold.py).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from socialcrawl.crawls.collect.bulk_fold import BulkFold
from socialcrawl.crawls.collect.estimators import Estimator
from socialcrawl.crawls.collect.page_queue import PageQueue, ReadingGains
from socialcrawl.crawls.collect.ranking import Ranking
from socialcrawl.crawls.collect.shadow_estimators import EstimatorGroup
from socialcrawl.crawls.collect.slice_queue import SliceQueue
from socialcrawl.crawls.collect.strategies import Greedy, Strategy
from socialcrawl.crawls.node_limit import stop_at_limit
from socialcrawl.crawls.seeds import REST, TRIES, Seeds
from socialcrawl.engine.model import (
    FIRST_READS,
    FOUND_BY,
    Act,
    Node,
    Outcome,
    Pick,
    Reason,
    SameAs,
    Stop,
    StopKind,
    Wait,
)
from socialcrawl.engine.protocols import Batch
from socialcrawl.graph.graph import CrawlGraph

OUT_OF_REACH = (
    "the time of the topic ends before all posts that searches find: in a new campaign, set until under [topic] to a "
    "later day, or remove archive = false under [source]"
)


class Collect(BulkFold):
    """Algorithm 1 with budget n = `steps`; `width(act)` says how many picks one request can answer.

    `shadows` are estimators that look on, by name: every pick of the frontier tells what they thought of it. With
    `pages`, accounts are matched by searches, and up to so many pages of their timelines are read where no account in
    reach is unmatched; None: their timelines are read at once. With `slices`, accounts are found by searches for the
    topic, span by span, and read from what these return.
    """

    def __init__(
        self,
        seeds: Seeds,
        estimator: Estimator,
        steps: int | None,
        width: Callable[[Act], int] = lambda _: 1,
        strategy: Strategy | None = None,
        *,
        shadows: Mapping[str, Estimator] | None = None,
        pages: int | None = None,
        slices: SliceQueue | None = None,
    ) -> None:
        self.seeds, self.estimator, self.steps, self.width = seeds, estimator, steps, width
        self.strategy = strategy or Greedy()
        self.company = EstimatorGroup(estimator, shadows or {})
        self.graph = CrawlGraph()
        self.ranking = Ranking(self.graph, estimator)
        self.pages = None if pages is None else PageQueue(self.graph, pages)
        self.slices = slices
        matches = pages is not None and slices is None
        self._read = Act.MATCH if matches else Act.EXPAND  # how accounts of the frontier are read
        self.gains = ReadingGains()
        self._matched = (Act.MATCH, Act.SEED) if matches else (Act.MATCH,)  # acts after which further pages are read
        self.picks = 0  # all decisions so far: the next pick's n
        self.taken = 0  # those after the seeds: what the budget counts
        self.relevance = 0.0  # sum of beta over the steps after the seeds
        self.seed_relevance = 0.0
        self.imported = 0  # accounts whose posts came from a file
        self.captured: dict[Node, float] = {}  # the value of the posts that are held of authors brought by a capture
        self._sown = False
        self.failures: dict[Node, int] = {}
        self.resting: dict[Node, int] = {}  # node -> the pick at which it may be asked again

    def choose(self, size: int, now: float) -> Batch | Wait | Stop:
        """Return the next r = `size` picks: seeds while there are any, then the best of the frontier."""
        if self.slices is not None and (choice := self._choose_searched(self.slices, size, now)):
            return choice
        act, nodes = self.seeds.choose_next(size, self.width)
        if nodes:
            return tuple(Pick(self.picks + i, node, act) for i, node in enumerate(nodes))
        if not (self.seeds.asked or self.imported or self.captured or self.taken):
            return Stop(StopKind.FAILED, self.seeds.explain_empty())
        most = size * self.width(self._read)
        left = most if self.steps is None else min(most, self.steps - self.taken)
        if left <= 0:
            return stop_at_limit(self.steps or 0, self.taken)
        if self.slices is not None and self.gains.prefers_pages() and (pages := self._pick_pages(size)):
            return pages
        if not self.graph.left:
            return self._pick_pages(size) or self._pick_late(left) or self._stop_exhausted()
        rows, scores = self.strategy.pick(self.ranking, left, self.taken)
        thoughts = self.company.score_shadows(self.graph, rows, self.taken)
        return tuple(
            Pick(self.picks + i, self.graph.node(row), self._read, score, self.graph.features(row), shadows=thought)
            for i, (row, score, thought) in enumerate(zip(rows.tolist(), scores.tolist(), thoughts, strict=True))
        )

    def _choose_searched(self, slices: SliceQueue, size: int, now: float) -> Batch | Wait | Stop:
        """Return the next picks where accounts are found by searches: authors who were found, or spans to search.

        () where nothing is left to search, and accounts are read by their timelines too.
        """
        most = size * self.width(Act.MATCH)
        left = most if self.steps is None else min(most, self.steps - self.taken)
        if left <= 0:
            return stop_at_limit(self.steps or 0, self.taken)
        if found := slices.choose_found(left, self._may_be_read):
            acts = [Act.PAGE if self.graph.is_fetched(node) else Act.MATCH for node, _ in found]
            return tuple(
                Pick(self.picks + i, node, act, since=since)
                for i, (act, (node, since)) in enumerate(zip(acts, found, strict=True))
            )
        if slices.is_done:
            return slices.stop() if slices.alone else ()
        spans = slices.choose(size, now)
        if isinstance(spans, Wait):
            return spans
        if not spans:
            return Stop(StopKind.FAILED, OUT_OF_REACH) if slices.alone else ()
        return tuple(Pick(self.picks + i, node, Act.SEARCH, since=since) for i, (node, since) in enumerate(spans))

    def _may_be_read(self, node: Node) -> bool:
        """Return whether an account can be read from what a search returned: not if it is excluded or forgotten."""
        return self.graph.is_fetched(node) or not self.graph.is_closed(node)

    def switch_estimator(self, before: str, shadow: str) -> None:
        """Let a shadow choose from now on; the estimator that chose, called `before`, takes its place as a shadow.

        Both have learned from all picks, whichever of them chose.
        """
        taken = {before if name == shadow else name: one for name, one in self.company.shadows.items()}
        self.estimator, taken[before] = self.company.shadows[shadow], self.estimator
        self.company = EstimatorGroup(self.estimator, taken)
        self.ranking = Ranking(self.graph, self.estimator)

    def absorb(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """Grow the graph and teach the estimator, in pick order."""
        for pick, outcome in zip(batch, outcomes, strict=True):
            self._take(pick, outcome)
        self._wake()

    def _take(self, pick: Pick, outcome: Outcome) -> None:
        self.picks = pick.n + 1
        if self.slices is not None and pick.act == Act.SEARCH:
            self.slices.take_search(pick, outcome)
            return
        if self.slices is not None and pick.since.startswith(FOUND_BY):
            self.slices.take_found(pick)
        if pick.act == Act.CAPTURED:
            self._note_captured(pick.node, outcome)
            return
        if pick.act == Act.PAGE:
            self._take_page(pick, outcome)
            return
        self.resting.pop(pick.node, None)  # asked before its time, when nothing else was left
        if pick.act in (Act.SEARCH, Act.RESOLVE):
            self.seeds.absorb(pick, outcome, self._was_asked)
            return
        if pick.act == Act.SEED:
            self._sow()
            self.graph.seed(pick.node)
            self.seeds.note_done(pick.node, outcome.missing)
            self.seed_relevance += outcome.value
        elif pick.act == Act.IMPORT:
            self.seeds.bring(pick.node)
            if outcome.missing is None:
                self.graph.seed(pick.node)
                self.imported += 1
        else:
            self.taken += 1
            self.relevance += outcome.value
            if pick.act == Act.EXPAND:
                self.gains.add(pick.act, outcome.value)
            elif pick.since:
                self.seeds.bring(pick.node)
        self._grow(pick, outcome)

    def _take_page(self, pick: Pick, outcome: Outcome) -> None:
        """Learn what an account is worth with a further page: no step, and no lesson."""
        if self.pages is not None and not pick.since.startswith(FOUND_BY):
            self.pages.note_page(pick, outcome)
        if outcome.missing is not None:
            return
        more = outcome.value - float(self.graph.value(np.array([self.graph.row(pick.node)]))[0])
        if pick.node in self.seeds:
            self.seed_relevance += more
        else:
            self.relevance += more
        if not pick.since.startswith(FOUND_BY):
            self.gains.add(pick.act, more)
        row = self.graph.renew(pick.node, outcome.value, outcome.targets, outcome.alpha)
        self.company.note_fetched(self.graph, row)

    def _note_captured(self, node: Node, outcome: Outcome) -> None:
        """Learn what is held of the posts of an account: it stays in the frontier, as they are not all of its posts."""
        if outcome.missing is not None:
            self.graph.drop(node)
            return
        self.graph.note_evidence(node, self.captured.get(node), outcome.value)
        self.captured[node] = outcome.value

    def _was_asked(self, node: Node) -> bool:
        """Return whether a node was asked before and does not wait to be asked again: a new topic may find it again."""
        return self.graph.is_closed(node) and node not in self.resting

    def _sow(self) -> None:
        """Make the seeds known, all at once, when the first of them was asked: who they are is settled by then."""
        if not self.seeds.asked:
            for node in self.seeds.ready:
                self.graph.seed(node)
            self._tell_seeds(self.seeds.ready)

    def _tell_seeds(self, nodes: Iterable[Node]) -> None:
        """Tell the estimators, once, where the crawl begins."""
        if not self._sown:
            self._sown = True
            self.company.sow(self.graph, np.array([self.graph.row(node) for node in nodes], np.int64))

    def _grow(self, pick: Pick, outcome: Outcome) -> None:
        if outcome.missing is None:
            teaches = self.company.learns and pick.act in FIRST_READS
            if pick.since.startswith(FOUND_BY):  # as a seed, it is where the crawl begins
                self.graph.seed(pick.node)
            x = (pick.x or self._read_features(pick.node)) if teaches else ()
            row = self.graph.add(pick.node, outcome.value, outcome.targets, outcome.alpha)
            self.company.note_fetched(self.graph, row)
            if self.pages is not None and pick.act in self._matched:
                self.pages.note_matched(pick.node, outcome.value)
            if teaches:
                self.company.learn(np.array([x]), np.array([outcome.value]))
            return
        self.graph.drop(pick.node)
        if isinstance(outcome.missing, SameAs):
            self.graph.merge(pick.node, outcome.missing.node)
        if outcome.missing == Reason.TEMPORARY:
            self._fail(pick.node, pick.n)

    def _fail(self, node: Node, n: int) -> None:
        self.failures[node] = self.failures.get(node, 0) + 1
        if self.failures[node] < TRIES:
            self.resting[node] = n + REST

    def _wake(self) -> None:
        if self.captured and not self._sown and not self.seeds.choose_next(1, self.width)[1]:
            self._tell_seeds(self.captured)
        if self.slices is not None and self.slices.is_done and not self._sown and self.taken:
            self._tell_seeds(map(self.graph.node, self.graph.list_fetched().tolist()))
        if self.resting:  # seldom, and this is done after every pick
            for node in self._list_woken(self.picks).values():
                self.graph.set_open(node, is_open=True)

    def _stop_exhausted(self) -> Stop:
        if self.seeds.unread and not (self.imported or self.captured or self.taken):
            return Stop(StopKind.FAILED, self.seeds.explain_empty())
        return Stop(StopKind.DONE, "the frontier is empty: every account in reach was read")

    def _pick_pages(self, size: int) -> Batch:
        """Pick further pages of accounts that were matched."""
        found = [] if self.pages is None else self.pages.choose(size, self.picks)
        return tuple(
            Pick(self.picks + i, self.graph.node(row), Act.PAGE, score, self.graph.features(row), since)
            for i, (row, score, since) in enumerate(found)
        )

    def _pick_late(self, left: int) -> Batch:
        """Pick nodes that rest before their time, with nothing else to do; seeds among them as seeds."""
        nodes = list(self.resting)[:left]
        acts = [Act.SEED if node in self.seeds else self._read for node in nodes]
        return tuple(
            Pick(self.picks + i, node, act, 0.0, self.graph.features(self.graph.row(node)))
            for i, (node, act) in enumerate(zip(nodes, acts, strict=True))
        )
