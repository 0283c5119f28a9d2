"""The server's clock, as far as its replies tell: an interval that holds its distance from ours. Pure.

A reply that left at `sent` and came at `at` was dated somewhere in between, with its fraction of a second cut off. So
the distance lies in [date - at, date + 1 - sent]; many replies narrow it down to about one latency, and a distance
that leaves the interval (somebody set a clock) begins a new one.
"""

from math import inf

DRIFT = 2e-4  # seconds a second by which two clocks may part: bad crystals have 1e-4


class Offset:
    """Seconds to add to our clock to have the server's: at least `low`, at most `high`."""

    def __init__(self) -> None:
        self.low, self.high = -inf, inf
        self.at = -inf  # when it was last narrowed

    def learn(self, sent: float, at: float, date: float | None) -> None:
        """Take in the date (whole seconds, the server's clock) of a reply that took from `sent` to `at` (ours)."""
        if date is None or at < sent:
            return
        wider = DRIFT * max(0.0, at - self.at) if self.known else 0.0
        low, high = max(self.low - wider, date - at), min(self.high + wider, date + 1.0 - sent)
        if low > high:
            low, high = date - at, date + 1.0 - sent
        self.low, self.high, self.at = low, high, max(self.at, at)

    @property
    def known(self) -> bool:
        """Whether any reply had a date."""
        return self.low > -inf

    @property
    def guess(self) -> float:
        """The middle of the interval; 0 while nothing is known."""
        return (self.low + self.high) / 2 if self.known else 0.0
