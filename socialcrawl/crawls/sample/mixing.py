"""Whether walks were long enough for their visits to tell of the whole topic, and how much longer they should be.

A walk that has not mixed knows one corner of the topic, and no interval that is read off its visits tells of the rest
(Bar-Yossef, Kanungo, Krauthgamer, section 3.2: O(log N / gap) steps are needed, of a gap that nobody knows). Ours are
three checks, of which docs/explanation/coverage.md measures what they let through and what they hold back:

parts       All walks are in one part of the topic, as far as is known (walk_components.py).
memory      Each of PIECES walks, or pieces of walks, has made RELAXED times the draws after which a walk forgets where
            it was: the relaxation time of the graph that was read, in which a draw of an account that was not read yet
            leads nowhere. A walk that has seen one corner only is slow in there, as most draws lead out of it.
the rest    Walks say how many accounts the topic has: those read by the middle of the walks, over the share of later
            visits that were at one of them. That is no fewer than are read by now, and REST of the on-topic accounts
            that reading all known neighbours would bring, at the rate of late. (Those with most links are read first,
            so that the rate falls: all of them would be too many.) Walks that hardly meet anybody new, for whom the
            topic is less than ROOM times what was read, may be shut in: then it is all of them, except for LITTLE of
            the topic, which no estimate is far off without.

A part that was read whole needs no check: its accounts are counted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, inf, isfinite, log10

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.sample.estimates import PIECES
from socialcrawl.crawls.sample.neighbour_lists import GONE, UNREAD
from socialcrawl.crawls.sample.spectral_gap import compute_relaxation
from socialcrawl.crawls.sample.visits import Visits
from socialcrawl.crawls.sample.walk_components import WalkComponents
from socialcrawl.crawls.sample.walk_laws import weigh_links
from socialcrawl.crawls.sample.walks import Walks

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

RELAXED = 4.0  # relaxation times that a walk lasts
REST = 0.25  # of the on-topic accounts that known neighbours would bring at the rate of late
ROOM = 1.05  # times the accounts that were read: walks that say the topic has fewer hardly meet anybody new
LITTLE = 0.05  # of the accounts that were read


@dataclass(frozen=True, slots=True)
class MixingVerdict:
    """Whether a sample tells of the whole topic.

    Attributes:
        enough: whether it does; if not, no estimate of it is shown.
        whole: whether all accounts that walks can reach were read: then they are counted, not sampled.
        steps: about how many more accounts to read until it does, 0 where it does; None: more steps will not help.
        why: what speaks against it, sentences.
    """

    enough: bool
    whole: bool = False
    steps: int | None = 0
    why: tuple[str, ...] = ()


def judge(walks: Walks, rows: Visits, apart: WalkComponents) -> MixingVerdict:
    """Return whether the visits of some walks tell of the whole topic.

    Args:
        walks: begun or not.
        rows: what they saw.
        apart: the parts in which they are.
    """
    if apart.is_complete:
        return MixingVerdict(enough=True, whole=True)
    seen = _WalkedParts(walks, rows, apart)
    read = len(walks.lists)
    if not seen.kept.any():
        return _ask_for_steps(walks, float(max(read, 1)), "no draw counts yet")
    found = [one for check in CHECKS if (one := check(seen))]
    if not found:
        return MixingVerdict(enough=True)
    return _ask_for_steps(walks, max(steps for steps, _ in found), *(why for _, why in found))


def _ask_for_steps(walks: Walks, steps: float, *why: str) -> MixingVerdict:
    """Return the verdict that this many more steps are needed, if the walks can make any."""
    ended = walks.walkers[0].at >= 0 and all(walker.why for walker in walks.walkers)
    return MixingVerdict(enough=False, steps=None if ended else _round_up(steps), why=why)


def _round_up(steps: float) -> int:
    """Return a number of steps as one would plan it: two digits, rounded up."""
    unit: int = 10 ** max(1, int(log10(max(steps, 1.0))) - 1)
    return ceil(steps / unit) * unit


class _WalkedParts:
    """What the walks know of the parts that count.

    Attributes:
        kept: bool[m], the rows that count, on topic or not.
        inside: bool[n], the places where walks may be, in these parts.
        middle: places read by the middle of the walks come before this one.
        groups: of walks that have not met.
    """

    def __init__(self, walks: Walks, rows: Visits, apart: WalkComponents) -> None:
        self.walks, self.rows, self.inside = walks, rows, apart.counts
        self.groups = sum(part.counts for part in apart.each)
        self.kept: Flags = rows.kept & self.inside[rows.place]
        self.owner, self.codes = walks.lists.list_entries()
        self.there = walks.lists.find_places(self.codes >> 1)
        self.on = np.frombuffer(bytes(walks.lists.on), np.bool_)
        draws = np.bincount(rows.walker)[rows.walker]
        self.late: Flags = 2 * rows.step >= draws
        self.middle = 1 + int(rows.place[~self.late].max(initial=-1))

    @property
    def pieces(self) -> int:
        """How many walks, or pieces of walks, are compared with each other."""
        return max(PIECES, len(np.unique(self.rows.walker[self.kept])))

    @property
    def memory(self) -> float:
        """Draws after which a walk forgets where it was, as far as was read."""
        from scipy.sparse import coo_array, diags_array  # noqa: PLC0415  # costs 0.2 s, and only statistics pay it

        number = np.cumsum(self.inside) - 1
        size = int(np.count_nonzero(self.inside))
        mine = self.inside[self.owner]
        known = mine & (self.there >= 0)
        known[known] = self.inside[self.there[known]]
        pair = number[self.owner[known]], number[self.there[known]]
        links = coo_array((np.ones(len(pair[0])), pair), shape=(size, size)).tocsr()
        links = links.maximum(links.T)
        rules = self.walks.rules
        if rules.exact or (rules.focus == "neighbourhood" and rules.crude):  # neighbours are drawn until one will do
            return compute_relaxation(links)
        every = np.bincount(number[self.owner[mine]], minlength=size).astype(np.float64)
        if self.walks.law is not None:
            links, every = weigh_links(self.walks.law, links, every)
        return compute_relaxation(links + diags_array(np.maximum(every - links.sum(axis=1), 0.0)))

    @property
    def rest(self) -> tuple[int, float]:
        """(Known neighbours that were not read, the share on topic of those read of late and of one more)."""
        mine = self.inside[self.owner]
        node = self.codes[mine] >> 1
        there = self.there[mine]
        unread = len(np.unique(node[there == UNREAD]))
        gone = len(np.unique(node[there == GONE]))
        links = np.bincount(there[there >= 0], minlength=len(self.inside))
        late = np.arange(len(links)) >= self.middle
        weight = np.where(late & (links > 0), 1.0 / np.maximum(links, 1), 0.0)  # many links: read sooner
        read = int(np.count_nonzero(links))
        alike = float(weight.sum()) ** 2 / max(float(weight @ weight), 1e-300)  # as many rows of equal weight
        hits = float(weight[self.on].sum() / weight.sum()) if weight.any() else 0.0
        return unread, (hits * alike + 1.0) / (alike + 1.0) * read / max(read + gone, 1)


def _judge_parts(seen: _WalkedParts) -> tuple[float, str] | None:
    if seen.groups < 2:
        return None
    return float(len(seen.inside)), f"{seen.groups} groups of walks have not met yet"


def _judge_memory(seen: _WalkedParts) -> tuple[float, str] | None:
    if seen.groups > 1:
        return None
    draws = int(np.count_nonzero(seen.kept))
    wanted = RELAXED * seen.memory * seen.pieces
    if draws >= wanted:
        return None
    late = max(1, int(np.count_nonzero(seen.late)))
    steps = (wanted - draws) * (len(seen.inside) - seen.middle) / late if isfinite(wanted) else inf
    why = (
        f"the walks have hardly left where they began: {draws:,} draws count, and about {_round_up(wanted):,} are "
        "needed to go round what was seen so far"
    )
    return min(max(steps, 1.0), 10.0 * len(seen.inside)), why


def _judge_unread(seen: _WalkedParts) -> tuple[float, str] | None:
    here = seen.inside & seen.on
    known = int(np.count_nonzero(here))
    counted = seen.kept & seen.late & here[seen.rows.place]
    weight = np.where(counted, seen.rows.weight, 0.0)
    again = float(weight[seen.rows.place < seen.middle].sum())
    if not again > 0.0:
        return None
    size = np.count_nonzero(here[: seen.middle]) * float(weight.sum()) / again
    unread, rate = seen.rest
    left = rate * unread
    if left <= LITTLE * known or size >= known + (REST if size >= ROOM * known else 1.0) * left:
        return None
    why = (
        f"{known:,} accounts on topic were read, and about {left:,.0f} of their {unread:,} neighbours that "
        f"were not read may be on topic too: the walks' visits make it {size:,.0f} in all, which is too few"
    )
    return float(max(unread, 1)), why


CHECKS: tuple[Callable[[_WalkedParts], tuple[float, str] | None], ...] = (_judge_parts, _judge_memory, _judge_unread)
