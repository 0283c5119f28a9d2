"""The parameters of a query, read as the lexicons have them, and what Bluesky refuses, with its names and sentences."""

import re
from datetime import UTC, datetime

import orjson

from socialcrawl.mock.bluesky.identifiers import parse_record_key
from socialcrawl.mock.names import DELETED, SUSPENDED
from socialcrawl.mock.service import MockRequest, MockResponse
from socialcrawl.mock.world_changes import WorldChanges

_FORBIDDEN = b"<html><head><title>403 Forbidden</title></head><body><h1>403 Forbidden</h1></body></html>\n"


class RefusalError(Exception):
    """A request that is answered with an error.

    Args:
        error: its name in the lexicon.
        message: the sentence about it.
        status: the status.
    """

    def __init__(self, error: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.error, self.status = error, status

    def make_response(self) -> MockResponse:
        """Return the answer."""
        return MockResponse(self.status, orjson.dumps({"error": self.error, "message": str(self)}))


def make_refusal(message: str) -> RefusalError:
    """Return the refusal of a parameter, or of an account that is not there."""
    return RefusalError("InvalidRequest", message)


def refuse_gone(fate: int, sentence: str) -> RefusalError | None:
    """Return the refusal that meets whoever asks for an account with this fate; None where it is to be seen."""
    if fate == SUSPENDED:
        return RefusalError("AccountTakedown", "Account has been suspended")
    return make_refusal(sentence) if fate == DELETED else None


AUTH_MISSING = RefusalError("AuthMissing", "Authentication Required", 401)
NOT_SERVED = RefusalError("MethodNotImplemented", "Method Not Implemented", 501)
CURSOR_CLOSED = RefusalError("Forbidden", "Request forbidden by administrative rules.", 403)
TOO_MANY = RefusalError("RateLimitExceeded", "Rate Limit Exceeded", 429)
SEARCH_CLOSED = MockResponse(403, _FORBIDDEN, content_type="text/html")


LARGEST = 100

_DID = re.compile(r"did:[a-z]+:[A-Za-z0-9._:%-]*[A-Za-z0-9._-]")
_HANDLE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")


def require(asked: MockRequest, name: str) -> str:
    """Return the value of a parameter that must be there.

    Raises:
        RefusalError: it is not, or is empty.
    """
    value = asked.one(name)
    if not value:
        raise make_refusal(f'Error: Params must have the property "{name}"')
    return value


def check_identifier(value: str, name: str) -> str:
    """Return the same value, which is a DID or a handle.

    Raises:
        RefusalError: it is neither.
    """
    if not (_DID if value.startswith("did:") else _HANDLE).fullmatch(value):
        raise make_refusal(f"Error: {name} must be a valid did or a handle")
    return value


def read_limit(asked: MockRequest, default: int) -> int:
    """Return the size of a page, 1 to 100.

    Raises:
        RefusalError: another number, or none.
    """
    value = asked.one("limit")
    if value is None:
        return default
    if not re.fullmatch(r"-?[0-9]{1,9}", value):
        raise make_refusal("Error: limit must be an integer")
    number = int(value)
    if number < 1:
        raise make_refusal("Error: limit can not be less than 1")
    if number > LARGEST:
        raise make_refusal(f"Error: limit can not be greater than {LARGEST}")
    return number


def read_moment(asked: MockRequest, name: str) -> float | None:
    """Return a moment as Unix seconds, from ISO 8601 or a date alone (its beginning, UTC); None where there is none.

    Raises:
        RefusalError: no moment.
    """
    value = asked.one(name)
    return None if value is None else parse_second(value, name)


def parse_second(value: str, name: str) -> float:
    """Return the Unix second that a text names, see `read_moment`."""
    try:
        found = datetime.fromisoformat(value)
    except ValueError as error:
        raise make_refusal(f"Error: {name} must be a valid datetime") from error
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def cut_page(asked: MockRequest, changes: WorldChanges, place: str, *, size: int, n: int) -> tuple[slice, str | None]:
    """Return the part of a list of n that a page shows, and the cursor behind it, None at the end.

    Such a cursor is the number of entries before the page. `place` names the list: cursors of two lists look alike.

    Raises:
        RefusalError: a cursor that is no number, or too old.
    """
    cursor = asked.one("cursor")
    start = 0
    if cursor:
        if not re.fullmatch(r"[0-9]{1,9}", cursor) or changes.has_expired(f"{place} {cursor}"):
            raise make_refusal("Malformed cursor")
        start = max(int(cursor) - asked.overlap, 0)
    stop = start + size
    if stop >= n:
        return slice(start, n), None
    changes.issue(f"{place} {stop}")
    return slice(start, stop), str(stop)


def parse_cursor(cursor: str) -> int:
    """Return the post id in the cursor of a feed, `<milliseconds>::<record key>`.

    Raises:
        RefusalError: another cursor.
    """
    time, _, key = cursor.partition("::")
    number = parse_record_key(key)
    if number is None or not time.isdecimal() or number >= 2**63:
        raise make_refusal("Malformed cursor")
    return number
