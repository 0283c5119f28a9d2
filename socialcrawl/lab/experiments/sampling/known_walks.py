"""Walks in known worlds: the crawl of `kind = "sample"` on the loop of live ones, each kept as a table of visits."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any

import numpy as np

from socialcrawl.crawls.sample.crawl import Sample
from socialcrawl.crawls.sample.evidence import gather_evidence
from socialcrawl.crawls.sample.rules import WalkRules
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.draws import make_generator
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Node
from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments.sampling.truths import find_reached
from socialcrawl.lab.experiments.sampling.worlds import Flags, InlinkSearch, PageTopic, PageWorld, WalkedSource
from socialcrawl.lab.instant import SequenceStore, make_parts
from socialcrawl.lab.process_pool import CrawlJob, compute_fingerprint
from socialcrawl.lab.result_tables import Table, join_tables
from socialcrawl.system.garbage_collection import pause_garbage_collection
from socialcrawl.text.wording import explain_unknown

HITS = 20  # a walk begins with one of this many most linked pages of the topic: what a search would show first
METHODS: Mapping[str, Mapping[str, Any]] = {
    "none": {"focus": "none"},
    "hard": {"focus": "hard"},
    "hard, all tested": {"focus": "hard", "exact": True},
    "neighbourhood": {"focus": "neighbourhood"},
    "neighbourhood, crude": {"focus": "neighbourhood", "crude": True},
    "trial": {"focus": "trial"},
    "trial, printed": {"focus": "trial", "corrected": False},
    "ancestor": {"focus": "ancestor"},
}
TOGETHER = 64  # pages fetched at once, where a walk needs that many: neighbours that are tested, short walks
PAPER = ("hard", "neighbourhood", "trial")
"""The methods that the paper compares, by the names of the table above."""


@dataclass(frozen=True)
class WalkSetup:
    """How walks are made that are to be compared.

    Attributes:
        length: steps of each walk, free ones apart.
        burn_in: on-topic visits of each that do not count.
        walkers: independent walks of a crawl.
        runs: crawls of each kind, from other pages and with other draws.
        seed: of the first of them; the others follow.
        search: what the walks are shown of in-links.
        k: of trial and error, on which the paper is silent.
        more: other fields of `WalkRules`.
    """

    length: int = 10_000
    burn_in: int = 1_000
    walkers: int = 1
    runs: int = 3
    seed: int = 1
    search: InlinkSearch = field(default_factory=InlinkSearch)
    k: int = 1
    more: Mapping[str, Any] = field(default_factory=dict)

    def make_rules(self, method: str, run_: int) -> WalkRules:
        """Return the rules of crawl number `run_` by a method.

        Raises:
            SettingsError: there is no such method.
        """
        if method not in METHODS:
            raise SettingsError(explain_unknown("method", method, METHODS))
        plain = WalkRules(
            inward=self.search.covers > 0,
            length=self.length,
            burn_in=self.burn_in,
            walkers=self.walkers,
            seed=self.seed + run_,
        )
        special: dict[str, Any] = {**METHODS[method], **self.more}
        if plain.k != self.k and special["focus"] == "trial":
            special["k"] = self.k
        return replace(plain, **special)


def choose_starts(world: PageWorld, topic: PageTopic, number: int, seed: int) -> list[int]:
    """Return pages for walks to begin with, drawn from the HITS that most link to; of what a hard focus reaches.

    The paper takes "the top hit in Google".
    """
    within = np.flatnonzero(find_reached(world, topic, "hard"))
    known = np.bincount(world.graph.indices, minlength=world.size)[within]
    hits = within[np.argsort(-known, kind="stable")[: max(HITS, number)]]
    drawn: list[int] = make_generator(seed, "starts", 0).permutation(hits)[:number].tolist()
    return drawn


def list_methods(topic: PageTopic) -> tuple[str, ...]:
    """Return the methods by which a topic can be sampled: all, or all but the ancestor's, where none is known."""
    return tuple(name for name, how in METHODS.items() if how["focus"] != "ancestor" or topic.wider is not None)


def widen_topic(topic: PageTopic, how: WalkRules) -> Flags | None:
    """Return the pages of the wider topic, bool[n], if walks look at it.

    Raises:
        SettingsError: none is known.
    """
    return topic.above if how.focus == "ancestor" else None


def list_jobs(world: PageWorld, topic: PageTopic, method: str, setup: WalkSetup) -> list[CrawlJob]:
    """Return the crawls of a topic by a method, one a run.

    Raises:
        SettingsError: there is no such method, or no wider topic for it.
    """
    graph = world.graph
    print_ = compute_fingerprint(graph.indptr, graph.indices, topic.on, world.there)
    made = []
    for number in range(setup.runs):
        how = setup.make_rules(method, number)
        begin = choose_starts(world, topic, how.walkers, how.seed)
        wider = widen_topic(topic, how)
        said = ["sampling 2", print_, *astuple(how), *astuple(setup.search), *begin]
        said += [] if wider is None else [compute_fingerprint(wider)]
        made.append(CrawlJob(said, walk_method, (world, topic, how, setup.search, begin)))
    return made


def walk_method(
    world: PageWorld,
    topic: PageTopic,
    how: WalkRules,
    search: InlinkSearch,
    begin: Sequence[int],
    *,
    most: int | None = None,
) -> Table:
    """Return the visits of one crawl, a row each, in the order of each walk; `most`: pages that it reads, at most.

    Columns: walk, node, on (whether it is on topic), degree, weight (0 for what does not count: off topic, or within
    the burn-in), and the same in each row: fetches (pages read), asked (searches for in-links), jumps (out of traps),
    precision (on-topic share of visits), enough (whether estimates would be shown; see crawls/sample/mixing.py).
    """
    crawl = Sample(Seeds(names=[Node(page) for page in begin], known=True), how, most)
    tape = SequenceStore()
    with pause_garbage_collection():
        run(
            make_parts(crawl, WalkedSource(world, topic.on, search, widen_topic(topic, how)), tape),
            size=max(how.walkers, TOGETHER),
        )
    found = crawl.list_visits()
    weight = np.where(found.kept & found.on_topic, found.weight, 0.0)
    count = len(weight)
    return {
        "walk": found.walker.astype(np.int64),
        "node": found.node.astype(np.int64),
        "on": found.on_topic.astype(bool),
        "degree": found.degree.astype(np.float64),
        "weight": weight,
        "fetches": np.full(count, crawl.taken),
        "asked": np.full(count, len(tape.nodes) - crawl.taken),
        "jumps": np.full(count, int(np.sum(found.jumps))),
        "precision": np.full(count, found.precision),
        "enough": np.full(count, gather_evidence(crawl.walks, found).verdict.enough),
    }


def join_runs(runs: Sequence[Table]) -> Table:
    """Return the visits of several crawls as one sample, with a column `run`; all walks have different numbers."""
    numbered = []
    for number, one in enumerate(runs):
        walks = int(one["walk"].max(initial=0)) + 1
        numbered.append({**one, "walk": one["walk"] + number * walks, "run": np.full(len(one["walk"]), number)})
    return join_tables(numbered)
