"""How a slice of time is read: a second to its end, and never more called complete than was read."""

import pytest

from socialcrawl.engine.model import (
    Act,
    Answer,
    Node,
    Pick,
    Reason,
    Reply,
    ReplyKind,
    Request,
    format_time,
    parse_time,
)
from socialcrawl.engine.time_spans import find_next_second, write_span
from socialcrawl.platforms.slice_reading import read_slice

AT = 1_767_225_600.0
QUERY = Node(-1)


def page(*times, cursor=None, kind=ReplyKind.OK):
    """The reply with posts of these seconds after AT."""
    mark = format_time(AT + min(times)) if times else ""
    return Reply(kind, AT, Answer(len(times), mark=mark), cursor)


FAILED = Reply(ReplyKind.BROKEN, AT)
INVALID = Reply(ReplyKind.INVALID, AT)
MISSING = Reply(ReplyKind.MISSING, AT)


def outcome_of(*replies, pages=2, length=100.0):
    """The outcome of a slice that these replies answer, the second from which on it is complete, and the cursors."""
    pick, cursors = Pick(0, QUERY, Act.SLICE, since=write_span(AT, AT + length)), []

    def ask(part, cursor):
        cursors.append(cursor)
        return Request((0, part), "search", {})

    reading, left = read_slice(pick, pages, ask), list(replies)
    next(reading)
    try:
        while True:
            reading.send(left.pop(0))
    except StopIteration as ended:
        assert not left
        outcome = ended.value
    return outcome, parse_time(outcome.mark) - AT if outcome.mark else None, cursors


def test_a_slice_of_few_pages_is_complete():
    outcome, rest, cursors = outcome_of(page(90, 80, cursor="b"), page(70.5, 60))
    assert (outcome.posts, outcome.missing, rest, cursors) == (4, None, None, [None, "b"])


@pytest.mark.parametrize(("oldest", "rest"), [(60.0, 61.0), (60.001, 61.0), (60.999, 61.0)])
def test_a_second_of_which_posts_may_be_left_is_left_to_the_rest(oldest, rest):
    found = outcome_of(page(90, 80, cursor="b"), page(70.5, oldest, cursor="c"))
    assert found[1] == rest
    assert find_next_second(AT + oldest) == AT + rest


def test_a_second_with_more_posts_than_a_pick_may_read_is_read_on():
    _, rest, cursors = outcome_of(
        page(99, cursor="b"), page(99, cursor="c"), page(99.0, cursor="d"), page(98.2, cursor="e")
    )
    assert (rest, cursors) == (99.0, [None, "b", "c", "d"])


@pytest.mark.parametrize("lost", [FAILED, INVALID, MISSING])
def test_what_was_read_before_a_page_that_cannot_be_had_is_complete_and_no_more(lost):
    again = [INVALID] if lost is INVALID else []  # a cursor that is refused is asked for anew, once, from the start
    first = [page(90, 80.5, cursor="b"), lost, *([page(90, 80.5, cursor="b")] if again else []), *again]
    outcome, rest, _ = outcome_of(*first, pages=20)
    assert (outcome.missing, rest) == (None, 81.0)


@pytest.mark.parametrize("lost", [FAILED, INVALID, MISSING])
def test_a_slice_without_a_page_is_to_be_tried_again(lost):
    outcome, rest, _ = outcome_of(lost)
    assert (outcome.missing, rest) == (Reason.TEMPORARY, None)
