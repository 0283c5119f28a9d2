import logging
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import orjson
import pytest
import requests
import tweepy
from test_x_wire import NOW, send, timeline, wire
from x_crawls import TOKEN

from socialcrawl.engine.model import Grant
from socialcrawl.system.loopback import is_loopback


@pytest.fixture
def door():
    """A server that notes the paths it was asked for, and says what `door.says` holds."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            server.asked.append((self.path, self.headers["Authorization"]))
            status, headers, content = server.says
            self.send_response_only(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Answer)
    server.asked, server.says = [], (200, {}, b"{}")
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("prefix", ["", "/", "/x/api", "/x/api/"])
def test_a_base_url_may_have_a_path_before_the_api(door, prefix):
    assert send(door.url + prefix, timeline()).kind == "ok"
    ((path, authorization),) = door.asked
    assert (
        path.startswith(f"{prefix.rstrip('/')}/2/users/{timeline().params['id']}/tweets?tweet.fields=")
        or "/2/users/" in path
    )
    assert path.split("/2/users")[0] == prefix.rstrip("/")
    assert "max_results=100" in path
    assert authorization == f"Bearer {TOKEN}"


def test_no_proxy_stands_between_this_machine_and_itself(door, monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
        monkeypatch.setenv(name.lower(), "http://127.0.0.1:9")
    assert send(door.url, timeline()).kind == "ok"


def test_the_token_is_not_carried_elsewhere(door):
    door.says = (302, {"Location": f"{door.url}/elsewhere"}, b"")
    reply = send(door.url, timeline())
    assert reply.kind == "invalid"
    assert [path.split("?")[0] for path, _ in door.asked] == [f"/2/users/{timeline().params['id']}/tweets"]


def test_a_429_without_the_servers_clock_is_read_by_ours(door):
    headers = {
        "x-rate-limit-limit": "3",
        "x-rate-limit-remaining": "0",
        "x-rate-limit-reset": str(int(NOW) + 60),
    }
    door.says = (429, headers, b"{}")
    reply = send(door.url, timeline())
    assert reply.kind == "window"
    assert reply.date == reply.at == NOW
    door.says = (200, headers, b"{}")
    assert send(door.url, timeline()).date is None


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1", "http://a..b", "http://[::1", "ftp://127.0.0.1", "127.0.0.1:80", "http://" + "a" * 70]
)
def test_a_base_url_that_leads_nowhere_is_broken_and_not_an_exception(url, monkeypatch):
    def nowhere(*_, **__):
        raise socket.gaierror("no such host")

    monkeypatch.setattr(socket, "getaddrinfo", nowhere)
    try:
        made = wire(url)
    except ValueError:
        return  # settings do not let it come so far
    reply = made.send(Grant(timeline(), "main", 0.0))
    assert reply.kind == "broken"
    assert "base_url" in reply.why


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:80", True),
        ("http://127.8.8.8", True),
        ("http://[::1]:80/x", True),
        ("http://localhost", True),
        ("https://LOCALHOST", True),
        ("https://api.x.com", False),
        ("http://10.0.0.1", False),
        ("http://0.0.0.0", False),
        ("http://localhost.evil.org", False),
        ("http://127.0.0.1.evil.org", False),
        ("http://127.0.0.1@evil.org", False),
        ("http://evil.org/127.0.0.1", False),
        ("127.0.0.1:80", False),
        ("", False),
    ],
)
def test_only_a_server_on_this_machine_is_free_of_charge(url, expected):
    assert is_loopback(url) is expected


ERRORS = [tweepy.HTTPException]
for error in ERRORS:
    ERRORS.extend(error.__subclasses__())


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_every_error_of_tweepy_is_a_reply(error, monkeypatch):
    status = {"BadRequest": 400, "Unauthorized": 401, "Forbidden": 403, "NotFound": 404, "TooManyRequests": 429}
    response = requests.Response()
    response.status_code = status.get(error.__name__, 500)
    response._content = orjson.dumps({"title": "so it is", "detail": "so it is"})
    made = wire("http://127.0.0.1:1")

    def raising(*_, **__):
        raise error(response)

    monkeypatch.setattr(made.clients["main"], "request", raising)
    reply = made.send(Grant(timeline(), "main", 0.0))
    assert reply.status == response.status_code
    expected = {400: "invalid", 401: "refused", 403: "refused", 404: "invalid", 429: "backoff", 500: "broken"}
    assert reply.kind == expected[reply.status]


def test_the_token_is_in_no_log_no_repr_and_no_error(door, caplog):
    caplog.set_level(logging.DEBUG)
    for name in ("tweepy.client", "httpcore.connection", "httpcore.http11", "requests", "asyncio"):
        caplog.set_level(logging.DEBUG, logger=name)
    made, told = wire(door.url), []
    for status in (200, 302, 401, 403, 404, 500):
        door.says = (status, {"X-Echo": TOKEN}, orjson.dumps({"detail": f"the token is {TOKEN}", "data": []}))
        told.append(repr(made.send(Grant(timeline(), "main", 0.0))))
    told += [repr(made), repr(made.clients), repr(wire("http://127.0.0.1:1").send(Grant(timeline(), "main", 0.0)))]
    spoken = " ".join(f"{record.getMessage()} {record.args}" for record in caplog.records)
    assert "Making API request: GET https://api.twitter.com/2/users/" in spoken
    assert "connect_tcp.started" in spoken
    assert "Bearer (kept secret)" in spoken
    assert sum("the token is (kept secret)" in line for line in told) >= 3
    assert TOKEN not in "".join(told) + spoken + caplog.text
