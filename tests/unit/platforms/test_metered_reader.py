"""The reader of a stream that is billed by post: what it pays, and when it ends a connection, on a scripted server."""

import threading
from contextlib import contextmanager

import pytest

from socialcrawl.engine.model import Page, Reply, ReplyKind
from socialcrawl.engine.stream_places import Place, parse_part
from socialcrawl.platforms.metered_reader import MeteredReader
from socialcrawl.platforms.stream_reader import StreamEvent, StreamRefusedError

PRICE, ADVANCE, MOST = 500, 60 * 500, 20 * 500  # mills: of a post, of 60 and of 20
FROM = Place(100.0)
IN_TIME = 30.0  # seconds that no test waits


class Billing:
    """A server that bills each post that it sends; what it has sent when it is told to end is still read."""

    def __init__(self):
        self.lock = threading.Condition()
        self.posts, self.connections, self.refusal, self.ends = [], 0, None, 0
        self.is_ended = self.is_broken = False
        self.billed = 0  # messages
        self.odd = 1  # of so many messages one is a post
        self.late = []  # sent after it was told to end

    def send(self, count):
        with self.lock:
            self.posts += [f"p{len(self.posts) + i}" for i in range(count)]
            self.lock.notify_all()

    def wait_for_news(self, number):
        self.lock.wait_for(lambda: len(self.posts) > number or self.is_ended or self.is_broken, IN_TIME)

    def is_read(self):
        return self.billed == len(self.posts)

    def break_connection(self):
        with self.lock:
            self.is_broken = True
            self.lock.notify_all()

    @contextmanager
    def connect(self, place):
        if self.refusal is not None:
            raise self.refusal
        with self.lock:
            self.connections += 1
            self.is_ended = self.is_broken = False
        yield _Connection(self, len(self.posts))


class _Connection:
    def __init__(self, server, first):
        self.server, self.first = server, first
        self.begin = Place(200.0 + server.connections, f"{server.connections}:0")
        self.opening = Reply(ReplyKind.OK, 200.0, status=200)

    def __iter__(self):
        number = self.first
        while True:
            with self.server.lock:
                self.server.wait_for_news(number)
                if len(self.server.posts) <= number:
                    if self.server.is_broken:
                        raise ConnectionError("cut")
                    return
                post = self.server.posts[number]
            number += 1
            self.server.billed += 1
            post = post if number % self.server.odd == 0 else None
            yield StreamEvent(Place(300.0 + number, f"{self.server.connections}:{number}"), post, size=10, cost=PRICE)

    def end(self, seconds):
        with self.server.lock:
            if not self.server.is_ended:
                self.server.ends += 1
                self.server.posts += self.server.late
                self.server.is_ended = True
            self.server.lock.notify_all()

    def close(self):
        self.end(0.0)


@pytest.fixture
def server():
    return Billing()


@pytest.fixture
def clock():
    return [1_000.0]


@pytest.fixture
def reader(server, clock):
    made = MeteredReader(lambda post: (post, post), lambda: clock[0])
    yield made
    made.close()


def take(reader, place, *, seconds=IN_TIME, limit=20):
    """What a part brings: its reply, and the names of its posts."""
    names = []

    def parse(posts):
        names.extend(posts)
        return Page()

    asked = {"after": str(place), "seconds": str(seconds), "limit": str(limit)}
    return reader.take(asked, parse, limit * PRICE), names


def find_end(reply):
    return parse_part(reply.cursor).end


def settle(server, reader, posts):
    """Wait until the reader has read so many posts."""
    with reader._changed:
        assert reader._changed.wait_for(lambda: reader._run.posts >= posts or reader._run.error, IN_TIME)


def test_no_part_is_read_and_nothing_is_connected_to_before_a_connection_is_opened(server, reader):
    reply, names = take(reader, FROM)
    assert (reply.kind, reply.cursor, names, server.connections) == (ReplyKind.OK, None, [], 0)


def test_posts_are_paid_in_advance_once_for_all_connections(server, reader, clock):
    assert reader.open(FROM, server.connect, ADVANCE).cost == ADVANCE
    server.send(1)
    reply, names = take(reader, FROM, limit=1)
    assert (names, parse_part(reply.cursor).begin) == (["p0"], 201.0)
    server.break_connection()
    closed, _ = take(reader, find_end(reply), seconds=IN_TIME)
    assert closed.cursor is None
    assert reader.open(find_end(reply), server.connect, ADVANCE).cost == 0


def test_a_connection_that_nobody_asks_is_ended_before_more_comes_than_is_paid(server, reader):
    reader.open(FROM, server.connect, ADVANCE)
    server.late = [f"late{i}" for i in range(50)]
    server.send(9)
    settle(server, reader, 9)
    assert server.ends == 0, "ten posts, a sixth of the advance, may come"
    server.send(1)
    settle(server, reader, 60)
    assert server.ends == 1
    assert reader.unpaid == 60 * PRICE == ADVANCE, "what was on its way is read, and within the advance"
    _, names = take(reader, FROM, limit=100)
    assert len(names) == 60
    assert reader.unpaid == 0


def test_while_a_part_is_asked_as_many_more_may_come_as_it_may_cost(server, reader):
    reader.open(FROM, server.connect, ADVANCE)
    asking = threading.Thread(target=take, args=(reader, FROM), kwargs={"limit": 40})
    asking.start()
    with reader._changed:
        assert reader._changed.wait_for(lambda: reader._asked == 40 * PRICE, IN_TIME)
    server.send(39)
    settle(server, reader, 39)
    assert server.ends == 0
    server.send(1)
    asking.join(IN_TIME)
    assert (reader.unpaid, reader._asked) == (0, 0)


@pytest.mark.parametrize("late", [["late"], []])
def test_an_interrupted_part_ends_the_connection_and_has_what_was_on_its_way(late, server, reader):
    reader.open(FROM, server.connect, ADVANCE)
    place = FROM
    if late:
        server.send(3)
        settle(server, reader, 3)
    else:
        server.send(1)
        place = find_end(take(reader, FROM, limit=1)[0])
    server.late = late
    found = []
    asking = threading.Thread(target=lambda: found.append(take(reader, place)))
    asking.start()
    with reader._changed:
        assert reader._changed.wait_for(lambda: reader._asked > 0, IN_TIME)
    reader.hurry()
    asking.join(IN_TIME)
    [(reply, names)] = found
    assert reply.kind == ReplyKind.OK, "nobody else ended it"
    assert names == (["p0", "p1", "p2", "late"] if late else [])


def test_a_connection_that_brought_nothing_is_opened_again_later_and_later(server, reader, clock):
    waits = []
    for _ in range(4):
        assert reader.open(FROM, server.connect, ADVANCE).kind == ReplyKind.OK
        server.break_connection()
        settle(server, reader, 1)
        reply = reader.open(FROM, server.connect, ADVANCE)
        assert reply.kind == ReplyKind.BACKOFF
        waits.append(reply.after)
        clock[0] += reply.after
    assert waits == [1.0, 2.0, 4.0, 8.0]
    reader.open(FROM, server.connect, ADVANCE)
    server.send(1)
    settle(server, reader, 1)
    server.break_connection()
    assert reader.open(FROM, server.connect, ADVANCE).kind == ReplyKind.OK, "it brought something"


def test_a_refusal_is_the_reply_and_an_answer_that_was_lost_counts_as_opened(server, reader):
    server.refusal = StreamRefusedError(ReplyKind.REFUSED, 403, "no", reply=Reply(ReplyKind.REFUSED, 1.0, status=403))
    refused = reader.open(FROM, server.connect, ADVANCE)
    assert (refused.kind, refused.status, refused.cost) == (ReplyKind.REFUSED, 403, 0)
    server.refusal = StreamRefusedError(ReplyKind.LOST, 0, "cut", reply=Reply(ReplyKind.LOST, 1.0))
    lost = reader.open(FROM, server.connect, ADVANCE)
    assert (lost.kind, lost.cost) == (ReplyKind.LOST, ADVANCE)
    server.refusal = None
    assert reader.open(FROM, server.connect, ADVANCE).cost == 0


@pytest.mark.parametrize("odd", [1, 3, 1_000])
def test_what_is_billed_never_exceeds_what_is_paid_even_for_messages_that_are_no_posts(odd, server, reader):
    server.odd = odd
    paid, place, names = reader.open(FROM, server.connect, ADVANCE).cost, FROM, []
    for turn in range(60):
        with server.lock:
            sends = not server.is_ended
        if sends:
            server.send(1)
        with reader._changed:
            over = lambda run=reader._run: run is None or run.error or server.is_read()  # noqa: E731
            assert reader._changed.wait_for(over, IN_TIME)
        if turn % 4 == 3:
            reply, found = take(reader, place, limit=2, seconds=0.0)
            assert reply.cost <= 2 * PRICE
            paid, names = paid + reply.cost, names + found
            if reply.cursor is None:
                paid += reader.open(place, server.connect, ADVANCE).cost
            else:
                place = find_end(reply)
        assert server.billed * PRICE <= paid
    assert len(names) == len([post for number, post in enumerate(server.posts, 1) if number % odd == 0][: len(names)])


def test_what_a_connection_brought_that_is_over_is_paid_by_the_next_parts(server, reader):
    reader.open(FROM, server.connect, ADVANCE)
    server.send(5)
    settle(server, reader, 5)
    elsewhere = Place(150.0, "elsewhere")
    costs = [take(reader, elsewhere, limit=2)[0].cost for _ in range(4)]
    assert costs == [2 * PRICE, 2 * PRICE, PRICE, 0]
    assert reader.unpaid == 0
    assert server.ends == 1, "it is closed, and costs nothing more"


def test_a_part_that_is_read_again_after_a_lost_answer_is_paid_twice_rather_than_not(server, reader):
    reader.open(FROM, server.connect, ADVANCE)
    server.send(2)
    settle(server, reader, 2)
    first, again = take(reader, FROM, limit=2), take(reader, FROM, limit=2)
    assert first[0].cost == again[0].cost == 2 * PRICE
    assert first[1] == again[1]
    assert reader.unpaid == 0


@pytest.mark.parametrize("way", ["hurry", "close"])
def test_nobody_waits_for_a_connection_that_is_never_made_and_it_counts_as_opened(way, server, reader):
    left, asked, found = threading.Event(), threading.Event(), []

    @contextmanager
    def never(place):
        asked.set()
        assert left.wait(IN_TIME)
        with server.connect(place) as connection:
            yield connection

    opening = threading.Thread(target=lambda: found.append(reader.open(FROM, never, ADVANCE)))
    opening.start()
    assert asked.wait(IN_TIME)
    run = reader._run
    (reader.hurry if way == "hurry" else reader.close)()
    opening.join(IN_TIME)
    [reply] = found
    assert (reply.kind, reply.cost) == (ReplyKind.LOST, ADVANCE)
    server.posts = ["too late"]
    left.set()
    run.thread.join(IN_TIME)
    assert not run.thread.is_alive(), "a connection that is made too late is closed"
    assert not run.held
