"""Secrets come from the environment or files it names, and are shown by no log and no traceback."""

import io
import json
import logging
import subprocess
import sys
import warnings
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.errors import SettingsError
from socialcrawl.system.secret import KEPT, Veil, conceal, read_secret, redact

NAME = "SOCIALCRAWL_TEST_SECRET"
HIDDEN = "AAAAAkept%3Dfrom/every+log"
conceal(HIDDEN)


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    monkeypatch.delenv(NAME, raising=False)
    monkeypatch.delenv(f"{NAME}_FILE", raising=False)


def test_a_secret_is_the_value_of_its_variable(monkeypatch):
    monkeypatch.setenv(NAME, "  AAA%3Dbbb\n")
    assert read_secret(NAME) == "AAA%3Dbbb"


@pytest.mark.parametrize("content", [b"AAA%3Dbbb", b"AAA%3Dbbb\n", b"\xef\xbb\xbfAAA%3Dbbb\r\n", b"\n AAA%3Dbbb \n\n"])
@pytest.mark.parametrize("beside", [None, "", "  "])
def test_or_of_the_file_that_another_variable_names(monkeypatch, tmp_path, content, beside):
    (tmp_path / "token").write_bytes(content)
    monkeypatch.setenv(f"{NAME}_FILE", str(tmp_path / "token"))
    if beside is not None:
        monkeypatch.setenv(NAME, beside)  # as docker compose does with what it does not know
    assert read_secret(NAME) == "AAA%3Dbbb"


WRONG = ["two words", "new\nline", "tab\there", "ümlaut", "bell\a", "\x7f", "a" * 10_001]


@pytest.mark.parametrize("text", WRONG)
@pytest.mark.parametrize("from_file", [False, True])
def test_what_is_no_token_is_refused_without_being_shown(monkeypatch, tmp_path, text, from_file):
    (tmp_path / "token").write_text(text, "utf-8")
    monkeypatch.setenv(f"{NAME}_FILE" if from_file else NAME, str(tmp_path / "token") if from_file else text)
    with pytest.raises(SettingsError, match="does not hold a token") as error:
        read_secret(NAME)
    assert NAME in str(error.value)
    assert "copy it again" in str(error.value)
    assert text not in str(error.value)


@pytest.mark.parametrize("text", [None, "", "  ", "\n"])
def test_a_secret_that_is_missing_is_told_with_both_ways_to_give_it(monkeypatch, text):
    if text is not None:
        monkeypatch.setenv(NAME, text)
    with pytest.raises(SettingsError, match=f"No token: .* {NAME}, .* {NAME}_FILE"):
        read_secret(NAME)


def test_an_empty_file_is_told(monkeypatch, tmp_path):
    (tmp_path / "token").write_text("\n\n")
    monkeypatch.setenv(f"{NAME}_FILE", str(tmp_path / "token"))
    with pytest.raises(SettingsError, match=f"{NAME}_FILE names is empty"):
        read_secret(NAME)


def test_both_ways_at_once_are_refused(monkeypatch, tmp_path):
    monkeypatch.setenv(NAME, "AAA")
    monkeypatch.setenv(f"{NAME}_FILE", str(tmp_path))
    with pytest.raises(SettingsError, match=f"Both {NAME} and {NAME}_FILE are set"):
        read_secret(NAME)


@pytest.mark.parametrize("path", ["{}/nowhere", "{}", "AAAA-the-token-itself", "AAAA-" * 2000, "/dev/null/x"])
def test_a_file_that_cannot_be_read_is_told_and_its_path_is_not_as_it_may_be_the_token(monkeypatch, tmp_path, path):
    path = path.format(tmp_path)
    monkeypatch.setenv(f"{NAME}_FILE", path)
    with pytest.raises(SettingsError, match=f"{NAME}_FILE names cannot be read") as error:
        read_secret(NAME)
    assert path not in str(error.value)
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__


def test_a_file_without_an_end_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setenv(f"{NAME}_FILE", "/dev/zero")
    with pytest.raises(SettingsError, match="does not hold a token"):
        read_secret(NAME)


class Whole(logging.Handler):
    """A handler that shows everything a record has, as those that write JSON do."""

    def __init__(self):
        super().__init__()
        self.told = []

    def emit(self, record):
        self.told.append(repr(record.__dict__))


@pytest.fixture
def log():
    """A logger, and what two handlers make of its records."""
    logger, text, whole = logging.getLogger("socialcrawl.test"), io.StringIO(), Whole()
    handlers = [logging.StreamHandler(text), whole]
    for handler in handlers:
        logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.said = lambda: text.getvalue() + "".join(whole.told)
    yield logger
    for handler in handlers:
        logger.removeHandler(handler)


class Clumsy:
    """An argument whose repr has a secret, and whose text has none."""

    def __repr__(self):
        return f"Clumsy(token={HIDDEN!r})"

    def __str__(self):
        return "clumsy"


class Broken:
    """An argument that cannot be shown at all."""

    def __repr__(self):
        raise ValueError(HIDDEN)


MESSAGES = {
    "in the message": ("token " + HIDDEN,),
    "in an argument": ("token %s", HIDDEN),
    "as a literal": ("token %r", HIDDEN),
    "as bytes": ("token %r", HIDDEN.encode()),
    "in headers": ("headers %s", {"Authorization": f"Bearer {HIDDEN}"}),
    "by name": ("headers %(Authorization)s", {"Authorization": f"Bearer {HIDDEN}"}),
    "in a part that is not shown": ("headers %(Other)s", {"Authorization": f"Bearer {HIDDEN}", "Other": "x"}),
    "in an address": ("GET /?token=%s", quote(HIDDEN, safe="")),
    "in a form": ("token=%s", quote_plus(HIDDEN)),
    "quoted twice, as OAuth signs it": ("base %s", quote(quote(HIDDEN, safe=""), safe="")),
    "in small hexadecimals": ("token %s", quote(HIDDEN, safe="").replace("%2F", "%2f").replace("%3D", "%3d")),
    "unquoted": ("token %s", HIDDEN.replace("%3D", "=")),
    "in JSON": ("%s", json.dumps({"token": HIDDEN})),
    "in JSON with slashes escaped": ("%s", json.dumps({"token": HIDDEN}).replace("/", "\\/")),
    "in an exception as the message": (ValueError(f"not {HIDDEN}"),),
    "twice": ("%s and %s", HIDDEN, HIDDEN),
    "in a repr only": ("%s", Clumsy()),
}


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
def test_no_record_shows_what_is_concealed(log, message):
    log.warning(*message)
    told = log.said()
    assert HIDDEN[5:] not in told
    assert "from" not in told
    assert told.count(KEPT) >= 2 or "clumsy" in told or "headers x" in told
    assert len(told) > 100


@pytest.mark.parametrize("wrong", [("%s %s", HIDDEN), ("%d", HIDDEN), ("%s", Broken()), (Broken(), HIDDEN)])
def test_a_log_call_that_is_wrong_is_not_told_with_the_secret(log, wrong, capsys):
    log.warning(*wrong)
    assert "from/every" not in log.said() + capsys.readouterr().err


def test_records_that_show_nothing_are_left_as_they_are(log):
    error = ValueError("plain")
    log.warning("%s and %s", "one", 2, exc_info=error)
    (told,) = log.handlers[1].told
    assert "('one', 2)" in told
    assert "'msg': '%s and %s'" in told
    assert "ValueError('plain')" in told
    assert log.said().startswith("one and 2\nValueError: plain\n")


def raised():
    """An exception with the secret in its text, in its cause and in a note."""
    try:
        {}[HIDDEN]
    except KeyError as cause:
        error = ValueError(f"header {HIDDEN.encode()!r} is wrong")
        error.add_note(f"seen: {HIDDEN}")
        error.__cause__ = cause
        return error


def test_a_logged_exception_shows_no_secret_in_text_cause_or_note_whatever_formats_it_later(log):
    try:
        raise raised()
    except ValueError:
        log.exception("it failed")
    log.error("again", exc_info=raised())
    log.error("nothing", exc_info=True)  # noqa: LOG014 (some code does)
    told = log.said()
    assert "from/every" not in told
    assert told.count("Traceback (most recent call last)") >= 4  # shown all the same, and with what was wrong
    assert f"KeyError: '{KEPT}'" in told
    assert "in raised" in told
    assert f"seen: {KEPT}" in told


def test_a_stack_that_is_logged_shows_no_secret(log):
    log.warning("here: %s", "AAAAAkept%3Dfrom/every+log", stack_info=True)  # the line itself is in the stack
    assert "Stack (most recent call last)" in log.said()
    assert "from/every" not in log.said()


def test_warnings_are_records_where_logging_captures_them():
    text = io.StringIO()
    handler, logger = logging.StreamHandler(text), logging.getLogger("py.warnings")
    logger.addHandler(handler)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        try:
            warnings.warn(f"deprecated: {HIDDEN}", stacklevel=1)
        finally:
            logging.captureWarnings(False)
            logger.removeHandler(handler)
    assert f"deprecated: {KEPT}" in text.getvalue()
    assert "from/every" not in text.getvalue()


def test_what_is_not_logged_costs_nothing():
    logger = logging.getLogger("socialcrawl.test.silent")
    logger.setLevel(logging.WARNING)
    made, former = [], logging.getLogRecordFactory()
    logging.setLogRecordFactory(lambda *args, **kwargs: made.append(args) or former(*args, **kwargs))
    try:
        logger.debug("%s", HIDDEN)
        assert made == []
    finally:
        logging.setLogRecordFactory(former)


def test_a_text_that_is_part_of_ordinary_words_is_not_hidden():
    conceal("token")
    conceal("")
    assert redact("the token and its tokens") == "the token and its tokens"


@settings(deadline=None)
@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=6, max_size=60), st.text(max_size=20))
def test_any_token_is_found_however_it_is_written(token, around):
    veil = Veil()
    assert not veil
    assert veil.redact(token) == token
    veil.add(token)
    both = f"\"'{token}"  # a literal with both quotes in it
    forms = [
        token,
        repr(token)[1:-1],
        repr(token.encode())[2:-1],
        repr([both]),
        repr(both.encode()),
        json.dumps(token)[1:-1],
        json.dumps({"a": both}),
        quote(token),
        quote(token, safe=""),
        quote_plus(token),
        quote(quote(token, safe=""), safe=""),
        token.swapcase(),
    ]
    for form in forms:
        assert veil.has_secret(f"x{form}x")
        shown = veil.redact(f"x{form}x")
        assert KEPT in shown
        assert form not in shown
    assert veil.has_secret(around) == (around != veil.redact(around))


def test_a_secret_within_another_is_hidden_and_so_is_the_longer_one():
    veil = Veil()
    veil.add("abcdef")
    veil.add("abcdefghijkl")
    assert veil.redact("abcdefghijkl abcdefghi") == f"{KEPT} {KEPT}ghi"


CHILD = """
import logging, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx, requests
from socialcrawl.platforms.x import wire

veiled, bearer, keys = sys.argv[1] == "veiled", sys.argv[2], tuple(sys.argv[3:7])
if not veiled:
    wire.conceal = lambda text: None

class Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        said = self.headers["Authorization"].encode()
        self.send_response(401)
        self.send_header("Content-Length", str(len(said)))
        self.send_header("X-Echo", said.decode())
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
logging.basicConfig(level=logging.DEBUG, format="LOG %(name)s|%(message)s")
for token in (bearer, keys):
    made = wire.make_client(token, url)
    try:
        made.request("GET", "/2/users", params={"token": bearer}, user_auth=token is keys)
    except wire.tweepy.HTTPException:
        pass
    made.session.headers["X-Wrong"] = f"{bearer}\\n"
    try:
        made.request("GET", "/2/users", user_auth=token is keys)
    except requests.exceptions.InvalidHeader:
        logging.getLogger("mine").exception("it failed")
httpx.get(url, params={"token": bearer}, headers={"Authorization": f"Bearer {bearer}"})
logging.getLogger("asyncio").debug("%r", keys)

def fails():
    raise ValueError(f"in a thread: {bearer}")

thread = threading.Thread(target=fails)
thread.start()
thread.join()
raise ValueError(f"uncaught: {keys[1]}")
"""
BEARER = "AAAAAAAA%2Fbearer%3Dthat/nobody+sees"
KEYS = ("consumerkey12345", "consumer/secret=12345", "12345-accesstoken", "access+token&secret")


def everything_said(how):
    """All that a process writes which logs at DEBUG what tweepy, oauthlib, httpx and httpcore do."""
    words = [sys.executable, "-c", CHILD, how, BEARER, *KEYS]
    child = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert child.returncode == 1
    assert "uncaught: " in child.stderr
    return child.stdout + child.stderr


def leaks(said):
    """Who shows a secret: loggers by name, and tracebacks."""
    wanted = [form for text in (BEARER, *KEYS) for form in (text, quote(text, safe=""))]
    found, speaker = set(), ""
    for line in said.splitlines():
        if line.startswith("LOG "):
            speaker = line[4:].split("|")[0]
        elif line.startswith(("Exception in thread", "Traceback")) and speaker != "mine":
            speaker = "a traceback"
        if any(form in line for form in wanted):
            found.add(speaker.split(".")[0])
    return found


def test_without_the_veil_every_library_shows_tokens_at_debug_and_with_it_none_does():
    speakers = {"tweepy", "requests_oauthlib", "oauthlib", "httpx", "httpcore", "asyncio", "mine"}
    bare, veiled = everything_said("bare"), everything_said("veiled")
    assert leaks(bare) >= speakers | {"a traceback"}
    assert leaks(veiled) == set()
    assert veiled.count(KEPT) >= 20
    for name in speakers:
        assert f"LOG {name}" in veiled
    assert f"in a thread: {KEPT}" in veiled
    assert f"uncaught: {KEPT}" in veiled
    assert "Exception in thread" in veiled
    assert "in fails" in veiled


def test_a_traceback_that_shows_nothing_is_shown_as_ever(capsys):
    try:
        int("plain")
    except ValueError as error:
        sys.excepthook(ValueError, error, error.__traceback__)
    assert "base 10: 'plain'" in capsys.readouterr().err
