"""The windows of tokens that several campaigns of one process use. Pure but for the lock: time is an argument.

A token on a server is known by its mark, whatever its variable is called. Campaigns with the same mark have one lane
an endpoint, of whose slots each has a share by its weight; campaigns on one server have one idea of its clock; and
campaigns that share a token count the posts of a billing cycle together. Pauses after failures, budgets and tokens
that were set aside are a campaign's own.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import product
from threading import RLock
from typing import NamedTuple

from socialcrawl.engine.model import Credential, Grant, Reply
from socialcrawl.errors import SettingsError
from socialcrawl.ratelimit.billing_cycle import Counted, Cycle, Cycles
from socialcrawl.ratelimit.clock_offset import Offset
from socialcrawl.ratelimit.joined_lane import JoinedLane, Part, Step, TapedLane, TapedOffset, Told
from socialcrawl.ratelimit.lane import Lane
from socialcrawl.ratelimit.lanes import FEW, Lanes
from socialcrawl.ratelimit.policy import Policy, Rule, host
from socialcrawl.ratelimit.received import LAG
from socialcrawl.ratelimit.strand import Strand, Way

LATELY = 60.0  # seconds for which the posts of a ledger that was read need not be counted again
Place = tuple[str, str]
"""The mark of a token, and an endpoint."""


class Sent(NamedTuple):
    """A request of any campaign, with the name that a credential of ours has whose token it used.

    `left` is when it left, `landed` when its reply came (Unix seconds); None: that never came, or nobody knows.
    """

    credential: str
    endpoint: str
    left: float
    landed: float | None = None


Elsewhere = Callable[[float], Mapping[str, Sequence[Sent]]]
"""What has been sent since an instant with tokens of ours, by ledger: of campaigns open or not, in any process."""


class Shared:
    """What the campaigns of one process share.

    Attributes:
        lock: held by planners while they decide and learn.
        on_release: told the name of each campaign that waits for its share as others give up theirs; called without the
            lock, unless who calls `idle` or `leave` holds it.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self.on_release: Callable[[str], None] | None = None
        self.members: dict[str, Membership] = {}
        self._lanes: dict[Place, JoinedLane] = {}
        self.ledgers: dict[str, str] = {}  # what the ledger of each campaign is called, also of those that left
        self._clocks: dict[str, TapedOffset] = {}  # by mark and by address
        self.cycles = Cycles()
        self.heard: dict[str, float] = {}  # when ledgers of campaigns that are not here were read for that
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
            clock = known[0] if known else TapedOffset()
            for key in (*marks.values(), base):
                self._clocks.setdefault(key, clock)
            member = self.members[campaign] = Membership(self, campaign, weight, dict(marks), clock)
            member.bills = frozenset(bills)
            return member

    def shift(self, delta: float) -> None:
        """Move every instant of windows and campaigns by `delta` seconds: our clock was set, with nothing in flight."""
        with self.lock:
            for lane in self._lanes.values():
                lane.shift(delta)
            for clock in {id(clock): clock for clock in self._clocks.values()}.values():
                clock.shift(delta)
            for member in self.members.values():
                if member.move is not None:
                    member.move(delta)

    def lane(self, place: Place, rules: tuple[Rule, ...], clock: TapedOffset, heads: tuple[int, ...]) -> JoinedLane:
        """Return the lane of a token on an endpoint; one that nobody uses any more may get other rules."""
        found = self._lanes.get(place)
        if found is None or found.rules != rules:
            made = JoinedLane(*place, rules, clock, heads)
            if found is not None:
                made.succeed(found)
            found = self._lanes[place] = made
        return found

    def let_go(self, now: float) -> None:
        """Forget the hosts that nobody uses, and in whose windows nothing is left, when there are many."""
        if len(self._lanes) < self._many:
            return
        used = {host(at) for (_, at), lane in self._lanes.items() if lane.members or not lane.quiet(now)} | {""}
        self._lanes = {place: lane for place, lane in self._lanes.items() if host(place[1]) in used}
        for clock in self._clocks.values():
            clock.hosts = {name: its for name, its in clock.hosts.items() if name in used}
        self._many = max(FEW, 2 * len(self._lanes))

    def tell(self, names: Iterable[str]) -> None:
        """Let those that wait for their share know that others have given theirs up."""
        if self.on_release is not None:
            for name in sorted(names):
                self.on_release(name)


class Membership:
    """The part that one campaign has in shared windows.

    Attributes:
        weight: its share, in proportion to the weights of the others; may be changed at any time.
        eager: whether it claims its share.
        rules: of the lanes that it may use; `pools` their names by endpoint.
        move: called when the clock was set.
        bills: the marks of what it is billed by, beside its tokens.
        folded: whether what its ledger tells is counted.
        elsewhere: reads what other campaigns have sent, which need not be open.
        cycles: reads what other campaigns have read in the billing cycle that an instant falls in, by ledger, but for
            some ledgers.
    """

    def __init__(
        self, shared: Shared, campaign: str, weight: float, marks: Mapping[str, str], clock: TapedOffset
    ) -> None:
        self.shared, self.campaign, self.weight, self.clock = shared, campaign, weight, clock
        self.lock = shared.lock
        self.eager = self.folded = False
        self.rules: dict[Place, tuple[Rule, ...]] = {}
        self.pools: dict[str, tuple[str, ...]] = {}
        self.move: Callable[[float], None] | None = None
        self.elsewhere: Elsewhere = lambda since: {}
        self.cycles: Callable[[float, Collection[str]], Mapping[str, Counted]] = lambda now, known: {}
        self.bills = frozenset[str]()
        self._marks = marks
        self._parts: list[Part] = []

    @property
    def ledger(self) -> str:
        """What tells its ledger from all others, whatever its database is called in campaign files."""
        return self.shared.ledgers.get(self.campaign, self.campaign)

    def called(self, ledger: str) -> None:
        """Take in what its ledger is called, once its database is open."""
        with self.lock:
            self.shared.cycles.rename(self.ledger, ledger)
            self.shared.ledgers[self.campaign] = ledger

    def hungry(self) -> None:
        """Claim its share of the windows that it asks for: its turn begins."""
        with self.lock:
            self.eager = True

    def idle(self) -> None:
        """Claim nothing until it is hungry again, or asks for a slot: it waits for something else."""
        with self.lock:
            told = self._release()
        self.shared.tell(told)

    def leave(self) -> None:
        """Let go of the windows; what is in flight counts as received within LAG seconds."""
        with self.lock:
            told = self._release()
            self._let_go()
            if self.shared.members.get(self.campaign) is self:
                del self.shared.members[self.campaign]
        self.shared.tell(told)

    def enter(self, lanes: Lanes, cycle: Cycle, move: Callable[[float], None]) -> None:
        """Let a planner act for the campaign, instead of any before; `move` is called when the clock was set.

        Raises:
            SettingsError: another campaign uses one of the tokens by other rules.
        """
        with self.lock:
            rules = {
                (self.mark(one.name), endpoint): lanes.rules(one.name, endpoint)
                for one, endpoint in product(lanes.credentials, lanes.policy.endpoints)
            }
            pools = {name: tuple(one.name for one in its.pools) for name, its in lanes.policy.endpoints.items()}
            for other in self.shared.members.values():
                for place in rules.keys() & other.rules.keys() if other is not self else ():
                    alike = other.pools[place[1]] == pools[place[1]]
                    _agree(other.campaign, other.rules[place], self.campaign, rules[place], place[1], alike=alike)
            self.shared.cycles.go_on(self.ledger, cycle)
            self._count(cycle, rules)
            self._let_go()
            self.rules, self.pools, self.move = rules, pools, move

    def count(self, cycle: Cycle) -> None:
        """Count these posts for the campaign, see `Cycles.count`."""
        self._count(cycle, self.rules)

    def listen(self, now: float) -> Mapping[str, Counted]:
        """Return what other campaigns have read in the billing cycle, of which nobody here has told lately."""
        with self.lock:
            known = self._here() | {ledger for ledger, at in self.shared.heard.items() if now - LATELY < at <= now}
        return self.cycles(now, known)

    def hear(self, cycles: Mapping[str, Counted], now: float) -> None:
        """Count the posts of campaigns that are not here, as their ledgers tell."""
        told = {ledger: counted for ledger, counted in cycles.items() if ledger not in self._here()}
        self.shared.cycles.hear(told, now)
        self.shared.heard.update(dict.fromkeys(told, now))

    def posts(self, now: float) -> int:
        """Return posts of the billing cycle that others with its tokens may have read."""
        return self.shared.cycles.posts(self.ledger, now)

    def mark(self, credential: str) -> str:
        """Return what tells a token from others; one without a mark is the campaign's own."""
        return self._marks.get(credential, f"{self.campaign}/{credential}")

    def part(self, credential: str, where: str, rules: tuple[Rule, ...], heads: tuple[int, ...]) -> Part:
        """Return the campaign's part of a lane."""
        whole = self.shared.lane((self.mark(credential), where), rules, self.at(host(where)), heads)
        self._parts.append(Part(credential, self.campaign, whole, self, self.ledger))
        return self._parts[-1]

    def at(self, name: str) -> TapedOffset:
        """Return the clock of a host, by its name; that of the campaign's own server has none."""
        return self.clock.hosts.setdefault(name, TapedOffset()) if name else self.clock

    def drop(self, parts: Collection[Part]) -> None:
        """Let go of some parts."""
        for part in parts:
            part.leave()
        gone = {id(part) for part in parts}
        self._parts = [part for part in self._parts if id(part) not in gone]

    def _here(self) -> set[str]:
        return {member.ledger for member in self.shared.members.values() if member.folded}

    def _count(self, cycle: Cycle, rules: Iterable[Place]) -> None:
        here = {member.ledger: member.campaign for member in self.shared.members.values()}
        self.shared.cycles.count(self.ledger, self.bills | {mark for mark, _ in rules}, cycle, here)

    def _release(self) -> set[str]:
        self.eager = False
        return {name for part in self._parts for name in part.release()}

    def _let_go(self) -> None:
        for part in self._parts:
            part.leave()
        self._parts.clear()


class PastLanes(Lanes):
    """Lanes in which a ledger is lived through, to be joined with those that are shared.

    Attributes:
        taped: the lanes, by credential and place.
        doubted: whether the past was dated by a clock that was set since.
        ahead: when requests left that count as of now, as the ledger dates them later.
    """

    def __init__(self, policy: Policy, credentials: Sequence[Credential]) -> None:
        super().__init__(policy, credentials)
        self.offset = TapedOffset()
        self.taped: dict[tuple[str, str], TapedLane] = {}
        self.doubted = False
        self.ahead: set[float] = set()

    def doubt(self) -> None:
        """Note that the past was dated by a clock that was set since."""
        super().doubt()
        self.doubted = True

    def clocks(self) -> list[tuple[str, TapedOffset]]:
        """Return the clocks of all servers, by the names of the hosts."""
        its = [("", self.offset), *self._clocks.items()]
        return [(name, clock) for name, clock in its if isinstance(clock, TapedOffset)]

    def _clock(self) -> Offset:
        return TapedOffset()

    def _made(self, name: str, where: str, rules: tuple[Rule, ...], heads: tuple[int, ...]) -> Lane:
        made = self.taped[name, where] = TapedLane(name, where, rules, self.clock(host(where)), heads)
        return made


class SharedLanes(Lanes):
    """The lanes of a campaign whose windows others use too."""

    def __init__(self, policy: Policy, credentials: Sequence[Credential], member: Membership) -> None:
        super().__init__(policy, credentials)
        self.offset = member.clock
        self.member = member
        self._gone: list[Part] = []

    def clock(self, name: str) -> Offset:
        """Return the clock of a host, which all campaigns ask."""
        return self.member.at(name)

    def learn(self, grant: Grant, reply: Reply) -> Way:
        """Take in a reply; the lane that it came by."""
        lane = super().learn(grant, reply)
        if reply.date is not None:
            self.member.at(host(grant.request.endpoint)).tape = None
        return lane

    def let_go(self, now: float) -> None:
        """Forget the hosts in whose windows nothing is left, when there are many."""
        super().let_go(now)
        if self._gone:
            self.member.drop(self._gone)
            self._gone.clear()
        self.member.shared.let_go(now)

    def past(self) -> PastLanes:
        """Return the lanes in which a ledger is lived through: others, as these are in use."""
        return PastLanes(self.policy, self.credentials)

    def join(self, past: Lanes) -> None:
        """Count what a ledger tells; what others do meanwhile is not forgotten."""
        self.forgive()
        if isinstance(past, PastLanes):
            for name, clock in past.clocks():
                self.member.at(name).adopt(clock)
            for (name, where), lane in past.taped.items():
                part = self._lanes.get((name, where))
                if part is None:
                    part = self._lanes[name, where] = self._made(name, where, lane.rules, lane.heads)
                if isinstance(part, Part):
                    part.whole.adopt(self.member.ledger, lane, past.ahead)
                    if past.doubted:
                        part.whole.doubt()

    def count(self, elsewhere: Mapping[str, Sequence[Sent]], now: float) -> None:
        """Count what was sent, by ledger, but for what was counted before.

        That tells nothing of when windows began: each request counts for as long as it may.
        """
        for ledger, requests in elsewhere.items():
            told: dict[int, tuple[JoinedLane, list[Told]]] = {}
            for one in requests:
                way = self.lane(one.credential, one.endpoint) if self.policy.known(one.endpoint) else None
                part, some = (way.lane, way.some) if isinstance(way, Strand) else (way, None)
                if isinstance(part, Part):
                    left = min(one.left, now)
                    landed = left + LAG if one.landed is None else min(one.landed, now)
                    step = Step(landed, left, landed, lambda lane: None, some)
                    told.setdefault(id(part.whole), (part.whole, []))[1].append(Told(one.left, step))
            for whole, steps in told.values():
                whole.count(ledger, steps)

    def shift(self, delta: float) -> None:
        """Do nothing: `Shared.shift` moves what is shared."""

    def _made(self, name: str, where: str, rules: tuple[Rule, ...], heads: tuple[int, ...]) -> Lane:
        return self.member.part(name, where, rules, heads)

    def _dropped(self, lane: Lane) -> None:
        if isinstance(lane, Part):
            self._gone.append(lane)


def _agree(one: str, his: tuple[Rule, ...], other: str, its: tuple[Rule, ...], endpoint: str, *, alike: bool) -> None:
    if his == its and alike:
        return
    first, second = (rules[0] if rules else None for rules in (his, its))
    key = "[source] policy, and the kind of the token"
    if first and second and first.kind == second.kind and his[1:] == its[1:] and first != second:
        key = "[limits] " + " and ".join(name for name in ("k", "d") if getattr(first, name) != getattr(second, name))
    raise SettingsError(
        f"The campaigns {one} and {other} use the same token by different rules for {endpoint} ({_words(his)}; "
        f"{_words(its)}): give both the same {key}, or give {other} a token of its own."
    )


def _words(rules: tuple[Rule, ...]) -> str:
    return " and ".join(f"{rule.k:,} requests in {rule.d:g} s" for rule in rules) or "none"
