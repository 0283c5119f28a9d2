"""Whether the platform is down, or a server besides it. Pure.

The platform is down when several requests in a row have failed, and nothing was answered since. Other servers may be
in trouble while the rest of the world is well.
"""

from dataclasses import dataclass
from math import inf

from socialcrawl.engine.model import Grant, Reply
from socialcrawl.ratelimit.policy import parse_host

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


HOST_FAILURES = 3  # failures in a row after which what a server does not answer is not asked of it again
RECENT = 60.0  # seconds for which an answer of one server shows that the network is up
SHORT = 4.0  # seconds of the longest pause before a server is asked again that is in trouble alone
HOSTS = 4096  # servers that are remembered


class HostHealth:
    """Failures in a row and last good answers, by host.

    A server is in trouble *alone* where another one was asked since it failed first and has answered, or where the
    campaign's own is not known to have failed. If none answers, it may be our network, and then patience is better than
    to give everything back.

    Args:
        home: the host of the campaign's own server; "": all hosts are others.
    """

    def __init__(self, home: str = "") -> None:
        self.home = home
        self._failures: dict[str, tuple[int, float, float]] = {}  # failures in a row, when the first came, and the last
        self._answered: dict[str, float] = {}  # when the request left that was answered last, the latest last

    def note_success(self, grant: Grant) -> None:
        """Note a good answer."""
        if name := parse_host(grant.request.endpoint):
            self._failures.pop(name, None)
            self._answered.pop(name, None)
            self._answered[name] = grant.at
            if len(self._answered) > HOSTS:
                del self._answered[next(iter(self._answered))]

    def note_failure(self, grant: Grant, now: float) -> None:
        """Note a failure at `now`; those that were in flight together count once."""
        name = parse_host(grant.request.endpoint)
        count, first, last = self._failures.get(name, (0, now, grant.at))
        if name and grant.at >= last:
            self._failures[name] = count + 1, first, now
            if len(self._failures) > HOSTS:
                del self._failures[next(iter(self._failures))]

    def was_network_up(self, grant: Grant) -> bool:
        """Return whether the network was up when a request left: a host other than its server answered recently."""
        endpoint = grant.request.endpoint
        return self.is_other(endpoint) and self._find_latest(parse_host(endpoint)) >= grant.at - RECENT

    def is_other(self, endpoint: str) -> bool:
        """Return whether an endpoint is at another server than the campaign's own."""
        return parse_host(endpoint) not in ("", self.home)

    def has_failed_alone(self, grant: Grant) -> bool:
        """Return whether the server that failed to answer a request is another one, and in trouble alone."""
        name = parse_host(grant.request.endpoint)
        well = self.home != "" and self.home not in self._failures
        return self.is_other(grant.request.endpoint) and (
            well or self._find_latest(name) >= self._get_failures(name)[1]
        )

    def is_only(self, endpoint: str) -> bool:
        """Return whether an endpoint is at the campaign's own server, or at the only one that has answered so far."""
        name = parse_host(endpoint)
        return not self.is_other(endpoint) or (name in self._answered and self._find_latest(name) == -inf)

    def is_given_up(self, grant: Grant) -> bool:
        """Return whether the server had failed HOST_FAILURES times in a row before it failed to answer this request."""
        return self._get_failures(parse_host(grant.request.endpoint))[0] > HOST_FAILURES

    def shift(self, delta: float) -> None:
        """Move every instant by `delta` seconds: our clock was set."""
        self._failures = {name: (n, first + delta, last + delta) for name, (n, first, last) in self._failures.items()}
        self._answered = {name: at + delta for name, at in self._answered.items()}

    def start_run(self) -> None:
        """Forget everything: a new run."""
        self._failures.clear()
        self._answered.clear()

    def _get_failures(self, name: str) -> tuple[int, float, float]:
        return self._failures.get(name, (0, inf, inf))

    def _find_latest(self, name: str) -> float:
        """Return when the request left to another host than `name` that was answered last.

        Never, where there are no hosts.
        """
        return next((at for other, at in reversed(self._answered.items()) if name not in ("", other)), -inf)
