"""A whole history absorbed at once, bit for bit as if pick by pick: in pieces that only add nodes to the graph."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.collect.estimators.base import FetchedNodes
from socialcrawl.crawls.collect.page_queue import PageQueue
from socialcrawl.crawls.collect.shadow_estimators import EstimatorGroup
from socialcrawl.crawls.collect.slice_queue import SliceQueue
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.model import FIRST_READS, SAME_AS, Act, Node, Outcome, Pick, Reason
from socialcrawl.engine.protocols import Batch, Columnar, Columns, History, skip_known
from socialcrawl.graph.graph import COLUMNS, CrawlGraph, Rows
from socialcrawl.graph.links import Additions

CHUNK = 65_536  # picks that are held in memory together
FEW = 8  # picks that are absorbed as fast one by one
AT_ONCE = (*FIRST_READS, Act.IMPORT)


class BulkFold:
    """The part of a crawl that absorbs a whole history at once, bit for bit as if pick by pick.

    The crawl says how one pick is absorbed (`_take`), that nodes have rested enough after a batch (`_wake`), and that
    one failed for a while (`_fail`).
    """

    graph: CrawlGraph
    company: EstimatorGroup
    seeds: Seeds
    picks: int
    taken: int
    imported: int
    relevance: float
    resting: dict[Node, int]
    pages: PageQueue | None
    slices: SliceQueue | None

    def absorb(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """See `protocols.Crawl.absorb`."""
        raise NotImplementedError

    def _take(self, pick: Pick, outcome: Outcome) -> None:
        raise NotImplementedError

    def _wake(self) -> None:
        raise NotImplementedError

    def _fail(self, node: Node, n: int) -> None:
        raise NotImplementedError

    def fold(self, history: History) -> None:
        """Absorb every finished batch in turn: at once where that comes to the same, bit for bit."""
        history = skip_known(history, self.picks)
        if self.company.is_sequential() or self.slices is not None:  # authors who were found are read one by one
            for batch, outcomes in history:
                self.absorb(batch, outcomes)
            return
        for columns in read_columns(history, features=self.company.learns, rest=self.pages is not None):
            ends = columns.ends()
            for begin, end, regular in find_stretches(columns):
                (self._take_all if regular else self._take_each)(columns, ends, begin, end)

    def _read_features(self, node: Node) -> tuple[float, ...]:
        """Return the features of a node that is about to be added, where those as picked were of another topic."""
        self.graph.drop(node)  # so that it is known: whoever led to it may be forgotten
        return self.graph.features(self.graph.row(node))

    def _take_each(self, columns: Columns, ends: Rows, begin: int, end: int) -> None:
        """Absorb some picks one by one; `ends` are the places of the last picks of the batches."""
        last = set(ends[np.searchsorted(ends, begin) : np.searchsorted(ends, end)].tolist())
        for i in range(begin, end):
            self._take(columns.pick(i), columns.outcome(i))
            if i in last:
                self._wake()

    def _take_all(self, columns: Columns, ends: Rows, begin: int, end: int) -> None:
        """Absorb a regular stretch at once; where the graph will not have it so, halves of it."""
        many = end - begin > FEW
        rows = self.graph.extend(make_additions(columns, begin, end)) if many else None
        if rows is not None:
            self._count(columns, slice(begin, end), rows)
            self._rest(columns, ends, begin, rows)
        elif many and end - begin > 1:
            middle = (begin + end) // 2
            self._take_all(columns, ends, begin, middle)
            self._take_all(columns, ends, middle, end)
        else:
            self._take_each(columns, ends, begin, end)

    def _count(self, columns: Columns, some: slice, rows: Rows) -> None:
        """Count steps and relevance of a stretch whose nodes are in `rows`, and learn from it."""
        value, step, fetched = columns.value[some], np.isin(columns.act[some], FIRST_READS), columns.missing[some] == ""
        self.picks = int(columns.n[some][-1]) + 1
        self.taken += int(step.sum())
        self.imported += int((fetched & ~step).sum())
        for node in columns.node[some][~step].tolist():
            self.seeds.bring(Node(node))
        if self.pages is not None:
            matched = step & fetched
            for node, worth in zip(columns.node[some][matched].tolist(), value[matched].tolist(), strict=True):
                self.pages.note_matched(Node(node), worth)
        # `accumulate` adds one after the other; `sum` would not.
        self.relevance = float(np.add.accumulate(np.concatenate([[self.relevance], value[step]]))[-1])
        taught = (step & fetched)[fetched]
        x = np.empty((0, len(COLUMNS))) if columns.x is None else columns.x[some][step & fetched]
        self.company.learn_all(self.graph, FetchedNodes(rows[fetched], value[fetched], x, taught))

    def _rest(self, columns: Columns, ends: Rows, begin: int, rows: Rows) -> None:
        """Let the nodes that failed for a while rest, and offer them again, as of a stretch whose nodes are in `rows`.

        Only the last thing that happened to a node shows: whether it was offered again or picked.
        """
        places = slice(begin, begin + len(rows))
        nodes, failed = columns.node[places], columns.missing[places] == Reason.TEMPORARY
        if not (watched := [*self.resting, *map(Node, nodes[failed].tolist())]):
            return
        ends = ends[np.searchsorted(ends, begin) : np.searchsorted(ends, begin + len(rows))]
        picks = columns.n[ends] + 1
        offered: dict[int, Node] = {}
        at = np.isin(rows, [self.graph.row(node) for node in watched]).nonzero()[0]
        for i in at.tolist():
            before = ends[: np.searchsorted(ends, begin + i)]
            offered |= self._list_woken(int(picks[len(before) - 1]) if len(before) else 0)
            offered.pop(int(rows[i]), None)
            self.resting.pop(Node(int(nodes[i])), None)
            if failed[i]:
                self._fail(Node(int(nodes[i])), int(columns.n[begin + i]))
        offered |= self._list_woken(int(picks[-1]) if len(picks) else 0)
        for node in offered.values():
            self.graph.set_open(node, is_open=True)

    def _list_woken(self, picks: int) -> dict[int, Node]:
        """Return who has rested enough after `picks` decisions, by row; seeds go back in line."""
        due = [node for node, until in self.resting.items() if until <= picks]
        for node in due:
            del self.resting[node]
        return {self.graph.row(node): node for node in due if not self.seeds.retry(node)}


def read_columns(history: History, *, features: bool, rest: bool = False) -> Iterator[Columns]:
    """Yield all of a history as columns, with or without the features as picked, and the marks of outcomes."""
    if isinstance(history, Columnar):
        yield from history.columns(features=features, rest=rest)
        return
    held: list[tuple[Batch, Sequence[Outcome]]] = []
    for batch, outcomes in history:
        if held and batch[-1].n - held[0][0][0].n >= CHUNK:
            yield _make_columns(held, features=features)
            held = []
        held.append((batch, outcomes))
    if held:
        yield _make_columns(held, features=features)


def find_stretches(columns: Columns) -> Iterator[tuple[int, int, bool]]:
    """Return pieces from `begin` to `end`, and whether their picks all only add a node or find it missing.

    A pick to learn from whose features are not known any more is looked at by itself: the graph just before it is.
    """
    regular = np.isin(columns.act, AT_ONCE)
    regular &= ~np.strings.startswith(columns.missing, SAME_AS)
    regular &= (columns.missing != Reason.TEMPORARY) | (columns.act != Act.IMPORT)
    if columns.x is not None:
        regular &= ~np.isnan(columns.x[:, -1]) | ~np.isin(columns.act, FIRST_READS) | (columns.missing != "")
    edges = np.flatnonzero(regular[1:] != regular[:-1]) + 1
    bounds = [0, *edges.tolist(), len(regular)]
    for begin, end in pairwise(bounds):
        if begin < end:
            yield begin, end, bool(regular[begin])


def make_additions(columns: Columns, begin: int, end: int) -> Additions:
    """Return what the picks of a regular stretch bring to the graph."""
    offsets, some = columns.offsets[begin : end + 1], slice(begin, end)
    links = slice(offsets[0], offsets[-1])
    fetched = columns.missing[some] == ""
    return Additions(
        columns.node[some],
        columns.value[some],
        offsets - offsets[0],
        columns.targets[links],
        columns.alpha[links],
        fetched,
        fetched & (columns.act[some] == "import"),
    )


def _make_columns(held: list[tuple[Batch, Sequence[Outcome]]], *, features: bool) -> Columns:
    picks, outcomes = [pick for batch, _ in held for pick in batch], [outcome for _, some in held for outcome in some]
    counts = [0, *(len(outcome.targets) for outcome in outcomes)]
    return Columns(
        np.array([pick.n for pick in picks], np.int64),
        np.array([batch[0].n for batch, _ in held for _ in batch], np.int64),
        np.array([pick.node for pick in picks], np.int64),
        np.array([pick.act for pick in picks]),
        np.array([outcome.value for outcome in outcomes], np.float64),
        np.array([str(outcome.missing or "") for outcome in outcomes]),
        np.cumsum(counts),
        np.concatenate([outcome.targets for outcome in outcomes]).astype(np.int64),
        np.concatenate([outcome.alpha for outcome in outcomes]).astype(np.float64),
        _stack_features(picks) if features else None,
        mark=np.array([outcome.mark for outcome in outcomes]),
    )


def _stack_features(picks: list[Pick]) -> NDArray[np.float64]:
    """Return the features as picked, a row a pick; NaN where a pick has none."""
    x = np.full((len(picks), len(COLUMNS)), np.nan)
    for line, pick in zip(x, picks, strict=True):
        line[:] = pick.x or np.nan
    return x
