"""HTTP itself as a judge of the mock: connections that stay, requests that wait in line, methods it lacks."""

import http.client
import json
import socket
from contextlib import closing
from urllib.parse import urlsplit

import pytest
from mock_judges import MISSING, START, Town, requests_of

from socialcrawl.mock.server import serve_in_thread

TOWN = Town()
BEARER = {"Authorization": "Bearer TOKEN"}
EVE = "/2/users/by/username/eve"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return TOWN.file(tmp_path_factory.mktemp("town"))


@pytest.fixture(scope="module")
def town(file):
    with serve_in_thread(file, limit=100_000, missing=MISSING) as mock:
        yield mock


@pytest.fixture
def counting(file):
    """A mock of its own, whose counts only one test sees; its clock stands."""
    with serve_in_thread(file, limit=50, missing=MISSING, time=lambda: START + 3e7) as mock:
        yield mock


@pytest.fixture
def connection(town):
    with _connected(town) as connection:
        yield connection


def _connected(mock):
    return closing(http.client.HTTPConnection(urlsplit(mock.url).netloc, timeout=20))


def _ask(connection, method, path, headers=BEARER, body=None):
    connection.request(method, path, body=body, headers=headers)
    answer = connection.getresponse()
    return answer, answer.read()


def test_one_connection_serves_many_requests_also_after_refusals(connection):
    _ask(connection, "GET", EVE)
    first = connection.sock.getsockname()
    paths = [EVE, "/2/nothing", "/2/users/x", "/2/users/by", EVE]
    assert [_ask(connection, "GET", path)[0].status for path in paths] == [200, 404, 400, 400, 200]
    assert _ask(connection, "GET", EVE, headers={})[0].status == 401
    assert connection.sock.getsockname() == first


def test_a_client_that_wants_to_part_is_let_go(connection):
    answer, body = _ask(connection, "GET", EVE, headers={**BEARER, "Connection": "close"})
    assert (answer.status, answer.headers["connection"]) == (200, "close")
    assert json.loads(body)["data"]["username"] == "Eve"


def test_requests_sent_at_once_are_answered_in_their_order(counting):
    names = ["eve", "bob", "unheard", "cy", "kim", "eve"]
    host = urlsplit(counting.url)
    more = " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer T\r\n\r\n"
    with socket.create_connection((host.hostname, host.port), timeout=20) as door:
        door.sendall("".join(f"GET /2/users/by/username/{name}{more}" for name in names).encode())
        reader = door.makefile("rb")
        told = []
        for _ in names:
            head = http.client.parse_headers(reader) if reader.readline() == b"HTTP/1.1 200 OK\r\n" else {}
            body = json.loads(reader.read(int(head["content-length"])))
            told.append((int(head["x-rate-limit-remaining"]), body.get("data", {}).get("username")))
        reader.close()
    assert told == [(49, "Eve"), (48, "bob"), (47, None), (46, "cy"), (45, "kim"), (44, "Eve")]


def test_a_method_that_there_is_not_is_refused_without_a_count(counting):
    with _connected(counting) as connection:
        for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
            answer, body = _ask(connection, method, EVE, body=None if method == "OPTIONS" else b"{}")
            assert (answer.status, json.loads(body)["title"]) == (404, "Not Found"), method
            assert "x-rate-limit-limit" not in answer.headers
        assert requests_of(counting.report()) == {}
        assert _ask(connection, "GET", EVE)[0].status == 200  # their bodies were read, so the connection goes on


def test_a_head_is_an_answer_without_its_body_and_counts_like_any_other(counting):
    with _connected(counting) as connection:
        (got, body), (answer, nothing), (again, same) = (_ask(connection, word, EVE) for word in ("GET", "HEAD", "GET"))
    assert (answer.status, nothing) == (got.status, b"") == (200, b"")
    assert int(answer.headers["content-length"]) == len(body)
    assert (same, again.headers["x-rate-limit-remaining"]) == (body, "47")


def test_names_of_headers_schemes_and_queries_are_read_as_http_writes_them(connection):
    for name, value in (("AUTHORIZATION", "bearer TOKEN"), ("authorization", "Bearer  TOKEN ")):
        assert _ask(connection, "GET", EVE, headers={name: value})[0].status == 200
    _, plain = _ask(connection, "GET", "/2/users/by?usernames=eve,bob&user.fields=protected")
    _, quoted = _ask(connection, "GET", "/2/users/by?user%2Efields=protected&usernames=eve%2Cbob")
    assert plain == quoted
    assert [user["username"] for user in json.loads(plain)["data"]] == ["Eve", "bob"]
    _, spaced = _ask(connection, "GET", "/2/tweets/search/recent?query=harvest+%F0%9F%8C%BE&max_results=10")
    assert json.loads(spaced)["meta"]["result_count"] == 10


@pytest.mark.parametrize("path", [EVE + "/", "//2/users/by/username/eve", "/2/users/by/username/", "/", "/2"])
def test_a_path_that_is_nearly_right_is_not_found_and_leads_nowhere(connection, path):
    answer, body = _ask(connection, "GET", path)
    assert (answer.status, json.loads(body)["title"]) == (404, "Not Found")
    assert "location" not in answer.headers
