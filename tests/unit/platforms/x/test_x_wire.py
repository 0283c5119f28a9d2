from dataclasses import replace

import orjson
import pytest
from x_crawls import TOKEN, TOPIC, posts

from socialcrawl.campaign.policies import load_policy
from socialcrawl.engine.model import Grant, Page, Request, Who
from socialcrawl.graph.relevance import Topic
from socialcrawl.lab.post_table import fold_name
from socialcrawl.mock import faults
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.world import build_world
from socialcrawl.platforms.x.vocabulary import POST, TWEET
from socialcrawl.platforms.x.wire import XWire, make_client

POLICY = load_policy("x")
BOTH = pytest.mark.parametrize("words", [TWEET, POST], ids=["tweet", "post"])
WORLD = build_world(posts())
BUSIEST = max(range(len(WORLD.accounts)), key=lambda row: len(WORLD.timelines.of(row)))
ID, NAME = str(WORLD.accounts.ids[BUSIEST]), WORLD.accounts.usernames[BUSIEST]
TIMELINE, SEARCH = "/2/users/:id/tweets", "/2/tweets/search/recent"
NOW = 1_800_000_000.5  # by our clock, and by the server's where it matters
MOST = 54_321  # mills: the dearest price of a request, which nothing here costs otherwise


def timeline(words=TWEET, **more):
    return Request((0, 1), TIMELINE, {"id": ID, "max_results": "100", **words.fields, **more}, 100, MOST)


def wire(url, words=TWEET, *, patience=5.0, token=TOKEN, keep=False, rules=POLICY):
    clients = {"main": make_client(token, url, patience)}
    return XWire(clients, words, rules, Topic([TOPIC]).hits, lambda: NOW, keep)


def send(url, request, words=TWEET, **more):
    return wire(url, words, **more).send(Grant(request, "main", 0.0))


@pytest.fixture(scope="module")
def answered():
    """The reply of a mock that answers every request with one fault."""
    chosen = []

    def reply(fault, request=None, **more):
        chosen[:] = [fault]
        return send(mock.url, request or timeline(), **more)

    with serve_in_thread(posts(), lambda endpoint, nth: chosen[0], lambda: NOW, limit=100_000) as mock:
        yield reply


@BOTH
def test_a_timeline_comes_with_its_posts_cursor_price_and_limits(words):
    with serve_in_thread(posts(), time=lambda: NOW, limit=7, window=60) as mock:
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
    assert (reply.at, reply.date, limit.resets) == (NOW, int(NOW), int(NOW + 60))


@BOTH
def test_a_search_names_its_authors_and_pays_for_their_profiles_in_the_new_vocabulary(words):
    asked = {"query": TOPIC, "max_results": "100", **words.fields, **words.search}
    with serve_in_thread(posts()) as mock:
        reply = send(mock.url, Request((0, 1), "/2/tweets/search/recent", asked, 100), words)
    page = reply.rows
    assert page.posts
    assert all(page.hits)
    assert list(page.answered) == list(dict.fromkeys(Who(row.author, None) for row in page.posts))
    assert len(page.accounts) == (len(page.answered) if words is POST else 0)
    assert reply.cost == len(page.posts) * 500 + len(page.accounts) * 1_000


@BOTH
def test_a_look_up_tells_who_is_missing_and_why(words):
    with serve_in_thread(posts(), missing=0.5) as mock:
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
    reasons = {fold_name(who.username): reason for who, reason in by_name.missing}
    assert reasons["nobody_at_all"] == "unknown"
    assert set(reasons.values()) == {"suspended", "unknown"}  # `protected` was not asked for


@pytest.mark.parametrize(("fate", "reason"), [(1, "suspended"), (2, "protected"), (3, "deleted")])
def test_the_timeline_of_someone_missing_is_missing_with_its_reason(fate, reason):
    accounts = build_world(posts(), 0.9).accounts
    gone = str(accounts.ids[accounts.fates.tolist().index(fate)])
    with serve_in_thread(posts(), missing=0.9) as mock:
        reply = send(mock.url, Request((0, 1), TIMELINE, {**timeline().params, "id": gone}))
    assert (reply.kind, reply.rows.missing, reply.cost) == ("missing", [(Who(gone, None), reason)], 0)


def body(status, content, **headers):
    raw = content if isinstance(content, bytes) else orjson.dumps(content)
    return faults.Fault("answer", status, raw, limited=False, headers=headers)


AHEAD = str(int(NOW) + 900)
WINDOW = {"x-rate-limit-limit": "300", "x-rate-limit-remaining": "0", "x-rate-limit-reset": AHEAD}
DAILY = {f"x-app-limit-24hour-{name}": value for name, value in (("limit", "9"), ("remaining", "0"), ("reset", AHEAD))}
TROUBLES = {
    "the connection is cut": (faults.make_cut(), "lost", "may have been billed"),
    "half of the JSON arrives": (faults.make_half(), "lost", "may have been billed"),
    "half of the JSON is all there is": (body(200, b'{"data":[{"id":"1","te'), "lost", "base_url right"),
    "HTML that says 200": (faults.make_html_fault(200), "lost", "proxy"),
    "HTML that says 503": (faults.make_html_fault(503), "broken", "in trouble"),
    "HTML that says 404": (faults.make_html_fault(404), "broken", "base_url right"),
    "HTML that says 429": (faults.make_html_fault(429), "backoff", "too many"),
    "an empty answer": (body(200, b""), "lost", "with an empty body"),
    "a list": (body(200, []), "lost", "not JSON"),
    "a list that says 503": (body(503, []), "broken", "in trouble"),
    "a list that says 429": (body(429, [], **WINDOW), "window", "used up"),
    "text that says 403": (body(403, "no"), "refused", "access level"),
    "errors that are numbers": (body(403, {"errors": [1]}), "refused", "access level"),
    "errors that are nothing": (body(402, {"errors": None}), "money", "buy credits"),
    "a reset that is not a number": (body(429, {}, **WINDOW | {"x-rate-limit-reset": "soon"}), "backoff", "too many"),
    "a 429 of the window": (body(429, {}, **WINDOW), "window", "used up"),
    "a 429 of the day": (faults.make_too_many(DAILY), "day", "24-hour"),
    "a 429 without headers": (faults.make_too_many(), "backoff", "not until when"),
    "a token that is refused": (faults.make_refusals(401), "refused", "token_env"),
    "no credits": (faults.make_refusals(402), "money", "buy credits"),
    "no access": (faults.make_refusals(403), "refused", "access level"),
    "a page that is not an object": (body(200, {"data": [1]}), "lost", "not what X sends"),
    "data of another shape": (body(200, {"data": {"id": "1"}}), "lost", "not what X sends"),
    "meta of another shape": (body(200, {"meta": [1]}), "lost", "not what X sends"),
    "a cursor that is not text": (body(200, {"meta": {"next_token": {"a": 1}}}), "lost", "not what X sends"),
    "errors of another shape": (body(200, {"errors": 5}), "lost", "not what X sends"),
    "a redirection elsewhere": (body(302, {}, location="http://127.0.0.1:9/"), "invalid", "as base_url"),
    "a token that comes back": (body(401, {"detail": f"{TOKEN} is wrong"}), "refused", "(kept secret) is wrong"),
    "a spend cap": (body(403, {"title": "SpendCapReached"}), "money", "spending limit"),
    "a wrong parameter": (body(400, {"errors": [{"message": "max_results"}]}), "invalid", "max_results"),
    "fewer than none remaining": (body(429, {}, **WINDOW | {"x-rate-limit-remaining": "-1"}), "window", "used up"),
    "a limit beyond all numbers": (body(429, {}, **WINDOW | {"x-rate-limit-limit": "9" * 99}), "backoff", "too many"),
}


@pytest.mark.parametrize(("fault", "kind", "said"), TROUBLES.values(), ids=TROUBLES)
def test_trouble_is_a_reply_of_its_kind_that_says_what_to_do(answered, fault, kind, said):
    reply = answered(fault)
    assert reply.kind == kind
    assert said in reply.why
    assert reply.rows is None
    assert reply.cost == (MOST if kind == "lost" else 0)
    assert TOKEN not in repr(reply)


def test_an_answer_that_does_not_come_in_time_is_lost_and_may_have_been_billed(answered):
    reply = answered(faults.make_hang(600.0), patience=0.3)
    assert (reply.kind, reply.status, reply.cost) == ("lost", 0, MOST)
    assert "timeout" in reply.why


@BOTH
def test_fields_that_are_not_sent_are_named_with_the_vocabulary_to_choose(words):
    other = POST if words is TWEET else TWEET
    with serve_in_thread(posts()) as mock:
        reply = send(mock.url, timeline(other), words)
    if words is POST:  # what it needs is called the same in both
        assert reply.kind == "ok"
        assert all(row.reposts is None for row in reply.rows.posts)
        with serve_in_thread(posts()) as mock:
            reply = send(mock.url, Request((0, 1), TIMELINE, {"id": ID, "post.fields": "tweet_id"}), words)
    else:
        assert "author_id" not in POST.fields["post.fields"]
        assert "author_id" in reply.why
    assert reply.kind == "invalid"
    assert reply.cost == (100 if words is TWEET else 10) * 500  # the page was sent, and is billed
    assert reply.rows is None
    assert 'vocabulary = "tweet" or "post"' in reply.why


def test_a_search_whose_fields_are_missing_is_billed_with_its_authors():
    asked = {"query": TOPIC, "max_results": "100", **POST.search, "post.fields": "lang"}
    with serve_in_thread(posts()) as mock:
        reply = send(mock.url, Request((0, 1), SEARCH, asked, 100, MOST), POST)
        whole = send(mock.url, Request((0, 1), SEARCH, asked | POST.fields, 100, MOST), POST)
    assert (reply.kind, whole.kind) == ("invalid", "ok")
    assert reply.cost == whole.cost == len(whole.rows.posts) * 500 + len(whole.rows.accounts) * 1_000 > 0


def test_what_is_not_sent_is_counted_whatever_stands_beside_it(answered):
    for includes in (None, [1], {"users": 5}, {"users": [{}, {}]}, {}):
        reply = answered(body(200, {"data": [{"id": "1"}] * 3, "includes": includes}))
        assert reply.kind == "invalid"
        assert reply.cost == 3 * 500 + (2_000 if includes == {"users": [{}, {}]} else 0)


def test_the_price_of_a_request_itself_is_added_to_a_good_answer_and_to_no_other(answered):
    dear = replace(POLICY.endpoints[TIMELINE], fee=0.25)
    rules = replace(POLICY, endpoints={**POLICY.endpoints, TIMELINE: dear})
    page = answered(body(200, {"data": []}), rules=rules)
    assert (page.kind, page.cost) == ("ok", 25_000)
    gone = {"errors": [{"resource_type": "user", "detail": "User has been suspended: [1]."}]}
    assert (answered(body(200, gone), rules=rules).kind, answered(body(200, gone), rules=rules).cost) == (
        "missing",
        25_000,
    )
    unread = answered(body(200, {"data": [{"id": "1"}]}), rules=rules)
    assert (unread.kind, unread.cost) == ("invalid", 25_000 + 500)
    for fault, cost in (
        (faults.make_refusals(401), 0),
        (faults.make_html_fault(503), 0),
        (body(404, {"type": "x"}), 0),
        (body(200, 1), MOST),
    ):
        assert answered(fault, rules=rules).cost == cost


def test_an_answer_can_be_had_as_it_came():
    with serve_in_thread(posts()) as mock:
        made = wire(mock.url)
        reply, whole = made.ask(Grant(timeline(), "main", 0.0))
        refused, problem = made.ask(Grant(timeline(max_results="1"), "main", 0.0))
    assert (reply.kind, reply.rows, reply.cost, reply.status) == ("ok", None, 0, 200)
    assert [post["id"] for post in whole["data"]] == [str(WORLD.ids[post]) for post in WORLD.timelines.of(BUSIEST)][
        : -len(whole["data"]) - 1 : -1
    ]
    assert (refused.kind, problem["title"]) == ("invalid", "Invalid Request")


@pytest.mark.parametrize("text", ["", "not found"])
@pytest.mark.parametrize(
    ("endpoint", "asked", "kind"),
    [
        (TIMELINE, {"id": "5"}, "missing"),
        ("/2/users", {"ids": "5,6"}, "missing"),
        ("/2/users/by", {"usernames": "a,b"}, "missing"),
        ("/2/tweets/search/recent", {"query": "x"}, "invalid"),
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
    with serve_in_thread(posts()) as mock:
        reply = send(mock.url + "/elsewhere", Request((0, 0), endpoint, {"ids": "5"}))
    assert (reply.kind, reply.cost) == ("invalid", 0)
    assert "base_url right" in reply.why


def test_half_a_character_in_a_text_does_not_cost_the_page():
    from socialcrawl.platforms.json_reader import decode_json

    assert decode_json(b'{"text": "a \\ud800 b", "n": [1, "\\ud83d\\ude00"]}') == {
        "text": "a ? b",
        "n": [1, "\U0001f600"],
    }
    assert decode_json(b'{"text": "a') is None
    assert decode_json(b"<html>") is None
    assert decode_json(b"[" * 100_000) is None
