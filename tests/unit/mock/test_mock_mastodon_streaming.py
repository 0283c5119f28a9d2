"""The mock's Mastodon streams, as server-sent events and over WebSockets: what they send equals the file."""

import json
import re
from contextlib import contextmanager

import httpx
import pytest
from bluesky_mock import START, Row
from stream_clients import PATIENCE, SIGNED_IN, receive, receive_until, rows_of, streaming
from websockets.exceptions import InvalidStatus

FIRST = START - 1.0
ROWS = rows_of(60)
ELSEWHERE = [
    *ROWS[:-1],
    Row("x1", "far@far.example", START + 650, "far away about rust #rust"),
    Row("x2", "author1", START + 651, "to myself #rust", (), "p1"),
    ROWS[-1],
]


def text_of(status):
    return re.sub("<[^>]*>", "", (status["reblog"] or status)["content"])


def is_repost(row):
    return row.text.startswith("RT @")


def by_id(rows):
    return {row.id: row for row in rows}


def answers_another(row, rows):
    return row.answers is not None and by_id(rows)[row.answers].author != row.author


def written(rows):
    return [row.text for row in sorted(rows, key=lambda row: row.at)]


WANTED = {
    "public": lambda row: not is_repost(row) and not answers_another(row, ELSEWHERE),
    "public/local": lambda row: WANTED["public"](row) and "@" not in row.author,
    "public/remote": lambda row: WANTED["public"](row) and "@" in row.author,
    "hashtag?tag=rust": lambda row: not is_repost(row) and "#rust" in row.text,
    "hashtag?tag=RUST": lambda row: not is_repost(row) and "#rust" in row.text,
    "hashtag/local?tag=rust": lambda row: not is_repost(row) and "#rust" in row.text and "@" not in row.author,
}


@contextmanager
def events(streamed, path, headers=SIGNED_IN, host="home.example"):
    """An event source, as an iterator of (event, data); lines of its own are ("", line)."""
    client = httpx.Client(timeout=PATIENCE)
    url, headers = f"{streamed.url}/api/v1/streaming/{path}", {**headers, "Host": host}
    with client, client.stream("GET", url, headers=headers) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"] == "text/event-stream"
        lines = answer.iter_lines()
        yield _read(lines)


def _read(lines):
    event = None
    for line in lines:
        if line.startswith(":"):
            yield "", line
        elif line.startswith("event: "):
            event = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield event, line.removeprefix("data: ")


@pytest.mark.parametrize("path", [path for path in WANTED if path != "public/remote"])
def test_an_event_source_sends_what_the_stream_has_and_nothing_else(path):
    with streaming(ELSEWHERE, begin=FIRST) as live, events(live, path) as source:
        assert next(source) == ("", ":)")
        live.end()
        wanted = written([row for row in ELSEWHERE if WANTED[path](row)])
        told = [next(source) for _ in wanted]
        assert [event for event, _ in told] == ["update"] * len(wanted)
        assert [text_of(json.loads(data)) for _, data in told] == wanted
        assert wanted[-1] == ROWS[-1].text  # the last post of the file: no other one can follow


def test_a_websocket_carries_several_streams_and_names_each():
    with streaming(ELSEWHERE, begin=FIRST) as live:
        live.admin.headers["Host"] = "home.example"
        with live.listen("/api/v1/streaming", additional_headers=SIGNED_IN) as socket:
            for name in ("public:remote", "user"):
                socket.send(json.dumps({"type": "subscribe", "stream": name}))
            socket.send(json.dumps({"type": "subscribe", "stream": "hashtag:local", "tag": "Rust"}))
            socket.send(json.dumps({"type": "subscribe", "stream": "nonsense"}))
            assert receive(socket) == {"error": "Unknown stream type", "status": 400}
            live.end()
            told = receive_until(socket, lambda frame: frame["stream"][0] == "hashtag:local" and _is_end(frame))
        texts = {tuple(one["stream"]): [] for one in told}
        for one in told:
            texts[tuple(one["stream"])].append(text_of(json.loads(one["payload"])))
        assert texts["public:remote",] == ["far away about rust #rust"]
        assert texts["hashtag:local", "Rust"] == written(
            [row for row in ELSEWHERE if WANTED["hashtag/local?tag=rust"](row)]
        )
        reposted = [re.sub(r"^RT @\w+: ", "", text) for text in written(ELSEWHERE)]
        assert texts["user",] == reposted


def _is_end(frame):
    return text_of(json.loads(frame["payload"])) == ROWS[-1].text


@pytest.mark.parametrize("how", ["header", "query", "protocol"])
def test_a_token_comes_in_the_header_the_query_or_as_the_protocol(how):
    given = {"header": {"additional_headers": SIGNED_IN}, "protocol": {"subprotocols": ["x"]}}.get(how, {})
    query = "?stream=hashtag&tag=rust" + ("&access_token=x" if how == "query" else "")
    with (
        streaming(ROWS, begin=FIRST, tokens=frozenset({"x"})) as live,
        live.listen(f"/api/v1/streaming{query}", **given) as socket,
    ):
        live.end()
        assert text_of(json.loads(receive(socket)["payload"])) == ROWS[0].text


def test_who_leaves_a_stream_gets_no_more_of_it():
    path = "/api/v1/streaming?stream=public"
    with streaming(ROWS, begin=FIRST) as live, live.listen(path, additional_headers=SIGNED_IN) as socket:
        socket.send(json.dumps({"type": "subscribe", "stream": "hashtag", "tag": "rust"}))
        socket.send(json.dumps({"type": "unsubscribe", "stream": "public"}))
        socket.send(json.dumps({"type": "unsubscribe", "stream": "nonsense"}))
        assert receive(socket) == {"error": "Error unsubscribing from channel"}
        live.end()
        told = receive_until(socket, _is_end)
    assert {tuple(one["stream"]) for one in told} == {("hashtag", "rust")}


def test_deleted_posts_are_told_by_their_ids_in_the_streams_that_had_them():
    with streaming(ROWS, begin=START + 35.0) as live, events(live, "hashtag?tag=rust") as source:
        next(source)
        found = live.admin.get("/2/tweets/search/all", params={"query": "rust", "start_time": "2023-01-01T00:00:00Z"})
        number = found.json()["data"][-1]["id"]
        tagged = live.admin.get("/api/v1/timelines/tag/rust", headers={"Host": "home.example"}).json()
        oldest = tagged[-1]["id"]
        live.fail({"kind": "delete", "post": number})
        assert next(source) == ("delete", oldest)
        gone = live.admin.get(f"/api/v1/statuses/{oldest}", headers={"Host": "home.example"})
        assert gone.status_code == 404


def test_the_greeting_of_an_event_source_is_no_message_that_a_fault_strikes():
    with streaming(ROWS, begin=FIRST) as live:
        live.fail({"kind": "hole", "times": 1})
        with events(live, "hashtag?tag=rust") as source:
            assert next(source) == ("", ":)")
            live.end()
            assert text_of(json.loads(next(source)[1])) == ROWS[3].text


def test_an_edited_post_is_told_with_its_new_text_and_shown_so():
    with streaming(ROWS, begin=START + 35.0) as live, events(live, "hashtag?tag=rust") as source:
        next(source)
        found = live.admin.get("/2/tweets/search/all", params={"query": "rust", "start_time": "2023-01-01T00:00:00Z"})
        number = found.json()["data"][-1]["id"]
        live.fail({"kind": "edit", "post": number, "text": "another text", "platform": "mastodon"})
        event, data = next(source)
        told = json.loads(data)
        assert (event, text_of(told), told["edited_at"]) == (
            "status.update",
            "another text",
            "2023-11-14T22:13:55.000Z",
        )
        shown = live.admin.get(f"/api/v1/statuses/{told['id']}", headers={"Host": "home.example"}).json()
        assert (text_of(shown), shown["edited_at"]) == ("another text", told["edited_at"])


def test_an_event_source_says_that_it_is_open():
    with streaming(ROWS, begin=FIRST, heartbeat=0.05) as live, events(live, "public") as source:
        assert [next(source) for _ in range(3)] == [("", ":)"), ("", ":thump"), ("", ":thump")]


@pytest.mark.parametrize(
    ("path", "headers", "status", "error"),
    [
        ("public", {}, 401, "Missing access token"),
        ("hashtag?tag=rust", {"Authorization": "Bearer wrong"}, 401, "Invalid access token"),
        ("hashtag", SIGNED_IN, 400, "Missing tag name parameter"),
        ("rain", SIGNED_IN, 400, "Unknown channel requested"),
        ("list?list=3", SIGNED_IN, 401, "Not authorized to stream this list"),
    ],
)
def test_what_cannot_be_is_refused_as_mastodon_does(path, headers, status, error):
    with streaming(ROWS, begin=FIRST, tokens=frozenset({"x"})) as live:
        answer = httpx.get(f"{live.url}/api/v1/streaming/{path}", headers=headers)
        assert (answer.status_code, answer.json()) == (status, {"error": error})
        with pytest.raises(InvalidStatus) as refusal, live.listen("/api/v1/streaming?stream=public"):
            pass
        assert refusal.value.response.status_code == 401


def test_the_instance_says_where_its_streams_are_and_that_they_are_served():
    with streaming(ROWS) as live:
        here = httpx.get(f"{live.url}/api/v2/instance").json()
        assert here["configuration"]["urls"]["streaming"] == live.socket_url
        assert httpx.get(f"{live.url}/api/v1/instance").json()["urls"]["streaming_api"] == live.socket_url
        there = httpx.get(f"{live.url}/api/v2/instance", headers={"Host": "home.example"}).json()
        assert there["configuration"]["urls"]["streaming"] == "wss://home.example"
        assert httpx.get(f"{live.url}/api/v1/streaming/health").text == "OK"
