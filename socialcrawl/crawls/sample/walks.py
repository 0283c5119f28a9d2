"""The walks themselves: from draw to draw through nodes that were read, until a node is needed that was not.

stay with 1 - d(u)/D        free, and not drawn at all: visits weigh their mean time (visits.py)
else draw v from N(u)       Walker.draw
is v accepted?              always by the built-in walk; by another one as its law says (walk_laws.py)
may it go to v?             the focus rule: Walks._may; near the topic are the nodes of T, from which one of B short
                            walks of at most k links meets it (section 3.5)
is it caught?               Trap.catches: then it jumps
"""

import math
from collections.abc import Callable, Sequence

from socialcrawl.crawls.sample.neighbour_lists import GONE, UNREAD, NeighbourLists
from socialcrawl.crawls.sample.rules import WalkRules
from socialcrawl.crawls.sample.walk_laws import make_walk
from socialcrawl.crawls.sample.walker import ARRIVED, JUMPED, NOTHING, Walker
from socialcrawl.engine.draws import draw_numbers, start_stream
from socialcrawl.engine.model import Node


class NearTopic:
    """What is known of T. A node is judged once, by draws of its own, and stays what it was found to be.

    A short walk that meets the topic before its k-th link has shown that the node is within k links: it ends there.

    Attributes:
        hits: place -> how many of the short walks met the topic; of nodes off topic that were judged.
    """

    def __init__(self, rules: WalkRules, lists: NeighbourLists) -> None:
        self.rules, self.lists = rules, lists
        self.hits: dict[int, int] = {}
        self._start = start_stream(rules.seed, "near")

    def is_inside(self, place: int) -> tuple[bool, list[Node]]:
        """Return whether an off-topic node is in T; the nodes that have to be read before that can be said."""
        if place not in self.hits:
            b, k = self.rules.b, self.rules.k
            draws = draw_numbers(self._start, place * b * k, b * k).tolist()
            found = [self._walk_short(place, draws[walk * k : walk * k + k]) for walk in range(b)]
            needs = [found_node for found_node in found if not isinstance(found_node, bool)]
            if needs:
                return False, list(dict.fromkeys(needs))
            self.hits[place] = sum(map(bool, found))
        return self.hits[place] > 0, []

    def estimate_degree(self, place: int) -> float:
        """Return d_T as the paper estimates it: d times the share of the short walks that met the topic; d on topic."""
        length = self.lists.begins[place + 1] - self.lists.begins[place]
        return length if self.lists.on[place] else length * self.hits.get(place, 0) / self.rules.b

    def _walk_short(self, place: int, draws: Sequence[float]) -> bool | Node:
        """Return whether a short walk with these draws meets the topic; or who has to be read before it can go on."""
        lists = self.lists
        for draw in draws:
            begin, end = lists.begins[place], lists.begins[place + 1]
            if begin == end:
                return False
            node = lists.codes[begin + int(draw * (end - begin))] >> 1
            there = lists.place(node)
            if there == UNREAD:
                return Node(lists.resolve(node))
            if there == GONE:
                return False
            if lists.on[there]:
                return True
            place = there
        return False


STAY, GO, WAIT = 0, 1, 2
IDLE, LENGTH, QUOTA, ALONE = "idle", "length", "samples", "alone"


class Walks:
    """All walks over one set of lists; with one exception nothing in here looks at more than one walk at a time.

    The exception is which nodes were read, and in which order: that is what the lists are.

    Attributes:
        law: what decides about the neighbours drawn; None: the built-in walk takes them all.
    """

    def __init__(self, rules: WalkRules) -> None:
        self.rules = rules
        self.law = make_walk(rules.walk, rules.seed)
        self.lists = NeighbourLists(
            symmetric=rules.consistency == "symmetric",
            twice=rules.mutual == "twice",
            communities=rules.trap == "community",
        )
        self.walkers = [Walker(rules, number) for number in range(rules.walkers)]
        self.near = NearTopic(rules, self.lists)
        self._length = math.inf if rules.length is None else rules.length
        self._quotas = [rules.compute_quota(number) for number in range(rules.walkers)]
        self._needs: list[Node] = []  # of the walk that is being moved
        focuses: dict[str, Callable[[Walker, int], int]] = {
            "none": self._judge_anywhere,
            "hard": self._judge_hard,
            "neighbourhood": self._judge_nearby,
            "trial": self._judge_trial,
            "ancestor": self._judge_wider,
        }
        self._may = focuses[rules.focus]

    def begin(self, places: Sequence[int]) -> None:
        """Put the walks to where they start, in turn."""
        for walker in self.walkers:
            place = places[walker.number % len(places)]
            walker.home = place
            self._arrive(walker, place)

    def move(self, walker: Walker) -> list[Node]:
        """Move a walk as far as it gets; return the nodes that it needs to go on, none where it has ended."""
        lists, may = self.lists, self._may
        while not walker.why:
            if walker.code == NOTHING and not self._draw(walker):
                return self._needs
            node = walker.code >> 1
            place = lists.place(node)
            if place == UNREAD:
                return [Node(lists.resolve(node) if lists.other else node)]
            if place in (GONE, walker.at):
                walker.code = NOTHING
                continue
            if place > walker.met:
                walker.met, walker.fresh = place, len(walker.codes)
            answer = may(walker, place) if self.law is None or self._accepts(walker, place) else STAY
            if answer == WAIT:
                return self._needs
            if answer == GO:
                self._go(walker, place)
            else:
                walker.code = NOTHING
        return []

    def _draw(self, walker: Walker) -> bool:
        """Draw a neighbour; False where the walk has ended, or needs to know more before."""
        steps, lists, at = len(walker.codes), self.lists, walker.at
        self._needs = []
        if steps >= self._length:
            walker.why = LENGTH
        elif steps - walker.fresh >= self.rules.idle:
            walker.why = IDLE
        elif self.rules.exact:
            return self._draw_exactly(walker)
        else:
            begin, end = lists.begins[at], lists.begins[at + 1]
            if begin < end:
                walker.draw(lists.codes, begin, end)
                return True
            walker.why = ALONE
        return False

    def _draw_exactly(self, walker: Walker) -> bool:
        """Draw one of the neighbours on topic, once all neighbours were read."""
        lists = self.lists
        codes = lists.codes[lists.begins[walker.at] : lists.begins[walker.at + 1]]
        places = [lists.place(code >> 1) for code in codes]
        self._needs = [
            Node(lists.resolve(code >> 1)) for code, place in zip(codes, places, strict=True) if place == UNREAD
        ]
        if self._needs:
            self._needs = list(dict.fromkeys(self._needs))
            return False
        topical = [code for code, place in zip(codes, places, strict=True) if place >= 0 and lists.on[place]]
        if not topical:
            walker.why = ALONE
            return False
        walker.draw(topical, 0, len(topical))
        return True

    def _accepts(self, walker: Walker, place: int) -> bool:
        """Return whether a walk of another package goes to a neighbour that was read, if its focus lets it."""
        begins, at = self.lists.begins, walker.at
        degree, proposed = begins[at + 1] - begins[at], begins[place + 1] - begins[place]
        return self.law is None or walker.draw_chance() < self.law.accept(degree, proposed)

    def _judge_anywhere(self, _walker: Walker, _place: int) -> int:
        return GO

    def _judge_hard(self, _walker: Walker, place: int) -> int:
        return self.lists.on[place]

    def _judge_wider(self, _walker: Walker, place: int) -> int:
        return self.lists.wide[place]

    def _judge_nearby(self, _walker: Walker, place: int) -> int:
        if self.lists.on[place]:
            return GO
        inside, self._needs = self.near.is_inside(place)
        return WAIT if self._needs else int(inside)

    def _judge_trial(self, walker: Walker, place: int) -> int:
        if self.lists.on[place]:
            return GO
        if walker.off < self.rules.k:
            walker.off += 1
            return GO
        self._arrive(walker, walker.home)
        return STAY

    def _go(self, walker: Walker, place: int) -> None:
        trap = walker.trap
        if trap is not None and trap.is_trapped(self.lists.group[place]):
            self._arrive(walker, trap.jump(), JUMPED)
        else:
            self._arrive(walker, place)

    def _arrive(self, walker: Walker, place: int, arrival: int = ARRIVED) -> None:
        on = self.lists.on[place]
        walker.go(place, self.lists.group[place], on, arrival)
        if on and walker.topical > self._quotas[walker.number]:  # the visit after the last: that one is over
            walker.why = QUOTA
