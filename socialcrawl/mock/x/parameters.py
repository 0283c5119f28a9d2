"""The parameters of a request, checked against the official bounds; what X refuses raises InvalidRequestError.

A pagination token is opaque to the client, and enough for the server to go on without remembering anything. It holds a
post id and a direction, so it stays valid whatever is asked in between. A checksum over the place it was made for
refuses tokens that are garbage or belong to another timeline or query.
"""

import re
import struct
from base64 import b32hexdecode, b32hexencode
from binascii import Error
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from socialcrawl.mock.world_changes import WorldChanges
from socialcrawl.mock.x.problems import InvalidRequestError

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


_ID = re.compile(r"[0-9]{1,19}")
_SHOWN = frozenset({"expansions", "tweet.fields", "post.fields", "user.fields"})
_MEDIA = frozenset({"media.fields", "poll.fields", "place.fields"})
_SPAN = frozenset({"since_id", "until_id", "start_time", "end_time"})

USER_PARAMETERS = _SHOWN
POST_PARAMETERS = _SHOWN | _MEDIA
TIMELINE_PARAMETERS = _SHOWN | _MEDIA | _SPAN | {"max_results", "pagination_token"}
SEARCH_PARAMETERS = TIMELINE_PARAMETERS | {"query", "next_token", "sort_order"}
STREAM_PARAMETERS = _SHOWN | _MEDIA
COUNTS_PARAMETERS = _SPAN | {"query", "next_token", "pagination_token", "granularity", "search_count.fields"}
USAGE_PARAMETERS = frozenset({"days", "usage.fields"})


@dataclass(frozen=True)
class Parameters:
    """The query string of a request, name -> text; every reader returns a checked value or raises."""

    given: Mapping[str, str]

    def allow(self, names: frozenset[str]) -> None:
        """Check that no other names are given."""
        for name, value in self.given.items():
            if name not in names:
                allowed = ",".join(sorted(names))
                raise InvalidRequestError(name, value, f"The query parameter [{name}] is not one of [{allowed}]")

    def allow_one(self, first: str, second: str) -> None:
        """Check that at most one of two parameters is given."""
        if first in self.given and second in self.given:
            message = f"At most one of `{first}`, `{second}` may be provided."
            raise InvalidRequestError(second, self.given[second], message)

    def refuse(self, name: str, why: str) -> InvalidRequestError:
        """Return the refusal of the value given for a parameter; `why` ends the sentence."""
        value = self.given.get(name, "")
        return InvalidRequestError(name, value, f"The `{name}` query parameter value [{value}] {why}")

    def text(self, name: str, longest: int) -> str:
        """Return a text that must be given, of at most `longest` characters."""
        value = self.given.get(name, "")
        if not value.strip():
            raise InvalidRequestError(name, value, f"The `{name}` query parameter can not be empty")
        if len(value) > longest:
            raise InvalidRequestError(name, value, f"The `{name}` query parameter is longer than {longest} characters")
        return value

    def number(self, name: str, low: int, high: int, default: int) -> int:
        """Return a whole number from low to high."""
        if name not in self.given:
            return default
        value = self.given[name]
        if not re.fullmatch(r"[0-9]{1,9}", value) or not low <= int(value) <= high:
            raise self.refuse(name, f"is not between {low} and {high}")
        return int(value)

    def post_id(self, name: str) -> int | None:
        """Return a post id."""
        if name not in self.given:
            return None
        if not _ID.fullmatch(self.given[name]):
            raise self.refuse(name, "does not match ^[0-9]{1,19}$")
        return int(self.given[name])

    def time(self, name: str) -> float | None:
        """Return a time in RFC 3339, as Unix seconds."""
        if name not in self.given:
            return None
        value = self.given[name]
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            moment = None
        # A date alone or a time without a zone is ISO 8601, but not RFC 3339.
        if moment is None or moment.tzinfo is None:
            raise self.refuse(name, "is not a valid RFC3339 date-time, such as 2026-11-20T00:00:00Z")
        return moment.astimezone(UTC).timestamp()

    def span(self) -> tuple[float | None, float | None]:
        """Return start_time (inclusive) and end_time (exclusive), Unix seconds."""
        start, end = self.time("start_time"), self.time("end_time")
        if start is not None and end is not None and start >= end:
            raise self.refuse("start_time", "is not before `end_time`")
        return start, end

    def one(self, name: str, allowed: tuple[str, ...]) -> str | None:
        """Return one of the words allowed; None where it is not given."""
        value = self.given.get(name)
        if value is not None and value not in allowed:
            raise self.refuse(name, f"is not one of [{','.join(allowed)}]")
        return value

    def choices(self, name: str, allowed: tuple[str, ...]) -> frozenset[str]:
        """Return a list of words, each one of those allowed."""
        if name not in self.given:
            return frozenset()
        words = frozenset(self.given[name].split(","))
        if words - set(allowed):
            raise self.refuse(name, f"is not one of [{','.join(allowed)}]")
        return words

    def values(self, name: str, pattern: str) -> list[str]:
        """Return a list of 1 to 100 different values that match a pattern, in the order given."""
        values = list(dict.fromkeys(self.text(name, 100_000).split(",")))
        if len(values) > 100:
            raise self.refuse(name, f"has {len(values)} values; the number must be between 1 and 100")
        for value in values:
            if not re.fullmatch(pattern, value):
                raise InvalidRequestError(
                    name, value, f"The `{name}` query parameter value [{value}] does not match ^{pattern}$"
                )
        return values

    def cursor(self, changes: WorldChanges, place: str, *names: str) -> Cursor | None:
        """Return the cursor in the first of these token parameters that is given, for this list.

        An expired one is no more.
        """
        for name in names:
            if name in self.given:
                if changes.has_expired(self.given[name]):
                    raise self.refuse(name, "is not valid")
                try:
                    return read_token(self.given[name], place)
                except ValueError:
                    raise self.refuse(name, "is not valid") from None
        return None
