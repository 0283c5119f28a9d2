"""The experiments that are no figures of the paper: what frozen lists do to a walk's law, and how fast walks mix."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from socialcrawl.crawls.sample import spectral_gap as gaps
from socialcrawl.crawls.sample.decision_tree import TreeParameters, count_words, grow
from socialcrawl.engine.draws import make_generator
from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments.sampling.known_walks import WalkSetup, choose_starts, walk_method
from socialcrawl.lab.experiments.sampling.laws import (
    CONSISTENCIES,
    compute_law,
    find_first_visits,
    make_lists,
    measure_unevenness,
)
from socialcrawl.lab.experiments.sampling.source import InlinkSearch
from socialcrawl.lab.experiments.sampling.truths import count_out_degrees, find_walkable
from socialcrawl.lab.experiments.sampling.worlds import Flags, PageTopic, PageWorld, list_sources
from socialcrawl.lab.result_tables import Table

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
                    setup.how("none", run),
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
