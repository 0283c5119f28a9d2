"""A small version of `make coverage ONLY=captures`: intervals of the posts in all hold them."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from test_house import ROOT

sys.path.insert(0, str(ROOT))

from benchmarks.coverage import captures
from benchmarks.coverage.table import covered
from socialcrawl.crawls.capture.crawl import Capture
from socialcrawl.crawls.capture.rules import EVEN, CaptureRules
from socialcrawl.engine.model import Node, parse_time
from socialcrawl.engine.time_spans import parse_span

QUERIES = (Node(-1), Node(-2))
DAY = 86_400.0
RULES = CaptureRules(captures.BEGIN, captures.BEGIN + 20 * DAY, EVEN, parts=10, pages=2)


def a_history(page=10):
    rng = np.random.default_rng(3)
    posts = {query: RULES.begin + np.sort(rng.uniform(0.0, 20 * DAY, 400)) for query in QUERIES}
    return posts, captures.read_all(Capture(RULES, QUERIES, 1), posts, page, RULES.end)


def test_intervals_of_the_posts_in_all_hold_them():
    corpus = captures.generate_corpus(copies=1)
    shown = [one for number in range(40, 80) for one in captures.find_volumes(corpus, number)]
    mine = {row: covered(one for one in shown if one.interval == row) for row in {one.interval for one in shown}}
    for row in ("all runs", "all runs, 32 parts", "all runs, 256 parts", "two or three queries", "bursty words"):
        assert mine[row].shown >= 0.3 * mine[row].runs > 10, (row, mine[row])
        assert mine[row].share >= 0.9, (row, mine[row])
    kinds = [row for row in mine if row.endswith(("posts", "posts or more")) and not row.startswith("`")]
    assert sum(mine[row].runs for row in kinds) + mine["two or three queries"].runs == mine["all runs"].runs == 320


def test_a_history_has_every_post_and_slices_that_were_full():
    posts, history = a_history()
    for query in QUERIES:
        read = np.concatenate([one.times for one in history if one.batch[0].node == query])
        assert set(read) == set(posts[query])
        assert len(read) < len(posts[query]) + len(history), "a second of which posts were read is read again"
    cut = [one for one in history if one.outcome.mark]
    assert cut
    for one in cut:
        begin, end = parse_span(one.batch[0].since)
        assert begin < parse_time(one.outcome.mark) < end
        assert one.outcome.posts == len(one.times) == 20


def test_a_second_with_more_posts_than_a_pick_may_read_is_read_on():
    _, history = a_history()
    pick = replace(history[0].batch[0], since="2026-01-01T00:00:00Z/2026-01-01T00:01:00Z")
    times = captures.BEGIN + np.sort(np.append(np.linspace(59.1, 59.9, 7), [3.5, 4.5]))
    outcome, read = captures.read_slice(pick, times, 3)
    assert (outcome.posts, outcome.mark) == (9, "")
    assert read.tolist() == times.tolist()


@pytest.mark.parametrize("budget", [0, 5, 9, 10, 11, 20, 123, 300, 795])
def test_a_budget_ends_a_capture_as_its_report_shows_it(budget):
    """What is complete holds posts that were read, and pages are full but for the last one."""
    posts, history = a_history()
    crawl = Capture(RULES, QUERIES, 1)
    captures.stop(crawl, history, budget, page=10)
    read = sum(one.posts for one in crawl.read)
    assert budget - captures.SMALLEST < read <= budget
    for one in crawl.read:
        times = posts[one.whole.query]
        assert one.posts >= np.count_nonzero((times >= one.begin) & (times < one.end))
    spans = sum(one.end - one.begin for one in (*crawl.read, *crawl.pending.values()))
    assert crawl.until is None or spans == pytest.approx(len(QUERIES) * 20 * DAY)


def test_a_budget_of_everything_reads_everything():
    _, history = a_history()
    crawl, whole = Capture(RULES, QUERIES, 1), Capture(RULES, QUERIES, 1)
    captures.stop(crawl, history, 10**6, page=10)
    for one in history:
        whole.absorb(one.batch, [one.outcome])
    assert (crawl.read, crawl.pending) == (whole.read, {})


def test_generated_volumes_have_their_sizes_and_kinds():
    corpus = captures.generate_corpus(copies=2)
    assert len(corpus.words) == 2 * len(captures.KINDS) * len(captures.GENERATED)
    spread = {}
    for word in corpus.words:
        kind, size, _ = word.name.split()
        assert (np.diff(word.times) >= 0).all()
        assert corpus.begin <= word.times[0] <= word.times[-1] < corpus.end
        assert len(word.times) == pytest.approx(int(size.replace(",", "")), rel=0.5)
        counts = np.histogram(word.times, 64, (corpus.begin, corpus.end))[0]
        if size == "10,000":
            spread[kind] = counts.std() / counts.mean()
    assert spread["even"] < 0.15
    assert min(spread[kind] for kind in ("trend", "periodic", "bursts")) > 0.3


def test_the_worst_words_are_those_whose_intervals_hold_the_truth_least_often():
    def shown(word, held, withheld=0):
        runs = [captures.Shown(f"`{word}`, 9 posts", "a corpus", "20%", 0.0, 2.0 * hold, 1.0) for hold in held]
        return runs + [replace(runs[0], low=None, high=None)] * withheld

    found = [*shown("a", [1, 1]), *shown("b", [0, 1]), *shown("c", [0, 0], 3), *shown("d", [0, 0, 1]), *shown("e", [1])]
    found += [replace(found[0], interval="all runs", high=0.0)]
    worst = captures.list_worst(found)
    assert list(dict.fromkeys(one.interval[1] for one in worst)) == ["d", "b", "a"]
