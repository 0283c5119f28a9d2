"""The decision of the limiter: may a request leave, with which token, what does its reply mean? Without the ledger."""

import gc
import time
from collections.abc import Iterator

from benchmarks.figure import Figure, sized
from socialcrawl.engine.model import Answer, Credential, Grant, Limit, Reply, ReplyKind, Request
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.ratelimit.policy import Endpoint, Policy, Rule
from socialcrawl.ratelimit.window_set import WindowSet

TITLE = "A decision of the limiter (take and settle): 10 tokens x 5 endpoints, three windows each"
TOKENS, ENDPOINTS, DECISIONS = 10, 5, sized(60_000, 1_000)
RULES = (Rule(300, 900.0), Rule(50, 10.0, "sliding"), Rule(250, 300.0, "aligned"))
TARGET = "under 50 µs"


def measure() -> list[Figure]:
    """Microseconds of a decision: as work goes on and windows fill up, and with nine of ten tokens used up."""
    mean, high = _decided(_planner(), _steady())
    full = _planner()
    for request, now in _steady():
        if full.window_sets.find_first(request.endpoint, now)[0] > now or now > 1_000_060.0:
            break
        _decide(full, request, now)
    for window_set in [
        window_set
        for name in _names()
        for window_set in full.window_sets.find_usable(name)[:-1]
        if isinstance(window_set, WindowSet)
    ]:
        _use_up(window_set, 1_000_100.0)
    worst, worst_high = _decided(full, _steady(1_000_101.0, gap=0.3))
    return [
        Figure("mean, work at all times", f"{mean:.1f} µs", TARGET),
        Figure("99 % of them take at most", f"{high:.1f} µs", TARGET),
        Figure("mean, with nine of ten tokens used up", f"{worst:.1f} µs", TARGET),
        Figure("99 % of these take at most", f"{worst_high:.1f} µs", TARGET),
    ]


def _use_up(window_set: WindowSet, now: float) -> None:
    """Let the headers say that the token's day is used up: the last of four windows that are asked."""
    limits = (Limit(200, 300, now + 600.0), Limit(0, 10_000, now + 80_000.0, daily=True))
    window_set.take(now)
    window_set.learn(now, Reply(ReplyKind.OK, now, Answer(), date=now, limits=limits))


def _names() -> list[str]:
    return [f"/{number}" for number in range(ENDPOINTS)]


def _planner() -> WindowPlanner:
    policy = Policy("x", "", "2026-11-01", {name: Endpoint(RULES, page=100) for name in _names()}, {"post": 0.005})
    return WindowPlanner(policy, [Credential(f"t{number}") for number in range(TOKENS)], Caps(money=10**12))


def _steady(begin: float = 1_000_000.0, gap: float = 0.02) -> Iterator[tuple[Request, float]]:
    """Yield requests in turn to every endpoint, one each `gap` seconds."""
    names = _names()
    for n in range(DECISIONS):
        yield Request((n, 0), names[n % ENDPOINTS], {}, 100, 50_000), begin + n * gap


def _decided(planner: WindowPlanner, work: Iterator[tuple[Request, float]]) -> tuple[float, float]:
    """Return the mean and the 99th percentile of the decisions that let a request leave, in microseconds."""
    gc.collect()
    took = sorted(seconds for request, now in work if (seconds := _decide(planner, request, now)) is not None)
    return sum(took) / len(took) * 1e6, took[int(len(took) * 0.99)] * 1e6


def _decide(planner: WindowPlanner, request: Request, now: float) -> float | None:
    begin = time.perf_counter()
    grant = planner.take(request, now)
    middle = time.perf_counter() - begin
    if not isinstance(grant, Grant):
        return None
    used = planner.window_sets.get(grant.credential, request.endpoint).main.k
    reset = float(int(now) + 600)
    limits = (Limit(max(0, used - 100), used, reset), Limit(9_000, 10_000, reset, daily=True))
    reply = Reply(
        ReplyKind.OK, now + 0.01, Answer(posts=80), cost=40_000, status=200, date=float(int(now)), limits=limits
    )
    begin = time.perf_counter()
    planner.settle(grant, reply, now + 0.01)
    return middle + time.perf_counter() - begin
