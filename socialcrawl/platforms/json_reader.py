"""JSON of platforms as values that a store may hold: decoded without surprises, rows checked for their types. Pure."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import orjson

from socialcrawl.engine.model import LARGEST, AccountRow, PostRow
from socialcrawl.system.bounds import MAX_POSTS, is_crowded

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
