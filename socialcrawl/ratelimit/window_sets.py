"""All window sets of a campaign: which credential can send first, which are disabled, when n requests will be done."""

from collections.abc import Callable, Sequence
from math import inf

from socialcrawl.engine.model import Credential, Grant, Reply
from socialcrawl.ratelimit.clock_offset import ClockOffset
from socialcrawl.ratelimit.endpoint_windows import EndpointWindows, RequestWindows, group_pools
from socialcrawl.ratelimit.policy import Policy, Rule, parse_host
from socialcrawl.ratelimit.window_set import WindowSet

FAR = 366 * 86_400.0  # seconds: further ahead nothing is foretold
FEW = 1024  # window sets that are always kept


class WindowSets:
    """The windows of every credential on every endpoint, and the clocks of the servers.

    Pure. A set is made on first use, and forgotten when nothing is left in its windows; a credential without rules for
    an endpoint has none there. A *place* is an endpoint as the policy names it, after its host if it has one.

    Attributes:
        aside: why a credential is not used any more.
        barred: the same for one place only.
        offset: the clock of the campaign's own server.
    """

    def __init__(self, policy: Policy, credentials: Sequence[Credential]) -> None:
        self.policy, self.credentials = policy, tuple(credentials)
        self.pool_groups = group_pools(policy)
        self.offset = ClockOffset()
        self.aside: dict[str, str] = {}
        self.barred: dict[tuple[str, str], str] = {}
        self._clocks: dict[str, ClockOffset] = {}  # of other hosts
        self._window_sets: dict[tuple[str, str], WindowSet] = {}  # by credential, and place or pool group
        self._endpoint_windows: dict[tuple[str, str], EndpointWindows] = {}  # by credential and place
        self._usable: dict[str, list[RequestWindows]] = {}  # by place, those that may be used
        self._many = FEW

    def resolve_endpoint(self, endpoint: str) -> str:
        """Return the endpoint as the policy names it, after its host.

        Raises:
            KeyError: there is no such endpoint.
        """
        if endpoint in self.policy.endpoints:
            return endpoint
        return parse_host(endpoint) + self.policy.find_key(endpoint)

    def find_usable(self, endpoint: str) -> list[RequestWindows]:
        """Return the window sets of an endpoint that may be used, in the order of the credentials."""
        found = self._usable.get(endpoint)
        if found is not None:
            return found
        place = self.resolve_endpoint(endpoint)
        found = self._usable.get(place)
        if found is None:
            names = [one.name for one in self._find_allowed(place) if not self._is_refused(one.name, place)]
            found = self._usable[place] = [self.get(name, place) for name in names]
        return found

    def find_longest_window(self) -> float:
        """Return the longest window of any endpoint, in seconds."""
        kinds = ("app", "user", "public")
        rules = (rule for one in self.policy.endpoints.values() for kind in kinds for rule in one.get_rules(kind))
        return max((rule.d for rule in rules), default=0.0)

    def get(self, name: str, endpoint: str) -> RequestWindows:
        """Return the window set of one credential.

        A name that is no longer known counts as an app's (an old ledger names it).
        """
        found = self._window_sets.get((name, endpoint)) or self._endpoint_windows.get((name, endpoint))
        if found is not None:
            return found
        place = self.resolve_endpoint(endpoint)
        return (
            self._get_endpoint_windows if self.policy.find_key(place) in self.pool_groups else self._get_window_set
        )(name, place)

    def get_rules(self, name: str, endpoint: str) -> tuple[Rule, ...]:
        """Return the rules of the window set of one credential."""
        known = self.policy.get_endpoint(endpoint)
        return known.get_rules(self._find_kind(name, known.get_rules))

    def get_clock(self, name: str) -> ClockOffset:
        """Return the clock of a host, by its name; that of the campaign's own server has none."""
        if not name:
            return self.offset
        found = self._clocks.get(name)
        if found is None:
            found = self._clocks[name] = self._make_clock()
        return found

    @property
    def is_crowded(self) -> bool:
        """Whether there are enough window sets that it is time to forget some."""
        return len(self._window_sets) >= self._many

    def find_first(self, endpoint: str, now: float) -> tuple[float, RequestWindows | None]:
        """Return when a request to an endpoint can leave at the earliest, and by which window set.

        None where no set is left.

        Of several sets that let it leave at once, the one whose window begins or ends first is used: what is left
        of a window is lost at its end, and a window that has not begun moves all that follow it.
        """
        window_sets = self.find_usable(endpoint)
        perhaps = [window_set for window_set in window_sets if now >= window_set.closed_until]
        for window_set in sorted(perhaps, key=lambda window_set: window_set.find_deadline(now)):
            if window_set.can_send(now):
                return now, window_set
        waits = [(window_set.find_slot(now), place) for place, window_set in enumerate(window_sets)]
        when, place = min(waits, default=(inf, -1))
        return when, window_sets[place] if waits else None

    def learn(self, grant: Grant, reply: Reply) -> RequestWindows:
        """Learn from a reply; return the window set that it came by."""
        name = parse_host(grant.request.endpoint)
        (self.get_clock(name) if name else self.offset).learn(grant.at, reply.at, reply.date)
        window_set = self.get(grant.credential, grant.request.endpoint)
        window_set.learn(grant.at, reply)
        return window_set

    def set_aside(self, grant: Grant, reply: Reply) -> bool:
        """Use a refused credential no more, with 401 nowhere, else not on this endpoint; whether another is left.

        One host's refusal says nothing of the others: without another credential there, the one it refused stays.
        """
        name, place, away = grant.credential, self.resolve_endpoint(grant.request.endpoint), self.is_foreign(grant)
        if away and len(self.find_usable(place)) < 2:
            return False
        if reply.status == 401 and not away:
            self.aside[name] = reply.why
        self.barred[name, place] = reply.why
        self._usable.clear()
        return bool(self.find_usable(place))

    def is_foreign(self, grant: Grant) -> bool:
        """Return whether a request went to a host of which its credential is no token."""
        name = parse_host(grant.request.endpoint)
        return bool(name) and all(one.name != grant.credential or one.host != name for one in self.credentials)

    def forget_idle_hosts(self, now: float) -> None:
        """Forget the hosts in whose windows nothing is left."""
        busy = {
            parse_host(place) for (_, place), window_set in self._window_sets.items() if not window_set.is_idle(now)
        } | {""}
        for name, place in [key for key in self._window_sets if parse_host(key[1]) not in busy]:
            self._drop(self._window_sets.pop((name, place)))
        self._endpoint_windows = {
            key: endpoint_windows
            for key, endpoint_windows in self._endpoint_windows.items()
            if parse_host(key[1]) in busy
        }
        self._clocks = {name: clock for name, clock in self._clocks.items() if name in busy}
        self._usable.clear()
        self._many = max(FEW, 2 * len(self._window_sets))

    def start_run(self) -> None:
        """Begin a new run: enable all credentials; the next request of every set finds out what was in flight."""
        self.restore_credentials()
        for window_set in self._window_sets.values():
            window_set.forget_in_flight()

    def restore_credentials(self) -> None:
        """Enable every credential again."""
        self.aside.clear()
        self.barred.clear()
        self._usable.clear()

    def start_replay(self) -> "WindowSets":
        """Return the window sets in which a ledger is replayed: these."""
        return self

    def join(self, past: "WindowSets") -> None:
        """Continue from the sets in which a ledger was replayed."""
        self.start_run()

    def distrust_past(self) -> None:
        """Note that the past was dated by a clock that was set since."""
        for clock in (self.offset, *self._clocks.values()):
            clock.forget()
        for window_set in self._window_sets.values():
            window_set.distrust_past()

    def shift(self, delta: float) -> None:
        """Move every instant by `delta` seconds: our clock was set, with nothing in flight."""
        for clock in (self.offset, *self._clocks.values()):
            clock.shift(delta)
        for window_set in self._window_sets.values():
            window_set.shift(delta)

    def predict_done(self, endpoint: str, count: int, now: float) -> float | None:
        """Return when the windows will have let `count` more requests to an endpoint leave.

        Each request is taken to be answered at once. None: not within a year, or nobody can say yet, as no reply has
        shown how long these windows last.
        """
        window_sets = self.find_usable(endpoint)

        def room(span: float) -> int:
            return sum(window_set.count_slots(now, now + span) for window_set in window_sets)

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
        return now + high if all(window_set.can_foresee(now + high) for window_set in window_sets) else None

    def _get_window_set(self, name: str, place: str) -> WindowSet:
        found = self._window_sets.get((name, place))
        if found is None:
            found = self._window_sets[name, place] = self._make_window_set(
                name, place, self.get_rules(name, place), (0,)
            )
        return found

    def _get_endpoint_windows(self, name: str, place: str) -> EndpointWindows:
        """Return the windows of a credential at an endpoint that shares some of them with others of its pool group."""
        found = self._endpoint_windows.get((name, place))
        if found is None:
            key = self.policy.find_key(place)
            group = self.pool_groups[key]
            kind, where = self._find_kind(name, group.list_rules), parse_host(place) + group.name
            window_set = self._window_sets.get((name, where))
            if window_set is None:
                window_set = self._window_sets[name, where] = self._make_window_set(
                    name, where, group.list_rules(kind), group.find_heads(kind)
                )
            found = self._endpoint_windows[name, place] = EndpointWindows(
                window_set, place, group.find_places(key, kind)
            )
        return found

    def _find_kind(self, name: str, rules: Callable[[str], tuple[Rule, ...]]) -> str:
        """Return the rules by which a credential counts; for an unknown one, any that there are."""
        kind = next((credential.kind for credential in self.credentials if credential.name == name), "app")
        return next((one for one in (kind, "app", "user", "public") if rules(one)), kind)

    def _make_clock(self) -> ClockOffset:
        return ClockOffset()

    def _make_window_set(self, name: str, where: str, rules: tuple[Rule, ...], heads: tuple[int, ...]) -> WindowSet:
        return WindowSet(name, where, rules, self.get_clock(parse_host(where)), heads)

    def _drop(self, window_set: WindowSet) -> None:
        """Do nothing more: nobody else uses the windows."""

    def _find_allowed(self, place: str) -> list[Credential]:
        """Return the credentials with rules at a place: tokens of its host, or else those without a token."""
        name, known = parse_host(place), self.policy.get_endpoint(place)
        some = [one for one in self.credentials if one.host == name]
        if name and not some:
            some = [one for one in self.credentials if not one.host and one.kind == "public"]
        return [one for one in some if known.get_rules(one.kind)]

    def _is_refused(self, name: str, place: str) -> bool:
        return name in self.aside or (name, place) in self.barred
