"""Whether a request that failed may have been billed: it may from the moment on that it left."""

import socket
import ssl
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from test_x_wire import MOST, send, timeline, wire
from x_crawls import TOKEN

from socialcrawl.engine.model import Grant
from socialcrawl.platforms import http_client, sockets

GOOD = b'HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{"data":[]}'

# For this test alone, and for nobody: a key and its certificate, signed by itself.
CERTIFICATE = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgJEvtnwRNYMjnijly
lRJu+UFfnQXxflJ0j4t6etJtpPehRANCAASKQ55dQ3PuclaNcqa5EONUucvCi1or
S4Gm8WVy1p7lBcMuepZhLSHZ0RQ5JzTsUs2+3/38hzYwtmAg3CpmjdrP
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBkDCCATagAwIBAgIUPxQBDSKnZdpFJKMoeyJE4uWXdGgwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJMTI3LjAuMC4xMCAXDTI2MTEyMTA1MjIwM1oYDzIxMjYxMDI4
MDUyMjAzWjAUMRIwEAYDVQQDDAkxMjcuMC4wLjEwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASKQ55dQ3PuclaNcqa5EONUucvCi1orS4Gm8WVy1p7lBcMuepZhLSHZ
0RQ5JzTsUs2+3/38hzYwtmAg3CpmjdrPo2QwYjAdBgNVHQ4EFgQUuKovFUIVY/8H
ClbLQqnq8frAZG8wHwYDVR0jBBgwFoAUuKovFUIVY/8HClbLQqnq8frAZG8wDwYD
VR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0gAMEUC
ICKk7350SxjpNHJvvhDeTcXKua0nqRWc3jLtOGWz8w8CAiEAhOFchbphTFq0rHAy
LUNP5D6vS/g01g7oLHrGAIn/wFg=
-----END CERTIFICATE-----
"""


@contextmanager
def server(*behaviours):
    """A server whose n-th connection behaves like the n-th of these (socket -> None); its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            for behave in behaviours:
                connection, _ = listener.accept()
                with connection:
                    connection.settimeout(5)
                    behave(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            thread.join()


def heard(connection):
    """The bytes of one request."""
    text = b""
    while b"\r\n\r\n" not in text:
        text += connection.recv(65536)
    return text


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def answering(*parts, end=None, patience=0.0):
    """A behaviour: hear a request, say these parts, and close (or reset) after `patience` seconds."""

    def behave(connection):
        heard(connection)
        for part in parts:
            connection.sendall(part)
        if patience:
            threading.Event().wait(patience)
        if end:
            end(connection)

    return behave


LOST = {
    "closed without a word": answering(),
    "reset without a word": answering(end=reset),
    "silence": answering(patience=0.6),
    "half a status": answering(b"HTTP/1.1 2"),
    "no HTTP": answering(b"220 smtp.example.org ESMTP\r\n\r\n"),
    "a status alone": answering(b"HTTP/1.1 200 OK\r\n"),
    "headers alone": answering(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
    "headers and then silence": answering(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", patience=0.6),
    "half a body": answering(GOOD[:-4]),
    "half a body and a reset": answering(GOOD[:-4], end=reset),
    "half a body and then silence": answering(GOOD[:-4], patience=0.6),
    "half a chunk": answering(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{"),
    "no chunk at all": answering(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
    "no gzip": answering(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}"),
}


@pytest.mark.parametrize("behave", LOST.values(), ids=LOST)
def test_a_request_that_left_and_was_not_answered_whole_is_lost_and_costs_what_it_can_cost(behave):
    with server(behave) as port:
        reply = send(f"http://127.0.0.1:{port}", timeline(), patience=0.3)
    assert (reply.kind, reply.cost, reply.rows) == ("lost", MOST, None)
    assert "may have" in reply.why
    assert "billed" in reply.why


EMPTY = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
GARBAGE = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n\x00\xff{]}"
SAID = {
    "the server closed it without an answer": answering(),
    "the server reset it": answering(end=reset),
    "it ended within the answer": answering(GOOD[:-4]),
    "what came back is not HTTP": answering(b"220 smtp.example.org ESMTP\r\n\r\n"),
    "the server answered with an empty body": answering(EMPTY),
    "the server answered something that is not JSON": answering(GARBAGE),
    "the server did not answer in time": answering(patience=0.6),
}


@pytest.mark.parametrize(("words", "behave"), SAID.items(), ids=SAID)
def test_each_way_to_fail_has_words_of_its_own(words, behave):
    with server(behave) as port:
        why = send(f"http://127.0.0.1:{port}", timeline(), patience=0.3).why
    assert [said for said in SAID if said in why] == [words]


def test_a_server_that_asks_to_be_left_alone_is_heard():
    for status in (b"503 Service Unavailable", b"429 Too Many Requests"):
        told = b"HTTP/1.1 " + status + b"\r\nRetry-After: 90\r\nContent-Length: 2\r\n\r\n{}"
        with server(answering(told)) as port:
            assert send(f"http://127.0.0.1:{port}", timeline()).after == 90.0
    with server(answering(GOOD.replace(b"\r\n\r\n", b"\r\nRetry-After: 90\r\n\r\n", 1))) as port:
        assert send(f"http://127.0.0.1:{port}", timeline()).after is None


def test_silence_is_told_from_a_connection_that_fails():
    for parts in ((), (GOOD[:-4],)):
        with server(answering(*parts, patience=0.6)) as port:
            assert "is timeout too short" in send(f"http://127.0.0.1:{port}", timeline(), patience=0.3).why
        with server(answering(*parts)) as port:
            assert "the connection failed" in send(f"http://127.0.0.1:{port}", timeline()).why


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def nobody_of_that_name(*_, **__):
    raise socket.gaierror(-2, "Name or service not known")


def too_late(*_, **__):
    raise TimeoutError("timed out")


def unreachable(*_, **__):
    raise OSError(101, "Network is unreachable")


@pytest.mark.parametrize(
    ("name", "trouble", "words"),
    [
        ("getaddrinfo", nobody_of_that_name, "the server's name was not found"),
        ("connect", too_late, "it was not made in time"),
        ("connect", unreachable, "the network is away"),
        (None, None, "the server refused it"),
    ],
    ids=["no such name", "a time-out", "no network", "nobody listens"],
)
def test_a_request_that_never_reached_the_server_is_broken_and_free_of_charge(name, trouble, words, monkeypatch):
    url = f"http://127.0.0.1:{free_port()}"
    if trouble:
        monkeypatch.setattr(socket if name == "getaddrinfo" else socket.socket, name, trouble)
    reply = send(url, timeline())
    assert (reply.kind, reply.cost, reply.status) == ("broken", 0, 0)
    assert words in reply.why
    assert "base_url right" in reply.why


@pytest.fixture
def encrypted(tmp_path):
    """A context of TLS whose certificate nobody trusts."""
    (tmp_path / "own.pem").write_text(CERTIFICATE)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "own.pem")
    return context


def shaking_hands(context, behave):
    """A behaviour: TLS, then that behaviour; a client that goes away is no trouble."""

    def both(connection):
        try:
            with context.wrap_socket(connection, server_side=True) as whole:
                behave(whole)
        except (ssl.SSLError, OSError):
            pass

    return both


def greeted(connection, end=None):
    connection.recv(65536)
    if end:
        end(connection)


@pytest.mark.parametrize(
    "behave",
    [greeted, lambda connection: greeted(connection, reset), lambda connection: connection.sendall(b"no TLS\r\n")],
    ids=["closed", "reset", "no TLS"],
)
def test_tls_that_does_not_come_about_is_broken_and_free_of_charge(behave):
    with server(behave) as port:
        reply = send(f"https://127.0.0.1:{port}", timeline())
    assert (reply.kind, reply.cost) == ("broken", 0)


def test_a_certificate_that_nobody_trusts_gets_no_token(encrypted):
    seen = []
    with server(shaking_hands(encrypted, lambda connection: seen.append(heard(connection)))) as port:
        reply = send(f"https://127.0.0.1:{port}", timeline())
    assert (reply.kind, reply.cost, seen) == ("broken", 0, [])
    assert "SSLCertVerificationError" in reply.why


@pytest.fixture(params=["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def trusted(request, encrypted, tmp_path, monkeypatch):
    """The same context, whose certificate the environment names as one to be trusted."""
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv(request.param, str(tmp_path / "own.pem"))
    http_client.make_context.cache_clear()
    yield encrypted
    http_client.make_context.cache_clear()


@pytest.mark.parametrize(("parts", "kind"), [((), "lost"), ((GOOD,), "ok")])
def test_behind_tls_a_request_that_left_is_lost_too(parts, kind, trusted):
    with server(shaking_hands(trusted, answering(*parts))) as port:
        assert send(f"https://127.0.0.1:{port}", timeline()).kind == kind


@pytest.mark.parametrize(
    ("scheme", "behave", "kind"),
    [
        ("http", answering(GOOD), "ok"),
        ("http", answering(), "lost"),
        ("http", answering(GOOD[:-4]), "lost"),
        ("https", answering(), "broken"),
        ("https", answering(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"), "broken"),
        ("https", answering(b"HTTP/1.1 200 OK\r\n\r\n"), "broken"),
        ("http", None, "broken"),
        ("https", None, "broken"),
    ],
    ids=["answer", "closed", "half", "no tunnel", "tunnel refused", "tunnel without TLS", "no proxy", "no proxy, TLS"],
)
def test_through_a_proxy_it_is_the_same(scheme, behave, kind, monkeypatch):
    with server(*[behave] if behave else []) as port:
        for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.delenv(name, raising=False)
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{port if behave else free_port()}")
        reply = send(f"{scheme}://10.1.2.3:9", timeline())
    assert (reply.kind, reply.cost) == (kind, MOST if kind == "lost" else 0)


def answering_and_then(behave):
    """A behaviour: answer well, keep the connection, and then that behaviour."""

    def both(connection):
        answering(GOOD)(connection)
        behave(connection)

    return both


def test_a_connection_that_is_kept_tells_of_its_second_request_too():
    with server(answering_and_then(answering())) as port:
        made = wire(f"http://127.0.0.1:{port}")
        assert [made.send(Grant(timeline(), "main", 0.0)).kind for _ in range(2)] == ["ok", "lost"]
    assert made.send(Grant(timeline(), "main", 0.0)).kind == "broken"  # what was sent before was something else


def test_a_connection_that_the_server_closed_meanwhile_is_made_anew():
    with server(answering(GOOD), answering(GOOD)) as port:
        made = wire(f"http://127.0.0.1:{port}")
        assert made.send(Grant(timeline(), "main", 0.0)).kind == "ok"
        threading.Event().wait(0.1)
        assert made.send(Grant(timeline(), "main", 0.0)).kind == "ok"


def test_a_connection_that_was_silent_for_long_is_not_used_again(monkeypatch):
    """What stands in between may have forgotten it: the request would be lost, and counted as billed."""
    monkeypatch.setattr(sockets, "IDLE", 0.0)
    with server(answering(GOOD), answering(GOOD)) as port:
        made = wire(f"http://127.0.0.1:{port}")
        assert [made.send(Grant(timeline(), "main", 0.0)).kind for _ in range(2)] == ["ok", "ok"]


def test_threads_do_not_take_each_others_requests_for_their_own():
    with server(*[answering()] * 40) as port:
        sent, unsent = wire(f"http://127.0.0.1:{port}"), wire(f"http://127.0.0.1:{free_port()}")
        grants = [Grant(timeline(), "main", 0.0)] * 40
        with ThreadPoolExecutor(8) as pool:
            lost, broken = pool.map(sent.send, grants), pool.map(unsent.send, grants)
            assert {reply.kind for reply in lost} == {"lost"}
            assert {reply.kind for reply in broken} == {"broken"}


def test_what_fails_before_anything_is_asked_is_not_taken_for_an_earlier_request():
    with server(answering(GOOD)) as port:
        made = wire(f"http://127.0.0.1:{port}")
        assert made.send(Grant(timeline(), "main", 0.0)).kind == "ok"
        made.clients["main"].session.headers["X-Wrong"] = "one\nline"
        reply = made.send(Grant(timeline(), "main", 0.0))
    assert (reply.kind, reply.cost) == ("broken", 0)
    assert TOKEN not in repr(reply)
