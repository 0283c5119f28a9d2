"""The planner: may this request leave, with which credential, and what does its reply mean for the next ones? Pure."""

from collections.abc import Sequence

from socialcrawl.limits.budget import Budget, Caps
from socialcrawl.limits.policy import Policy
from socialcrawl.limits.window import FixedWindow
from socialcrawl.model import Answer, Grant, Limit, Page, Reply, Request, Stop, Wait
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
            return Wait(when, self._why(credential, request.endpoint))
        return self._count(Grant(request, credential, now))

    def settle(self, grant: Grant, reply: Reply, now: float) -> Wait | Stop | None:
        """Learn from a reply; see `Planner.settle`."""
        self._pay(grant.request, reply)
        window = self._learn(grant, reply)
        if reply.kind in ("ok", "missing"):
            self.in_a_row.clear()
            return None
        if reply.kind in ("window", "day"):
            self.in_a_row.clear()
            return self._close(window, reply)
        if reply.kind in ("backoff", "broken"):
            return self._back_off(window, grant.request, reply, now)
        return Stop("budget" if reply.kind in ("money", "month") else "failed", reply.why)

    def fold(self, ledger: Ledger) -> None:
        """Take and settle every request of the ledger in turn; a request that was never settled stays spent.

        Afterwards every window lets its next request fly alone: what was in flight when the last run ended may have
        opened the server's window later than we know.
        """
        for grant, reply in ledger:
            self._count(grant)
            if reply is not None:
                self._pay(grant.request, reply)
                window = self._learn(grant, reply)
                if reply.kind in ("window", "day"):
                    self._close(window, reply)
        for window in self.windows.values():
            window.sound()

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

    def _close(self, window: FixedWindow, reply: Reply) -> Wait:
        until = reply.at + _longest_wait(reply.limits, reply.kind, reply.date)
        window.close(until)
        return Wait(until, reply.why)

    def _back_off(self, window: FixedWindow, request: Request, reply: Reply, now: float) -> Wait | Stop | None:
        row = self.in_a_row[reply.kind] = self.in_a_row.get(reply.kind, 0) + 1
        if row >= PATIENCE:
            return Stop("failed", f"{reply.why} ({row} times in a row); all is saved, run again later to go on")
        tries = self.tries[request.key] = self.tries.get(request.key, 0) + 1
        if reply.kind == "broken" and tries >= TRIES:
            return None
        until = now + min(LONGEST, self.pause * 2.0 ** (tries - 1))
        window.close(until)
        return Wait(until, reply.why)

    def _why(self, credential: str, endpoint: str) -> str:
        window = self.window(credential, endpoint)
        if window.sounding or window.alone:
            return "the first request of the window is in flight"
        return f"all {window.k} requests of the window for {endpoint} are used"


def _longest_wait(limits: Sequence[Limit], kind: str, date: float | None) -> float:
    used_up = [limit for limit in limits if limit.left == 0 and limit.daily == (kind == "day")]
    return max((limit.resets - (date or 0.0) + 1.0 for limit in used_up), default=1.0)
