"""X's own meters: how many posts a query would find, and how many were billed; and the doctor's one search. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from math import ceil
from typing import TYPE_CHECKING, Any

from socialcrawl.engine.model import Grant, Reply, Request
from socialcrawl.errors import SourceError
from socialcrawl.platforms.headers import clean_message
from socialcrawl.platforms.server_info import CountedSpan, Usage
from socialcrawl.platforms.x.counts import ARCHIVE_COUNTS, COUNTS, parse_number
from socialcrawl.platforms.x.parse import find_cursor
from socialcrawl.platforms.x.source import ARCHIVE, SEARCH
from socialcrawl.platforms.x.vocabulary import VOCABULARIES, Vocabulary
from socialcrawl.ratelimit.policy import Policy
from socialcrawl.text.wording import format_instant

if TYPE_CHECKING:
    from socialcrawl.platforms.x.wire import XWire

USAGE = "/2/usage/tweets"
USAGE_FIELDS = "cap_reset_day,daily_project_usage,project_cap,project_usage"
DAY, WEEK = 86_400, 7 * 86_400  # seconds
SPARE = 60.0  # seconds by which a start must be later than the earliest one, as clocks differ
PAGE_DAYS = 31  # of one answer of ARCHIVE_COUNTS, by the calendar (UTC)
PROBE = 10  # posts: X sends no fewer
WRONG = (AttributeError, KeyError, TypeError, ValueError)  # what JSON of another shape comes to


@dataclass(frozen=True, slots=True)
class XMeters:
    """X's meters for one campaign; see `server_info.Meters`.

    Attributes:
        words: the vocabulary that requests and answers are written in.
        policy: the prices.
    """

    words: Vocabulary
    policy: Policy
    counts: str = COUNTS
    usage: str = USAGE

    def make_counts_request(self, key: tuple[int, int], query: str) -> Request:
        """See `Meters.make_counts_request`."""
        return make_counts_request(key, query, self.words, self.policy)

    def parse_counts(self, body: Any) -> int:
        """See `Meters.parse_counts`."""
        return parse_counts(body, self.words)

    def get_counts_endpoint(self, span: CountedSpan) -> str:
        """See `Meters.get_counts_endpoint`."""
        return ARCHIVE_COUNTS if span.archive else COUNTS

    def count_pages(self, span: CountedSpan) -> int:
        """See `Meters.count_pages`: of the archive one for each 31 days of the calendar."""
        return count_pages(span)

    def make_span_request(
        self, key: tuple[int, int], query: str, span: CountedSpan, cursor: str | None = None
    ) -> Request:
        """See `Meters.make_span_request`."""
        return make_span_request(key, query, self.words, self.policy, span=span, cursor=cursor)

    def find_counts_cursor(self, body: Any) -> str | None:
        """See `Meters.find_counts_cursor`."""
        try:
            return find_cursor(body)
        except WRONG:
            raise _make_error("counts of posts", body) from None

    def make_usage_request(self, key: tuple[int, int], days: int) -> Request:
        """See `Meters.make_usage_request`."""
        return make_usage_request(key, days, self.policy)

    def parse_usage(self, body: Any) -> Usage:
        """See `Meters.parse_usage`."""
        return parse_usage(body)

    def ask(self, wire: "XWire", grant: Grant) -> tuple[Reply, Any]:
        """See `Meters.ask`."""
        return wire.ask(grant)


def make_counts_request(key: tuple[int, int], query: str, words: Vocabulary, policy: Policy) -> Request:
    """Return the request for how many posts of the last seven days a query finds: one answer, billed by the request."""
    params = {"query": query, "granularity": "day", "search_count.fields": f"{words.name}_count"}
    return Request(key, COUNTS, params, 0, policy.compute_fee(COUNTS))


def parse_counts(body: Any, words: Vocabulary) -> int:
    """Return the posts that a query finds, from the answer to `make_counts_request`, whichever vocabulary it is in.

    Raises:
        SourceError: it does not say.
    """
    try:
        meta = body["meta"]
        totals = [meta.get(f"total_{name}_count") for name in (words.name, *VOCABULARIES)]
        return next(parse_number(total) for total in totals if total is not None)
    except (*WRONG, StopIteration):
        raise _make_error("a count of posts", body) from None


def count_pages(span: CountedSpan) -> int:
    """Return how many answers hold the counts of a span at most: days of the calendar are never cut in two."""
    if not span.archive:
        return 1
    days = int((span.end - 1) // DAY) - int(span.begin // DAY) + 1
    return ceil(days / PAGE_DAYS)


def make_span_request(
    key: tuple[int, int],
    query: str,
    words: Vocabulary,
    policy: Policy,
    *,
    span: CountedSpan,
    cursor: str | None = None,
) -> Request:
    """Return the request for how many posts of a span of time a query finds: a page, billed by the request.

    Counts of recent posts reach seven days back; a span that begins before is counted from there on.
    """
    endpoint = ARCHIVE_COUNTS if span.archive else COUNTS
    plain = make_counts_request(key, query, words, policy)
    params = {**plain.params, "end_time": format_instant(span.end)}
    if span.archive or span.begin > span.now - WEEK + SPARE:
        params["start_time"] = format_instant(span.begin)
    params |= {"next_token": cursor} if cursor else {}
    return Request(key, endpoint, params, 0, policy.compute_fee(endpoint))


def make_usage_request(key: tuple[int, int], days: int, policy: Policy) -> Request:
    """Return the request for what was billed in the last `days` (1 to 90); only tokens of apps may ask."""
    params = {"days": str(days), "usage.fields": USAGE_FIELDS}
    return Request(key, USAGE, params, 0, policy.compute_fee(USAGE))


def parse_usage(body: Any) -> Usage:
    """Return what was billed, from the answer to `make_usage_request`; numbers may be texts, as they are from 2.167.

    Raises:
        SourceError: it does not say, or not in numbers.
    """
    try:
        data = body["data"]
        cap, reset_day, used = (
            _parse_optional(data.get(name)) for name in ("project_cap", "cap_reset_day", "project_usage")
        )
        project = data.get("daily_project_usage")
        by_day = _sum_by_day(() if project is None else project.get("usage") or ())
    except WRONG:
        raise _make_error("usage", body) from None
    if project is None and cap is None and used is None:
        raise _make_error("usage", body)
    return Usage(by_day, cap, reset_day, used)


def make_probe_request(
    key: tuple[int, int], query: str, words: Vocabulary, policy: Policy, archived: float | None = None
) -> Request:
    """Return the smallest search that X allows, with all the fields that a campaign asks for: do they arrive?

    Args:
        key: of the request.
        query: the text to search.
        words: the vocabulary that requests are written in.
        policy: the prices.
        archived: from when on the full archive is searched, Unix seconds; None: the last days are searched.
    """
    endpoint, since = (SEARCH, {}) if archived is None else (ARCHIVE, {"start_time": format_instant(archived)})
    params = {"query": query, **words.fields, **words.search, **since, "max_results": str(PROBE)}
    authors = policy.compute_price("user", PROBE) if words.search else 0
    return Request(key, endpoint, params, PROBE, policy.compute_most(endpoint, PROBE) + authors)


def _sum_by_day(days: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for entry in days:
        day = date.fromisoformat(entry["date"][:10]).isoformat()
        found[day] = found.get(day, 0) + (_parse_optional(entry.get("usage")) or 0)
    return dict(sorted(found.items()))


def _parse_optional(value: Any) -> int | None:
    return None if value is None else parse_number(value)


def _make_error(what: str, body: Any) -> SourceError:
    errors = body.get("errors") if isinstance(body, dict) else None
    first = errors[0] if isinstance(errors, list) and errors and isinstance(errors[0], dict) else {}
    message = clean_message(first.get("detail") or first.get("message") or first.get("title") or "")
    if message:
        return SourceError(f"X did not answer the request for {what}: {message}")
    return SourceError(f"X's answer to the request for {what} does not say it: is base_url right?")
