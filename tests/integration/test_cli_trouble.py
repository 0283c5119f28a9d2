import json
import os
import shlex
import signal
import socket
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest
from commands import COMMAND, ENVIRONMENT, campaign_file, socialcrawl
from x_crawls import TOPIC, posts, posts_file, rows

from socialcrawl.mock import faults
from socialcrawl.mock.server import serve_in_thread


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), limit=100_000) as found:
        yield found


@pytest.fixture
def begun(mock, tmp_path):
    """A folder with a campaign that has stored something already."""
    assert socialcrawl("run", campaign_file(tmp_path, mock.url, steps=3), folder=tmp_path).returncode == 0
    return tmp_path


def stored(folder):
    return rows(folder / "mine.db", "select id, text from post order by id")


def test_a_missing_token_is_told_with_its_variable(begun, mock):
    before = stored(begun)
    for token in (None, "two words"):
        child = socialcrawl("run", campaign_file(begun, mock.url), folder=begun, token=token)
        assert child.returncode == 2
        assert "X_BEARER_TOKEN" in child.stderr
    assert stored(begun) == before


def test_a_wrong_token_is_told_and_what_was_stored_stays(begun):
    before = stored(begun)
    with serve_in_thread(posts(), tokens=frozenset({"another"})) as strict:
        child = socialcrawl("run", campaign_file(begun, strict.url), folder=begun)
    assert child.returncode == 1
    assert "the token was not accepted (401" in child.stdout
    assert stored(begun) == before


@pytest.mark.parametrize(("keywords", "said"), [([], "no keywords"), ([""], "is empty"), (["*"], "is empty")])
def test_an_empty_list_of_keywords_is_told(tmp_path, mock, keywords, said):
    child = socialcrawl("run", campaign_file(tmp_path, mock.url, keywords=keywords), folder=tmp_path)
    assert (child.returncode, said in child.stderr) == (2, True)
    assert not (tmp_path / "mine.db").exists()


def test_a_topic_that_nobody_uses_is_told(tmp_path, mock):
    child = socialcrawl("run", campaign_file(tmp_path, mock.url, keywords=["zzyzx"]), folder=tmp_path)
    assert child.returncode == 1
    assert "found no posts" in child.stdout
    assert "other keywords" in child.stdout


def test_a_campaign_file_that_is_wrong_is_told(tmp_path):
    (tmp_path / "wrong.toml").write_text('name = "x"\n[topic]\nkeyword = ["a"]\n')
    (tmp_path / "live.toml").write_text('name = "x"\n[topic]\nkeywords = ["a"]\n')
    for name, said in (
        ("lost.toml", "There is no campaign file lost.toml: name a campaign file, such as live.toml"),
        ("wrong.toml", "Did you mean 'keywords'"),
        ("live.toml", "$5,000"),
    ):
        child = socialcrawl("run", name, folder=tmp_path)
        assert (child.returncode, said in child.stderr) == (2, True), child.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["live.toml", "wrong.toml"]


def test_a_database_of_a_newer_schema_is_left_alone(begun, mock):
    connection = sqlite3.connect(begun / "mine.db")
    connection.execute("update alembic_version set version_num = '9999'")
    connection.commit()
    connection.close()
    before = stored(begun)
    for words in (["run", campaign_file(begun, mock.url)], ["report", "--db", begun / "mine.db"]):
        child = socialcrawl(*words, folder=begun)
        assert child.returncode == 1
        assert "newer than this socialcrawl" in child.stderr
    assert stored(begun) == before


def test_a_database_that_is_none_is_left_alone(tmp_path, mock):
    (tmp_path / "mine.db").write_text("my diary " * 500)
    child = socialcrawl("run", campaign_file(tmp_path, mock.url), folder=tmp_path)
    assert child.returncode == 1
    assert "a file of another kind, not a database" in child.stderr
    assert (tmp_path / "mine.db").read_text() == "my diary " * 500


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (faults.make_cut(), "the connection failed"),
        (faults.make_html_fault(200), "not JSON"),
        (faults.make_half(), "the connection failed"),
        (faults.make_hang(2.0), "did not answer in time"),
    ],
    ids=["closed", "html", "half", "nothing"],
)
def test_a_server_in_trouble_is_told_and_what_was_stored_stays(begun, fault, said):
    before = stored(begun)
    with serve_in_thread(posts(), fault=lambda endpoint, nth: fault, limit=100_000) as broken:
        child = socialcrawl("run", campaign_file(begun, broken.url, timeout=0.3), folder=begun)
    assert child.returncode == 1
    assert said in child.stdout
    assert "run again" in child.stdout
    assert stored(begun) == before


def test_a_server_that_is_not_there_is_told(tmp_path):
    child = socialcrawl("run", campaign_file(tmp_path, "http://127.0.0.1:1"), folder=tmp_path)
    assert child.returncode == 1
    assert "base_url right" in child.stdout


def mock_process(*words, **more):
    words = [*COMMAND, "mock", "--posts", str(posts_file()), *words]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, **more)


def test_the_mock_says_first_where_it_is_and_then_that_its_port_is_taken(tmp_path):
    report = tmp_path / "count.json"
    with mock_process("--window", "3s", "--per-window", "7", "--report", str(report)) as child:
        url = json.loads(child.stdout.readline())["url"]
        assert url.startswith("http://127.0.0.1:")
        other = socialcrawl("mock", "--posts", posts_file(), "--port", url.rsplit(":", 1)[1])
        assert other.returncode == 1
        assert "Give another port, or 0" in other.stderr
        child.send_signal(signal.SIGTERM)
        assert child.wait(10) == 0
        assert child.stdout.read() == child.stderr.read() == ""
    assert json.loads(report.read_text())["windows"] == []


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--posts", "lost.csv"], 1, "lost.csv"),
        (["--posts", "bad.jsonl"], 1, "bad.jsonl"),
        (["--posts", "bad.txt"], 1, "bad.txt, line 1: it is damaged JSON"),
        (["--posts", "bad.jsonl", "--window", "soon"], 2, "span of time"),
        (["--posts", "bad.jsonl", "--now", "soon"], 2, "instant"),
        (["--posts", "bad.jsonl", "--host", "0.0.0.0"], 1, "127.0.0.1"),
        (["--posts", "bad.jsonl", "--missing", "2"], 2, "missing"),
    ],
)
def test_a_mock_that_cannot_be_says_why(tmp_path, words, code, said):
    for name in ("bad.jsonl", "bad.txt"):
        (tmp_path / name).write_text('{"author": "a"\n')
    child = socialcrawl("mock", *words, folder=tmp_path)
    assert (child.returncode, said in child.stderr, child.stdout) == (code, True, ""), child.stderr


def demo_process(folder):
    given = ["--posts", str(posts_file()), "--keyword", TOPIC, "--window", "30s", "--per-window", "5"]
    return subprocess.Popen(
        [*COMMAND, "demo", *given],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )


def child_of(process):
    """The number of the demo's mock, as the kernel knows it."""
    until = time.monotonic() + 300
    while time.monotonic() < until:
        found = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        if found:
            return int(found[0])
        time.sleep(0.01)
    raise AssertionError("the demo started no mock")


def is_gone(number, within=300.0):
    until = time.monotonic() + within
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are read from /proc")


@needs_proc
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("when", ["as the mock starts", "under way"])
def test_an_interrupted_demo_ends_its_mock_and_keeps_what_it_has(tmp_path, number, when):
    with demo_process(tmp_path) as demo:
        mock = child_of(demo)
        if when == "under way":
            while "waiting" not in demo.stdout.readline():
                pass
        demo.send_signal(number)
        out, err = demo.communicate()
    assert demo.returncode == 130, (out, err)
    assert "Traceback" not in out + err
    assert is_gone(mock)
    if when == "under way":
        assert "interrupted; everything is saved" in out
        assert rows(tmp_path / "demo.db", "select count(*) from post")[0][0] > 0


@needs_proc
def test_a_killed_demo_leaves_no_mock_behind(tmp_path):
    with demo_process(tmp_path) as demo:
        mock = child_of(demo)
        while "waiting" not in demo.stdout.readline():
            pass
        demo.kill()
        demo.communicate()
    try:
        assert is_gone(mock)
    finally:
        if not is_gone(mock, 0):
            os.kill(mock, signal.SIGKILL)


def test_a_second_signal_ends_a_run_at_once_and_the_next_goes_on(begun):
    with socket.socket() as silent:  # it takes connections and says nothing
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        file = campaign_file(begun, f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=60, steps=9)
        before = stored(begun)
        words = [*COMMAND, "run", str(file)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(words, cwd=begun, env={**ENVIRONMENT, "X_BEARER_TOKEN": "t"}, **pipes) as child:
            connection, _ = silent.accept()
            child.send_signal(signal.SIGINT)
            while "stopping" not in (line := child.stderr.readline()):
                assert line, "it ended"
            child.send_signal(signal.SIGINT)
            out, err = child.communicate()
            connection.close()
    assert child.returncode == 130
    assert "everything is saved" not in out, "it did not wait for what was in flight"
    assert "Traceback" not in out + err
    assert stored(begun) == before
    with serve_in_thread(posts(), limit=100_000) as mock:
        assert socialcrawl("run", campaign_file(begun, mock.url, steps=9), folder=begun).returncode == 0


def test_what_a_server_says_is_shown_as_it_is_and_never_read_as_markup(tmp_path):
    def refuse(endpoint, nth):
        return faults.Fault("answer", 403, b'{"title": "Forbidden", "detail": "no [/access] for [bold]you :smile:"}')

    with serve_in_thread(posts(), fault=refuse) as mock:
        child = socialcrawl("run", campaign_file(tmp_path, mock.url), folder=tmp_path)
    assert child.returncode == 1
    assert "no [/access] for [bold]you :smile:" in child.stdout


def test_odd_names_of_databases_are_names_and_no_addresses(tmp_path, mock):
    file = campaign_file(tmp_path, mock.url)
    for name in ("we ird?#n\u00e4me.db", "p%20q.db", "x[bold]y.db"):
        file.write_text(
            file.read_text().split("database")[0]
            + f'database = "{name}"\n'
            + "[topic]"
            + file.read_text().split("[topic]")[1]
        )
        child = socialcrawl("run", file, folder=tmp_path)
        assert child.returncode == 0
        assert (tmp_path / name).exists()
        assert f"everything is in {tmp_path / name};" in child.stdout or f"everything is in {name};" in child.stdout
        (command,) = [line for line in child.stdout.splitlines() if line.startswith("next: ")]
        words = shlex.split(command.removeprefix("next: ").split("    ")[0])
        assert words[:2] == ["socialcrawl", "report"]
        assert words[3:6] == ["--campaign", "mine", "--html"], "the name of the file is not that of the campaign"
        assert socialcrawl(*words[1:], folder=tmp_path).returncode == 0
        assert "mine" in Path(tmp_path, words[-1]).read_text("utf-8")


def test_a_run_names_the_command_that_writes_its_page_and_one_that_found_nothing_does_not(begun, mock):
    child = socialcrawl("run", begun / "mine.toml", folder=begun)
    (command,) = [line for line in child.stdout.splitlines() if line.startswith("next: ")]
    words = shlex.split(command.removeprefix("next: ").split("    ")[0])
    assert [Path(word).name for word in words] == ["socialcrawl", "report", "mine.db", "--html", "mine.html"]
    assert socialcrawl(*words[1:], folder=begun).returncode == 0
    other = begun / "other"
    other.mkdir()
    child = socialcrawl("run", campaign_file(other, mock.url, keywords=["zzzzz"]), folder=other)
    assert child.returncode == 1
    assert "next:" not in child.stdout
