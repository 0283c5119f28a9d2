"""What all windows have in common: k requests per d seconds. Pure: time is passed in."""

from typing import Protocol

from socialcrawl.engine.model import Limit
from socialcrawl.ratelimit.received_requests import ReceivedRequests

ROUNDING = 1.0  # headers and Date are whole seconds: the true end is less than this much later than they say
ALONE = 0.05  # seconds after which to look again while a request flies alone
DAY = 86_400.0


class Window(Protocol):
    """One limit of one credential on one endpoint: k requests per d seconds, of whatever kind."""

    k: int
    d: float
    closed_until: float
    received: ReceivedRequests
    remembers: bool

    def find_slot(self, now: float) -> float:
        """Return the earliest instant at which a request may leave; `now` if at once. Changes nothing."""

    def take(self, now: float) -> None:
        """Count a request that leaves at `now`."""

    def learn(self, limit: Limit | None, date: float | None, at: float, *, sent: float, counted: bool = True) -> None:
        """Take in a reply, see `FixedWindow.learn`; `sent` is when its request was taken."""

    def give_back(self, sent: float) -> None:
        """Uncount the request that left at `sent`: it has not reached the server."""

    def close(self, until: float, *, over: bool = False) -> None:
        """Send nothing before `until`; `over`: the server said that the window ends then."""

    def count_used(self, now: float) -> int:
        """Return how many requests are used, for one that leaves at `now`."""

    def forget_in_flight(self) -> None:
        """Forget what was in flight (a restart), on the side of caution."""

    def insert(self, left: float, at: float) -> None:
        """Count a request that is reported afterwards: it left at `left`, and was received at `at` at the latest."""

    def distrust_past(self) -> None:
        """Note that requests were inserted: what seemed certain of the window that is open may be wrong."""

    def probe(self) -> None:
        """Let the next request find out how the window stands; what is in flight is not forgotten."""

    def shift(self, delta: float) -> None:
        """Move every instant by `delta` seconds: our clock was set, with nothing in flight."""

    def count_slots(self, now: float, until: float) -> int:
        """Return how many requests may leave from `now` to `until`, if each is answered at once."""

    def can_foresee(self, until: float) -> bool:
        """Return whether what `room` says of the time up to `until` is known, and not only what the table says."""

    def find_end(self, now: float) -> float | None:
        """Return when the window that is open at `now` ends; None where none is, or where windows have no end."""

    def find_length(self, now: float) -> float:
        """Return the full length of the window open at `now`, in seconds, as far as is known; d where none is."""

    def explain_wait(self, now: float) -> str:
        """Return what a request that may not leave at `now` waits for."""


def find_longest_reset(d: float) -> float:
    """Return the longest time in seconds that a header can mean for a window of d seconds.

    More is a fault of the server.
    """
    return max(2.0 * d, DAY) + 60.0
