"""The planner: may this request leave, with which credential, and what does its reply mean for the next ones? Pure."""

from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush
from math import inf
from threading import RLock

from socialcrawl.engine.model import (
    FAILED,
    USEFUL,
    Answer,
    Credential,
    Grant,
    Page,
    Reply,
    ReplyKind,
    Request,
    Stop,
    StopKind,
    Wait,
    format_time,
)
from socialcrawl.engine.protocols import Ledger, Summed
from socialcrawl.ratelimit.billing_cycle import Cycle, cycle
from socialcrawl.ratelimit.budget import Budget, Caps
from socialcrawl.ratelimit.lanes import Lanes
from socialcrawl.ratelimit.outage import Outage
from socialcrawl.ratelimit.policy import Policy, host
from socialcrawl.ratelimit.received import LAG
from socialcrawl.ratelimit.retry import FEW, LONGEST, PROBE, Backoff
from socialcrawl.ratelimit.shared_windows import Membership, PastLanes, SharedLanes
from socialcrawl.ratelimit.strand import Way
from socialcrawl.ratelimit.window import DAY, longest

MEMORY = 4  # of the longest windows: what lies further back no window counts, nor when its own began


class WindowPlanner:
    """Windows of every credential x endpoint, back-off, the budget of the campaign and the cap of the billing cycle.

    Args:
        policy: rules, page sizes and prices of the platform.
        credentials: the tokens that may be used, by name (never the tokens).
        caps: the budget.
        backoff: when failures are tried again.
        cycle_day: the day of the month on which the billing cycle begins.
        shared: the campaign's part in windows that other campaigns of this process use too; None: they are its own.
        home: the host of the campaign's own server, where a platform is many of them; one that is not may be in trouble
            without anybody waiting for it. "": there is none, or all endpoints are its own.

    Raises:
        SettingsError: another campaign uses one of the tokens by other rules.
    """

    def __init__(
        self,
        policy: Policy,
        credentials: Sequence[Credential],
        caps: Caps,
        backoff: Backoff | None = None,
        cycle_day: int = 1,
        *,
        shared: Membership | None = None,
        home: str = "",
    ) -> None:
        self.policy, self.shared = policy, shared
        self.lanes = Lanes(policy, credentials) if shared is None else SharedLanes(policy, credentials, shared)
        self.budget = Budget(caps)
        self.cycle = Cycle(policy.cap, cycle_day)
        self.backoff = backoff or Backoff()
        self.resting: dict[tuple[int, int], Wait] = {}  # requests that failed, and when they may leave again
        self.odd = 0  # accounts in a row about which the server did not understand the question
        self.quiet = -inf  # until when no host is asked, as many in a row did not answer
        self.backoff.place, self.backoff.others.home = self.lanes.place, home
        self._lock = RLock() if shared is None else shared.lock
        if shared is not None:
            shared.enter(self.lanes, self.cycle, self.shift)

    def take(self, request: Request, now: float) -> Grant | Wait | Stop:
        """Return the permission to send, counted; or when to ask again; or why never."""
        with self._lock:
            return self._take(request, now)

    def settle(self, grant: Grant, reply: Reply, now: float) -> Wait | Stop | None:
        """Learn from a reply; see `Planner.settle`."""
        with self._lock:
            return self._settle(grant, reply, now)

    def abandon(self, grant: Grant) -> None:
        """See `Planner.abandon`: the server may receive it for a while yet."""
        with self._lock:
            self.lanes.lane(grant.credential, grant.request.endpoint).abandon(grant.at)
            self.budget.abandon(grant.request, self._posts(grant.request))

    def fold(self, ledger: Ledger, now: float = inf) -> None:
        """Begin anew: take and settle every request of the ledger when it was; one that was never settled stays spent.

        What other campaigns have sent with the same tokens is counted too, whether they are open or not.
        Afterwards every window lets its next request fly alone: what was in flight when the last run ended may have
        opened the server's window later than we know. Patience with failures is new in every run, and a credential
        that was set aside may have been mended.

        Args:
            ledger: all requests.
            now: what the ledger dates later counts as of now: the clock was set back since.
        """
        self.backoff.reset()
        self.budget = Budget(self.budget.caps)
        self.cycle = Cycle(self.cycle.cap, self.cycle.day)
        if self.shared is None:
            self.lanes = Lanes(self.policy, self.lanes.credentials)
            self.backoff.place = self.lanes.place
        lanes = self.lanes
        self.lanes = lanes.past()
        try:
            self._relive(ledger, now)
        finally:
            past, self.lanes = self.lanes, lanes
        elsewhere = {} if self.shared is None else self.shared.elsewhere(now - lanes.longest() - LAG)
        cycles = {} if self.shared is None or self.cycle.cap is None else self.shared.listen(now)
        with self._lock:
            lanes.join(past)
            if isinstance(lanes, SharedLanes):
                lanes.count(elsewhere, now)
            if self.shared is not None:
                self.shared.count(self.cycle)
                self.shared.hear(cycles, now)
                self.shared.folded = True
        self.backoff.anew()
        self.resting.clear()
        self.odd, self.quiet = 0, -inf

    @property
    def outage(self) -> Outage | None:
        """The outage of the platform; None while it answers."""
        with self._lock:
            return self.backoff.outage

    def done(self, endpoint: str, count: int, now: float) -> float | None:
        """Return when `count` more requests to an endpoint will have left; None: nobody can say, see `Lanes.done`."""
        with self._lock:
            return self.lanes.done(endpoint, count, now)

    def shift(self, delta: float) -> None:
        """Move every instant by `delta` seconds: our clock was set, with nothing in flight.

        Windows that are shared are moved by `Shared.shift`, which calls this for every campaign.
        """
        with self._lock:
            self.lanes.shift(delta)
            self.cycle.shift(delta)
            self.backoff.shift(delta)
            self.quiet += delta
            self.resting = {key: Wait(one.until + delta, one.why) for key, one in self.resting.items()}
            self.budget.began = None if self.budget.began is None else self.budget.began + delta

    def _take(self, request: Request, now: float) -> Grant | Wait | Stop:
        rests = self.resting.get(request.key)
        if rests is not None and now < rests.until:
            return rests
        if now < self.quiet and host(request.endpoint):
            return Wait(self.quiet, "no host answers any more: the network may be down")
        request = self._within(request, now)
        posts = self._posts(request)
        refusal = self.budget.refuses(request, posts) or self.budget.late(now) or self._capped(posts, now)
        if refusal:
            return refusal
        if self.lanes.crowded:
            self.lanes.let_go(now)
        when, lane = self.lanes.first(request.endpoint, now)
        if lane is None:
            return self._nobody(request.endpoint)
        if when > now:
            why = f"{lane.why(now)} ({request.endpoint})"
            return self.budget.late(when) or Wait(when, why)
        return self._count(Grant(request, lane.credential, now))

    def _settle(self, grant: Grant, reply: Reply, now: float) -> Wait | Stop | None:
        self._pay(grant, reply)
        lane = self.lanes.learn(grant, reply)
        self.resting.pop(grant.request.key, None)
        if reply.kind not in FAILED:
            self.backoff.answered()
        if reply.kind in USEFUL:
            self.backoff.good(grant)
            self.odd, self.quiet = 0, -inf
            return None
        if reply.kind in (ReplyKind.WINDOW, ReplyKind.DAY):
            rest = _until_reset(reply, lane.main.d)
            if rest is not None:
                self.backoff.good(grant)  # the server is well: it says until when
                seconds, over = rest
                lane.close(reply.at + seconds, over=over, daily=reply.kind == ReplyKind.DAY)
                return Wait(reply.at + seconds, reply.why)
        if reply.kind in (ReplyKind.BACKOFF, ReplyKind.WINDOW, ReplyKind.DAY, *FAILED):
            return self._again_later(lane, grant, reply, now)
        if reply.kind == ReplyKind.REFUSED and self.lanes.set_aside(grant, reply):
            return Wait(now, f"the credential {grant.credential} is set aside: {reply.why}")
        if reply.kind in (ReplyKind.REFUSED, ReplyKind.INVALID) and self.lanes.away(grant):
            self.backoff.good(grant)  # one host of many does not want to, but it is there
            self.quiet = -inf
            return None
        if reply.kind in (ReplyKind.MONEY, ReplyKind.MONTH):
            until = cycle(reply.at if reply.date is None else reply.date, self.cycle.day)[1]
            return Stop(
                StopKind.BUDGET, f"{reply.why}; the next billing cycle begins on {format_time(until)[:10]} (UTC)", until
            )
        if reply.status == 400 and "id" in grant.request.params and self.odd + 1 < FEW:
            self.odd += 1  # one account, or a cursor that has expired: no reason to stop for all
            return None
        return Stop(StopKind.FAILED, reply.why)

    def _relive(self, ledger: Ledger, now: float) -> None:
        flying: list[tuple[float, int, Grant, Reply | None]] = []  # a heap by arrival
        ahead = set[float]()
        for number, (told, answer) in enumerate(self._recent(ledger, now)):
            grant, reply = told, answer
            if told.at > now or (answer is not None and answer.at > now):
                ahead.add(told.at)
                grant = replace(told, at=min(told.at, now))
                reply = answer and replace(answer, at=min(answer.at, now))
            while flying and flying[0][0] <= grant.at:
                self._land(*heappop(flying)[2:])
            if self.policy.known(grant.request.endpoint) is None:  # the policy was another: it was paid all the same
                self.budget.reserve(grant.request, 0, grant.at)
                self.budget.settle(grant.request, 0, 0, grant.request.most if reply is None else reply.cost)
                continue
            self._count(grant)
            heappush(flying, (grant.at + LAG if reply is None else reply.at, number, grant, reply))
        while flying:
            self._land(*heappop(flying)[2:])
        if ahead:
            self.lanes.doubt()
        if isinstance(self.lanes, PastLanes):
            self.lanes.ahead = ahead

    def _recent(self, ledger: Ledger, now: float) -> Ledger:
        """Return the part of a ledger that windows may still remember; what lies before is only paid for."""
        if not isinstance(ledger, Summed) or (last := ledger.last()) is None:
            return ledger
        last = min(last, now)
        begin = last - MEMORY * self.lanes.longest()
        if (daily := ledger.daily()) is not None and daily > last - 2 * DAY:
            begin = min(begin, last - 2 * DAY)  # windows that only headers know of
        for sums in ledger.before(begin):
            posts = self.policy.posts_of(sums)
            self.budget.add(sums.requests, posts, sums.money, sums.began)
            self.cycle.settle(0, posts, sums.day)
        return ledger.since(begin)

    def _land(self, grant: Grant, reply: Reply | None) -> None:
        if reply is None:
            self.lanes.lane(grant.credential, grant.request.endpoint).abandon(grant.at)
            self.budget.abandon(grant.request, self._posts(grant.request))
            self.cycle.settle(self._posts(grant.request), self._posts(grant.request), grant.at + LAG)
        else:
            self._settle(grant, reply, reply.at)

    def _count(self, grant: Grant) -> Grant:
        posts = self._posts(grant.request)
        self.lanes.lane(grant.credential, grant.request.endpoint).take(grant.at)
        self.budget.reserve(grant.request, posts, grant.at)
        self.cycle.reserve(posts, grant.at)
        return grant

    def _posts(self, request: Request) -> int:
        endpoint = self.policy.endpoints.get(request.endpoint) or self.policy.endpoint(request.endpoint)
        return request.items if endpoint.returns == "post" else 0

    def _pay(self, grant: Grant, reply: Reply) -> None:
        reserved = self._posts(grant.request)
        rows = reply.rows
        posts = len(rows.posts) if isinstance(rows, Page) else rows.posts if isinstance(rows, Answer) else 0
        posts = reserved if reply.kind == ReplyKind.LOST else posts
        self.budget.settle(grant.request, reserved, posts, reply.cost)
        self.cycle.settle(reserved, posts, reply.at)

    def _within(self, request: Request, now: float) -> Request:
        """Return a request, for a smaller page where nothing else fits into the budget and the cap.

        While something is in flight it stays as it is: what lands may give back some of what was reserved.
        """
        if self.budget.flying:
            return request

        def room(posts: int, money: int, fee: int) -> float:
            left = self.cycle.room(now, self._others(now)) if posts else inf
            return min(left, self.budget.room(posts, money, fee))

        return self.policy.page_of(request, room)

    def _others(self, now: float) -> int:
        """Return the posts that other campaigns have used of the cap."""
        return 0 if self.shared is None or self.cycle.cap is None else self.shared.posts(now)

    def _capped(self, posts: int, now: float) -> Stop | None:
        if not self.cycle.refuses(posts, now, self._others(now)):
            return None
        until = cycle(now, self.cycle.day)[1]
        why = f"the cap of {self.cycle.cap:,} posts in a billing cycle is reached; the next one begins on"
        return Stop(StopKind.BUDGET, f"{why} {format_time(until)[:10]} (UTC)", until)

    def _nobody(self, endpoint: str) -> Stop:
        place = self.lanes.place(endpoint)
        refused = self.lanes.aside | {name: why for (name, at), why in self.lanes.barred.items() if at == place}
        why = "; ".join(f"{name}: {why}" for name, why in refused.items())
        return Stop(StopKind.FAILED, f"no credential may ask {endpoint} (any more)" + (f": {why}" if why else ""))

    def _again_later(self, lane: Way, grant: Grant, reply: Reply, now: float) -> Wait | Stop | None:
        pause = self.backoff.failed(grant, reply, now)
        asked = 0.0 if self.backoff.others.other(grant.request.endpoint) else min(reply.after or 0.0, DAY)
        if asked:  # Retry-After of the campaign's own server holds, whatever becomes of the request
            self._rest(lane, grant, reply, now + asked)
        hopeless = self.backoff.hopeless(now)
        if hopeless:
            until = now + max(PROBE, asked) if reply.kind in FAILED and self.backoff.outage else None
            return Stop(StopKind.FAILED, f"{reply.why} ({hopeless}); all is saved, run again later to go on", until)
        heard = reply.kind in FAILED and self.backoff.others.heard(grant)
        short = self.backoff.spared(grant) if reply.kind in FAILED else None
        given_up = pause is None or short == 0.0
        # Who has just heard from another host is not cut off: what was tried often enough is given up.
        if not (heard and given_up) and (silence := self.backoff.silence(now)) is not None:
            self.quiet = max(self.quiet, now + silence)
            return Wait(self.quiet, reply.why)
        if pause is None or short == 0.0:
            return None
        pause = max(asked, pause if short is None else min(pause, short))
        if reply.kind in FAILED and self.backoff.row(grant) < 2 and not asked:
            rest = Wait(now + pause, f"{reply.why}; it is tried again after a pause")
            self.resting[grant.request.key] = rest  # once is chance: others may try
            return Wait(now + pause, reply.why)
        return self._rest(lane, grant, reply, now + pause)

    def _rest(self, lane: Way, grant: Grant, reply: Reply, until: float) -> Wait:
        """Send nothing to the endpoint until then."""
        if reply.kind in FAILED:  # a server in trouble is in trouble for everybody
            for one in self.lanes.of(grant.request.endpoint):
                one.rest(until, why=reply.why)
        else:  # a 429 is about one credential
            lane.close(until)
        return Wait(until, reply.why)


def _until_reset(reply: Reply, d: float) -> tuple[float, bool] | None:
    """Seconds until a window or a day that a 429 calls used up is over, and whether it is then; None: they are absurd.

    The server's clock tells; without it, or a reset, a window is over after d seconds, and after a day's is asked soon.
    """
    daily = reply.kind == ReplyKind.DAY
    resets = [limit.resets for limit in reply.limits if limit.left == 0 and limit.daily == daily]
    if not resets or reply.date is None:
        return (LONGEST, False) if daily else (d, True)
    rest = max(resets) - reply.date + 1.0
    return (max(1.0, rest), True) if rest <= longest(d) else None
