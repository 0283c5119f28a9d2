"""The billing cycle: a month that begins on a day of the month, at midnight UTC, and its cap on posts. Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime
from math import inf

from socialcrawl.errors import SettingsError

FIRST = 1


def find_cycle(now: float, day: int = FIRST) -> tuple[float, float]:
    """Return when the billing cycle that `now` falls in began, and when the next one begins (Unix seconds).

    Args:
        now: Unix seconds.
        day: the day of the month on which cycles begin, 1 to 31; in shorter months it is the last one.
    """
    today = datetime.fromtimestamp(now, UTC)
    months = today.year * 12 + today.month - 1
    begin = _find_midnight(months, day)
    return (begin, _find_midnight(months + 1, day)) if now >= begin else (_find_midnight(months - 1, day), begin)


class BillingCycle:
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

    def would_exceed_cap(self, posts: int, now: float, others: int = 0) -> bool:
        """Return whether a request that may return `posts` posts could pass the cap, of which others have used some."""
        return posts > 0 and posts > self.count_remaining(now, others)

    def count_remaining(self, now: float, others: int = 0) -> float:
        """Return how many more posts may be asked for, of which others may have used some."""
        return inf if self.cap is None else self.cap - self.count_posts(now) - others

    def count_posts(self, now: float) -> int:
        """Return posts that may count in the cycle that `now` falls in."""
        return (self.read if now < self.next else 0) + self.reserved

    def shift(self, delta: float) -> None:
        """Note that our clock was set, `delta` seconds ahead.

        The cycle ends by the calendar, and what was read counts until then by both clocks: the later one is right.
        """
        self.next += max(0.0, delta)

    def reserve(self, posts: int, now: float) -> None:
        """Count a request that leaves at `now` at its most posts."""
        self._update_cycle(now)
        self.reserved += posts

    def settle(self, reserved: int, posts: int, now: float) -> None:
        """Replace what was reserved by the posts that were read at `now`."""
        self._update_cycle(now)
        self.reserved -= reserved
        self.read += posts

    def _update_cycle(self, now: float) -> None:
        if now >= self.next:
            self.read, self.next = 0, find_cycle(now, self.day)[1]


CycleCount = tuple[frozenset[str], BillingCycle]
"""The marks of what a campaign is billed by, and the posts that it has read in its billing cycle."""


class BillingCycles:
    """The billing cycles of campaigns, by ledger, also of those that left or are not open; each ledger counts once.

    The posts of campaigns count together that share a token or an application, or that each share one with a third.
    """

    def __init__(self) -> None:
        self._all: dict[str, CycleCount] = {}

    def resume(self, ledger: str, cycle: BillingCycle) -> None:
        """Let a cycle go on from what was counted before for the same ledger."""
        if ledger in self._all:
            before = self._all[ledger][1]
            cycle.read, cycle.reserved, cycle.next = before.read, before.reserved, before.next

    def count(self, ledger: str, marks: frozenset[str], cycle: BillingCycle, here: Mapping[str, str]) -> None:
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
        for name in self._find_linked(ledger):
            other = self._all[name][1]
            if name in here and (other.cap, other.day) != (cycle.cap, cycle.day) and (other.cap or cycle.cap):
                self._all[ledger] = before
                one, two = here[name], here[ledger]
                raise SettingsError(
                    f"The campaigns {one!r} and {two!r} use one token or application and count its billing cycle "
                    f"differently ({_describe_cap(other)}; {_describe_cap(cycle)}): give both the same [limits] "
                    f"cycle_day and [source] policy, or give {two!r} a token of its own."
                )

    def count_reported(self, reported: Mapping[str, CycleCount], now: float) -> None:
        """Count what the ledgers of campaigns that are not here report, where that is more than was counted before."""
        for ledger, counted in reported.items():
            before = self._all.get(ledger)
            if before is None or before[1].count_posts(now) <= counted[1].count_posts(now):
                self._all[ledger] = counted

    def note(self, ledger: str, marks: frozenset[str], reserved: int, posts: int, at: float) -> None:
        """Count posts that another process has reserved (less than 0: no more) or read at `at`, for its ledger."""
        if ledger not in self._all:
            day = next((cycle.day for its, cycle in self._all.values() if marks & its), FIRST)
            self._all[ledger] = marks, BillingCycle(None, day)
        cycle = self._all[ledger][1]
        cycle.reserve(reserved, at)
        cycle.settle(0, posts, at)

    def rename(self, before: str, ledger: str) -> None:
        """Give a ledger its unique name; what is counted under that name stays."""
        if before != ledger and before in self._all:
            self._all.setdefault(ledger, self._all.pop(before))

    def count_other_posts(self, ledger: str, now: float) -> int:
        """Return posts of the cycle that `now` falls in, of all campaigns that count together with one but its own."""
        return sum(self._all[name][1].count_posts(now) for name in self._find_linked(ledger))

    def _find_linked(self, ledger: str) -> list[str]:
        marks, found = set(self._all[ledger][0]), [ledger]
        while more := [name for name, (its, _) in self._all.items() if name not in found and marks & its]:
            found += more
            marks.update(*(self._all[name][0] for name in more))
        return found[1:]


def _describe_cap(cycle: BillingCycle) -> str:
    return "no cap" if cycle.cap is None else f"{cycle.cap:,} posts from day {cycle.day} of the month on"


def _find_midnight(months: int, day: int) -> float:
    year, month = divmod(months, 12)
    following = datetime(year + (month == 11), (month + 1) % 12 + 1, 1, tzinfo=UTC)
    first = datetime(year, month + 1, 1, tzinfo=UTC)
    return first.replace(day=min(day, (following - first).days)).timestamp()
