"""The one way to a server: what it asks for, whom it connects to, and the memory and turns that answers share."""

import gzip
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from ipaddress import ip_address

import hostile_servers
import pytest
from hostile_servers import framed, server

from socialcrawl.engine.model import Grant, Reply, Request
from socialcrawl.platforms import http_client, sockets
from socialcrawl.platforms.http_client import HttpClient, bound_memory
from socialcrawl.system import bounds
from socialcrawl.system.bounds import MAX_VALUES, Allowance, AllowanceShare, is_crowded
from socialcrawl.system.loopback import is_public

GRANT = Grant(Request((0, 1), "/", {}, 1, 500), "main", 0.0)


class Wire:
    """A wire that sends one request to each of some places."""

    def __init__(self, *ports, then=lambda: None):
        self.now, self.ports, self.then = (lambda: 7.0), ports, then
        self.http = HttpClient("http://127.0.0.1", self.now, 20.0)

    @bound_memory
    def send(self, grant):
        for port in self.ports:
            answer = self.http.fetch("GET", f"http://127.0.0.1:{port}/", dearest=grant.request.most)
        self.then()
        return answer if isinstance(answer, Reply) else Reply("ok", answer.at, status=answer.status)

    def close(self):
        self.http.close()


def test_one_coding_is_asked_for_and_the_program_says_who_it_is():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        http = HttpClient("http://127.0.0.1", lambda: 0.0, 5.0, "mailto:me@example.org")
        thread = threading.Thread(target=http.fetch, args=("GET", f"http://127.0.0.1:{port}/a?b=c"))
        thread.start()
        connection, _ = listener.accept()
        with connection:
            head = connection.recv(65_536).decode()
            connection.sendall(framed(b"{}"))
            thread.join()
    http.close()
    lines = head.split("\r\n")
    assert lines[0] == "GET /a?b=c HTTP/1.1"
    assert [line for line in lines if line.lower().startswith("accept-encoding")] == ["Accept-Encoding: gzip"]
    assert any(line.startswith("User-Agent: socialcrawl/") and "mailto:me@example.org" in line for line in lines)
    assert f"Host: 127.0.0.1:{port}" in lines


def test_memory_that_answers_took_is_given_back_whatever_became_of_them():
    rows = ["a body without an end", "gzip that is none", "a small body that unpacks to 300 MB", "chunks of one byte"]
    for row in rows:
        with server(hostile_servers.ROWS[row], "x") as port:
            wire = Wire(port, port)
            wire.send(GRANT)
            wire.close()
            bare = HttpClient("http://127.0.0.1", lambda: 0.0, 20.0)
            bare.fetch("GET", f"http://127.0.0.1:{port}/")
            bare.close()
        assert sockets.allowance.bytes_held == 0


def test_an_answer_counts_until_its_reply_is_made():
    held = []
    with server(hostile_servers.saying(b"x" * 50_000), "x") as port:
        wire = Wire(port, then=lambda: held.append(sockets.allowance.bytes_held))
        assert wire.send(GRANT).kind == "ok"
        wire.close()
    assert held == [50_000]
    assert sockets.allowance.bytes_held == 0


def test_too_little_memory_is_a_lost_reply_at_its_dearest_price():
    def fails():
        raise MemoryError

    with server(hostile_servers.saying(b"{}"), "x") as port:
        wire = Wire(port, then=fails)
        reply = wire.send(GRANT)
        wire.close()
    assert (reply.kind, reply.cost, reply.at) == ("lost", 500, 7.0)
    assert "memory" in reply.why
    assert sockets.allowance.bytes_held == 0


def test_large_answers_are_parsed_one_at_a_time_and_small_ones_need_not_wait():
    together, most, inside = [], threading.Event(), threading.Lock()
    body = b"x" * (bounds.LARGE + 1)

    def parse():
        assert inside.acquire(blocking=False), "two large answers are parsed at the same time"
        together.append(1)
        if len(together) == 1:
            most.wait(10)  # until a small answer was parsed meanwhile
        inside.release()

    with ExitStack() as stack:
        ports = [stack.enter_context(server(hostile_servers.saying(said), "x")) for said in (body, body, b"{}")]
        pool = stack.enter_context(ThreadPoolExecutor(3))
        wires = [Wire(port, then=then) for port, then in zip(ports, (parse, parse, most.set), strict=True)]
        assert [reply.kind for reply in pool.map(lambda wire: wire.send(GRANT), wires)] == ["ok"] * 3
        for wire in wires:
            wire.close()
    assert len(together) == 2
    assert most.is_set()


def test_readers_never_hold_more_together_than_they_may_and_each_of_them_ends():
    allowance, seen = Allowance(total=100, largest=30, small=0), []

    def read(number):
        share = AllowanceShare(owner=number % 5)
        for _ in range(3):
            assert allowance.take(share, 10, 30.0)
            seen.append(allowance.bytes_held)
        allowance.give_back(share)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(read, range(400)))
    assert max(seen) <= 100
    assert allowance.bytes_held == 0


def test_a_reader_that_gets_no_memory_in_time_gives_up():
    allowance = Allowance(total=20, largest=10, small=0)
    first, second = AllowanceShare(1), AllowanceShare(2)
    assert allowance.take(first, 10, 0.0)  # may go on beyond what is shared: one always can
    assert not allowance.take(second, 1, 0.0)
    allowance.give_back(first)
    assert allowance.take(second, 1, 0.0)
    assert (first.held, second.held, allowance.bytes_held) == (0, 1, 1)


def test_small_answers_wait_for_nobody_and_one_owner_does_not_keep_all_the_memory():
    allowance = Allowance(total=110, largest=10, small=5)
    slow = [AllowanceShare(owner=1) for _ in range(7)]
    got = [allowance.take(share, 10, 0.0) for share in slow]
    assert got == [True] * 6 + [False]  # half of the room, and one that may go on beyond it
    assert allowance.take(AllowanceShare(owner=2), 10, 0.0)
    assert allowance.take(AllowanceShare(owner=1), 5, 0.0)


@pytest.mark.parametrize("coding", [{}, {"second": True}, {"cut": 5}, {"filled": True}])
def test_gzip_of_several_members_is_read_whole_and_one_that_ends_too_early_is_lost(coding):
    body = gzip.compress(b"first ") + (gzip.compress(b"second") if "second" in coding else b"")
    body = body[: -coding["cut"]] if "cut" in coding else body + bytes(8) * ("filled" in coding)
    with server(hostile_servers.saying(body, "Content-Encoding: gzip"), "x") as port:
        http = HttpClient("http://127.0.0.1", lambda: 0.0, 5.0)
        answer = http.fetch("GET", f"http://127.0.0.1:{port}/", cut=True)
        http.close()
    if "cut" in coding:
        assert (answer.kind, answer.why) == ("lost", "the compressed answer ended too early")
    else:
        assert answer.body == (b"first second" if "second" in coding else b"first ")


def test_who_waits_for_a_turn_to_parse_gives_up_at_the_deadline():
    with server(hostile_servers.saying(b"x" * (bounds.LARGE + 1)), "x") as port, http_client._parsing:
        wire = Wire(port)
        wire.http.deadline = 0.3
        reply = wire.send(GRANT)
        wire.close()
    assert (reply.kind, sockets.allowance.bytes_held) == ("lost", 0)


def test_a_name_and_a_password_of_a_proxy_may_have_any_letters(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://us%C3%A9r:s%C3%A9cret@127.0.0.1:9")
    http = HttpClient("http://10.1.2.3", lambda: 0.0, 5.0)
    assert http.fetch("GET", "http://10.1.2.3/").kind == "broken"
    http.close()


@pytest.mark.parametrize("private", ["10.0.0.1", "127.0.0.1", "224.0.0.1", "192.0.0.192"])
def test_a_name_is_looked_up_once_and_the_address_that_was_checked_is_connected_to(monkeypatch, private):
    answers, connected = [["93.184.215.14"], [private]], []

    def resolver(host, port, **_):
        if host[0].isdigit():  # an address stands for itself
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port))]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in answers.pop(0)]

    def connect(_, place):
        connected.append(place)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "getaddrinfo", lambda host, port, *_, **more: resolver(host, port, **more))
    monkeypatch.setattr(socket.socket, "connect", connect)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    http = HttpClient("https://", lambda: 0.0, 5.0)
    assert http.fetch("GET", "http://rebound.example/", public=True).kind == "broken"
    assert connected == [("93.184.215.14", 80)]
    refused = http.fetch("GET", "http://rebound.example/", public=True)  # the next answer of its name server
    assert (refused.kind, refused.why) == ("missing", sockets.PRIVATE)
    assert connected == [("93.184.215.14", 80)]
    http.close()


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("192.0.0.192", False),
        ("192.0.0.9", False),
        ("224.0.0.1", False),
        ("239.255.255.250", False),
        ("255.255.255.255", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("ff02::1", False),
        ("ff0e::1", False),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::e000:1", False),
        ("2002:e000:1::1", False),
        ("::ffff:224.0.0.1", False),
        ("fd00::1", False),
        ("5f00::1", False),
    ],
)
def test_an_address_is_public_where_everybody_means_the_same_machine_by_it(address, public):
    assert is_public(ip_address(address)) is public


def test_a_proxy_of_a_kind_that_is_not_known_is_no_way(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "socks5://127.0.0.1:9")
    http = HttpClient("http://10.1.2.3", lambda: 0.0, 5.0)
    refused = http.fetch("GET", "http://10.1.2.3/")
    assert (refused.kind, "a proxy of the kind 'socks5' cannot be used" in refused.why) == ("broken", True)
    http.close()


@pytest.mark.parametrize("part", [b"{},", b"[],", b"1,", b'{"a":'])
def test_json_is_crowded_where_it_has_more_values_than_fit(part):
    some = MAX_VALUES // sum(map(part.count, (b",", b"{", b"[")))
    assert not is_crowded(part * some)
    assert is_crowded(part * (some + 1))
    assert not is_crowded(b'"' + b"x" * 9_000_000 + b'"')


def test_connections_are_closed_with_the_client_at_the_latest_when_nobody_has_it_any_more():
    with server(hostile_servers.saying(b"{}"), "x") as port:
        http = HttpClient("http://127.0.0.1", lambda: 0.0, 5.0)
        assert http.fetch("GET", f"http://127.0.0.1:{port}/").status == 200
        del http  # a socket that stays open is a warning, and warnings are errors here


def test_the_deadline_is_four_times_the_timeout_unless_it_is_set():
    assert HttpClient("http://h", lambda: 0.0, 7.0).deadline == 28.0
    assert HttpClient("http://h", lambda: 0.0, 7.0, deadline=3.0).deadline == 3.0
    assert http_client.MAX_ANSWER == 10_000_000
