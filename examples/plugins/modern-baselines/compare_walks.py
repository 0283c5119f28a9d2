"""Compare Metropolis-Hastings walks with the built-in ones on known graphs, by error at equal numbers of requests.

    python compare_walks.py [--pages FILE --page-topic WORD] [--posts FILE --post-topic WORD] [--runs 40]

Without files, on generated graphs only. Links have no direction here, a request reads one account with all its links,
and the largest connected part of each graph is the whole of it. Every run of one walk has a partner of the other, with
the same seed and starts.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.sample.audit import estimate_size
from socialcrawl.crawls.sample.crawl import Sample
from socialcrawl.crawls.sample.estimates import Series
from socialcrawl.crawls.sample.rules import WalkRules
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.draws import make_generator
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Node
from socialcrawl.forecast.intervals import estimate_mean
from socialcrawl.graph.known_graph import KnownGraph, KnownGraphSource
from socialcrawl.importance.strong_components import find_components
from socialcrawl.lab.experiments.sampling.file_worlds import TopicRequest, read_page_world, read_post_world
from socialcrawl.lab.experiments.sampling.generated_webs import TopicWebParameters, generate_web
from socialcrawl.lab.experiments.sampling.worlds import link_pages, list_sources
from socialcrawl.lab.generators.social_network import draw_accounts, draw_post_counts, draw_ties
from socialcrawl.lab.generators.twitterlike import generate_twitter_like
from socialcrawl.lab.instant import SequenceStore, make_parts
from socialcrawl.text.terminal import write_line

WALKS = ("max-degree", "socialcrawl_baselines:MetropolisHastings")
BUDGETS = (300, 1_200)  # requests of all walks together
WALKERS, BURN_IN, HITS = 4, 10, 20  # walks start at accounts among the HITS with most neighbours
HELD = 0.3  # the share of a graph that a breadth-first crawl holds, from which its size is estimated
MEASURES = ("share on topic", "number of accounts", "mean number of neighbours")
Flags = NDArray[np.bool_]


def list_graphs(asked: argparse.Namespace) -> Iterator[tuple[str, KnownGraph, Flags]]:
    """Yield the graphs, each with its name and the accounts on topic, bool[n]."""
    for seed in (1, 2):
        web = generate_web(TopicWebParameters(6_000, 0.01, seed))
        yield f"generated web, seed {seed}, topic cycling", web.graph, web.topics["cycling"].on
    for seed in (1, 2):
        people = draw_post_counts(draw_accounts(6_000, 0, 12, seed), 25.0, 0, seed)
        ties = draw_ties(people, 0.6, seed)
        graph = link_pages(np.repeat(np.arange(6_000), np.diff(ties.first)), ties.known, 6_000)
        yield f"generated followers, seed {seed}, topic 0", graph, people.topic == 0
    graph = generate_twitter_like(12_000, 60_000, 0.2, seed=1)
    yield "generated mentions, seed 1, fifth on topic", graph, graph.beta > 0
    if asked.posts:
        world = read_post_world(asked.posts, [TopicRequest(asked.post_topic)])
        yield f"mentions in chat, topic {asked.post_topic}", world.graph, world.topics[asked.post_topic].on
    if asked.pages:
        world = read_page_world(asked.pages, [TopicRequest(asked.page_topic)])
        yield f"encyclopedia pages, topic {asked.page_topic}", world.graph, world.topics[asked.page_topic].on


def undirect(graph: KnownGraph, on: Flags) -> tuple[KnownGraph, Flags]:
    """Return the largest connected part of a graph with all links both ways, and who of it is on topic.

    All accounts have the value 1: walks go anywhere, and each draw counts.
    """
    begin, end = list_sources(graph), np.asarray(graph.indices, np.int64)
    both = link_pages(np.concatenate((begin, end)), np.concatenate((end, begin)), graph.size)
    label = find_components(both.indptr, np.asarray(both.indices, np.int64))
    kept = label == np.bincount(label).argmax()
    number = np.cumsum(kept) - 1
    begin, end = list_sources(both), np.asarray(both.indices, np.int64)
    part = link_pages(number[begin[kept[begin]]], number[end[kept[begin]]], int(kept.sum()))
    return KnownGraph(part.indptr, part.indices, np.ones(part.links), np.ones(part.size)), on[kept]


def collect_breadth_first(graph: KnownGraph) -> Flags:
    """Return what a crawl holds that began with the account of most neighbours, bool[n]."""
    line = [int(np.diff(graph.indptr).argmax())]
    held = np.zeros(graph.size, np.bool_)
    held[line] = True
    for node in line:  # grows while it is read
        for other in graph.list_links(node)[0].tolist():
            if not held[other] and len(line) < HELD * graph.size:
                held[other] = True
                line.append(other)
    return held


def measure_walk(graph: KnownGraph, on: Flags, held: Flags, walk: str, *, seed: int, budget: int) -> dict[str, float]:
    """Return the relative errors of one crawl, by measure, and how it spent its requests."""
    degree = np.diff(graph.indptr)
    hits = np.argsort(-degree, kind="stable")[:HITS]
    starts = make_generator(seed, "starts", 0).permutation(hits)[:WALKERS].tolist()
    rules = WalkRules("none", walkers=WALKERS, burn_in=BURN_IN, inward=False, seed=seed, walk=walk)
    crawl = Sample(Seeds(names=[Node(start) for start in starts], known=True), rules, budget)
    run(make_parts(crawl, KnownGraphSource(graph), SequenceStore()), size=WALKERS)
    rows = crawl.list_visits()
    series = Series.of(np.where(rows.kept, rows.weight, 0.0), rows.walker)
    found = (
        (series.estimate_share(on[rows.node]), on.mean()),
        (estimate_size(series.estimate_share(held[rows.node]), int(held.sum())), graph.size),
        (series.estimate_mean(degree[rows.node].astype(np.float64)), degree.mean()),
    )
    spent = {"draws": float(len(rows.node)), "unvisited": 1.0 - len(np.unique(rows.node)) / crawl.taken}
    spent["inside"] = float(np.mean([one.contains(truth) for one, truth in found]))
    errors = {name: abs(one.value / truth - 1.0) for name, (one, truth) in zip(MEASURES, found, strict=True)}
    return {**errors, **spent}


def compare(graph: KnownGraph, on: Flags, runs: int, budget: int) -> dict[str, list[dict[str, float]]]:
    """Return what the runs of each walk measured, in the order of their seeds."""
    held = collect_breadth_first(graph)
    return {
        walk: [measure_walk(graph, on, held, walk, seed=seed, budget=budget) for seed in range(runs)] for walk in WALKS
    }


def format_rows(found: dict[str, list[dict[str, float]]]) -> Iterator[str]:
    """Yield a cell for each measure: mean error of the built-in walk, of the other one, and the paired difference."""
    for name in MEASURES:
        one, other = (np.array([row[name] for row in found[walk]]) for walk in WALKS)
        gap = estimate_mean(other - one)
        yield f"{one.mean():.1%}, {other.mean():.1%}: {gap.low:+.1%} to {gap.high:+.1%}"
    for name, form in (("draws", ",.0f"), ("unvisited", ".0%"), ("inside", ".0%")):
        yield ", ".join(format(float(np.mean([row[name] for row in found[walk]])), form) for walk in WALKS)


def main(words: list[str] | None = None) -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name, kind, usual in (("pages", Path, None), ("posts", Path, None), ("page-topic", str, "music"),
                              ("post-topic", str, "kernel"), ("runs", int, 40)):  # fmt: skip
        given: dict[str, Any] = {"type": kind, "default": usual}
        parser.add_argument(f"--{name}", **given)
    asked = parser.parse_args(words)
    headings = ("graph (accounts, links)", "requests", *MEASURES, "draws", "read, not visited", "truth in interval")
    write_line(f"| {' | '.join(headings)} |")
    write_line("|---" * len(headings) + "|")
    for name, whole, topic in list_graphs(asked):
        graph, on = undirect(whole, topic)
        for budget in BUDGETS:
            cells = " | ".join(format_rows(compare(graph, on, asked.runs, budget)))
            write_line(f"| {name} ({graph.size:,}, {graph.links // 2:,}) | {budget:,} | {cells} |")


if __name__ == "__main__":
    main()
