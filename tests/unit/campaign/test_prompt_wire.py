"""A request is sent soon after it was granted, or not at all."""

import socket
import threading

import pytest
from hostile_servers import framed

from socialcrawl.campaign.prompt_wire import PROMPT, PromptWire
from socialcrawl.engine.model import Answer, Credential, Grant, Reply, Request, Wait
from socialcrawl.platforms import sockets
from socialcrawl.platforms.http_client import HttpClient
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.ratelimit.policy import Endpoint, Policy, Rule
from socialcrawl.ratelimit.received_requests import LAG

GRANT = Grant(Request((0, 1), "/e", {}, 1, 500), "main", 100.0)


class Wire:
    """A wire that sends one request to a server, and notes that it was asked."""

    def __init__(self, port=0):
        self.port, self.sent, self.http = port, 0, HttpClient("http://127.0.0.1", lambda: 100.0, 20.0)

    def send(self, grant):
        self.sent += 1
        if not self.port:
            return Reply("ok", 100.0, Answer(), status=200)
        answer = self.http.fetch("GET", f"http://127.0.0.1:{self.port}/", dearest=grant.request.most)
        return answer if isinstance(answer, Reply) else Reply("ok", answer.at, status=answer.status)

    def close(self):
        self.http.close()

    def hurry(self):
        self.sent = -1


def test_what_waited_too_long_is_not_sent_and_costs_nothing():
    wire = Wire()
    reply = PromptWire(wire, lambda: 100.0 + PROMPT + 0.001).send(GRANT)
    assert (reply.late, reply.reached, reply.cost, wire.sent) == (True, False, 0, 0)
    assert not PromptWire(wire, lambda: 100.0 + PROMPT - 0.001).send(GRANT).late
    assert wire.sent == 1
    assert PROMPT < LAG, "others count it as received until LAG"


def test_a_process_that_stood_still_before_the_first_byte_left_sends_none(monkeypatch):
    """The clock jumps between the look at it and the first byte, as where a process is stopped and goes on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        wire = Wire(listener.getsockname()[1])
        stood = sockets.time.monotonic
        connect = sockets.httpcore.SyncBackend.connect_tcp

        def connect_slowly(*given, **more):
            made = connect(*given, **more)
            monkeypatch.setattr(sockets.time, "monotonic", lambda: stood() + PROMPT + 1.0)
            return made

        monkeypatch.setattr(sockets.httpcore.SyncBackend, "connect_tcp", connect_slowly)
        reply = PromptWire(wire, lambda: 100.0).send(GRANT)
        assert (reply.late, reply.reached) == (True, False)
        connection, _ = listener.accept()
        connection.settimeout(20.0)
        with connection:
            assert connection.recv(1) == b"", "the connection was closed, and nothing came"
        wire.close()


def test_what_leaves_in_time_is_answered_however_long_that_takes(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        wire, replies = Wire(listener.getsockname()[1]), []
        thread = threading.Thread(target=lambda: replies.append(PromptWire(wire, lambda: 100.0).send(GRANT)))
        thread.start()
        connection, _ = listener.accept()
        with connection:
            connection.recv(65_536)
            stood = sockets.time.monotonic
            monkeypatch.setattr(sockets.time, "monotonic", lambda: stood() + PROMPT + 1.0)
            connection.sendall(framed(b"{}"))
            thread.join()
        wire.close()
    assert (replies[0].late, replies[0].status) == (False, 200)


def test_a_late_request_is_granted_anew_and_is_no_failure_of_the_server():
    policy = Policy("x", "", "2026", {"/e": Endpoint((Rule(2, 900.0),))})
    planner = WindowPlanner(policy, [Credential("main")], Caps())
    for n in range(9):
        grant = planner.take(Request((n, 1), "/e", {}), 100.0 + n)
        assert isinstance(grant, Grant), "it takes no slot"
        again = planner.settle(grant, Reply("broken", 106.0 + n, late=True, why="late"), 106.0 + n)
        assert again == Wait(106.0 + n, "late")
    assert planner.outage is None


def test_a_wire_that_can_hurry_still_can():
    wire = Wire()
    prompt = PromptWire(wire, lambda: 100.0)
    prompt.hurry()
    assert wire.sent == -1
    with pytest.raises(AttributeError):
        _ = prompt.fly
