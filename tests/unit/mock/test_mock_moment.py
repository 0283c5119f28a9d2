"""A mock whose posts come as time passes: at every moment it answers as one that has only the posts until then."""

import json
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

import httpx
import numpy as np
import orjson
import pytest
from example_counts import many
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_mock_world import START, posts_of
from typer.testing import CliRunner

from socialcrawl.cli.main import app as cli
from socialcrawl.errors import MockError
from socialcrawl.mock.app import Mock
from socialcrawl.mock.dataset_clock import DatasetClock
from socialcrawl.mock.search import PostSearch
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.server_settings import MockSettings
from socialcrawl.mock.world import build_world
from socialcrawl.mock.world_changes import WorldChanges

NAMES = ("ann", "bob", "cy", "dot", "eve@far.example")
DAY = 86_400
ALL_OF_X = {
    "tweet.fields": "created_at,author_id,entities,referenced_tweets,conversation_id,lang,public_metrics,"
    "in_reply_to_user_id",
    "expansions": "author_id,entities.mentions.username,referenced_tweets.id,referenced_tweets.id.author_id,"
    "in_reply_to_user_id",
    "user.fields": "created_at,protected,public_metrics,verified",
}
PLENTY = dict.fromkeys(("limit", "bluesky_limit", "mastodon_limit", "paged_limit"), 10**6)
SIGNED_IN = {"authorization": "Bearer x"}


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self):
        self.now = 1_800_000_000.0

    def __call__(self):
        return self.now


class Asker:
    """A mock of posts, asked in this thread."""

    def __init__(self, posts, time=Clock(), **chosen):  # noqa: B008  # nobody turns this one
        self.world = build_world(posts, chosen.get("missing", 0.0))
        self.mock = Mock(self.world, MockSettings(**PLENTY, **chosen), time=time)

    def __call__(self, path, host="home.example", how="GET", body=b"", **query):
        """The status and the body of an answer; names in `query` have `_` for `.`, which no platform's names have."""
        headers = {"host": host} if path.startswith("/xrpc") else {"host": host, **SIGNED_IN}
        request = httpx.Request(how, f"http://{host}{path}", params=query, headers=headers)
        sent = []

        async def receive():
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http",
            "method": how,
            "path": path,
            "query_string": request.url.query,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
        }
        with suppress(StopIteration):  # it never waits for anything
            self.mock.make_app()(scope, receive, send).send(None)
        return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])

    def ask(self, path, **query):
        """The JSON of an answer with status 200."""
        status, body = self(path, **query)
        assert status == 200, body
        return orjson.loads(body)

    def stand(self, **moment):
        """What POST /_mock/moment tells."""
        status, body = self("/_mock/moment", how="POST", body=json.dumps(moment).encode())
        return status, orjson.loads(body)

    def at(self, second):
        assert self.stand(moment=second)[0] == 200
        return self

    def called(self, name):
        return self.ask("/_mock/accounts", name=name)

    def id(self, name):
        row = self.world.accounts.by_username[self.called(name)["x"].lower()]
        return str(self.world.accounts.ids[row])

    def mastodon(self, name):
        return self.ask("/api/v1/accounts/lookup", acct=self.called(name)["mastodon"])["id"]


def statuses_of(asker, names):
    """The ids that the posts of these accounts, and what they repeat, have at home."""
    lists = [orjson.loads(asker(f"/api/v1/accounts/{asker.mastodon(name)}/statuses", limit=40)[1]) for name in names]
    told = [status for some in lists for status in some]
    return sorted({one["id"] for status in told for one in (status, status["reblog"]) if one})


def questions(full, names=NAMES):
    """(path, parameters) of all that tells of posts, follows or counts of these accounts, on every platform."""
    for name in names:
        x, sky, toot = full.id(name), {"actor": full.called(name)["bluesky"]}, f"/api/v1/accounts/{full.mastodon(name)}"
        yield f"/2/users/{x}", {"user.fields": ALL_OF_X["user.fields"]}
        for size in (5, 100):
            yield f"/2/users/{x}/tweets", {**ALL_OF_X, "max_results": size}
            yield f"/2/users/{x}/mentions", {**ALL_OF_X, "max_results": size}
            yield "/xrpc/app.bsky.feed.getAuthorFeed", {**sky, "limit": size}
            yield f"{toot}/statuses", {"limit": size, "host": "far.example" if size == 5 else "home.example"}
        yield f"/2/users/{x}/tweets", {"exclude": "replies,retweets", "max_results": 5}
        yield f"/2/users/{x}/following", {"user.fields": ALL_OF_X["user.fields"]}
        for kind in ("actor.getProfile", "graph.getFollows", "graph.getFollowers"):
            yield f"/xrpc/app.bsky.{kind}", sky
        for kind in ("", "/following", "/followers"):
            yield toot + kind, {}
    for query in ("rust", "glacier -is:retweet", "from:ann"):
        yield "/2/tweets/search/recent", {**ALL_OF_X, "query": query, "max_results": 10}
        yield "/2/tweets/counts/recent", {"query": query, "granularity": "day"}
        yield "/xrpc/app.bsky.feed.searchPosts", {"q": query, "limit": 3}
        yield "/api/v2/search", {"q": query, "type": "statuses", "limit": 5}
    for host in ("home.example", "far.example"):
        yield "/api/v1/timelines/tag/rust", {"host": host}
    for number in statuses_of(full, names):
        yield f"/api/v1/statuses/{number}", {}


def answers(asker, asked):
    """The answers to these questions, and how many posts the instance at home has."""
    told = [(*question, *asker(question[0], **question[1])) for question in asked]
    return told, asker.ask("/api/v1/instance")["stats"]["status_count"]


@st.composite
def files(draw):
    """Rows (author, created_at, text, [mentions]), ids and answers; everybody posts at the very beginning.

    Who repeats or answers a post does so later: other tests go the other way.
    """
    rows, ids, answered = [(name, START, "hello", ()) for name in NAMES], [], [None] * len(NAMES)
    at = START + DAY
    for n in range(len(NAMES), len(NAMES) + draw(st.integers(1, 16))):
        at += draw(st.sampled_from([0, 0, 1, 3_600, DAY, 3 * DAY]))
        author, other = draw(st.sampled_from(NAMES)), draw(st.sampled_from(NAMES))
        kind = draw(st.sampled_from(["plain", "mention", "answer", "name", "repeat", "lost"]))
        text, before = f"{draw(st.sampled_from(['rust', 'glacier', 'sea']))} {n} #rust", draw(st.integers(0, n - 1))
        if kind == "mention":
            text = f"@{other} {text}"
        if kind == "repeat" and not rows[before][2].startswith("RT"):
            other, text = rows[before][0], f"RT @{rows[before][0]}: {rows[before][2]}"
        if kind == "lost":
            text = f"RT @{other}: nobody has this one"
        names = (other,) if f"@{other}" in text else ()
        if kind == "repeat" and names:
            names = tuple(dict.fromkeys((other, *rows[before][3])))
        answered.append({"answer": f"p{before}", "name": other}.get(kind))
        rows.append((author, at, text, names))
    ids = [f"p{n}" for n in range(len(rows))]
    if draw(st.booleans()):
        ids = [str(10**15 + 7 * n) for n in range(len(rows))]  # such ids are kept, and order the timelines
        answered = [ids[int(one[1:])] if one and one[0] == "p" and one[1:].isdecimal() else one for one in answered]
    return rows, ids, answered


def until(file, second):
    """The part of a file that was posted until then."""
    some = [n for n, row in enumerate(file[0]) if row[1] <= second]
    return posts_of([file[0][n] for n in some], ids=[file[1][n] for n in some], reply_to=[file[2][n] for n in some])


def rich():
    """A file in which one post is answered and repeated again and again, as is one that the file lacks."""
    rows = [(name, START, "hello", ()) for name in NAMES]
    rows.append(("ann", START + DAY, "rust " * 80, ()))
    rows.append(("eve@far.example", START + DAY, "@bob the glacier", ("bob",)))
    answered = [None] * len(rows)
    for day in range(2, 8):
        who = NAMES[day % 5]
        rows += [
            (who, START + DAY * day, f"RT @ann: {'rust ' * 80}", ("ann",)),
            (who, START + DAY * day + 60, "RT @eve@far.example: @bob the glacier", ("eve@far.example", "bob")),
            (who, START + DAY * day + 120, "RT @dot: nobody has this one", ("dot",)),
            (who, START + DAY * day + 180, f"quite so {day} #rust", ()),
            (who, START + DAY * day + 240, f"@cy and so say {day}", ("cy",)),
        ]
        answered += [None, None, None, "p5", f"p{len(rows) - 2}"]
    return rows, [f"p{n}" for n in range(len(rows))], answered


@example(rich(), [DAY * day for day in (9.0, 2.5, 6.0, 3.0, 5.001, 20.0, 2.0)], 0.0)
@settings(deadline=None, max_examples=8)
@given(files(), st.lists(st.floats(DAY - 1, 30 * DAY), min_size=1, max_size=3), st.sampled_from([0.0, 0.3]))
def test_at_each_moment_every_platform_answers_as_if_the_file_ended_there(file, seconds, missing):
    full = Asker(until(file, START + 10**9), moment=START + DAY - 1, missing=missing)
    asked = list(questions(Asker(until(file, START + 10**9))))
    for second in seconds:  # back and forth, as they were drawn
        part = Asker(until(file, START + second), now=START + second, missing=missing)
        assert answers(full.at(START + second), asked) == answers(part, asked)


def times_of(asker, name):
    """What each platform shows of an account's posts, newest first, as Unix seconds; at most 40."""
    told = asker.called(name)
    posts = asker.ask(f"/2/users/{asker.id(name)}/tweets", max_results=40, **{"tweet.fields": "created_at"})
    feed = asker.ask("/xrpc/app.bsky.feed.getAuthorFeed", actor=told["bluesky"], limit=40)["feed"]
    statuses = asker.ask(f"/api/v1/accounts/{asker.mastodon(name)}/statuses", limit=40)
    return {
        "x": [unix(post["created_at"]) for post in posts.get("data", [])],
        "bluesky": [unix(item["post"]["record"]["createdAt"]) for item in feed],
        "mastodon": [unix(status["created_at"]) for status in statuses],
    }


def unix(text):
    return datetime.fromisoformat(text).timestamp()


def counts_of(asker, name):
    """How many posts each platform says that an account wrote."""
    told = asker.called(name)
    metrics = asker.ask(f"/2/users/{asker.id(name)}", **{"user.fields": "public_metrics"})["data"]["public_metrics"]
    return {
        "x": metrics["tweet_count"],
        "bluesky": asker.ask("/xrpc/app.bsky.actor.getProfile", actor=told["bluesky"])["postsCount"],
        "mastodon": asker.ask(f"/api/v1/accounts/{asker.mastodon(name)}")["statuses_count"],
    }


HOURLY = posts_of([("ann", START + 3_600 * n, f"rust {n}", ()) for n in range(30)])


def everywhere(value):
    return dict.fromkeys(("x", "bluesky", "mastodon"), value)


def test_accounts_are_there_before_they_write_anything_and_have_written_nothing():
    asker = Asker(HOURLY, moment=START - 1.0)
    assert times_of(asker, "ann") == everywhere([])
    assert counts_of(asker, "ann") == everywhere(0)


def test_a_post_of_that_very_second_is_there_and_a_later_one_is_not():
    asker = Asker(HOURLY, moment=START + 3_600.0)
    assert times_of(asker, "ann") == everywhere([START + 3_600, START])
    assert times_of(asker.at(START + 7_199.9), "ann") == everywhere([START + 3_600, START])


def test_time_stands_still_without_a_speed_and_passes_with_one_by_the_clock_of_the_mock():
    clock = Clock()
    still, quick = (Asker(HOURLY, clock, moment=START + 0.0, speed=speed) for speed in (0.0, 1_800.0))
    for seconds, posts in ((1.9, 1), (0.1, 2), (6.0, 5), (3_000.0, 30)):
        clock.now += seconds
        assert counts_of(still, "ann") == everywhere(1)
        assert counts_of(quick, "ann") == everywhere(posts)


def test_search_of_x_stands_at_the_moment_and_looks_back_for_a_week():
    daily = posts_of([("ann", START + DAY * n, f"rust {n}", ()) for n in range(30)])
    clock = Clock()
    asker = Asker(daily, clock, moment=START + 60.0, speed=float(DAY))
    for day in range(30):
        found = asker.ask("/2/tweets/search/recent", query="rust", max_results=100)["data"]
        counted = asker.ask("/2/tweets/counts/recent", query="rust", granularity="day")
        assert [post["text"] for post in found] == [f"rust {n}" for n in range(day, max(day - 7, -1), -1)]
        assert counted["meta"]["total_tweet_count"] == len(found)
        assert unix(counted["data"][-1]["end"]) == START + DAY * day + 60 - 30
        clock.now += 1.0


def test_who_asks_for_what_came_since_gets_that_and_nothing_else():
    clock = Clock()
    asker = Asker(HOURLY, clock, moment=START + 0.0, speed=3_600.0)
    x, toot = f"/2/users/{asker.id('ann')}/tweets", f"/api/v1/accounts/{asker.mastodon('ann')}/statuses"
    first, second = asker.ask(x)["data"][0]["id"], asker.ask(toot)[0]["id"]
    assert asker.ask(x, since_id=first)["meta"]["result_count"] == len(asker.ask(toot, since_id=second)) == 0
    clock.now += 3.0
    assert [post["text"] for post in asker.ask(x, since_id=first)["data"]] == ["rust 3", "rust 2", "rust 1"]
    assert len(asker.ask(toot, since_id=second)) == 3


def test_who_turns_pages_while_posts_come_sees_what_was_there_once_each():
    for path, size, name, token in (
        ("/2/users/{x}/tweets", "max_results", "pagination_token", lambda told, _: told["meta"].get("next_token")),
        ("/xrpc/app.bsky.feed.getAuthorFeed?actor={sky}", "limit", "cursor", lambda told, _: told.get("cursor")),
        ("/api/v1/accounts/{toot}/statuses", "limit", "max_id", lambda told, _: told[-1]["id"] if told else None),
    ):
        clock = Clock()
        asker = Asker(HOURLY, clock, moment=START + 3_600.0 * 19, speed=3_600.0)
        named = {"x": asker.id("ann"), "sky": asker.called("ann")["bluesky"], "toot": asker.mastodon("ann")}
        place, _, more = path.format(**named).partition("?actor=")
        given, seen, cursor = {"actor": more} if more else {}, [], None
        while cursor or not seen:
            told = asker.ask(place, **given, **{size: 6}, **({name: cursor} if cursor else {}))
            cursor = token(told, seen)
            seen += [
                json.dumps(one) for one in (told if isinstance(told, list) else told.get("data", told.get("feed")))
            ]
            clock.now += 1.0
        texts = [next(n for n in range(30) if f'rust {n}"' in one or f"rust {n}<" in one) for one in seen]
        assert texts == list(range(19, -1, -1)), path


@example([3, 9, 4], [9.5, 6.0])
@settings(deadline=None, max_examples=many(25))
@given(st.lists(st.integers(0, 12), min_size=1, max_size=12), st.lists(st.floats(0, 25), max_size=4))
def test_where_ids_are_not_in_the_order_of_time_a_post_waits_for_all_before_it(days, moments):
    rows = [("ann", START, f"rust {n}", ()) for n in range(len(days))]
    times = np.array([START + DAY * day for day in days])
    world = replace(build_world(posts_of(rows, ids=[str(n + 1) for n in range(len(days))])), created_at=times)
    moment = DatasetClock(world, START - 1.0)
    search, whole = (
        PostSearch(world, 0.0, WorldChanges(world, moment)),
        [PostSearch(world, START + DAY * day) for day in moments],
    )
    for day, alone in zip(moments, whole, strict=True):
        now = START + DAY * day
        moment.set(now)
        assert moment.there == next((n for n, time in enumerate(times) if time > now), len(times))
        week = [n for n, time in enumerate(times) if now - 7 * DAY <= time < now]
        assert alone.find_recent("rust").tolist() == week
        assert search.find_recent("rust").tolist() == [n for n in week if n < moment.there]


# What comes too early in the file: an answer or a repost before what it answers or repeats


def early():
    rows = [
        ("cy", START, "nothing", ()),
        ("bob", START + 10, "RT @ann: the rust", ("ann",)),
        ("bob", START + 20, "quite so", ()),
        ("ann", START + 100, "the rust", ()),
    ]
    return posts_of(rows, ids=["p0", "p1", "p2", "p3"], reply_to=[None, None, "p3", None])


def test_what_a_post_answers_or_repeats_before_it_was_posted_is_shown_by_no_platform():
    asker, later = Asker(early(), moment=START + 50.0), Asker(early())
    bob = asker.id("bob")
    told = asker.ask(f"/2/users/{bob}/tweets", **ALL_OF_X)
    assert "tweets" not in told["includes"]
    assert [problem["resource_type"] for problem in told["errors"]] == ["tweet"]
    assert len(later.ask(f"/2/users/{bob}/tweets", **ALL_OF_X)["includes"]["tweets"]) == 1
    for shown, posts in ((asker, "notFoundPost"), (later, "postView")):
        feed = shown.ask("/xrpc/app.bsky.feed.getAuthorFeed", actor="bob.mock.social")["feed"]
        assert feed[0]["reply"]["parent"]["$type"].endswith(posts)
        repeated = feed[1]["post"]
        assert repeated["author"]["handle"] == "ann.mock.social"
        assert unix(repeated["record"]["createdAt"]) == START + (10 if shown is asker else 100)
        answer, repost = shown.ask(f"/api/v1/accounts/{shown.mastodon('bob')}/statuses")
        assert (answer["in_reply_to_id"] is None) == (shown is asker)
        assert repost["reblog"]["account"]["acct"] == "ann"
        assert unix(repost["reblog"]["created_at"]) == START + (10 if shown is asker else 100)


# /_mock/moment


def test_the_moment_can_be_set_shown_and_taken_away_while_the_mock_runs():
    clock = Clock()
    asker = Asker(HOURLY, clock)
    nothing = {"moment": None, "speed": 0.0, "posts": 30, "of": 30}
    assert asker.ask("/_mock/moment") == nothing
    at = "2023-11-15T00:13:20Z"  # two hours after START
    assert asker.stand(moment=at) == (200, {"moment": "2023-11-15T00:13:20.000Z", "speed": 0, "posts": 3, "of": 30})
    assert asker.stand(speed=60)[1]["speed"] == 60
    clock.now += 60.0
    assert asker.ask("/_mock/moment")["posts"] == counts_of(asker, "ann")["x"] == 4
    assert asker.stand(moment=START + 7_200, speed=0)[1]["posts"] == 3
    told = orjson.loads(asker("/_mock/moment", how="DELETE")[1])
    assert told == nothing


def test_a_mock_whose_moment_was_taken_away_answers_as_one_that_never_had_one():
    file = until(rich(), START + 10**9)
    asker, whole = Asker(file, moment=START + 3.0 * DAY), Asker(file)
    asked = list(questions(whole))
    assert answers(asker, asked) != answers(whole, asked)
    assert asker("/_mock/moment", how="DELETE")[0] == 200
    assert answers(asker, asked) == answers(whole, asked)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"now", "The moment is not valid JSON"),
        (b"[]", "The moment is not a table"),
        (b"{}", "That is not a moment"),
        (b'{"second": 3}', "That is not a moment"),
        (b'{"moment": "soon"}', "'soon' is not an instant"),
        (b'{"moment": true}', "True is not a moment or speed"),
        (b'{"moment": -1}', "give one from 1970 on"),
        (b'{"moment": 1e300}', "give one from 1970 on"),
        (b'{"moment": 1, "speed": -1}', "give 0 or more"),
        (b'{"moment": 1, "speed": "3600"}', "'3600' is not a moment or speed"),
        (b'{"speed": 1}', "All posts are there"),
    ],
)
def test_what_is_no_moment_is_refused_with_a_sentence_and_nothing_changes(body, said):
    asker = Asker(HOURLY)
    status, told = asker("/_mock/moment", how="POST", body=body)
    assert status == 400
    assert said in orjson.loads(told)["error"]
    assert asker.ask("/_mock/moment")["moment"] is None


# Settings and the command


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"speed": 60.0}, "give that moment as well"),
        ({"moment": 1.0, "now": 2.0}, "give either that"),
        ({"moment": -1.0}, "from 1970 on"),
        ({"moment": 1.0, "speed": float("inf")}, "give 0 or more"),
        ({"moment": START + 3_600.0 * 29}, "the last of 2023-11-16T03:13:20"),
    ],
)
def test_a_moment_that_cannot_be_is_refused_when_the_mock_is_made(chosen, said):
    with pytest.raises(MockError, match=said):
        Asker(HOURLY, **chosen)


def test_pages_have_no_times(tmp_path):
    pages = tmp_path / "pages.csv"
    pages.write_text("key,text,links\na,rust,\n")
    with pytest.raises(MockError, match="Pages have no times"), serve_in_thread(pages=pages, platforms=(), moment=1.0):
        pass
    mock = Asker.__new__(Asker)
    mock.mock = Mock(None, MockSettings(pages=pages, platforms=()))
    status, told = mock("/_mock/moment")
    assert status == 400
    assert "no times" in orjson.loads(told)["error"]


def test_a_mock_in_a_thread_begins_at_the_moment_too():
    with serve_in_thread(HOURLY, moment=START + 3_600.0) as mock, httpx.Client(base_url=mock.url) as client:
        assert client.get("/_mock/moment").json()["posts"] == 2
        assert client.get("/xrpc/app.bsky.actor.getProfile?actor=ann.mock.social").json()["postsCount"] == 2


def test_the_command_says_when_to_begin_and_how_fast_time_passes(tmp_path, monkeypatch):
    posts, served = tmp_path / "posts.csv", []
    posts.write_text("author,created_at,text\nann,2023-11-14T22:13:20Z,rust\n")
    monkeypatch.setattr("socialcrawl.mock.server.serve", lambda chosen, **_: served.append(chosen))
    told = CliRunner().invoke(cli, ["mock", "--posts", str(posts), "--from", "2023-11-14", "--speed", "3600"])
    assert told.exit_code == 0, told.output
    (chosen,) = served
    assert (chosen.moment, chosen.speed) == (unix("2023-11-14T00:00:00+00:00"), 3_600.0)
    assert CliRunner().invoke(cli, ["mock", "--posts", str(posts)]).exit_code == 0
    assert (served[1].moment, served[1].speed) == (None, 0.0)
    wrong = CliRunner().invoke(cli, ["mock", "--posts", str(posts), "--from", "soon"])
    assert wrong.exit_code != 0
