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
from socialcrawl.ratelimit.billing_cycle import BillingCycle, find_cycle
from socialcrawl.ratelimit.budget import Budget, Caps
from socialcrawl.ratelimit.endpoint_windows import RequestWindows
from socialcrawl.ratelimit.outage import Outage
from socialcrawl.ratelimit.policy import Policy, parse_host
from socialcrawl.ratelimit.received_requests import LAG
from socialcrawl.ratelimit.retry import FEW, PROBE, Backoff, find_reset
from socialcrawl.ratelimit.shared_windows import Membership, ReplayedWindowSets, SharedWindowSets
from socialcrawl.ratelimit.window import DAY
from socialcrawl.ratelimit.window_sets import WindowSets

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
        self.window_sets = (
            WindowSets(policy, credentials) if shared is None else SharedWindowSets(policy, credentials, shared)
        )
        self.budget = Budget(caps)
        self.cycle = BillingCycle(policy.cap, cycle_day)
        self.backoff = backoff or Backoff()
        self.paused_requests: dict[tuple[int, int], Wait] = {}  # requests that failed, and when they may leave again
        self._versions: dict[tuple[int, int], int] = {}  # of what others have sent, when requests were granted
        self.unclear_errors = 0  # accounts in a row about which the server did not understand the question
        self.quiet_until = -inf  # until when no host is asked, as many in a row did not answer
        self.backoff.resolve_endpoint, self.backoff.hosts_health.home = self.window_sets.resolve_endpoint, home
        self._lock = RLock() if shared is None else shared.lock
        if shared is not None:
            shared.enter(self.window_sets, self.cycle, self.shift)

    def take(self, request: Request, now: float) -> Grant | Wait | Stop:
        """Return the permission to send, counted; or when to ask again; or why never."""
        answer = self._decide(request, now)
        if isinstance(answer, Wait) and self.shared is not None and self.shared.refresh(now):
            return self._decide(request, now)
        return answer

    def list_opened(self, grant: Grant) -> tuple[int, ...]:
        """Return the places of the windows that a grant opens, among those of its token."""
        with self._lock:
            return self.window_sets.get(grant.credential, grant.request.endpoint).list_opened(grant.at)

    def reconsider(self, grant: Grant, now: float) -> Wait | Stop | None:
        """Return None if a grant holds, knowing what other processes have reserved since; else it is taken back.

        Called when the request is reserved, before it leaves.
        """
        with self._lock:
            version = self._versions.pop(grant.request.key, None)
            if self.shared is None or self.shared.others is None or self.shared.others.version == version:
                return None
            opened = self.list_opened(grant)
            self._take_back(grant)
            answer = self._take(grant.request, grant.at)
            if not isinstance(answer, Grant):
                return answer
            if answer == grant and self.list_opened(answer) == opened:
                return None
            self._take_back(answer)
            return Wait(now, f"other processes have used the window ({grant.request.endpoint})")

    def settle(self, grant: Grant, reply: Reply, now: float) -> Wait | Stop | None:
        """Learn from a reply; see `Planner.settle`."""
        with self._lock:
            return self._settle(grant, reply, now)

    def abandon(self, grant: Grant) -> None:
        """See `Planner.abandon`: the server may receive it for a while yet."""
        with self._lock:
            self.window_sets.get(grant.credential, grant.request.endpoint).abandon(grant.at)
            self.budget.abandon(grant.request, self._count_posts(grant.request))

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
        self.cycle = BillingCycle(self.cycle.cap, self.cycle.day)
        if self.shared is None:
            self.window_sets = WindowSets(self.policy, self.window_sets.credentials)
            self.backoff.resolve_endpoint = self.window_sets.resolve_endpoint
        window_sets = self.window_sets
        others = None if self.shared is None else self.shared.others
        if self.shared is not None and others is not None and isinstance(window_sets, SharedWindowSets):
            others.announce(self.shared.campaign, window_sets)
        self.window_sets = window_sets.start_replay()
        try:
            self._replay(ledger, now)
        finally:
            past, self.window_sets = self.window_sets, window_sets
        elsewhere = (
            {} if self.shared is None else self.shared.read_elsewhere(now - window_sets.find_longest_window() - LAG)
        )
        cycles = {} if self.shared is None or self.cycle.cap is None else self.shared.read_other_cycles(now)
        with self._lock:
            window_sets.join(past)
            if isinstance(window_sets, SharedWindowSets):
                window_sets.count(elsewhere, now)
            if self.shared is not None:
                self.shared.count(self.cycle)
                self.shared.count_other_cycles(cycles, now)
                self.shared.is_folded = True
            if self.shared is not None and others is not None:
                others.join(self.shared.campaign)
        self.backoff.start_run()
        self.paused_requests.clear()
        self.unclear_errors, self.quiet_until = 0, -inf

    @property
    def outage(self) -> Outage | None:
        """The outage of the platform; None while it answers."""
        with self._lock:
            return self.backoff.outage

    def predict_done(self, endpoint: str, count: int, now: float) -> float | None:
        """Return when `count` more requests to an endpoint will have left; None: see `WindowSets.predict_done`."""
        with self._lock:
            return self.window_sets.predict_done(endpoint, count, now)

    def shift(self, delta: float) -> None:
        """Move every instant by `delta` seconds: our clock was set, with nothing in flight.

        Windows that are shared are moved by `SharedWindows.shift`, which calls this for every campaign.
        """
        with self._lock:
            self.window_sets.shift(delta)
            self.cycle.shift(delta)
            self.backoff.shift(delta)
            self.quiet_until += delta
            self.paused_requests = {key: Wait(one.until + delta, one.why) for key, one in self.paused_requests.items()}
            self.budget.began = None if self.budget.began is None else self.budget.began + delta

    def _decide(self, request: Request, now: float) -> Grant | Wait | Stop:
        with self._lock:
            answer = self._take(request, now)
            if isinstance(answer, Grant) and self.shared is not None and self.shared.others is not None:
                self._versions[request.key] = self.shared.others.version
            return answer

    def _take_back(self, grant: Grant) -> None:
        """Uncount a grant whose request does not leave."""
        posts = self._count_posts(grant.request)
        unsent = Reply(ReplyKind.BROKEN, grant.at)
        self.window_sets.get(grant.credential, grant.request.endpoint).learn(grant.at, unsent)
        self.budget.take_back(grant.request, posts)
        self.cycle.settle(posts, 0, grant.at)

    def _take(self, request: Request, now: float) -> Grant | Wait | Stop:
        rests = self.paused_requests.get(request.key)
        if rests is not None and now < rests.until:
            return rests
        if now < self.quiet_until and parse_host(request.endpoint):
            return Wait(self.quiet_until, "no host answers any more: the network may be down")
        request = self._fit_request(request, now)
        posts = self._count_posts(request)
        refusal = (
            self.budget.explain_refusal(request, posts)
            or self.budget.explain_lateness(now)
            or self._explain_cap(posts, now)
        )
        if refusal:
            return refusal
        if self.window_sets.is_crowded:
            self.window_sets.forget_idle_hosts(now)
        when, window_set = self.window_sets.find_first(request.endpoint, now)
        if window_set is None:
            return self._explain_no_credential(request.endpoint)
        if when > now:
            why = f"{window_set.explain_wait(now)} ({request.endpoint})"
            return self.budget.explain_lateness(when) or Wait(when, why)
        return self._count(Grant(request, window_set.credential, now))

    def _settle(self, grant: Grant, reply: Reply, now: float) -> Wait | Stop | None:
        self._pay(grant, reply)
        window_set = self.window_sets.learn(grant, reply)
        self.paused_requests.pop(grant.request.key, None)
        if reply.late:
            return Wait(now, reply.why)
        if reply.kind not in FAILED:
            self.backoff.note_answer()
        if reply.kind in USEFUL:
            self.backoff.note_success(grant)
            self.unclear_errors, self.quiet_until = 0, -inf
            return None
        if reply.kind in (ReplyKind.WINDOW, ReplyKind.DAY):
            rest = find_reset(reply, window_set.main.d)
            if rest is not None:
                self.backoff.note_success(grant)  # the server is well: it says until when
                seconds, over = rest
                window_set.close(reply.at + seconds, over=over, daily=reply.kind == ReplyKind.DAY)
                return Wait(reply.at + seconds, reply.why)
        if reply.kind in (ReplyKind.BACKOFF, ReplyKind.WINDOW, ReplyKind.DAY, *FAILED):
            return self._plan_retry(window_set, grant, reply, now)
        if reply.kind == ReplyKind.REFUSED and self.window_sets.set_aside(grant, reply):
            return Wait(now, f"the credential {grant.credential} is set aside: {reply.why}")
        if reply.kind in (ReplyKind.REFUSED, ReplyKind.INVALID) and self._is_elsewhere(grant):
            self.backoff.note_success(grant)  # one host of many does not want to, but it is there
            self.quiet_until = -inf
            return None
        if reply.kind in (ReplyKind.MONEY, ReplyKind.MONTH):
            until = find_cycle(reply.at if reply.date is None else reply.date, self.cycle.day)[1]
            return Stop(
                StopKind.BUDGET, f"{reply.why}; the next billing cycle begins on {format_time(until)[:10]} (UTC)", until
            )
        if reply.status == 400 and "id" in grant.request.params and self.unclear_errors + 1 < FEW:
            self.unclear_errors += 1  # one account, or a cursor that has expired: no reason to stop for all
            return None
        return Stop(StopKind.FAILED, reply.why)

    def _is_elsewhere(self, grant: Grant) -> bool:
        """Return whether a request went to a server that is neither the campaign's own nor that of its credential."""
        other = self.backoff.hosts_health.is_other(grant.request.endpoint)
        return other and self.window_sets.is_foreign(grant)

    def _replay(self, ledger: Ledger, now: float) -> None:
        flying: list[tuple[float, int, Grant, Reply | None]] = []  # a heap by arrival
        ahead = set[float]()
        for number, (stored, answer) in enumerate(self._select_recent(ledger, now)):
            grant, reply = stored, answer
            if stored.at > now or (answer is not None and answer.at > now):
                ahead.add(stored.at)
                grant = replace(stored, at=min(stored.at, now))
                reply = answer and replace(answer, at=min(answer.at, now))
            while flying and flying[0][0] <= grant.at:
                self._land(*heappop(flying)[2:])
            if (
                self.policy.find_endpoint(grant.request.endpoint) is None
            ):  # the policy was another: it was paid all the same
                self.budget.reserve(grant.request, 0, grant.at)
                self.budget.settle(grant.request, 0, 0, grant.request.most if reply is None else reply.cost)
                continue
            self._count(grant)
            heappush(flying, (grant.at + LAG if reply is None else reply.at, number, grant, reply))
        while flying:
            self._land(*heappop(flying)[2:])
        if ahead:
            self.window_sets.distrust_past()
        if isinstance(self.window_sets, ReplayedWindowSets):
            self.window_sets.ahead = ahead

    def _select_recent(self, ledger: Ledger, now: float) -> Ledger:
        """Return the part of a ledger that windows may still remember; what lies before is only paid for."""
        if not isinstance(ledger, Summed) or (last := ledger.last()) is None:
            return ledger
        last = min(last, now)
        begin = last - MEMORY * self.window_sets.find_longest_window()
        if (daily := ledger.daily()) is not None and daily > last - 2 * DAY:
            begin = min(begin, last - 2 * DAY)  # windows that only headers know of
        for sums in ledger.before(begin):
            posts = self.policy.count_posts(sums)
            self.budget.add(sums.requests, posts, sums.money, sums.began)
            self.cycle.settle(0, posts, sums.day)
        return ledger.since(begin)

    def _land(self, grant: Grant, reply: Reply | None) -> None:
        if reply is None:
            self.window_sets.get(grant.credential, grant.request.endpoint).abandon(grant.at)
            self.budget.abandon(grant.request, self._count_posts(grant.request))
            self.cycle.settle(self._count_posts(grant.request), self._count_posts(grant.request), grant.at + LAG)
        else:
            self._settle(grant, reply, reply.at)

    def _count(self, grant: Grant) -> Grant:
        posts = self._count_posts(grant.request)
        self.window_sets.get(grant.credential, grant.request.endpoint).take(grant.at)
        self.budget.reserve(grant.request, posts, grant.at)
        self.cycle.reserve(posts, grant.at)
        return grant

    def _count_posts(self, request: Request) -> int:
        endpoint = self.policy.endpoints.get(request.endpoint) or self.policy.get_endpoint(request.endpoint)
        return request.items if endpoint.returns == "post" else 0

    def _pay(self, grant: Grant, reply: Reply) -> None:
        reserved = self._count_posts(grant.request)
        rows = reply.rows
        posts = len(rows.posts) if isinstance(rows, Page) else rows.posts if isinstance(rows, Answer) else 0
        posts = reserved if reply.kind == ReplyKind.LOST else posts
        self.budget.settle(grant.request, reserved, posts, reply.cost)
        self.cycle.settle(reserved, posts, reply.at)

    def _fit_request(self, request: Request, now: float) -> Request:
        """Return a request, for a smaller page where nothing else fits into the budget and the cap.

        While something is in flight it stays as it is: what lands may give back some of what was reserved.
        """
        if self.budget.in_flight:
            return request

        def room(posts: int, money: int, fee: int) -> float:
            left = self.cycle.count_remaining(now, self._count_other_posts(now)) if posts else inf
            return min(left, self.budget.count_affordable(posts, money, fee))

        return self.policy.fit_page(request, room)

    def _count_other_posts(self, now: float) -> int:
        """Return the posts that other campaigns have used of the cap."""
        return 0 if self.shared is None or self.cycle.cap is None else self.shared.count_other_posts(now)

    def _explain_cap(self, posts: int, now: float) -> Stop | None:
        if not self.cycle.would_exceed_cap(posts, now, self._count_other_posts(now)):
            return None
        until = find_cycle(now, self.cycle.day)[1]
        why = f"the cap of {self.cycle.cap:,} posts in a billing cycle is reached; the next one begins on"
        return Stop(StopKind.BUDGET, f"{why} {format_time(until)[:10]} (UTC)", until)

    def _explain_no_credential(self, endpoint: str) -> Stop:
        place = self.window_sets.resolve_endpoint(endpoint)
        refused = self.window_sets.aside | {
            name: why for (name, at), why in self.window_sets.barred.items() if at == place
        }
        why = "; ".join(f"{name}: {why}" for name, why in refused.items())
        return Stop(StopKind.FAILED, f"no credential may use {endpoint} (any more)" + (f": {why}" if why else ""))

    def _plan_retry(self, window_set: RequestWindows, grant: Grant, reply: Reply, now: float) -> Wait | Stop | None:
        pause = self.backoff.note_failure(grant, reply, now)
        asked = 0.0 if self.backoff.hosts_health.is_other(grant.request.endpoint) else min(reply.after or 0.0, DAY)
        if asked:  # Retry-After of the campaign's own server holds, whatever becomes of the request
            self._pause(window_set, grant, reply, now + asked)
        hopeless = self.backoff.explain_giving_up(now)
        if hopeless:
            until = now + max(PROBE, asked) if reply.kind in FAILED and self.backoff.outage else None
            return Stop(StopKind.FAILED, f"{reply.why} ({hopeless}); all is saved, run again later to go on", until)
        heard = reply.kind in FAILED and self.backoff.hosts_health.was_network_up(grant)
        short = self.backoff.find_short_pause(grant) if reply.kind in FAILED else None
        given_up = pause is None or short == 0.0
        # A reply from another host shows that the network is up: what was tried often enough is given up.
        if not (heard and given_up) and (silence := self.backoff.find_silence(now)) is not None:
            self.quiet_until = max(self.quiet_until, now + silence)
            return Wait(self.quiet_until, reply.why)
        if pause is None or short == 0.0:
            return None
        pause = max(asked, pause if short is None else min(pause, short))
        if reply.kind in FAILED and self.backoff.count_failures(grant) < 2 and not asked:
            rest = Wait(now + pause, f"{reply.why}; it is tried again after a pause")
            self.paused_requests[grant.request.key] = rest  # once is chance: others may try
            return Wait(now + pause, reply.why)
        return self._pause(window_set, grant, reply, now + pause)

    def _pause(self, window_set: RequestWindows, grant: Grant, reply: Reply, until: float) -> Wait:
        """Send nothing to the endpoint until then."""
        if reply.kind in FAILED:  # a server in trouble is in trouble for everybody
            for one in self.window_sets.find_usable(grant.request.endpoint):
                one.pause(until, why=reply.why)
        else:  # a 429 is about one credential
            window_set.close(until)
        return Wait(until, reply.why)
