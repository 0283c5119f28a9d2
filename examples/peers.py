"""Gossip search: a query goes from peer to peer, to those that seem to know most about it (section 2.2)."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from examples.asking import Asking, absent, answered, silent
from socialcrawl.engine.model import Grant, Reply
from socialcrawl.graph.relevance import compute_worth, fold


class Peer(NamedTuple):
    """One peer: its documents, its neighbours in the overlay, and what it has cached about other peers.

    `cache` maps peers to summaries (`summary` of their documents, as old or as partial as gossip is). What is cached
    about a peer that is no neighbour is no link.
    """

    documents: Sequence[str]
    neighbours: Sequence[str]
    cache: Mapping[str, Mapping[str, int]]


class Gossip(Asking):
    """The peers of an overlay network as a source: one message a peer, so that a step is one propagation."""

    def __init__(self) -> None:
        super().__init__("gossip", compute_worth)


class PeersWire:
    """The overlay that consists of `peers`; all others have left, and are missing.

    Args:
        peers: the peers by key; None for one that does not answer now.
        count: the occurrences of the query in a text, such as `Topic.count`. Summaries are read word by word, so that
            phrases are not found in them.
    """

    def __init__(self, peers: Mapping[str, Peer | None], count: Callable[[str], int]) -> None:
        self.peers, self.count = peers, count

    def send(self, grant: Grant) -> Reply:
        """Return the answer of one peer: the occurrences in its documents and in its cache about neighbours."""
        key = grant.request.params["key"]
        if key not in self.peers:
            return absent(grant)
        peer = self.peers[key]
        if peer is None:
            return silent(grant, f"the peer {key} does not answer")
        own = [(f"{key}/{place}", text, self.count(text)) for place, text in enumerate(peer.documents)]
        return answered(grant, own, {name: self._cached(peer.cache.get(name, {})) for name in peer.neighbours})

    def _cached(self, known: Mapping[str, int]) -> int:
        return sum(times * self.count(word) for word, times in known.items())


def summary(documents: Iterable[str]) -> Counter[str]:
    """Return the words of some documents, folded, with their occurrences: the summary that peers exchange."""
    return Counter(word for text in documents for word in re.findall(r"\w+", fold(text)))


def tenth(peers: int) -> int:
    """Return the propagation steps that section 2.2 allows among these peers: a tenth of them, at least one."""
    return max(1, peers // 10)
