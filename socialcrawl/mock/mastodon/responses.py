"""The answers of Mastodon: JSON with its own headers, and its refusals in its own words."""

from collections.abc import Iterable, Mapping

import orjson

from socialcrawl.mock.service import MockResponse

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
