"""How often the truth lies in the interval: many crawls of each kind, each asked what the audit of a campaign asks.

    held             the share of the topic that a collected dataset has
    size             how many pages the topic has: on-topic pages held, over that share
    popular          the share that a search has which knows the most famous pages only
    largest domain   the share of the topic's largest domain
    the parts        the shares of sub-topics

The truth is that of the pages which the walk can reach; what it cannot, no interval knows of: `all` is the truth of the
whole topic.
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from socialcrawl.crawls.sample.audit import estimate_size
from socialcrawl.crawls.sample.estimates import Estimate, Series
from socialcrawl.crawls.sample.rules import WalkRules
from socialcrawl.lab.experiments.sampling.known_walks import WalkSetup, choose_starts, walk_method, widen_topic
from socialcrawl.lab.experiments.sampling.truths import find_reached
from socialcrawl.lab.experiments.sampling.worlds import Flags, InlinkSearch, PageTopic, PageWorld
from socialcrawl.lab.process_pool import CrawlJob, compute_fingerprint
from socialcrawl.lab.result_tables import Table, make_table

FAMOUS = 0.3  # share of all pages that a search has which knows the most famous ones


@dataclass(frozen=True, eq=False)
class Questions:
    """What is asked of a crawl, and of which pages the answer is to be.

    Attributes:
        asked: bool[n] each, by name.
        on: bool[n], the topic.
        within: bool[n], the part of it that the walk can reach.
        wider: bool[n], the topic above it, if the walk looks at that.
    """

    asked: Mapping[str, Flags]
    on: Flags
    within: Flags
    wider: Flags | None = None


def draw_dataset(world: PageWorld, topic: PageTopic, share: float, seed: int) -> Flags:
    """Return a dataset to audit, bool[n]: what a breadth-first focused crawl has when it has so much of the topic.

    It begins with a famous page of the topic, follows links from pages on topic only, and finds famous pages rather
    than others, as crawls do: its errors are not those of a random sample. Where it ends early, it starts again.
    """
    within = find_reached(world, topic, "hard")
    wanted = max(1, round(share * int(within.sum())))
    held = np.zeros(world.size, bool)
    line = choose_starts(world, topic, 1, seed)
    rest = np.flatnonzero(within).tolist()
    place = 0
    while wanted:
        if place == len(line):
            line.append(next(page for page in rest if not held[page]))
        page = line[place]
        place += 1
        if held[page]:
            continue
        held[page] = True
        wanted -= 1
        line += [to for to in world.graph.list_links(page)[0].tolist() if within[to] and not held[to]]
    return held


def find_popular(world: PageWorld) -> Flags:
    """Return the pages, bool[n], that most link to: as many as a search has which knows the famous ones."""
    known = np.bincount(world.graph.indices, minlength=world.size)
    found = np.zeros(world.size, bool)
    found[np.argsort(-known, kind="stable")[: round(FAMOUS * world.size)]] = True
    return found


def list_questions(world: PageWorld, topic: PageTopic, held: Flags) -> dict[str, Flags]:
    """Return what is asked of a sample, bool[n] each, by name."""
    on = topic.on & world.there
    largest = int(np.argmax(np.bincount(world.domain[on])))
    asked = {"held": held, "popular": find_popular(world), "largest domain": world.domain == largest}
    return {**asked, **topic.parts}


def list_jobs(world: PageWorld, topic: PageTopic, method: str, setup: WalkSetup, held: Flags) -> list[CrawlJob]:
    """Return the audits of a topic by a method, one a run."""
    asked, on = list_questions(world, topic, held), topic.on & world.there
    mark = compute_fingerprint(
        world.graph.indptr, world.graph.indices, topic.on, world.there, world.domain, *asked.values()
    )
    made = []
    for number in range(setup.runs):
        how = setup.make_rules(method, number)
        within = find_reached(world, topic, how.focus, how.k)
        begin = choose_starts(world, topic, how.walkers, how.seed)
        wider = widen_topic(topic, how)
        said = ["sampling audit 2", mark, *asked, *astuple(how), *astuple(setup.search), *begin]
        said += [] if wider is None else [compute_fingerprint(wider)]
        made.append(CrawlJob(said, run_audit, (world, how, setup.search, begin, Questions(asked, on, within, wider))))
    return made


def run_audit(world: PageWorld, how: WalkRules, search: InlinkSearch, begin: Sequence[int], asking: Questions) -> Table:
    """Return the answers of one crawl, a row a question.

    Columns: question, value, low, high, effective, truth, all, and of the crawl fetches, jumps, visits, precision and
    enough (see `walk_method`).
    """
    visits = walk_method(world, PageTopic("asked", asking.on, wider=asking.wider), how, search, begin)
    series = Series.of(visits["weight"], visits["walk"], world.domain[visits["node"]])
    row: dict[str, Any] = {name: int(visits[name][0]) for name in ("fetches", "jumps")}
    row["visits"] = series.visits
    row |= {"precision": float(visits["precision"][0]), "enough": bool(visits["enough"][0])}
    within, on_topic = asking.within, asking.on
    rows: list[dict[str, Any]] = []
    for name, flags in asking.asked.items():
        found = series.estimate_share(flags[visits["node"]])
        truths = {"truth": float(flags[within].mean()), "all": float(flags[on_topic].mean())}
        rows.append({"question": name, **_answer(found), **truths, **row})
        if name == "held":
            truths = {"truth": float(within.sum()), "all": float(on_topic.sum())}
            guess = estimate_size(found, int((flags & on_topic).sum()))
            rows.append({"question": "size", **_answer(guess), **truths, **row})
    return make_table(rows)


def _answer(found: Estimate) -> dict[str, float]:
    return {"value": found.value, "low": found.low, "high": found.high, "effective": found.effective}


def measure_coverage(runs: Table) -> dict[str, float]:
    """Return what many crawls say of one question together.

    Returns:
        runs; shown: in how many there was enough data; inside: how many intervals of these have the truth of what is
        reached; inside_all: of the whole topic; mean: of the estimates; width: of the finite intervals, on average;
        truth, all, effective, visits, fetches, precision, jumps: means over the crawls, whose worlds may differ.
    """
    shown = runs["enough"]
    low, high = runs["low"][shown], runs["high"][shown]
    width = (high - low)[np.isfinite(high - low)]
    means = {name: float(np.mean(runs[name])) for name in ("effective", "visits", "fetches", "precision", "jumps")}
    return {
        "runs": float(len(shown)),
        "shown": float(len(low)),
        "inside": float(((low <= runs["truth"][shown]) & (runs["truth"][shown] <= high)).sum()),
        "inside_all": float(((low <= runs["all"][shown]) & (runs["all"][shown] <= high)).sum()),
        "truth": float(np.mean(runs["truth"])),
        "all": float(np.mean(runs["all"])),
        "mean": float(np.mean(runs["value"][np.isfinite(runs["value"])])),
        "width": float(width.mean()) if len(width) else float("inf"),
        **means,
    }
