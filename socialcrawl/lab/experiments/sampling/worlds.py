"""Known worlds of focused sampling: who links to whom, on which host, in which domain, about what; and what walks see.

A walk sees the own links of a page, and of those who link to it what a search would show.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.engine.draws import draw_uniform, make_generator
from socialcrawl.engine.model import ON_TOPIC, WIDER, Act, Node, Outcome, Pick, Reason, Reply, Request, Who
from socialcrawl.engine.protocols import Batch, Conversation
from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.graph.relevance import Topic as Words
from socialcrawl.lab.graphs.csr_links import compute_offsets, gather_links, shrink_indices
from socialcrawl.text.wording import explain_unknown

Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PageTopic:
    """A predicate on the pages of a world: the set S that is to be sampled.

    Attributes:
        name: what figures and tables call it.
        on: bool[n], P of each page.
        parts: sub-topics by name, bool[n] each; what they say of a page that is not on topic is of no use.
        wider: bool[n], the pages of a topic above this one (section 3.5); None: none is known.
    """

    name: str
    on: Flags
    parts: Mapping[str, Flags] = field(default_factory=dict)
    wider: Flags | None = None

    @property
    def above(self) -> Flags:
        """The pages of the topic and of the one above it, bool[n]: T of focus "ancestor".

        Raises:
            SettingsError: none is known.
        """
        if self.wider is None:
            raise SettingsError(f"nothing tells of which wider topic {self.name!r} is a part: give --wider NAME.")
        return np.asarray(self.on | self.wider)


@dataclass(frozen=True, eq=False)
class PageWorld:
    """A graph of n pages (or accounts) that is known as a whole, with all that statistics ask for.

    Attributes:
        name: what figures and tables call it.
        graph: out-links; its values are of no use here.
        hosts: n names, "" where a page has none.
        domain: int[n], a place in `domains`.
        domains: the names of the domains (or categories, or years: a label that every page has).
        topics: by name, in order.
        there: bool[n], False for who is linked to and cannot be read.
        texts: n texts, or None.
        about: what pages truly are about, by topic, bool[n] each, where that is known apart from the predicate.
    """

    name: str
    graph: KnownGraph
    hosts: Sequence[str]
    domain: Ints
    domains: Sequence[str]
    topics: Mapping[str, PageTopic]
    there: Flags
    texts: Sequence[str] | None = None
    about: Mapping[str, Flags] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The number of pages, n."""
        return self.graph.size

    def find_topic(self, name: str) -> PageTopic:
        """Return the topic of that name.

        Raises:
            SettingsError: there is none.
        """
        if name not in self.topics:
            raise SettingsError(f"{self.name}: {explain_unknown('topic', name, self.topics)}")
        return self.topics[name]


def link_pages(source: NDArray[Any], target: NDArray[Any], size: int, there: Flags | None = None) -> KnownGraph:
    """Return the graph of some links, each once, without self-links and links of pages that are not there.

    Args:
        source: int[m].
        target: int[m].
        size: n, the number of pages.
        there: bool[n]; None: all are.
    """
    kept = np.ones(len(source), bool) if there is None else there[source]
    ends = np.asarray(source[kept], np.int64), np.asarray(target[kept], np.int64)
    indptr, indices, weights = gather_links(range(size), size, *ends, np.ones(len(ends[0])))
    return KnownGraph(indptr, indices, np.ones(len(weights)), np.zeros(size))


def list_sources(graph: KnownGraph) -> Ints:
    """Return the page at which each link begins, int64[m], in the order of the links."""
    return np.repeat(np.arange(graph.size), np.diff(graph.indptr))


def reverse_links(graph: KnownGraph) -> KnownGraph:
    """Return the same graph with every link the other way round; who links to a page stands in ascending order."""
    order = np.argsort(graph.indices, kind="stable")
    indptr = compute_offsets(np.bincount(graph.indices, minlength=graph.size))
    indices = shrink_indices(list_sources(graph)[order], graph.size)
    return KnownGraph(indptr, indices, np.ones(graph.links), np.zeros(graph.size))


def find_mentions(texts: Sequence[str], *words: str) -> Flags:
    """Return which texts have one of the words or phrases, bool[n]; compared as keywords of a campaign are."""
    wanted = Words(words)
    return np.fromiter((wanted.count(text) > 0 for text in texts), bool, len(texts))


def make_word_topic(texts: Sequence[str], name: str, words: Sequence[str], parts: Sequence[str] = ()) -> PageTopic:
    """Return the topic of all texts that have one of the words; its parts are those that have a further word, each."""
    return PageTopic(name, find_mentions(texts, *words), {part: find_mentions(texts, part) for part in parts})


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

    def start_conversations(self, batch: Batch, accounts: Mapping[Node, Who]) -> Sequence[Conversation]:
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
