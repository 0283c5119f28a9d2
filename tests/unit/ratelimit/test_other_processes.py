"""Processes that share a token through the ledger of their database pass no window together, and leave none unused."""

import pytest
from example_counts import many
from limit_referees import BEGIN, Aligned, Fixed, Sliding
from rival_processes import World

from socialcrawl.ratelimit.policy import Rule

K, D = 40, 100.0
SKEW = -433.7
KINDS = {
    "told": (Rule(K, D), lambda: Fixed(K, D), True),
    "fixed": (Rule(K, D), lambda: Fixed(K, D), False),
    "sliding": (Rule(K, D, "sliding"), lambda: Sliding(K, D), False),
    "aligned": (Rule(K, D, "aligned"), lambda: Aligned(K, D, SKEW), False),
}


def world(kind, names, seed, **more):
    rule, referee, headers = KINDS[kind]
    return World((rule,), referee(), names, seed, headers=headers, skew=SKEW, **more)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("trip", [0.001, 0.01, 0.05])
def test_processes_with_one_ledger_pass_no_window_and_use_all_of_it(kind, trip):
    for seed in range(many(8)):
        it = world(kind, "abcd"[: 2 + seed % 3], seed, trip=trip)
        it.advance(BEGIN + 22 * D)
        assert it.referee.most == K, (seed, it.referee.most)
        assert it.refusals > 0, "they met"
        sent = len([row for row in it.rows if row.reply is not None and row.reply.reached])
        assert sent >= 0.98 * K * 21, (seed, sent / (K * 21))
        if kind in ("told", "fixed"):
            whole = [received for _, received in it.referee.windows[1:-1]]
            assert len(whole) >= 18
            assert sum(whole) >= 0.98 * K * len(whole), (seed, whole)


@pytest.mark.parametrize("kind", KINDS)
def test_processes_that_are_killed_and_stopped_at_any_moment_pass_no_window(kind):
    for seed in range(many(12)):
        it = world(kind, "abc", seed, trip=0.02)
        while it.now < BEGIN + 15 * D:
            it.advance(it.now + it.draw(D / 2))
            one = it.processes[int(it.draw(3))]
            if it.draw(1.0) < 0.5:
                one.kill(it.draw(30.0))
            else:
                one.stop(it.draw(D / 2))
        assert it.referee.most <= K, (seed, it.referee.most)
        assert len(it.rows) > 5 * K, "they work between"
