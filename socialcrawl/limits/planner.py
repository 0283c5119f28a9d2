"""The planner: may this request leave, with which credential, and what does its reply mean for the next ones? Pure."""

from collections.abc import Sequence
from heapq import heappop, heappush

from socialcrawl.limits.budget import Budget, Caps
from socialcrawl.limits.policy import Policy
from socialcrawl.limits.window import FixedWindow, longest
from socialcrawl.model import USEFUL, Answer, Grant, Page, Reply, Request, Stop, Wait
from socialcrawl.protocols import Ledger

PATIENCE = 5  # replies of one kind in a row (429 without a date, or broken) after which the campaign stops
TRIES = 3  # times one request is sent before the talk is told that it stays broken
LONGEST = 900.0  # seconds of the longest back-off


class WindowPlanner:
    """Windows of every credential x endpoint, back-off, and the budget of the campaign.

    Args:
        policy: k, d, page sizes and prices of the platform.
        credentials: names of the tokens that may be used (never the tokens).
        caps: the budget.
        pause: seconds of the first back-off; each further one doubles it, up to 15 minutes.
    """

    def __init__(self, policy: Policy, credentials: Sequence[str], caps: Caps, pause: float = 1.0) -> None:
        self.policy, self.credentials, self.pause = policy, tuple(credentials), pause
        self.budget = Budget(caps)
        self.windows: dict[tuple[str, str], FixedWindow] = {}
        self.tries: dict[tuple[int, int], int] = {}  # broken answers by request
        self.in_a_row: dict[str, int] = {}  # back-offs and broken answers without a good one between them
        self.counted: dict[str, float] = {}  # when the last of a row was counted, by kind

    def window(self, credential: str, endpoint: str) -> FixedWindow:
        """The window of one credential on one endpoint."""
        key = (credential, endpoint)
        if key not in self.windows:
            policy = self.policy.endpoints[endpoint]
            self.windows[key] = FixedWindow(policy.k, policy.d)
        return self.windows[key]

    def take(self, request: Request, now: float) -> Grant | Wait | Stop:
        """The permission to send, counted; or when to ask again; or why never."""
        refusal = self.budget.refuses(request, self._posts(request))
        if refusal:
            return refusal
        free = [(self.window(name, request.endpoint).when(now), name) for name in self.credentials]
        when, credential = min(free, key=lambda pair: pair[0])
        if when > now:
            return Wait(when, self._why(credential, request.endpoint, now))
        return self._count(Grant(request, credential, now))

    def settle(self, grant: Grant, reply: Reply, now: float) -> Wait | Stop | None:
        """Learn from a reply; see `Planner.settle`."""
        self._pay(grant.request, reply)
        window = self._learn(grant, reply)
        rest = _rest(reply, window.d) if reply.kind in ("window", "day") else None
        if reply.kind in ("backoff", "broken", "window", "day") and rest is None:
            return self._back_off(window, grant, reply, now)
        self.in_a_row.clear()
        self.tries.pop(grant.request.key, None)
        if reply.kind in USEFUL:
            return None
        if rest is not None:
            window.close(reply.at + rest, over=True)
            return Wait(reply.at + rest, reply.why)
        return Stop("budget" if reply.kind in ("money", "month") else "failed", reply.why)

    def fold(self, ledger: Ledger) -> None:
        """Take and settle every request of the ledger when it was; a request that was never settled stays spent.

        Afterwards every window lets its next request fly alone: what was in flight when the last run ended may have
        opened the server's window later than we know. Patience with failures is new in every run.
        """
        flying: list[tuple[float, int, Grant, Reply]] = []  # a heap by arrival
        for number, (grant, reply) in enumerate(ledger):
            while flying and flying[0][0] <= grant.at:
                self._again(*heappop(flying)[2:])
            self._count(grant)
            if reply is not None:
                heappush(flying, (reply.at, number, grant, reply))
        while flying:
            self._again(*heappop(flying)[2:])
        for window in self.windows.values():
            window.sound()
        self.in_a_row.clear()
        self.tries.clear()

    def _again(self, grant: Grant, reply: Reply) -> None:
        self.settle(grant, reply, reply.at)

    def _count(self, grant: Grant) -> Grant:
        self.window(grant.credential, grant.request.endpoint).take(grant.at)
        self.budget.reserve(grant.request, self._posts(grant.request))
        return grant

    def _posts(self, request: Request) -> int:
        return request.items if self.policy.endpoints[request.endpoint].returns == "post" else 0

    def _pay(self, request: Request, reply: Reply) -> None:
        rows = reply.rows
        posts = len(rows.posts) if isinstance(rows, Page) else rows.posts if isinstance(rows, Answer) else 0
        self.budget.settle(request, self._posts(request), posts, reply.cost)

    def _learn(self, grant: Grant, reply: Reply) -> FixedWindow:
        window = self.window(grant.credential, grant.request.endpoint)
        limit = next((limit for limit in reply.limits if not limit.daily), None)
        window.learn(limit, reply.date, reply.at, counted=reply.kind != "broken")
        return window

    def _back_off(self, window: FixedWindow, grant: Grant, reply: Reply, now: float) -> Wait | Stop | None:
        row = self._row(grant, reply.kind, now)
        if row >= PATIENCE:
            return Stop("failed", f"{reply.why} ({row} times in a row); all is saved, run again later to go on")
        if reply.kind == "broken":
            tries = self.tries[grant.request.key] = self.tries.get(grant.request.key, 0) + 1
            if tries >= TRIES:
                return None
        until = now + min(LONGEST, self.pause * 2.0 ** (row - 1))
        window.close(until)
        return Wait(until, reply.why)

    def _row(self, grant: Grant, kind: str, now: float) -> int:
        """How often in a row; requests that were in flight together failed together and count once."""
        if kind not in self.in_a_row or grant.at >= self.counted[kind]:
            self.in_a_row[kind] = self.in_a_row.get(kind, 0) + 1
            self.counted[kind] = now
        return self.in_a_row[kind]

    def _why(self, credential: str, endpoint: str, now: float) -> str:
        window = self.window(credential, endpoint)
        if now < window.closed_until:
            return "the server asked for a pause"
        if window.end is not None and window.used >= window.k:
            return f"all {window.k} requests of the window for {endpoint} are used"
        return "the first request of the window is in flight"


def _rest(reply: Reply, d: float) -> float | None:
    """Seconds until a window or a day that a 429 calls used up is over, by the server's clock; None: it is absurd."""
    daily = reply.kind == "day"
    resets = [limit.resets for limit in reply.limits if limit.left == 0 and limit.daily == daily]
    if not resets or reply.date is None:  # a reset means nothing without the clock it is told by
        return LONGEST if daily else d
    rest = max(resets) - reply.date + 1.0
    return max(1.0, rest) if rest <= longest(d) else None
