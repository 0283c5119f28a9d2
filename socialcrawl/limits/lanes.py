"""All lanes of a campaign: which credential can leave first, who is set aside, when n requests will be done. Pure."""

from collections.abc import Sequence
from math import inf

from socialcrawl.limits.lane import Lane
from socialcrawl.limits.offset import Offset
from socialcrawl.limits.policy import Policy, Rule
from socialcrawl.model import Credential, Grant, Reply

FAR = 366 * 86_400.0  # seconds: further ahead nothing is foretold


class Lanes:
    """The windows of every credential on every endpoint, and the server's clock.

    A lane is made when it is first asked for; a credential without rules for an endpoint has none there.
    """

    def __init__(self, policy: Policy, credentials: Sequence[Credential]) -> None:
        self.policy, self.credentials = policy, tuple(credentials)
        self.offset = Offset()
        self.aside: dict[str, str] = {}  # credential -> why it is not used any more
        self.barred: dict[tuple[str, str], str] = {}  # credentials that one endpoint has refused, and why
        self._lanes: dict[tuple[str, str], Lane] = {}
        self._open: dict[str, list[Lane]] = {}  # by endpoint, those that may be used

    def of(self, endpoint: str) -> list[Lane]:
        """The lanes of an endpoint that may be used, in the order of the credentials."""
        found = self._open.get(endpoint)
        if found is None:
            names = [credential for credential in self.credentials if self._allowed(credential, endpoint)]
            found = self._open[endpoint] = [self.lane(name, endpoint) for name, _ in names]
        return found

    def longest(self) -> float:
        """The longest window of any endpoint, in seconds."""
        rules = (rule for one in self.policy.endpoints.values() for rule in (*one.app, *one.user))
        return max((rule.d for rule in rules), default=0.0)

    def lane(self, name: str, endpoint: str) -> Lane:
        """The lane of one credential; a name that is no longer known counts as an app's (an old ledger names it)."""
        found = self._lanes.get((name, endpoint))
        if found is None:
            found = self._lanes[name, endpoint] = self._made(name, endpoint)
        return found

    def rules(self, name: str, endpoint: str) -> tuple[Rule, ...]:
        """The rules of the lane of one credential."""
        kind = next((credential.kind for credential in self.credentials if credential.name == name), "app")
        known = self.policy.endpoints[endpoint]
        return known.rules(kind) or known.app or known.user

    def first(self, endpoint: str, now: float) -> tuple[float, Lane | None]:
        """When a request to an endpoint can leave at the earliest, and in which lane; None where no lane is left.

        Of several lanes in which it can leave at once, the one whose window begins or ends first is used: what is left
        of a window is lost at its end, and a window that has not begun moves all that follow it.
        """
        lanes = self.of(endpoint)
        perhaps = [lane for lane in lanes if now >= lane.shut]
        for lane in sorted(perhaps, key=lambda lane: lane.deadline(now)):
            if lane.free(now):
                return now, lane
        waits = [(lane.when(now), place) for place, lane in enumerate(lanes)]
        when, place = min(waits, default=(inf, -1))
        return when, lanes[place] if waits else None

    def learn(self, grant: Grant, reply: Reply) -> Lane:
        """Take in a reply; the lane that it came by."""
        self.offset.learn(grant.at, reply.at, reply.date)
        lane = self.lane(grant.credential, grant.request.endpoint)
        lane.learn(grant.at, reply)
        return lane

    def set_aside(self, grant: Grant, reply: Reply) -> bool:
        """Use a refused credential no more, with 401 nowhere, else not on this endpoint; whether another is left."""
        if reply.status == 401:
            self.aside[grant.credential] = reply.why
        self.barred[grant.credential, grant.request.endpoint] = reply.why
        self._open.clear()
        return bool(self.of(grant.request.endpoint))

    def anew(self) -> None:
        """Begin a new run: nobody is set aside, and the next request of every lane finds out what was in flight."""
        self.aside.clear()
        self.barred.clear()
        self._open.clear()
        for lane in self._lanes.values():
            lane.sound()

    def past(self) -> "Lanes":
        """The lanes in which a ledger is lived through: these."""
        return self

    def join(self, past: "Lanes") -> None:
        """Go on from what a ledger was lived through in."""
        self.anew()

    def doubt(self) -> None:
        """Note that the past was dated by a clock that was set since."""
        self.offset.forget()
        for lane in self._lanes.values():
            lane.doubt()

    def shift(self, delta: float) -> None:
        """Move every instant by `delta` seconds: our clock was set, with nothing in flight."""
        self.offset.shift(delta)
        for lane in self._lanes.values():
            lane.shift(delta)

    def done(self, endpoint: str, count: int, now: float) -> float | None:
        """When the windows will have let `count` more requests to an endpoint leave; None if never within a year.

        Each request is taken to be answered at once.
        """
        lanes = self.of(endpoint)

        def room(span: float) -> int:
            return sum(lane.room(now, now + span) for lane in lanes)

        low, high = 0.0, 1.0
        if room(low) >= count:
            return now
        while room(high) < count:
            low, high = high, high * 2.0
            if low > FAR:
                return None
        while high - low > 0.001:
            middle = (low + high) / 2.0
            low, high = (low, middle) if room(middle) >= count else (middle, high)
        return now + high

    def _made(self, name: str, endpoint: str) -> Lane:
        return Lane(name, endpoint, self.rules(name, endpoint), self.offset)

    def _allowed(self, credential: Credential, endpoint: str) -> bool:
        name, kind = credential
        barred = name in self.aside or (name, endpoint) in self.barred
        return not barred and bool(self.policy.endpoints[endpoint].rules(kind))
