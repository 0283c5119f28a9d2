"""Who is near the topic: T, the nodes from which one of B short walks of at most k links meets it (section 3.5)."""

from collections.abc import Sequence

from socialcrawl.crawls.sample.neighbour_lists import GONE, UNREAD, NeighbourLists
from socialcrawl.crawls.sample.rules import WalkRules
from socialcrawl.engine.model import Node
from socialcrawl.engine.splitmix import draw_numbers, start_stream


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

    def inside(self, place: int) -> tuple[bool, list[Node]]:
        """Return whether an off-topic node is in T; the nodes that have to be read before that can be said."""
        if place not in self.hits:
            b, k = self.rules.b, self.rules.k
            luck = draw_numbers(self._start, place * b * k, b * k).tolist()
            found = [self._walk_short(place, luck[walk * k : walk * k + k]) for walk in range(b)]
            needs = [found_node for found_node in found if not isinstance(found_node, bool)]
            if needs:
                return False, list(dict.fromkeys(needs))
            self.hits[place] = sum(map(bool, found))
        return self.hits[place] > 0, []

    def degree(self, place: int) -> float:
        """Return d_T as the paper estimates it: d times the share of the short walks that met the topic; d on topic."""
        length = self.lists.begins[place + 1] - self.lists.begins[place]
        return length if self.lists.on[place] else length * self.hits.get(place, 0) / self.rules.b

    def _walk_short(self, place: int, luck: Sequence[float]) -> bool | Node:
        """Return whether a short walk with these draws meets the topic; or who has to be read before it can go on."""
        lists = self.lists
        for chance in luck:
            begin, end = lists.begins[place], lists.begins[place + 1]
            if begin == end:
                return False
            node = lists.codes[begin + int(chance * (end - begin))] >> 1
            there = lists.place(node)
            if there == UNREAD:
                return Node(lists.named(node))
            if there == GONE:
                return False
            if lists.on[there]:
                return True
            place = there
        return False
