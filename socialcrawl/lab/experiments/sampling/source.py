"""What walks see of a known world: a page's own links, and of those who link to it what a search would show."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from socialcrawl.engine.draws import draw_uniform, make_generator
from socialcrawl.engine.model import ON_TOPIC, WIDER, Act, Node, Outcome, Pick, Reason, Reply, Request, Who
from socialcrawl.engine.protocols import Batch, Conversation
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.lab.experiments.sampling.worlds import Flags, PageWorld, list_sources, reverse_links


@dataclass(frozen=True)
class InlinkSearch:
    """How well the platform's search knows who links to a page (Bar-Yossef et al., section 4).

    Attributes:
        covers: the share of all pages that it has; their links it knows, and no other.
        most: how many of those who link to a page it shows; None: all that it has.
        seed: of the draws: which pages it has, and which of them it shows first.
    """

    covers: float = 1.0
    most: int | None = 100
    seed: int = 0


COMPLETE = InlinkSearch(1.0, None)


def draw_covered(size: int, search: InlinkSearch) -> Flags:
    """Return the pages that a search has, bool[n]."""
    return draw_uniform(search.seed, "covered", 0, size) < search.covers


def find_shown(graph: KnownGraph, search: InlinkSearch) -> KnownGraph:
    """Return the in-links that a search shows, as out-links of the page that is asked about.

    A page's own come in an order of the search's making, the same each time it is asked; ascending where it shows all.
    """
    links = reverse_links(graph)
    to = list_sources(links)
    if search.most is None:
        order = np.arange(len(to))
    else:
        order = np.lexsort((make_generator(search.seed, "shown", 0).random(len(to)), to))
    order = order[draw_covered(graph.size, search)[links.indices[order]]]
    begins = np.searchsorted(to[order], np.arange(graph.size))
    if search.most is not None:
        order = order[np.arange(len(order)) - begins[to[order]] < search.most]
    indptr = np.searchsorted(to[order], np.arange(graph.size + 1)).astype(np.int64)
    return KnownGraph(indptr, links.indices[order], np.ones(len(order)), np.zeros(graph.size))


class WalkedSource:
    """The source of a known world: act walk answers P, the host and the out-links, act inward who links there.

    It knows all answers, so that its talks need no request; a page that is not there is missing (unknown).

    Attributes:
        back: who links to each page, as the search shows it.

    Args:
        world: where the walk is.
        on: bool[n], P of each page: value 1.0 or 0.0.
        search: what is known of in-links.
        wider: bool[n], who is on the wider topic: value 0.5, where it is not on the topic; None: there is none.
        back: who links to each page, as the search shows it; None: by `search`.
    """

    def __init__(
        self,
        world: PageWorld,
        on: Flags,
        search: InlinkSearch = COMPLETE,
        wider: Flags | None = None,
        back: KnownGraph | None = None,
    ) -> None:
        self._indptr: list[int] = world.graph.indptr.tolist()
        self._indices = np.asarray(world.graph.indices, np.int64)
        self.back = back = find_shown(world.graph, search) if back is None else back
        self._inptr: list[int] = back.indptr.tolist()
        self._inward = np.asarray(back.indices, np.int64)
        self._weights = np.ones(max(np.diff(world.graph.indptr).max(initial=0), np.diff(back.indptr).max(initial=0)))
        above = 0.0 if wider is None else np.where(wider, WIDER, 0.0)
        self._value: list[float] = np.where(on, ON_TOPIC, above).tolist()
        self._there: list[bool] = world.there.tolist()
        self._hosts = world.hosts

    def width(self, act: Act) -> int:
        """Return one node a pick."""
        return 1

    def talks(self, batch: Batch, accounts: Mapping[Node, Who]) -> Sequence[Conversation]:
        """Return one conversation for all picks: nobody waits here, and a batch of many walkers is quicker so."""
        return (self._talk(batch),)

    def mark(self, at: float) -> str:
        """Return None: a known world does not change."""
        return ""

    def _talk(self, batch: Batch) -> Generator[Request, Reply, Mapping[int, Outcome]]:
        yield from ()  # a conversation, though nothing has to be asked
        return {pick.n: self._outcome(pick) for pick in batch}

    def _outcome(self, pick: Pick) -> Outcome:
        node = pick.node
        if pick.act == Act.INWARD:
            targets = self._inward[self._inptr[node] : self._inptr[node + 1]]
            return Outcome(pick.n, node, 0.0, 0.0, targets, self._weights[: len(targets)])
        if not self._there[node]:
            return Outcome(pick.n, node, 0.0, missing=Reason.UNKNOWN)
        targets = self._indices[self._indptr[node] : self._indptr[node + 1]]
        value, mark = self._value[node], self._hosts[node]
        return Outcome(pick.n, node, 0.0, value, targets, self._weights[: len(targets)], mark=mark)
