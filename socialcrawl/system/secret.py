"""Secrets: taken from the environment or from files that it names, and kept out of every log and traceback.

Covered, once a text is concealed: the messages of all loggers, of tweepy, requests_oauthlib, urllib3, httpx and asyncio
too, whatever handler or formatter shows them; exceptions and stacks that are logged; tracebacks that nobody caught, in
any thread. Not covered is what never becomes a log record, such as the `debuglevel` of http.client, which prints (this
package does not set it), warnings (but `logging.captureWarnings(True)` makes them records), and local variables that a
debugger shows; nor attributes that a caller adds to a record (`extra`).

Called `secret` and not `secrets`, as `python socialcrawl` puts this folder before the standard library.
"""

import json
import logging
import os
import re
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote, quote_plus, unquote

from socialcrawl.errors import SettingsError
from socialcrawl.text.terminal import write_error

KEPT = "(kept secret)"
SHORTEST = 6  # characters: a shorter text is part of ordinary words, and nobody's token
LONGEST = 10_000  # bytes of a file that could hold a token


def read_secret(name: str) -> str:
    """Return the value of the environment variable `name`, or of the file named by `name` + "_FILE" (Docker, systemd).

    Raises:
        SettingsError: neither or both are set, the file cannot be read, or this is no token: empty, with blanks or
            with characters that no header may hold. The message names the variable and never shows a value, not even
            the path, as that may be a token at the wrong place.
    """
    text, where = _read_given(name, "token")
    if " " in text or not _is_plain(text):
        raise SettingsError(f"{where} does not hold a token (one word of ASCII letters and signs): copy it again.")
    return text


def read_secret_addresses(name: str) -> list[str]:
    """Return the addresses that the environment variable `name`, or its file, holds, separated by blanks or line ends.

    Raises:
        SettingsError: as `read_secret` does, but several words are fine. The message shows none of them.
    """
    text, where = _read_given(name, "address")
    words = text.split()
    if not _is_plain(" ".join(words)):
        raise SettingsError(f"{where} does not hold addresses (words of ASCII letters and signs): copy them again.")
    return words


def _read_given(name: str, what: str) -> tuple[str, str]:
    """Return what somebody put into a variable or into its file, and which of the two it was."""
    text, file = (os.environ.get(variable, "").strip() for variable in (name, f"{name}_FILE"))
    if text and file:
        raise SettingsError(f"Both {name} and {name}_FILE are set: unset one of the two.")
    if not text and not file:
        raise SettingsError(
            f"No {what}: put it into the environment variable {name}, or the path of a file that holds it into "
            f"{name}_FILE."
        )
    where = f"The file that {name}_FILE names" if file else f"The environment variable {name}"
    text = text or _read_first_bytes(file, where)
    if not text:
        raise SettingsError(f"{where} is empty: put the {what} into it.")
    return text, where


def _is_plain(text: str) -> bool:
    return len(text) <= LONGEST and text.isascii() and text.isprintable()


def _read_first_bytes(file: str, where: str) -> str:
    try:
        with Path(file).open("rb") as opened:
            return opened.read(LONGEST + 1).decode("utf-8-sig", "replace").strip()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "this is not a path"
        raise SettingsError(f"{where} cannot be read ({reason}): check the path and who may read it.") from None


class Veil:
    """What may not be shown: texts, and a copy of any other text without them."""

    def __init__(self) -> None:
        self._forms: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def __bool__(self) -> bool:
        return self._pattern is not None

    def add(self, text: str) -> None:
        """Hide `text` from now on, also where it is quoted for an address, or escaped in a literal or in JSON."""
        self._forms |= {form for form in _list_forms(text) if len(form) >= SHORTEST}
        longest_first = sorted(self._forms, key=lambda form: (-len(form), form))
        if longest_first:
            self._pattern = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)

    def has_secret(self, text: str) -> bool:
        """Return whether there is something in `text` that may not be shown."""
        return self._pattern is not None and self._pattern.search(text) is not None

    def redact(self, text: str) -> str:
        """Return the same text with "(kept secret)" in place of what may not be shown."""
        return text if self._pattern is None else self._pattern.sub(KEPT, text)


def _list_forms(text: str) -> set[str]:
    plain = {text, unquote(text), *(how(text, errors="replace") for how in (quote, quote_plus, _quote_all))}
    plain |= {_quote_all(form) for form in plain}  # OAuth 1.0a signs, and logs, what is quoted twice
    both = "\"'"  # a literal with both quotes in it has one of them escaped
    escaped = {repr(form)[1:-1] for form in plain} | {repr(both + form)[4:-1] for form in plain}
    in_json = {json.dumps(form)[1:-1] for form in plain}
    return plain | escaped | in_json | {form.replace("/", "\\/") for form in in_json}


def _quote_all(text: str, errors: str = "replace") -> str:
    return quote(text, "", errors=errors)


_veil = Veil()
_adding = threading.Lock()


def conceal(text: str) -> None:
    """Hide `text` in log records and tracebacks from now on; one of less than 6 characters is not hidden.

    Costs nothing where logging is off, and for other records a search in the finished message.
    """
    with _adding:
        first = not _veil
        _veil.add(text)
        if first and _veil:
            logging.setLogRecordFactory(_make_record_factory(logging.getLogRecordFactory()))
            sys.excepthook = _make_exception_hook(sys.excepthook)
            threading.excepthook = _make_thread_hook(threading.excepthook)


def redact(text: str) -> str:
    """Return the same text with "(kept secret)" in place of everything concealed: for what a server said."""
    return _veil.redact(text)


def _make_record_factory(former: Callable[..., logging.LogRecord]) -> Callable[..., logging.LogRecord]:
    """Return the factory of log records `former`, whose records show nothing that is concealed."""

    def factory(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = former(*args, **kwargs)
        if _veil:
            _clean(record)
        return record

    return factory


def _clean(record: logging.LogRecord) -> None:
    # The message is finished here, as formatters do it later and handlers may show its parts. Of one that cannot be
    # finished logging would print the parts, and the error with whatever that quotes.
    parts = _try_make(lambda: f"{record.msg!r} {record.args!r}")
    message = _try_make(record.getMessage)
    if message is None or parts is None or _veil.has_secret(message) or _veil.has_secret(parts):
        record.msg, record.args = _veil.redact(message or parts or "(cannot be shown)"), ()
    if record.exc_info:
        given = record.exc_info
        trace = _try_make(lambda: logging.Formatter().formatException(given))
        if trace is None or _veil.has_secret(
            trace
        ):  # formatters show the finished text, and no handler can finish it again
            record.exc_text, record.exc_info = _veil.redact(trace or "(cannot be shown)"), None
    if record.stack_info:
        record.stack_info = _veil.redact(record.stack_info)


def _try_make(make: Callable[[], str]) -> str | None:
    try:
        return make()
    except Exception:  # noqa: BLE001 (a log call may be wrong in any way, and must not end the program)
        return None


def _make_exception_hook(
    former: Callable[..., Any],
) -> Callable[[type[BaseException], BaseException, TracebackType | None], None]:
    """Return the hook for exceptions that nobody caught, whose traceback shows nothing that is concealed."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        text = "".join(traceback.format_exception(kind, error, trace))
        if _veil.has_secret(text):
            write_error(_veil.redact(text).rstrip("\n"))
        else:
            former(kind, error, trace)

    return hook


def _make_thread_hook(former: Callable[[Any], Any]) -> Callable[[Any], None]:
    """Return the same hook for threads, which may exit without a word."""

    def hook(args: Any) -> None:
        text = "".join(traceback.format_exception(args.exc_type, args.exc_value, args.exc_traceback))
        if args.exc_type is not SystemExit and _veil.has_secret(text):
            name = args.thread.name if args.thread else "that is gone"
            write_error(f"Exception in thread {name}:\n{_veil.redact(text)}".rstrip("\n"))
        else:
            former(args)

    return hook
