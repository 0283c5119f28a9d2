"""Known worlds of focused sampling: who links to whom, on which host, in which domain, about what."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

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

    def topic(self, name: str) -> PageTopic:
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
