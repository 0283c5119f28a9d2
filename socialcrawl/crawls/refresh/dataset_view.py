"""What is known of an old dataset, by row, and what is to be tested next. It follows from the history alone."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.refresh.active_estimate import Stratum
from socialcrawl.crawls.refresh.cost import assign_workers
from socialcrawl.crawls.refresh.dynamic_liverank import (
    ActiveIndegreeOrder,
    BreadthFirstOrder,
    DynamicOrder,
    RezappedOrder,
)
from socialcrawl.crawls.refresh.liveranks import DYNAMIC, Floats, LiveRanks
from socialcrawl.crawls.refresh.old_dataset import OldDataset, find_first
from socialcrawl.crawls.refresh.row_queue import (
    ACTIVE,
    CLOSED,
    DEAD,
    LEFT,
    OPEN,
    RESTING,
    SAME,
    UNKNOWN,
    GrowingArray,
    Ints,
    RowQueue,
    States,
)
from socialcrawl.crawls.refresh.rules import RefreshRules
from socialcrawl.engine.model import Node
from socialcrawl.graph.links import find_distinct

CHECK = "liverank check"  # the purpose of a draw


class Frontier:
    """The place in an order up to which no row is left to be tested.

    Where an order was made without asking the sample, the sampled nodes that it has not reached are a random sample of
    all that it has not reached. They were tested already, but have kept their places.

    Args:
        order: distinct rows, those of the random sample at the places that they have without being tested first.
        first: the rows that are tested before the order begins, and stand in it no more.
        size: how many rows there are in all.
    """

    def __init__(self, order: Ints, first: Ints, size: int) -> None:
        self._order, self._first, self._line = order, first, RowQueue(order)
        self._place = np.full(size, -1, np.int64)
        self._place[order] = np.arange(len(order))
        self._head, self._passed = 0, np.zeros(LEFT + 1, np.int64)

    def select_beyond(self, state: States, sample: Ints, everything: Stratum) -> Stratum:
        """Return the stratum of rows beyond the frontier.

        Args:
            state: int8[n], of all rows.
            sample: rows that were drawn at random.
            everything: the stratum of all rows.
        """
        head = self._line.count_passed(state)
        self._passed += count_states(state[self._order[self._head : head]])
        self._head = head
        before = self._passed + count_states(state[self._first])
        found = count_states(state[sample[self._place[sample] >= head]])
        return Stratum(
            everything.size - int(before[ACTIVE] + before[DEAD]),
            everything.active - int(before[ACTIVE]),
            int(found[ACTIVE] + found[DEAD]),
            int(found[ACTIVE]),
        )


def count_states(states: States) -> Ints:
    """Return how many rows are in each state, int64[LEFT + 1]."""
    return np.bincount(states, minlength=LEFT + 1)


class DatasetView:
    """The rows of an old dataset with their states (`row_queue.py`).

    A node that turned out to be another one of the dataset is that one: whoever links to it links to the other. Where
    the other is not in the dataset, the row goes on under its name. The PageRank stays that of the links as imported.

    Args:
        old: the dataset.
        rules: the settings.
        seed: of all draws.

    Attributes:
        nodes: int64[n], the names of the rows now.
        state: int8[n].
    """

    def __init__(self, old: OldDataset, rules: RefreshRules, seed: int) -> None:
        self.old, self.rules, self.seed = old, rules, seed
        self.nodes = old.nodes
        self.state: States = np.zeros(old.size, np.int8)
        self._tally = np.zeros(LEFT + 1, np.int64)
        self._tally[OPEN] = old.size
        self._renamed: dict[int, int] = {}  # node -> row
        self._same: dict[int, int] = {}  # row -> the row that it is
        self._tested = GrowingArray(
            np.empty(0, np.int64)
        )  # rows that were found active or not, in the order of the tests
        self._dynamic: DynamicOrder | None = None

    @property
    def size(self) -> int:
        """The number of nodes of the dataset."""
        return self.old.size - int(self._tally[SAME] + self._tally[LEFT])

    @property
    def left(self) -> int:
        """How many are still to be tested."""
        return int(self._tally[OPEN] + self._tally[RESTING])

    @property
    def active(self) -> int:
        """How many were found active."""
        return int(self._tally[ACTIVE])

    @property
    def tested_count(self) -> int:
        """How many were tested, whatever came of it."""
        return int(self._tally[[ACTIVE, DEAD, UNKNOWN]].sum())

    @cached_property
    def ranks(self) -> LiveRanks:
        """The orders of the dataset."""
        return LiveRanks(self.old, self.seed, damping=self.rules.damping, tolerance=self.rules.tolerance)

    @cached_property
    def check(self) -> Ints:
        """The rows that are tested first, only to estimate how many are active."""
        return self._lots[: self.rules.check]

    @cached_property
    def training(self) -> Ints:
        """The training set Z in its order."""
        return self.ranks.choose_training(self.rules.training, self.rules.z, neighbours=self.rules.neighbours)

    @cached_property
    def learning(self) -> Ints:
        """The rows that are tested before the order begins, one round: those of `check`, then the others of Z."""
        return find_first(np.concatenate([self.check, self.training]))

    def find_rows(self, nodes: Ints) -> Ints:
        """Return the rows of nodes, int64; -1 for those that are not in the dataset."""
        rows = self.old.find_rows(nodes)
        for i in np.flatnonzero(rows < 0).tolist() if self._renamed else ():
            rows[i] = self._renamed.get(int(nodes[i]), -1)
        return self._resolve(rows)

    def learn(self, nodes: Ints, states: States, others: dict[int, Node]) -> None:
        """Take in tests, in their order; `others`: by place, whom a node with the state SAME turned out to be."""
        begin = 0
        for i in sorted(others):
            self._set(nodes[begin:i], states[begin:i])
            self._merge(Node(int(nodes[i])), others[i])
            begin = i + 1
        self._set(nodes[begin:], states[begin:])

    def rest(self, nodes: Ints, *, resting: bool) -> None:
        """Let untested nodes rest, or wake them."""
        rows = self.find_rows(nodes)
        rows = rows[rows >= 0]
        rows = find_distinct(rows[self.state[rows] < CLOSED])
        self._mark(rows, np.int8(RESTING if resting else OPEN), rows)

    def find_next(self, count: int, *, drawn: bool = False) -> tuple[Ints, Floats]:
        """Return the next rows to test, `count` or fewer, with their scores.

        None where this worker has nothing to test now.

        Nothing of the order after it is asked for before all of the training set is tested.

        Args:
            count: how many.
            drawn: whether they are drawn at random, in place of the order's next, after the training set.
        """
        line, queue = self._first
        if len(rows := self._take_open(line, count)):
            return rows, np.zeros(len(rows))
        if not queue.is_done(self.state):
            return rows, np.zeros(0)
        if drawn and len(rows := self._random_queue.take(self.state, count)):
            return rows, np.zeros(len(rows))
        if self.rules.rank in DYNAMIC:
            order = self._make_dynamic_order()
            rows = order.take(self.state, count)
            rows = rows if len(rows) else self._late_queue.take(self.state, count, RESTING)
            return rows, order.score(rows)
        line, scores, _ = self._order
        rows = self._take_open(line, count)
        return rows, scores[rows]

    @property
    def awaits(self) -> bool:
        """Whether some of those who are tested before the order begins are not tested yet."""
        return not self._first[1].is_done(self.state)

    def make_strata(self) -> list[Stratum]:
        """Return the strata that hold a random sample and all that is left: those beyond the frontier, or all rows.

        An order that learns from the sample's answers, or is not known yet, has no frontier. Beyond it the sample is
        all that was drawn, also later than `check`: the first of `_lots`, up to the first that was not tested. It says
        whatever `check` says of all rows, as all others are known; a random training set may say more than it.
        """
        if not self.rules.samples:
            return []
        found = count_states(self.state[self.check if self.rules.check else self.training])
        known, sampled = (int(tally[ACTIVE] + tally[DEAD]) for tally in (self._tally, found))
        everything = Stratum(known + self.left, self.active, sampled, int(found[ACTIVE]), whole=True)
        if self.awaits or self.rules.rank in DYNAMIC:
            return [everything]
        drawn = self._lots[: max(self.rules.check, self._random_queue.count_passed(self.state))]
        beyond = self._order[2].select_beyond(self.state, drawn, everything)
        return [beyond] if self.rules.check and beyond.sampled else [beyond, everything]

    def _set(self, nodes: Ints, states: States) -> None:
        rows = self.find_rows(nodes)
        inside = rows >= 0
        rows, states = rows[inside], states[inside]
        once = find_distinct(rows)
        if len(once) < len(rows) or (self.state[once] >= CLOSED).any():
            self._forget_orders()  # tested once more: what followed from it follows no longer
        self._mark(rows, states, once)
        tests = (states == ACTIVE) | (states == DEAD)
        self._tested.add(rows[tests])
        if self._dynamic is not None:
            self._dynamic.learn(rows[tests], states[tests] == ACTIVE)

    def _mark(self, rows: Ints, states: States | np.int8, once: Ints) -> None:
        """Set the states of rows, of one that comes twice the last, and count; `once`: each of them once."""
        self._tally -= count_states(self.state[once])
        self.state[rows] = states
        self._tally += count_states(self.state[once])

    def _merge(self, node: Node, other: Node) -> None:
        rows = self.find_rows(np.array([node, other], np.int64))
        row, target = rows.tolist()
        if row < 0:
            return
        self._forget_orders()
        if target < 0:
            self.nodes = self.nodes.copy() if self.nodes is self.old.nodes else self.nodes
            self.nodes[row] = other
            self._renamed[int(other)] = row
            if self.state[row] == RESTING:  # it was asked before its time, and did not fail again
                self._mark(rows[:1], np.int8(OPEN), rows[:1])
        elif target == row:  # in a circle: nobody will say who it is
            self._mark(rows[:1], np.int8(UNKNOWN), rows[:1])
        else:
            self._mark(rows[:1], np.int8(SAME), rows[:1])
            self._same[row] = target

    def _resolve(self, rows: Ints) -> Ints:
        """Return the rows that rows are now."""
        if not self._same:
            return rows
        for i in np.flatnonzero(np.isin(rows, [*self._same])).tolist():
            while (row := self._same.get(int(rows[i]))) is not None:
                rows[i] = row
        return rows

    def _forget_orders(self) -> None:
        self._dynamic = None
        self.__dict__.pop("_order", None)

    def _take_open(self, line: RowQueue, count: int) -> Ints:
        """Return the next open rows of a line; those that rest where there are no others."""
        rows = line.take(self.state, count)
        return rows if len(rows) else line.take(self.state, count, RESTING)

    def _take_share(self, order: Ints) -> Ints:
        """Return the part of an order that this worker tests."""
        if self.rules.worker is None:
            return order
        j, p = self.rules.worker
        return np.asarray(order[assign_workers(order, p) == j])

    def _list_trained(self) -> tuple[Ints, NDArray[np.bool_]]:
        """Return the rows of the training set that were found active or not, and which are active."""
        state = self.state[self.training]
        known = (state == ACTIVE) | (state == DEAD)
        return self.training[known], state[known] == ACTIVE

    @cached_property
    def _first(self) -> tuple[RowQueue, RowQueue]:
        """What is tested before the order: this worker's part, and the whole."""
        return RowQueue(self._take_share(self.learning)), RowQueue(self.learning)

    @cached_property
    def _lots(self) -> Ints:
        """All rows in the order in which they are drawn at random: a sample is the first of them."""
        return self.ranks.order_static("random", CHECK)

    @cached_property
    def _random_queue(self) -> RowQueue:
        return RowQueue(self._lots)

    @cached_property
    def _order(self) -> tuple[RowQueue, Floats, Frontier]:
        """What is left in the order of a static or sample-based rank, the scores, and how far that order is tested."""
        tested, active = self._list_trained()
        scores = self.ranks.compute_scores(self.rules.rank, tested, active)
        order = self.ranks.order_by(self.rules.rank, scores, self.training)
        others = order[~np.isin(order, self.check)]
        return RowQueue(self._take_share(others)), scores, Frontier(order, self.training, self.old.size)

    @cached_property
    def _late_queue(self) -> RowQueue:
        return RowQueue(self.ranks.by_pagerank)

    def _make_dynamic_order(self) -> DynamicOrder:
        if self._dynamic is None:
            rules = self.rules
            if rules.rank == "bfs":
                self._dynamic = BreadthFirstOrder(self.ranks, self._resolve)
            elif rules.rank == "ai":
                self._dynamic = ActiveIndegreeOrder(self.ranks, self._resolve)
            else:
                self._dynamic = RezappedOrder(self.ranks, rounds=rules.rounds, top=rules.top, every=rules.every)
            rows = find_first(self._tested.values)
            rows = rows[np.isin(self.state[rows], (ACTIVE, DEAD))]
            self._dynamic.learn(rows, self.state[rows] == ACTIVE)
        return self._dynamic
