"""Values of JSON that many kinds of servers send: of the type that is expected, or none. Pure."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import orjson

from socialcrawl.engine.model import LARGEST

Json = Mapping[str, Any]
USUAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def expect_object(value: Any) -> Json:
    """Return the object that has to stand here.

    Raises:
        TypeError: something else does.
    """
    if not isinstance(value, dict):
        raise TypeError(f"{type(value).__name__} in the place of an object")
    return value


def expect_objects(value: Any) -> list[Json]:
    """Return the list of objects that has to stand here.

    Raises:
        TypeError: something else does.
    """
    if not isinstance(value, list):
        raise TypeError(f"{type(value).__name__} in the place of a list")
    return [expect_object(one) for one in value]


def parse_text(value: Any) -> str | None:
    """Return a text; None where it is none, or empty."""
    return value if isinstance(value, str) and value else None


def expect_text(value: Any) -> str:
    """Return a text that has to be there.

    Raises:
        TypeError: it is not.
    """
    if (found := parse_text(value)) is None:
        raise TypeError(f"{type(value).__name__} in the place of a text")
    return found


def parse_count(value: Any) -> int | None:
    """Return a number of things; None where it is none, as servers that hide theirs send -1."""
    return value if type(value) is int and 0 <= value <= LARGEST else None


def parse_moment(value: Any) -> datetime | None:
    """Return the instant that a text of ISO 8601 tells, in UTC, as it is where it does not say.

    None where it is none.
    """
    if isinstance(value, str):
        with suppress(ValueError, OverflowError):
            moment = datetime.fromisoformat(value)
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return None


def parse_instant(value: Any) -> float | None:
    """Return the same in Unix seconds."""
    moment = parse_moment(value)
    return None if moment is None else moment.timestamp()


def format_moment(value: Any) -> str | None:
    """Return the same as rows have it: ISO 8601, UTC, milliseconds."""
    if isinstance(value, str) and USUAL.fullmatch(value):
        return value
    moment = parse_moment(value)
    return None if moment is None else moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def dump_list(values: Sequence[str]) -> str | None:
    """Texts as a JSON list; None where there are none."""
    return orjson.dumps(list(values)).decode() if values else None
