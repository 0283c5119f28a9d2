"""A capture reads every post of its span once, whatever the order, however full its slices are and whenever it dies."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialcrawl.crawls.capture.crawl import PAGE, Capture
from socialcrawl.crawls.capture.kind import CaptureKind
from socialcrawl.crawls.capture.report import merge_spans
from socialcrawl.crawls.capture.rules import LAG, ORDERS, ROUNDING, CaptureRules
from socialcrawl.crawls.capture.slices import count_parts, cut_rest, cut_span, plan_slices
from socialcrawl.crawls.seeds import TRIES
from socialcrawl.engine.model import Act, Node, Outcome, Reason, StopKind, Wait, format_time
from socialcrawl.engine.span_counts import SpanCount, merge_counts, write_counts
from socialcrawl.engine.time_spans import find_next_second, parse_span, write_span

DAY = 86_400.0
BEGIN = 1_767_225_600.0  # 2026-01-01
NOW = BEGIN + 40 * DAY
QUERIES = (Node(-1), Node(-2))


class Archive:
    """Posts by query, of which a pick reads at most `limit`, the newest first; some picks fail."""

    def __init__(self, posts, limit=5, failing=()):
        self.posts, self.limit, self.failing = posts, limit, set(failing)
        self.read = {query: [] for query in posts}

    def answer(self, pick):
        begin, end = parse_span(pick.since)
        if pick.n in self.failing:
            return Outcome(pick.n, pick.node, NOW, missing=Reason.TEMPORARY)
        if pick.act == Act.COUNT:
            hours = Counter(max(begin, at // 3_600 * 3_600) for at in self.posts[pick.node] if begin <= at < end)
            counts = [SpanCount(begin, hours.pop(begin, 0)), *(SpanCount(*pair) for pair in hours.items())]
            return Outcome(pick.n, pick.node, NOW, mark=write_counts(merge_counts(counts, self.limit)))
        found = sorted((at for at in self.posts[pick.node] if begin <= at < end), reverse=True)
        some = found[: self.limit]
        while len(some) < len(found) and find_next_second(some[-1]) >= end:  # a second is read on, however full it is
            some = found[: len(some) + self.limit]
        rest = find_next_second(some[-1]) if len(some) < len(found) else None
        if rest is not None and rest <= begin:
            some, rest = found, None
        self.read[pick.node] += some
        mark = "" if rest is None else format_time(rest)
        return Outcome(pick.n, pick.node, NOW, posts=len(some), mark=mark)


def run(crawl, archive, *, size=1, now=NOW, most=10_000):
    """Drive a crawl until it stops or waits; return why, and the history."""
    history = []
    for _ in range(most):
        choice = crawl.choose(size, now)
        if not isinstance(choice, tuple):
            return choice, history
        assert choice == crawl.choose(size, now), "asked twice, the same answer"
        outcomes = [archive.answer(pick) for pick in choice]
        crawl.absorb(choice, outcomes)
        history.append((choice, outcomes))
    raise AssertionError("it does not end")


def state_of(crawl):
    counted = crawl.counted and (crawl.counted.left, crawl.counted.counts, crawl.counted.parts)
    return crawl.picks, crawl.taken, crawl.relevance, crawl.until, crawl.pending, crawl.read, crawl.failed, counted


TIMES = st.lists(st.integers(0, 40 * 86_400 - 1), max_size=60)
ARCHIVES = st.builds(
    lambda one, two, limit, failing: Archive(
        {query: [BEGIN + at for at in times] for query, times in zip(QUERIES, (one, two), strict=True)}, limit, failing
    ),
    TIMES, TIMES, st.integers(1, 7), st.sets(st.integers(0, 30), max_size=4),
)  # fmt: skip
RULES = st.builds(
    CaptureRules,
    begin=st.just(BEGIN),
    end=st.one_of(st.none(), st.integers(3_600, 30 * 86_400).map(lambda length: BEGIN + length)),
    order=st.sampled_from(ORDERS),
    parts=st.integers(1, 12),
    counts=st.booleans(),
)


@given(RULES, ARCHIVES, st.integers(1, 5))
def test_every_post_of_the_span_is_read_and_what_is_complete_is_the_whole_span(rules, archive, size):
    crawl, posts = Capture(rules, QUERIES, 7), archive.posts
    ending, history = run(crawl, archive, size=size)
    assert ending.kind == StopKind.DONE
    until = (NOW - LAG) // ROUNDING * ROUNDING if rules.end is None else rules.end
    if rules.counts:
        acts = [pick.act for batch, _ in history for pick in batch]
        assert acts == sorted(acts, key=lambda act: act != Act.COUNT), "counts come first"
        assert len(QUERIES) <= acts.count(Act.COUNT) <= TRIES * len(QUERIES)
    if crawl.failed:  # a slice that failed again and again
        assert len(archive.failing) >= TRIES
        return
    for query in QUERIES:
        wanted = Counter(at for at in posts[query] if rules.begin <= at < until)
        assert Counter(at for at in archive.read[query] if at < until) >= wanted, "of a second, all posts"
        spans = merge_spans((read.begin, read.end) for read in crawl.read if read.whole.query == query)
        assert spans == [(rules.begin, until)]
    twin = Capture(rules, QUERIES, 7)
    twin.fold(history)
    assert state_of(twin) == state_of(crawl)
    twin.fold(history)
    assert state_of(twin) == state_of(crawl), "folding twice changes nothing"


@given(RULES, TIMES, st.integers(0, 40))
def test_whenever_it_dies_it_goes_on_with_the_same_choices(rules, times, place):
    posts = {query: [BEGIN + at for at in times] for query in QUERIES}
    crawl, archive = Capture(rules, QUERIES, 3), Archive(posts)
    _, history = run(crawl, archive)
    twin = Capture(rules, QUERIES, 3)
    twin.fold(history[:place])
    for batch, outcomes in history[place:]:
        assert twin.choose(1, NOW) == batch
        twin.absorb(batch, outcomes)
    assert state_of(twin) == state_of(crawl)


@given(RULES, TIMES, st.integers(0, 40))
def test_wherever_it_ends_what_it_calls_complete_was_read(rules, times, place):
    posts = {query: [BEGIN + at for at in times] for query in QUERIES}
    _, history = run(Capture(rules, QUERIES, 3), Archive(posts, limit=3))
    crawl, archive = Capture(rules, QUERIES, 3), Archive(posts, limit=3)
    for batch, _ in history[:place]:
        crawl.absorb(batch, [archive.answer(pick) for pick in batch])
    for read in crawl.read:
        inside = [at for at in posts[read.whole.query] if read.begin <= at < read.end]
        assert set(inside) <= set(archive.read[read.whole.query])
    complete = sum(read.end - read.begin for read in crawl.read)
    left = sum(one.end - one.begin for one in crawl.list_left())
    if crawl.until is not None:
        assert complete + left == pytest.approx(len(QUERIES) * (crawl.until - rules.begin)), "nothing is lost"


@pytest.mark.parametrize(
    ("order", "key"), [("newest", lambda span: -span[1]), ("oldest", lambda span: span[0])], ids=["newest", "oldest"]
)
def test_parts_are_read_in_the_order_of_time(order, key):
    crawl = Capture(CaptureRules(BEGIN, BEGIN + 10 * DAY, order, parts=10), QUERIES[:1], 1)
    _, history = run(crawl, Archive({QUERIES[0]: [BEGIN + 5.5 * DAY + i for i in range(12)]}))
    spans = [parse_span(pick.since) for batch, _ in history for pick in batch]
    assert len(spans) > 10, "a full slice was cut"
    assert spans == sorted(spans, key=key)


def test_even_parts_are_drawn_by_the_seed_and_one_part_is_read_to_its_end_before_the_next():
    rules = CaptureRules(BEGIN, BEGIN + 20 * DAY, "even", parts=20)
    posts = {query: [BEGIN + i * 3_600 for i in range(24 * 20)] for query in QUERIES}
    orders = []
    for seed in (1, 1, 2):
        crawl = Capture(rules, QUERIES, seed)
        run(crawl, Archive(posts))
        orders.append(list(dict.fromkeys(read.whole.part for read in crawl.read)))
        runs = [read.whole.part for read in crawl.read]
        assert [part for i, part in enumerate(runs) if i == 0 or runs[i - 1] != part] == orders[-1]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == list(range(20))


def test_a_slice_that_fails_comes_after_the_others_and_is_given_up_after_three_times():
    crawl = Capture(CaptureRules(BEGIN, BEGIN + 3 * DAY, parts=3), QUERIES[:1], 1)
    ending, history = run(crawl, Archive({QUERIES[0]: []}, failing={0, 3, 4}))
    spans = [batch[0].since for batch, _ in history]
    assert spans == [spans[0], spans[1], spans[2], spans[0], spans[0]]
    assert [(one.text, why) for one, why in crawl.failed] == [(spans[0], Reason.TEMPORARY)]
    assert "1 of 3 slices of time could not be read: `socialcrawl report` says which and why" in ending.why


def test_its_progress_is_the_share_of_the_time_that_is_complete():
    crawl = Capture(CaptureRules(BEGIN, BEGIN + 4 * DAY, parts=4), QUERIES[:1], 1)
    assert CaptureKind().describe_progress(crawl).found == "complete 0 %"
    batch = crawl.choose(3, NOW)
    crawl.absorb(batch, [Outcome(pick.n, pick.node, NOW, posts=5) for pick in batch])
    progress = CaptureKind().describe_progress(crawl)
    assert (progress.done, progress.found, progress.ahead) == ("slices read", "complete 75 %", "left 1")
    assert dict(progress.rows) == {"posts": "15 returned", "time": "complete 75 %: 3 slices read, 1 left"}


def test_without_an_end_it_reads_until_the_minute_before_it_began():
    crawl = Capture(CaptureRules(BEGIN, parts=2), QUERIES[:1], 1)
    batch = crawl.choose(5, NOW + 42.5)
    middle = BEGIN + 20 * DAY - 30
    assert [pick.since for pick in batch] == [write_span(middle, NOW - 60), write_span(BEGIN, middle)]
    assert {pick.x for pick in batch} == {(NOW - 60,)}
    assert {pick.act for pick in batch} == {Act.SLICE}
    crawl.absorb(batch, [Outcome(pick.n, pick.node, NOW) for pick in batch])
    assert crawl.choose(5, NOW + DAY).kind == StopKind.DONE


def test_a_span_that_has_not_begun_is_waited_for():
    choice = Capture(CaptureRules(NOW + DAY), QUERIES, 1).choose(1, NOW)
    assert choice == Wait(NOW + DAY + LAG + ROUNDING, "the span of time of the capture has not begun")


def test_an_end_that_is_to_come_is_waited_for_and_then_it_ends():
    rules = CaptureRules(BEGIN, NOW + 2 * 3_600, latest=3_600)
    crawl, posts = Capture(rules, QUERIES[:1], 1), [BEGIN + i * 1_800 for i in range(48 * 42)]
    archive, now, waits = Archive({QUERIES[0]: posts}, limit=50), NOW, 0
    while isinstance((ending := run(crawl, archive, now=now)[0]), Wait):
        assert ending.until > now
        now, waits = ending.until, waits + 1
    assert ending.kind == StopKind.DONE
    assert waits >= 2
    assert set(archive.read[QUERIES[0]]) == {at for at in posts if at < rules.end}


@given(st.lists(st.integers(0, 6 * 3_600), max_size=40), st.lists(st.integers(30, 5_000), min_size=1, max_size=30))
def test_new_posts_are_read_without_a_hole_however_long_it_was_away(times, rests):
    rules = CaptureRules(NOW - DAY, ongoing=True, soonest=60, latest=600)
    posts = {query: [NOW + at for at in times] for query in QUERIES}
    crawl, archive, now = Capture(rules, QUERIES, 1), Archive(posts), NOW
    for rest in rests:
        run(crawl, archive, size=1, now=now)
        now += rest
    for query in QUERIES:
        spans = merge_spans((read.begin, read.end) for read in crawl.read if read.whole.query == query)
        assert len(spans) == 1
        assert spans[0][0] == rules.begin
        assert {at for at in posts[query] if at < spans[0][1]} <= set(archive.read[query])


def test_the_more_new_posts_there_are_the_sooner_it_looks_again():
    waits = []
    for posts in (0, PAGE, 10 * PAGE, 10_000 * PAGE):
        crawl = Capture(CaptureRules(NOW - DAY, ongoing=True, soonest=60, latest=DAY / 2, parts=1), QUERIES[:1], 1)
        batch = crawl.choose(1, NOW)
        crawl.absorb(batch, [Outcome(0, QUERIES[0], NOW, posts=posts)])
        waits.append(crawl.choose(1, NOW).until - NOW)
    assert waits == sorted(waits, reverse=True)
    assert waits[0] == waits[1] == DAY / 2 + LAG
    assert waits[-1] == pytest.approx(60 + LAG, abs=ROUNDING)


def test_without_a_query_it_says_what_to_do():
    choice = Capture(CaptureRules(BEGIN, BEGIN + DAY), (), 1).choose(1, NOW)
    assert (choice.kind, "name keywords under [topic]" in choice.why) == (StopKind.FAILED, True)


def test_a_limit_of_steps_counts_slices():
    crawl = Capture(CaptureRules(BEGIN, BEGIN + 10 * DAY, parts=10), QUERIES, 1, steps=3)
    ending, history = run(crawl, Archive({query: [] for query in QUERIES}), size=2)
    assert sum(len(batch) for batch, _ in history) == 3
    assert ending.why == "the limit of 3 slices is reached"


@given(st.floats(0, 1e9).map(lambda at: float(int(at))), st.integers(1, 10**7), st.integers(1, 50))
def test_a_cut_span_is_covered_once_by_spans_of_whole_seconds(begin, length, count):
    spans = cut_span(begin, begin + length, count)
    assert spans[0][0] == begin
    assert spans[-1][1] == begin + length
    assert all(one[1] == other[0] for one, other in pairwise(spans))
    assert all(end > first and float(first).is_integer() for first, end in spans)
    assert len(spans) == min(count, length)


def test_no_part_is_shorter_than_an_hour_and_a_rest_is_cut_by_how_full_its_slice_was():
    assert count_parts(CaptureRules(BEGIN, parts=64), BEGIN + 5 * 3_600 + 1) == 5
    assert count_parts(CaptureRules(BEGIN, parts=64), BEGIN + 60) == 1
    (whole,) = plan_slices(CaptureRules(BEGIN, parts=1), QUERIES[:1], BEGIN + 100)
    pieces = cut_rest(whole, BEGIN + 75.25, 10)
    assert [(one.begin - BEGIN, one.end - BEGIN) for one in pieces] == [(0, 19), (19, 38), (38, 57), (57, 76)]
