"""Accounts that are found by searches, as a pure crawl: a folded history chooses as one that was lived through."""

from math import inf

import numpy as np
import pytest

from socialcrawl.crawls.capture.rules import CaptureRules
from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import make_estimator
from socialcrawl.crawls.collect.slice_queue import SliceQueue
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.model import Act, Node, Outcome, Reason, Stop, format_time
from socialcrawl.engine.time_spans import parse_span

HOUR = 3_600.0
NOW = 40 * HOUR


def make_crawl(seed, *, alone, estimator="nh-ne-sum", steps=None):
    rules = CaptureRules(0.0, parts=12)
    queries = [Node(-1), Node(-2)][: 1 + seed % 2]
    slices = SliceQueue(rules, queries, seed, inf if alone else 30 * HOUR, alone=alone)
    seeds = Seeds([], [Node(3), Node(4)] if seed % 3 == 0 else [], known=True)
    chosen = make_estimator(estimator, seed=seed, switch_after=6)
    return Collect(seeds, chosen, steps, lambda act: 5 if act == Act.MATCH else 1, pages=2, slices=slices)


def draw_outcome(pick, rng):
    """What may come of a pick: authors of a span that may be full, posts of an account, or nothing."""
    some = rng.choice(60, rng.integers(0, 6), replace=False).astype(np.int64)
    if rng.random() < 0.08:
        why = [Reason.TEMPORARY, Reason.EXCLUDED, Reason.FORGOTTEN, Reason.UNREACHABLE][rng.integers(4)]
        return Outcome(pick.n, pick.node, 1.0, missing=why)
    if pick.act == Act.SEARCH:
        begin, end = parse_span(pick.since)
        full = end - begin > HOUR and rng.random() < 0.3
        mark = format_time(end - HOUR) if full else ""
        return Outcome(pick.n, pick.node, 1.0, targets=some, alpha=np.zeros(len(some)), posts=len(some), mark=mark)
    own = some[some != pick.node]
    value = float(rng.integers(0, 4)) + (pick.n / 1e3 if pick.act == Act.PAGE else 0.0)
    return Outcome(pick.n, pick.node, 1.0, value, own, rng.random(len(own)), posts=7, mark="m")


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("estimator", ["nh-ne-sum", "bfs", "hybrid-sum"])
def test_a_history_that_is_folded_chooses_as_one_that_was_lived_through(alone, estimator):
    ends = set()
    for seed in range(6):
        rng = np.random.default_rng([seed, alone])
        lived = make_crawl(seed, alone=alone, estimator=estimator)
        history = []
        while len(history) < 400:
            choice = lived.choose(2, NOW)
            assert lived.choose(2, NOW) == choice, "choosing changes nothing"
            if len(history) % 7 == 0:
                folded = make_crawl(seed, alone=alone, estimator=estimator)
                folded.fold(history)
                folded.fold(history)
                assert folded.choose(2, NOW) == choice
                assert (folded.taken, folded.relevance, folded.seed_relevance) == (
                    lived.taken, lived.relevance, lived.seed_relevance)  # fmt: skip
            if isinstance(choice, Stop):
                ends.add(choice.kind)
                break
            assert choice
            outcomes = [draw_outcome(pick, rng) for pick in choice]
            lived.absorb(choice, outcomes)
            history.append((choice, outcomes))
        else:
            raise AssertionError("it never ends")
    assert ends == {"done"}


def test_no_account_is_read_twice_from_the_same_search_nor_for_the_first_time_again():
    rng = np.random.default_rng(5)
    crawl = make_crawl(1, alone=True)
    seen = []
    while not isinstance(choice := crawl.choose(3, NOW), Stop):
        seen += [(pick.node, pick.act, pick.since) for pick in choice if pick.act != Act.SEARCH]
        crawl.absorb(choice, [draw_outcome(pick, rng) for pick in choice])
    assert len(seen) == len(set(seen)) > 40
    first = [node for node, act, _ in seen if act == Act.MATCH]
    assert len(first) == len(set(first)) == crawl.taken


def test_steps_end_it_between_two_authors_of_the_same_search():
    rng = np.random.default_rng(2)
    crawl = make_crawl(1, alone=True, steps=4)
    while not isinstance(choice := crawl.choose(1, NOW), Stop):
        crawl.absorb(choice, [draw_outcome(pick, rng) for pick in choice])
    assert crawl.taken == 4
    assert "limit of 4 steps" in choice.why


def test_a_time_that_ends_before_the_first_post_stops_with_what_to_do():
    slices = SliceQueue(CaptureRules(10 * HOUR, 9 * HOUR), [Node(-1)], 0, inf, alone=True)
    estimator = make_estimator("bfs", seed=0)
    crawl = Collect(Seeds([], [], known=True), estimator, None, pages=2, slices=slices)
    choice = crawl.choose(1, NOW)
    assert isinstance(choice, Stop)
    assert "set until under [topic] to a later day" in choice.why
