"""Answers that go on: what comes of them is read line by line, bounded, and to the end after nothing more is wanted."""

import ssl
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from http_server import QuietHandler, serving

from socialcrawl.engine.model import Reply, ReplyKind
from socialcrawl.platforms import http_client
from socialcrawl.platforms.http_client import HttpAnswer, HttpClient

IN_TIME = 30.0  # seconds that no test waits


class Streaming(QuietHandler):
    """Sends what a test writes, in chunks."""

    wbufsize = 0

    def begin(self):
        self.send_response_only(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def write(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def close(self):
        self.write(b"")
        self.close_connection = True


@contextmanager
def opened(answer, *, silence=IN_TIME, tls=None):
    handler = type("Handler", (Streaming,), {"answer": answer})
    with serving(handler) as server:
        url = server.url
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
            url = url.replace("http:", "https:")
        http = HttpClient(url, lambda: 7.0)
        with http.open_stream(f"{url}/stream", {"Authorization": "Bearer x"}, silence) as came:
            yield came
        http.close()


def test_lines_come_as_they_are_sent_and_an_empty_one_says_that_the_server_is_there():
    def answer(self):
        assert self.headers["Accept-Encoding"] == "identity"
        self.begin()
        for part in (b"one\r", b"\ntw", b"o\r\n\r\nthree\r\nrest"):
            self.write(part)
        self.close()

    with opened(answer) as came:
        assert list(came.read_lines(100)) == [b"one", b"two", b"", b"three"]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A file with a key, and a certificate for this machine, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(1))
        .not_valid_after(now + timedelta(1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    file.write_bytes(key.private_bytes(*plain) + made.public_bytes(serialization.Encoding.PEM))
    return file


@pytest.mark.parametrize("encrypted", [False, True])
def test_what_was_on_its_way_is_read_after_nothing_more_is_wanted(encrypted, certificate, monkeypatch):
    tls = None
    if encrypted:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate)
        trusting = ssl.create_default_context(cafile=str(certificate))
        monkeypatch.setattr(http_client, "make_context", lambda: trusting)
    left = threading.Event()

    def answer(self):
        self.begin()
        self.write(b"before\r\n")
        assert left.wait(IN_TIME)
        self.write(b"on its way\r\n")
        self.close()

    with opened(answer, tls=tls) as came:
        lines = came.read_lines(100)
        assert next(lines) == b"before"
        came.end(IN_TIME)
        left.set()
        assert list(lines) == [b"on its way"]


def send_long(handler):
    handler.begin()
    handler.write(b"x" * 200)
    handler.close()


def send_nothing_more(handler):
    handler.begin()
    handler.write(b"one\r\n")
    threading.Event().wait(0.5)


def send_half(handler):
    handler.begin()
    handler.write(b"one\r\ntw")
    handler.close_connection = True


@pytest.mark.parametrize(
    ("answer", "silence", "why"),
    [
        (send_long, IN_TIME, "more than 100 bytes"),
        (send_nothing_more, 0.1, "silent for"),
        (send_half, IN_TIME, "the connection broke"),
    ],
)
def test_a_line_that_is_too_long_a_silence_and_a_broken_connection_are_errors(answer, silence, why):
    with opened(answer, silence=silence) as came, pytest.raises(ConnectionError, match=why):
        list(came.read_lines(100))


def test_an_answer_that_does_not_go_on_is_whole_and_one_that_does_not_come_is_a_reply():
    def answer(self):
        self.send(429, {"x-rate-limit-limit": "50"}, b'{"title": "ConnectionException"}')

    with opened(answer) as came:
        assert isinstance(came, HttpAnswer)
        assert (came.status, came.headers["x-rate-limit-limit"], came.at) == (429, "50", 7.0)
        assert b"ConnectionException" in came.body

    http = HttpClient("http://127.0.0.1:1", lambda: 7.0)
    with http.open_stream("http://127.0.0.1:1/stream", {}, IN_TIME) as nothing:
        assert isinstance(nothing, Reply)
        assert nothing.kind == ReplyKind.BROKEN
    http.close()


@pytest.mark.parametrize("status", [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 503 Busy\r\nContent-Length: 100000\r\n\r\n"])
def test_headers_and_the_bodies_of_errors_that_drip_end_by_the_deadline(status):
    over = threading.Event()

    def answer(self):
        self.wfile.write(status)
        while not over.wait(0.02):
            self.wfile.write(b"x" if status.startswith(b"HTTP/1.1 503") else b"X-Drip: x\r\n")
        self.close_connection = True

    handler = type("Handler", (Streaming,), {"answer": answer})
    with serving(handler) as server:
        http = HttpClient(server.url, lambda: 7.0, deadline=0.5)
        with http.open_stream(f"{server.url}/stream", {}, IN_TIME) as came:
            assert isinstance(came, Reply)
            assert came.kind == ReplyKind.LOST
        over.set()
        http.close()


def test_a_stream_goes_on_after_the_deadline_of_its_headers():
    def answer(self):
        self.begin()
        for _ in range(8):
            self.write(b"one\r\n")
            threading.Event().wait(0.1)
        self.close()

    handler = type("Handler", (Streaming,), {"answer": answer})
    with serving(handler) as server:
        http = HttpClient(server.url, lambda: 7.0, deadline=0.4)
        with http.open_stream(f"{server.url}/stream", {}, IN_TIME) as came:
            assert list(came.read_lines(100)) == [b"one"] * 8
        http.close()


def test_a_line_that_comes_byte_by_byte_is_put_together_once(monkeypatch):
    """The work is proportional to the bytes: with 200,000 pieces a quadratic reader would move 20 GB."""
    length = 200_000

    class Response:
        def iter_stream(self):
            yield from (b"x" for _ in range(length))
            yield b"\n"

    came = object.__new__(http_client.HttpStream)
    came._response = Response()
    assert [len(line) for line in came.read_lines(2 * length)] == [length]
