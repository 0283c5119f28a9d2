"""Windows as X has them: fixed, opened by the first request, one per token and endpoint. Time is passed in."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from math import floor
from typing import Any


@dataclass(slots=True)
class Window:
    """One window of one token at one endpoint: when it opened and what was asked and answered in it.

    Attributes:
        opened, ends: Unix seconds; a request at `ends` opens the next window.
        requests: all requests received, the refused ones included.
        answers: how often each status was answered.
    """

    token: str
    endpoint: str
    opened: float
    ends: float
    limit: int
    requests: int = 0
    answers: Counter[int] = field(default_factory=Counter)

    @property
    def full(self) -> bool:
        """Whether more was asked than the window allows."""
        return self.requests > self.limit

    def headers(self) -> dict[str, str]:
        """The three headers of X; the reset is a whole Unix second, as recorded (900 or 899 s after Date)."""
        return {
            "x-rate-limit-limit": str(self.limit),
            "x-rate-limit-remaining": str(max(0, self.limit - self.requests)),
            "x-rate-limit-reset": str(floor(self.ends)),
        }

    def report(self) -> dict[str, Any]:
        """The window as plain values for JSON."""
        return {
            "token": self.token,
            "endpoint": self.endpoint,
            "opened": self.opened,
            "opened_utc": datetime.fromtimestamp(self.opened, UTC).isoformat(),
            "ends": self.ends,
            "limit": self.limit,
            "requests": self.requests,
            "answers": {str(status): n for status, n in sorted(self.answers.items())},
        }


class Windows:
    """All windows of a server.

    Args:
        limit_of: the limit of an endpoint, requests per window.
        period: the length of a window, seconds.
    """

    def __init__(self, limit_of: Callable[[str], int], period: float) -> None:
        self._limit_of = limit_of
        self._period = period
        self._open: dict[tuple[str, str], Window] = {}
        self._all: list[Window] = []

    def take(self, token: str, endpoint: str, now: float) -> Window:
        """The window in which this request falls, the request counted; a new one where the last has ended."""
        window = self._open.get((token, endpoint))
        if window is None or now >= window.ends:
            window = Window(token, endpoint, now, now + self._period, self._limit_of(endpoint))
            self._open[token, endpoint] = window
            self._all.append(window)
        window.requests += 1
        return window

    def report(self) -> list[dict[str, Any]]:
        """Every window ever opened, in the order of opening."""
        return [window.report() for window in self._all]


def label(token: str) -> str:
    """The short name of a bearer token in reports; the token cannot be read from it."""
    return blake2b(token.encode(), key=b"socialcrawl mock", digest_size=4).hexdigest()
