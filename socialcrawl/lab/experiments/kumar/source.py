"""What a fetch sees of a time graph, and the clock that fetches take time of (Kumar et al., section III)."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Generator, Mapping, Sequence

import numpy as np

from socialcrawl.engine.model import Act, Node, Outcome, Pick, Reply, Request, Who
from socialcrawl.engine.protocols import Batch, Conversation
from socialcrawl.lab.experiments.kumar.timegraphs import TimeGraph


class TickingClock:
    """A clock that moves on by `every` seconds at each fetch: fetch number i is at `begin` + i * `every`."""

    def __init__(self, begin: float, every: float) -> None:
        self.begin, self.every = begin, every
        self.fetches = 0

    def now(self) -> float:
        """Return the instant of the fetch that comes next, seconds."""
        return self.begin + self.fetches * self.every

    def tick(self) -> None:
        """Let one fetch be over."""
        self.fetches += 1

    def sleep(self, until: float) -> None:
        """Let fetches pass unused, until that instant at least."""
        while self.now() < until:
            self.fetches += 1

    def interrupted(self) -> bool:
        """Return False: Ctrl-C ends the laboratory as any other program."""
        return False


class WindowedSource:
    """The source of a time graph: a fetch of u at t0 answers out(u, t0), the links that arrived from t0 - w to t0.

    Of a pick with `since`, only those that arrived after that instant. `alpha` of an outcome is how many parallel links
    lead to the target, `mark` the instant of the fetch; values are 0, as in-degrees ask for none.
    """

    def __init__(self, graph: TimeGraph, window: float, clock: TickingClock) -> None:
        self.graph, self.window, self.clock = graph, window, clock
        # Lists, as a fetch looks at a handful of places: bisect takes a tenth of numpy's time there.
        self._indptr, self._times, self._targets = graph.indptr.tolist(), graph.times.tolist(), graph.targets.tolist()

    def width(self, act: Act) -> int:
        """Return one node a pick."""
        return 1

    def talks(self, batch: Batch, accounts: Mapping[Node, Who]) -> Sequence[Conversation]:
        """Return a conversation a pick."""
        return [self._talk(pick) for pick in batch]

    def mark(self, at: float) -> str:
        """Return the mark of an instant (seconds): the last one before it, as only what came after it is fetched."""
        return repr(math.nextafter(at, -math.inf))

    def outcome(self, pick: Pick, now: float) -> Outcome:
        """Return what a fetch at `now` (seconds) answers to a pick."""
        low, high = self._indptr[pick.node], self._indptr[pick.node + 1]
        first = bisect_left(self._times, now - self.window, low, high)
        if pick.since:
            first = bisect_right(self._times, float(pick.since), first, high)
        counts: dict[int, int] = {}
        for place in range(first, bisect_right(self._times, now, first, high)):
            target = self._targets[place]
            counts[target] = counts.get(target, 0) + 1
        targets = np.fromiter(counts, np.int64, len(counts))
        alpha = np.fromiter(counts.values(), np.float64, len(counts))
        return Outcome(pick.n, pick.node, now, 0.0, targets, alpha, mark=repr(now))

    def _talk(self, pick: Pick) -> Generator[Request, Reply, Mapping[int, Outcome]]:
        yield from ()  # a conversation, though nothing has to be asked
        now = self.clock.now()
        self.clock.tick()
        return {pick.n: self.outcome(pick, now)}


def choose_instants(begin: float, end: float, every: float, most: int) -> list[int]:
    """Return the numbers of fetches, ascending, after which a crawl is looked at, at most `most` + 1.

    Evenly spread; the last is the last fetch that is not later than `end`.
    """
    fetches = int((end - begin) / every) + 1
    step = max(1, -(-fetches // most))
    return sorted({*range(step, fetches + 1, step), fetches})
