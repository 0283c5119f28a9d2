"""Notices reach services by apprise as plain text; nothing else is read or asked, and no address is shown."""

import importlib.util
import json
import logging
import os
import socketserver
import threading
import time
from contextlib import contextmanager
from email import message_from_bytes, policy
from types import SimpleNamespace

import pytest
from http_server import QuietHandler, serving
from test_daemon_notices import FOREST, NOW

from socialcrawl.campaign.settings import check_settings
from socialcrawl.cli.commands.check import check
from socialcrawl.cli.commands.daemon import _make_notices
from socialcrawl.daemon.campaign_state import CampaignState
from socialcrawl.daemon.notice_addresses import NoticeAddress, make_plain_text
from socialcrawl.daemon.notices import EVENTS, Notices
from socialcrawl.errors import SettingsError
from socialcrawl.render.console import make_console
from socialcrawl.system.secret import read_secret_addresses

TOPIC = "forest-topic-4711-secret"
SENTENCE = "forest is paused: a person paused it (until 2027-01-15T08:05:00Z)"


@contextmanager
def service(*statuses, hold=None, location=None):
    """A server that keeps what it is sent, and answers with these statuses, the last one for ever."""
    sent, left = [], list(statuses) or [200]

    class Answer(QuietHandler):
        def answer(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            sent.append(SimpleNamespace(path=self.path, headers=self.headers, body=body))
            if hold:
                hold.wait(300)
            status = left.pop(0) if len(left) > 1 else left[0]
            self.send(status, {"Location": location} if location else {}, b"{}")

    with serving(Answer) as server:
        server.sent, server.place = sent, server.url.removeprefix("http://")
        try:
            yield server
        finally:
            if hold:
                hold.set()


@contextmanager
def notices(*addresses, patience=300.0, pause=0.01):
    made = Notices((), None, EVENTS, addresses=addresses, patience=patience, pause=pause)
    try:
        yield made
    finally:
        made.close(300)


def why(text):
    return CampaignState(FOREST.file, "forest", "stalled", text, NOW)


def test_a_service_gets_the_sentence_as_plain_text(log):
    with service() as server:
        with notices(f"json://{server.place}/") as made:
            made.tell("paused", FOREST)
            made.tell("ended", FOREST)
        first, second = (json.loads(one.body) for one in server.sent)
    assert (first["title"], first["message"]) == ("socialcrawl: forest", SENTENCE)
    assert (first["type"], second["type"]) == ("warning", "success")
    assert first["attachments"] == []
    assert log.lines() == []


def test_ntfy_gets_a_notice_for_its_topic(log):
    with service() as server:
        with notices(f"ntfy://{server.place}/{TOPIC}") as made:
            made.tell("paused", FOREST)
        (sent,) = (json.loads(one.body) for one in server.sent)
    assert (sent["topic"], sent["title"], sent["message"]) == (TOPIC, "socialcrawl: forest", SENTENCE)
    assert {"attach", "icon", "click", "actions"}.isdisjoint(sent)
    assert log.lines() == []


class Mailbox(socketserver.StreamRequestHandler):
    """As much of SMTP as one mail needs."""

    def handle(self):
        self.wfile.write(b"220 mail.example\r\n")
        for line in self.rfile:
            verb = line.split()[0].upper()
            if verb == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                self.server.mails.append(b"".join(iter(self.rfile.readline, b".\r\n")))
            self.wfile.write(b"221 bye\r\n" if verb == b"QUIT" else b"250 fine\r\n")
            if verb == b"QUIT":
                return


def test_a_mail_has_one_part_of_plain_text(log):
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mailbox) as server:
        server.mails = []
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        place = f"127.0.0.1:{server.server_address[1]}"
        with notices(f"mailto://{place}/?from=crawl@example.org&to=ann@example.org&format=text") as made:
            made.tell("paused", FOREST)
        server.shutdown()
        thread.join()
    (mail,) = (message_from_bytes(one, policy=policy.default) for one in server.mails)
    assert (mail["To"], mail["Subject"]) == ("ann@example.org", "socialcrawl: forest")
    assert mail.get_content_type() == "text/plain"
    assert mail.get_content().strip() == SENTENCE
    assert log.lines() == []


def test_what_a_server_said_is_no_markup_steers_nothing_and_calls_nobody(log):
    said = "<b>x</b> [here](http://evil.example) \x1b[2J\r\nBcc: eve@example.org \u202e @everyone :smile: \\n ${HOME}"
    with service() as server:
        with notices(f"json://{server.place}/", f"json://{server.place}/?format=markdown&emojis=yes") as made:
            made.tell("stalled", why(said))
        texts = {json.loads(one.body)["message"] for one in server.sent}
        with notices(f"json://{server.place}/?format=html") as made:
            made.tell("stalled", why(said))
        html = json.loads(server.sent[-1].body)["message"]
    plain_one = "forest is stalled: " + make_plain_text(said)
    assert plain_one in texts
    assert "\\[here\\]\\(http" in (texts - {plain_one}).pop()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert not any(sign in plain_one for sign in "\x1b\r\n\u202e")
    assert "@everyone" not in plain_one
    assert ":smile: \\n ${HOME}" in plain_one


def test_a_notice_that_fails_once_is_tried_again(log):
    with service(500, 200) as server:
        with notices(f"json://{server.place}/") as made:
            made.tell("paused", FOREST)
        assert len(server.sent) == 2
    assert log.lines() == []


@pytest.mark.parametrize("status", [302, 403, 500])
def test_a_notice_that_fails_twice_is_logged_once_without_the_address(log, status):
    with service() as other, service(status, location=other.url) as server:
        address = f"json://ann:hunter2secret@{server.place}/{TOPIC}/?redirect=yes&+X-Key=qrstuvwxyz0123"
        with notices(address) as made:
            made.tell("paused", FOREST)
        assert (len(server.sent), other.sent) == (2, [])
    (line,) = log.lines()
    assert (line["notices"], line["campaign"], line["told"]) == ("address 1", "forest", "paused")
    assert line["trouble"].startswith("the service did not take it: ")
    assert str(status) in line["trouble"]
    assert not [part for part in (TOPIC, "hunter2secret", "qrstuvwxyz0123") if part in log.getvalue()]


def test_a_service_that_is_not_there_is_logged_without_its_address(log):
    with service() as gone:
        address = f"ntfy://{gone.place}/{TOPIC}"
    with notices(address) as made:
        made.tell("paused", FOREST)
    (line,) = log.lines()
    assert "onnection error" in line["trouble"]
    assert TOPIC not in log.getvalue()


class Keep(logging.Handler):
    """What reaches the root logger."""

    def __init__(self):
        super().__init__()
        self.kept = []

    def emit(self, record):
        self.kept.append(record)


def test_apprise_logs_nothing_and_other_libraries_no_part_of_an_address(caplog):
    keep = Keep()
    logging.getLogger().addHandler(keep)
    with service() as server, caplog.at_level("DEBUG"):
        with notices(f"json://ann:hunter2secret@{server.place}/{TOPIC}") as made:
            made.tell("paused", FOREST)
        assert TOPIC in server.sent[0].path
    logging.getLogger().removeHandler(keep)
    assert "urllib3.connectionpool" in {record.name for record in keep.kept}
    assert "apprise" not in {record.name for record in keep.kept}
    assert TOPIC not in caplog.text
    assert "hunter2secret" not in caplog.text


def test_a_service_that_hangs_holds_up_neither_the_daemon_nor_the_other_addresses(log):
    hold = threading.Event()
    with service(hold=hold) as hung, service() as well:
        made = Notices((), None, EVENTS, addresses=(f"json://{hung.place}/?rto=600", f"json://{well.place}/"))
        made.tell("paused", FOREST)
        assert log.lines() == [], "nobody waited for the service"
        limit = time.monotonic() + 300
        while not (well.sent and hung.sent) and time.monotonic() < limit:
            time.sleep(0.02)
        assert (len(well.sent), len(hung.sent)) == (1, 1)
        made.close(0.3)
    assert [(line["notices"], line["lost"]) for line in log.lines() if "lost" in line] == [("address 1", 1)]


def test_a_service_that_takes_too_long_is_left_and_said_once(log):
    with service(hold=threading.Event()) as hung, notices(f"json://{hung.place}/?rto=600", patience=0.5) as made:
        made.tell("paused", FOREST)
        made.close(300)
    assert [line["trouble"] for line in log.lines()] == ["the service took longer than 0.5 s"]


@pytest.mark.parametrize(
    "address",
    [
        f"https://hooks.example.org/{TOPIC}",
        f"file:///home/{TOPIC}",
        TOPIC,
        f"nothing://{TOPIC}",
        f"tgram://123456789:abcdefg_hijklmnop/12315544/?template=/home/{TOPIC}",
    ],
)
def test_what_is_no_address_or_names_a_file_is_refused_and_not_shown(address, capfd):
    with pytest.raises(SettingsError, match="unknown to apprise, or lacks a part, or names a file") as error:
        NoticeAddress(address)
    assert TOPIC not in str(error.value)
    assert capfd.readouterr() == ("", "")


def test_a_file_that_an_address_names_is_neither_read_nor_sent(tmp_path, log):
    key = tmp_path / "key.json"
    key.write_text('{"type": "service_account", "private_key": "x"}')
    os.mkfifo(waits := tmp_path / "waits")  # whoever opens it to read waits for ever
    for address in (
        f"fcm://project/device/?keyfile={waits}",
        f"slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/?template={waits}",
    ):
        with pytest.raises(SettingsError, match="names a file"):
            NoticeAddress(address)


def test_nothing_is_written_anywhere(tmp_path, log, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    with service() as server, notices(f"json://{server.place}/", f"matrix://user:token@{server.place}/#room") as made:
        made.tell("paused", FOREST)
        made.close(300)
        assert len(server.sent) >= 2
    assert list(tmp_path.iterdir()) == []


FILE = """
name = "forest"
database = "forest.db"
[topic]
keywords = ["sky"]
[seeds]
usernames = ["ann"]
[source]
base_url = "http://127.0.0.1:1"
[notify]
apprise_env = "FOREST_NOTICES"
"""


@pytest.fixture
def settings(tmp_path):
    """A campaign that tells people by apprise."""
    import tomllib

    (tmp_path / "forest.toml").write_text(FILE, "utf-8")
    return check_settings(tomllib.loads(FILE), tmp_path / "forest.toml")


def test_a_campaign_file_names_the_variable_that_holds_the_addresses(settings, monkeypatch, log):
    with service() as server:
        monkeypatch.setenv("FOREST_NOTICES", f"json://{server.place}/one\n  json://{server.place}/two")
        made = _make_notices(settings, set())
        made.tell("paused", FOREST)
        made.close(300)
        assert sorted(one.path for one in server.sent) == ["/one", "/two"]
    assert log.lines() == []


def test_a_daemon_says_what_is_wrong_with_the_addresses(settings, monkeypatch, log):
    assert _make_notices(settings, set()) is None
    monkeypatch.setenv("FOREST_NOTICES", f"ntfy://example.org/one nothing://{TOPIC}")
    assert _make_notices(settings, set()) is None
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert _make_notices(settings, set()) is None
    assert [line["event"] for line in log.lines()] == ["no notice can be sent"] * 3
    unset, unknown, missing = (line["error"] for line in log.lines())
    assert "put it into the environment variable FOREST_NOTICES" in unset
    assert "unknown to apprise" in unknown
    assert missing == "[notify] apprise_env needs apprise: pip install 'socialcrawl[notify]'."
    assert TOPIC not in log.getvalue()


def test_check_says_that_the_extra_is_missing(settings, tmp_path, monkeypatch, capsys):
    console = make_console(unfolded=True)
    assert check([tmp_path / "forest.toml"], console) == 0
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert check([tmp_path / "forest.toml"], console) == 2
    assert "pip install 'socialcrawl[notify]'" in capsys.readouterr().out


@pytest.mark.parametrize("text", [f"ntfy://{TOPIC}\0x", f"ntfy://{TOPIC}-\u00e9", "x" * 10_001, f"a {'b' * 10_000}"])
def test_a_file_without_plain_words_holds_no_addresses(text, tmp_path, monkeypatch):
    (tmp_path / "kept").write_text(text, "utf-8")
    monkeypatch.setenv("FOREST_NOTICES_FILE", str(tmp_path / "kept"))
    with pytest.raises(SettingsError, match="does not hold addresses") as error:
        read_secret_addresses("FOREST_NOTICES")
    assert TOPIC not in str(error.value)
