"""Who has whom in his list who was not read yet: what the list of the latter begins with when it is."""

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from socialcrawl.graph.links import grow_array

Ints = NDArray[np.int64]

ENOUGH = 1024


class Chains:
    """A chain a node of the entries that name it, in arrays: links are numbered from 1, 0 is the end of a chain.

    A link holds the place of who has the entry, times 2, + 1 if the entry is of one who links there.
    """

    def __init__(self) -> None:
        self._head = np.zeros(ENOUGH, np.int64)  # the first link of a node's chain
        self._look = self._head.data
        self._next, self._from = array("q", [0]), array("q", [0])

    def make_room(self, node: int) -> None:
        """Make room for nodes up to `node`."""
        if node >= len(self._head):
            self._head = grow_array(self._head, node + 1)
            self._look = self._head.data

    def extend(self, codes: Ints, places: Ints) -> None:
        """Add entries `codes` of the lists of `places`, in order of the places."""
        if not len(codes):
            return
        order = np.argsort(codes >> 1, kind="stable")
        codes, places = codes[order], places[order]
        nodes = codes >> 1
        number = len(self._next) + np.arange(len(nodes))
        begins = np.append(True, nodes[1:] != nodes[:-1])
        following = number - 1
        following[begins] = self._head[nodes[begins]]
        self._head[nodes] = number  # of equal nodes the last one stays
        self._next.frombytes(following.tobytes())
        self._from.frombytes((places * 2 + (codes & 1)).tobytes())

    def mirror(self, nodes: Ints, base: int) -> tuple[Ints, Ints]:
        """Return the rows of `nodes`, and the places of those with smaller ones who have them in their lists.

        Row i has place base + i. A place comes times 2, + 1 if the node is linked to from there.
        """
        rows, links = np.arange(len(nodes)), self._head[nodes]
        found: list[tuple[Ints, Ints]] = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        following, sources = np.frombuffer(self._next, np.int64), np.frombuffer(self._from, np.int64)
        while len(links):
            there = links > 0
            rows, links = rows[there], links[there]
            source = sources[links]
            before = source >> 1 < base + rows
            found.append((rows[before], source[before] ^ 1))
            links = following[links]
        return np.concatenate([rows for rows, _ in found]), np.concatenate([source for _, source in found])

    def add(self, codes: Sequence[int], place: int) -> None:
        """Add entries of the list of one place."""
        head = self._look
        for number, code in enumerate(codes, len(self._next)):
            self._next.append(head[code >> 1])
            self._from.append(place * 2 + (code & 1))
            head[code >> 1] = number

    def find_sources(self, node: int) -> list[int]:
        """Return what `mirror` says of a node that comes after all others."""
        link, found = self._look[node], []
        while link:
            found.append(self._from[link] ^ 1)
            link = self._next[link]
        return found

    def splice(self, alias: int, node: int) -> None:
        """Add the chain of `alias` to that of `node`."""
        link = int(self._head[alias])
        if not link:
            return
        while self._next[link]:
            link = self._next[link]
        self._next[link] = int(self._head[node])
        self._head[node] = self._head[alias]
        self._head[alias] = 0
