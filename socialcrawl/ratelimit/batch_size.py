"""The refresh rate that keeps a window busy: r, where the campaign file says `auto`. Pure.

Accounts that are chosen together are asked at the same time; the larger r, the older is what a choice rests on
(Gouriten et al., section 4.4). So r is no larger than the latency of the server makes it.
"""

from collections.abc import Sequence
from math import ceil

TOGETHER = 16  # requests in flight at most: more threads than that wait for each other, and r is never above it
LEAST = 5  # latencies below which nothing is said of the next
HIGH = 0.95  # of 16 replies, the slowest is about the 95th of a hundred


def choose_batch_size(latency: float, k: int, d: float) -> int:
    """Return the smallest r with which all of a window's requests are answered before it ends.

    A batch of r takes `latency`; the first request of a window flies alone, so one batch takes twice as long, and
    batches need not begin where a window does. Where no r is enough, the largest: min(k, 16).

    Args:
        latency: seconds that a batch takes, as long as its slowest request; see `find_planning_latency`.
        k: requests in a window, of all credentials together.
        d: seconds of a window.
    """
    most = max(1, min(k, TOGETHER))
    return next((r for r in range(1, most) if count_rounds(r, k) * latency <= d), most)


def count_rounds(r: int, k: int) -> int:
    """Return the latencies that a window of k requests takes at most when they are sent r at a time.

    The worst is a batch of which two requests are left when the window opens: one flies alone, the other after it.
    """
    return k if r == 1 or k == 1 else 2 + ceil((k - 2) / r)


def find_planning_latency(latencies: Sequence[float]) -> float | None:
    """Return the latency (seconds) to plan with: 95 of 100 replies came sooner; None for fewer than five of them."""
    if len(latencies) < LEAST:
        return None
    return sorted(latencies)[ceil(HIGH * len(latencies)) - 1]
