"""Counts of the posts that a query finds, as X answers them. Pure."""

from typing import Any

from socialcrawl.engine.model import LARGEST, parse_time
from socialcrawl.engine.span_counts import SpanCount
from socialcrawl.platforms.x.vocabulary import VOCABULARIES, Vocabulary

COUNTS, ARCHIVE_COUNTS = "/2/tweets/counts/recent", "/2/tweets/counts/all"


def parse_buckets(body: Any, words: Vocabulary) -> list[SpanCount]:
    """Return the spans of an answer to `make_span_request` that have posts, oldest first.

    Raises:
        KeyError, TypeError: the answer does not have them.
    """
    names = [f"{name}_count" for name in (words.name, *VOCABULARIES)]
    try:
        found = [
            SpanCount(
                float(int(parse_time(one["start"]))), parse_number(next(one[name] for name in names if name in one))
            )
            for one in body.get("data") or ()
        ]
    except (ValueError, StopIteration) as error:
        raise TypeError(f"a count of posts is not one: {error}") from None
    return sorted(one for one in found if one.posts)


def parse_number(value: Any) -> int:
    """Return a number that may be written as text, as those of X are from 2.167.

    Raises:
        ValueError: it is none.
    """
    text = str(value) if type(value) in (int, str) else ""
    if text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST)) and int(text) <= LARGEST:
        return int(text)
    raise ValueError(text)
