"""Windows as X has them: fixed, opened by the first request, one per token and endpoint. Time is passed in.

`LimitRule` is a limit besides these windows; what it counts is in `socialcrawl.mock.x.gate`.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from math import floor, isfinite
from typing import Any

from socialcrawl.errors import MockError
from socialcrawl.text.wording import explain_unknown

KINDS = ("fixed", "aligned", "sliding")
MAIN = "x-rate-limit"
FAMILIES = ("x-app-limit-24hour", "x-user-limit-24hour")


@dataclass(frozen=True, slots=True)
class LimitRule:
    """A limit of an endpoint besides its main window: at most `k` requests of a token in `period` seconds.

    The mock's own, and not that of `socialcrawl.ratelimit`: who counts again must not use the counter's book.

    Attributes:
        kind: `fixed` (the window opens with a request that is let in) | `aligned` (windows begin at the multiples of
            the period of the server's clock) | `sliding` (any span of `period` seconds).
        family: the first part of the headers that tell of it (one of FAMILIES); None is not told at all.

    Raises:
        MockError: a number or word that cannot be.
    """

    k: int
    period: float
    kind: str = "fixed"
    family: str | None = None

    def __post_init__(self) -> None:
        if self.k < 1:
            raise MockError(f"A rule allows {self.k} requests; give at least 1.")
        if not (self.period > 0 and isfinite(self.period)):
            raise MockError(f"The period of a rule is {self.period} s; give a length above 0.")
        if self.kind not in KINDS:
            raise MockError(explain_unknown("kind of rule", self.kind, KINDS))
        if self.family is not None and self.family not in FAMILIES:
            raise MockError(explain_unknown("family of headers", self.family, (*FAMILIES, None)))


@dataclass(slots=True)
class TokenWindow:
    """One window of one token at one endpoint: when it opened and what was asked and answered in it.

    Attributes:
        opened, ends: Unix seconds; a request at `ends` opens the next window.
        requests: all requests received, the refused ones included.
        answers: how often each status was answered.
        who: the kind of the token, `app` or `user`.
    """

    token: str
    endpoint: str
    opened: float
    ends: float
    limit: int
    requests: int = 0
    answers: Counter[int] = field(default_factory=Counter)
    who: str = "app"

    @property
    def full(self) -> bool:
        """Whether more was asked than the window allows."""
        return self.requests > self.limit

    def headers(self) -> dict[str, str]:
        """Return the three headers of X; the reset is a whole Unix second, as recorded (900 or 899 s after Date)."""
        return make_limit_headers(MAIN, self.limit, self.limit - self.requests, self.ends)

    def report(self) -> dict[str, Any]:
        """Return the window as plain values for JSON."""
        return {
            "token": self.token,
            "who": self.who,
            "endpoint": self.endpoint,
            "opened": self.opened,
            "opened_utc": datetime.fromtimestamp(self.opened, UTC).isoformat(),
            "ends": self.ends,
            "limit": self.limit,
            "requests": self.requests,
            "over": max(0, self.requests - self.limit),
            "answers": {str(status): n for status, n in sorted(self.answers.items())},
        }


class TokenWindows:
    """All windows of the tokens of one kind.

    Args:
        limit_of: the limit of an endpoint, requests per window.
        period: the length of a window, seconds.
        who: the kind of these tokens, `app` or `user`.
    """

    def __init__(self, limit_of: Callable[[str], int], period: float, who: str = "app") -> None:
        self._limit_of = limit_of
        self._period = period
        self._who = who
        self._open: dict[tuple[str, str], TokenWindow] = {}
        self._all: list[TokenWindow] = []

    def take(self, token: str, endpoint: str, now: float) -> TokenWindow:
        """Return the window in which this request falls, the request counted; a new one where the last has ended."""
        window = self._open.get((token, endpoint))
        if window is None or now >= window.ends:
            window = TokenWindow(token, endpoint, now, now + self._period, self._limit_of(endpoint), who=self._who)
            self._open[token, endpoint] = window
            self._all.append(window)
        window.requests += 1
        return window

    def report(self) -> list[dict[str, Any]]:
        """Return every window ever opened, in the order of opening."""
        return [window.report() for window in self._all]


def make_limit_headers(family: str, limit: int, left: int, ends: float) -> dict[str, str]:
    """Return the three headers of one family: limit, remaining requests (0 at least), and end as a Unix second."""
    return {
        f"{family}-limit": str(limit),
        f"{family}-remaining": str(max(0, left)),
        f"{family}-reset": str(floor(ends)),
    }


def make_label(token: str) -> str:
    """Return the short name of a token in reports; the token cannot be read from it."""
    return blake2b(token.encode(), key=b"socialcrawl mock", digest_size=4).hexdigest()
