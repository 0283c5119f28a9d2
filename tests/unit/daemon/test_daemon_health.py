"""The pages /healthz and /metrics: who is well, who is ill and why, and a server that disturbs nobody."""

import json
import signal
import socket
import threading
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from socialcrawl import __version__
from socialcrawl.daemon.campaign_state import STATES, CampaignState
from socialcrawl.daemon.health_page import check_health, make_app, parse_host_port, serve_pages
from socialcrawl.daemon.metrics import DaemonStatus
from socialcrawl.errors import SettingsError
from socialcrawl.system.secret import KEPT, conceal

NOW = 1_800_000_000.0
HIDDEN = "AAAAhealth-kept-secret"
conceal(HIDDEN)
FOREST = CampaignState(
    Path("/c/forest.toml"), "forest", "waiting", "the window is empty", NOW - 30, NOW + 300, NOW - 40
)


def vitals(*standings, beat=NOW - 1):
    return DaemonStatus(NOW - 86_400, beat, standings)


def serving_these(given_vitals, **more):
    return serve_pages(make_app(lambda: given_vitals, lambda: NOW), "127.0.0.1", 0, **more)


def test_a_daemon_that_is_well_says_how_each_campaign_stands():
    with serving_these(vitals(FOREST)) as url:
        answer = httpx.get(f"{url}/healthz")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {
        "ok": True,
        "why": [],
        "version": __version__,
        "since": "2027-01-14T08:00:00Z",
        "campaigns": [
            {
                "campaign": "forest",
                "file": "forest.toml",
                "state": "waiting",
                "why": "the window is empty",
                "since": "2027-01-15T07:59:30Z",
                "until": "2027-01-15T08:05:00Z",
                "moved": "2027-01-15T07:59:20Z",
            }
        ],
    }


@pytest.mark.parametrize("state", sorted(STATES))
def test_only_a_campaign_that_is_stalled_or_broken_or_whose_platform_is_down_makes_the_daemon_ill(state):
    ill = replace(FOREST, campaign="sea", state=state, why="The disk is full.")
    with serving_these(vitals(FOREST, ill)) as url:
        answer = httpx.get(f"{url}/healthz")
    if state in ("stalled", "broken", "down"):
        assert (answer.status_code, answer.json()["why"]) == (503, [f"sea is {state}: The disk is full."])
    else:
        assert (answer.status_code, answer.json()["why"]) == (200, [])
    assert [shown["state"] for shown in answer.json()["campaigns"]] == ["waiting", state]


def test_so_does_a_heart_that_is_silent_for_more_than_its_time():
    assert check_health(vitals(beat=NOW - 60), NOW)[0]
    fine, page = check_health(vitals(beat=NOW - 61), NOW)
    assert (fine, page["ok"], page["why"]) == (
        False,
        False,
        ["The daemon hangs: its heart has been silent for 61 s."],
    )
    assert check_health(vitals(beat=NOW - 61), NOW, silence=120)[0]
    assert check_health(vitals(beat=NOW + 3600), NOW)[0]  # the clock went back


def test_metrics_are_those_of_the_campaigns_and_made_anew_for_every_scrape():
    standings = [FOREST]
    pages = make_app(lambda: vitals(*standings), lambda: NOW)
    with serve_pages(pages, "127.0.0.1", 0) as url:
        first = httpx.get(f"{url}/metrics")
        standings[:] = [replace(FOREST, state="done")]
        second = httpx.get(f"{url}/metrics")
    assert first.headers["content-type"].startswith("text/plain; version=0.0.4")
    for answer, state in ((first, "waiting"), (second, "done")):
        states = [
            sample.labels["state"]
            for family in text_string_to_metric_families(answer.text)
            for sample in family.samples
            if sample.name == "socialcrawl_campaign_state" and sample.value == 1
        ]
        assert states == [state]


def test_a_daemon_that_cannot_say_how_it_is_is_ill_and_its_server_lives_on():
    def torn():
        raise RuntimeError(f"dictionary changed size during iteration {HIDDEN}")

    with serve_pages(make_app(torn, lambda: NOW), "127.0.0.1", 0) as url:
        for page in ("healthz", "metrics", "healthz"):
            answer = httpx.get(f"{url}/{page}")
            assert (answer.status_code, "cannot say how it is (RuntimeError)" in answer.text) == (503, True)
            assert HIDDEN not in answer.text


def test_nothing_else_is_there_and_nothing_can_be_written():
    with serving_these(vitals(FOREST)) as url:
        assert httpx.get(f"{url}/").status_code == 404
        assert httpx.post(f"{url}/healthz").status_code == 405
        assert httpx.head(f"{url}/healthz").status_code == 200


def test_no_page_shows_a_secret():
    ill = CampaignState(Path(f"{HIDDEN}.toml"), HIDDEN, "broken", f"token {HIDDEN}", NOW)
    with serving_these(vitals(ill)) as url:
        answers = [httpx.get(f"{url}/{page}").text for page in ("healthz", "metrics")]
    for answer in answers:
        assert KEPT in answer
        assert HIDDEN not in answer


def test_answers_come_while_the_crawl_holds_its_locks_and_works():
    crawling, done = threading.Lock(), threading.Event()

    def crawl():
        with crawling:
            while not done.is_set():
                sum(range(1000))

    thread = threading.Thread(target=crawl)
    with serving_these(vitals(FOREST)) as url, httpx.Client() as client:
        thread.start()
        try:
            assert {client.get(f"{url}/healthz", timeout=300).status_code for _ in range(5)} == {200}
            assert crawling.locked()
        finally:
            done.set()
            thread.join()


def answered(url):
    """The answer, once there is room and the machine was quick enough for the deadline."""
    while True:
        with suppress(httpx.TransportError):
            if (answer := httpx.get(url, timeout=120)).status_code != 503:
                return answer


@pytest.mark.parametrize("begun", [b"", b"GET /healthz HTTP/1.1\r\nHost: 127", b"POST /healthz HTTP/1.1\r\nContent-Le"])
def test_connections_that_never_finish_their_request_are_closed_and_make_room(begun):
    fine = vitals()
    with ExitStack() as ends, serve_pages(make_app(lambda: fine, lambda: NOW), "127.0.0.1", 0, deadline=1.0) as url:
        address = ("127.0.0.1", int(url.rpartition(":")[2]))
        idle = [ends.enter_context(socket.create_connection(address, timeout=120)) for _ in range(150)]
        for one in idle:
            one.sendall(begun)
        for one in idle:
            with suppress(ConnectionResetError):
                assert one.recv(1) == b"", "closed without an answer"
        assert answered(f"{url}/healthz").json()["ok"] is True


def test_each_answer_ends_its_connection_so_that_the_deadline_cuts_off_no_second_request():
    with serving_these(vitals()) as url:
        assert httpx.get(f"{url}/healthz").headers["connection"] == "close"


def test_signals_stay_the_callers():
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    with serving_these(vitals()):
        assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before


def test_the_end_of_the_block_ends_the_server_at_once_and_its_thread():
    with serving_these(vitals()) as url, httpx.Client() as client, socket.socket() as idle:
        client.get(f"{url}/healthz")  # stays connected
        idle.connect(("127.0.0.1", int(url.rpartition(":")[2])))
        idle.send(b"GET /healthz HTTP/1.1\r\n")  # and asks no further
    assert "health" not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/healthz")


def test_an_error_in_the_block_comes_out_and_the_server_ends():
    with pytest.raises(ZeroDivisionError), serving_these(vitals()) as url:
        raise ZeroDivisionError
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/healthz")


def test_a_port_in_use_is_told_with_a_remedy():
    with serving_these(vitals()) as url:
        port = int(url.rpartition(":")[2])
        second = serve_pages(make_app(vitals, lambda: NOW), "127.0.0.1", port)
        with pytest.raises(SettingsError, match=rf"cannot listen on 127.0.0.1 port {port}: .* --health HOST:PORT"):
            second.__enter__()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", ""])
def test_other_machines_are_let_in_only_where_that_is_allowed(host):
    with pytest.raises(SettingsError, match=r"not this machine alone; give 127\.0\.0\.1, or --allow-remote"):
        serve_pages(make_app(vitals, lambda: NOW), host, 0).__enter__()


def test_and_then_they_are():
    with serve_pages(make_app(lambda: vitals(FOREST), lambda: NOW), "0.0.0.0", 0, allow_remote=True) as url:
        assert url.startswith("http://0.0.0.0:")
        port = url.rpartition(":")[2]
        assert httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == 200


def test_ipv6_works_where_there_is_any():
    try:
        with socket.socket(socket.AF_INET6) as tried:
            tried.bind(("::1", 0))
    except OSError:
        pytest.skip("no IPv6 here")
    with serve_pages(make_app(vitals, lambda: NOW), "::1", 0) as url:
        assert url.startswith("http://[::1]:")
        assert httpx.get(f"{url}/healthz").status_code == 200


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("127.0.0.1:9464", ("127.0.0.1", 9464)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:9464", ("::1", 9464)),
        (":8080", ("127.0.0.1", 8080)),
        ("8080", ("127.0.0.1", 8080)),
        ("0.0.0.0", ("0.0.0.0", 9464)),
        ("::1", ("::1", 9464)),
        ("[::1]", ("::1", 9464)),
    ],
)
def test_a_place_is_written_as_people_do(written, meant):
    assert parse_host_port(written) == meant


@pytest.mark.parametrize("written", ["", "localhost:", "localhost:x", "a:70000", "127.0.0.1:-1", "a b:1", ":²"])
def test_what_is_no_place_is_told(written):
    with pytest.raises(SettingsError, match=r"is not a place to listen on: write HOST:PORT"):
        parse_host_port(written)


@settings(deadline=None, max_examples=many(60))
@given(
    st.builds(
        CampaignState,
        st.text(st.characters(exclude_characters="/\0")).map(lambda name: Path("/c") / f"f{name}"),
        st.text() | st.just("\ud800"),
        st.sampled_from(sorted(STATES)),
        st.text() | st.just("\udfff"),
        st.floats(-1e300, 1e300),
        st.none() | st.floats(),
        st.none() | st.floats(),
    )
)
def test_the_page_can_be_shown_whatever_it_says(standing):
    fine, page = check_health(vitals(standing), NOW)
    assert fine == (standing.state not in ("stalled", "broken", "down"))
    assert json.loads(json.dumps(page)) == page
