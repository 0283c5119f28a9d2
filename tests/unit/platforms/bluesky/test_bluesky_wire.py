import json
import threading

import pytest
from bluesky_posts import AT, Sky, did, no_topic, post, profile, repost
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.engine.model import Grant, Limit, Request, Who
from socialcrawl.platforms.bluesky.session import AccessToken
from socialcrawl.platforms.bluesky.source import (
    ACTORS,
    FEED,
    FOLLOWS,
    MEMBERS,
    PROFILES,
    RESOLVE,
    SEARCH,
    make_probe_request,
    make_resolve_request,
)
from socialcrawl.platforms.bluesky.wire import BlueskyWire
from socialcrawl.platforms.http_client import HttpAnswer
from socialcrawl.platforms.json_reader import decode_json
from socialcrawl.system.secret import conceal

FEED_OF_ANN = Request((0, 1), FEED, {"id": did("ann"), "filter": "posts_with_replies", "limit": "100"}, 100)
SEARCHING = Request((0, 1), SEARCH, {"query": "a b", "limit": "100"}, 100)
DATE = "Fri, 21 Nov 2025 12:00:00 GMT"
NOON = 1_763_726_400.0


def wire(url, **more):
    return BlueskyWire(url, hits=more.pop("hits", no_topic), now=lambda: 5.0, timeout=more.pop("timeout", 5.0), **more)


def send(says, request=FEED_OF_ANN, credential="public", **more):
    """The reply to `request` of a server that says `says`, and the server."""
    with Sky(says) as sky:
        door = wire(sky.url, **more)
        try:
            return door.send(Grant(request, credential, 0.0)), sky
        finally:
            door.close()


def error(name, message="told"):
    return {"error": name, "message": message}


def test_a_feed_is_asked_and_read():
    head = {"RateLimit-Limit": "3000", "RateLimit-Remaining": "2999", "RateLimit-Reset": "1763726700", "Date": DATE}
    body = {
        "feed": [{"post": post("ann", "yes @bob yes")}, {"post": post("bob", "x"), "reason": repost("ann")}],
        "cursor": "c",
    }
    reply, sky = send((200, head, body), hits=lambda text, *_: text.count("yes"))
    assert (reply.kind, reply.at, reply.status, reply.date, reply.cost, reply.cursor) == ("ok", 5.0, 200, NOON, 0, "c")
    assert reply.limits == [Limit(2999, 3000, 1_763_726_700.0)]
    assert reply.rows.hits == [2, 0]
    ((path, query, headers, _),) = sky.asked
    assert path == FEED
    assert query == [("actor", did("ann")), ("filter", "posts_with_replies"), ("limit", "100")]
    assert headers["User-Agent"].startswith("socialcrawl/")
    assert "Authorization" not in headers


@pytest.mark.parametrize(
    ("request_", "query"),
    [
        (Request((0, 0), PROFILES, {"ids": f"{did('a')},{did('b')}", "usernames": "c.test"}),
         [("actors", did("a")), ("actors", did("b")), ("actors", "c.test")]),
        (Request((0, 1), SEARCH, {"query": 'a, "b" & ü=?', "sort": "latest", "since": AT, "cursor": "x"}),
         [("q", 'a, "b" & ü=?'), ("sort", "latest"), ("since", AT), ("cursor", "x")]),
        (Request((0, 1), FEED, {"id": did("a"), "since": AT, "cursor": "x&y"}),
         [("actor", did("a")), ("cursor", "x&y")]),
        (Request((0, 1), FOLLOWS, {"id": did("a")}), [("actor", did("a"))]),
        (Request((0, 1), MEMBERS, {"list": "at://x/app.bsky.graph.list/y"}), [("list", "at://x/app.bsky.graph.list/y")]),
        (Request((0, 1), ACTORS, {"query": "a"}), [("q", "a")]),
        (make_resolve_request((0, 0), "a.test"), [("handle", "a.test")]),
        (make_probe_request((0, 0), "a"), [("q", "a"), ("sort", "latest"), ("limit", "1")]),
    ],
)  # fmt: skip
def test_parameters_are_called_as_bluesky_calls_them(request_, query):
    _, sky = send((200, {}, {}), request_)
    assert sky.asked[0][:2] == (request_.endpoint, query)


def test_every_endpoint_gives_its_page():
    ann = Who(did("ann"), "ann.test")
    given = {
        PROFILES: ({"usernames": "ann.test,bob.test"}, {"profiles": [profile("ann")]}),
        SEARCH: ({"query": "a"}, {"posts": [post("ann")]}),
        ACTORS: ({"query": "a"}, {"actors": [profile("ann")]}),
        MEMBERS: ({"list": "at://x"}, {"items": [{"subject": profile("ann")}]}),
        RESOLVE: ({"username": "ann.test"}, {"did": did("ann")}),
    }
    for endpoint, (params, body) in given.items():
        reply, _ = send((200, {}, body), Request((0, 0), endpoint, params))
        assert (reply.kind, list(reply.rows.answered)) == ("ok", [ann]), endpoint
    assert send((200, {}, given[PROFILES][1]), Request((0, 0), PROFILES, given[PROFILES][0]))[0].rows.missing == [
        (Who(None, "bob.test"), "unknown")
    ]
    follows, _ = send(
        (200, {}, {"follows": [profile("ann")], "cursor": "c"}), Request((0, 0), FOLLOWS, {"id": did("bob")})
    )
    assert (follows.rows.follows, follows.cursor) == ([ann], "c")


@pytest.mark.parametrize(
    ("request_", "who"),
    [
        (FEED_OF_ANN, Who(did("ann"), None)),
        (Request((0, 1), FOLLOWS, {"id": did("ann")}), Who(did("ann"), None)),
        (make_resolve_request((0, 0), "ann.test"), Who(None, "ann.test")),
    ],
)
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (error("AccountTakedown"), "suspended"),
        (error("BlockedByActor"), "protected"),
        (error("InvalidRequest", "Profile not found"), None),
    ],
)
def test_an_account_that_cannot_be_read_is_missing_with_its_reason(request_, who, body, reason):
    reply, _ = send((400, {}, body), request_)
    assert reply.kind == "missing"
    assert reply.rows.missing == [(who, reason or ("deleted" if who.id else "unknown"))]


def test_a_list_that_is_not_there_is_missing_and_names_nobody():
    reply, _ = send((400, {}, error("InvalidRequest", "List not found")), Request((0, 1), MEMBERS, {"list": "at://x"}))
    assert (reply.kind, reply.rows.missing) == ("missing", ())


@pytest.mark.parametrize("endpoint", [SEARCH, ACTORS])
@pytest.mark.parametrize(
    "says",
    [(403, {}, b"<html>Forbidden</html>"), (401, {}, error("AuthMissing")), (403, {}, error("Forbidden"))],
    ids=["html", "401", "403"],
)
def test_a_search_that_is_closed_does_not_end_the_run_and_says_what_to_do(says, endpoint):
    reply, _ = send(says, Request((0, 1), endpoint, {"query": "a"}))
    assert (reply.kind, reply.rows.posts, reply.status) == ("missing", (), says[0])
    for word in ("searchPosts is closed", "usernames, lists, file", "app password"):
        assert word in reply.why


def test_a_page_of_a_network_in_between_closes_no_search():
    assert send((401, {}, b"<html>Sign in to this network</html>"), SEARCHING)[0].kind == "broken"


def test_where_another_credential_may_search_the_one_without_a_session_is_refused():
    reply, _ = send((403, {}, error("AuthMissing")), SEARCHING, sessions={"me": Fixed("token-of-me", "http://x")})
    assert reply.kind == "refused"
    assert send((403, {}, error("Forbidden")), FEED_OF_ANN)[0].kind == "refused"


class Fixed:
    """A session that is there."""

    def __init__(self, token, base):
        self.token, self.base, self.refused = token, base, []

    def get_token(self):
        return AccessToken(self.token, self.base)

    def refuse(self, token):
        self.refused.append(token)


def test_a_request_with_a_session_goes_to_its_server_with_its_token():
    with Sky((200, {}, {"feed": []})) as public, Sky((200, {}, {"feed": []})) as own:
        session = Fixed("token-of-the-session", own.url)
        door = wire(public.url, sessions={"me": session})
        assert door.send(Grant(FEED_OF_ANN, "me", 0.0)).kind == "ok"
        assert door.send(Grant(FEED_OF_ANN, "public", 0.0)).kind == "ok"
        door.close()
    assert [asked[2].get("Authorization") for asked in own.asked] == ["Bearer token-of-the-session"]
    assert [asked[2].get("Authorization") for asked in public.asked] == [None]


@pytest.mark.parametrize(("status", "name"), [(400, "ExpiredToken"), (401, "InvalidToken")])
def test_a_token_that_has_run_out_is_told_to_its_session_and_the_request_comes_again(status, name):
    with Sky((status, {}, error(name))) as sky:
        session = Fixed("token-that-ran-out", sky.url)
        door = wire(sky.url, sessions={"me": session})
        reply = door.send(Grant(FEED_OF_ANN, "me", 0.0))
        door.close()
    assert (reply.kind, session.refused) == ("broken", ["token-that-ran-out"])


def test_a_429_without_the_servers_clock_is_read_by_ours():
    head = {"RateLimit-Limit": "3000", "RateLimit-Remaining": "0", "RateLimit-Policy": "3000;w=300"}
    reply, _ = send((429, {**head, "RateLimit-Reset": "9"}, error("RateLimitExceeded")))
    assert (reply.kind, reply.date, reply.limits) == ("window", 5.0, [Limit(0, 3000, 9.0)])
    late, _ = send((429, {**head, "RateLimit-Reset": "9", "Date": DATE}, error("RateLimitExceeded")))
    assert (late.kind, late.date) == ("backoff", NOON)
    assert send((200, head, {"feed": []}))[0].date is None


@pytest.mark.parametrize(
    ("says", "kind"),
    [
        ((200, {}, b"<html>hello</html>"), "lost"),
        ((200, {}, b"[]"), "lost"),
        ((200, {}, b"{}"), "lost"),
        ((200, {}, b'{"feed": [7]}'), "lost"),
        ((200, {}, b'{"feed": [], "cursor": 7}'), "lost"),
        ((200, {"Content-Length": "900"}, b'{"feed": ['), "lost"),
        ((502, {}, b"<html>bad gateway</html>"), "broken"),
        ((500, {}, error("InternalServerError")), "broken"),
        ((302, {"Location": "https://elsewhere.example/"}, b""), "broken"),
        ((401, {}, b"<html>Sign in to this network</html>"), "broken"),
        ((401, {}, error("AuthMissing")), "refused"),
        ((400, {}, error("InvalidRequest", "Malformed cursor")), "invalid"),
    ],
)
def test_other_answers_are_replies_of_their_kind_and_no_exceptions(says, kind):
    def answer(*_):
        return says

    with Sky(answer) as sky:
        door = wire(sky.url, timeout=0.5)
        reply = door.send(Grant(FEED_OF_ANN, "public", 0.0))
        door.close()
    assert reply.kind == kind
    assert reply.why
    assert len(sky.asked) == 1


def test_a_server_that_is_not_there_is_broken():
    door = wire("http://127.0.0.1:1")
    assert door.send(Grant(FEED_OF_ANN, "public", 0.0)).kind == "broken"
    door.close()


def test_a_feed_ends_where_all_that_counts_has_come():
    bounded = Request((0, 1), FEED, {"id": did("ann"), "since": "2026-01-10T00:00:00.000Z"})
    new = {"feed": [{"post": post("ann", at="2026-01-11T00:00:00Z")}], "cursor": "c"}
    old = {"feed": [{"post": post("ann", at="2026-01-09T00:00:00Z")}], "cursor": "c"}
    assert send((200, {}, new), bounded)[0].cursor == "c"
    assert send((200, {}, old), bounded)[0].cursor is None
    assert send((200, {}, old))[0].cursor == "c"


def test_an_answer_is_kept_as_it_came_where_it_is_wanted_without_tokens():
    conceal("a-token-that-came-back")
    body = {"feed": [{"post": post("ann", "a-token-that-came-back")}]}
    kept, _ = send((200, {"X-Told": "a-token-that-came-back", "Set-Cookie": "a=b"}, body), whole=True)
    assert b'"feed"' in kept.received.body
    assert b"a-token" not in kept.received.body
    told = dict(kept.received.headers)
    assert told.get("x-told", told.get("X-Told")) == "(kept secret)"
    assert not {"set-cookie", "Set-Cookie"} & told.keys()
    assert send((200, {}, body))[0].received is None
    shown, _ = send((400, {}, error("InvalidRequest", "no a-token-that-came-back")))
    assert "a-token" not in shown.why


def test_many_threads_ask_through_one_wire():
    with Sky((200, {}, {"feed": []})) as sky:
        door, kinds = wire(sky.url), []
        threads = [
            threading.Thread(target=lambda: kinds.append(door.send(Grant(FEED_OF_ANN, "public", 0.0)).kind))
            for _ in range(16)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        door.close()
    assert kinds == ["ok"] * 16


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
BODIES = st.dictionaries(
    st.sampled_from(["feed", "cursor", "posts", "profiles", "actors", "items", "follows", "did", "error"]), JSON
)
ANY = {"id": did("a"), "ids": did("a"), "query": "x"}
ASKED = [
    FEED_OF_ANN,
    SEARCHING,
    make_resolve_request((0, 0), "a.test"),
    *[Request((0, 0), endpoint, ANY) for endpoint in (PROFILES, ACTORS, MEMBERS, FOLLOWS)],
]


@pytest.fixture(scope="module")
def direct():
    """A way to give a wire an answer without a server."""
    answers = []
    door = wire("http://127.0.0.1:1")
    door.http.fetch = lambda *_, **__: HttpAnswer("", *answers[-1], 0.0)

    def answered(request, status, body):
        answers[:] = [(status, {}, json.dumps(body).encode())]
        return door.send(Grant(request, "public", 0.0))

    return answered


@given(
    asked=st.sampled_from(ASKED), status=st.sampled_from([200, 200, 400, 401, 403, 404, 429, 500]), body=BODIES | JSON
)
@settings(deadline=None, max_examples=many(60))
def test_whatever_json_comes_the_wire_does_not_raise(direct, asked, status, body):
    reply = direct(asked, status, body)
    assert (reply.kind == "ok") <= (status == 200)
    assert reply.rows is None or reply.kind in ("ok", "missing")


@given(st.binary(max_size=30))
@settings(deadline=None)
def test_bytes_are_json_or_none(content):
    decode_json(content)


def test_json_is_decoded_without_what_stores_cannot_hold():
    assert decode_json(b'{"a\\u0000": ["x\\u0000y", {"b": "\\u0000"}]}') == {"a\ufffd": ["x\ufffdy", {"b": "\ufffd"}]}
    assert decode_json(b'"half \\ud83d here"') == "half ? here"
    assert decode_json(b"[" * 2000 + b"]" * 2000) is None
    assert [decode_json(content) for content in (b"", b"{", b"NaN", b"<p>")] == [None] * 4
