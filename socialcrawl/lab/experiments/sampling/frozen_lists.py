"""The experiments that are no figures of the paper: what frozen lists do to a walk's law, and how fast walks mix.

The exact law of a walk whose lists are frozen says where it is in the long run, once it has visited all it can reach.
At its first visit a page gets the list of neighbours that the walk knows of then: its own links, whoever was visited
before and links to it, and what the search shows. As printed, the list is all that there is to it: v, seen later, may
have u in its list while u lacks v, and the long run favours v's kind or u's several-fold. On lists that keep only what
both sides have, the walk is on an undirected graph, and its law is even (Bar-Yossef et al., section 4;
docs/explanation/sampling.md).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.sample import spectral_gap as gaps
from socialcrawl.crawls.text_models.decision_tree import TreeParameters, grow
from socialcrawl.crawls.text_models.vocabulary import count_words
from socialcrawl.engine.draws import make_generator
from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments.sampling.known_walks import WalkSetup, choose_starts, walk_method
from socialcrawl.lab.experiments.sampling.truths import count_out_degrees, find_walkable
from socialcrawl.lab.experiments.sampling.worlds import (
    Flags,
    Floats,
    InlinkSearch,
    Ints,
    PageTopic,
    PageWorld,
    find_shown,
    list_sources,
)
from socialcrawl.lab.result_tables import Table

DOUBLINGS = 40  # of the steps that a walk is looked at: 2^40 of them are for ever in so small a world
CONSISTENCIES = ("printed", "symmetric")


def find_first_visits(nodes: Ints) -> Ints:
    """Return the different pages of a walk, in the order in which it first came to them."""
    _, first = np.unique(nodes, return_index=True)
    return np.asarray(nodes[np.sort(first)])


def make_lists(world: PageWorld, order: Ints, search: InlinkSearch, consistency: str) -> Flags:
    """Return which page is in whose list, bool[p, p], by the place in `order`; a neighbour counts once.

    Args:
        world: whose graph is walked.
        order: int64[p], the pages that the walk visited, in the order of their first visits.
        search: what it was shown of in-links.
        consistency: printed (a list as it was frozen) or symmetric (without whom one side has and the other has not).
    """
    out = _find_among(order, list_sources(world.graph), world.graph.indices, world.size)
    back = find_shown(world.graph, search)
    searched = _find_among(order, list_sources(back), back.indices, world.size)
    earlier = np.tri(len(order), k=-1, dtype=bool)  # [u, w]: w was visited before u
    known = out | searched | (out.T & earlier)
    return np.asarray(known & known.T if consistency == "symmetric" else known)


def _find_among(order: Ints, begin: Ints, end: NDArray[np.integer], size: int) -> Flags:
    place = np.full(size, -1)
    place[order] = np.arange(len(order))
    kept = (place[begin] >= 0) & (place[end] >= 0)
    found = np.zeros((len(order), len(order)), bool)
    found[place[begin[kept]], place[end[kept]]] = True
    return found


def compute_law(known: Flags, start: int = 0) -> Floats:
    """Return the share of time that a walk on these lists spends at each page in the long run, float64[p].

    Free loops make all lists equally long (D of the longest, and one), so that on lists that agree it is even over all
    that can be reached.

    Args:
        known: bool[p, p], row u is u's list.
        start: where it begins.
    """
    degree = known.sum(axis=1)
    steps = known / (degree.max(initial=0) + 1.0)
    np.fill_diagonal(steps, 1.0 - (degree - np.diag(known)) / (degree.max(initial=0) + 1.0))
    for _ in range(DOUBLINGS):
        steps = steps @ steps
        steps /= steps.sum(axis=1, keepdims=True)
    return np.asarray(steps[start])


def measure_unevenness(shares: Floats) -> dict[str, float]:
    """Return how far a law is from even: `largest` and `least` times the even share, and the share in wrong places.

    The last, `misplaced`, is the distance in total variation, 0 to 1.
    """
    even = 1.0 / len(shares)
    return {
        "largest": float(shares.max() / even),
        "least": float(shares.min() / even),
        "misplaced": float(np.abs(shares - even).sum() / 2),
    }


SEARCHES = (("none", InlinkSearch(0.0)), ("half, 10", InlinkSearch(0.5, 10)), ("all, 100", InlinkSearch(1.0, 100)))
SMALL = 5_000  # pages of a graph whose gap, or exact law, is computed
GONE_ROUND = 400  # steps a page, after which a walk has gone round a small world
POSITIVE, NEGATIVE = 300, 900  # texts that a tree learns from
GRAPHS = ("none", "hard", "neighbourhood")


def measure_biases(world: PageWorld, topic: PageTopic, setup: WalkSetup) -> Iterator[dict[str, Any]]:
    """Yield the exact long-run law of walks without focus, a row for each search and consistency, run by run.

    Columns: world, search, consistency, run, pages (visited), largest, least, misplaced (see `measure_unevenness`),
    degree (mean out-degree by the law, over the true mean), share (of the topic, likewise), walked (correlation of
    the law with how often the walk was where in its second half).

    Raises:
        SettingsError: the world is too large.
    """
    _require_small(world)
    length = GONE_ROUND * world.size
    for name, search in SEARCHES:
        for consistency in CONSISTENCIES:
            for run in range(setup.runs):
                how = replace(
                    setup.make_rules("none", run),
                    consistency=consistency,
                    length=length,
                    idle=length,
                    burn_in=0,
                    walkers=1,
                    inward=search.covers > 0,
                )
                seen = walk_method(world, topic, how, search, choose_starts(world, topic, 1, how.seed))
                named = {"world": world.name, "search": name, "consistency": consistency, "run": run}
                yield {**named, **_measure_bias(world, topic, search, consistency, seen)}


def _measure_bias(
    world: PageWorld, topic: PageTopic, search: InlinkSearch, consistency: str, seen: Table
) -> dict[str, float]:
    nodes, degree = seen["node"], seen["degree"]
    order = find_first_visits(nodes)
    shares = compute_law(make_lists(world, order, search, consistency))
    kept = shares > 1e-12 / len(order)  # where the walk is in the long run
    order, shares = order[kept], shares[kept] / shares[kept].sum()
    late = len(nodes) // 2
    stayed = np.bincount(nodes[late:], weights=1.0 / np.maximum(degree[late:], 1), minlength=world.size)[order]
    true = count_out_degrees(world)[order]
    odd = np.ptp(shares) > 1e-9 / len(order)
    return {
        "pages": float(len(order)),
        **measure_unevenness(shares),
        "degree": float(shares @ true / true.mean()),
        "share": float(shares @ topic.on[order] / topic.on[order].mean()),
        "walked": float(np.corrcoef(shares, stayed)[0, 1]) if odd else float("nan"),
    }


def measure_mixing(world: PageWorld, topic: PageTopic) -> Iterator[dict[str, Any]]:
    """Yield the spectral gaps of the graphs that walks are on: all, S (hard), and S with its neighbours; a row each.

    Columns: world, topic, graph, pages, gap (of WebWalker with D the largest degree), plain (of the walk without
    loops), steps (ln N / gap), moves (those of them that are no loops).

    Raises:
        SettingsError: the world is too large.
    """
    _require_small(world)
    links = np.zeros((world.size, world.size), bool)
    links[list_sources(world.graph), world.graph.indices] = True
    links |= links.T
    for focus in GRAPHS:
        rows = find_walkable(world, topic, focus)
        graph = gaps.restrict_links(links, rows)
        chain = gaps.make_regular_walk(graph)
        degree = np.asarray(graph.sum(axis=1), np.float64)
        found, plain = gaps.compute_gap(chain), gaps.compute_gap(gaps.make_simple_walk(graph), degree)
        steps = gaps.estimate_mixing_time(found, int(rows.sum()))
        named = {"world": world.name, "topic": topic.name, "graph": focus, "pages": int(rows.sum())}
        yield {**named, "gap": found, "plain": plain, "steps": steps, "moves": steps * gaps.compute_move_chance(chain)}


def _require_small(world: PageWorld) -> None:
    if world.size > SMALL:
        raise SettingsError(f"{world.name} has {world.size:,} pages; this is computed for {SMALL:,} at most (--size).")


def classify_by_tree(world: PageWorld, topic: PageTopic, seed: int) -> PageTopic:
    """Return the topic as a decision tree tells it that has learned from a search for the keyword.

    Positive examples are the most linked-to pages of the keyword topic (what a search shows first), negative ones pages
    drawn from the rest (section 4). Parts stay as they are.

    Raises:
        SettingsError: the world has no texts.
    """
    texts = require_texts(world)
    known = np.bincount(world.graph.indices, minlength=world.size)
    on = np.flatnonzero(topic.on & world.there)
    positive = on[np.argsort(-known[on], kind="stable")[:POSITIVE]]
    off = np.flatnonzero(~topic.on & world.there)
    negative = make_generator(seed, "off topic", 0).permutation(off)[:NEGATIVE]
    chosen = [*positive.tolist(), *negative.tolist()]
    how = TreeParameters(
        leaf=5, without=frozenset(count_words(topic.name))
    )  # that word all positive examples have: it would say it all
    tree = grow([count_words(texts[page]) for page in chosen], [True] * len(positive) + [False] * len(negative), how)
    on_topic = np.fromiter((tree.hits(text) > 0 for text in texts), bool, world.size)
    return PageTopic(topic.name, on_topic & world.there, topic.parts, topic.wider)


def require_texts(world: PageWorld) -> Sequence[str]:
    """Return the texts of a world.

    Raises:
        SettingsError: it has none.
    """
    if world.texts is None:
        raise SettingsError(
            f"{world.name} has no texts, so that a tree has nothing to learn from: give pages or posts."
        )
    return world.texts


def measure_quality(on: Flags, about: Flags) -> tuple[float, float]:
    """Return the precision and recall of a predicate against what pages are about."""
    both = float((on & about).sum())
    return both / max(1.0, float(on.sum())), both / max(1.0, float(about.sum()))
