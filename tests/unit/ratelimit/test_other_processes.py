"""Processes that share a token through the ledger of their database pass no window together, and leave none unused."""

import pytest
from example_counts import many
from limit_referees import BEGIN, Aligned, Fixed, Sliding
from rival_processes import World

from socialcrawl.ratelimit.policy import Rule

K, D = 20, 100.0
SKEW = -433.7
TRIPS = (0.001, 0.01, 0.05)  # seconds to the database and back
KINDS = {
    "told": (Rule(K, D), lambda: Fixed(K, D), True),
    "fixed": (Rule(K, D), lambda: Fixed(K, D), False),
    "sliding": (Rule(K, D, "sliding"), lambda: Sliding(K, D), False),
    "aligned": (Rule(K, D, "aligned"), lambda: Aligned(K, D, SKEW), False),
}


def world(kind, names, seed, **more):
    rule, referee, headers = KINDS[kind]
    return World((rule,), referee(), names, seed, headers=headers, skew=SKEW, **more)


def test_two_processes_with_one_token_pass_none_of_twenty_windows_and_use_all():
    it = world("told", "ab", 1)
    it.advance(BEGIN + 22 * D)
    whole = [received for _, received in it.referee.windows[1:-1]]
    assert len(whole) >= 20
    assert whole == [K] * len(whole)
    assert it.refusals > 0, "they met"


@pytest.mark.parametrize("kind", KINDS)
def test_processes_with_one_ledger_pass_no_window_and_use_all_however_far_the_database_is(kind):
    for seed in range(many(6)):
        it = world(kind, "abcd"[: 2 + seed % 3], seed, trip=TRIPS[seed % 3])
        it.advance(BEGIN + 22 * D)
        assert it.referee.most == K, (seed, it.referee.most)
        sent = len([row for row in it.rows if row.reply is not None and row.reply.reached])
        assert sent >= 0.98 * K * 21, (seed, sent / (K * 21))


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
