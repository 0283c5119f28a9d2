"""What X would charge: per resource returned, once per UTC day, for all tokens of the server as one customer.

Time is the server's clock, Unix seconds, and is passed in.
"""

from calendar import monthrange
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

POST_PRICE = 0.005  # US dollars, docs.x.com pricing as of November 2026
USER_PRICE = 0.010
COUNTS_PRICE = 0.005  # per request
ARCHIVE_COUNTS_PRICE = 0.010


@dataclass
class BilledDay:
    """The resources charged on one UTC day: positions of posts, rows of accounts, requests for counts of both kinds."""

    posts: set[int] = field(default_factory=set)
    users: set[int] = field(default_factory=set)
    counts: int = 0
    archive_counts: int = 0

    def report(self) -> dict[str, Any]:
        """Return the day's sums as plain values for JSON, and their price."""
        return _make_sums(len(self.posts), len(self.users), self.counts, self.archive_counts)


class XBill:
    """The running bill; a post or user read again on the same UTC day is free.

    Args:
        reset_day: the day of the month on which a billing cycle begins, 1..31; the last day of shorter months.
    """

    def __init__(self, reset_day: int = 1) -> None:
        self.reset_day = reset_day
        self._days: defaultdict[str, BilledDay] = defaultdict(BilledDay)
        self._posts = self._users = self._counts = self._archive_counts = 0

    @property
    def dollars(self) -> float:
        """The price of everything until now."""
        return _compute_price(self._posts, self._users, self._counts, self._archive_counts)

    def charge(
        self, now: float, posts: Iterable[int], users: Iterable[int], counts: int = 0, archive_counts: int = 0
    ) -> None:
        """Charge an answer with these posts, users and counts at the Unix second `now`; an empty one costs nothing."""
        posts, users = set(posts), set(users)
        if posts or users or counts or archive_counts:
            day = self._days[_format_date(now)]
            self._posts += len(posts - day.posts)
            self._users += len(users - day.users)
            self._counts += counts
            self._archive_counts += archive_counts
            day.posts |= posts
            day.users |= users
            day.counts += counts
            day.archive_counts += archive_counts

    def posts_in_cycle(self, now: float) -> int:
        """Return the posts charged in the billing cycle of this moment."""
        first = find_cycle_start(datetime.fromtimestamp(now, UTC).date(), self.reset_day).isoformat()
        return sum(len(day.posts) for iso, day in self._days.items() if iso >= first)

    def posts_by_day(self, now: float, days: int) -> dict[str, int]:
        """Return the posts charged on each of the last `days` UTC days, today included; ISO dates, oldest first."""
        dates = [_format_date(now, back) for back in reversed(range(days))]
        return {date: len(self._days[date].posts) if date in self._days else 0 for date in dates}

    def report(self) -> dict[str, Any]:
        """Return the bill by UTC day (ISO date)."""
        return {date: day.report() for date, day in sorted(self._days.items())}

    def totals(self) -> dict[str, Any]:
        """Return the bill of all days together; a resource counts once for each day on which it was charged."""
        return _make_sums(self._posts, self._users, self._counts, self._archive_counts)


def find_cycle_start(today: date, reset_day: int) -> date:
    """Return the day on which the billing cycle of `today` began."""
    begins = _place_in_month(today, reset_day)
    return begins if begins <= today else _place_in_month(today.replace(day=1) - timedelta(days=1), reset_day)


def _place_in_month(month: date, day: int) -> date:
    return month.replace(day=min(day, monthrange(month.year, month.month)[1]))


def _compute_price(posts: int, users: int, counts: int, archive_counts: int) -> float:
    requests = counts * COUNTS_PRICE + archive_counts * ARCHIVE_COUNTS_PRICE
    return round(posts * POST_PRICE + users * USER_PRICE + requests, 6)


def _make_sums(posts: int, users: int, counts: int, archive_counts: int) -> dict[str, Any]:
    return {
        "posts": posts,
        "users": users,
        "counts_requests": counts,
        "archive_counts_requests": archive_counts,
        "dollars": _compute_price(posts, users, counts, archive_counts),
    }


def _format_date(now: float, back: int = 0) -> str:
    return (datetime.fromtimestamp(now, UTC) - timedelta(days=back)).date().isoformat()
