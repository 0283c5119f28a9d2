"""X's source reads slices of time: of the archive, or of what recent search reaches; full ones to a whole second."""

import pytest
from test_x_source import converse, end_of, ok, talk_of

from socialcrawl.engine.model import Act, Node, Pick, Reason
from socialcrawl.platforms.slice_reading import SlicePlan
from socialcrawl.platforms.x.source import ARCHIVE, SEARCH

SLICE = Pick(4, Node(-2), Act.SLICE, x=(0.0,), since="2026-01-01T00:00:00Z/2026-01-02T00:00:00Z")
DAY = 1_767_225_600.0  # 2026-01-01


def page(mark, cursor="more", posts=500):
    return ok(cursor, posts=posts, mark=mark)


def test_a_slice_asks_the_archive_for_its_query_and_its_span_and_buys_no_authors():
    request = next(talk_of(SLICE))
    assert (request.key, request.endpoint, request.items) == ((4, 1), ARCHIVE, 500)
    assert request.most == 500 * 500
    asked = {"query": "second query", "start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-02T00:00:00Z"}
    assert asked.items() <= request.params.items()
    assert request.params["sort_order"] == "recency"
    assert "expansions" not in request.params


def test_authors_are_asked_for_and_reserved_on_request():
    request = next(talk_of(SLICE, slices=SlicePlan(authors=True)))
    assert request.params["expansions"] == "author_id"
    assert request.most == 500 * 500 + 500 * 1_000


def test_a_slice_is_read_to_its_begin_page_by_page():
    requests, outcomes = converse(
        talk_of(SLICE), page("2026-01-01T20:00:00.000000Z"), page("2026-01-01T02:00:00.000000Z", None, 7)
    )
    assert [request.params.get("next_token") for request in requests] == [None, "more"]
    assert (outcomes[4].posts, outcomes[4].mark, outcomes[4].missing) == (507, "", None)


def test_a_full_slice_is_complete_from_the_second_after_its_oldest_post_on():
    talk = talk_of(SLICE, slices=SlicePlan(pages=2))
    _, outcomes = converse(talk, page("2026-01-01T20:00:00.000000Z"), page("2026-01-01T18:30:00.250000Z"))
    assert outcomes[4].mark == "2026-01-01T18:30:01.000000Z"
    assert outcomes[4].posts == 1000


def test_a_second_is_read_on_however_full_it_is():
    talk = talk_of(SLICE, slices=SlicePlan(pages=1))
    last = "2026-01-01T23:59:59.500000Z"
    requests, outcomes = converse(talk, page(last), page(last), page("2026-01-01T23:59:58.000000Z"))
    assert len(requests) == 3
    assert outcomes[4].mark == "2026-01-01T23:59:59.000000Z", "others of that second may be on the next page"


def test_a_page_that_fails_leaves_its_rest_to_another_slice_and_the_first_one_the_whole():
    talk = talk_of(SLICE)
    next(talk)
    talk.send(page("2026-01-01T20:00:00.000000Z"))
    outcomes = end_of(talk, _failed())
    assert (outcomes[4].mark, outcomes[4].missing) == ("2026-01-01T20:00:01.000000Z", None)
    talk = talk_of(SLICE)
    next(talk)
    assert end_of(talk, _failed())[4].missing == Reason.TEMPORARY


def _failed():
    from socialcrawl.engine.model import Reply

    return Reply("broken", 5.0, status=503)


@pytest.mark.parametrize("reach", [DAY + 86_400, DAY + 90_000])
def test_a_slice_that_recent_search_does_not_reach_is_missing_without_a_request(reach):
    talk = talk_of(SLICE, slices=SlicePlan(archive=False), reach=reach)
    with pytest.raises(StopIteration) as end:
        next(talk)
    assert end.value.value[4].missing == Reason.UNREACHABLE


def test_of_a_slice_that_recent_search_reaches_in_part_the_rest_becomes_another_slice():
    requests, outcomes = converse(
        talk_of(SLICE, slices=SlicePlan(archive=False), reach=DAY + 3_600), page("2026-01-01T05:00:00.000000Z", None, 3)
    )
    assert requests[0].endpoint == SEARCH
    assert requests[0].params["start_time"] == "2026-01-01T01:00:00Z"
    assert outcomes[4].mark == "2026-01-01T01:00:00.000000Z"
