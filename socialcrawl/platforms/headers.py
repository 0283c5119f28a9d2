"""What headers and error messages of servers say, whichever platform sent them. Pure."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

LAST = 253_402_300_800.0  # the year 10000, Unix seconds: no calendar goes further
LONGEST = 300  # characters of what a server said


def parse_date(headers: Mapping[str, str]) -> float | None:
    """Return the server's clock in Unix seconds; some write the zone as UTC, some as GMT.

    `headers` compares without case.
    """
    return parse_http_date(headers.get("Date", ""))


def parse_retry_after(headers: Mapping[str, str], at: float) -> float | None:
    """Return the seconds of Retry-After, which is a number or a date; None where it is missing, or neither.

    Args:
        headers: compared without case.
        at: the server's clock, or ours without it, Unix seconds.
    """
    text = headers.get("Retry-After", "")
    if re.fullmatch(r"[0-9]{1,9}", text.strip()):
        return float(text)
    until = parse_http_date(text)
    return None if until is None else max(0.0, until - at)


def parse_pause(status: int, headers: Mapping[str, str], at: float) -> float | None:
    """Return the seconds for which an answer of status 429 or 503 asks to be left alone; None: it does not."""
    return parse_retry_after(headers, at) if status in (429, 503) else None


def parse_http_date(text: str) -> float | None:
    """Return a date as HTTP writes it, in Unix seconds; None where it is none."""
    try:
        moment = parsedate_to_datetime(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return (moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def clean_message(words: Any) -> str:
    """Return what a server told, on one line: nothing that moves a terminal's cursor, and no novel."""
    shown = "".join(letter if letter.isprintable() else " " for letter in str(words)[: 2 * LONGEST])
    return " ".join(shown.split())[:LONGEST]
