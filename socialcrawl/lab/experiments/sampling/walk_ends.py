"""The ends of n walks against the last nodes of one, which reads as many pages (Bar-Yossef et al., section 3.2).

    ends          the last visit of each of n walks of a fixed length: independent, where walks are long enough to mix
    last nodes    the visits of one walk, without as many first ones as one of the n walks has (Aldous)
    second halves the second half of the visits of each of the n walks: not in the paper, and without another request

The n walks are made first. The one walk then goes on until it has read as many pages; visits to pages that were read
need no request, in both. Answers are those of `audit_coverage.Questions`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, replace
from typing import Any, Final

import numpy as np

from socialcrawl.crawls.sample.estimates import Series
from socialcrawl.crawls.sample.rules import WalkRules
from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments.sampling.audit_coverage import Questions, draw_dataset, list_questions
from socialcrawl.lab.experiments.sampling.known_walks import WalkSetup, choose_starts, walk_method, widen_topic
from socialcrawl.lab.experiments.sampling.truths import find_reached
from socialcrawl.lab.experiments.sampling.worlds import Flags, InlinkSearch, PageTopic, PageWorld
from socialcrawl.lab.process_pool import CrawlJob, compute_fingerprint
from socialcrawl.lab.result_tables import Table, make_table

HELD: Final = 0.4  # share of the topic that the dataset has of which is asked how much of the topic it has
SCHEMES: Final = ("ends", "last nodes", "second halves")


def choose_counts(walkers: int) -> tuple[int, ...]:
    """Return how many walks there are, n: an eighth of `walkers`, a quarter, half and all, at least 2.

    Raises:
        SettingsError: there is one walk.
    """
    if walkers < 2:
        raise SettingsError("The ends of one walk are one account: give --walkers 2 or more.")
    return tuple(sorted({max(2, walkers // part) for part in (8, 4, 2, 1)}))


def list_jobs(world: PageWorld, topic: PageTopic, method: str, setup: WalkSetup) -> list[CrawlJob]:
    """Return the comparisons of a topic by a method, one a run and number of walks.

    Raises:
        SettingsError: there is no such method, or no wider topic for it.
    """
    made = []
    for number in range(setup.runs):
        how = replace(setup.make_rules(method, number), burn_in=0)
        asked = list_questions(world, topic, draw_dataset(world, topic, HELD, how.seed))
        within, wider = find_reached(world, topic, how.focus, how.k), widen_topic(topic, how)
        asking = Questions(asked, topic.on & world.there, within, wider)
        mark = compute_fingerprint(world.graph.indptr, world.graph.indices, topic.on, world.domain, *asked.values())
        for walkers in choose_counts(setup.walkers):
            begin = choose_starts(world, topic, walkers, how.seed)
            there = replace(how, walkers=walkers)
            said = ["sampling ends", mark, *astuple(there), *astuple(setup.search), *begin]
            said += [] if wider is None else [compute_fingerprint(wider)]
            made.append(CrawlJob(said, compare_samples, (world, there, setup.search, begin, asking)))
    return made


def compare_samples(
    world: PageWorld, how: WalkRules, search: InlinkSearch, begin: Sequence[int], asking: Questions
) -> Table:
    """Return how good the samples of one run are, a row each.

    Columns: scheme (one of SCHEMES), seed, walks (n), read (pages), visits (that count), and of the questions whose
    truth is above 0 the mean effective (size), error (100 * |share - truth| / truth), width (of the interval, in the
    same unit) and inside (the share of the intervals that hold the truth).
    """
    rows = []
    for scheme, visits, kept in _take_samples(world, how, search, begin, asking):
        series = Series.of(visits["weight"][kept], visits["walk"][kept], world.domain[visits["node"][kept]])
        answers = []
        for flags in asking.asked.values():
            if not (truth := float(flags[asking.within].mean())):  # errors are shares of it
                continue
            found = series.estimate_share(flags[visits["node"][kept]])
            off, width = 100 * abs(found.value - truth) / truth, 100 * found.width / truth
            answers.append((found.effective, off, width, float(found.contains(truth))))
        means = dict(zip(("effective", "error", "width", "inside"), np.mean(answers, axis=0).tolist(), strict=True))
        first: dict[str, Any] = {"scheme": scheme, "seed": how.seed, "walks": how.walkers}
        rows.append({**first, "read": int(visits["fetches"][0]), "visits": series.visits, **means})
    return make_table(rows)


def _take_samples(
    world: PageWorld, how: WalkRules, search: InlinkSearch, begin: Sequence[int], asking: Questions
) -> Iterator[tuple[str, Table, Flags]]:
    """Yield the samples by name: all visits of a crawl, and which of them are in the sample."""
    topic = PageTopic("asked", asking.on, wider=asking.wider)
    several = walk_method(world, topic, how, search, begin)
    place = np.arange(len(several["walk"]))
    first = np.searchsorted(several["walk"], several["walk"], side="left")
    after = np.searchsorted(several["walk"], several["walk"], side="right")
    alone = replace(how, walkers=1, length=None)
    one = walk_method(world, topic, alone, search, begin[:1], most=int(several["fetches"][0]))
    yield "ends", several, place == after - 1
    yield "last nodes", one, np.arange(len(one["walk"])) >= len(place) // how.walkers
    yield "second halves", several, 2 * (place - first) >= after - first
