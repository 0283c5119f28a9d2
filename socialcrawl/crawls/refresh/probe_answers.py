"""What probes said so far, by node, whatever dataset they were asked for."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.refresh.row_queue import ACTIVE, DEAD, LEFT, RESTING, SAME, UNKNOWN, GrowingArray, Ints
from socialcrawl.crawls.seeds import REST, TRIES
from socialcrawl.engine.model import SAME_AS, Node, Reason

FOR_GOOD = (Reason.FORGOTTEN, Reason.EXCLUDED, Reason.OPTED_OUT)  # they leave the dataset

Tell = Callable[[Ints, NDArray[np.int8], dict[int, Node]], None]
"""Who is told of tests: nodes, what they are now, and, by place, whom a node turned out to be."""


class ProbeAnswers:
    """The tests in their order.

    Attributes:
        failures: how often nodes failed in a row.
        resting: the pick from which a node that failed may be asked again.
    """

    def __init__(self) -> None:
        self.failures: dict[Node, int] = {}
        self.resting: dict[Node, int] = {}
        self._nodes, self._states = GrowingArray(np.empty(0, np.int64)), GrowingArray(np.empty(0, np.int8))
        self._others: dict[int, Node] = {}  # by place among all tests

    def tell(self, tell: Tell) -> None:
        """Tell of all tests so far."""
        tell(self._nodes.values, self._states.values, self._others)

    def take(self, first: int, nodes: Ints, values: NDArray[np.float64], missing: NDArray[np.str_], tell: Tell) -> None:
        """Take in tests in their order, and tell of those that say something.

        Args:
            first: the n of the first pick; the others follow it.
            nodes: int64[k], who was asked.
            values: float64[k], above 0: active.
            missing: str[k], why a node could not be read; "" where it could.
            tell: who is told.
        """
        states = np.where(values > 0, ACTIVE, DEAD).astype(np.int8)
        states[np.isin(missing, FOR_GOOD)] = LEFT
        others: dict[int, Node] = {}
        failed = missing == Reason.TEMPORARY
        same = np.strings.startswith(missing, SAME_AS)
        for i in np.flatnonzero(same).tolist():
            others[i] = Node(int(str(missing[i]).removeprefix(SAME_AS)))
        states[same] = SAME
        if failed.any() or self.failures:
            self._fail(first, nodes, failed, states)
        is_answer = states != RESTING
        if not is_answer.all():
            place = np.cumsum(is_answer) - 1
            others = {int(place[i]): node for i, node in others.items()}
            nodes, states = nodes[is_answer], states[is_answer]
        self._others |= {len(self._nodes.values) + i: node for i, node in others.items()}
        self._nodes.add(nodes)
        self._states.add(states)
        tell(nodes, states, others)

    def wake(self, picks: int) -> list[Node]:
        """Return the nodes that have rested enough after this number of picks."""
        woken = [node for node, until in self.resting.items() if until <= picks]
        for node in woken:
            del self.resting[node]
        return woken

    def _fail(self, first: int, nodes: Ints, failed: NDArray[np.bool_], states: NDArray[np.int8]) -> None:
        """Let those who failed rest, or give them up; an answer ends a row of failures."""
        watched = np.array([*self.failures], np.int64)
        for i in np.flatnonzero(failed | np.isin(nodes, np.append(watched, nodes[failed]))).tolist():
            node = Node(int(nodes[i]))
            self.resting.pop(node, None)
            if not failed[i]:
                self.failures.pop(node, None)
                continue
            self.failures[node] = times = self.failures.get(node, 0) + 1
            states[i] = RESTING if times < TRIES else UNKNOWN
            if times < TRIES:
                self.resting[node] = first + i + REST
