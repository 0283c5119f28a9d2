"""A slice of time on Bluesky: from when on it is complete, whatever the search orders by, and where pages begin."""

import pytest
from bluesky_posts import POLICY, did, post
from hypothesis import given
from hypothesis import strategies as st

from socialcrawl.engine.model import (
    Act,
    Answer,
    Node,
    Pick,
    Reason,
    Reply,
    ReplyKind,
    RequestPart,
    format_time,
    parse_time,
)
from socialcrawl.engine.time_spans import write_span
from socialcrawl.platforms.bluesky.parse import find_oldest
from socialcrawl.platforms.bluesky.source import PROFILES, SEARCH, BlueskySource
from socialcrawl.platforms.slice_pages import DEPTH, SlicePages, join_marks
from socialcrawl.platforms.slice_reading import SlicePlan

AT = 1_767_225_600.0
QUERY = Node(-1)


def mark(second):
    return format_time(AT + second)


def one(created, indexed):
    view = {} if indexed is None else {"indexedAt": mark(indexed)}
    found = post("ann", at="never" if created is None else mark(created))
    return {**found, **view}


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([], None),
        ([(50, 51), (40, 42)], 42),
        ([(50, 51), (2, 49)], 49),  # imported: it may be sorted by either
        ([(50, 51), (9_000, 30)], 51),  # of a clock that is ahead
        ([(None, 30)], 30),
        ([(None, None)], None),
    ],
)
def test_a_page_is_complete_from_the_earliest_of_the_later_times_on(times, expected):
    found = find_oldest({"posts": [one(*pair) for pair in times]})
    assert (parse_time(found) - AT if found else None) == expected


PAIRS = st.tuples(st.integers(0, 1_000), st.integers(0, 1_000))


@given(st.lists(PAIRS, min_size=1, max_size=30), st.integers(1, 30), st.sampled_from([min, max, lambda two: two[0]]))
def test_no_post_of_a_later_page_is_after_the_mark_whichever_time_the_search_orders_by(times, size, key):
    ordered = sorted(times, key=key, reverse=True)
    found = find_oldest({"posts": [one(*pair) for pair in ordered[:size]]})
    assert all(key(pair) <= parse_time(found) - AT for pair in ordered[size:])


def reply(second=None, cursor=None, kind=ReplyKind.OK, posts=1):
    return Reply(kind, AT, Answer(posts, mark="" if second is None else mark(second)), cursor)


def test_the_next_page_begins_by_an_earlier_bound_and_by_a_cursor_within_a_second():
    pages = SlicePages(QUERY, AT, AT + 100, 100)
    assert (pages.place(reply(80.5, "100")).cursor, pages.until) == ("", AT + 81)
    assert (pages.place(reply(80.1, "100")).cursor, pages.until) == ("100", AT + 81)
    assert (pages.place(reply(None, "200", posts=0)).cursor, pages.until) == ("200", AT + 81)
    assert (pages.place(reply(79.0, "300")).cursor, pages.until) == ("", AT + 80)
    assert pages.place(reply(20.0)).cursor is None


def test_more_posts_in_a_second_than_cursors_reach_are_not_taken_for_all():
    pages = SlicePages(QUERY, AT, AT + 1, 100)
    kept = [pages.place(reply(0.5, str(100 * n))) for n in range(1, DEPTH // 100)]
    assert all(not one.answer.missing and one.cursor for one in kept)
    assert pages.place(reply(0.5)).answer.missing == {QUERY: Reason.TEMPORARY}


def test_a_page_that_was_asked_for_twice_is_complete_as_far_as_both_answers():
    first, shown = reply(50, "100"), reply(40)
    assert (join_marks(first, shown).answer.mark, join_marks(first, shown).cursor) == (mark(50), "100")
    first, shown = reply(50), reply(60, "100")
    assert (join_marks(first, shown).answer.mark, join_marks(first, shown).cursor) == (mark(60), "100")
    assert join_marks(reply(50, "100"), reply(kind=ReplyKind.BROKEN)).kind == ReplyKind.BROKEN


def slice_of(*answers, **more):
    """The outcome of a slice, and what was asked."""
    source = BlueskySource(POLICY, ["cats"], slices=SlicePlan(pages=3), **more)
    pick, asked, left = Pick(0, QUERY, Act.SLICE, since=write_span(AT, AT + 100)), [], list(answers)
    (reading,) = source.start_conversations([pick], {})
    try:
        request = next(reading)
        while True:
            asked.append(request)
            request = reading.send(left.pop(0))
    except StopIteration as ended:
        assert not left
        return ended.value[0], asked


def told(*names):
    return Answer(found={n: did(name) for n, name in enumerate(names, 1)})


def test_a_page_whose_authors_all_opted_out_moves_the_slice_on():
    silent = Reply(ReplyKind.OK, AT, Answer(missing={1: Reason.OPTED_OUT}))
    page = Reply(ReplyKind.OK, AT, Answer(found={1: did("ann")}, mark=mark(60)), "100")
    last = Reply(ReplyKind.OK, AT, Answer())
    outcome, asked = slice_of(page, silent, last)
    assert (outcome.missing, outcome.mark, outcome.posts) == (None, "", 0)
    assert [one.endpoint for one in asked] == [SEARCH, PROFILES, SEARCH]
    assert [one.key[1] for one in asked][::2] == [RequestPart.AUTHORS + 1, RequestPart.AUTHORS + 2]
    bounds = [(one.params["since"], one.params["until"], one.params.get("cursor")) for one in asked[::2]]
    begin = "2026-01-01T00:00:00.000Z"
    assert bounds == [(begin, "2026-01-01T00:01:40.000Z", None), (begin, "2026-01-01T00:01:01.000Z", None)]


def test_a_search_that_is_closed_is_a_slice_that_failed_or_the_rest_of_one():
    closed = Reply(ReplyKind.MISSING, AT, why="closed")
    outcome, _ = slice_of(closed, opt_outs=False)
    assert (outcome.missing, outcome.mark) == (Reason.PROTECTED, "")
    outcome, _ = slice_of(reply(60.5, "100"), closed, opt_outs=False)
    assert (outcome.missing, parse_time(outcome.mark)) == (None, AT + 61)


def test_authors_that_cannot_be_looked_up_leave_their_page_to_another_slice():
    page = Reply(ReplyKind.OK, AT, Answer(found={1: did("ann")}, mark=mark(60)), "100")
    outcome, _ = slice_of(page, Reply(ReplyKind.BROKEN, AT))
    assert (outcome.missing, outcome.mark) == (Reason.TEMPORARY, "")
