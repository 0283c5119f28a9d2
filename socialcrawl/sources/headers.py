"""What headers and error messages of servers say, whichever platform sent them. Pure."""

from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

LAST = 253_402_300_800.0  # the year 10000, Unix seconds: no calendar goes further
LONGEST = 300  # characters of what a server said


def date(headers: Mapping[str, str]) -> float | None:
    """The server's clock in Unix seconds; some write the zone as UTC, some as GMT. `headers` compares without case."""
    try:
        moment = parsedate_to_datetime(headers["Date"])
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (KeyError, ValueError, OverflowError):
        return None


def said(words: Any) -> str:
    """What a server told, on one line: nothing that moves a terminal's cursor, and no novel."""
    shown = "".join(letter if letter.isprintable() else " " for letter in str(words)[: 2 * LONGEST])
    return " ".join(shown.split())[:LONGEST]
