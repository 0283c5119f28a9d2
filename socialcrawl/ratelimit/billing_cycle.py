"""The billing cycle: a month that begins on a day of the month, at midnight UTC, and its cap on posts. Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime
from math import inf

from socialcrawl.errors import SettingsError

FIRST = 1


def cycle(now: float, day: int = FIRST) -> tuple[float, float]:
    """Return when the billing cycle that `now` falls in began, and when the next one begins (Unix seconds).

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
        """Return whether a request that may return `posts` posts could pass the cap, of which others have used some."""
        return posts > 0 and posts > self.room(now, others)

    def room(self, now: float, others: int = 0) -> float:
        """Return how many more posts may be asked for, of which others may have used some."""
        return inf if self.cap is None else self.cap - self.counted(now) - others

    def counted(self, now: float) -> int:
        """Return posts that may count in the cycle that `now` falls in."""
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


Counted = tuple[frozenset[str], Cycle]
"""The marks of what a campaign is billed by, and the posts that it has read in its billing cycle."""


class Cycles:
    """The billing cycles of campaigns, by ledger, also of those that left or are not open; each ledger counts once.

    The posts of campaigns count together that share a token or an application, or that each share one with a third.
    """

    def __init__(self) -> None:
        self._all: dict[str, Counted] = {}

    def go_on(self, ledger: str, cycle: Cycle) -> None:
        """Let a cycle go on from what was counted before for the same ledger."""
        if ledger in self._all:
            before = self._all[ledger][1]
            cycle.read, cycle.reserved, cycle.next = before.read, before.reserved, before.next

    def count(self, ledger: str, marks: frozenset[str], cycle: Cycle, here: Mapping[str, str]) -> None:
        """Count a cycle for a ledger, in place of the one before.

        Args:
            ledger: of the campaign.
            marks: of its tokens and their applications.
            cycle: its posts.
            here: the names of the campaigns that are here, by ledger.

        Raises:
            SettingsError: another of them shares one and counts otherwise.
        """
        before = self._all.get(ledger, (frozenset[str](), cycle))
        self._all[ledger] = marks, cycle
        for name in self._linked(ledger):
            other = self._all[name][1]
            if name in here and (other.cap, other.day) != (cycle.cap, cycle.day) and (other.cap or cycle.cap):
                self._all[ledger] = before
                one, two = here[name], here[ledger]
                raise SettingsError(
                    f"The campaigns {one!r} and {two!r} use one token or application and count its billing cycle "
                    f"differently ({_words(other)}; {_words(cycle)}): give both the same [limits] cycle_day and "
                    f"[source] policy, or give {two!r} a token of its own."
                )

    def hear(self, told: Mapping[str, Counted], now: float) -> None:
        """Take in what ledgers tell of campaigns that are not here, where that is more than was counted before."""
        for ledger, counted in told.items():
            before = self._all.get(ledger)
            if before is None or before[1].counted(now) <= counted[1].counted(now):
                self._all[ledger] = counted

    def rename(self, before: str, ledger: str) -> None:
        """Give a ledger the name that tells it from all others; what is counted under that name stays."""
        if before != ledger and before in self._all:
            self._all.setdefault(ledger, self._all.pop(before))

    def posts(self, ledger: str, now: float) -> int:
        """Return posts of the cycle that `now` falls in, of all campaigns that count together with one but its own."""
        return sum(self._all[name][1].counted(now) for name in self._linked(ledger))

    def _linked(self, ledger: str) -> list[str]:
        marks, found = set(self._all[ledger][0]), [ledger]
        while more := [name for name, (its, _) in self._all.items() if name not in found and marks & its]:
            found += more
            marks.update(*(self._all[name][0] for name in more))
        return found[1:]


def _words(cycle: Cycle) -> str:
    return "no cap" if cycle.cap is None else f"{cycle.cap:,} posts from day {cycle.day} of the month on"


def _midnight(months: int, day: int) -> float:
    year, month = divmod(months, 12)
    following = datetime(year + (month == 11), (month + 1) % 12 + 1, 1, tzinfo=UTC)
    first = datetime(year, month + 1, 1, tzinfo=UTC)
    return first.replace(day=min(day, (following - first).days)).timestamp()
