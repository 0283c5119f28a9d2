"""OPIC by several owners, each with its part of the nodes, who send each other cash (Abiteboul et al., section 4).

An owner is in charge of the nodes whose names hash to its number. When it crawls one, the children of others get their
cash by *transfers*: buffered, asynchronous, in any order. Cash in a buffer or on its way counts in the total, so that
nothing is lost; until it arrives it is in no node's estimate. Every transfer has to arrive once: the carrier's duty.

The paper does not say who has the one virtual page. Here it is a node like others, and belongs to the owner of its
name, `VIRTUAL`. Past its threshold it pays to every owner for the nodes that this one last told of, and the owner
divides that among all that it knows, as one offset: O(owners), never O(nodes).
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from socialcrawl.importance.adaptive_opic import BEFORE, AdaptiveOpic
from socialcrawl.importance.history_windows import HistoryWindow
from socialcrawl.importance.opic import THRESHOLD, Cash

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

VIRTUAL = ""  # the virtual page's name: no node is called so
BUFFER = 100  # names in a buffer that make it ready to be sent
MOST = 0.05  # of all cash that may wait in all buffers together, more or less: what waits takes no part


def find_owner(name: str, owners: int) -> int:
    """Return the number of the owner of a node, 0 to `owners` - 1: the same in every process and version."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big") % owners


@dataclass(frozen=True)
class Transfer:
    """What one owner sends another.

    Attributes:
        sender: the number of the owner it comes from.
        to: the number of the owner it goes to.
        amounts: cash for nodes, by name.
        everybody: cash of the virtual page, for all nodes of the receiver.
        paid: all cash that the sender's nodes ever paid, its part of G.
        size: how many nodes the sender knows.
    """

    sender: int
    to: int
    amounts: dict[str, float]
    everybody: float
    paid: float
    size: int

    def sum_cash(self) -> float:
        """Return all cash in the transfer."""
        return sum(self.amounts.values()) + self.everybody


class Owner:
    """One owner: the cash and history of its nodes, and the buffers for the others.

    Args:
        number: its own, 0 to `owners` - 1.
        owners: how many there are.
        small: the weight of the small edge from every node to the virtual page, a link having 1.
        threshold: the cash of the virtual page past which it pays, as a share of the total.
        buffer: how many names in a buffer make it ready to be sent.
        most: how much cash does, times the n (n - 1) buffers of n owners, as a share of the total: a limit for each
            buffer alone would let all cash wait where there are many.
        window: where it is given, importance is that of adaptive OPIC, else (H + C) / (G + 1).

    Attributes:
        cash: the accounts by the owner's own rows; `Cash.paid` is all of G that the owner has heard of.
        rows: the row of each of its nodes, by name.
        paid: its own nodes' part of G.
        virtual: C of the virtual page, where the owner has it; `virtual_history`: its H.
    """

    def __init__(
        self,
        number: int,
        owners: int,
        *,
        small: float = 1.0,
        threshold: float = THRESHOLD,
        buffer: int = BUFFER,
        most: float = MOST,
        window: HistoryWindow | None = None,
    ) -> None:
        self.number, self.owners, self.small, self.threshold = number, owners, small, threshold
        self.buffer, self.most = buffer, most / max(1, owners * (owners - 1))
        self.cash, self.rows = Cash(), dict[str, int]()
        self.adaptive = AdaptiveOpic(self.cash, window) if window is not None else None
        self.paid = self.virtual = self.virtual_history = 0.0
        self._bank = find_owner(VIRTUAL, owners)
        self._heard, self._sizes = np.zeros(owners), np.zeros(owners, np.int64)
        self._told = 0  # how many of its nodes the owner of the virtual page has been told of
        self._amounts: list[dict[str, float]] = [{} for _ in range(owners)]
        self._waiting, self._everybody = np.zeros(owners), np.zeros(owners)

    def start(self, names: Iterable[str], sizes: Sequence[int]) -> None:
        """Give the owner's `names` their shares of a total of 1; `sizes`: how many start at each owner."""
        self._sizes[:] = sizes
        share = 1.0 / (sum(sizes) + 1)
        for name in names:
            self.rows[name] = len(self.rows)
        several = np.arange(len(self.rows))
        self.cash.join(several)
        self.cash.cash[several] = share
        if self.adaptive:
            for row in several.tolist():
                self.adaptive.window.join(row, BEFORE, share)
        self._told = len(self.rows)
        if self.number == self._bank:
            self._give(VIRTUAL, share)

    def pay(self, name: str, targets: Sequence[str], shares: Sequence[float] | None = None) -> None:
        """Pay out the cash of one of the owner's nodes to `targets` (distinct), as `Cash.pay` does."""
        row = self._find_row(name)
        cash = float(self.cash.get_cash(np.array([row]))[0])
        if self.adaptive:
            self.adaptive.window.record_crawl(row, cash, self.cash.paid)
        self.cash.history[row] += cash
        self.cash.cash[row] = -self.cash.offset
        self._advance_clock(cash)
        part = cash * (len(targets) / (len(targets) + self.small)) if targets else 0.0
        weights = shares if shares is not None and sum(shares) > 0 else [1.0] * len(targets)
        unit = part / sum(weights) if targets else 0.0
        for target, weight in zip(targets, weights, strict=True):
            self._give(target, unit * weight)
        self._give(VIRTUAL, cash - part)

    def receive(self, transfer: Transfer) -> None:
        """Take what another owner sent; transfers may come in any order."""
        self._heard[transfer.sender] = max(self._heard[transfer.sender], transfer.paid)
        self._sizes[transfer.sender] = max(self._sizes[transfer.sender], transfer.size)
        self._advance_clock(0.0)
        if transfer.everybody:
            self.cash.offset += transfer.everybody / self.cash.size
        for name, amount in transfer.amounts.items():
            self._give(name, amount)

    def take_ready(self) -> list[Transfer]:
        """Return the transfers to send now, by number of the receiver: full buffers, and the virtual page's."""
        return self._take_full(
            lambda to: max(len(self._amounts[to]), self._count_news(to)) >= self.buffer or self._waiting[to] > self.most
        )

    def flush(self) -> list[Transfer]:
        """Return all that is buffered, as transfers, by number of the receiver."""
        return self._take_full(lambda to: bool(self._amounts[to]) or self._count_news(to) > 0)

    def compute_importance(self, names: Sequence[str]) -> Floats:
        """Return the importance of the owner's `names`, float64; 0 where it does not know one."""
        rows = np.array([self.rows.get(name, -1) for name in names], np.int64)
        there = rows[rows >= 0]
        found = np.zeros(len(rows))
        found[rows >= 0] = self.adaptive.compute_importance(there) if self.adaptive else self.cash.estimate(there)
        return found

    def sum_cash(self) -> float:
        """Return all cash that the owner holds: its nodes', the virtual page's, and what lies in buffers."""
        buffered = sum(sum(amounts.values()) for amounts in self._amounts) + float(self._everybody.sum())
        return self.cash.sum_cash() + self.virtual + buffered

    def _find_row(self, name: str) -> int:
        row = self.rows.setdefault(name, len(self.rows))
        if row == self.cash.size:
            (self.adaptive or self.cash).join(np.array([row]))
        return row

    def _give(self, name: str, amount: float) -> None:
        """Give cash to a node of any owner: book it, or buffer it."""
        to = find_owner(name, self.owners)
        if to != self.number:
            self._amounts[to][name] = self._amounts[to].get(name, 0.0) + amount
            self._waiting[to] += amount
        elif name == VIRTUAL:
            self.virtual += amount
            if self.virtual > self.threshold:
                self._settle()
        else:
            row = self._find_row(name)
            self.cash.cash[row] += amount
            if self.cash.watch is not None:
                self.cash.watch(np.array([row]))

    def _settle(self) -> None:
        """Let the virtual page pay all its cash, to owners by the number of their nodes."""
        self._sizes[self.number] = self.cash.size
        if not (size := int(self._sizes.sum())):
            return
        parts = self.virtual * (self._sizes / size)
        if self.cash.size:
            self.cash.offset += parts[self.number] / self.cash.size
        parts[self.number] = 0.0
        self._everybody += parts
        self.virtual_history += self.virtual
        paid, self.virtual = self.virtual, 0.0
        self._advance_clock(paid)

    def _advance_clock(self, cash: float) -> None:
        """Let G go on by what was paid here and heard from others."""
        self.paid += cash
        self.cash.paid = self.paid + float(self._heard.sum())

    def _count_news(self, to: int) -> int:
        """Return how many of its nodes the owner of the virtual page has yet to be told of."""
        return self.cash.size - self._told if to == self._bank != self.number else 0

    def _take_full(self, full: Callable[[int], bool]) -> list[Transfer]:
        leaving = [to for to in range(self.owners) if self._everybody[to] > 0 or full(to)]
        return [self._make_transfer(to) for to in leaving]

    def _make_transfer(self, to: int) -> Transfer:
        made = Transfer(self.number, to, self._amounts[to], float(self._everybody[to]), self.paid, self.cash.size)
        self._amounts[to], self._waiting[to], self._everybody[to] = {}, 0.0, 0.0
        if to == self._bank:
            self._told = self.cash.size
        return made


class Owners:
    """All owners in one process, and the way between them.

    Args:
        owners: how many there are.
        make: an owner by its number and how many there are; `Owner` with its defaults, if none is given.

    Attributes:
        way: transfers that have left and not arrived, oldest first. Whoever takes one out delivers it.
    """

    def __init__(self, owners: int, make: Callable[[int, int], Owner] = Owner) -> None:
        self.parts = [make(number, owners) for number in range(owners)]
        self.way: deque[Transfer] = deque()

    def start(self, names: Iterable[str]) -> None:
        """Give each of `names` (distinct), and the virtual page, the same share of a total of 1."""
        lists: list[list[str]] = [[] for _ in self.parts]
        for name in names:
            lists[find_owner(name, len(self.parts))].append(name)
        for part, several in zip(self.parts, lists, strict=True):
            part.start(several, [len(each) for each in lists])
            self.way.extend(part.take_ready())

    def pay(self, name: str, targets: Sequence[str], shares: Sequence[float] | None = None) -> None:
        """Let the owner of a node pay out its cash to `targets`; what is ready leaves, and nothing arrives yet."""
        part = self.parts[find_owner(name, len(self.parts))]
        part.pay(name, targets, shares)
        self.way.extend(part.take_ready())

    def arrive(self, transfer: Transfer) -> None:
        """Deliver one transfer that was taken off the way."""
        part = self.parts[transfer.to]
        part.receive(transfer)
        self.way.extend(part.take_ready())

    def deliver(self) -> None:
        """Deliver all that is on its way, in the order in which it left."""
        while self.way:
            self.arrive(self.way.popleft())

    def flush(self) -> None:
        """Empty all buffers and deliver until no cash is between owners."""
        self.deliver()
        while leaving := [transfer for part in self.parts for transfer in part.flush()]:
            self.way.extend(leaving)
            self.deliver()

    def compute_importance(self, names: Sequence[str]) -> Floats:
        """Return the importance of `names`, each as its owner sees it, float64."""
        whose = np.array([find_owner(name, len(self.parts)) for name in names], np.int64)
        found = np.zeros(len(whose))
        for part in self.parts:
            places = np.flatnonzero(whose == part.number)
            found[places] = part.compute_importance([names[place] for place in places.tolist()])
        return found

    def sum_cash(self) -> float:
        """Return all cash, in buffers and on its way included: 1 at any time after the start."""
        return sum(part.sum_cash() for part in self.parts) + sum(transfer.sum_cash() for transfer in self.way)
