"""Pagination tokens: opaque to the client, and enough for the server to go on without remembering anything.

A token holds a post id and a direction, so it stays valid whatever is asked in between. A checksum over the place it
was made for refuses tokens that are garbage or belong to another timeline or query.
"""

import struct
from base64 import b32hexdecode, b32hexencode
from binascii import Error
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

_STATE = struct.Struct(">Bq")
_CHECK = 6  # bytes; the token then has 24 letters, above the documented 16


@dataclass(frozen=True)
class Cursor:
    """A place in a list of posts: before (older than) or after (newer than) a post id."""

    older: bool
    post: int

    def token(self, place: str) -> str:
        """Return the token of this cursor for a place, such as an endpoint with its user or query."""
        state = _STATE.pack(self.older, self.post)
        return b32hexencode(state + _check(state, place)).decode().lower()


def read_token(token: str, place: str) -> Cursor:
    """Return the cursor in a token.

    Raises:
        ValueError: no token of this place.
    """
    try:
        raw = b32hexdecode(token.upper())
    except Error as error:
        raise ValueError(token) from error
    state = raw[: _STATE.size]
    if len(raw) != _STATE.size + _CHECK or raw[_STATE.size :] != _check(state, place):
        raise ValueError(token)
    older, post = _STATE.unpack(state)
    return Cursor(bool(older), post)


def _check(state: bytes, place: str) -> bytes:
    return blake2b(state + place.encode(), digest_size=_CHECK).digest()


@dataclass(frozen=True)
class PageCut:
    """One page of a list: its part from `start` to `stop`, and whether there is more on either side."""

    start: int
    stop: int
    newer: bool
    older: bool


def cut_page(ids: NDArray[np.int64], size: int, cursor: Cursor | None, overlap: int = 0) -> PageCut:
    """Return the page of at most `size` posts at a cursor, or the newest where there is none.

    Args:
        ids: int64[n], descending.
        size: the page size, at least 1.
        cursor: where to go on.
        overlap: how many posts before that place the page begins; less than `size` in any case.
    """
    if cursor is None:
        start, stop = 0, size
    elif cursor.older:
        start = int(np.searchsorted(-ids, -cursor.post, side="right"))
        start = max(0, start - min(overlap, size - 1))
        stop = start + size
    else:
        stop = int(np.searchsorted(-ids, -cursor.post, side="left"))
        start = max(0, stop - size)
    stop = min(stop, len(ids))
    return PageCut(start, stop, newer=start > 0, older=stop < len(ids))
