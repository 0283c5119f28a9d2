import time

import orjson
import pytest
from crawling import TOKEN, TOPIC, posts

from socialcrawl.lab.posts import fold
from socialcrawl.mock import faults
from socialcrawl.mock.server import running
from socialcrawl.mock.world import build_world
from socialcrawl.model import Grant, Page, Request, Who
from socialcrawl.relevance import Topic
from socialcrawl.settings import policy
from socialcrawl.sources.x.vocabulary import POST, TWEET
from socialcrawl.sources.x.wire import XWire, client

POLICY = policy("x")
BOTH = pytest.mark.parametrize("words", [TWEET, POST], ids=["tweet", "post"])
WORLD = build_world(posts())
BUSIEST = max(range(len(WORLD.accounts)), key=lambda row: len(WORLD.timelines.of(row)))
ID, NAME = str(WORLD.accounts.ids[BUSIEST]), WORLD.accounts.usernames[BUSIEST]
TIMELINE = "/2/users/:id/tweets"


def timeline(words=TWEET, **more):
    return Request((0, 1), TIMELINE, {"id": ID, "max_results": "100", **words.fields, **more}, 100)


def wire(url, words=TWEET, *, patience=5.0, token=TOKEN, keep=False):
    clients = {"main": client(token, url, (patience, patience))}
    return XWire(clients, words, POLICY, Topic([TOPIC]).count, time.time, keep)


def send(url, request, words=TWEET, **more):
    return wire(url, words, **more).send(Grant(request, "main", 0.0))


@pytest.fixture(scope="module")
def answered():
    """The reply of a mock that answers every request with one fault."""
    chosen = []

    def reply(fault, request=None, **more):
        chosen[:] = [fault]
        return send(mock.url, request or timeline(), **more)

    with running(posts(), fault=lambda endpoint, nth: chosen[0], limit=100_000) as mock:
        yield reply


@BOTH
def test_a_timeline_comes_with_its_posts_cursor_price_and_limits(words):
    with running(posts(), limit=7, window=60) as mock:
        reply = send(mock.url, timeline(words), words, keep=True)
        rest = send(mock.url, timeline(words, pagination_token=reply.cursor), words)
    expected = [str(WORLD.ids[post]) for post in WORLD.timelines.of(BUSIEST)[::-1]]
    assert reply.kind == "ok"
    assert isinstance(reply.rows, Page)
    assert [row.id for row in reply.rows.posts + rest.rows.posts] == expected[:200]
    assert all(orjson.loads(row.original)["id"] == row.id for row in reply.rows.posts)
    assert {row.author for row in reply.rows.posts} == {ID}
    assert (reply.status, reply.cost) == (200, 50_000)
    (limit,) = reply.limits
    assert (limit.left, limit.most) == (6, 7)
    assert abs(limit.resets - reply.date - 60) <= 1
    assert abs(reply.at - time.time()) < 5


@BOTH
def test_a_search_names_its_authors_and_pays_for_their_profiles_in_the_new_vocabulary(words):
    asked = {"query": TOPIC, "max_results": "100", **words.fields, **words.search}
    with running(posts()) as mock:
        reply = send(mock.url, Request((0, 1), "/2/tweets/search/recent", asked, 100), words)
    page = reply.rows
    assert page.posts
    assert all(page.hits)
    assert list(page.answered) == list(dict.fromkeys(Who(row.author, None) for row in page.posts))
    assert len(page.accounts) == (len(page.answered) if words is POST else 0)
    assert reply.cost == len(page.posts) * 500 + len(page.accounts) * 1_000


@BOTH
def test_a_look_up_tells_who_is_missing_and_why(words):
    with running(posts(), missing=0.5) as mock:
        accounts = build_world(posts(), 0.5).accounts
        names = [*accounts.usernames[:98], "nobody_at_all"]
        by_name = send(mock.url, Request((0, 0), "/2/users/by", {"usernames": ",".join(names)}), words).rows
        ids = ",".join(map(str, accounts.ids[:99].tolist()))
        by_id = send(mock.url, Request((0, 0), "/2/users", {"ids": ids, "user.fields": "protected"}), words).rows
    fate = dict(zip(map(str, accounts.ids), accounts.fates.tolist(), strict=True))
    words_for = {1: "suspended", 2: "protected", 3: "deleted"}
    assert {who.id: reason for who, reason in by_id.missing} == {
        key: words_for[fate[key]] for key in ids.split(",") if fate[key]
    }
    assert {row.id for row in by_id.accounts} == {key for key in ids.split(",") if fate[key] in (0, 2)}
    reasons = {fold(who.username): reason for who, reason in by_name.missing}
    assert reasons["nobody_at_all"] == "unknown"
    assert set(reasons.values()) == {"suspended", "unknown"}  # `protected` was not asked for


@pytest.mark.parametrize(("fate", "reason"), [(1, "suspended"), (2, "protected"), (3, "deleted")])
def test_the_timeline_of_someone_missing_is_missing_with_its_reason(fate, reason):
    accounts = build_world(posts(), 0.9).accounts
    gone = str(accounts.ids[accounts.fates.tolist().index(fate)])
    with running(posts(), missing=0.9) as mock:
        reply = send(mock.url, Request((0, 1), TIMELINE, {**timeline().params, "id": gone}))
    assert (reply.kind, reply.rows.missing, reply.cost) == ("missing", [(Who(gone, None), reason)], 0)


def body(status, content, **headers):
    raw = content if isinstance(content, bytes) else orjson.dumps(content)
    return faults.Fault("answer", status, raw, limited=False, headers=headers)


AHEAD = str(int(time.time()) + 900)
WINDOW = {"x-rate-limit-limit": "300", "x-rate-limit-remaining": "0", "x-rate-limit-reset": AHEAD}
DAILY = {f"x-app-limit-24hour-{name}": value for name, value in (("limit", "9"), ("remaining", "0"), ("reset", AHEAD))}
TROUBLES = {
    "the connection is cut": (faults.cut(), "broken", "base_url right"),
    "half of the JSON arrives": (faults.half(), "broken", "connection failed"),
    "half of the JSON is all there is": (body(200, b'{"data":[{"id":"1","te'), "broken", "base_url right"),
    "HTML that says 200": (faults.html(200), "broken", "proxy"),
    "HTML that says 503": (faults.html(503), "broken", "in trouble"),
    "HTML that says 404": (faults.html(404), "broken", "base_url right"),
    "HTML that says 429": (faults.html(429), "backoff", "too many"),
    "an empty answer": (body(200, b""), "broken", "not JSON"),
    "a list": (body(200, []), "broken", "not JSON"),
    "a list that says 503": (body(503, []), "broken", "in trouble"),
    "a list that says 429": (body(429, [], **WINDOW), "window", "used up"),
    "text that says 403": (body(403, "no"), "refused", "access level"),
    "errors that are numbers": (body(403, {"errors": [1]}), "refused", "access level"),
    "errors that are nothing": (body(402, {"errors": None}), "money", "buy credits"),
    "a reset that is no number": (body(429, {}, **WINDOW | {"x-rate-limit-reset": "soon"}), "backoff", "too many"),
    "a 429 of the window": (body(429, {}, **WINDOW), "window", "used up"),
    "a 429 of the day": (faults.too_many(DAILY), "day", "24-hour"),
    "a 429 without headers": (faults.too_many(), "backoff", "not until when"),
    "a token that is refused": (faults.refused(401), "refused", "token_env"),
    "no credits": (faults.refused(402), "money", "buy credits"),
    "no access": (faults.refused(403), "refused", "access level"),
    "a page that is no object": (body(200, {"data": [1]}), "broken", "not what X sends"),
    "data of another shape": (body(200, {"data": {"id": "1"}}), "broken", "not what X sends"),
    "meta of another shape": (body(200, {"meta": [1]}), "broken", "not what X sends"),
    "a cursor that is no text": (body(200, {"meta": {"next_token": {"a": 1}}}), "broken", "not what X sends"),
    "errors of another shape": (body(200, {"errors": 5}), "broken", "not what X sends"),
    "a redirection elsewhere": (body(302, {}, location="http://127.0.0.1:9/"), "broken", "base_url right"),
}


@pytest.mark.parametrize(("fault", "kind", "said"), TROUBLES.values(), ids=TROUBLES)
def test_trouble_is_a_reply_of_its_kind_that_says_what_to_do(answered, fault, kind, said):
    reply = answered(fault)
    assert reply.kind == kind
    assert said in reply.why
    assert reply.rows is None
    assert reply.cost == 0
    assert TOKEN not in repr(reply)


def test_an_answer_that_does_not_come_in_time_is_broken(answered):
    begun = time.monotonic()
    reply = answered(faults.hang(1.0), patience=0.3)
    assert time.monotonic() - begun < 3
    assert (reply.kind, reply.status) == ("broken", 0)
    assert "timeout" in reply.why


@BOTH
def test_fields_that_are_not_sent_are_named_with_the_vocabulary_to_choose(words):
    other = POST if words is TWEET else TWEET
    with running(posts()) as mock:
        reply = send(mock.url, timeline(other), words)
    if words is POST:  # what it needs is called the same in both
        assert reply.kind == "ok"
        assert all(row.reposts is None for row in reply.rows.posts)
        with running(posts()) as mock:
            reply = send(mock.url, Request((0, 1), TIMELINE, {"id": ID, "post.fields": "tweet_id"}), words)
    else:
        assert "author_id" not in POST.fields["post.fields"]
        assert "author_id" in reply.why
    assert reply.kind == "refused"
    assert 'vocabulary = "tweet" or "post"' in reply.why


@pytest.mark.parametrize("text", ["", "not found"])
@pytest.mark.parametrize(
    ("endpoint", "asked", "kind"),
    [
        (TIMELINE, {"id": "5"}, "missing"),
        ("/2/users", {"ids": "5,6"}, "missing"),
        ("/2/users/by", {"usernames": "a,b"}, "missing"),
        ("/2/tweets/search/recent", {"query": "x"}, "refused"),
    ],
)
def test_a_404_makes_those_missing_who_were_asked_for_and_nobody_else(answered, endpoint, asked, kind, text):
    problem = {"title": text, "type": "https://api.twitter.com/2/problems/resource-not-found"}
    reply = answered(body(404, problem), Request((0, 0), endpoint, asked))
    assert reply.kind == kind
    if kind == "missing":
        listed = next(iter(asked.values())).split(",")
        assert [who.id or who.username for who, _ in reply.rows.missing] == listed
    else:
        assert "base_url right" in reply.why


@pytest.mark.parametrize("endpoint", ["/2/users", "/2/users/by", "/2/tweets/search/recent"])
def test_an_endpoint_that_is_not_there_is_no_missing_user(endpoint):
    with running(posts()) as mock:
        reply = send(mock.url + "/elsewhere", Request((0, 0), endpoint, {"ids": "5"}))
    assert reply.kind == "refused"
    assert "base_url right" in reply.why


def test_half_a_character_in_a_text_does_not_cost_the_page():
    from socialcrawl.sources.x.wire import _decoded

    assert _decoded(b'{"text": "a \\ud800 b", "n": [1, "\\ud83d\\ude00"]}') == {"text": "a ? b", "n": [1, "\U0001f600"]}
    assert _decoded(b'{"text": "a') is None
    assert _decoded(b"<html>") is None
    assert _decoded(b"[" * 100_000) is None
