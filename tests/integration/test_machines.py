"""Daemons that share a token through one PostgreSQL database pass no window together, whatever happens to one of them.

They are processes, and the mock counts.
"""

import random
import sys
import time

import pytest
from machines import machines

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are stopped by signals")


def assert_kept(it, windows, use=0.0):
    """Nothing came over a window, and that much of them was used, but for the first ones."""
    its = it.windows()
    assert len(its) >= windows
    assert [one["over"] for one in its] == [0] * len(its)
    whole = its[4:-1]
    assert sum(one["requests"] for one in whole) >= use * it.k * len(whole), [one["requests"] for one in whole]


def test_two_daemons_with_one_token_pass_none_of_twenty_windows_and_use_them(tmp_path):
    with machines(tmp_path, "ab") as it:
        it.wait_for(24)
        assert_kept(it, 24, 0.98)
        assert all(it.count_sent(one.name) >= 20 for one in it.all), "both of them work"


def test_four_daemons_with_one_token_pass_no_window_and_use_all(tmp_path):
    with machines(tmp_path, "abcd", k=40) as it:
        it.wait_for(26)
        assert_kept(it, 26, 0.98)
        assert all(it.count_sent(one.name) >= 20 for one in it.all), "all of them work"


@pytest.mark.chaos
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_daemons_that_are_killed_and_stopped_pass_no_window(tmp_path, seed):
    draw = random.Random(seed)
    with machines(tmp_path, "abc", k=20, d=3.0) as it:
        it.wait_for(3)
        for _ in range(12):
            one = draw.choice(it.all)
            if draw.random() < 0.35:
                one.kill()
                time.sleep(draw.uniform(0.0, 2.0))
                one.begin()
            else:
                one.stop()
                time.sleep(draw.choice([0.3, 2.0, draw.uniform(3.0, 14.0)]))
                one.go_on()
            time.sleep(draw.uniform(0.5, 6.0))
        it.wait_for(20)
        assert_kept(it, 20)
