r"""The only way to the screen: control characters of whatever people see become visible, as `\x1b`.

Posts, names of accounts, answers of servers and names of files hold whatever somebody wrote, such as the escape
sequences that clear a screen, rename its window or fill the clipboard.

| what is written | with | escaped |
|---|---|---|
| tables, reports, progress | `console.make_console().print(...)` | always |
| lines for people | `write_line`, `write_error` | always |
| data: CSV, JSON, lists | `open_data_stream`, `write_json` | on a terminal only: a pipe gets the exact data |
"""

import logging
import re
import sys
import threading
import traceback
from types import TracebackType
from typing import Protocol

DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Characters that turn the order of text around, also of text beside them in a table; invisible."""
ENDS = "\u2028\u2029"  # lines and paragraphs, as Unicode ends them
# All of C0 but \t and \n, DEL, C1, halves of characters, directions.
_quiet = False
CONTROLS = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff{ENDS}{DIRECTIONS}]")


def escape_controls(text: str) -> str:
    r"""Return `text` with control characters as `\x1b`, directions and halves of characters as `\u202e`, `\udc80`.

    Line feeds and tabs stay. Escaping twice changes nothing.
    """
    return CONTROLS.sub(_escape, text)


def escape_json(text: str) -> str:
    r"""Return the JSON `text` with such characters as `\u001b`: the same values, in the same lines."""
    return CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class Stream(Protocol):
    """Where text can be written to."""

    def write(self, text: str, /) -> object:
        """Write `text` as it is."""


class _Escaped:
    """Stdout, with control characters escaped."""

    def write(self, text: str, /) -> object:
        return sys.stdout.write(escape_controls(text))


def write_line(text: str = "") -> None:
    """Write a line for people to stdout, at once."""
    sys.stdout.write(f"{escape_controls(text)}\n")
    sys.stdout.flush()


def write_error(text: str) -> None:
    """Write a line for people to stderr: an error, a warning, or a note that is no part of the answer."""
    sys.stderr.write(f"{escape_controls(text)}\n")


def open_data_stream() -> Stream:
    """Return stdout for data: exact in a pipe or file, escaped on a terminal."""
    return _Escaped() if sys.stdout.isatty() else sys.stdout


def write_json(text: str, end: str = "\n") -> None:
    """Write JSON to stdout: exact in a pipe or file; on a terminal the same values, escaped as JSON has it."""
    sys.stdout.write((escape_json(text) if sys.stdout.isatty() else text) + end)


def flush() -> None:
    """Flush stdout and stderr."""
    for stream in (sys.stdout, sys.stderr):
        if stream:  # a shell may have closed it
            stream.flush()


def close_errors() -> None:
    """Close stderr: nothing more is written there."""
    sys.stderr.close()


def set_quiet(*, quiet: bool) -> None:
    """Hide the progress of commands from now on, or show it again."""
    global _quiet  # noqa: PLW0603 - each process runs one command
    _quiet = quiet


def is_quiet() -> bool:
    """Return whether commands hide their progress."""
    return _quiet


def guard() -> None:
    """Escape what Python writes by itself: tracebacks and log records. Call it once, before a command runs.

    Characters that the encoding of a terminal lacks are escaped too, and end no command.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.excepthook = _show_traceback
    threading.excepthook = _show_traceback_of_thread
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(Formatter())


class Formatter(logging.Formatter):
    """The form of log records for people, escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, or the lines, of one record."""
        return escape_controls(super().format(record))


def _show_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    write_error("".join(traceback.format_exception(kind, error, trace)).rstrip("\n"))


def _show_traceback_of_thread(args: threading.ExceptHookArgs) -> None:
    if args.exc_type is SystemExit:
        return
    name = args.thread.name if args.thread else "that is gone"
    lines = traceback.format_exception(args.exc_type, args.exc_value, args.exc_traceback)
    write_error(f"Exception in thread {name}:\n{''.join(lines)}".rstrip("\n"))
