"""Refresh: a crawl that tests the nodes of an old dataset in LiveRank order, as the loop can drive it.

First those who are tested to estimate how many are active and, in the same round, the training set Z; once all of these
are tested, the others in the order of the rank; where the estimate says that a wanted fraction is found, and the bound
of its interval does not yet, nodes drawn at random, which narrow the interval. Picks of act "import" bring the dataset,
picks of act "probe" are the tests: value above 0 is active. `choose` changes nothing; `absorb` and `fold` are the only
methods that do. It never waits, reads or writes. What is tested next follows from the history: a dataset that was
brought, or results that came, late, count.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.node_limit import stop_at_limit
from socialcrawl.crawls.refresh.active_estimate import ActiveEstimate, StopVerdict, estimate, judge
from socialcrawl.crawls.refresh.dataset_view import DatasetView
from socialcrawl.crawls.refresh.liveranks import NO_SITES
from socialcrawl.crawls.refresh.old_dataset import OldDataset, OldDatasetBuilder
from socialcrawl.crawls.refresh.probe_answers import ProbeAnswers
from socialcrawl.crawls.refresh.rules import RefreshRules
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.model import Act, Node, Outcome, Pick, Stop, StopKind
from socialcrawl.engine.protocols import Batch, Columnar, Columns, History, skip_known

IMPORT, PROBE = Act.IMPORT, Act.PROBE


class Refresh:
    """A crawl of tests with a budget of `steps`; `width("probe")` says how many one request answers.

    Args:
        rules: the order, and when it ends.
        seed: of all draws.
        steps: how many tests there may be; None: no bound.
        width: how many picks of an act one request can answer.
        old: the dataset; None: what the picks of act "import" bring.

    Attributes:
        picks: all decisions so far, the next pick's n; `taken`: the tests, what the budget counts.
        imported: nodes that were brought.
        seeds: none; seed_relevance: 0.
        answers: what the tests said, by node.
        judged: what `choose` last made of the wanted fraction; None: none is wanted, or nothing is known of it yet.
    """

    def __init__(
        self,
        rules: RefreshRules,
        seed: int,
        steps: int | None = None,
        width: Callable[[Act], int] = lambda _: 1,
        *,
        old: OldDataset | None = None,
    ) -> None:
        self.rules, self.seed, self.steps, self.width = rules, seed, steps, width
        self.picks = self.taken = 0
        self.imported = 0 if old is None else old.size
        self.seeds, self.seed_relevance = Seeds(), 0.0
        self.answers = ProbeAnswers()
        self.judged: StopVerdict | None = None
        self._given, self._growing = old, OldDatasetBuilder()
        self._view: DatasetView | None = None

    @property
    def view(self) -> DatasetView:
        """What is known, by row."""
        if self._view is None:
            old = self._growing.build(linked=self.rules.linked) if self._given is None else self._given
            self._view = DatasetView(old, self.rules, self.seed)
            self.answers.tell(self._view.learn)
            self._view.rest(np.array([*self.answers.resting], np.int64), resting=True)
        return self._view

    @property
    def graph(self) -> DatasetView:
        """The view, by the name under which every crawl has `size` and `left` of what it knows."""
        return self.view

    @property
    def relevance(self) -> float:
        """The number of nodes that were found active."""
        return float(self.view.active)

    @property
    def resting(self) -> dict[Node, int]:
        """The pick from which nodes that failed for a while may be asked again."""
        return self.answers.resting

    @property
    def failures(self) -> dict[Node, int]:
        """How often nodes failed in a row."""
        return self.answers.failures

    def choose(self, size: int, now: float) -> Batch | Stop:
        """Return the next picks, as many as `size` requests answer."""
        if not self.view.old.size:
            return Stop(
                StopKind.FAILED,
                "there is no dataset to refresh yet: bring one (socialcrawl import FILE --as dataset --db TOML)",
            )
        if self.rules.rank == "asf" and not self.view.old.has_sites:
            return Stop(StopKind.FAILED, f"{NO_SITES}: take another rank, pa+- or pa")
        left = size * self.width(PROBE)
        left = left if self.steps is None else min(left, self.steps - self.taken)
        if left <= 0:
            return stop_at_limit(self.steps or 0, self.taken)
        self.judged = verdict = self.verdict()
        if verdict is not None and verdict.reached:
            return Stop(StopKind.DONE, verdict.why)
        rows, scores = self.view.find_next(left, drawn=verdict is not None and verdict.doubted and self.rules.draws)
        if not len(rows):
            return Stop(StopKind.DONE, self._explain_end())
        nodes = self.view.nodes[rows].tolist()
        return tuple(
            Pick(self.picks + i, Node(node), PROBE, score)
            for i, (node, score) in enumerate(zip(nodes, scores.tolist(), strict=True))
        )

    def absorb(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """Learn what the tests said, in pick order."""
        begin = 0
        for end in range(1, len(batch) + 1):
            if end == len(batch) or batch[end].act != batch[begin].act:
                self._absorb(batch[begin:end], outcomes[begin:end])
                begin = end
        if batch:
            self._wake(batch[-1].n + 1)

    def fold(self, history: History) -> None:
        """Absorb every finished batch: at once, where the history can be read as columns."""
        history = skip_known(history, self.picks)
        if not isinstance(history, Columnar):
            for batch, outcomes in history:
                self.absorb(batch, outcomes)
            return
        for columns in history.columns(features=False):
            edges = np.flatnonzero(columns.act[1:] != columns.act[:-1]) + 1
            for begin, end in pairwise([0, *edges.tolist(), len(columns.n)]):
                self._take(columns, begin, end)
        self._wake(self.picks)

    def estimate(self) -> ActiveEstimate:
        """Return how many nodes are active, by all tests and the random sample, and the share of them that is found."""
        view = self.view
        return estimate(
            view.size, tested=view.tested_count, found=view.active, left=view.left, strata=view.make_strata()
        )

    def verdict(self) -> StopVerdict | None:
        """Return whether the wanted fraction is found; None: none is wanted, or the order has not begun, or is over."""
        if self.rules.fraction is None or self.view.awaits or not self.view.left:
            return None
        return judge(self.estimate(), self.rules.fraction, self.rules.stop)

    # -- Choosing

    def _explain_end(self) -> str:
        view = self.view
        if self.rules.worker is not None and view.left:
            j, p = self.rules.worker
            part = "training set" if view.awaits else "dataset"
            return (
                f"worker {j} of {p} has tested its part of the {part}: bring the results of the others "
                "(socialcrawl import RESULTS --as liveness), then go on"
            )
        return f"every node of the dataset was tested: {view.active:,} of {view.size:,} are active"

    # -- Learning

    def _absorb(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """Learn from picks of one act."""
        nodes = np.array([pick.node for pick in batch], np.int64)
        missing = np.array([str(outcome.missing or "") for outcome in outcomes])
        self.picks = batch[-1].n + 1
        if batch[0].act == IMPORT:
            offsets = np.cumsum([0, *(len(outcome.targets) for outcome in outcomes)])
            targets = np.concatenate([outcome.targets for outcome in outcomes]).astype(np.int64)
            self._bring(nodes, offsets, targets, np.array([outcome.mark for outcome in outcomes]), missing)
        elif batch[0].act == PROBE:
            self._test(batch[0].n, nodes, np.array([outcome.value for outcome in outcomes], np.float64), missing)

    def _take(self, columns: Columns, begin: int, end: int) -> None:
        """Learn from picks of one act in columns."""
        some, act = slice(begin, end), str(columns.act[begin]) if begin < end else ""
        nodes, missing = columns.node[some], columns.missing[some]
        self.picks = int(columns.n[end - 1]) + 1 if begin < end else self.picks
        if act == IMPORT:
            marks = np.full(len(nodes), "") if columns.mark is None else columns.mark[some]
            self._bring(nodes, columns.offsets[begin : end + 1], columns.targets, marks, missing)
        elif act == PROBE:
            self._test(int(columns.n[begin]), nodes, columns.value[some], missing)

    def _bring(
        self,
        nodes: NDArray[np.int64],
        offsets: NDArray[np.int64],
        targets: NDArray[np.int64],
        marks: NDArray[np.str_],
        missing: NDArray[np.str_],
    ) -> None:
        there = missing == ""
        self._growing.add(nodes, offsets, targets, marks, there)
        self.imported += int(np.count_nonzero(there))
        self._view = None

    def _test(
        self, first: int, nodes: NDArray[np.int64], values: NDArray[np.float64], missing: NDArray[np.str_]
    ) -> None:
        self.taken += len(nodes)
        self.answers.take(first, nodes, values, missing, self._tell)
        if self._view is not None and self.answers.resting:
            self._view.rest(np.array([*self.answers.resting], np.int64), resting=True)

    def _tell(self, nodes: NDArray[np.int64], states: NDArray[np.int8], others: dict[int, Node]) -> None:
        if self._view is not None:
            self._view.learn(nodes, states, others)

    def _wake(self, picks: int) -> None:
        woken = self.answers.wake(picks)
        if woken and self._view is not None:
            self._view.rest(np.array(woken, np.int64), resting=False)
