"""Faults of streams: each does to messages what the page about faults says; what can be replayed is not lost."""

import time
from contextlib import suppress

import httpx
import pytest
from stream_clients import SIGNED_IN, receive, receive_until, rows_of, streaming
from test_mock_jetstream import EVER, V2, created, is_end, written
from websockets.exceptions import ConnectionClosed, InvalidMessage, InvalidStatus

from socialcrawl.mock import open_streams

STREAM, MASTODON = "/2/tweets/search/stream", "/api/v1/streaming"
ROWS = rows_of(40)
TEXTS = written(ROWS)


def replay(streamed, cursor=1):
    with streamed.listen(f"{V2}?cursor={cursor}") as socket:
        return [created(message)[0] for message in receive_until(socket, is_end)]


@pytest.fixture
def streamed():
    with streaming(ROWS, **EVER) as made:
        yield made


def test_a_hole_is_left_out_and_comes_with_the_next_connection(streamed):
    streamed.fail({"kind": "hole", "from": 6, "burst": 4, "times": 4})
    assert replay(streamed) == TEXTS[:5] + TEXTS[9:]
    assert replay(streamed) == TEXTS


def test_a_duplicate_comes_twice_and_a_swapped_message_after_the_next(streamed):
    streamed.fail({"kind": "duplicate", "from": 3, "times": 1}, {"kind": "swap", "from": 8, "times": 1})
    assert replay(streamed) == [*TEXTS[:3], TEXTS[2], *TEXTS[3:7], TEXTS[8], TEXTS[7], *TEXTS[9:]]


def test_a_swapped_message_without_a_next_one_comes_all_the_same(streamed):
    streamed.fail({"kind": "swap", "from": len(TEXTS), "times": 1})
    assert replay(streamed) == TEXTS


def test_a_connection_that_drops_is_resumed_from_its_cursor_without_loss(streamed):
    streamed.fail({"kind": "drop", "every": 9})
    told, cursor, drops = [], 1, 0
    while not told or told[-1] != TEXTS[-1]:
        with streamed.listen(f"{V2}?cursor={cursor}") as socket:
            told_before = len(told)
            with suppress(ConnectionClosed):
                for message in iter(lambda: receive(socket), None):
                    told.append(created(message)[0])
                    cursor = created(message)[1] + 1
                    if is_end(message):
                        break
                told_before = -1
            drops += told_before >= 0
    [rule] = streamed.admin.get("/_mock/faults").json()["fault"]
    assert (told, drops) == (TEXTS, rule["done"])
    assert (rule["seen"], drops) == (len(TEXTS) + drops, -(-rule["seen"] // 9))


@pytest.mark.parametrize("kind", ["stall", "silence"])
def test_a_pause_ends_and_nothing_is_lost(streamed, kind):
    streamed.fail({"kind": kind, "seconds": 0.5, "from": 4, "times": 1})
    with streamed.listen(f"{V2}?cursor=1") as socket:
        assert [created(receive(socket))[0] for _ in range(3)] == TEXTS[:3]
        with pytest.raises(TimeoutError):
            socket.recv(timeout=0.2)
        assert [created(one)[0] for one in receive_until(socket, is_end)] == TEXTS[3:]


def test_a_stall_without_seconds_lasts_until_the_client_leaves(streamed):
    streamed.fail({"kind": "stall", "from": 2, "times": 1})
    with streamed.listen(f"{V2}?cursor=1") as socket:
        receive(socket)
        with pytest.raises(TimeoutError):
            socket.recv(timeout=0.5)
    assert replay(streamed) == TEXTS


def test_the_server_says_why_it_disconnects(streamed):
    streamed.fail({"kind": "disconnect", "from": 2, "times": 1})
    with streamed.listen(f"{V2}?cursor=1") as socket:
        receive(socket)
        last = receive(socket)
        assert (last["$type"], last["error"]) == ("error", "ConsumerTooSlow")
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=60)
    assert closed.value.rcvd.code == 1000


def test_faults_of_requests_meet_the_connection(streamed):
    rules = [{"kind": "error", "status": 503, "times": 1, "endpoint": "/xrpc/network*"}]
    rules += [
        {"kind": kind, "from": 2 + n, "times": 1, "endpoint": "/xrpc/network*"} for n, kind in enumerate(("cut",))
    ]
    streamed.fail(*rules, {"kind": "too-many", "from": 3, "times": 1, "endpoint": "/xrpc/network*"})
    for status in (503, None, 429):
        kind = InvalidMessage if status is None else InvalidStatus
        with pytest.raises(kind) as refusal, streamed.listen(V2):
            pass
        assert status is None or refusal.value.response.status_code == status
    assert replay(streamed) == TEXTS


def test_a_slow_start_comes_late_and_loses_nothing(streamed):
    streamed.fail({"kind": "slow", "seconds": 0.4, "times": 1, "endpoint": "/xrpc/network*"})
    began = time.monotonic()
    assert replay(streamed) == TEXTS
    assert time.monotonic() - began >= 0.4


def test_many_connections_are_served_at_once_and_counted(streamed):
    streams = [streamed.listen(f"{V2}?cursor=1") for _ in range(8)]
    sockets = [stream.__enter__() for stream in streams]
    for socket in sockets:
        assert [created(one)[0] for one in receive_until(socket, is_end)] == TEXTS
    for stream in streams:
        stream.__exit__(None, None, None)
    book = streamed.mock.report()["platforms"]["bluesky"]
    assert book["streamed"] == {V2: 8 * len(TEXTS)}
    assert book["answers"]["101"] == 8


def test_more_connections_than_there_is_room_for_are_refused(streamed, monkeypatch):
    monkeypatch.setattr(open_streams, "MOST_STREAMS", 1)
    with streamed.listen(V2):
        with pytest.raises(InvalidStatus) as refusal, streamed.listen(V2):
            pass
        assert refusal.value.response.status_code == 503


def test_a_server_that_stops_ends_its_streams_in_good_order(caplog):
    with streaming(ROWS, **EVER) as made:
        sockets = [made.listen(V2), made.listen("/subscribe"), made.listen(MASTODON, additional_headers=SIGNED_IN)]
        opened = [socket.__enter__() for socket in sockets]
        made.admin.post(f"{STREAM}/rules", json={"add": [{"value": "rust"}]})
        client = httpx.Client(base_url=made.url, headers=SIGNED_IN, timeout=60)
        http = [client.stream("GET", path) for path in (STREAM, f"{MASTODON}/public")]
        answers = [one.__enter__() for one in http]
    for socket, opening in zip(opened, sockets, strict=True):
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=60)
        assert closed.value.rcvd.code in (1001, 1012)
        opening.__exit__(None, None, None)
    for answer, opening in zip(answers, http, strict=True):
        answer.read()  # to its end: nothing is missing
        opening.__exit__(None, None, None)
    client.close()
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []
