"""Sample: a crawl that walks, so that what it visits is a uniform sample of a topic, as the loop can drive it.

A search or a list names where walks start; each then asks, in its picks, for the nodes that it needs to know before
it can take its next step: the neighbour drawn, or those of its short walks. A node is read once; its list of neighbours
stays as it was then (neighbour_lists.py). Steps over nodes that were read are taken while learning, and cost nothing.

It decides and learns; it never waits, reads or writes. A path of a walk is a function of the lists and of draws that
are keyed by its own number, so that all comes out the same whether the history was lived through or folded.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.node_limit import stop_at_limit
from socialcrawl.crawls.sample.neighbour_lists import UNREAD
from socialcrawl.crawls.sample.rules import WalkRules
from socialcrawl.crawls.sample.visits import ReadNodes, Visits, list_read_nodes, list_visits
from socialcrawl.crawls.sample.walks import ALONE, IDLE, LENGTH, QUOTA, Walks
from socialcrawl.crawls.seeds import REST, TRIES, Seeds
from socialcrawl.engine.model import (
    ON_TOPIC,
    STEPS,
    Act,
    Node,
    Outcome,
    Pick,
    Reason,
    SameAs,
    Stop,
    StopKind,
    Unavailable,
)
from socialcrawl.engine.protocols import Batch, History, skip_known
from socialcrawl.text.wording import pluralize

CHUNK = 4096  # nodes whose lists are fixed together when a history is folded
LINES = (Act.SEARCH, Act.RESOLVE)
EMPTY = Outcome(-1, Node(-1), 0.0)


class KnownCounts:
    """How much is known, by the names under which every crawl has it."""

    def __init__(self, crawl: "Sample") -> None:
        self._crawl = crawl

    @property
    def size(self) -> int:
        """Nodes that were read or are neighbours of one that was."""
        return self._crawl.walks.lists.known_count

    @property
    def left(self) -> int:
        """Nodes that walks wait for."""
        return len({node for needs in self._crawl.needs.values() for node in needs})


class Sample:
    """A crawl of walks with a budget of `steps` nodes to read; `width(act)` says how many picks one request can answer.

    With `matches`, nodes are judged by a search for those of their posts that match, and only those on topic are read:
    no walk with focus "hard" asks for the neighbours of others.

    Attributes:
        picks: all decisions so far, the next pick's n; `taken`: nodes read or not found, what the budget counts.
        relevance: how many of the nodes read are on topic; `seed_relevance`, `imported`: 0, starts are steps too.
        walks: the walks, and the lists of neighbours.
        starts: the places from which walks start.
        needs: walk -> the nodes that it waits for.
        failures: how often nodes failed, with `matches` by act; `resting`: the pick from which they may be asked again.
        missing: why nodes cannot be read.
    """

    def __init__(
        self,
        seeds: Seeds,
        rules: WalkRules,
        steps: int | None,
        width: Callable[[Act], int] = lambda _: 1,
        *,
        matches: bool = False,
    ) -> None:
        self.seeds, self.rules, self.steps, self.width, self.matches = seeds, rules, steps, width, matches
        self.walks = Walks(rules)
        self.graph = KnownCounts(self)
        self.picks = self.taken = self.imported = 0
        self.relevance = self.seed_relevance = 0.0
        self.starts: list[int] = []
        self.begun = False
        self.needs: dict[int, list[Node]] = {}
        self.failures: dict[tuple[Node, Act | None], int] = {}
        self.resting: dict[Node, int] = {}
        self.missing: dict[Node, str] = {}
        self._waiting: dict[Node, dict[int, None]] = {}  # node -> the walks that wait for it
        self._half: dict[Node, dict[str, Outcome]] = {}  # by act, what is known of nodes whose lists need more
        self._new: dict[Node, tuple[Outcome, Outcome]] = {}  # read, and who links there: lists are about to be fixed
        self._settled: list[Node] = []

    def choose(self, size: int, now: float) -> Batch | Stop:
        """Return the nodes that walks wait for, `size` requests of them; those first whose walk is the shortest."""
        act, nodes = self.seeds.choose_next(size, self.width)
        if act in LINES:
            return tuple(Pick(self.picks + i, node, act) for i, node in enumerate(nodes))
        if not self.begun and not self.seeds.ready:
            return Stop(StopKind.FAILED, explain_missing_start(self.seeds, self.missing))
        most = size * self.width(Act.WALK)
        if self.steps is not None and self.taken >= self.steps:
            return self._choose_picks(most, judged=True) or stop_at_limit(self.steps, self.taken)
        if self.begun and not self.needs:
            return Stop(StopKind.DONE, explain_end(self.walks))
        return self._choose_picks(most if self.steps is None else min(most, self.steps - self.taken))

    def absorb(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """Fix the lists of what was read, in pick order, and move the walks that waited for it."""
        for pick, outcome in zip(batch, outcomes, strict=True):
            self._take(pick, outcome)
        self._fix()
        self._move()

    def fold(self, history: History) -> None:
        """Absorb every finished batch in turn, except for those that were; the walks are moved once, at the end."""
        for batch, outcomes in skip_known(history, self.picks):
            for pick, outcome in zip(batch, outcomes, strict=True):
                self._take(pick, outcome)
            if len(self._new) >= CHUNK:
                self._fix()
        self._fix()
        self._move()

    def list_visits(self) -> Visits:
        """Return what the walks saw so far, as columns."""
        return list_visits(self.walks)

    def list_read(self) -> ReadNodes:
        """Return the nodes that were read, as columns."""
        return list_read_nodes(self.walks)

    # -- Choosing

    def _choose_picks(self, most: int, *, judged: bool = False) -> Batch:
        """Return at most that many nodes as picks; nodes that rest only where there are no others.

        With `judged`, only nodes that were matched and are on topic: what is left to read of them is no step.
        """
        nodes: list[Node] = []
        late: list[Node] = []
        resting = self.resting
        for node in self._list_needed():
            if judged and not (self.matches and node in self._half):  # those come first
                break
            (late if resting and resting.get(node, 0) > self.picks else nodes).append(node)
            if len(nodes) == most:
                break
        nodes = nodes or ([] if judged else late[:most])
        asked = [(node, act) for node in nodes for act in self._list_acts(node)]
        return tuple(Pick(self.picks + i, node, act) for i, (node, act) in enumerate(asked))

    def _list_needed(self) -> Iterable[Node]:
        """Return the nodes that are needed, each once; those that were matched and are on topic first."""
        waiting = self._list_waiting()
        return sorted(waiting, key=lambda node: node not in self._half) if self.matches else waiting

    def _list_waiting(self) -> Iterator[Node]:
        """Yield the nodes that are needed, each once: those first whose walk is the shortest."""
        if not self.begun:
            resting = [node for node in self.seeds.ready if self.resting.get(node, 0) > self.picks]
            awake = [node for node in self.seeds.ready if node not in resting]
            yield from (awake or resting)[: self.rules.walkers - len(self.starts)]
            return
        walkers = self.walks.walkers
        order = sorted((walkers[number].steps, number) for number in self.needs)
        yield from dict.fromkeys(node for _, number in order for node in self.needs[number])

    def _list_acts(self, node: Node) -> Sequence[Act]:
        """Return the acts that a node's list still needs: nodes that are matched are judged before they are read."""
        known = self._half.get(node, ())
        if self.matches and Act.WALK not in known:
            return (Act.WALK,)
        outward = Act.PAGE if self.matches else Act.WALK  # tells whom a node links to
        acts = (outward, Act.INWARD) if self.rules.inward else (outward,)
        return [act for act in acts if act not in known]

    # -- Learning

    def _take(self, pick: Pick, outcome: Outcome) -> None:
        self.picks = pick.n + 1
        if pick.act in LINES:
            self._fix()
            self.seeds.absorb(pick, outcome, self._was_asked)
            return
        if pick.act in STEPS:
            self.taken += 1
            self.relevance += float(outcome.value >= ON_TOPIC)
        if pick.node in self._new or self._was_asked(pick.node):  # its list is fixed, or it is known to have none
            return
        if outcome.missing is None:
            self._note(pick, outcome)
        elif outcome.missing == Reason.TEMPORARY and self._fail(pick):
            return
        elif pick.act == Act.INWARD:  # that nobody can be asked is no reason not to go there
            self._note(pick, EMPTY)
        else:
            self._lose(pick.node, outcome.missing)

    def _was_asked(self, node: Node) -> bool:
        return self.walks.lists.place(node) != UNREAD

    def _note(self, pick: Pick, outcome: Outcome) -> None:
        """Note what is known of a node; it is read when all is known that its list is made of."""
        if not (self.matches or self.rules.inward):
            self._read(pick.node, outcome, EMPTY)
            return
        node, half = pick.node, self._half.setdefault(pick.node, {})
        half[pick.act] = outcome
        judged = half.get(Act.WALK)
        if judged is not None and self.matches and judged.value < ON_TOPIC:
            self._read(node, judged, EMPTY)
        elif judged is not None and not self._list_acts(node):
            there = replace(judged, targets=half[Act.PAGE].targets) if self.matches else judged
            self._read(node, there, half.get(Act.INWARD, EMPTY))

    def _read(self, node: Node, there: Outcome, inward: Outcome) -> None:
        """Note a node as read; a seed is a start."""
        self.resting.pop(node, None)
        self._half.pop(node, None)
        self._new[node] = there, inward
        self._settled.append(node)
        if len(self.starts) < self.rules.walkers and node in self.seeds.ready:
            self._fix()
            self._start(node)

    def _fail(self, pick: Pick) -> bool:
        """Let a node rest that failed for a while; False where it failed too often."""
        failed = pick.node, pick.act if self.matches else None
        self.failures[failed] = self.failures.get(failed, 0) + 1
        self.resting[pick.node] = pick.n + REST
        return self.failures[failed] < TRIES

    def _lose(self, node: Node, why: Unavailable) -> None:
        """Learn that a node cannot be read, or is another one."""
        self._fix()
        lists = self.walks.lists
        self._half.pop(node, None)
        self.resting.pop(node, None)
        self._settled.append(node)
        other = why.node if isinstance(why, SameAs) else None
        if other is None:
            self.missing[node] = str(why)
            lists.lose(node)
        else:
            lists.add_alias(node, other)
        if node in self.seeds.ready:
            self.seeds.bring(node)
            if other is not None and not self._was_asked(other) and other not in self.seeds.ready:
                self.seeds.ready.insert(0, other)

    def _fix(self) -> None:
        """Fix the lists of all that were read."""
        if not self._new:
            return
        theres = [there for there, _ in self._new.values()]
        values = np.array([there.value for there in theres])
        inwards = [inward.targets for _, inward in self._new.values()]
        self.walks.lists.hold(
            np.array([*self._new], np.int64),
            values >= ON_TOPIC,
            [there.mark for there in theres],
            _flatten([there.targets for there in theres]),
            _flatten(inwards) if self.rules.inward else None,
            wide=values > 0.0,
        )
        self._new = {}

    def _start(self, node: Node) -> None:
        """Take a seed that was just read for a start, if walks may be there."""
        self.seeds.bring(node)
        place = self.walks.lists.place(node)
        if self.rules.focus == "none" or self.walks.lists.on[place]:
            self.starts.append(place)
        else:
            self.missing[node] = "off topic"

    def _move(self) -> None:
        """Move the walks that waited for what has come; put all to their starts first, when these are known."""
        numbers: dict[int, None] = {}
        for node in self._settled:
            numbers.update(self._waiting.pop(node, {}))
        self._settled.clear()
        if not self.begun and self.starts and self._have_all_started():
            self.begun = True
            self.walks.begin(self.starts)
            numbers = dict.fromkeys(range(self.rules.walkers))
        for number in numbers:
            self._register(number, self.walks.move(self.walks.walkers[number]))

    def _have_all_started(self) -> bool:
        seeds = self.seeds
        return len(self.starts) >= self.rules.walkers or not (seeds.ready or seeds.queries or seeds.unresolved)

    def _register(self, number: int, needs: list[Node]) -> None:
        """Note what a walk waits for: all of it is looked at again when some has come, as it would be in a fold."""
        if not needs:
            self.needs.pop(number, None)
            return
        self.needs[number] = needs
        for node in needs:
            self._waiting.setdefault(node, {})[number] = None


def _flatten(rows: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows of numbers as offsets and one column."""
    offsets = np.array([0, *accumulate(map(len, rows))], np.int64)
    return offsets, np.concatenate(rows)


def explain_end(walks: Walks) -> str:
    """Return what ended the walks, a sentence, and what to do if it is too soon."""
    rules, whys = walks.rules, Counter(walker.why for walker in walks.walkers)
    words = {
        QUOTA: f"all {rules.samples or 0:,} samples are drawn",
        LENGTH: f"all {rules.length or 0:,} steps of each walk are done",
        IDLE: (
            f"the walks have met nobody new in {pluralize(rules.idle, 'step')}: what is in reach of their starts has "
            f"{pluralize(len(walks.lists), 'account')}, and all was read; for more, name other seeds or a softer focus"
        ),
        ALONE: "the walks are at accounts without neighbours to go to: name other seeds, or a softer focus",
    }
    return "; ".join(words[why] for why in (QUOTA, LENGTH, IDLE, ALONE) if why in whys)


def explain_missing_start(seeds: Seeds, missing: Mapping[Node, str]) -> str:
    """Return why no walk can start, and what to do."""
    if not missing:
        return seeds.explain_empty()
    reasons = ", ".join(f"{count:,} {why}" for why, count in sorted(Counter(missing.values()).items()))
    return f"none of the seeds can be a start ({reasons}): name seeds that can be read and are on topic"
