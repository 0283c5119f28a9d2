"""A capture that reads a stream: the past, what comes, and what the stream did not replay, without a hole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_capture_crawl import BEGIN, DAY, NOW, QUERIES, Archive

from socialcrawl.crawls.capture.crawl import Capture
from socialcrawl.crawls.capture.live import EVERY
from socialcrawl.crawls.capture.report import merge_spans, subtract_spans
from socialcrawl.crawls.capture.rules import CaptureRules
from socialcrawl.crawls.registry import find_kind
from socialcrawl.crawls.seeds import TRIES
from socialcrawl.engine.model import Act, Outcome, Reason, Wait
from socialcrawl.engine.stream_places import Place, StreamPart, parse_turn

RULES = CaptureRules(BEGIN, parts=6, live=True, segment=20.0)
MISSED, FAILED = "missed", "failed"


class Stream:
    """A server that replays from any place, except where `ways` say that it is later, by pick number, or fails."""

    def __init__(self, posts, ways):
        self.posts, self.ways = sorted({at for times in posts.values() for at in times}), ways
        self.read = set()

    def answer(self, pick, now):
        turn, way = parse_turn(pick.since), self.ways.get(pick.n)
        if way == FAILED:
            return Outcome(pick.n, pick.node, now, missing=Reason.TEMPORARY)
        end = max(turn.place.at, now + turn.seconds - 1.5)
        begin = max(turn.place.at, end - 5.0) if way == MISSED else turn.place.at
        came = {at for at in self.posts if begin <= at < end}
        self.read |= came
        part = StreamPart(begin, Place(end, str(pick.n)))
        return Outcome(pick.n, pick.node, now, posts=len(came), mark=str(part))


def drive(crawl, archive, stream, *, rests, size):
    """Drive a crawl, whose time passes by what it waits for and by `rests`; return its history."""
    now, history = NOW, []
    for rest in rests:
        choice = crawl.choose(size, now)
        if isinstance(choice, Wait):
            assert choice.until > now
            now = min(choice.until, now + 4_000.0)
            continue
        assert choice == crawl.choose(size, now), "asked twice, the same answer"
        outcomes = [stream.answer(one, now) if one.act == Act.LIVE else archive.answer(one) for one in choice]
        now += max((parse_turn(one.since).seconds for one in choice if one.act == Act.LIVE), default=0.0)
        crawl.absorb(choice, outcomes)
        history.append((choice, outcomes))
        now += rest
    return history


@given(
    st.lists(st.integers(-86_400, 20_000), max_size=80),
    st.dictionaries(st.integers(0, 60), st.sampled_from([MISSED, FAILED]), max_size=20),
    st.lists(st.sampled_from([0.0, 1.0, 70.0, 900.0]), min_size=60, max_size=120),
    st.integers(1, 4),
)
def test_what_is_called_complete_was_read_and_nothing_between_is_forgotten(times, ways, rests, size):
    posts = {query: [NOW + at for at in times] for query in QUERIES}
    crawl, archive, stream = Capture(RULES, QUERIES, 1), Archive(posts, limit=50), Stream(posts, ways)
    history = drive(crawl, archive, stream, rests=rests, size=size)
    for query in QUERIES:
        read = [(one.begin, one.end) for one in crawl.read if one.whole.query == query]
        complete = merge_spans([*read, *crawl.live.spans])
        for begin, end in complete:
            wanted = {at for at in posts[query] if begin <= at < end}
            assert wanted <= {*archive.read[query], *stream.read}
        left = [(one.begin, one.end) for one in crawl.pending.values() if one.query == query]
        failed = [(one.begin, one.end) for one, _ in crawl.failed if one.query == query]
        known = merge_spans([*complete, *left, *failed])
        assert len(known) == 1, "whatever was not read is to be read, or said to have failed"
        assert known[0][0] == BEGIN
        assert crawl.live.place is None or known[0][1] >= int(crawl.live.place.at)
    again = Capture(RULES, QUERIES, 1)
    again.fold(history)
    assert (again.pending, again.read, again.live.spans, again.live.place, again.picks, again.relevance) == (
        crawl.pending, crawl.read, crawl.live.spans, crawl.live.place, crawl.picks, crawl.relevance,
    )  # fmt: skip


def test_the_stream_is_looked_at_first_and_again_between_slices_of_the_past():
    posts = {query: [BEGIN + i * 600 for i in range(5_000)] for query in QUERIES}
    crawl, archive, stream = Capture(RULES, QUERIES, 1), Archive(posts, limit=9), Stream(posts, {})
    history = drive(crawl, archive, stream, rests=[1.0] * 40, size=3)
    looks = [batch[0] for batch, _ in history if batch[0].act == Act.LIVE]
    assert history[0][0][0].act == Act.LIVE
    assert all(parse_turn(one.since).seconds == 0 for one in looks), "the past does not wait for it"
    slices = [sum(one.act == Act.SLICE for one in batch) for batch, _ in history]
    assert sum(slices) > 60
    assert len(looks) == pytest.approx(sum(slices) / (EVERY + 1), abs=3)


def test_once_the_past_is_read_it_waits_at_the_stream():
    crawl, archive, stream = Capture(RULES, QUERIES, 1), Archive({query: [] for query in QUERIES}), Stream({}, {})
    history = drive(crawl, archive, stream, rests=[0.0] * 60, size=4)
    turns = [parse_turn(batch[0].since) for batch, _ in history[-20:]]
    assert {turn.seconds for turn in turns} == {RULES.segment}
    assert all(len(batch) == 1 for batch, _ in history[-20:])


def test_what_the_stream_did_not_replay_is_searched_once_searches_can_find_it():
    crawl, archive = Capture(RULES, QUERIES, 1), Archive({query: [] for query in QUERIES})
    stream = Stream({}, {})
    drive(crawl, archive, stream, rests=[0.0] * 30, size=8)
    assert not crawl.pending
    now = crawl.live.place.at + 5_000.0
    stream.ways[crawl.picks] = MISSED
    batch = crawl.choose(1, now)
    crawl.absorb(batch, [stream.answer(batch[0], now)])
    missed = crawl.pending.values()
    assert {one.query for one in missed} == set(QUERIES)
    assert {one.act for one in crawl.choose(4, now)} == {Act.LIVE}, "a search would not find the newest posts yet"
    later = crawl.choose(4, max(one.end for one in missed) + 180.0)
    assert {one.act for one in later} == {Act.SLICE}


def test_a_stream_that_cannot_be_read_is_tried_again_later_and_later():
    crawl, archive = Capture(RULES, QUERIES, 1), Archive({query: [] for query in QUERIES})
    drive(crawl, archive, Stream({}, {}), rests=[0.0] * 30, size=8)
    now, waits = crawl.live.place.at, []
    for _ in range(TRIES + 8):
        choice = crawl.choose(4, now)
        if isinstance(choice, Wait):
            waits.append(choice.until - now)
            now = choice.until
            choice = crawl.choose(4, now)
        crawl.absorb(choice, [Outcome(one.n, one.node, now, missing=Reason.TEMPORARY) for one in choice])
    assert waits[0] == 60.0
    assert waits == sorted(waits)
    assert waits[-1] == 3_600.0
    batch = crawl.choose(4, now + DAY)
    crawl.absorb(batch, [Stream({}, {}).answer(one, now + DAY) for one in batch])
    assert crawl.live.retry_at is None


@pytest.mark.parametrize(
    ("behind", "said"), [(40.0, "Z, 1 post"), (180.0, "Z, 3 min behind, 1 post"), (30 * DAY, "Z, 1 post")]
)
def test_a_stream_that_cannot_keep_up_says_how_far_it_is_behind(behind, said):
    crawl = Capture(RULES, QUERIES, 1)
    [pick] = crawl.choose(1, NOW)
    end = NOW + 100.0
    part = StreamPart(parse_turn(pick.since).place.at, Place(end, "1"))
    crawl.absorb([pick], [Outcome(pick.n, pick.node, end + behind, posts=1, mark=str(part))])
    [row] = [text for name, text in find_kind("capture").describe_progress(crawl).rows if name == "stream"]
    assert row.endswith(said)


SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)).map(lambda one: (one[0], sum(one))), max_size=6)


@given(SPANS, SPANS)
def test_what_is_left_of_spans_is_what_lies_in_none_of_the_others(spans, known):
    def list_seconds(given):
        return {second for begin, end in given for second in range(begin, end)}

    left = subtract_spans(spans, known)
    assert list_seconds(left) == list_seconds(spans) - list_seconds(known)
    assert left == merge_spans(left)
