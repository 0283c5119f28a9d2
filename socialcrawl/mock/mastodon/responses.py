"""The answers of Mastodon: JSON with its own headers, its refusals in its own words, and pages of lists.

The members of a list have growing numbers, and the Link header leads from one page to the next.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

import numpy as np
import orjson
from numpy.typing import NDArray

from socialcrawl.mock.service import MockRequest, MockResponse

_HEADERS = {"vary": "Authorization, Origin", "cache-control": "private, no-store"}


def make_response(body: bytes, posts: int = 0, headers: Mapping[str, str] | None = None) -> MockResponse:
    """Return an answer with status 200."""
    return MockResponse(200, body, {**_HEADERS, **(headers or {})}, posts=posts)


def join_array(parts: Iterable[bytes]) -> bytes:
    """Return a JSON array of ready members."""
    return b"[" + b",".join(parts) + b"]"


def make_refusal(status: int, error: str) -> MockResponse:
    """Return a refusal."""
    return MockResponse(status, orjson.dumps({"error": error}), _HEADERS)


NO_RECORD = make_refusal(404, "Record not found")  # accounts
NOT_FOUND = make_refusal(404, "Not Found")  # statuses, as recorded
GONE = make_refusal(410, "Gone")
BAD_TOKEN = make_refusal(401, "The access token is invalid")
TOO_MANY = make_refusal(429, "Too many requests")
NO_QUERY = make_refusal(400, "param is missing or the value is empty or invalid: q")
NOBODY_HERE = MockResponse(
    404,
    b"<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head><body><h1>404 Not Found</h1></body></html>\n",
    content_type="text/html; charset=utf-8",
)


_FALSE = (None, "", "0", "f", "F", "false", "FALSE", "off", "OFF")
CURSORS = ("max_id", "since_id", "min_id")


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page: its members, newest first, and whether it is as full as was asked."""

    members: NDArray[np.int64]
    full: bool


def read_size(asked: MockRequest, usual: int, most: int) -> int:
    """Return the page size asked for: `usual` where none is given, `most` at most."""
    given = asked.one("limit")
    return usual if given is None else min(abs(parse_whole_number(given)), most)


def cut_list(
    members: NDArray[np.int64], n: int, *, below: int | None, above: int | None, upward: bool, overlap: int = 0
) -> ListPage:
    """Return one page of a list.

    Args:
        members: all members, ascending.
        n: the page size.
        below: only members less than this; None is no bound.
        above: only members more than this; None is no bound.
        upward: the page that begins right above `above` (min_id), instead of the newest (since_id).
        overlap: the members of the page before that a page going down (max_id) shows once more.
    """
    start = 0 if above is None else int(np.searchsorted(members, above, side="right"))
    stop = len(members) if below is None else int(np.searchsorted(members, below))
    if below is not None and not upward:
        stop = min(len(members), stop + min(overlap, max(0, n - 1)))
    if upward:
        stop = min(stop, start + n)
    page = members[max(start, stop - n) : max(start, stop)][::-1]
    return ListPage(page, full=0 < n == len(page))


def parse_whole_number(text: str) -> int:
    """Return the whole number at the beginning of a text, 0 where there is none, as Ruby reads it."""
    text = text.strip()
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    length = next((i for i, letter in enumerate(digits) if letter not in "0123456789"), len(digits))
    return sign * int(digits[: min(length, 19)] or 0)


def is_true(asked: MockRequest, name: str) -> bool:
    """Return whether a parameter is there and no way to say no."""
    return asked.one(name) not in _FALSE


def make_link_header(
    asked: MockRequest, kept: tuple[str, ...], *, older: int | None, newer: int | None
) -> dict[str, str]:
    """Return the Link header of a page, with the address under which it was asked.

    Args:
        asked: the request.
        kept: the parameters that the next page is asked with too.
        older: the max_id of the next page; None: there is none.
        newer: the min_id of the page before; None: there is none.
    """
    found = []
    for cursor, number, rel in (("max_id", older, "next"), ("min_id", newer, "prev")):
        if number is not None:
            given = [(name, value) for name, value in asked.query if name in kept]
            query = urlencode(sorted([*given, (cursor, str(number))]))
            found.append(f'<{make_address(asked)}?{query}>; rel="{rel}"')
    return {"link": ", ".join(found)} if found else {}


def make_address(asked: MockRequest) -> str:
    """Return the address that was asked, without its parameters: plain http only where the Host header names a port."""
    host = asked.headers.get("host") or asked.host
    path = "/".join(
        asked.path.get(part[1:], part) if part.startswith(":") else part for part in asked.endpoint.split("/")
    )
    return f"{'http' if ':' in host else 'https'}://{host}{path}"
