"""OPIC's accounts of a Track crawl: how far back importance looks, and whom the virtual page gives to (section 3).

Abiteboul, Preda, Cobena. The graph's rows are the pages. Without memory, lean and extra it is plain static OPIC.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.track.target import Target
from socialcrawl.importance.opic import Cash
from socialcrawl.importance.opic_levers import Lean, TopicBias
from socialcrawl.importance.recent_importance import RecentImportance

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(slots=True)
class OpicAccounts:
    """Cash, with what a target says of its history, of the virtual page and of the topic.

    A virtual page that leans lends when its cash is past the threshold, and pays what is left to everybody: to lend
    moves the cash of many, as paying in one offset does not, and it comes to some twenty times in n visits.

    Attributes:
        cash: the accounts, fresh. All that joins or pays does so through this object.
        target: what is looked for; of it `memory`, `lean`, `extra` and `small`.
    """

    cash: Cash = field(repr=False)
    target: Target
    _recent: RecentImportance | None = field(init=False, repr=False, default=None)
    _lean: Lean | None = field(init=False, repr=False, default=None)
    _topical: TopicBias | None = field(init=False, repr=False, default=None)
    _threshold: float = field(init=False, repr=False, default=math.inf)

    def __post_init__(self) -> None:
        """Make what the target asks for."""
        target = self.target
        if target.memory is not None:
            self._recent = RecentImportance(self.cash, target.memory)
        if target.extra:
            self._topical = TopicBias(target.extra)
        if target.lean:
            self._lean = Lean(target.lean, target.small)
            self._lean.weigh(self.cash)
            self._threshold, self.cash.threshold = self.cash.threshold, math.inf

    def start(self, rows: Rows) -> None:
        """Give each of `rows` (distinct), and the virtual page, the same share of a total of 1."""
        self.cash.start(rows)

    def join(self, rows: Rows) -> None:
        """Make `rows` (distinct) known, without cash."""
        (self._recent or self.cash).join(rows)

    def pay(self, row: int, targets: Rows, seen: Collection[int], shares: Floats | None = None) -> None:
        """Pay out the cash of `row` to `targets`, as `Cash.pay`; those get the extra of whom `seen` is above 0.

        Args:
            row: who pays.
            targets: whom it links to.
            seen: occurrences of the topic in what names each of them.
            shares: what the cash is paid in proportion to; None: equally.
        """
        if self._topical is not None:
            matching = np.fromiter(seen, np.int64, len(seen)) > 0
            self._topical.pay(self._recent or self.cash, row, targets, matching, shares)
        else:
            (self._recent or self.cash).pay(row, targets, shares)

    @property
    def full(self) -> bool:
        """Whether the virtual page has cash enough to lend."""
        return self.cash.virtual > self._threshold

    def lend(self, unread: Rows, read: Rows) -> Rows:
        """Return the rows that the virtual page lent to, after which it has paid what was left to everybody.

        Args:
            unread: who was never read; they are lent to where the crawl leans to discovery.
            read: who was; they are where it leans to refresh.
        """
        assert self._lean is not None
        self._lean.lend(self.cash, unread, read)
        self.cash.settle()
        return unread if self._lean.lean > 0 else read

    def leave(self, row: int) -> None:
        """Let the virtual page have the cash of `row`, which it pays no more; what was is remembered."""
        (self._recent or self.cash).leave(row)

    def merge(self, left: int, row: int) -> None:
        """Let `row` have the cash and the history of `left`, which the virtual page pays no more."""
        self.join(np.array([left, row]))  # one of them may have left
        (self._recent or self.cash).merge(left, row)

    def compute_importance(self, rows: Rows) -> Floats:
        """Return the importance of `rows`, float64: (H + C) / (G + 1), or the same of what is remembered."""
        return self.cash.estimate(rows) if self._recent is None else self._recent.compute_importance(rows)

    @property
    def remembers_all(self) -> bool:
        """Whether there is a memory which reaches back further than the clock has run."""
        return self._recent is not None and self._recent.covers_all
