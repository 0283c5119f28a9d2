"""The log of a daemon: one line an event, as JSON or for people, without secrets.

    configure("json", sys.stderr)
    log = structlog.get_logger().bind(campaign="forest")
    log.info("a turn begins", rate=15)

What the standard library's loggers say (APScheduler's, uvicorn's, those of this package) is shown in the same form,
from warnings upward. A failure that a person can fix is its sentence; anything else is a bug, with its traceback.
"""

import json
import logging
import math
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, MutableMapping
from io import TextIOBase
from types import TracebackType
from typing import Any, TextIO, cast

import structlog

from socialcrawl.errors import SettingsError, SocialcrawlError
from socialcrawl.system.secret import redact
from socialcrawl.text.terminal import DIRECTIONS, ENDS, escape_json
from socialcrawl.text.wording import explain_unknown

STYLES = ("json", "people")
FIRST = ("timestamp", "level", "event", "campaign")
DEEPEST = 6  # levels of a value that are shown; deeper ones may be a circle
LONGEST = 20_000  # characters of one text
STEERING = (*range(32), *range(127, 160), *map(ord, ENDS + DIRECTIONS))  # what steers a terminal
CONTROLS = {code: ascii(chr(code))[1:-1] for code in STEERING if code != ord("\n")}
Event = MutableMapping[str, Any]


def configure(style: str, stream: TextIO | TextIOBase) -> Callable[[], None]:
    """Return a switch: from now on all loggers write to `stream`; what is returned puts things back as they were.

    Args:
        style: "json", one object a line with timestamp (ISO 8601, UTC), level, event, campaign and whatever else was
            given; or "people", in colours where `stream` is a terminal.
        stream: where to; one that is closed or full loses lines, and stops nothing.

    Raises:
        SettingsError: there is no such style.
    """
    if style not in STYLES:
        raise SettingsError(explain_unknown("style of the log", style, STYLES))
    former = structlog.get_config() if structlog.is_configured() else None
    lines, stamp = _LineSink(stream), "iso" if style == "json" else "%Y-%m-%d %H:%M:%SZ"
    chain: list[Any] = [_explain_failure, structlog.processors.TimeStamper(stamp, utc=True), _clean, _format_json]
    if style == "people":
        chain[-1] = _make_renderer(colours=stream.isatty())
    lowest = logging.DEBUG if logging.getLogger().level == logging.DEBUG else logging.INFO  # as --debug sets it
    structlog.configure(
        processors=[structlog.processors.add_log_level, *chain],
        wrapper_class=structlog.make_filtering_bound_logger(lowest),
        logger_factory=lambda *args: lines,
        cache_logger_on_first_use=False,
    )
    give_back = _route_logs(_Handler(chain, lines))

    def undo() -> None:
        give_back()
        structlog.reset_defaults()
        if former is not None:
            structlog.configure(**former)

    return undo


def _route_logs(handler: logging.Handler) -> Callable[[], None]:
    """Return the root logger's only handler from now on. Where --debug asked for more than warnings, more is shown."""
    root = logging.getLogger()
    former, level = root.handlers, root.level
    handler.setLevel(min(logging.WARNING, level or logging.WARNING))
    root.handlers = [handler]

    def give_back() -> None:
        root.handlers = former

    return give_back


class _LineSink:
    """The sink of all lines: whole ones, one at a time, from any thread."""

    def __init__(self, stream: TextIO | TextIOBase) -> None:
        self._stream = stream
        self._writing = threading.Lock()

    def msg(self, line: str) -> None:
        with self._writing:
            try:
                self._stream.write(line + "\n")
                self._stream.flush()
            except (OSError, ValueError):  # closed, full, or nobody reads it: the crawl is worth more than its log
                return

    debug = info = warning = error = critical = exception = log = fatal = msg


class _Handler(logging.Handler):
    """The way of the standard library's records through the same chain."""

    def __init__(self, chain: list[Any], lines: _LineSink) -> None:
        super().__init__()
        self._chain = chain
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        event: Any = {"event": _format_message(record), "level": record.levelname.lower(), "logger": record.name}
        event |= {"exc_info": record.exc_info} if record.exc_info else {}
        if record.exc_text and not record.exc_info:  # `conceal` finishes those that hold secrets
            event["exception"] = record.exc_text
        if record.stack_info:
            event["stack"] = record.stack_info
        for step in self._chain:
            event = step(None, record.levelname.lower(), event)
        self._lines.msg(event)


def _format_message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 (a log call may be wrong in any way, and must not end the program)
        return _convert_text((record.msg, record.args))


def _explain_failure(_: Any, __: str, event: Event) -> Event:
    """Return the event with its failure in words: a sentence where a person can fix it, a traceback for a bug."""
    given = event.pop("exc_info", None)
    if not given:
        return event
    error = given if isinstance(given, BaseException) else given[1] if isinstance(given, tuple) else sys.exc_info()[1]
    if isinstance(error, SocialcrawlError):
        event.setdefault("error", _convert_text(error))
    elif error is not None:
        event["exception"] = _format_trace(error, error.__traceback__)
    return event


def _format_trace(error: BaseException, trace: TracebackType | None) -> str:
    try:
        return "".join(traceback.format_exception(type(error), error, trace)).rstrip()
    except Exception:  # noqa: BLE001 (its own text may be what fails)
        return f"{type(error).__name__}: it cannot be shown"


def _clean(_: Any, __: str, event: Event) -> Event:
    """Return the event as plain values without secrets, its first keys first."""
    plain = cast("dict[str, Any]", _convert_plain(dict(event), 0))
    plain.setdefault("event", "")
    return {key: plain[key] for key in (*FIRST, *plain) if key in plain}


def _convert_plain(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping) and depth < DEEPEST:
        return {redact(_convert_text(key)): _convert_plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset) and depth < DEEPEST:
        return [_convert_plain(inner, depth + 1) for inner in value]
    text = redact(_convert_text(value))
    unchanged = value is None or isinstance(value, bool | int | float)
    return value if unchanged and text == str(value) and _is_json(value) else text


def _is_json(value: float | None) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _convert_text(value: Any) -> str:
    """Return what is shown of a value: a text cut to a bearable length and without halves of characters."""
    try:
        text = value if isinstance(value, str) else str(value)
    except Exception:  # noqa: BLE001 (values of any kind are logged, also such whose text is a bug)
        return f"({type(value).__name__} that cannot be shown)"
    text = redact(text)  # before the cut, which may leave half a secret
    text = text if len(text) <= LONGEST else text[:LONGEST] + " ..."
    return text.encode("utf-8", "backslashreplace").decode()


def _format_json(_: Any, __: str, event: Event) -> str:
    return redact(escape_json(json.dumps(event)))


def _make_renderer(*, colours: bool) -> Any:
    render = structlog.dev.ConsoleRenderer(
        colors=colours, exception_formatter=structlog.dev.plain_traceback, pad_event_to=0, sort_keys=False
    )

    def rendered(logger: Any, name: str, event: Event) -> str:
        return redact(
            str(
                render(
                    logger, name, {_escape_value("", key): _escape_value(key, value) for key, value in event.items()}
                )
            )
        )

    return rendered


def _escape_value(key: str, value: Any) -> Any:
    """Return a text that cannot steer a terminal; only tracebacks keep their lines, so that nobody forges one."""
    if not isinstance(value, str):
        return value
    text = value.translate(CONTROLS)
    return text if key in ("exception", "stack") else text.replace("\n", "\\n")
