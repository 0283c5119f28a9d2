"""The reader of a live stream, on connections that do what a test says: what is held, replayed, missed and refused."""

import threading
from contextlib import contextmanager

import pytest

from socialcrawl.engine.model import Reply, ReplyKind
from socialcrawl.engine.stream_places import Place, parse_part, parse_place, parse_turn
from socialcrawl.platforms.stream_reader import Segment, StreamEvent, StreamReader, StreamRefusedError

START = Place(100.0, "0")
LONG = 30.0  # seconds that no test waits: the reader comes back sooner


class Scripted:
    """A server with a list of events, which replays from any place, or from `oldest` on; or from now on only."""

    def __init__(self, *, replays=True):
        self.replays, self.events, self.asked = replays, [], []
        self.lock = threading.Condition()
        self.error = self.refusal = None
        self.epoch, self.fraction = 0, 0.0

    def post(self, *names, deleted="", account=""):
        with self.lock:
            for name in names or [None]:
                number = len(self.events) + 1
                self.events.append((number, 100.0 + number + self.fraction, name, deleted, account))
            self.lock.notify_all()

    def drop(self):
        with self.lock:
            self.error = ConnectionError("cut")
            self.lock.notify_all()

    @contextmanager
    def connect(self, place):
        if self.refusal is not None:
            raise self.refusal
        with self.lock:
            self.error = None
            self.asked.append(place)
            self.epoch += 1
            first = int(place.cursor or 0) if self.replays else len(self.events)
        yield _Connection(self, first)


class _Connection:
    def __init__(self, server, first):
        self.server, self.first, self.closed = server, first, False
        at = 100.0 + first
        self.begin = None if server.replays else Place(at, f"{server.epoch}:{first}")

    def __iter__(self):
        place = self.first
        while True:
            with self.server.lock:
                while len(self.server.events) <= place and self.server.error is None and not self.closed:
                    self.server.lock.wait(1.0)
                if self.closed:
                    return
                if len(self.server.events) <= place:
                    raise self.server.error
                number, at, name, deleted, account = self.server.events[place]
            place = number
            cursor = str(number) if self.server.replays else f"{self.server.epoch}:{number}"
            yield StreamEvent(Place(at, cursor), name, deleted, account, size=10)

    def close(self):
        with self.server.lock:
            self.closed = True
            self.server.lock.notify_all()


@pytest.fixture
def server():
    return Scripted()


@pytest.fixture
def reader(server):
    made = StreamReader(server.connect, lambda post: (post, post), lambda: 5.0)
    yield made
    made.close()


def read(reader, place, most, **more):
    found = reader.read(place, seconds=LONG, most=most, **more)
    assert isinstance(found, Segment), found
    return found


def test_segments_follow_each_other_on_one_connection(server, reader):
    server.post("a", "b", "c")
    first = read(reader, START, 2)
    second = read(reader, first.end, 1)
    assert (first.posts, second.posts) == (["a", "b"], ["c"])
    assert (first.begin, second.begin) == (100.0, first.end.at)
    assert len(server.asked) == 1


@pytest.mark.parametrize("replays", [True, False])
def test_places_that_were_stored_and_parsed_are_those_of_the_connection(replays, server, reader):
    server.replays = replays
    server.fraction = 0.123_456_789_1
    reader.read(START, seconds=0.0, most=1)
    place = START
    for name in ("a", "b", "c"):
        server.post(name)
        segment = read(reader, place, 1)
        assert segment.posts == [name]
        place = parse_place(str(segment.end))
    assert len(server.asked) == 1, "each segment by a connection of its own would leave a hole"


def test_a_segment_can_be_read_again_until_the_next_one_is_asked_for(server, reader):
    server.post("a", "b", "c")
    first = read(reader, START, 2)
    again = read(reader, START, 1, through=first.end)
    assert (again.posts, again.end) == (first.posts, first.end)
    assert len(server.asked) == 1


def test_after_a_crash_a_segment_is_replayed_to_where_it_ended(server, reader):
    server.post("a", "b")
    first = read(reader, START, 2)
    other = StreamReader(server.connect, lambda post: (post, post), lambda: 5.0)
    server.post("c")
    again = read(other, START, 1, through=first.end)
    other.close()
    assert (again.posts, again.end, again.begin) == (["a", "b"], first.end, 100.0)


def test_a_connection_that_breaks_loses_nothing_that_can_be_replayed(server, reader):
    server.post("a", "b")
    place, found = START, []
    for more in ("c", "d", "e"):
        segment = read(reader, place, 1)
        found += segment.posts
        place = segment.end
        server.drop()
        server.post(more)
    while len(found) < 5:
        answer = reader.read(place, seconds=LONG, most=1)
        if isinstance(answer, Reply):
            assert answer.kind == ReplyKind.BROKEN
            continue
        found, place = found + answer.posts, answer.end
    assert found == ["a", "b", "c", "d", "e"]


def test_a_stream_that_cannot_replay_tells_from_when_on_it_is_complete(reader, server):
    server.replays = False
    server.post("missed")
    threading.Timer(0.2, server.post, ["seen"]).start()
    segment = read(reader, START, 1)
    assert (segment.posts, segment.begin, segment.end) == (["seen"], 101.0, Place(102.0, "1:2"))
    threading.Timer(0.2, server.post, ["next"]).start()
    after = read(reader, segment.end, 1)
    assert (after.posts, after.begin) == (["next"], 102.0), "on the same connection nothing was missed"


def test_what_is_deleted_in_the_same_segment_is_no_post_of_it(server, reader):
    server.post("a", "b")
    server.post(deleted="a")
    server.post(account="did:plc:x")
    server.post("c")
    segment = read(reader, START, 3)
    assert (segment.posts, segment.deleted, segment.accounts) == (["b", "c"], ["a"], ["did:plc:x"])


def test_events_that_do_not_match_only_show_how_far_the_stream_is(server, reader):
    server.post("a")
    server.post()
    threading.Timer(0.3, reader.hurry).start()
    segment = read(reader, START, 5)
    assert (segment.posts, segment.end) == (["a"], Place(102.0, "2"))


def test_whoever_waits_is_hurried(server, reader):
    threading.Timer(0.2, reader.hurry).start()
    segment = read(reader, START, 1)
    assert (segment.posts, segment.end) == ([], START)


def test_without_waiting_what_has_come_is_returned(server, reader):
    assert reader.read(START, seconds=0.0, most=9) == Segment(100.0, START)


def test_a_server_that_refuses_the_stream_says_so(server, reader):
    server.refusal = StreamRefusedError(ReplyKind.BACKOFF, 429, "too many connections", 7.0)
    found = reader.read(START, seconds=LONG, most=1)
    assert (found.kind, found.status, found.after, found.at) == (ReplyKind.BACKOFF, 429, 7.0, 5.0)
    assert "too many connections" in found.why
    server.refusal = None
    server.post("a")
    assert read(reader, START, 1).posts == ["a"], "it is tried again by the next request"


def test_an_event_that_is_numbered_lower_than_the_one_before_is_not_lost(server, reader):
    server.post("a", "b")
    first = read(reader, START, 2)
    with server.lock:
        server.events.append((1, 101.0, "late", "", ""))
        server.lock.notify_all()
    assert read(reader, first.end, 1).posts == ["late"]


def test_a_full_reader_stops_reading_and_loses_nothing(server):
    reader = StreamReader(server.connect, lambda post: (post, post), lambda: 5.0, room=3)
    server.post(*(f"p{i}" for i in range(40)))
    place, found = START, []
    while len(found) < 40:
        segment = read(reader, place, 2)
        assert len(segment.posts) <= 3
        found, place = found + segment.posts, segment.end
    reader.close()
    assert found == [f"p{i}" for i in range(40)]
    assert len(server.asked) == 1


@pytest.mark.parametrize("cursor", ["", "17", "e4:17"])
def test_places_parts_and_turns_are_written_and_parsed(cursor):
    place = Place(1_700_000_000.25, cursor)
    assert parse_place(str(place)) == place
    assert parse_part(f"2023-11-14T22:13:00.000000Z/{place}").end == place
    assert parse_turn(f"20 {place}").place == place
