"""Levers on OPIC: discovery against refresh, and a bias towards a topic (Abiteboul et al., section 3).

For more discovery some cash of the virtual page goes to nodes that were never read, and the small edges to the virtual
page become heavier, so that it gathers more. For refresh the opposite. For a topic, links to nodes that match bring
extra cash, which the virtual page pays. The total of cash never changes.

How far a lever goes is not in the paper; here one number, `lean`, moves both, and the ends are named settings. The
opposite of giving to the unread is read as giving to those that were read.
What was lent counts as earned where it lies, in estimates and windows too: the bias is one of importance.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from socialcrawl.importance.adaptive_opic import AdaptiveOpic
from socialcrawl.importance.opic import Cash
from socialcrawl.importance.recent_importance import RecentImportance

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Lean:
    """Where the crawl leans: 1 is discovery, -1 is refresh, 0 neither.

    Attributes:
        lean: from -1 to 1.
        small: the weight of a small edge when there is no lean, an ordinary link having 1.
        factor: what that weight is multiplied by at lean 1, and divided by at -1; in between by its power.
        part: the share of the virtual page's cash that `lend` moves at lean 1 or -1; in between in proportion.

    Raises:
        ValueError: a number is out of range.
    """

    lean: float
    small: float = 1.0
    factor: float = 4.0
    part: float = 0.5

    def __post_init__(self) -> None:
        """Refuse what has no meaning."""
        if not (-1 <= self.lean <= 1 and 0 <= self.part <= 1 and self.small > 0 and self.factor >= 1):
            raise ValueError(f"{self}: lean is from -1 to 1, part from 0 to 1, small above 0, factor 1 or more")

    def weight(self) -> float:
        """Return the weight of a small edge with this lean."""
        return float(self.small * self.factor**self.lean)

    def weigh(self, cash: Cash) -> None:
        """Give the small edges their weight: what is paid from now on is shared by it."""
        cash.small = self.weight()

    def lend(self, cash: Cash, unread: Rows, read: Rows) -> float:
        """Move cash of the virtual page to `unread` (discovery) or to `read` (refresh), equally; how much it was."""
        favoured = unread if self.lean > 0 else read
        return cash.lend(favoured, abs(self.lean) * self.part * cash.virtual)


@dataclass(frozen=True)
class TopicBias:
    """A bias towards links that match a topic.

    Attributes:
        extra: what the virtual page adds to each unit of cash that such links bring; no more than it has.

    Raises:
        ValueError: `extra` is negative or no number.
    """

    extra: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what has no meaning."""
        if not 0 <= self.extra < math.inf:
            raise ValueError(f"extra = {self.extra}: what a matching link brings besides is 0 or more")

    def pay(
        self,
        accounts: Cash | AdaptiveOpic | RecentImportance,
        row: int,
        targets: Rows,
        matching: NDArray[np.bool_],
        shares: Floats | None = None,
    ) -> float:
        """Pay out the cash of `row` as `Cash.pay`, and the extra to the `matching` of `targets`, equally.

        The virtual page lends before it settles, what it was just paid included. How much it lent is returned.
        """
        cash = accounts if isinstance(accounts, Cash) else accounts.cash
        brought = (
            float(cash.get_cash(np.array([row]))[0])
            * _compute_part(len(targets), cash.small)
            * _compute_share(matching, shares)
        )
        threshold, cash.threshold = cash.threshold, math.inf
        accounts.pay(row, targets, shares)
        cash.threshold = threshold
        moved = cash.lend(targets[matching], self.extra * brought)
        cash.settle_past_threshold()
        return moved


def _compute_part(count: int, small: float | None) -> float:
    """Return the part of what is paid that goes to `count` links, beside a small edge."""
    return count / (count + (small or 0.0)) if count else 0.0


def _compute_share(matching: NDArray[np.bool_], shares: Floats | None) -> float:
    """Return the share of the matching among the links."""
    if shares is None or not (total := float(shares.sum())) > 0:
        return float(np.count_nonzero(matching) / len(matching)) if len(matching) else 0.0
    return float(shares[matching].sum()) / total
