"""Spans of time as picks write them: intervals of ISO 8601. Pure."""

from math import floor

from socialcrawl.engine.model import format_time, parse_time


def write_span(begin: float, end: float) -> str:
    """Return a span of time (Unix seconds) as an interval of ISO 8601, UTC, in whole seconds."""
    return "/".join(f"{format_time(at)[:19]}Z" for at in (begin, end))


def parse_span(text: str) -> tuple[float, float]:
    """Return the begin and end of a span, Unix seconds; the inverse of `write_span`.

    Raises:
        ValueError: it is no interval.
    """
    begin, end = text.split("/")
    return parse_time(begin), parse_time(end)


def find_next_second(at: float) -> float:
    """Return the first whole second after an instant (Unix seconds)."""
    return floor(at) + 1.0
