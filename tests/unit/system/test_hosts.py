"""Pages answer for the names of their own server: a web page elsewhere cannot read them by a name of its own."""

import asyncio
import socket
import subprocess
from contextlib import closing

import httpx
import pytest
from commands import COMMAND, ENVIRONMENT, socialcrawl
from hypothesis import given
from hypothesis import strategies as st
from test_daemon_health import FOREST, NOW, vitals
from test_explore import crawled, explored, rows_of

from socialcrawl.daemon.health_page import make_app, serve_pages
from socialcrawl.errors import SettingsError
from socialcrawl.system.host_names import AllowedHosts, HostGuard, parse_host

REBOUND = "rebind.attacker.example"


def pages(host="127.0.0.1", **more):
    return serve_pages(make_app(lambda: vitals(FOREST), lambda: NOW), host, 0, **more)


def asked(url, host, path="/healthz"):
    return httpx.get(f"{url}{path}", headers={"Host": host})


def sent(url, text):
    """What the server at `url` answers to bytes that no client would send."""
    with closing(socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), 5)) as connection:
        connection.sendall(text)
        answer = b""
        while part := connection.recv(65_536):
            answer += part
    return answer.decode()


def test_a_name_that_somebody_else_let_stand_for_this_machine_reads_nothing():
    with pages() as url:
        for host in (REBOUND, f"{REBOUND}:9464", REBOUND.upper(), "localhost.attacker.example", "127.0.0.1.example"):
            for path in ("/healthz", "/metrics", "/"):
                answer = asked(url, host, path)
                assert (answer.status_code, answer.headers["content-type"]) == (421, "text/plain; charset=utf-8")
                bare = host.partition(":")[0].lower()
                assert answer.text.startswith(f"The host {bare} is not allowed here.")
                assert f"start socialcrawl with --allow-host {bare}" in answer.text
                assert "forest" not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1:1", "localhost", "LocalHost:9464", "localhost.", "[::1]:80"])
def test_this_machine_is_asked_by_its_loopback_names_whatever_the_port(host):
    with pages() as url:
        assert asked(url, host).status_code == 200


def test_other_addresses_and_the_machines_own_names_are_for_servers_that_others_reach(monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: "Crawler")
    monkeypatch.setattr(socket, "getfqdn", lambda: "crawler.lan.example.")
    hosts = ["192.0.2.7:9464", "[2001:db8::7]:9464", "crawler", "CRAWLER.lan.example:9464"]
    with pages() as alone:
        assert [asked(alone, host).status_code for host in hosts] == [421] * 4
    with pages("0.0.0.0", allow_remote=True) as shared:
        assert [asked(shared, host).status_code for host in hosts] == [200] * 4
        assert asked(shared, REBOUND).status_code == 421
        assert asked(shared, "other.lan.example").status_code == 421


def test_prometheus_asks_by_a_host_name_once_it_is_allowed():
    given = ["Crawler.Example.ORG", "*.lan.example:9464", "bücher.example", "192.0.2.9"]
    with pages(allow_hosts=given) as url:
        for host in (
            "crawler.example.org:9464", "a.lan.example", "a.b.LAN.example.", "xn--bcher-kva.example", "192.0.2.9:1",
        ):  # fmt: skip
            assert asked(url, host, "/metrics").status_code == 200, host
        for host in ("example.org", "lan.example", "evil-lan.example", "a.crawler.example.org", "192.0.2.8"):
            assert asked(url, host, "/metrics").status_code == 421, host


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("GET /healthz HTTP/1.0\r\n", "no Host header"),
        ("GET /healthz HTTP/1.1\r\nConnection: close\r\n", "no Host header"),
        ("GET /healthz HTTP/1.1\r\nConnection: close\r\nHost: 127.0.0.1\r\nHost: 127.0.0.1\r\n", "2 Host headers"),
        (f"GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\nHost: {REBOUND}\r\n", "2 Host headers"),
        ("GET /healthz HTTP/1.0\r\nHost:\r\n", "is not a host"),
        ("GET /healthz HTTP/1.0\r\nHost: localhost, localhost\r\n", "is not a host"),
        ("GET /healthz HTTP/1.0\r\nHost: a@localhost\r\n", "is not a host"),
        ("GET /healthz HTTP/1.0\r\nHost: [::1\r\n", "is not a host"),
        ("GET /healthz HTTP/1.0\r\nHost: localhost:x\r\n", "is not a host"),
        (f"GET /healthz HTTP/1.0\r\nHost: {'a' * 254}\r\n", "is not a host"),
    ],
)
def test_a_request_that_names_no_host_or_several_or_nonsense_is_refused_with_the_reason(lines, said):
    with pages() as url:
        answer = sent(url, f"{lines}\r\n".encode())
    status, _, body = answer.partition("\r\n\r\n")
    assert status.split()[1] == "400"
    assert said in body
    assert "forest" not in answer


def test_http_1_0_with_a_host_is_answered():
    with pages() as url:
        assert " 200 " in sent(url, b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n").splitlines()[0]


def through(scope):
    """What a guarded application of one host sends, and whether it was reached."""
    reached, told = [], []

    async def inner(scope, receive, send):
        reached.append(scope["type"])

    async def send(message):
        told.append(message)

    guard = HostGuard(inner, AllowedHosts.of(["crawler.example"], listening="127.0.0.1"))
    asyncio.run(guard(scope, None, send))
    return reached, told


def test_websockets_are_refused_as_well_and_the_servers_own_events_pass():
    headers = [(b"host", REBOUND.encode())]
    reached, told = through({"type": "websocket", "headers": headers})
    assert (reached, told[0]["type"], told[0]["code"]) == ([], "websocket.close", 1008)
    reached, told = through(
        {"type": "websocket", "headers": headers, "extensions": {"websocket.http.response": {}}},
    )
    assert (reached, [message["type"] for message in told]) == (
        [],
        ["websocket.http.response.start", "websocket.http.response.body"],
    )
    assert told[0]["status"] == 421
    assert through({"type": "websocket", "headers": [(b"host", b"crawler.example")]}) == (["websocket"], [])
    assert through({"type": "lifespan"}) == (["lifespan"], [])


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("", "Write a name such as"),
        ("*", r"cannot stand for every host"),
        ("*.", "cannot stand for every host"),
        ("a*.example", "all names below a domain"),
        ("*.192.0.2.1", "all names below a domain"),
        ("http://crawler", "without http://"),
        ("192.0.2.0/24", "Ranges of addresses cannot be allowed"),
        ("a.example,b.example", "repeat the option"),
        ("a b", "repeat the option"),
        ("a..b", "Write a name such as"),
        ("[::1", "Write a name such as"),
    ],
)
def test_a_host_that_is_none_is_refused_with_what_to_write_before_anything_is_served(name, advice):
    with pytest.raises(SettingsError, match=rf"is not a host\. .*{advice}"):
        pages(allow_hosts=[name]).__enter__()


@pytest.mark.parametrize("option", [["--allow-host", "crawler.example"], ["--allow-remote"]])
def test_options_of_the_health_page_are_refused_without_one(option, tmp_path):
    child = socialcrawl("daemon", tmp_path, *option)
    assert (child.returncode, "add --health HOST:PORT" in " ".join(child.stderr.split())) == (2, True)


@given(st.text(max_size=40) | st.from_regex(r"[\[\]a-z0-9.:*@,-]{0,20}", fullmatch=True))
def test_whatever_a_header_says_there_is_one_plain_host_or_none(header):
    host = parse_host(header)
    if host is not None:
        again = parse_host(f"[{host}]:80" if ":" in host else f"{host}:80")
        assert again == host == host.lower()


def test_explore_shows_the_database_to_no_other_name_and_takes_one_that_is_allowed(tmp_path):
    path = crawled(tmp_path / "town.db")
    before = rows_of(path)
    with explored(path, "--allow-host", "crawler.example") as (url, _, _):
        query = f"{url}town.json?sql=select+name+from+campaign&_shape=array"
        assert httpx.get(query).json() == [{"name": "tiny"}]
        assert httpx.get(query, headers={"Host": "crawler.example:8001"}).status_code == 200
        for host in (REBOUND, "192.0.2.1"):
            answer = httpx.get(query, headers={"Host": host})
            assert (answer.status_code, "tiny" in answer.text) == (421, False)
        for page in ("settings", "metadata", "databases", "plugins", "actor", "permissions"):
            for method in ("POST", "PUT", "PATCH", "DELETE"):  # Datasette's own pages change nothing
                answer = httpx.request(method, f"{url}-/{page}", data={"sql_time_limit_ms": "1", "path": "/etc/passwd"})
                assert answer.status_code in (403, 404, 405), (page, method)
    assert rows_of(path) == before


def test_the_commands_tell_what_is_no_host(tmp_path):
    crawled(tmp_path / "a.db")
    (tmp_path / "campaigns").mkdir()
    explore = ["explore", "--db", tmp_path / "a.db", "--no-open", "--port", "0", "--allow-host", "http://x"]
    daemon = ["daemon", tmp_path / "campaigns", "--health", "127.0.0.1:0", "--allow-host", "http://x"]
    for words in (explore, daemon):
        child = socialcrawl(*words)
        assert (child.returncode, "--allow-host 'http://x' is not a host" in child.stderr) == (2, True)


def test_the_daemon_answers_by_a_name_that_is_allowed(tmp_path):
    words = ["daemon", tmp_path, "--log", "json", "--health", "127.0.0.1:0", "--allow-host", "crawler.example"]
    child = subprocess.Popen([*COMMAND, *map(str, words)], stderr=subprocess.PIPE, env=ENVIRONMENT, text=True)
    try:
        line = next(line for line in child.stderr if "/healthz" in line)
        url = line.partition('"url": "')[2].partition("/healthz")[0]
        assert asked(url, "crawler.example:9464").status_code == 200
        assert asked(url, REBOUND).status_code == 421
    finally:
        child.terminate()
        child.communicate()
