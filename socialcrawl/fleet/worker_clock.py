"""How far a worker's clock is from that of the deciding process, by how long it takes to ask. Pure."""

from math import inf

DRIFT = 2e-4  # seconds a second by which two clocks may part: bad crystals have 1e-4


class WorkerClock:
    """Seconds to add to a worker's clock to have ours: between `low` and `high` at the instant `at` (ours).

    An answer to a question that left at `sent` and came at `came` read the worker's clock in between, so the distance
    lies in [sent - read, came - read]. The narrowest of such intervals counts; it grows wider with time, and one that
    excludes it (somebody set a clock) takes its place.
    """

    def __init__(self) -> None:
        self.low, self.high, self.at = -inf, inf, 0.0

    def learn(self, sent: float, read: float, came: float) -> None:
        """Take in what a worker's clock showed between two instants of ours, in Unix seconds."""
        parted = DRIFT * max(0.0, came - self.at)
        known_low, known_high = self.low - parted, self.high + parted
        low, high = max(known_low, sent - read), min(known_high, came - read)
        self.low, self.high = (low, high) if low <= high else (sent - read, came - read)
        self.at = came

    @property
    def offset(self) -> float:
        """The middle of the interval; 0 while nothing is known."""
        return (self.low + self.high) / 2 if self.low > -inf else 0.0
