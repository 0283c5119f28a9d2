"""The billing cycle: a month that begins on a day of the month, at midnight UTC, and its cap on posts. Pure."""

from datetime import UTC, datetime

FIRST = 1


def cycle(now: float, day: int = FIRST) -> tuple[float, float]:
    """When the billing cycle that `now` falls in began, and when the next one begins (Unix seconds).

    Args:
        now: Unix seconds.
        day: the day of the month on which cycles begin, 1 to 31; in shorter months it is the last one.
    """
    today = datetime.fromtimestamp(now, UTC)
    months = today.year * 12 + today.month - 1
    begin = _midnight(months, day)
    return (begin, _midnight(months + 1, day)) if now >= begin else (_midnight(months - 1, day), begin)


class Cycle:
    """The posts read in the present billing cycle, held against the cap of the platform (None: no cap)."""

    def __init__(self, cap: int | None = None, day: int = FIRST) -> None:
        self.cap, self.day = cap, day
        self.posts = 0
        self.next = 0.0  # when the next cycle begins

    def refuses(self, posts: int, now: float) -> bool:
        """Whether a request that may return `posts` posts could pass the cap."""
        return self.cap is not None and now < self.next and self.posts + posts > self.cap

    def count(self, posts: int, now: float) -> None:
        """Count posts read at `now`, or take back (a negative number) what was counted too many."""
        if now >= self.next:
            self.posts, self.next = 0, cycle(now, self.day)[1]
        self.posts = max(0, self.posts + posts)


def _midnight(months: int, day: int) -> float:
    year, month = divmod(months, 12)
    following = datetime(year + (month == 11), (month + 1) % 12 + 1, 1, tzinfo=UTC)
    first = datetime(year, month + 1, 1, tzinfo=UTC)
    return first.replace(day=min(day, (following - first).days)).timestamp()
