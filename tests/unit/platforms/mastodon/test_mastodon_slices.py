"""Slices of time on Mastodon: by the ids of posts, whatever they say of when they were written."""

import json
from contextlib import contextmanager

import pytest
from http_server import QuietHandler, serving
from mastodon_posts import POLICY, account_of, status_of

from socialcrawl.campaign.policies import load_policy
from socialcrawl.engine.model import Answer, Grant, Node, Pick, Reply, Request, format_time, parse_time
from socialcrawl.engine.time_spans import write_span
from socialcrawl.platforms.mastodon.source import PAGED_TAG, MastodonSource, find_captured
from socialcrawl.platforms.mastodon.wire import MastodonWire
from socialcrawl.platforms.registry import find_platform
from socialcrawl.platforms.slice_reading import SlicePlan

BEGIN, END = parse_time("2026-03-01T00:00:00Z"), parse_time("2026-03-02T00:00:00Z")
SLICE = Pick(4, Node(-2), "slice", since=write_span(BEGIN, END))
ENDPOINT = f"home.example{PAGED_TAG}"
LAST = str(int(END * 1000) << 16)


def number(at, more=7):
    """An id of that moment."""
    return str((round(at * 1000) << 16) + more)


def begun(**more):
    source = MastodonSource(POLICY, ["#Sea", "#Sky"], "Home.Example", slices=SlicePlan(2), **more)
    (talk,) = source.start_conversations((SLICE,), {})
    return talk


def ok(cursor=None, at=None, **answer):
    return Reply("ok", 5.0, rows=Answer(mark="" if at is None else format_time(at), **answer), cursor=cursor)


def converse(talk, *replies):
    requests = [next(talk)]
    for reply in replies:
        try:
            requests.append(talk.send(reply))
        except StopIteration as end:
            return requests, end.value[4]
    return requests, None


def test_a_slice_is_bounded_by_ids_and_read_newest_first():
    requests, outcome = converse(begun(), ok("99", END - 60, posts=40), ok(None, END - 90, posts=3, found={3: "x"}))
    asked = {"hashtag": "Sky", "span": SLICE.since, "limit": "40"}
    assert [(one.key, one.endpoint, dict(one.params), one.items) for one in requests] == [
        ((4, 1), ENDPOINT, {**asked, "max_id": LAST}, 40),
        ((4, 2), ENDPOINT, {**asked, "max_id": "99"}, 40),
    ]
    assert (outcome.posts, outcome.missing, outcome.mark, outcome.targets.tolist()) == (43, None, "", [3])


def test_a_slice_with_more_pages_is_complete_from_the_second_after_its_oldest_id():
    _, outcome = converse(begun(), ok("99", END - 60, posts=40), ok("98", END - 90.5, posts=40))
    assert (outcome.missing, outcome.mark) == (None, format_time(END - 90))


def test_a_slice_that_failed_after_a_page_keeps_that():
    _, outcome = converse(begun(), ok("99", END - 60, posts=40), Reply("lost", 5.0, rows=Answer()))
    assert (outcome.missing, outcome.mark, outcome.posts) == (None, format_time(END - 59), 40), (
        "posts of that second may be left"
    )


def test_who_has_signed_in_asks_whether_an_empty_slice_is_one():
    requests, outcome = converse(begun(signed_in=True), ok(), ok())
    assert [(one.key[1], one.endpoint) for one in requests] == [(1, ENDPOINT), (1000, "home.example/api/v2/instance")]
    assert outcome.missing is None
    _, outcome = converse(begun(signed_in=True), ok(), Reply("broken", 5.0, rows=Answer()))
    assert outcome.missing == "temporary"
    requests, _ = converse(begun(signed_in=True), ok(None, END - 5, posts=1))
    assert len(requests) == 1


def test_both_endpoints_of_a_slice_have_limits():
    policy = load_policy("mastodon")
    assert policy.get_endpoint(ENDPOINT).page == 40
    assert [pool.name for pool in policy.get_endpoint("home.example/api/v2/instance").pools] == ["all"]


@pytest.mark.parametrize(
    ("query", "tag"),
    [("#Sea", "#Sea"), ("deep sea", "#deepsea"), ("2024", None), ("@ann@a.example", None), ("!", None)],
)
def test_what_is_no_hashtag_cannot_be_captured(query, tag):
    assert find_captured(query) == tag


@contextmanager
def wired(status, body, next_page=None):
    """Send the first request of a slice to a server that answers so: the reply, and what was asked."""

    class Answer(QuietHandler):
        def answer(self):
            server.asked.append(self.path)
            link = {"Link": f'<https://home.example/x?max_id={next_page}>; rel="next"'} if next_page else {}
            self.send(status, link, json.dumps(body).encode())

    with serving(Answer) as server:
        server.asked = []
        wire = MastodonWire(server.url, "home.example", {}, hits=lambda *_: 1, now=lambda: 100.0, timeout=5.0)
        yield wire, server.asked
        wire.close()


def sent(status, body, next_page=None, endpoint=ENDPOINT, **more):
    params = {"hashtag": "sky", "span": SLICE.since, "limit": "40", "max_id": LAST, **more}
    with wired(status, body, next_page) as (wire, asked):
        reply = wire.send(Grant(Request((4, 1), endpoint, params, 40), "public", 99.0))
    return reply, asked


def late(at, written, **more):
    """A status with an id of a moment, which says that it was written then."""
    found = number(at)
    return status_of(
        found, uri=f"https://far.example/users/ann/statuses/{found}", created_at=format_time(written), **more
    )


def test_a_post_belongs_to_the_slice_of_its_id_whenever_it_was_written():
    given = [late(END - 1, END - 1), late(END - 3600.25, BEGIN - 86_400.0)]
    reply, (path,) = sent(200, given, number(END - 3600.25))
    assert path == f"/api/v1/timelines/tag/sky?limit=40&max_id={LAST}", "what is for us alone stays here"
    assert len(reply.rows.posts) == 2, "one that another instance delivered late is in the slice of its arrival"
    assert (reply.rows.mark, reply.cursor) == (format_time(END - 3600.25), number(END - 3600.25))


def test_a_slice_ends_at_its_begin():
    reply, _ = sent(200, [late(BEGIN, BEGIN), late(BEGIN - 0.001, BEGIN)], number(BEGIN - 0.001))
    assert (len(reply.rows.posts), reply.rows.mark, reply.cursor) == (1, format_time(BEGIN), None)
    reply, _ = sent(200, [late(BEGIN - 5, BEGIN - 5)], number(BEGIN - 5))
    assert (reply.kind, reply.rows.posts, reply.rows.mark, reply.cursor) == ("ok", [], "", None)
    counted = status_of("99300", created_at="2017-01-02T03:04:05.000Z")  # from before ids told their time
    reply, _ = sent(200, [late(BEGIN + 5, BEGIN + 5), counted], "99300")
    assert (len(reply.rows.posts), reply.cursor) == (1, None)


def test_the_mark_counts_posts_of_those_who_opted_out_too():
    silent = late(END - 30, END - 30, account=account_of("eve", "12", noindex=True))
    reply, _ = sent(200, [late(END - 20, END - 20), silent], number(END - 30))
    assert (len(reply.rows.posts), reply.rows.opted_out, reply.rows.mark) == (1, 1, format_time(END - 30))
    reply, _ = sent(200, [silent], number(END - 30), opt_outs="no")
    assert len(reply.rows.posts) == 1


@pytest.mark.parametrize(
    "status",
    [
        status_of("01HQZ8M4T7V9", created_at="2026-03-01T05:00:00.000Z"),  # GoToSocial
        status_of("AfQWv4hBMpUhZjVQUi", created_at="2026-03-01T05:00:00.000Z"),  # Pleroma
        status_of(number(BEGIN + 5), created_at="2019-11-01T05:00:00.000Z"),  # Pixelfed, which counts from 2019
    ],
)
def test_a_server_whose_ids_tell_no_time_ends_the_run(status):
    reply, _ = sent(200, [status])
    assert reply.kind == "invalid"
    assert "set base_url to a Mastodon instance" in reply.why


def test_a_hashtag_that_nobody_has_used_is_an_empty_slice():
    reply, _ = sent(404, {"error": "Record not found"})
    assert (reply.kind, reply.rows.posts, reply.cursor) == ("ok", [], None)


@pytest.mark.parametrize(
    ("status", "said"), [(401, "The access token is invalid"), (422, "This method requires an authenticated user")]
)
def test_an_instance_that_shows_hashtags_to_its_own_people_only_ends_the_run(status, said):
    reply, _ = sent(status, {"error": said})
    assert reply.kind == "invalid"
    assert "set token_env under [source] to a token of this instance, or base_url to another instance" in reply.why
    assert "username" not in reply.why


@pytest.mark.parametrize(
    ("queries", "full_text", "said"),
    [
        (["#Sea", "#Sky"], False, ["hashtags"]),
        (["#Sea", "deep sea"], True, ["hashtags", "authors who allow it"]),
        (["deep sea"], True, ["authors who allow it"]),
    ],
)
def test_which_posts_searches_can_find_is_said(queries, full_text, said):
    text = find_platform("mastodon").describe_reach(queries, SlicePlan(full_text=full_text))
    assert [part in text for part in ("hashtags", "authors who allow it")] == [
        part in said for part in ("hashtags", "authors who allow it")
    ]


def test_a_server_that_does_not_heed_the_bound_is_no_endless_list():
    reply, _ = sent(200, [late(END + 50, END + 50)], number(END + 50))
    assert reply.kind == "lost"


@pytest.mark.parametrize(
    ("local", "remote", "kind"),
    [("public", "public", "ok"), ("disabled", "public", "ok"), ("disabled", "disabled", "invalid")],
)
def test_an_instance_that_has_turned_hashtag_timelines_off_ends_the_run(local, remote, kind):
    feeds = {"hashtag_feeds": {"local": local, "remote": remote}}
    reply, _ = sent(200, {"configuration": {"timelines_access": feeds}}, endpoint="home.example/api/v2/instance")
    assert reply.kind == kind
    assert bool(reply.why) == (kind == "invalid")


@pytest.mark.parametrize(("status", "body"), [(200, {}), (200, {"configuration": []}), (404, {"error": "Not Found"})])
def test_a_server_that_does_not_say_who_is_shown_hashtags_is_believed(status, body):
    reply, _ = sent(status, body, endpoint="home.example/api/v2/instance")
    assert (reply.kind, list(reply.rows.posts)) == ("ok", [])
