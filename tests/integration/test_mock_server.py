import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter

import httpx
import pytest
from commands import socialcrawl
from shared_data import needed
from test_mock_world import synthetic
from x_crawls import TOPIC, campaign_of, crawl, posts_file, rows

from socialcrawl.errors import MockError, PostsFileError
from socialcrawl.mock import faults
from socialcrawl.mock.child_process import spawn
from socialcrawl.mock.server import _listen, serve, serve_in_thread, write_report
from socialcrawl.mock.server_settings import MockSettings

BEARER = {"Authorization": "Bearer x"}
SERVE = """
import sys
from pathlib import Path
from socialcrawl.mock.server import serve
from socialcrawl.mock.server_settings import MockSettings
posts, *rest = sys.argv[1:]
settings = dict(zip(rest[::2], rest[1::2]))
report = Path(settings["report"]) if "report" in settings else None
serve(MockSettings(posts=Path(posts), report=report, port=int(settings.get("port", 0)), limit=2))
"""
COMMAND = (sys.executable, "-c", SERVE)


@pytest.fixture
def town(tmp_path):
    path = tmp_path / "town.jsonl"
    posts = synthetic()
    rows = zip(posts.authors, posts.created_at.tolist(), posts.texts, strict=True)
    keys = ("author", "created_at", "text")
    path.write_text("\n".join(json.dumps(dict(zip(keys, row, strict=True))) for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_server_and_the_report_is_written(town, tmp_path, number):
    report = tmp_path / "report.json"
    with spawn(town, "report", str(report), command=COMMAND) as child, httpx.Client(headers=BEARER) as client:
        statuses = [client.get(f"{child.url}/2/users/by/username/ann").status_code for _ in range(3)]
        child.process.send_signal(number)
        assert child.process.wait(300) == 0
    assert statuses == [200, 200, 429]
    told = json.loads(report.read_text(encoding="utf-8"))
    assert [(w["requests"], w["answers"]) for w in told["windows"]] == [(3, {"200": 2, "429": 1})]
    (day,) = told["billed"].values()
    assert (day["users"], day["dollars"]) == (1, 0.01)
    assert list(tmp_path.glob("report.json.*")) == []


def test_the_report_is_fresh_while_the_server_runs_and_at_its_own_address(town, tmp_path):
    report = tmp_path / "report.json"
    with spawn(town, "report", str(report), command=COMMAND) as child, httpx.Client(headers=BEARER) as client:
        client.get(f"{child.url}/2/users/by/username/ann")
        for _ in range(5):
            shown = client.get(f"{child.url}/_mock/report", headers={"Authorization": ""}).json()
        assert [window["requests"] for window in shown["windows"]] == [1]
        limit = time.monotonic() + 300
        while not (windows := json.loads(report.read_text(encoding="utf-8"))["windows"]) and time.monotonic() < limit:
            time.sleep(0.05)
        assert windows == shown["windows"]


def test_the_first_line_is_the_url_and_nothing_else_is_said(town):
    with subprocess.Popen([*COMMAND, str(town)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            url = json.loads(line)["url"]
            assert httpx.get(f"{url}/2/users/by/username/ann", headers=BEARER).status_code == 200
        finally:
            process.terminate()
        rest, complaints = process.communicate()
    assert line == f'{{"url": "{url}"}}\n'
    assert (rest, complaints) == ("", "")


def test_the_end_of_a_block_ends_the_child(town):
    with spawn(town, command=COMMAND) as child:
        assert child.process.poll() is None
    assert child.process.poll() == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(child.url)


def test_a_child_that_dies_or_is_silent_is_told_with_its_last_words(town):
    for code, within, said in (
        ("import sys; sys.exit('no such luck')", 20, "It said: no such luck"),
        ("print('hello')", 20, "It said: hello"),
        ("import time; time.sleep(60)", 0.3, "said nothing within 0.3 s"),
    ):
        with (
            pytest.raises(MockError, match=said),
            spawn(town, command=(sys.executable, "-c", code), start_within=within),
        ):
            pytest.fail("the block must not be entered")


def test_a_port_in_use_is_told_with_a_remedy(town):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        for start in (
            lambda: serve(MockSettings(posts=town, port=port)),
            serve_in_thread(synthetic(), port=port).__enter__,
        ):
            with pytest.raises(MockError, match=rf"cannot listen on 127.0.0.1 port {port}: .*Give another port"):
                start()


def test_a_mock_without_posts_or_with_a_bad_file_does_not_start(tmp_path):
    with pytest.raises(MockError, match="give it a file of posts"):
        serve(MockSettings())
    with pytest.raises(PostsFileError, match="There is no file"), serve_in_thread(tmp_path / "nothing.csv"):
        pytest.fail("the block must not be entered")


MOCK = (sys.executable, "-m", "socialcrawl", "mock", "--with-stdin")


@pytest.mark.parametrize("platform", ["x", "bluesky", "mastodon"])
def test_without_a_file_the_posts_of_the_demo_are_served_on_every_platform(platform, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    with spawn("--port", "0", command=MOCK) as child:
        source = {"platform": platform} if platform == "x" else {"platform": platform, "token_env": None}
        home = {"domain": "home.example"} if platform == "mastodon" else {}
        settings = campaign_of(child.url, tmp_path / "a.db", source={**source, **home}, crawl={"steps": 5})
        reason, _ = crawl(settings)
        assert (reason.kind, list((tmp_path / "temporary").rglob("posts.parquet")) != []) == ("done", True)
        child.process.terminate()
        assert child.process.wait(300) == 0
    ((found,),) = rows(tmp_path / "a.db", f"select count(*) from post where text like '%{TOPIC}%'")
    assert found > 10
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize("enabled", [True, False])
def test_an_option_enables_the_newer_search_of_bluesky(enabled):
    words = ("--posts", str(posts_file()), *(("--search-v2",) if enabled else ()))
    with spawn(*words, command=MOCK) as child:
        query = {"query": TOPIC, "sort": "recent"}
        answer = httpx.get(f"{child.url}/xrpc/app.bsky.feed.searchPostsV2", params=query)
    assert answer.status_code == (200 if enabled else 400)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--platform", "mastodon", "--limit", "9"), '--limit is for X.*--platform-limit "mastodon 300/5m"'),
        (("--platform", "bluesky", "--window", "1s"), '--window is for X.*--platform-limit "bluesky 300/5m"'),
        (("--platform", "bluesky", "--user-limit", "9"), "--user-limit is for X"),
    ],
)
def test_options_of_x_are_refused_where_x_is_not_served(words, said):
    child = socialcrawl("mock", *words)
    assert child.returncode == 2
    assert re.search(said, child.stderr), child.stderr


def test_two_starts_tell_the_same_story(town):
    told = []
    for _ in range(2):
        with serve_in_thread(town, missing=0.3) as mock, httpx.Client(base_url=mock.url, headers=BEARER) as client:
            names = {"usernames": "ann,bob,cy,nobody"}
            found = client.get("/2/tweets/search/recent", params={"query": "note", "max_results": 100}).json()
            told.append((client.get("/2/users/by", params=names).json(), found))
    assert told[0] == told[1]


def test_the_report_outlives_the_server():
    with serve_in_thread(synthetic()) as mock:
        httpx.get(f"{mock.url}/2/users/by/username/ann", headers=BEARER)
    assert mock.report()["received"] == {"/2/users/by/username/:username": 1}


def test_a_report_is_replaced_whole(tmp_path):
    path = tmp_path / "r.json"
    write_report({"a": 1}, path)
    write_report({"b": 2}, path)
    assert json.loads(path.read_text()) == {"b": 2}
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.json"]


PATH = "/2/users/by/username/ann"


def _answers(fault, n=1):
    """The answers to n requests of which the first meets the fault, and the mock's report."""
    with (
        serve_in_thread(synthetic(), fault=lambda endpoint, nth: fault if nth == 1 else None) as mock,
        httpx.Client(base_url=mock.url, headers=BEARER, timeout=10) as client,
    ):
        return [client.get(PATH) for _ in range(n)], mock.report()


@pytest.mark.parametrize("status", [200, 503])
def test_the_edge_may_answer_html(status):
    (answer, good), report = _answers(faults.make_html_fault(status), 2)
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")
    assert "x-rate-limit-limit" not in answer.headers
    assert good.json()["data"]["username"] == "Ann"
    assert sum(report["windows"][0]["answers"].values()) == report["windows"][0]["requests"] == 2


@pytest.mark.parametrize(
    ("status", "title"), [(401, "Unauthorized"), (402, "CreditsDepleted"), (403, "Client Forbidden")]
)
def test_an_account_may_be_refused(status, title):
    (answer,), report = _answers(faults.make_refusals(status))
    assert (answer.status_code, answer.json()["title"]) == (status, title)
    assert len(report["windows"]) == (0 if status == 401 else 1)
    assert report["billed"] == {}


def test_a_429_may_come_without_the_headers_or_with_those_of_the_day():
    (bare,), _ = _answers(faults.make_too_many())
    assert bare.status_code == 429
    assert not [name for name in bare.headers if name.startswith("x-")]
    (capped,), _ = _answers(faults.make_too_many({"x-app-limit-24hour-remaining": "0"}))
    assert capped.headers["x-app-limit-24hour-remaining"] == "0"


def test_a_connection_may_be_cut_and_the_next_is_served(capfd):
    with serve_in_thread(synthetic(), fault=lambda endpoint, nth: faults.make_cut() if nth == 2 else None) as mock:
        with httpx.Client(base_url=mock.url, headers=BEARER, timeout=10) as client:
            assert client.get(PATH).status_code == 200
            with pytest.raises(httpx.RemoteProtocolError, match="without sending a response"):
                client.get(PATH)
            assert client.get(PATH).status_code == 200
        (window,) = mock.report()["windows"]
    assert (window["requests"], window["answers"]) == (3, {"200": 2})
    assert capfd.readouterr().err == ""


def _drain(answer, got):
    for part in answer.iter_raw():
        got += part


def test_half_an_answer_may_arrive(capfd):
    with serve_in_thread(synthetic(), fault=lambda endpoint, nth: faults.make_half() if nth == 1 else None) as mock:
        with (
            httpx.Client(base_url=mock.url, headers=BEARER, timeout=10) as client,
            client.stream("GET", PATH) as answer,
        ):
            got = bytearray()
            with pytest.raises(httpx.RemoteProtocolError, match="without sending complete"):
                _drain(answer, got)
        whole = httpx.get(mock.url + PATH, headers=BEARER).content
    assert int(answer.headers["content-length"]) == len(whole)
    assert bytes(got) == whole[: len(whole) // 2]
    assert capfd.readouterr().err == ""


def test_an_answer_may_hang_and_others_are_served_meanwhile():
    with serve_in_thread(synthetic(), fault=lambda endpoint, nth: faults.make_hang(900) if nth == 1 else None) as mock:
        with pytest.raises(httpx.ReadTimeout):
            httpx.get(mock.url + PATH, headers=BEARER, timeout=0.3)
        assert httpx.get(mock.url + PATH, headers=BEARER, timeout=300).status_code == 200
        begun = time.monotonic()
    assert time.monotonic() - begun < 300


def test_modules_are_cheap_to_import():
    code = (
        "import sys, socialcrawl.mock.server, socialcrawl.mock.child_process, socialcrawl.lab.post_table\n"
        "print([name for name in ('starlette', 'uvicorn', 'pyarrow') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_answers_are_sent_without_delay():
    """asyncio sets TCP_NODELAY only on sockets that name their protocol; without it an answer takes 40 ms."""
    with _listen(MockSettings()) as listener:
        assert listener.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize("name", ["ubuntu_irc", "congress2015_last12m"])
def test_a_recorded_file_is_served_as_it_is(name):
    from pyarrow import parquet

    path = needed(f"data/{name}.parquet")
    rows = parquet.read_table(path).select(["author", "created_at", "text"]).to_pylist()
    prolific = Counter(row["author"].lower() for row in rows).most_common(20)
    author = next(name for name, _ in prolific if re.fullmatch("[a-z0-9_]{1,15}", name))
    own = [row for row in rows if row["author"].lower() == author]
    texts = [row["text"] for row in sorted(own, key=lambda row: row["created_at"])]
    with serve_in_thread(path, limit=1000) as mock, httpx.Client(base_url=mock.url, headers=BEARER) as client:
        number = client.get(f"/2/users/by/username/{author}").json()["data"]["id"]
        read, params = [], {"max_results": 100, "tweet.fields": "note_tweet"}
        while True:
            page = client.get(f"/2/users/{number}/tweets", params=params).json()
            read += [post.get("note_tweet", post)["text"] for post in page["data"]]
            if not (token := page["meta"].get("next_token")):
                break
            params["pagination_token"] = token
    assert read == texts[::-1][:3200]
    assert len(read) > 100


def test_a_child_ends_with_the_process_that_started_it_even_when_that_one_is_killed(town):
    code = (
        "import sys, time; from pathlib import Path; from socialcrawl.mock.child_process import spawn\n"
        "with spawn(Path(sys.argv[1])) as child: print(child.process.pid, flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, str(town)], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    os.kill(child, 0)  # it lives
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    raise AssertionError("the mock outlived its parent by five minutes")
