"""All lanes of a campaign: which credential can leave first, who is set aside, when n requests will be done. Pure."""

from collections.abc import Callable, Sequence
from math import inf

from socialcrawl.engine.model import Credential, Grant, Reply
from socialcrawl.ratelimit.clock_offset import Offset
from socialcrawl.ratelimit.lane import Lane
from socialcrawl.ratelimit.policy import Policy, Rule, host
from socialcrawl.ratelimit.pools import basins
from socialcrawl.ratelimit.strand import Strand, Way

FAR = 366 * 86_400.0  # seconds: further ahead nothing is foretold
FEW = 1024  # lanes of which none is let go


class Lanes:
    """The windows of every credential on every endpoint, and the clocks of the servers.

    A lane is made when it is first asked for, and let go when nothing is left in its windows; a credential without
    rules for an endpoint has none there. A *place* is an endpoint as the policy names it, after its host if it has one.

    Attributes:
        aside: why a credential is not used any more.
        barred: the same for one place only.
        offset: the clock of the campaign's own server.
    """

    def __init__(self, policy: Policy, credentials: Sequence[Credential]) -> None:
        self.policy, self.credentials = policy, tuple(credentials)
        self.basins = basins(policy)
        self.offset = Offset()
        self.aside: dict[str, str] = {}
        self.barred: dict[tuple[str, str], str] = {}
        self._clocks: dict[str, Offset] = {}  # of other hosts
        self._lanes: dict[tuple[str, str], Lane] = {}  # by credential, and place or basin
        self._strands: dict[tuple[str, str], Strand] = {}  # by credential and place
        self._open: dict[str, list[Way]] = {}  # by place, those that may be used
        self._many = FEW

    def place(self, endpoint: str) -> str:
        """Return the endpoint as the policy names it, after its host.

        Raises:
            KeyError: there is no such endpoint.
        """
        if endpoint in self.policy.endpoints:
            return endpoint
        return host(endpoint) + self.policy.key(endpoint)

    def of(self, endpoint: str) -> list[Way]:
        """Return the lanes of an endpoint that may be used, in the order of the credentials."""
        found = self._open.get(endpoint)
        if found is not None:
            return found
        place = self.place(endpoint)
        found = self._open.get(place)
        if found is None:
            names = [one.name for one in self._allowed(place) if not self._refused(one.name, place)]
            found = self._open[place] = [self.lane(name, place) for name in names]
        return found

    def longest(self) -> float:
        """Return the longest window of any endpoint, in seconds."""
        kinds = ("app", "user", "public")
        rules = (rule for one in self.policy.endpoints.values() for kind in kinds for rule in one.rules(kind))
        return max((rule.d for rule in rules), default=0.0)

    def lane(self, name: str, endpoint: str) -> Way:
        """Return the lane of one credential.

        A name that is no longer known counts as an app's (an old ledger names it).
        """
        found = self._lanes.get((name, endpoint)) or self._strands.get((name, endpoint))
        if found is not None:
            return found
        place = self.place(endpoint)
        return (self._strand if self.policy.key(place) in self.basins else self._lane)(name, place)

    def rules(self, name: str, endpoint: str) -> tuple[Rule, ...]:
        """Return the rules of the lane of one credential."""
        known = self.policy.endpoint(endpoint)
        return known.rules(self._kind(name, known.rules))

    def clock(self, name: str) -> Offset:
        """Return the clock of a host, by its name; that of the campaign's own server has none."""
        if not name:
            return self.offset
        found = self._clocks.get(name)
        if found is None:
            found = self._clocks[name] = self._clock()
        return found

    @property
    def crowded(self) -> bool:
        """Whether there are so many lanes that it is time to let some go; that costs little, on the whole."""
        return len(self._lanes) >= self._many

    def first(self, endpoint: str, now: float) -> tuple[float, Way | None]:
        """Return when a request to an endpoint can leave at the earliest, and in which lane.

        None where no lane is left.

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

    def learn(self, grant: Grant, reply: Reply) -> Way:
        """Take in a reply; the lane that it came by."""
        name = host(grant.request.endpoint)
        (self.clock(name) if name else self.offset).learn(grant.at, reply.at, reply.date)
        lane = self.lane(grant.credential, grant.request.endpoint)
        lane.learn(grant.at, reply)
        return lane

    def set_aside(self, grant: Grant, reply: Reply) -> bool:
        """Use a refused credential no more, with 401 nowhere, else not on this endpoint; whether another is left.

        One host's refusal says nothing of the others: without another credential there, the one it refused stays.
        """
        name, place, away = grant.credential, self.place(grant.request.endpoint), self.away(grant)
        if away and len(self.of(place)) < 2:
            return False
        if reply.status == 401 and not away:
            self.aside[name] = reply.why
        self.barred[name, place] = reply.why
        self._open.clear()
        return bool(self.of(place))

    def away(self, grant: Grant) -> bool:
        """Whether a request went to a host of which its credential is no token: what it says is about that host."""
        name = host(grant.request.endpoint)
        return bool(name) and all(one.name != grant.credential or one.host != name for one in self.credentials)

    def let_go(self, now: float) -> None:
        """Forget the hosts in whose windows nothing is left."""
        busy = {host(place) for (_, place), lane in self._lanes.items() if not lane.quiet(now)} | {""}
        for name, place in [key for key in self._lanes if host(key[1]) not in busy]:
            self._dropped(self._lanes.pop((name, place)))
        self._strands = {key: strand for key, strand in self._strands.items() if host(key[1]) in busy}
        self._clocks = {name: clock for name, clock in self._clocks.items() if name in busy}
        self._open.clear()
        self._many = max(FEW, 2 * len(self._lanes))

    def anew(self) -> None:
        """Begin a new run: nobody is set aside, and the next request of every lane finds out what was in flight."""
        self.forgive()
        for lane in self._lanes.values():
            lane.sound()

    def forgive(self) -> None:
        """Set nobody aside any more."""
        self.aside.clear()
        self.barred.clear()
        self._open.clear()

    def past(self) -> "Lanes":
        """Return the lanes in which a ledger is lived through: these."""
        return self

    def join(self, past: "Lanes") -> None:
        """Go on from what a ledger was lived through in."""
        self.anew()

    def doubt(self) -> None:
        """Note that the past was dated by a clock that was set since."""
        for clock in (self.offset, *self._clocks.values()):
            clock.forget()
        for lane in self._lanes.values():
            lane.doubt()

    def shift(self, delta: float) -> None:
        """Move every instant by `delta` seconds: our clock was set, with nothing in flight."""
        for clock in (self.offset, *self._clocks.values()):
            clock.shift(delta)
        for lane in self._lanes.values():
            lane.shift(delta)

    def done(self, endpoint: str, count: int, now: float) -> float | None:
        """Return when the windows will have let `count` more requests to an endpoint leave.

        Each request is taken to be answered at once. None: not within a year, or nobody can say yet, as no reply has
        shown how long these windows last.
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
        return now + high if all(lane.foresees(now + high) for lane in lanes) else None

    def _lane(self, name: str, place: str) -> Lane:
        found = self._lanes.get((name, place))
        if found is None:
            found = self._lanes[name, place] = self._made(name, place, self.rules(name, place), (0,))
        return found

    def _strand(self, name: str, place: str) -> Strand:
        """The strand of a credential at a place of which others share windows: those of its basin at that host."""
        found = self._strands.get((name, place))
        if found is None:
            key = self.policy.key(place)
            basin = self.basins[key]
            kind, where = self._kind(name, basin.rules), host(place) + basin.name
            lane = self._lanes.get((name, where))
            if lane is None:
                lane = self._lanes[name, where] = self._made(name, where, basin.rules(kind), basin.heads(kind))
            found = self._strands[name, place] = Strand(lane, place, basin.part(key, kind))
        return found

    def _kind(self, name: str, rules: Callable[[str], tuple[Rule, ...]]) -> str:
        """By which rules a credential counts; one that is not known, by any that there are."""
        kind = next((credential.kind for credential in self.credentials if credential.name == name), "app")
        return next((one for one in (kind, "app", "user", "public") if rules(one)), kind)

    def _clock(self) -> Offset:
        return Offset()

    def _made(self, name: str, where: str, rules: tuple[Rule, ...], heads: tuple[int, ...]) -> Lane:
        return Lane(name, where, rules, self.clock(host(where)), heads)

    def _dropped(self, lane: Lane) -> None:
        """Do nothing more: nobody else uses the windows."""

    def _allowed(self, place: str) -> list[Credential]:
        """The credentials that have rules at a place: tokens of its host, or without any, what asks without a token."""
        name, known = host(place), self.policy.endpoint(place)
        some = [one for one in self.credentials if one.host == name]
        if name and not some:
            some = [one for one in self.credentials if not one.host and one.kind == "public"]
        return [one for one in some if known.rules(one.kind)]

    def _refused(self, name: str, place: str) -> bool:
        return name in self.aside or (name, place) in self.barred
