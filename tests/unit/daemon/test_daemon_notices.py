"""Notices reach a command and a webhook, tell no secrets, and hold nobody up."""

import json
import os
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from socialcrawl.campaign.sections.operation import NOTICES
from socialcrawl.daemon.campaign_state import CampaignFigures, CampaignState
from socialcrawl.daemon.notices import EVENTS, Notices, describe_event
from socialcrawl.errors import SettingsError
from socialcrawl.system.secret import KEPT, conceal

NOW = 1_800_000_000.0
HIDDEN = "AAAAnotices-kept-secret"
conceal(HIDDEN)
FIGURES = CampaignFigures(steps=120, relevance=310.25, sent=140, posts=9000, money=4_512_345)
FOREST = CampaignState(
    Path("forest.toml"), "forest", "paused", "a person paused it", NOW - 30, NOW + 300, NOW - 40, FIGURES
)
KEEP = """
import json, os, sys
out = {"env": dict(os.environ), "stdin": sys.stdin.read(), "argv": sys.argv[2:]}
with open(sys.argv[1], "a", encoding="utf-8") as file:
    file.write(json.dumps(out) + "\\n")
"""


@contextmanager
def notices(*args, patience=20, **more):
    made = Notices(*args, **more)
    try:
        yield made
    finally:
        made.close(patience)


def keeping(path, *more):
    return [sys.executable, "-c", KEEP, str(path), *more]


def kept(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


class Hook(ThreadingHTTPServer):
    """A webhook that keeps what it is told, and answers as it is bidden, the last status for ever."""

    def __init__(self, *statuses, hold=None):
        self.told, self.paths, self.statuses, self.hold = [], [], list(statuses), hold
        hook = self

        class Answer(BaseHTTPRequestHandler):
            def do_POST(self):
                hook.told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                hook.paths.append(self.path)
                if hook.hold:
                    hook.hold.wait(20)
                self.send_response(hook.statuses.pop(0) if len(hook.statuses) > 1 else hook.statuses[0])
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args):
                pass

        super().__init__(("127.0.0.1", 0), Answer)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/services/T0123/abcdefghijklmnop"

    def __enter__(self):
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *args):
        if self.hold:
            self.hold.set()
        self.shutdown()
        self._thread.join()
        self.server_close()


TOLD = {
    "text": "forest is paused: a person paused it",
    "event": "paused",
    "campaign": "forest",
    "state": "paused",
    "why": "a person paused it",
    "until": "2027-01-15T08:05:00Z",
    "since": "2027-01-15T07:59:30Z",
    "moved": "2027-01-15T07:59:20Z",
    "steps": 120,
    "relevance": 310.25,
    "requests": 140,
    "posts": 9000,
    "dollars": 45.12345,
}


def test_a_command_is_told_by_its_environment_and_on_stdin_without_a_shell(tmp_path, log):
    with notices(keeping(tmp_path / "told", "$HOME; exit 1", "*"), None, ["paused"]) as made:
        made.tell("paused", FOREST)
    (told,) = kept(tmp_path / "told")
    ours = {name for name in told["env"] if name.startswith("SOCIALCRAWL_")} - set(os.environ)
    given = {name: told["env"][name] for name in ours}
    assert given == {
        "SOCIALCRAWL_EVENT": "paused",
        "SOCIALCRAWL_CAMPAIGN": "forest",
        "SOCIALCRAWL_STATE": "paused",
        "SOCIALCRAWL_WHY": "a person paused it",
        "SOCIALCRAWL_UNTIL": "2027-01-15T08:05:00Z",
    }
    assert json.loads(told["stdin"]) == TOLD
    assert told["argv"] == ["$HOME; exit 1", "*"]
    assert log.lines() == []


def test_only_the_events_that_were_asked_for_are_told_each_in_its_turn(tmp_path, log):
    with notices(keeping(tmp_path / "told"), None, ["ended", "stalled"]) as made:
        for event in ("stalled", "paused", "ended"):
            made.tell(event, FOREST)
    assert [told["env"]["SOCIALCRAWL_EVENT"] for told in kept(tmp_path / "told")] == ["stalled", "ended"]


def test_a_command_gets_no_tokens(tmp_path, monkeypatch, log):
    for name in ("X_BEARER_TOKEN", "X_BEARER_TOKEN_FILE", "PGPASSWORD", "MINE", "MINE_FILE", "MINE_TOO"):
        monkeypatch.setenv(name, "a value")
    monkeypatch.setenv("ANY_NAME", f"Bearer {HIDDEN}")
    with notices(keeping(tmp_path / "told"), None, EVENTS, without=["MINE"]) as made:
        made.tell("ended", CampaignState(Path("f"), "forest", "done", f"all with {HIDDEN}", NOW))
    (told,) = kept(tmp_path / "told")
    assert {"X_BEARER_TOKEN", "X_BEARER_TOKEN_FILE", "PGPASSWORD", "MINE", "MINE_FILE", "ANY_NAME"}.isdisjoint(
        told["env"]
    )
    assert told["env"]["MINE_TOO"] == "a value"
    assert HIDDEN not in json.dumps(told)
    assert told["env"]["SOCIALCRAWL_WHY"] == f"all with {KEPT}"
    assert told["env"]["SOCIALCRAWL_UNTIL"] == ""


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ([sys.executable, "-c", "import sys; sys.exit('no such chat')"], "the command ended with 1: no such chat"),
        (["/no/such/program"], "FileNotFoundError"),
        ([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], "the command ended with -9"),
        ([sys.executable, "-c", f"import sys; sys.exit('{HIDDEN}')"], f"the command ended with 1: {KEPT}"),
    ],
)
def test_a_command_that_fails_is_logged_and_the_next_notice_goes_on(tmp_path, log, command, said):
    with notices(command, None, EVENTS) as made:
        made.tell("ended", FOREST)
        made.tell("stalled", FOREST)
    lines = log.lines()
    assert [(line["level"], line["campaign"], line["told"]) for line in lines] == [
        ("warning", "forest", "ended"),
        ("warning", "forest", "stalled"),
    ]
    assert {line["trouble"].startswith(said) for line in lines} == {True}
    assert HIDDEN not in log.getvalue()


def test_a_command_that_hangs_is_killed_with_what_it_has_started_and_holds_nobody_up(tmp_path, log):
    mark = tmp_path / "children"
    code = f"""
import os, subprocess, time
child = subprocess.Popen(["sleep", "60"])
open({str(mark)!r}, "w").write(f"{{os.getpid()}} {{child.pid}}")
time.sleep(600)
"""
    made = Notices([sys.executable, "-c", code], None, EVENTS, patience=1.5)
    made.tell("stalled", FOREST)
    assert log.lines() == [], "nobody waited for the command"
    made.close(300)
    assert [line["trouble"] for line in log.lines()] == ["the command took longer than 1.5 s and was killed"]
    assert all(_gone(int(pid)) for pid in mark.read_text().split())


def _gone(pid):
    """Whether a process has ended, though nobody may have buried it yet."""
    limit = time.monotonic() + 300
    while time.monotonic() < limit:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_closing_waits_no_longer_than_its_patience_and_says_what_is_lost(tmp_path, log):
    made = Notices([sys.executable, "-c", "import time; time.sleep(600)"], None, EVENTS, patience=500.0)
    for _ in range(3):
        made.tell("ended", FOREST)
    begun = time.monotonic()
    made.close(0.3)
    assert time.monotonic() - begun < 300
    assert [line["lost"] for line in log.lines() if "lost" in line] == [3]
    limit = time.monotonic() + 300
    while any(thread.name == "notices-command" for thread in threading.enumerate()) and time.monotonic() < limit:
        time.sleep(0.02)
    assert not any(thread.name == "notices-command" for thread in threading.enumerate())


def test_a_webhook_gets_the_facts_as_json(log):
    with Hook(204) as hook, notices((), hook.url, EVENTS) as made:
        made.tell("paused", FOREST)
        made.close(10)
        assert (hook.told, hook.paths) == ([TOLD], ["/services/T0123/abcdefghijklmnop"])
    assert log.lines() == []


def test_a_webhook_that_fails_once_is_tried_again(log):
    with Hook(500, 200) as hook, notices((), hook.url, EVENTS, pause=0.01) as made:
        made.tell("paused", FOREST)
        made.close(10)
        assert hook.told == [TOLD, TOLD]
    assert log.lines() == []


@pytest.mark.parametrize("status", [302, 404, 500])
def test_a_webhook_that_fails_twice_is_logged_without_its_address(log, status):
    with Hook(status) as hook, notices((), hook.url, EVENTS, pause=0.01) as made:
        made.tell("paused", FOREST)
        made.close(10)
        assert len(hook.told) == 2
    assert [line["trouble"] for line in log.lines()] == [f"the webhook answered {status}"]
    assert "abcdefghijklmnop" not in log.getvalue()


def test_a_webhook_that_is_not_there_is_logged_without_its_address(log):
    with Hook(200) as gone:
        url = gone.url
    with notices((), url, EVENTS, pause=0.01) as made:
        made.tell("paused", FOREST)
    (line,) = log.lines()
    assert line["trouble"].startswith("the webhook could not be reached: the connection failed")
    assert "abcdefghijklmnop" not in log.getvalue()


def test_what_libraries_log_of_a_webhook_has_no_part_of_its_address(caplog):
    with Hook(200) as hook, caplog.at_level("DEBUG"), notices((), f"{hook.url}?key=qrstuvwxyz0123", EVENTS) as made:
        made.tell("paused", FOREST)
        made.close(10)
        assert len(hook.told) == 1
    assert "send_request_headers.complete" in caplog.text
    assert "abcdefghijklmnop" not in caplog.text
    assert "qrstuvwxyz0123" not in caplog.text


def test_a_webhook_that_hangs_holds_nobody_up_nor_the_command_beside_it(tmp_path, log):
    with Hook(200, hold=threading.Event()) as hook:
        made = Notices(keeping(tmp_path / "told"), hook.url, EVENTS)
        made.tell("paused", FOREST)
        assert log.lines() == [], "nobody waited for the webhook"
        limit = time.monotonic() + 300
        while not kept(tmp_path / "told") and time.monotonic() < limit:
            time.sleep(0.02)
        assert len(kept(tmp_path / "told")) == 1
        made.close(0.3)
    assert [(line["notices"], line["lost"]) for line in log.lines() if "lost" in line] == [("webhook", 1)]


@pytest.mark.parametrize(
    "address", ["", "hooks.example.org/x", "ftp://hooks.example.org/secretsecret", "https://", "https://a b/c", "x://["]
)
def test_what_is_no_address_is_refused_and_not_shown(address):
    with pytest.raises(SettingsError, match="not an address that begins with https://") as error:
        Notices((), address, EVENTS)
    assert "hooks" not in str(error.value)


def test_an_unknown_event_is_told_with_those_there_are():
    with pytest.raises(SettingsError, match=r"Unknown notice 'finished'. Choose one of: paused, ended, stalled"):
        Notices((), None, ["paused", "finished"])


def test_odd_names_reach_a_command_too(tmp_path, log):
    odd = CampaignState(Path("f"), "a\0b\ud800\n\"c'", "stalled", "x" * 200_000, NOW)
    with notices(keeping(tmp_path / "told"), None, EVENTS) as made:
        made.tell("stalled", odd)
    (told,) = kept(tmp_path / "told")
    assert told["env"]["SOCIALCRAWL_CAMPAIGN"] == "ab?\n\"c'"
    assert len(told["env"]["SOCIALCRAWL_WHY"]) == 4000
    assert log.lines() == []


def test_an_instant_that_is_nonsense_does_not_stop_a_notice():
    assert describe_event("stalled", CampaignState(Path("f"), "f", "stalled", "", NOW, until=1e300))["until"] is None


@pytest.mark.parametrize("state", ["paused", "stopped", "done", "stalled", "broken", "down"])
def test_a_sentence_names_the_state_as_status_does_whatever_the_event_is_called(state):
    told = describe_event("paused", replace(FOREST, state=state, why="its budget is spent"))
    assert (told["event"], told["text"]) == ("paused", f"forest is {state}: its budget is spent")


def test_who_has_nothing_to_tell_has_no_threads():
    before = threading.active_count()
    with notices((), None, EVENTS) as made, notices(["true"], "http://127.0.0.1:1/", ["ended"]) as other:
        made.tell("paused", FOREST)
        other.tell("paused", FOREST)
        assert threading.active_count() == before


def test_the_events_are_those_that_a_campaign_file_may_name():
    assert tuple(EVENTS) == NOTICES
