"""The billing cycle: a month that begins on a day of the month, at midnight UTC, and its cap on posts. Pure."""

from datetime import UTC, datetime
from math import inf

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
    """The posts read in the present billing cycle, held against the cap of the platform (None: no cap).

    What is reserved counts until it is settled, in whichever cycle that is: the server may bill it in either.
    """

    def __init__(self, cap: int | None = None, day: int = FIRST) -> None:
        self.cap, self.day = cap, day
        self.read = self.reserved = 0
        self.next = 0.0  # when the next cycle begins

    @property
    def posts(self) -> int:
        """Posts that may count in the cycle."""
        return self.read + self.reserved

    def refuses(self, posts: int, now: float, others: int = 0) -> bool:
        """Whether a request that may return `posts` posts could pass the cap, of which others have used some."""
        return posts > 0 and posts > self.room(now, others)

    def room(self, now: float, others: int = 0) -> float:
        """Return how many more posts may be asked for, of which others may have used some."""
        return inf if self.cap is None else self.cap - self.counted(now) - others

    def counted(self, now: float) -> int:
        """Posts that may count in the cycle that `now` falls in."""
        return (self.read if now < self.next else 0) + self.reserved

    def shift(self, delta: float) -> None:
        """Note that our clock was set, `delta` seconds ahead.

        The cycle ends by the calendar, and what was read counts until then by both clocks: the later one is right.
        """
        self.next += max(0.0, delta)

    def reserve(self, posts: int, now: float) -> None:
        """Count a request that leaves at `now` at its most posts."""
        self._turn(now)
        self.reserved += posts

    def settle(self, reserved: int, posts: int, now: float) -> None:
        """Replace what was reserved by the posts that were read at `now`."""
        self._turn(now)
        self.reserved -= reserved
        self.read += posts

    def _turn(self, now: float) -> None:
        if now >= self.next:
            self.read, self.next = 0, cycle(now, self.day)[1]


def _midnight(months: int, day: int) -> float:
    year, month = divmod(months, 12)
    following = datetime(year + (month == 11), (month + 1) % 12 + 1, 1, tzinfo=UTC)
    first = datetime(year, month + 1, 1, tzinfo=UTC)
    return first.replace(day=min(day, (following - first).days)).timestamp()
