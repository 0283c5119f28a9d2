"""Daemons that share a token through one PostgreSQL database pass no window together, whatever happens to one of them.

They are processes, and the mock counts.
"""

import random
import signal
import sys
import time

import pytest
from machines import machines

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are stopped by signals")


BUDGET = 20.0  # dollars
RESTS = (0.3, 1.0, 2.0, 4.0, 9.0, 13.0)  # seconds: some are longer than what is on its way can take


def assert_kept(it, windows):
    """Nothing came over a window, and there were windows that all of them used up."""
    its = it.windows()
    assert len(its) >= windows
    assert [one["over"] for one in its] == [0] * len(its), it.describe_over()
    assert max(one["requests"] for one in its) == it.k


def test_two_daemons_with_one_token_pass_none_of_twenty_windows(tmp_path):
    with machines(tmp_path, "ab", k=6) as it:
        it.wait_for(20)
        it.wait_until_all_sent(20)
        assert_kept(it, 20)


def test_four_daemons_with_one_token_pass_no_window(tmp_path):
    with machines(tmp_path, "abcd", k=10) as it:
        it.wait_for(20)
        it.wait_until_all_sent(20)
        assert_kept(it, 20)


@pytest.mark.chaos
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_daemons_that_are_killed_and_stopped_pass_no_window(tmp_path, seed):
    draw = random.Random(seed)
    with machines(tmp_path, "abc", k=10, d=3.0) as it:
        it.wait_for(3)
        for _ in range(12):
            one = draw.choice(it.all)
            if draw.random() < 0.35:
                one.kill()
                time.sleep(draw.choice(RESTS[:3]))
                one.begin()
            else:
                one.stop()
                time.sleep(draw.choice(RESTS))
                one.go_on()
            time.sleep(draw.choice(RESTS[:4]))
        it.wait_for(20)
        assert_kept(it, 20)


@pytest.mark.chaos
def test_four_daemons_with_twelve_workers_lose_nothing_and_pass_no_window_whatever_happens(tmp_path):
    """For ten minutes at least: daemons and workers are killed and stopped, and daemons cut off from the database."""
    pytest.importorskip("distributed")
    draw, ends = random.Random(4), time.monotonic() + 600.0
    options = ("--worker-processes", "3")
    with machines(tmp_path, "abcd", k=10, d=3.0, options=options, cuttable=True, dollars=BUDGET) as it:
        it.wait_for(3)
        while time.monotonic() < ends:
            one, what, rest = draw.choice(it.all), draw.random(), draw.choice(RESTS)
            workers = one.list_workers()
            if what < 0.2:
                one.kill()
                time.sleep(rest)
                one.begin()
            elif what < 0.4:
                one.stop()
                time.sleep(rest)
                one.go_on()
            elif what < 0.6:
                one.link.cut()
                time.sleep(rest)
                one.link.mend()
            elif workers:
                worker = draw.choice(workers)
                one.signal_worker(worker, signal.SIGKILL if what < 0.8 else signal.SIGSTOP)
                time.sleep(rest)
                one.signal_worker(worker, signal.SIGCONT)
            time.sleep(draw.choice(RESTS[:4]))
        windows = len(it.windows())
        it.wait_for(windows + 13)
        calm = it.windows()[windows + 2 : windows + 12]  # two after the last mishap
        assert sum(one["requests"] for one in calm) >= 0.98 * it.k * len(calm)
        it.wait_until_all_sent(20)
        assert_kept(it, 20)
        assert it.list_twice() == []
        it.wait_until(lambda: all(it.read_spent(name) > 0.8 * BUDGET for name in it.budgets))
        for name, mock in it.budgets.items():
            assert it.read_spent(name) <= BUDGET
            assert 0.0 < mock.report()["totals"]["dollars"] <= BUDGET
