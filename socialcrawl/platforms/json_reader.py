"""JSON of platforms as values that a store may hold. Pure.

It is decoded without surprises; rows are checked for their types, and values that many kinds of servers send are of
the type that is expected, or none.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TypeVar

import orjson

from socialcrawl.engine.model import LARGEST, AccountRow, PostRow
from socialcrawl.system.bounds import MAX_POSTS, is_crowded

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


def parse_unix_time(value: Any) -> float | None:
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
    """Return texts as a JSON list; None where there are none."""
    return orjson.dumps(list(values)).decode() if values else None


NUL = b"\\u0000"
NOT_JSON = "something that is not JSON"  # what a server answered, in the words of `classify`

Types = frozenset[type]
TEXT: Types = frozenset({str})
TEXT_OR_NONE: Types = frozenset({str, type(None)})
COUNT: Types = frozenset({int, type(None)})
FLAG: Types = frozenset({bool, type(None)})
POST_TYPES = (TEXT, TEXT, TEXT_OR_NONE, TEXT, *[TEXT_OR_NONE] * 7, *[COUNT] * 6, TEXT_OR_NONE)
ACCOUNT_TYPES = (TEXT, TEXT, *[TEXT_OR_NONE] * 3, *[COUNT] * 4, FLAG, FLAG, TEXT_OR_NONE)

Row = TypeVar("Row", PostRow, AccountRow)


def decode_json(content: bytes) -> Any:
    """Return the JSON of an answer; None if it is none, or has more values than fit (`bounds.MAX_VALUES`).

    Half a character, which some texts hold, becomes a question mark; the character 0, which PostgreSQL does not store,
    becomes U+FFFD.
    """
    if is_crowded(content):
        return None
    try:
        body = _load(content)
        return _drop_nul(body) if NUL in content else body
    except (ValueError, RecursionError):
        return None


def name_empty(why: str, content: bytes) -> str:
    """Return a sentence about an answer that is not JSON; of an empty body it says that it is empty."""
    return why if content.strip() else why.replace(NOT_JSON, "with an empty body")


def check_rows(rows: list[Row], types: Sequence[Types]) -> list[Row]:
    """Return the rows themselves.

    Args:
        rows: all PostRow or all AccountRow.
        types: the types that each column may have: POST_TYPES, ACCOUNT_TYPES.

    Raises:
        TypeError: a value is of a type that a store may not hold there, or a number beyond all numbers.
    """
    if len(rows) > MAX_POSTS:
        raise TypeError(f"there are {len(rows):,} of them, where {MAX_POSTS:,} are the most")
    for place, (column, expected) in enumerate(zip(zip(*rows, strict=True), types, strict=False)):
        found = set(map(type, column))
        if not found <= expected or (
            int in found and max((abs(value) for value in column if value), default=0) > LARGEST
        ):
            raise TypeError(f"{rows[0]._fields[place]} is no {'text' if str in expected else 'number or truth value'}")
    return rows


def _load(content: bytes) -> Any:
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:  # half characters, which Python's own reader takes
        text = json.dumps(json.loads(content), ensure_ascii=False, allow_nan=False)
        return orjson.loads(text.encode("utf-8", "replace"))


def _drop_nul(body: Any) -> Any:
    if isinstance(body, str):
        return body.replace("\0", "\ufffd")
    if isinstance(body, list):
        return [_drop_nul(part) for part in body]
    if isinstance(body, dict):
        return {_drop_nul(key): _drop_nul(value) for key, value in body.items()}
    return body


def has_object(answer: Any, wanted: Callable[[Mapping[str, Any]], bool]) -> bool:
    """Return whether some object anywhere in an answer is one that is `wanted`."""
    left = [answer]
    while left:
        one = left.pop()
        if isinstance(one, Mapping):
            if wanted(one):
                return True
            left += one.values()
        elif isinstance(one, list):
            left += one
    return False
