"""Pages of a list whose members have growing numbers, and the Link header that leads from one to the next."""

from dataclasses import dataclass
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from socialcrawl.mock.service import MockRequest

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
