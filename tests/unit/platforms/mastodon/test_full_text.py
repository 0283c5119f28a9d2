"""Slices of full-text search are read whole, however late posts came, and not ended by a search that is silent."""

import re

from hypothesis import given
from hypothesis import strategies as st

from socialcrawl.campaign.policies import load_policy
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
from socialcrawl.platforms.mastodon.full_text import EVERYTHING, TextSearch, list_text_queries, write_query

BEGIN = 1_767_225_600.0  # 2026-01-01
LENGTH = 120
ENDPOINT = "home.example/api/v2/search"
TIMES = re.compile(r'^"sky" after:"([^"]+)" before:"([^"]+)"$')


class Server:
    """Posts as (when written, how much later they came), in the order of their ids; some answers are empty."""

    def __init__(self, posts, silent=()):
        self.posts = sorted(posts, key=lambda one: one[0] + one[1], reverse=True)
        self.silent, self.asked = set(silent), 0
        self.shown = set()

    def answer(self, request):
        self.asked += 1
        silent = self.asked in self.silent
        if request.params["q"] == EVERYTHING:
            return Reply(ReplyKind.INVALID if silent else ReplyKind.OK, 0.0, Answer())
        after, before = (parse_time(text) for text in TIMES.match(request.params["q"]).groups())
        found = [one for one in self.posts if after + 1 <= one[0] < before]
        offset, size = int(request.params.get("offset", "0")), int(request.params["limit"])
        page = [] if silent else found[offset : offset + size]
        self.shown |= set(page)
        mark = format_time(min(at + late for at, late in page)) if page else ""
        return Reply(ReplyKind.OK, 0.0, Answer(len(page), mark=mark), str(offset + size) if page else None)


def read(server, pages, begin=BEGIN, end=BEGIN + LENGTH, size=3):
    policy = load_policy("mastodon")
    pick = Pick(0, Node(-1), Act.SLICE, since=write_span(begin, end))
    talk = TextSearch(ENDPOINT, SmallPages(policy, size), "sky", {}).read_slice(pick, pages)
    keys, reply = set(), None
    while True:
        try:
            request = talk.send(reply)
        except StopIteration as stop:
            return stop.value, keys
        assert request.key not in keys, "a key names one request"
        keys.add(request.key)
        reply = server.answer(request)


class SmallPages:
    """A policy with small pages."""

    def __init__(self, policy, size):
        self.policy, self.page = policy, size

    def get_endpoint(self, _):
        return self


POSTS = st.sets(
    st.tuples(st.integers(0, LENGTH - 1).map(lambda at: BEGIN + at), st.sampled_from([0, 0, 1, 40, 500])), max_size=40
)


@given(POSTS, st.integers(1, 4))
def test_what_is_called_complete_was_read_however_late_posts_came(posts, pages):
    server, end = Server(posts), BEGIN + LENGTH
    for _ in range(200):
        outcome, _ = read(server, pages, end=end)
        assert outcome.missing is None
        rest = parse_time(outcome.mark) if outcome.mark else BEGIN
        assert {one for one in posts if one[0] >= rest} <= server.shown
        if not outcome.mark:
            break
        assert rest < end
        end = rest
    assert server.shown == posts


@given(POSTS, st.integers(1, 30))
def test_an_empty_page_is_an_end_only_if_it_is_empty_twice_and_other_posts_are_found_between(posts, place):
    server = Server(posts, silent=[place])
    outcome, _ = read(server, 20)
    if outcome.missing is None:
        rest = parse_time(outcome.mark) if outcome.mark else BEGIN
        assert {one for one in posts if one[0] >= rest} <= server.shown
    else:
        assert outcome.missing == Reason.TEMPORARY


def test_an_empty_slice_takes_three_requests_the_second_of_which_finds_any_post():
    server = Server([])
    outcome, keys = read(server, 20)
    assert (outcome.missing, outcome.posts, outcome.mark, server.asked) == (None, 0, "", 3)
    assert {part for _, part in keys} == {1, RequestPart.FAR_SECOND_LIST + 1, RequestPart.REPEATED_PAGE + 1}


def test_a_query_names_the_second_before_its_begin_as_after_leaves_that_out():
    assert write_query("a b", BEGIN, BEGIN + 60) == ('"a b" after:"2025-12-31T23:59:59Z" before:"2026-01-01T00:01:00Z"')


def test_keywords_are_searched_once_and_hashtags_keep_their_sign():
    assert list_text_queries(["Sky", "sky", '"dark" sky', "#Sky", "#", ""]) == ["sky", "dark sky", "#Sky"]
