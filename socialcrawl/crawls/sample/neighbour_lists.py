"""Who is whose neighbour, as a walk may use it: the list of a node is fixed when the node is first read.

A neighbour is one that the node links to, one that is known to link to it from nodes read before, or one that the
platform's search names (Bar-Yossef, Kanungo, Krauthgamer, section 4, "Obtaining in-neighbors"). Lists as printed are
one-sided: a node read later knows of a link that the list of the other one lacks for ever, and the walk's law is off.
The symmetric ones leave out the link in the later list too, so that the lists are those of an undirected graph.

Nodes read are numbered in their order: their *places*. An entry of a list is a code: node * 2 for one that is linked
to, + 1 for one that links here and is not linked to (where mutual links count once).
"""

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.sample.pending_links import Chains
from socialcrawl.engine.model import LARGEST
from socialcrawl.graph.links import grow_array

Ints = NDArray[np.int64]

UNREAD, GONE = -1, -2  # instead of a place
ENOUGH = 1024  # nodes that there is room for at first
FEW, FEW_NODES = 100, 8  # links a node, and nodes, up to which their lists are made one by one


class NeighbourLists:
    """The nodes that were read, and the neighbours of each, in compressed rows.

    Args:
        symmetric: whether links that one side's list lacks are left out of the other's.
        twice: whether nodes that link to each other are neighbours twice.
        communities: whether a node's group is what most of its neighbours have that were read before, not its mark.

    Attributes:
        nodes: who was read, int64 by place; `on`: whether it is on topic, a byte; `wide`: whether it is on the wider
            topic, likewise; `outs`: how many it links to, int32; `group`: number of its mark or community, int32, 0 for
            the mark "".
        back: how many of those that it links to were read before it, int32, in its list or not; `back_on`: on topic.
        begins: where the list of a place begins among `codes`, int64, one more than places.
        codes: the lists, int64.
        marks: what the groups are called.
    """

    def __init__(self, *, symmetric: bool = True, twice: bool = False, communities: bool = False) -> None:
        self.symmetric, self.twice, self.communities = symmetric, twice, communities
        self.nodes, self.on, self.outs, self.group = array("q"), bytearray(), array("i"), array("i")
        self.wide = bytearray()
        self.back, self.back_on = array("i"), array("i")
        self.begins, self.codes = array("q", [0]), array("q")
        self.marks: list[str] = [""]
        self.other: dict[int, int] = {}  # another name of somebody -> who that is
        self.twin: dict[int, int] = {}  # another name, in lists that lead nowhere by it -> the place of who that is
        self._chains = Chains()
        self._numbers: dict[str, int] = {"": 0}
        self._where = np.zeros(ENOUGH, np.int32)  # place + 1, or -1 for one that cannot be read, by node
        self._seen = np.zeros(ENOUGH, np.bool_)
        self._look, self._seen_look = self._where.data, self._seen.data

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def known_count(self) -> int:
        """How many nodes were read or are in a list."""
        return int(np.count_nonzero(self._seen))

    def place(self, node: int) -> int:
        """Return the place of a node; UNREAD or GONE where it has none."""
        if node < len(self._look) and (found := self._look[node]):
            return found - 1
        return self.place(self.other[node]) if node in self.other else UNREAD

    def resolve(self, node: int) -> int:
        """Return the node itself, or who it turned out to be."""
        while node in self.other:
            node = self.other[node]
        return node

    def count_entries(self, places: Ints) -> Ints:
        """Return how long the lists of places are, int64."""
        begins = np.frombuffer(self.begins, np.int64)
        found: Ints = begins[places + 1] - begins[places]
        return found

    def list_entries(self) -> tuple[Ints, Ints]:
        """Return all entries of the lists, int64 each: the place of whose list it is in, and its code."""
        every = np.arange(len(self))
        return np.repeat(every, self.count_entries(every)), np.array(self.codes, np.int64)

    def find_places(self, nodes: Ints) -> Ints:
        """Return the places of nodes, int64, UNREAD or GONE where they have none."""
        if not len(nodes):
            return np.empty(0, np.int64)
        self._make_room(int(nodes.max()))
        return self._where[self._resolve_all(nodes)].astype(np.int64) - 1

    def find_topical(self, nodes: Ints) -> Ints:
        """Return whether nodes are on topic, int64: 1, 0, or UNREAD where they were not or cannot be read."""
        places = self.find_places(nodes)
        if self.twin:
            for i in np.flatnonzero(np.isin(nodes, [*self.twin])).tolist():
                places[i] = self.twin[int(nodes[i])]
        found = np.full(len(nodes), UNREAD)
        found[places >= 0] = np.frombuffer(self.on, np.uint8)[places[places >= 0]]
        return found

    def lose(self, node: int) -> None:
        """Learn that a node cannot be read: it is in lists, but no part of the graph."""
        self._make_room(node)
        if not self._where[node]:
            self._where[node] = -1
            self._seen[node] = True

    def add_alias(self, alias: int, node: int) -> None:
        """Learn that `alias` is another name of `node`.

        If the lists are symmetric and the node was read before, its list lacks who knows it as `alias`: those links are
        one-sided, and led nowhere from now on.
        """
        node = self.resolve(node)
        self._make_room(max(alias, node))
        if self._where[alias]:
            return
        if node == alias or self._where[node] < 0 or (self._where[node] > 0 and self.symmetric):
            if node != alias and self._where[node] > 0:
                self.twin[alias] = int(self._where[node]) - 1
            self.lose(alias)  # names that go round in a circle are nobody's
            return
        self._seen[node] = True
        self.other[alias] = node
        self._chains.splice(alias, node)

    def hold(
        self,
        nodes: Ints,
        on: NDArray[np.bool_],
        marks: Sequence[str],
        outward: tuple[Ints, Ints],
        inward: tuple[Ints, Ints] | None = None,
        *,
        wide: NDArray[np.bool_] | None = None,
    ) -> None:
        """Fix the lists of nodes that were read, in this order.

        Args:
            nodes: int64[m]; none of them was read or lost before, and no two are the same.
            on: bool[m], whether they are on topic.
            marks: m words for where they are; "" where there is nothing to say.
            outward: int64[m + 1] and int64: offsets, and whom the nodes link to.
            inward: the same of who links to them, as the platform's search says; None: it was not asked.
            wide: bool[m], whether they are on the wider topic; None: there is none but the topic.
        """
        self.wide += (on if wide is None else on | wide).astype(np.uint8).tobytes()
        if len(outward[1]) + (0 if inward is None else len(inward[1])) <= FEW * len(nodes) <= FEW * FEW_NODES:
            self._fix_each(nodes, on, marks, outward, inward)
            return
        base, m = len(self), len(nodes)
        rows, codes = self._list_own(nodes, outward, inward)
        self._where[nodes] = np.arange(base + 1, base + m + 1)
        self._seen[nodes] = True
        there = self._where[codes >> 1].astype(np.int64)
        late = (there <= 0) | (there > base + rows)  # read after this one, or not yet: its list can have this one
        self.on += on.astype(np.uint8).tobytes()
        self._look_back(rows[~late], codes[~late], there[~late] - 1, m)
        self._chains.extend(codes[late], base + rows[late])
        mirrored, mirror = _sort_rows(*self._chains.mirror(nodes, base))
        self.nodes.frombytes(nodes.astype(np.int64).tobytes())
        mirror = np.frombuffer(self.nodes, np.int64)[mirror >> 1] * 2 + (mirror & 1)
        if self.symmetric:
            mirror -= self._find_linked(mirrored, mirror, rows[~late], codes[~late])
            rows, codes = rows[late], codes[late]
        rows, codes = self._sort(np.concatenate([rows, mirrored]), np.concatenate([codes, mirror]))
        counts = np.bincount(rows, minlength=m)
        self.begins.frombytes((self.begins[-1] + np.cumsum(counts)).astype(np.int64).tobytes())
        self.codes.frombytes(codes.tobytes())
        self._seen[codes >> 1] = True
        self._name(marks, base, m)

    def _fix_each(
        self,
        nodes: Ints,
        on: NDArray[np.bool_],
        marks: Sequence[str],
        outward: tuple[Ints, Ints],
        inward: tuple[Ints, Ints] | None,
    ) -> None:
        """Fix the lists node by node: for few nodes numpy would take more time to begin than this takes."""
        targets, sources = outward[1].tolist(), [] if inward is None else inward[1].tolist()
        for i, node in enumerate(nodes.tolist()):
            mine = targets[outward[0][i] : outward[0][i + 1]]
            others = sources if inward is None else sources[inward[0][i] : inward[0][i + 1]]
            self._make_room(max(node, *mine, *others, 0))
            both = *(2 * v for v in map(self.resolve, mine)), *(2 * v + 1 for v in map(self.resolve, others))
            own = {code: None for code in both if code >= 0 and code >> 1 != node}  # in the order in which they came
            self.outs.append(sum(not code & 1 for code in own))
            if not self.twice:
                own = {code: None for code in own if not (code & 1 and code - 1 in own)}
            self._fix_one(node, own)
            self.on.append(bool(on[i]))
            self._name(marks[i : i + 1], len(self) - 1, 1)

    def _fix_one(self, node: int, own: dict[int, None]) -> None:
        """Fix the list of one node, of whose neighbours the codes `own` are known from its own answers."""
        look, place = self._look, len(self)
        late = [code for code in own if look[code >> 1] <= 0]
        read = [look[code >> 1] - 1 for code in own if not code & 1 and look[code >> 1] > 0]
        self.back.append(len(read))
        self.back_on.append(sum(self.on[before] for before in read))
        mirror = [2 * self.nodes[source >> 1] + (source & 1) for source in sorted(self._chains.find_sources(node))]
        if self.symmetric:
            if not self.twice:
                mirror = [code & ~1 if code & ~1 in own else code for code in mirror]
            codes = late + mirror
        else:
            every = dict.fromkeys([*own, *mirror])
            codes = [code for code in every if self.twice or not (code & 1 and code - 1 in every)]
        self._chains.add(late, place)
        self.nodes.append(node)
        look[node] = place + 1
        self.codes.extend(codes)
        self.begins.append(len(self.codes))
        seen = self._seen_look
        for code in (2 * node, *codes):
            seen[code >> 1] = True

    def _list_own(self, nodes: Ints, outward: tuple[Ints, Ints], inward: tuple[Ints, Ints] | None) -> tuple[Ints, Ints]:
        """Return rows and codes of what the nodes' own answers say, each once, sorted; nobody is his own neighbour."""
        at = np.arange(len(nodes))
        rows, targets = np.repeat(at, outward[0][1:] - outward[0][:-1]), outward[1]
        codes = targets * 2
        if inward is not None:
            rows = np.concatenate([rows, np.repeat(at, inward[0][1:] - inward[0][:-1])])
            targets = np.concatenate([targets, inward[1]])
            codes = np.concatenate([codes, inward[1] * 2 + 1])
        self._make_room(int(max(nodes.max(), targets.max(initial=0))))
        if self.other:
            targets = self._resolve_all(targets)
            codes = targets * 2 + (codes & 1)
        strange = (targets != nodes[rows]) & (targets >= 0)
        rows, codes = self._drop_repeats(rows[strange], codes[strange])
        out = np.bincount(rows[codes & 1 == 0], minlength=len(nodes))
        self.outs.frombytes(out.astype(np.int32).tobytes())
        return rows, codes

    def _look_back(self, rows: Ints, codes: Ints, places: Ints, m: int) -> None:
        """Note how many the m nodes link to that were read before, at `places`, and how many of those are on topic."""
        out = codes & 1 == 0
        on = np.frombuffer(self.on, np.uint8)[places[out]]
        self.back.frombytes(np.bincount(rows[out], minlength=m).astype(np.int32).tobytes())
        self.back_on.frombytes(np.bincount(rows[out], on, m).astype(np.int32).tobytes())

    def _find_linked(self, rows: Ints, codes: Ints, own_rows: Ints, own: Ints) -> Ints:
        """Return 1 for each entry of one who links here, where the node also links there: that is one neighbour."""
        if self.twice or not len(own):
            return np.zeros(len(codes), np.int64)
        span = int(max(codes.max(initial=0), own.max())) + 2
        return (codes & np.isin(rows * span + codes - 1, own_rows * span + own)).astype(np.int64)

    def _sort(self, rows: Ints, codes: Ints) -> tuple[Ints, Ints]:
        if not self.symmetric:
            return self._drop_repeats(rows, codes)
        order = np.argsort(rows, kind="stable")
        return rows[order], codes[order]

    def _drop_repeats(self, rows: Ints, codes: Ints) -> tuple[Ints, Ints]:
        """Return each neighbour once, or once on each side, by row, in the order in which they came."""
        order = np.lexsort((codes, rows))
        some, words = rows[order], codes[order] if self.twice else codes[order] >> 1
        first = np.ones(len(rows), np.bool_)
        first[1:] = (words[1:] != words[:-1]) | (some[1:] != some[:-1])
        kept = np.sort(order[first])
        kept = kept[np.argsort(rows[kept], kind="stable")]
        return rows[kept], codes[kept]

    def _name(self, marks: Sequence[str], base: int, m: int) -> None:
        if self.communities:
            for place in range(base, base + m):
                self.group.append(self._find_community(place))
            return
        numbers = self._numbers
        for mark in marks:
            if mark not in numbers:
                numbers[mark] = len(self.marks)
                self.marks.append(mark)
            self.group.append(numbers[mark])

    def _find_community(self, place: int) -> int:
        """Return the group of most neighbours that were read before, the smallest of equals.

        A new one with fewer than two.

        Ours, as the paper has hosts. Who is met by one link only opens a community: else a walk would carry that of its
        start everywhere.
        """
        codes = np.frombuffer(self.codes, np.int64)[self.begins[place] : self.begins[place + 1]]
        there = self._where[codes >> 1].astype(np.int64) - 1
        before = there[(there >= 0) & (there < place)]
        if len(before) > 1:
            return int(np.bincount(np.frombuffer(self.group, np.int32)[before]).argmax())
        self.marks.append(f"community {len(self.marks)}")
        return len(self.marks) - 1

    def _resolve_all(self, nodes: Ints) -> Ints:
        if self.other and len(nodes):
            nodes = nodes.copy()
            for i in np.flatnonzero(np.isin(nodes, [*self.other])).tolist():
                nodes[i] = self.resolve(int(nodes[i]))
            self._make_room(int(nodes.max()))
        return nodes

    def _make_room(self, node: int) -> None:
        """Make room for nodes up to `node`."""
        if node >= len(self._where):
            self._where, self._seen = grow_array(self._where, node + 1), grow_array(self._seen, node + 1)
            self._look, self._seen_look = self._where.data, self._seen.data
        self._chains.make_room(node)


def _sort_rows(rows: Ints, codes: Ints) -> tuple[Ints, Ints]:
    """Return both sorted by row, then by code: as one number where that is small enough, which is 3 times as fast."""
    span = int(codes.max(initial=0)) + 1
    if not len(rows) or (int(rows.max()) + 1) * span >= LARGEST:
        order = np.lexsort((codes, rows))
        return rows[order], codes[order]
    return np.divmod(np.sort(rows * span + codes), span)
