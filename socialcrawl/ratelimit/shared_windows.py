"""The windows of tokens that several campaigns of one process use. Pure except for the lock: time is an argument.

A token on a server is known by its mark, whatever its variable is called. Campaigns with the same mark share one
window set per endpoint, and each has a share of its slots by its weight; campaigns on one server share the estimate of
its clock; and campaigns that share a token count the posts of a billing cycle together. Each campaign has its own
pauses after failures, budget and disabled tokens.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import product
from threading import RLock
from typing import NamedTuple

from socialcrawl.engine.model import Credential, Grant, Reply
from socialcrawl.errors import SettingsError
from socialcrawl.ratelimit.billing_cycle import BillingCycle, BillingCycles, CycleCount
from socialcrawl.ratelimit.clock_offset import ClockOffset
from socialcrawl.ratelimit.endpoint_windows import EndpointPlaces, EndpointWindows, RequestWindows
from socialcrawl.ratelimit.other_processes import OtherProcesses
from socialcrawl.ratelimit.policy import Policy, Rule, parse_host
from socialcrawl.ratelimit.received_requests import LAG
from socialcrawl.ratelimit.shared_window_set import (
    CampaignWindowSet,
    RecordedClockOffset,
    RecordedWindowSet,
    ReportedRequest,
    SharedWindowSet,
    WindowEvent,
)
from socialcrawl.ratelimit.window_set import WindowSet
from socialcrawl.ratelimit.window_sets import FEW, WindowSets

LATELY = 60.0  # seconds for which the posts of a ledger that was read need not be counted again
Place = tuple[str, str]
"""The mark of a token, and an endpoint."""


class SentRequest(NamedTuple):
    """A request of any campaign, with the name that a credential of ours has whose token it used.

    `left` is when it left, `landed` when its reply came (Unix seconds); None: that never came, or nobody knows. `ahead`
    are seconds by which our clock is ahead of that of its sender.
    """

    credential: str
    endpoint: str
    left: float
    landed: float | None = None
    ahead: float = 0.0


Elsewhere = Callable[[float], Mapping[str, Sequence[SentRequest]]]
"""What has been sent since an instant with tokens of ours, by ledger: of campaigns open or not, in any process."""


class SharedWindows:
    """What the campaigns of one process share.

    Attributes:
        lock: held by planners while they decide and learn.
        on_release: called with the name of each campaign that waits for its share when others give up theirs; without
            the lock, unless the caller of `drop_claim` or `leave` holds it.
        database_clock: the clock of database servers (Unix seconds), where it is moved by hand; None: their own.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self.on_release: Callable[[str], None] | None = None
        self.database_clock: Callable[[], float] | None = None
        self.members: dict[str, Membership] = {}
        self._window_sets: dict[Place, SharedWindowSet] = {}
        self.ledgers: dict[str, str] = {}  # what the ledger of each campaign is called, also of those that left
        self._clocks: dict[str, RecordedClockOffset] = {}  # by mark and by address
        self.cycles = BillingCycles()
        self.cycles_read_at: dict[str, float] = {}  # when ledgers of campaigns that are not here were read for that
        self._others: dict[str, OtherProcesses] = {}  # by database
        self._many = FEW

    def join(
        self, campaign: str, weight: float, base: str, marks: Mapping[str, str], bills: Iterable[str] = ()
    ) -> "Membership":
        """Return a campaign's part in the windows.

        Args:
            campaign: its name.
            weight: its share, in proportion to the weights of the others.
            base: the address of the server.
            marks: of its tokens, by the names of the credentials; a credential without one is shared with nobody.
            bills: the marks of what it is billed by, beside its tokens.

        Raises:
            SettingsError: a campaign of this name has joined already.
        """
        with self.lock:
            if campaign in self.members:
                raise SettingsError(f"Two campaigns are called {campaign!r}: give one of them another name.")
            known = [self._clocks[key] for key in (*sorted(marks.values()), base) if key in self._clocks]
            clock = known[0] if known else RecordedClockOffset()
            for key in (*marks.values(), base):
                self._clocks.setdefault(key, clock)
            member = self.members[campaign] = Membership(self, campaign, weight, dict(marks), clock)
            member.bills = frozenset(bills)
            return member

    def shift(self, delta: float) -> None:
        """Move every instant of windows and campaigns by `delta` seconds: our clock was set, with nothing in flight."""
        with self.lock:
            for window_set in self._window_sets.values():
                window_set.shift(delta)
            for clock in {id(clock): clock for clock in self._clocks.values()}.values():
                clock.shift(delta)
            for others in self._others.values():
                others.shift(delta)
            for member in self.members.values():
                if member.on_shift is not None:
                    member.on_shift(delta)

    def get_window_set(
        self, place: Place, rules: tuple[Rule, ...], clock: RecordedClockOffset, heads: tuple[int, ...]
    ) -> SharedWindowSet:
        """Return the window set of a token on an endpoint; an unused one may get other rules."""
        found = self._window_sets.get(place)
        if found is None or found.rules != rules:
            made = SharedWindowSet(*place, rules, clock, heads)
            if self._others:
                made.expect_others()
            if found is not None:
                made.succeed(found)
            found = self._window_sets[place] = made
        return found

    def forget_idle_hosts(self, now: float) -> None:
        """Forget the hosts that nobody uses, and in whose windows nothing is left, when there are many."""
        if len(self._window_sets) < self._many:
            return
        used = {
            parse_host(at)
            for (_, at), window_set in self._window_sets.items()
            if window_set.members or not window_set.is_idle(now)
        } | {""}
        self._window_sets = {
            place: window_set for place, window_set in self._window_sets.items() if parse_host(place[1]) in used
        }
        for clock in self._clocks.values():
            clock.hosts = {name: its for name, its in clock.hosts.items() if name in used}
        self._many = max(FEW, 2 * len(self._window_sets))

    def get_others(self, database: str) -> OtherProcesses:
        """Return what other processes of a database have sent; it is named as `identify_database` does."""
        with self.lock:
            return self._others.setdefault(database, OtherProcesses(self.lock, self.cycles))

    def notify_released(self, names: Iterable[str]) -> None:
        """Notify campaigns that wait for their share that others have given theirs up."""
        if self.on_release is not None:
            for name in sorted(names):
                self.on_release(name)


class Membership:
    """The part that one campaign has in shared windows.

    Attributes:
        weight: its share, in proportion to the weights of the others; may be changed at any time.
        is_claiming: whether it claims its share.
        rules: of the window sets that it may use; `pools` their names by endpoint.
        on_shift: called when the clock was set.
        bills: the marks of what it is billed by, beside its tokens.
        is_folded: whether its ledger is counted.
        read_elsewhere: reads what other campaigns have sent, which need not be open.
        read_cycles: reads what other campaigns have read in the billing cycle of an instant, by ledger, without some
            ledgers.
        others: what other processes of its database send; None: they are not followed.
        refresh: counts what these have sent, where that may let a request leave; returns whether it did.
    """

    def __init__(
        self, shared: SharedWindows, campaign: str, weight: float, marks: Mapping[str, str], clock: RecordedClockOffset
    ) -> None:
        self.shared, self.campaign, self.weight, self.clock = shared, campaign, weight, clock
        self.lock = shared.lock
        self.is_claiming = self.is_folded = False
        self.rules: dict[Place, tuple[Rule, ...]] = {}
        self.pools: dict[str, tuple[str, ...]] = {}
        self.on_shift: Callable[[float], None] | None = None
        self.read_elsewhere: Elsewhere = lambda since: {}
        self.read_cycles: Callable[[float, Collection[str]], Mapping[str, CycleCount]] = lambda now, known: {}
        self.bills = frozenset[str]()
        self.others: OtherProcesses | None = None
        self.refresh: Callable[[float], bool] = lambda now: False
        self._marks = marks
        self._window_sets: list[CampaignWindowSet] = []

    @property
    def ledger(self) -> str:
        """The unique name of its ledger, whatever its database is called in campaign files."""
        return self.shared.ledgers.get(self.campaign, self.campaign)

    def set_ledger(self, ledger: str) -> None:
        """Set the unique name of its ledger, once its database is open."""
        with self.lock:
            self.shared.cycles.rename(self.ledger, ledger)
            self.shared.ledgers[self.campaign] = ledger

    def claim_share(self) -> None:
        """Claim its share of the windows that it asks for: its turn begins."""
        with self.lock:
            self.is_claiming = True

    def drop_claim(self) -> None:
        """Claim nothing until `claim_share`, or until it asks for a slot: it waits for something else."""
        with self.lock:
            released = self._drop_claim()
        self.shared.notify_released(released)

    def leave(self) -> None:
        """Leave the windows; what is in flight counts as received within LAG seconds."""
        with self.lock:
            released = self._drop_claim()
            self._leave_window_sets()
            if self.shared.members.get(self.campaign) is self:
                del self.shared.members[self.campaign]
                if self.others is not None:
                    self.others.leave(self.campaign)
        self.shared.notify_released(released)

    def enter(self, window_sets: WindowSets, cycle: BillingCycle, move: Callable[[float], None]) -> None:
        """Let a planner act for the campaign, instead of any before; `move` is called when the clock was set.

        Raises:
            SettingsError: another campaign uses one of the tokens by other rules.
        """
        with self.lock:
            rules = {
                (self.get_mark(one.name), endpoint): window_sets.get_rules(one.name, endpoint)
                for one, endpoint in product(window_sets.credentials, window_sets.policy.endpoints)
            }
            pools = {name: tuple(one.name for one in its.pools) for name, its in window_sets.policy.endpoints.items()}
            for other in self.shared.members.values():
                for place in rules.keys() & other.rules.keys() if other is not self else ():
                    alike = other.pools[place[1]] == pools[place[1]]
                    _check_rules(other.campaign, other.rules[place], self.campaign, rules[place], place[1], alike=alike)
            self.shared.cycles.resume(self.ledger, cycle)
            self._count(cycle, rules)
            self._leave_window_sets()
            self.rules, self.pools, self.on_shift = rules, pools, move

    def count(self, cycle: BillingCycle) -> None:
        """Count these posts for the campaign, see `BillingCycles`."""
        self._count(cycle, self.rules)

    def read_other_cycles(self, now: float) -> Mapping[str, CycleCount]:
        """Return what other campaigns have read in the billing cycle, unless it was read here lately."""
        with self.lock:
            known = self._list_open_ledgers() | {
                ledger for ledger, at in self.shared.cycles_read_at.items() if now - LATELY < at <= now
            }
            known |= self.others.ledgers if self.others is not None else set()
        return self.read_cycles(now, known)

    def count_other_cycles(self, cycles: Mapping[str, CycleCount], now: float) -> None:
        """Count the posts of campaigns that are not here, from their ledgers."""
        closed = {ledger: counted for ledger, counted in cycles.items() if ledger not in self._list_open_ledgers()}
        self.shared.cycles.count_reported(closed, now)
        self.shared.cycles_read_at.update(dict.fromkeys(closed, now))

    def count_other_posts(self, now: float) -> int:
        """Return how many posts of the billing cycle others with its tokens may have read."""
        return self.shared.cycles.count_other_posts(self.ledger, now)

    def get_mark(self, credential: str) -> str:
        """Return the mark that identifies a token; one without a mark is the campaign's own."""
        return self._marks.get(credential, f"{self.campaign}/{credential}")

    def join_window_set(
        self, credential: str, where: str, rules: tuple[Rule, ...], heads: tuple[int, ...]
    ) -> CampaignWindowSet:
        """Return a shared window set as the campaign sees it."""
        shared_set = self.shared.get_window_set(
            (self.get_mark(credential), where), rules, self.get_clock(parse_host(where)), heads
        )
        self._window_sets.append(CampaignWindowSet(credential, self.campaign, shared_set, self, self.ledger))
        return self._window_sets[-1]

    def get_clock(self, name: str) -> RecordedClockOffset:
        """Return the clock of a host, by its name; that of the campaign's own server has none."""
        return self.clock.hosts.setdefault(name, RecordedClockOffset()) if name else self.clock

    def drop(self, window_sets: Collection[CampaignWindowSet]) -> None:
        """Leave some window sets."""
        for window_set in window_sets:
            window_set.leave()
        gone = {id(window_set) for window_set in window_sets}
        self._window_sets = [window_set for window_set in self._window_sets if id(window_set) not in gone]

    def _list_open_ledgers(self) -> set[str]:
        return {member.ledger for member in self.shared.members.values() if member.is_folded}

    def _count(self, cycle: BillingCycle, places: Iterable[Place]) -> None:
        here = {member.ledger: member.campaign for member in self.shared.members.values()}
        self.shared.cycles.count(self.ledger, self.bills | {mark for mark, _ in places}, cycle, here)

    def _drop_claim(self) -> set[str]:
        self.is_claiming = False
        return {name for window_set in self._window_sets for name in window_set.release()}

    def _leave_window_sets(self) -> None:
        for window_set in self._window_sets:
            window_set.leave()
        self._window_sets.clear()


class ReplayedWindowSets(WindowSets):
    """Window sets in which a ledger is replayed, to be joined with those that are shared.

    Attributes:
        recorded: the sets, by credential and place.
        is_distrusted: whether the past was dated by a clock that was set since.
        ahead: when requests left that count as of now, as the ledger dates them later.
    """

    def __init__(self, policy: Policy, credentials: Sequence[Credential]) -> None:
        super().__init__(policy, credentials)
        self.offset = RecordedClockOffset()
        self.recorded: dict[tuple[str, str], RecordedWindowSet] = {}
        self.is_distrusted = False
        self.ahead: set[float] = set()

    def distrust_past(self) -> None:
        """Note that the past was dated by a clock that was set since."""
        super().distrust_past()
        self.is_distrusted = True

    def list_clocks(self) -> list[tuple[str, RecordedClockOffset]]:
        """Return the clocks of all servers, by the names of the hosts."""
        its = [("", self.offset), *self._clocks.items()]
        return [(name, clock) for name, clock in its if isinstance(clock, RecordedClockOffset)]

    def _make_clock(self) -> ClockOffset:
        return RecordedClockOffset()

    def _make_window_set(self, name: str, where: str, rules: tuple[Rule, ...], heads: tuple[int, ...]) -> WindowSet:
        made = self.recorded[name, where] = RecordedWindowSet(
            name, where, rules, self.get_clock(parse_host(where)), heads
        )
        return made


class SharedWindowSets(WindowSets):
    """The window sets of a campaign that other campaigns share."""

    def __init__(self, policy: Policy, credentials: Sequence[Credential], member: Membership) -> None:
        super().__init__(policy, credentials)
        self.offset = member.clock
        self.member = member
        self._dropped: list[CampaignWindowSet] = []

    def get_clock(self, name: str) -> ClockOffset:
        """Return the clock of a host, which all campaigns ask."""
        return self.member.get_clock(name)

    def learn(self, grant: Grant, reply: Reply) -> RequestWindows:
        """Learn from a reply; return the window set that it came by."""
        window_set = super().learn(grant, reply)
        if reply.date is not None:
            self.member.get_clock(parse_host(grant.request.endpoint)).recording = None
        return window_set

    def forget_idle_hosts(self, now: float) -> None:
        """Forget the hosts in whose windows nothing is left, when there are many."""
        super().forget_idle_hosts(now)
        if self._dropped:
            self.member.drop(self._dropped)
            self._dropped.clear()
        self.member.shared.forget_idle_hosts(now)

    def start_replay(self) -> ReplayedWindowSets:
        """Return the window sets in which a ledger is replayed: new ones, as these are in use."""
        return ReplayedWindowSets(self.policy, self.credentials)

    def join(self, past: WindowSets) -> None:
        """Count what is in a ledger; what others do meanwhile is not forgotten."""
        self.restore_credentials()
        if isinstance(past, ReplayedWindowSets):
            for name, clock in past.list_clocks():
                self.member.get_clock(name).adopt(clock)
            for (name, where), replayed in past.recorded.items():
                window_set = self._window_sets.get((name, where))
                if window_set is None:
                    window_set = self._window_sets[name, where] = self._make_window_set(
                        name, where, replayed.rules, replayed.heads
                    )
                if isinstance(window_set, CampaignWindowSet):
                    window_set.shared_set.adopt(self.member.ledger, replayed, past.ahead)
                    if past.is_distrusted:
                        window_set.shared_set.distrust_past()

    def count(self, elsewhere: Mapping[str, Sequence[SentRequest]], now: float) -> None:
        """Count what was sent, by ledger, without what was counted before.

        That does not show when windows began: each request counts for as long as it may. Some may have come since
        `now`, but none since they were read.
        """
        others = self.member.others
        latest = now if others is None else max(now, others.read_at)
        for ledger, requests in elsewhere.items():
            reports: dict[int, tuple[SharedWindowSet, list[ReportedRequest]]] = {}
            for one in requests:
                way = self.get(one.credential, one.endpoint) if self.policy.find_endpoint(one.endpoint) else None
                window_set, places = (way.window_set, way.places) if isinstance(way, EndpointWindows) else (way, None)
                if isinstance(window_set, CampaignWindowSet):
                    left = min(one.left + one.ahead, latest)
                    landed = left + LAG if one.landed is None else min(one.landed + one.ahead, latest)
                    step = WindowEvent(landed, left, landed, lambda window_set: None, places)
                    reports.setdefault(id(window_set.shared_set), (window_set.shared_set, []))[1].append(
                        ReportedRequest(one.left, step)
                    )
            for shared_set, steps in reports.values():
                shared_set.count(ledger, steps)

    def find_shared(self, mark: str, endpoint: str) -> RequestWindows | None:
        """See `other_processes.Participant`."""
        name = next((one.name for one in self.credentials if self.member.get_mark(one.name) == mark), None)
        if name is None or self.policy.find_endpoint(endpoint) is None:
            return None
        way = self.get(name, endpoint)
        mine = way.window_set if isinstance(way, EndpointWindows) else way
        if not isinstance(mine, CampaignWindowSet):
            return None
        if isinstance(way, EndpointWindows):
            return EndpointWindows(mine.shared_set, way.endpoint, EndpointPlaces(way.places, way.heads))
        return mine.shared_set

    def count_posts(self, endpoint: str, items: int) -> int:
        """See `other_processes.Participant`."""
        return items if self.policy.get_endpoint(endpoint).returns == "post" else 0

    def shift(self, delta: float) -> None:
        """Do nothing: `SharedWindows.shift` moves what is shared."""

    def _make_window_set(self, name: str, where: str, rules: tuple[Rule, ...], heads: tuple[int, ...]) -> WindowSet:
        return self.member.join_window_set(name, where, rules, heads)

    def _drop(self, window_set: WindowSet) -> None:
        if isinstance(window_set, CampaignWindowSet):
            self._dropped.append(window_set)


def _check_rules(
    one: str, his: tuple[Rule, ...], other: str, its: tuple[Rule, ...], endpoint: str, *, alike: bool
) -> None:
    if his == its and alike:
        return
    first, second = (rules[0] if rules else None for rules in (his, its))
    key = "[source] policy, and the kind of the token"
    if first and second and first.kind == second.kind and his[1:] == its[1:] and first != second:
        key = "[limits] " + " and ".join(name for name in ("k", "d") if getattr(first, name) != getattr(second, name))
    raise SettingsError(
        f"The campaigns {one} and {other} use the same token by different rules for {endpoint} "
        f"({_describe_rules(his)}; {_describe_rules(its)}): "
        f"give both the same {key}, or give {other} a token of its own."
    )


def _describe_rules(rules: tuple[Rule, ...]) -> str:
    return " and ".join(f"{rule.k:,} requests in {rule.d:g} s" for rule in rules) or "none"
