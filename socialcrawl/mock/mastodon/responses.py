"""The answers of Mastodon: JSON with its own headers, and its refusals in its own words."""

from collections.abc import Iterable, Mapping

import orjson

from socialcrawl.mock.service import Told

_HEADERS = {"vary": "Authorization, Origin", "cache-control": "private, no-store"}


def told(body: bytes, posts: int = 0, headers: Mapping[str, str] | None = None) -> Told:
    """Return an answer with status 200."""
    return Told(200, body, {**_HEADERS, **(headers or {})}, posts=posts)


def array(parts: Iterable[bytes]) -> bytes:
    """Return a JSON array of ready members."""
    return b"[" + b",".join(parts) + b"]"


def refused(status: int, error: str) -> Told:
    """Return a refusal."""
    return Told(status, orjson.dumps({"error": error}), _HEADERS)


NO_RECORD = refused(404, "Record not found")  # accounts
NOT_FOUND = refused(404, "Not Found")  # statuses, as recorded
GONE = refused(410, "Gone")
BAD_TOKEN = refused(401, "The access token is invalid")
TOO_MANY = refused(429, "Too many requests")
NO_QUERY = refused(400, "param is missing or the value is empty or invalid: q")
NOBODY_HERE = Told(
    404,
    b"<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head><body><h1>404 Not Found</h1></body></html>\n",
    content_type="text/html; charset=utf-8",
)
