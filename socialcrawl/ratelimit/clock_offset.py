"""The server's clock, as far as its replies show: an interval that holds its distance from ours. Pure.

A reply that left at `sent` and came at `at` was dated somewhere in between, with its fraction of a second cut off. So
the distance lies in [date - at, date + 1 - sent]; many replies narrow it down to about one latency. As two clocks part,
it grows wider with the time since; a distance that leaves the interval (somebody set a clock) begins a new one.
"""

from math import inf

DRIFT = 2e-4  # seconds a second by which two clocks may part: bad crystals have 1e-4
TINY = 1e-6  # seconds: more than the rounding of two instants and their difference


class ClockOffset:
    """Seconds to add to our clock to have the server's: between `low` and `high` at the instant `at`."""

    def __init__(self) -> None:
        self.low, self.high = -inf, inf
        self.at = -inf  # when it was last narrowed

    def learn(self, sent: float, at: float, date: float | None, *, cut: float = 1.0) -> None:
        """Take in the date of a reply that took from `sent` to `at` (ours), by the server's clock.

        Less than `cut` seconds were cut off it: dates of HTTP are whole seconds.
        """
        if date is None or at < sent:
            return
        parted = DRIFT * (at - sent) + TINY
        said_low, said_high = date - at - parted, date + cut - sent + parted
        known_low, known_high = self.find_bounds(at)
        low, high = max(known_low, said_low), min(known_high, said_high)
        self.low, self.high = (low, high) if low <= high else (said_low, said_high)
        self.at = max(self.at, at)

    def find_bounds(self, now: float) -> tuple[float, float]:
        """Return the least and the most that the distance can be at `now`."""
        parted = DRIFT * max(0.0, now - self.at) if self.is_known else 0.0
        return self.low - parted, self.high + parted

    def shift(self, delta: float) -> None:
        """Note that our clock was set, `delta` seconds ahead."""
        self.low, self.high, self.at = self.low - delta, self.high - delta, self.at + delta

    def forget(self) -> None:
        """Know nothing any more: our clock is not the one that the dates were held against."""
        self.low, self.high, self.at = -inf, inf, -inf

    @property
    def is_known(self) -> bool:
        """Whether any reply had a date."""
        return self.low > -inf

    @property
    def width(self) -> float:
        """Seconds by which the distance is not known."""
        return self.high - self.low

    @property
    def guess(self) -> float:
        """The middle of the interval; 0 while nothing is known."""
        return (self.low + self.high) / 2 if self.is_known else 0.0
