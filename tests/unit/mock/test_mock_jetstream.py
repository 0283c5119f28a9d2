"""The mock's Jetstream, both endpoints over real WebSockets: what it sends equals the file, from every cursor."""

import json
import re

import httpx
import pytest
from bluesky_mock import START, Row
from stream_clients import receive, receive_until, rows_of, streaming
from websockets.exceptions import ConnectionClosed, InvalidStatus

V1, V2 = "/subscribe", "/xrpc/network.bsky.jetstream.subscribeEvents"
STEP, POST, REPOST = 1_000_000, "app.bsky.feed.post", "app.bsky.feed.repost"
EVER = {"replay": float("inf")}


def created(message):
    """The commit of a message of either endpoint, as (text or None for a repost, its seq)."""
    op, seq = (message["payload"], message["payload"]["seq"]) if "payload" in message else (
        message["commit"], message["cursor"])  # fmt: skip
    return (op["record"].get("text") if op["operation"] == "create" else op["operation"]), seq


def is_end(message):
    return created(message)[0] == "the end about rust #rust" if "commit" in json.dumps(message) else False


def written(rows):
    """What the file says that Jetstream sends: the text of each post, None for each repost, in order of time."""
    return [None if row.text.startswith("RT @") else row.text for row in sorted(rows, key=lambda row: row.at)]


@pytest.fixture(scope="module")
def whole():
    with streaming(**EVER) as streamed:
        yield streamed


@pytest.mark.parametrize("path", [V1, V2])
def test_a_replay_from_the_first_event_is_the_whole_file_in_order_with_ascending_cursors(whole, path):
    with whole.listen(f"{path}?cursor=1") as socket:
        told = [created(message) for message in receive_until(socket, is_end)]
    assert [text for text, _ in told] == written(whole.rows)
    assert [seq for _, seq in told] == [(place + 1) * STEP for place in range(len(whole.rows))]


@pytest.mark.parametrize("place", [0, 1, 100, 255, 256, 257])
def test_a_cursor_of_v2_is_inclusive_and_one_behind_it_is_not(whole, place):
    texts = written(whole.rows)
    for cursor, first in ((place + 1) * STEP, place), ((place + 1) * STEP + 1, place + 1):
        with whole.listen(f"{V2}?cursor={cursor}") as socket:
            assert created(receive(socket)) == (texts[first], (first + 1) * STEP)


def test_a_cursor_in_microseconds_begins_with_the_first_event_at_or_after_it(whole):
    rows = sorted(whole.rows, key=lambda row: row.at)
    for micros, first in (rows[40].at * STEP, 40), (rows[40].at * STEP + 1, 41):
        for path in (V1, V2):
            with whole.listen(f"{path}?cursor={micros}") as socket:
                assert created(receive(socket))[1] == (first + 1) * STEP


@pytest.mark.parametrize(
    ("query", "keeps"),
    [
        (f"collections={POST}", lambda row: not row.text.startswith("RT")),
        (f"collections={REPOST}&collections={POST}", lambda row: True),
        ("collections=app.bsky.feed.*", lambda row: True),
        ("collections=app.bsky.graph.*&collections=app.bsky.feed.repost", lambda row: row.text.startswith("RT")),
        ("kinds=commit", lambda row: True),
        ("dids={author3}&dids={author5}&dids={zed}", lambda row: row.author in ("author3", "author5", "zed")),
        (f"dids={{fan2}}&collections={POST}", lambda row: False),
        ("maxMessageSizeBytes=1", lambda row: False),
    ],
)
def test_filters_of_v2_keep_what_they_say(whole, query, keeps):
    dids = {name: whole.call(name)["did"] for name in ("author3", "author5", "fan2", "zed")}
    with whole.listen(f"{V2}?cursor=1&{query.format(**dids)}") as socket:
        wanted = [row for row in whole.rows if keeps(row)]
        if "{zed}" in query:
            assert [created(one)[0] for one in receive_until(socket, is_end)] == written(wanted)
        elif wanted:
            assert [created(receive(socket))[0] for _ in wanted] == written(wanted)
        else:
            with pytest.raises(TimeoutError):
                socket.recv(timeout=0.3)


def test_options_of_v1_are_replaced_while_it_runs_and_hello_is_awaited(whole):
    did = whole.call("author2")["did"]
    with whole.listen(f"{V1}?cursor=1&requireHello=true") as socket:
        with pytest.raises(TimeoutError):
            socket.recv(timeout=0.3)
        payload = {"wantedCollections": [POST], "wantedDids": [did, whole.call("zed")["did"]], "maxMessageSizeBytes": 0}
        socket.send(json.dumps({"type": "unheard_of", "payload": {}}))
        socket.send(json.dumps({"type": "options_update", "payload": payload}))
        told = receive_until(socket, is_end)
    assert [created(one)[0] for one in told] == written([row for row in whole.rows if row.author in ("author2", "zed")])


def test_events_have_the_form_that_the_documentation_shows(whole):
    with whole.listen(f"{V1}?cursor=4000000") as first, whole.listen(f"{V2}?cursor=4000000") as second:
        old, new = receive(first), receive(second)["payload"]
    row = whole.rows[3]
    did = whole.call(row.author)["did"]
    assert (old["did"], old["kind"], old["time_us"]) == (did, "commit", row.at * STEP)
    assert old["commit"].keys() == {"rev", "operation", "collection", "rkey", "record", "cid"}
    assert {**old["commit"], "did": did, "seq": 4 * STEP} == {
        key: value for key, value in new.items() if key not in ("$type", "time", "witnessedAt")
    }
    assert new["$type"] == "network.bsky.jetstream.subscribeEvents#commit"
    assert re.fullmatch(r"2023-11-14T22:13:50\.000000Z", new["time"])
    record = new["record"]
    parent = record["reply"]["parent"]["uri"]
    assert (record["text"], record["langs"], record["createdAt"]) == (row.text, ["en"], "2023-11-14T22:13:50.000Z")
    assert parent.startswith(f"at://{whole.call('author0')['did']}/{POST}/")
    [tag] = record["facets"]
    assert record["text"].encode()[tag["index"]["byteStart"] : tag["index"]["byteEnd"]] == b"#rust"


@pytest.mark.parametrize("path", [V1, V2])
def test_posts_arrive_when_the_file_reaches_them_and_nothing_before(path):
    with streaming(begin=START + 95.0, **EVER) as live, live.listen(path) as socket:
        with pytest.raises(TimeoutError):
            socket.recv(timeout=0.3)
        live.move(START + 115.0)
        assert [created(receive(socket))[0] for _ in range(2)] == ["note 10 about tea", "note 11 about tea"]
        live.end()
        told = [created(one)[0] for one in receive_until(socket, is_end)]
    assert told == written([row for row in live.rows if row.at > START + 115])


def test_what_is_older_than_what_is_kept_is_left_out_by_v1_and_refused_by_v2():
    with streaming(replay=600.0) as short:
        since = short.rows[-1].at + 1 - 600
        kept = written([row for row in short.rows if row.at >= since])
        for path in (f"{V1}?cursor=1", f"{V1}?cursor={START * STEP}"):
            with short.listen(path) as socket:
                assert [created(one)[0] for one in receive_until(socket, is_end)] == kept
        with pytest.raises(InvalidStatus) as refusal, short.listen(f"{V2}?cursor=1"):
            pass
        error = json.loads(refusal.value.response.body)
        assert (refusal.value.response.status_code, error["error"]) == (400, "CursorTooOld")
        floor = int(re.search(r"floor (\d+)", error["message"])[1])
        with short.listen(f"{V2}?cursor={floor}") as socket:
            assert [created(one)[0] for one in receive_until(socket, is_end)] == kept
        with short.listen(f"{V2}?cursor={START * STEP}") as socket:
            assert receive(socket)["payload"]["name"] == "OutdatedCursor"
            assert [created(one)[0] for one in receive_until(socket, is_end)] == kept


def test_another_instance_has_other_numbers_for_the_same_events():
    rows = rows_of(20)
    with streaming(rows, **EVER) as one, streaming(rows, jetstream_offset=7 * STEP**2, **EVER) as other:
        with one.listen(f"{V2}?cursor=1") as first, other.listen(f"{V2}?cursor=1") as second:
            pairs = zip(receive_until(first, is_end), receive_until(second, is_end), strict=True)
            assert all(created(a)[1] + 7 * STEP**2 == created(b)[1] for a, b in pairs)
        with one.listen(f"{V2}?cursor={7 * STEP**2 + STEP}") as socket:
            assert receive(socket)["payload"]["name"] == "FutureCursor"


def test_the_number_behind_the_last_event_is_the_place_where_the_next_one_comes():
    with streaming(begin=START + 95.0, **EVER) as live, live.listen(f"{V2}?cursor={11 * STEP}") as first:
        assert created(receive(first)) == ("note 9 about rust 🌾 #rust", 11 * STEP)
        with live.listen(f"{V2}?cursor={11 * STEP + 1}") as second:
            live.move(START + 105.0)
            assert created(receive(second)) == created(receive(first)) == ("note 10 about tea", 12 * STEP)


@pytest.mark.parametrize(
    ("query", "error", "said"),
    [
        ("cursor=abc", "InvalidRequest", "invalid cursor"),
        ("cursor=-1", "InvalidRequest", "negative value -1"),
        ("wantedDids=did:plc:a", "InvalidRequest", "use dids"),
        ("wantedCollections=a.b.c", "InvalidRequest", "use collections"),
        ("kinds=rain", "InvalidRequest", "unknown kind"),
        ("kinds=account&collections=app.bsky.feed.post", "InvalidRequest", "can never apply"),
        ("collections=nodots", "InvalidRequest", "invalid collection: nodots"),
        ("&".join(f"collections=a.b.c{i}" for i in range(101)), "InvalidRequest", "too many collections"),
        ("dids=bob", "InvalidRequest", "invalid DID: bob"),
        ("maxMessageSizeBytes=-3", "InvalidRequest", "maxMessageSizeBytes"),
        ("zstdDictionary=5", "UnknownZstdDictionary", "no zstd dictionary"),
        ("compress=true", "InvalidRequest", "opt-in"),
    ],
)
def test_what_cannot_be_is_refused_by_v2_with_its_names(whole, query, error, said):
    with pytest.raises(InvalidStatus) as refusal, whole.listen(f"{V2}?{query}"):
        pass
    told = json.loads(refusal.value.response.body)
    assert (refusal.value.response.status_code, told["error"]) == (400, error)
    assert said in told["message"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("cursor=abc", "invalid cursor"),
        ("wantedCollections=x", "invalid collection: x"),
        ("&".join(f"wantedCollections=a.b.c{i}" for i in range(101)), "too many wanted collections"),
        ("wantedDids=bob", "invalid DID: bob"),
        ("compress=true", "does not compress"),
    ],
)
def test_what_cannot_be_is_refused_by_v1_in_a_sentence(whole, query, said):
    with pytest.raises(InvalidStatus) as refusal, whole.listen(f"{V1}?{query}"):
        pass
    assert refusal.value.response.status_code == 400
    assert said in refusal.value.response.body.decode()


def test_more_accounts_than_ten_thousand_are_refused(whole):
    dids = [f"did:plc:{i}" for i in range(10_001)]
    with whole.listen(f"{V1}?requireHello=true") as socket:
        socket.send(json.dumps({"type": "options_update", "payload": {"wantedDids": dids}}))
        with pytest.raises(ConnectionClosed) as ending:
            socket.recv(timeout=60)
    assert (ending.value.rcvd.code, "too many wanted DIDs" in ending.value.rcvd.reason) == (1008, True)


@pytest.mark.parametrize(("path", "frame", "code"), [(V1, "no JSON", 1007), (V1, "[]", 1007), (V2, "{}", 1008)])
def test_a_frame_that_is_none_ends_the_stream(whole, path, frame, code):
    with whole.listen(path) as socket:
        socket.send(frame)
        with pytest.raises(ConnectionClosed) as ending:
            socket.recv(timeout=60)
    assert ending.value.rcvd.code == code


def test_a_plain_request_is_told_to_ask_for_a_websocket(whole):
    for path in (V1, V2):
        assert httpx.get(whole.url + path).status_code == 426


def test_accounts_that_change_and_posts_that_are_deleted_are_events_at_their_place():
    with streaming(begin=START + 95.0, **EVER) as live, live.listen(V2) as new, live.listen(V1) as old:
        post = live.sky("app.bsky.feed.getAuthorFeed", actor=live.call("author4")["did"])
        key = post["feed"][0]["post"]["uri"].rpartition("/")[2]
        number = _find_id(live, "note 4 about tea")
        live.fail({"kind": "suspend", "account": "author1"})
        live.fail({"kind": "rename", "account": "author2", "name": "renamed"})
        live.fail({"kind": "restore", "account": "author1"})
        live.fail({"kind": "delete", "post": number})
        told = [receive(new)["payload"] for _ in range(4)]
        assert [one["$type"].partition("#")[2] for one in told] == ["account", "identity", "account", "commit"]
        assert (told[0]["account"]["active"], told[0]["account"]["status"]) == (False, "suspended")
        assert (told[1]["identity"]["handle"], told[2]["account"]["active"]) == ("renamed.mock.social", True)
        assert (told[3]["operation"], told[3]["rkey"], "record" in told[3]) == ("delete", key, False)
        assert [one["seq"] for one in told] == [11 * STEP + n + 1 for n in range(4)]
        past = [receive(old) for _ in range(4)]
        assert [one["kind"] for one in past] == ["account", "identity", "account", "commit"]
        assert past[3]["commit"].keys() == {"rev", "operation", "collection", "rkey"}
        with live.listen(f"{V2}?cursor={told[1]['seq']}") as again:
            assert [receive(again)["payload"]["seq"] for _ in range(3)] == [one["seq"] for one in told[1:]]


def _find_id(live, text):
    """The id of a post on X, by its text."""
    found = live.admin.get("/2/tweets/search/all", params={"query": f'"{text}"', "start_time": "2023-01-01T00:00:00Z"})
    return found.json()["data"][0]["id"]


def test_a_share_of_the_posts_is_deleted_a_while_after_they_appeared_and_no_platform_shows_them():
    rule = {"kind": "delete", "share": 0.3, "seconds": 50.0}
    with streaming(begin=START + 5.0, **EVER) as live, live.listen(V2) as socket:
        live.fail(rule)
        live.end()
        told = [one["payload"] for one in receive_until(socket, is_end)]
        made = {one["rkey"]: one for one in told if one["operation"] == "create"}
        gone = [one for one in told if one["operation"] == "delete"]
        times = {one["rkey"]: one["time"] for one in told if one["operation"] == "create"}
        assert 0.2 < len(gone) / len(live.rows) < 0.5
        assert all(one["time"] > times[one["rkey"]] for one in gone if one["rkey"] in times)
        texts = {made[one["rkey"]]["record"].get("text") for one in gone if one["rkey"] in made} - {None}
        searched = live.sky("app.bsky.feed.searchPosts", q="rust", limit=100)["posts"]
        assert texts
        assert not texts & {one["record"]["text"] for one in searched}
        token = {"Host": "home.example"}
        tagged = live.admin.get("/api/v1/timelines/tag/rust", params={"limit": 40}, headers=token).json()
        assert not texts & {re.sub("<[^>]*>", "", one["content"]) for one in tagged}
        found = live.admin.get(
            "/2/tweets/search/all", params={"query": "rust", "start_time": "2023-01-01T00:00:00Z", "max_results": 500}
        )
        assert found.json()["data"]
        assert not texts & {one["text"] for one in found.json()["data"]}
        for one in gone[:3]:
            feed = live.sky("app.bsky.feed.getAuthorFeed", actor=one["did"], limit=100)
            assert one["rkey"] not in {item["post"]["uri"].rpartition("/")[2] for item in feed["feed"]}


def test_accounts_that_are_missing_from_the_start_send_nothing():
    with streaming(
        [Row("a", "here", START, "one"), Row("b", "gone", START + 1, "two"), *rows_of(1)[-1:]], **EVER
    ) as live:
        live.fail({"kind": "suspend", "account": "gone"})
        with live.listen(f"{V2}?cursor=1&kinds=commit") as socket:
            assert [created(one)[0] for one in receive_until(socket, is_end)] == ["one", live.rows[-1].text]
