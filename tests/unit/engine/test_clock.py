"""Clocks: one that nobody sets but its owner, and one whose waits end early."""

import threading
import time
from math import inf

import pytest

from socialcrawl.engine import clock as clocks
from socialcrawl.engine.clock import InterruptibleClock, SteadyClock, SystemClock

LONG = 600.0  # seconds that nobody waits here
DRIFT = 0.02  # seconds by which the two clocks of a machine may drift apart meanwhile


class Machine:
    """A machine whose clock somebody sets, and which may sleep."""

    def __init__(self, monkeypatch, boot):
        self.wall, self.passed = 1_000_000.0, 50.0
        monkeypatch.setattr(clocks.time, "time", lambda: self.wall)
        if boot:
            monkeypatch.setattr(clocks.time, "CLOCK_BOOTTIME", 7, raising=False)
            monkeypatch.setattr(clocks.time, "clock_gettime", lambda which: self.passed, raising=False)
        else:
            monkeypatch.delattr(clocks.time, "CLOCK_BOOTTIME", raising=False)
            monkeypatch.setattr(clocks.time, "monotonic", lambda: self.passed)

    def pass_by(self, seconds):
        self.wall += seconds
        self.passed += seconds


@pytest.mark.parametrize("boot", [True, False], ids=["with the time since boot", "with a monotonic clock only"])
@pytest.mark.parametrize("by", [3600.0, -3600.0])
def test_a_steady_clock_goes_on_when_somebody_sets_the_clock_of_the_machine(monkeypatch, by, boot):
    machine = Machine(monkeypatch, boot)
    steady = SteadyClock()
    machine.pass_by(10.0)
    assert steady.now() == machine.wall
    assert steady.off() == 0.0
    machine.wall += by
    machine.pass_by(5.0)
    assert steady.now() == machine.wall - by
    assert steady.off() == by
    assert steady.follow() == by
    assert steady.now() == machine.wall
    assert steady.off() == 0.0


def test_time_in_which_the_machine_slept_has_passed(monkeypatch):
    machine = Machine(monkeypatch, boot=True)
    steady = SteadyClock()
    machine.pass_by(8 * 3600.0)
    assert steady.off() == 0.0
    assert steady.now() == machine.wall


def test_a_real_steady_clock_keeps_up_with_the_clock_of_the_machine():
    before = time.time()
    steady = SteadyClock()
    made = time.time()  # it was set somewhere in between, and tells the time so much too late at most
    first, now, last = time.time(), steady.now(), time.time()
    assert first - (made - before) - DRIFT < now < last + DRIFT
    assert steady.off() > -DRIFT


@pytest.mark.parametrize("made", [SystemClock, SteadyClock])
def test_a_wait_ends_at_its_instant_or_with_its_event(made):
    clock, event = made(), threading.Event()
    began = time.monotonic()
    clock.wait(event, clock.now() + 0.1)
    assert time.monotonic() - began > 0.08
    clock.wait(event, clock.now() - 5.0)
    event.set()
    clock.wait(event, clock.now() + LONG)
    assert time.monotonic() - began < LONG


def test_a_run_that_is_interrupted_wakes_and_may_be_restarted():
    clock = InterruptibleClock()
    threading.Timer(0.1, clock.interrupt).start()
    began = time.monotonic()
    clock.sleep(clock.now() + LONG)
    assert time.monotonic() - began < LONG
    assert clock.interrupted()
    clock.restart()
    assert not clock.interrupted()
    assert clock.ends == inf


def test_a_run_whose_time_is_over_counts_as_interrupted():
    clock = InterruptibleClock()
    clock.restart(clock.now() + 0.1)
    began = time.monotonic()
    clock.sleep(clock.now() + LONG)
    assert time.monotonic() - began < LONG
    assert clock.interrupted()
