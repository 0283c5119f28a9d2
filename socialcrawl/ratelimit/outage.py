"""Whether the platform is down: several requests in a row have failed, and nothing was answered since. Pure."""

from dataclasses import dataclass
from math import inf

from socialcrawl.engine.model import Grant, Reply

ROW = 3  # failures in a row, of two requests at least, after which a platform counts as down


@dataclass(frozen=True, slots=True)
class Outage:
    """A platform that is down: since when (Unix seconds), what happened last, as a sentence, and failures so far."""

    since: float
    why: str
    failures: int


class FailureStreak:
    """Failures since the last answer. Those that were in flight together count once.

    One request that the server cannot answer is no outage: it takes two that differ.
    """

    def __init__(self) -> None:
        self._since, self._counted, self._failures, self._why = inf, -inf, 0, ""
        self._first: tuple[int, int] | None = None  # the first request that failed
        self._differ = False  # whether another one did as well

    @property
    def outage(self) -> Outage | None:
        """The outage; None while the platform answers, or has not failed often enough."""
        if self._failures < ROW or not self._differ:
            return None
        return Outage(self._since, self._why, self._failures)

    def note_failure(self, grant: Grant, reply: Reply, now: float) -> None:
        """Note at `now` that a request failed."""
        self._since, self._why = min(self._since, now), reply.why
        self._first = self._first or grant.request.key
        self._differ = self._differ or grant.request.key != self._first
        if grant.at >= self._counted:
            self._failures += 1
            self._counted = now

    def shift(self, delta: float) -> None:
        """Move every instant by `delta` seconds: our clock was set."""
        self._since += delta
        self._counted += delta
