"""What X would charge: per resource returned, once per UTC day, for all tokens of the server as one customer."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

POST_PRICE = 0.005  # US dollars, docs.x.com pricing as of November 2026
USER_PRICE = 0.010
COUNTS_PRICE = 0.005  # per request


@dataclass
class Day:
    """The resources charged on one UTC day: positions of posts, rows of accounts, requests for counts."""

    posts: set[int] = field(default_factory=set)
    users: set[int] = field(default_factory=set)
    counts: int = 0

    def report(self) -> dict[str, Any]:
        """The day's sums as plain values for JSON, and their price."""
        dollars = len(self.posts) * POST_PRICE + len(self.users) * USER_PRICE + self.counts * COUNTS_PRICE
        return {
            "posts": len(self.posts),
            "users": len(self.users),
            "counts_requests": self.counts,
            "dollars": round(dollars, 6),
        }


class Bill:
    """The running bill; a post or user read again on the same UTC day is free."""

    def __init__(self) -> None:
        self._days: defaultdict[str, Day] = defaultdict(Day)

    def charge(self, now: float, posts: Iterable[int], users: Iterable[int], counts: int = 0) -> None:
        """An answer with these posts, users and counts, given at the Unix second `now`; an empty one costs nothing."""
        posts, users = set(posts), set(users)
        if posts or users or counts:
            day = self._days[_date(now)]
            day.posts |= posts
            day.users |= users
            day.counts += counts

    def posts_by_day(self, now: float, days: int) -> dict[str, int]:
        """The posts charged on each of the last `days` UTC days, today included; ISO dates, oldest first."""
        dates = [_date(now, back) for back in reversed(range(days))]
        return {date: len(self._days[date].posts) if date in self._days else 0 for date in dates}

    def report(self) -> dict[str, Any]:
        """The bill by UTC day (ISO date)."""
        return {date: day.report() for date, day in sorted(self._days.items())}


def _date(now: float, back: int = 0) -> str:
    return (datetime.fromtimestamp(now, UTC) - timedelta(days=back)).date().isoformat()
