"""Numbers and spans of time as people write them."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from difflib import get_close_matches
from math import ceil

from socialcrawl.errors import SettingsError

YEAR = 366 * 86_400.0
PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)")
REMEDY = "write 3s, 15m, 1h, 7d or a number of seconds"
QUESTION = re.compile(r"\?; (\w)")
SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*(kb|mb|gb|tb|b?)")
SIZES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def parse_seconds(text: str, remedy: str = REMEDY, years: int = 1) -> float:
    """Return the span written as 3s, 500ms, 15m, 1h30m, 7d or 900 (seconds); `remedy` says what else to write.

    Raises:
        SettingsError: it is not a span of time, or is zero, or is longer than `years`.
    """
    parts = PART.findall(text.lower())
    left = PART.sub("", text.lower()).strip()
    if left or not parts or any(unit not in UNITS for _, unit in parts):
        raise SettingsError(f"{text!r} is not a span of time: {remedy}.")
    total = sum(float(number) * UNITS[unit] for number, unit in parts)
    if total <= 0:
        raise SettingsError(f"{text!r} is not a time at all: {remedy}.")
    if total > years * YEAR:
        raise SettingsError(f"{text!r} is longer than {'a year' if years == 1 else f'{years} years'}: {remedy}.")
    return total


def format_span(length: float) -> str:
    """Return a span of seconds as people say it: 4 s, 3 min, 2 h 05 min, 3 d 4 h."""
    if length < 90:
        return f"{length:.0f} s"
    minutes = round(length / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def tidy(text: str) -> str:
    """Return a reason of several clauses, in which what follows a question begins a sentence of its own."""
    return QUESTION.sub(lambda found: f"? {found[1].upper()}", text)


def parse_size(text: str) -> int:
    """Return the bytes written as 500 MB or 1.5 GB (powers of 1000); 0 needs no unit.

    Raises:
        SettingsError: it is no size.
    """
    written = SIZE.fullmatch(text.strip().lower())
    if written is None or (not written[2] and float(written[1])):
        raise SettingsError(f"{text!r} is not a size: write 500 MB or 2 GB.")
    return int(float(written[1]) * SIZES[written[2]])


def pluralize(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun: 1 post, 12,000 posts; `plural` is needed where it does not end in -s."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def explain_unknown(what: str, given: object, known: Iterable[object]) -> str:
    """Return the message about a value that is none of those `known`, with the nearest of them if one is near."""
    names = [str(name) for name in known]
    return f"Unknown {what} {given!r}.{suggest_nearest(given, names)} Choose one of: {', '.join(names)}."


def suggest_nearest(given: object, known: Iterable[str]) -> str:
    """Return a question, after a blank, whether the nearest of some names was meant; "" where none is near."""
    names = {name.lower(): name for name in known}
    nearest = get_close_matches(str(given).lower(), names, 1)
    return f" Did you mean {names[nearest[0]]!r}?" if nearest else ""


def round_up(number: float) -> int:
    """Return an estimated count with two digits that are not 0, rounded up: 1,452 becomes 1,500."""
    unit = int(10 ** max(0, len(str(ceil(number))) - 2))
    return ceil(number / unit) * unit


def parse_instant(text: str) -> float:
    """Return the instant written as ISO 8601 (UTC where no zone is named), in Unix seconds.

    Raises:
        SettingsError: it is not ISO 8601.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise SettingsError(f"{text!r} is not an instant: write 2026-11-20 or 2026-11-20T12:00:00Z.") from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def format_instant(at: float) -> str:
    """Return the instant of Unix seconds as ISO 8601, UTC, in whole seconds."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
