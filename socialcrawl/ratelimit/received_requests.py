"""What a server may have received of us: requests in flight, and those that were answered, by when. Pure.

A request was received between its leaving and its reply. So it may fall into every window that begins before the reply
came, and into none that begins later: this is all that windows of any kind have to know of it.
"""

from bisect import bisect_left
from math import inf

LAG = 10.0  # seconds after which nothing that a dead process has sent is still on its way
GRAINS = 4096  # replies that come within d / GRAINS seconds are kept as one, of the latest instant
COARSE = 1.0  # seconds: but none are kept as one that came further apart than this


class ReceivedRequests:
    """Requests that count in windows of `d` seconds."""

    def __init__(self, d: float) -> None:
        self.in_flight: list[float] = []  # when each request in flight left
        self.times: list[float] = []  # when replies came, ascending
        self.counts: list[int] = []  # how many came at each of these times
        self.lefts: list[float] = []  # when the first of these left
        self.landed = 0  # their sum
        self._grain = min(d / GRAINS, COARSE)
        self._begun = 0.0  # when the last of the times began to be gathered

    def add_reply(self, sent: float, at: float) -> None:
        """Note the reply, at `at`, to the request that left at `sent`."""
        if sent in self.in_flight:
            self.in_flight.remove(sent)
            self.add(at, 1, sent)

    def drop(self, sent: float) -> None:
        """Forget the request that left at `sent`: the server was not reached."""
        if sent in self.in_flight:
            self.in_flight.remove(sent)

    def abandon(self, sent: float) -> None:
        """Note that nobody waits for the request that left at `sent`: it was received within LAG seconds, or never."""
        self.in_flight.remove(sent)
        self.landed += 1
        self._insert(sent + LAG, 1, sent)

    def add(self, at: float, count: int, left: float) -> None:
        """Count requests that left at `left` at the earliest and were received at `at` at the latest."""
        self.landed += count
        if self.times and self.times[-1] <= at <= self._begun + self._grain:
            self.times[-1] = at
            self.counts[-1] += count
            self.lefts[-1] = min(self.lefts[-1], left)
        else:
            self._insert(at, count, left)

    @property
    def total(self) -> int:
        """How many requests are remembered."""
        return self.landed + len(self.in_flight)

    def count_since(self, begin: float) -> int:
        """Return how many requests may have been received at `begin` or later."""
        times = self.times
        if not times or times[0] >= begin:
            return self.landed + len(self.in_flight)
        return self.landed - sum(self.counts[: bisect_left(times, begin)]) + len(self.in_flight)

    def find_earliest(self, begin: float) -> float:
        """Return when the first left of those that may have been received at `begin` or later.

        Inf where there is none.
        """
        return min((*self.in_flight, *self.lefts[bisect_left(self.times, begin) :]), default=inf)

    def find_oldest(self, begin: float, count: int) -> float | None:
        """Return when the last of the `count` oldest requests since `begin` was answered.

        None where it is still in flight.
        """
        for place in range(bisect_left(self.times, begin), len(self.times)):
            count -= self.counts[place]
            if count <= 0:
                return self.times[place]
        return None

    def shift(self, delta: float) -> None:
        """Move every instant by `delta` seconds: our clock was set."""
        self.in_flight, self.times, self.lefts = (
            [time + delta for time in times] for times in (self.in_flight, self.times, self.lefts)
        )
        self._begun += delta

    def forget(self, begin: float) -> None:
        """Let go of what was received before `begin`."""
        if self.times and self.times[0] < begin:
            place = bisect_left(self.times, begin)
            self.landed -= sum(self.counts[:place])
            del self.times[:place], self.counts[:place], self.lefts[:place]

    def _insert(self, at: float, count: int, left: float) -> None:
        place = bisect_left(self.times, at)
        if place == len(self.times):
            self._begun = at
        self.times.insert(place, at)
        self.counts.insert(place, count)
        self.lefts.insert(place, left)
