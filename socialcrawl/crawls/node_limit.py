"""Limit any kind of crawl to a number of nodes. Pure."""

from collections.abc import Iterator, Sequence

import numpy as np

from socialcrawl.engine.model import FINDING, Act, Outcome, Stop, StopKind, Wait
from socialcrawl.engine.protocols import Batch, Columnar, Columns, Crawl, History, skip_known
from socialcrawl.text.wording import pluralize

FREE = (*FINDING, Act.RESOLVE, Act.IMPORT, Act.CAPTURED, Act.HYDRATE, Act.PAGE)
"""Acts that read no other account: they find accounts, read one further, or the answer is known already."""


def stop_at_limit(steps: int, taken: int, unit: str = "step") -> Stop:
    """Return the end of a crawl that may do `steps` steps and has `taken` as many or more; `unit` is what one is."""
    reached = f"the limit of {pluralize(steps, unit)} is reached"
    done = f"{pluralize(taken, f'{unit} is', f'{unit}s are')} done already; the limit is {steps:,}"
    return Stop(StopKind.DONE, done if taken > steps else reached)


class NodeLimit:
    """The crawl `inner` with a budget of `most` nodes; the same contract."""

    def __init__(self, inner: Crawl, most: int) -> None:
        self.inner, self.most = inner, most
        self.asked = self.picks = 0  # nodes that were asked, and the next pick's n

    def choose(self, size: int, now: float) -> Batch | Wait | Stop:
        """Return the next picks of the inner crawl, as many as the budget leaves."""
        left = self.most - self.asked
        choice = self.inner.choose(max(1, min(size, left)), now)
        if isinstance(choice, Wait | Stop):
            return choice
        if begun := _cut_batch(choice, left):
            return begun
        return Stop(
            StopKind.BUDGET,
            f"the budget max_nodes = {pluralize(self.most, 'account')} is reached; raise it and run again to go on",
        )

    def absorb(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """Count the nodes, and let the inner crawl learn."""
        self.count(batch[-1].n, _count_nodes(batch))
        self.inner.absorb(batch, outcomes)

    def fold(self, history: History) -> None:
        """Count while the inner crawl folds, in its own way."""
        history = skip_known(history, self.picks)
        self.inner.fold(_Columns(self, history) if isinstance(history, Columnar) else self._count_history(history))

    def _count_history(self, history: History) -> History:
        for batch, outcomes in history:
            self.count(batch[-1].n, _count_nodes(batch))
            yield batch, outcomes

    def count(self, n: int, asked: int) -> None:
        """Count the nodes of picks up to number `n`."""
        self.asked, self.picks = self.asked + asked, n + 1


class _Columns:
    """A history whose picks are counted while somebody reads them."""

    def __init__(self, bounded: NodeLimit, history: Columnar) -> None:
        self.bounded, self.history = bounded, history

    def __iter__(self) -> Iterator[tuple[Batch, Sequence[Outcome]]]:
        for columns in self.columns():
            yield from columns.batches()

    def columns(self, *, features: bool = True, rest: bool = True) -> Iterator[Columns]:
        for columns in self.history.columns(features=features, rest=rest):
            self.bounded.count(int(columns.n[-1]), int((~np.isin(columns.act, FREE)).sum()))
            yield columns


def _cut_batch(batch: Batch, left: int) -> Batch:
    """Return the first picks of a batch that request at most this many nodes; one request may serve several."""
    counts = np.cumsum([pick.act not in FREE for pick in batch])
    return batch[: int(np.searchsorted(counts, left, "right"))]


def _count_nodes(batch: Batch) -> int:
    return sum(pick.act not in FREE for pick in batch)
