"""A daemon's log: one line an event, in two styles, without secrets, tracebacks for bugs only."""

import io
import json
import logging
import re
import threading
from datetime import UTC, datetime, timedelta

import pytest
import structlog
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.daemon.logs import configure
from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.system.secret import KEPT, conceal

HIDDEN = 'AAAAlog"kept%3Dfrom/every-line'
TOLD = f"token {HIDDEN}"
conceal(HIDDEN)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def told():
    """Both styles by name: a function that configures one, and gives its stream."""
    undoing = []

    def begin(style, stream=None):
        stream = stream or io.StringIO()
        undoing.append(configure(style, stream))
        return stream

    yield begin
    for undo in reversed(undoing):
        undo()


def lines(stream):
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_object_a_line_with_time_level_and_campaign(told):
    stream = told("json")
    before = datetime.now(UTC)
    structlog.get_logger().bind(campaign="forest").info("a turn begins", rate=15, tokens=["main"])
    (line,) = lines(stream)
    assert list(line) == ["timestamp", "level", "event", "campaign", "rate", "tokens"]
    assert line["timestamp"].endswith("Z")
    assert timedelta(0) <= datetime.fromisoformat(line.pop("timestamp")) - before < timedelta(seconds=30)
    assert line == {"level": "info", "event": "a turn begins", "campaign": "forest", "rate": 15, "tokens": ["main"]}


def test_people_get_plain_lines_and_colours_only_on_a_terminal(told):
    plain, terminal = told("people"), Terminal()
    structlog.get_logger().warning("it waits", campaign="forest", until="12:00")
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ \[warning +\] it waits +campaign=forest until=12:00\n", plain.getvalue()
    )
    told("people", terminal)
    structlog.get_logger().warning("it waits")
    assert "\x1b[" in terminal.getvalue()


def test_details_for_developers_are_not_shown(told):
    stream = told("json")
    structlog.get_logger().debug("a detail")
    logging.getLogger("apscheduler.executors").info("Running job")
    assert stream.getvalue() == ""


def test_warnings_of_libraries_take_the_same_way(told):
    stream = told("json")
    logging.getLogger("apscheduler.scheduler").warning("Run time of job %s was missed by %d s", "turn", 3)
    logging.getLogger("uvicorn.error").error("wrong number of arguments %s %s", *["one"])
    first, second = lines(stream)
    assert (first["level"], first["logger"]) == ("warning", "apscheduler.scheduler")
    assert first["event"] == "Run time of job turn was missed by 3 s"
    assert "wrong number of arguments" in second["event"]


def test_whoever_asked_for_more_of_the_libraries_gets_more(told, monkeypatch):
    monkeypatch.setattr(logging.getLogger(), "level", logging.DEBUG)
    logging.getLogger("some.library")._cache.clear()
    logging.getLogger()._cache.clear()
    stream = told("json")
    logging.getLogger("some.library").debug("a detail")
    assert [line["event"] for line in lines(stream)] == ["a detail"]


@pytest.mark.parametrize("style", ["json", "people"])
def test_what_a_person_can_mend_is_a_sentence_and_a_bug_is_a_traceback(told, style):
    stream, log = told(style), structlog.get_logger()
    sentence = "The disk is full: make room."

    def failing(error):
        try:
            raise error  # noqa: TRY301
        except Exception:
            log.exception("a turn failed")
            logging.getLogger("apscheduler").exception("Job raised an exception")

    failing(StoreError(sentence))
    assert stream.getvalue().count(sentence) == 2
    assert "Traceback" not in stream.getvalue()
    failing(ZeroDivisionError("a bug"))
    assert stream.getvalue().count("Traceback (most recent call last)") == 2
    assert stream.getvalue().count("ZeroDivisionError: a bug") == 2
    if style == "json":
        assert [sorted({"error", "exception"} & set(line)) for line in lines(stream)] == [["error"]] * 2 + [
            ["exception"]
        ] * 2


def test_a_failure_may_be_handed_over_as_a_value(told):
    stream, log = told("json"), structlog.get_logger()
    log.error("one", exc_info=StoreError("No room."))
    log.error("two", error=StoreError("No room."))
    log.error("three", exc_info=True)  # noqa: LOG014 (where nothing failed)
    assert [line.get("error") for line in lines(stream)] == ["No room.", "No room.", None]


class Clumsy:
    def __str__(self):
        return f"Clumsy({HIDDEN})"

    __repr__ = __str__


class Broken:
    def __str__(self):
        raise ValueError(HIDDEN)

    __repr__ = __str__


PLACES = {
    "the event": lambda log: log.info(TOLD),
    "a value": lambda log: log.info("x", token=HIDDEN),
    "a key": lambda log: log.info("x", **{HIDDEN: 1}),
    "a value within": lambda log: log.info("x", request={"headers": [("authorization", f"Bearer {HIDDEN}")]}),
    "a key within": lambda log: log.info("x", request={"headers": {HIDDEN: 1}}),
    "bytes": lambda log: log.info("x", body=HIDDEN.encode()),
    "an object": lambda log: log.info("x", thing=Clumsy()),
    "an object that cannot be shown": lambda log: log.info("x", thing=Broken()),
    "something deep": lambda log: log.info("x", a=[[[[[[[[{HIDDEN: HIDDEN}]]]]]]]]),
    "a set": lambda log: log.info("x", tokens={HIDDEN}),
    "a bound name": lambda log: log.bind(campaign=HIDDEN).info("x"),
    "an exception": lambda log: log.error("x", exc_info=RuntimeError(HIDDEN)),
    "what a person can mend": lambda log: log.error("x", exc_info=StoreError(f"{HIDDEN} is wrong.")),
    "an exception's cause": lambda log: log.error("x", exc_info=_caused()),
    "at the place where a long text is cut": lambda log: log.info("x", body="." * 19_990 + HIDDEN),
    "a library's record": lambda log: logging.getLogger("httpx").warning("POST %s", HIDDEN),
    "a library's exception": lambda log: logging.getLogger("x").error("x", exc_info=RuntimeError(HIDDEN)),
    "a library's object": lambda log: logging.getLogger("x").error("%s", Broken()),
}


def _caused():
    try:
        try:
            raise ValueError(HIDDEN)  # noqa: TRY301
        except ValueError as error:
            raise RuntimeError("outer") from error
    except RuntimeError as error:
        return error


@pytest.mark.parametrize("style", ["json", "people"])
@pytest.mark.parametrize("place", PLACES)
def test_a_secret_is_shown_nowhere(told, style, place):
    stream = told(style)
    PLACES[place](structlog.get_logger())
    shown = stream.getvalue()
    assert shown.endswith("\n")
    for part in (HIDDEN, json.dumps(HIDDEN)[1:-1], repr(HIDDEN)[1:-1], HIDDEN[:12]):
        assert part not in shown
    if "cannot" not in place and "is cut" not in place and place != "a library's object":
        assert KEPT in shown
    if style == "json":
        assert len(lines(stream)) == 1


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers(), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=many(60))
@given(event=st.text(), more=st.dictionaries(st.text(), ANYTHING, max_size=4))
def test_whatever_is_logged_is_one_valid_line(event, more):
    for style in ("json", "people"):
        stream = io.StringIO()
        undo = configure(style, stream)
        try:
            given_keys = {key: value for key, value in more.items() if key not in ("event", "exc_info")}
            structlog.get_logger().bind(**given_keys).info(event)
        finally:
            undo()
        if "exception" not in more and "stack" not in more:
            assert stream.getvalue().count("\n") == 1
        if style == "json":
            line = json.loads(stream.getvalue(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
            assert (line["level"], set(line) >= {"timestamp", "event"}) == ("info", True)


def test_no_text_of_a_server_can_forge_a_line_or_steer_a_terminal(told):
    stream = told("people")
    structlog.get_logger().info("asked\n2026-01-01 [error] forged", said="\x1b[2Jgone\r\x07\nnext \u202e\u200f")
    assert stream.getvalue().count("\n") == 1
    assert not set("\x1b\r\x07\u202e\u200f") & set(stream.getvalue())
    stream = told("json")
    structlog.get_logger().info("asked", said="\x1b[2J\x7f\x9b")
    assert not set("\x1b\x7f\x9b") & set(stream.getvalue())
    assert json.loads(stream.getvalue())["said"] == "\x1b[2J\x7f\x9b"


class Full(io.StringIO):
    def write(self, text):
        raise OSError(28, "No space left on device")


def test_a_stream_that_takes_no_more_stops_nothing(told):
    closed = io.StringIO()
    told("json", closed)
    closed.close()
    structlog.get_logger().info("x")
    told("people", Full())
    structlog.get_logger().info("x")
    logging.getLogger("x").error("x")


def test_lines_of_many_threads_stay_whole(told):
    class Slow(io.StringIO):
        def write(self, text):
            for letter in text:
                super().write(letter)

    stream = told("json", Slow())
    log = structlog.get_logger()

    def write(number):
        for turn in range(20):
            log.info("a" * 50, thread=number, turn=turn)
            logging.getLogger("x").warning("%d %d", number, turn)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(lines(stream)) == 4 * 20 * 2


def test_all_is_put_back_as_it_was():
    root, before = logging.getLogger(), structlog.get_config()
    handlers = list(root.handlers)
    first = io.StringIO()
    undo_first = configure("json", first)
    undo_second = configure("people", io.StringIO())
    undo_second()
    structlog.get_logger().info("x")
    assert [line["event"] for line in lines(first)] == ["x"]
    undo_first()
    assert root.handlers == handlers
    assert structlog.get_config().keys() == before.keys()
    assert not structlog.is_configured()


def test_another_style_is_refused_with_the_two_there_are():
    with pytest.raises(SettingsError, match=r"Unknown style of the log 'xml'\. Choose one of: json, people"):
        configure("xml", io.StringIO())
