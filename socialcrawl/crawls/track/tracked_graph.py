"""What a Track crawl knows: one row for every node, in order of discovery, and trees to choose from them.

What a visit brings is added by `visit_changes.py`.
"""

import math
import sys
from collections.abc import Iterable
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.track.opic_accounts import OpicAccounts
from socialcrawl.crawls.track.target import Target
from socialcrawl.crawls.track.weighted_tree import DrawTree, MaxTree, Weigh
from socialcrawl.engine.model import Node
from socialcrawl.importance.opic import Cash

COLUMNS = ("visits", "indegree", "outlinks", "yield", "link_score", "cash", "relevance")
"""The features of a row: answered visits, in-links seen, out-links seen, new links a second at the latest recrawl, the
in-links of whom those went to, OPIC's cash, and the sum of w(u) * w(u, v) over the u who link to it."""

SUMS = ("n_sum", "e_sum", "relevance")
"""Sums over the links (u, v) known to a row v: of w(u), of w(u, v), of their product (Gouriten et al., section 5.2)."""

FRONTIER, CRAWLED, GONE = 0, 1, 2
LEAST = -sys.float_info.max  # weighs less than anybody who holds cash
ONES = ""  # the column in which everybody has 1
LISTS = (*(name for name in COLUMNS if name != "cash"), "n_sum", "e_sum")


class TrackedGraph:
    """The known nodes with their links and features, the frontier, the crawled, and trees to choose from.

    Args:
        target: what is looked for, and how links count.
        cash: OPIC's accounts, fresh; None: they are not kept, and the column is 0.
        rest: seconds that an account is left alone after a visit.

    Attributes:
        accounts: what keeps the cash, and all that joins or pays goes through; None: it is not kept.
        nodes: the node of each row.
        state: FRONTIER, CRAWLED or GONE (it could not be read, and is asked no more), by row.
        last_at: when each row was last visited (Unix seconds), NaN for never.
        mark: where its next visit can go on, by row.
        total: occurrences of the topic seen at each row; its value w is f of that.
        links: by row, occurrences in what names each target, by the target's row.
        lists: COLUMNS (without cash) and SUMS, by row.
        left: how many rows are in the frontier and may be asked.
        away: from when those may be asked again (Unix seconds) who were lost and not for good, by row; until one of
            them is read, it is left out of `rows`.
        lost: the rows that hold no cash and get none: GONE, and away as long as their pause lasts.
    """

    def __init__(self, target: Target, cash: Cash | None = None, rest: float = 0.0) -> None:
        self.target, self.cash, self.rest = target, cash, rest
        self.accounts = None if cash is None else OpicAccounts(cash, target)
        self.nodes: list[Node] = []
        self.state: list[int] = []
        self.last_at: list[float] = []
        self.mark: list[str] = []
        self.total: list[int] = []
        self.links: list[dict[int, int]] = []
        self.lists: dict[str, list[float]] = {name: [] for name in LISTS}
        self.left = 0
        self.away: dict[int, float] = {}
        self.lost: set[int] = set()
        self._row_of: dict[int, int] = {}
        self._asleep: set[int] = set()  # rows that failed for a while
        self._early: set[int] = set()  # rows whose rest or pause was not over when last looked at
        self._due: list[tuple[float, int]] = []  # a heap: when rests and pauses end; some entries are outdated
        self._pauses: list[tuple[float, int]] = []  # the same of pauses, as far as no answer was later than that
        self._now = -math.inf
        self._trees: dict[tuple[str, int, str], DrawTree | MaxTree] = {}
        self._offset = 0.0  # of cash, when trees were last told of it
        self._joined = 0  # rows that have an account of cash

    @property
    def size(self) -> int:
        """How many nodes are known."""
        return len(self.nodes)

    def row(self, node: int) -> int:
        """Return the row of a node; -1 where it is not known."""
        return self._row_of.get(node, -1)

    def is_crawled(self, node: int) -> bool:
        """Return whether a node was visited, and can be again."""
        row = self.row(node)
        return row >= 0 and self.state[row] == CRAWLED

    def rows(self, state: int) -> NDArray[np.int64]:
        """Return the rows in a state, in order of discovery, without those that are away."""
        there = np.array(self.state, np.int64) == state
        there[[*self.away]] = False
        return np.flatnonzero(there)

    def column(self, name: str) -> NDArray[np.float64]:
        """Return one of COLUMNS or SUMS for all rows, float64."""
        if name == "cash":
            return np.zeros(self.size) if self.cash is None else self.cash.get_cash(np.arange(self.size))
        return np.array(self.lists[name], np.float64)

    def at(self, row: int, name: str) -> float:
        """Return one of COLUMNS or SUMS for one row; 0 for a row that is not known (-1), 1 for ONES."""
        if row < 0:
            return 0.0
        if name == "cash":
            return self._compute_cash(row)
        return self.lists[name][row] if name else 1.0

    def features(self, row: int) -> tuple[float, ...]:
        """Return all of COLUMNS for one row."""
        return (*(self.at(row, name) for name in COLUMNS),)

    def start(self, rows: Iterable[int]) -> None:
        """Let the cash there is be that of `rows`, the seeds, to start with."""
        if self.accounts is not None:
            self.accounts.start(np.array(rows, np.int64))
            self.join()
            self.touch_cash(rows)
        self.touch(rows)

    def join(self) -> None:
        """Let those have an account of cash who were discovered since this was last done."""
        if self.accounts is not None and self._joined < self.size:
            rows, self._joined = range(self._joined, self.size), self.size
            self.accounts.join(np.arange(rows.start, rows.stop))
            self.touch_cash(rows)

    def ensure_row(self, node: int) -> int:
        """Return the row of a node; one that was not known is in the frontier from now on."""
        row = self._row_of.get(node, -1)
        if row >= 0:
            return row
        row = self._row_of[node] = len(self.nodes)
        self.nodes.append(Node(node))
        self.state.append(FRONTIER)
        self.last_at.append(math.nan)
        self.mark.append("")
        self.total.append(0)
        self.links.append({})
        for column in self.lists.values():
            column.append(0.0)
        self.left += 1
        return row

    def rename(self, node: Node, row: int) -> None:
        """Take `node` for the node in `row`, by whatever name that is asked."""
        self._row_of[node] = row

    # -- Who may be asked

    def make_urn(self, state: int, name: str = ONES) -> DrawTree:
        """Return the rows of the frontier or the crawled that may be asked now; each weighs what a column says."""
        tree = self._trees.get(("urn", state, name))
        if not isinstance(tree, DrawTree):
            tree = self._trees["urn", state, name] = DrawTree(
                self._weigh(state, name, 0.0), lambda: self._compute_weights(state, name)
            )
            tree.touch(range(self.size))
        return tree

    def find_heaviest(self, state: int, name: str) -> MaxTree:
        """Return the same, of which the heaviest can be asked for."""
        tree = self._trees.get(("tops", state, name))
        if not isinstance(tree, MaxTree):
            tree = self._trees["tops", state, name] = MaxTree(self._weigh(state, name, MaxTree.NONE))
            tree.touch(range(self.size))
        return tree

    def touch(self, rows: Iterable[int]) -> None:
        """Note that features of `rows`, or whether they may be asked, may have changed."""
        for tree in self._trees.values():
            tree.touch(rows)

    def touch_cash(self, rows: Iterable[int]) -> None:
        """Note that the cash of `rows` may have changed; of all rows, where the virtual page has paid."""
        if self.cash is None:
            return
        paid, self._offset = self.cash.offset != self._offset, self.cash.offset
        for (kind, _, name), tree in self._trees.items():
            if name == "cash":
                tree.touch(rows)
                if paid and kind == "urn":  # who has most is the same whatever all are paid
                    tree.touch_all()

    def move(self, row: int, state: int) -> None:
        """Put a row among the frontier, the crawled or those that are gone; it neither sleeps nor is away any more."""
        self.left -= self._is_open(row)
        self._asleep.discard(row)
        self._early.discard(row)
        self.away.pop(row, None)
        self.state[row] = state
        (self.lost.add if state == GONE else self.lost.discard)(row)
        self.left += self._is_open(row)

    def sleep(self, row: int, *, asleep: bool) -> None:
        """Take a row out for a while, or let it be asked again."""
        if (row in self._asleep) != asleep:
            self.left -= self._is_open(row)
            (self._asleep.add if asleep else self._asleep.remove)(row)
            self.left += self._is_open(row)
            self.touch((row,))

    def leave(self, row: int, until: float) -> None:
        """Let a row be away: lost, and asked again at `until` (Unix seconds) at the earliest."""
        self.move(row, FRONTIER if math.isnan(self.last_at[row]) else CRAWLED)
        self.left -= self._is_open(row)
        self.away[row] = until
        self.lost.add(row)
        self._put_to_rest(row)
        heappush(self._pauses, (until, row))

    def bring_back(self, row: int) -> None:
        """Let a row be away no longer, as if it had not been lost; another row stays as it is."""
        if row in self.away:
            self.move(row, self.state[row])
            if self.state[row] == CRAWLED and self.rest > 0:
                self._put_to_rest(row)
            self._return_row(row)

    def learn(self, now: float) -> None:
        """Let those hold cash again whose pause was over at `now`, when something was answered; they are newcomers."""
        while self._pauses and self._pauses[0][0] <= now:
            until, row = heappop(self._pauses)
            if self.away.get(row) == until and row in self.lost:
                self.lost.remove(row)
                self.left += self._is_open(row)
                self._return_row(row)

    def may_return(self, row: int) -> bool:
        """Return whether a row is away and may be asked again, by the time of `wake`."""
        return row in self.away and row not in self._early and row not in self._asleep

    def note_visit(self, row: int, at: float) -> None:
        """Note that the account in a row was visited, and begins to rest."""
        self.last_at[row] = at
        if self.rest > 0:
            self._put_to_rest(row)

    def wake(self, now: float) -> None:
        """Let those be asked whose rest or pause is over at `now`, and no others."""
        if self.rest <= 0 and not self.away:
            return
        if now < self._now:  # somebody asks for a time before the last: rests that were over are not
            resting = self.rows(CRAWLED).tolist() if self.rest > 0 else []
            back = [row for row in (*resting, *self.away) if self._find_end(row) > now]
            self._early.update(back)
            self._due = sorted((self._find_end(row), row) for row in self._early)
            self.touch(back)
        self._now = now
        while self._due and self._due[0][0] <= now:
            _, row = heappop(self._due)
            if row in self._early and self._find_end(row) <= now:
                self._early.remove(row)
                self.touch((row,))

    def find_soonest(self) -> float | None:
        """Return when the next rest is over of somebody who did not fail for a while; None where nobody rests."""
        resting = self._early - self.away.keys() - self._asleep
        return min((self._find_end(row) for row in resting), default=None)

    def list_ends(self) -> list[float]:
        """Return when rests and pauses are over that last as of `wake`."""
        return [self._find_end(row) for row in self._early]

    def list_pauses(self) -> dict[int, float]:
        """Return when pauses are over that last as of `wake`, by row."""
        return {row: until for row, until in self.away.items() if row in self._early and row not in self._asleep}

    def _return_row(self, row: int) -> None:
        """Let a row that was lost hold cash again."""
        if self.accounts is not None:
            self.accounts.join(np.array([row]))
        self.touch((row,))

    def _find_end(self, row: int) -> float:
        """Return when the pause or the rest of a row is over."""
        pause = self.away.get(row)
        return self.last_at[row] + self.rest if pause is None else pause

    def _put_to_rest(self, row: int) -> None:
        """Ask a row no more until its pause or its rest is over."""
        self._early.add(row)
        heappush(self._due, (self._find_end(row), row))

    def _is_open(self, row: int) -> bool:
        """Return whether a row is in the frontier and may be asked."""
        return self.state[row] == FRONTIER and row not in self._asleep and row not in self.lost

    def _weigh(self, state: int, name: str, absent: float) -> Weigh:
        states, asleep, early, column = self.state, self._asleep, self._early, self.lists.get(name)
        cash = self._compute_cash if absent == 0 else self._compute_bare_cash

        def weigh(row: int) -> float:
            if states[row] != state or row in asleep or row in early:
                return absent
            return column[row] if column is not None else cash(row) if name else 1.0

        return weigh

    def _compute_weights(self, state: int, name: str) -> NDArray[np.float64]:
        """Return the weights in an urn of all rows."""
        weights = np.maximum(self.column(name), 0.0) if name else np.ones(self.size)
        weights[np.array(self.state) != state] = 0.0
        weights[[*self._asleep, *self._early]] = 0.0
        return weights

    def _compute_bare_cash(self, row: int) -> float:
        """Return the cash of a row without what the virtual page paid to everybody.

        Those who get none of that are last.
        """
        if row in self.lost:
            return LEAST
        if self.cash is None or row >= len(self.cash.cash):
            return 0.0
        return float(self.cash.cash[row])

    def _compute_cash(self, row: int) -> float:
        if self.cash is None or row >= len(self.cash.cash) or not self.cash.known[row]:
            return 0.0
        return max(0.0, float(self.cash.cash[row]) + self.cash.offset)  # paid out to the last bit, it may round below
