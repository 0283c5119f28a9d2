"""Time: the only module that looks at the wall clock or sleeps.

SystemClock    the clock of this machine
SteadyClock    the same, but that nothing moves it when somebody sets the clock: `off` tells by how much it was set
Interruptible what a run is given: a time, and a flag that ends its waits
"""

import threading
import time
from math import inf
from typing import Protocol

LONGEST = 3600.0  # seconds of one sleep: a clock that is set meanwhile is noticed


class Time(Protocol):
    """A clock, and a way to wait by it."""

    def now(self) -> float:
        """Return Unix seconds in whole microseconds, as the store keeps them."""

    def wait(self, event: threading.Event, until: float) -> None:
        """Wait for the event, at most until that instant; whoever waits looks again."""


class Steady(Time, Protocol):
    """A clock that nobody sets but its owner."""

    def off(self) -> float:
        """Return the seconds by which the clock of the machine was set since this last followed it."""

    def follow(self) -> float:
        """Take over the clock of the machine as it is set now; the seconds by which this has jumped."""


class SystemClock:
    """The clock of this machine."""

    def now(self) -> float:
        """See `Time.now`."""
        return round(time.time(), 6)

    def wait(self, event: threading.Event, until: float) -> None:
        """See `Time.wait`; an hour at most."""
        event.wait(min(LONGEST, max(0.0, until - self.now())))


class SteadyClock:
    """The clock of this machine as it was when this began; from then on, the time that has really passed.

    Time in which the machine slept has passed too (on Linux). When somebody sets the clock, nothing changes here until
    `follow`: the windows of a platform do not end sooner for it.
    """

    def __init__(self) -> None:
        self._ahead = time.time() - _read_uptime()

    def now(self) -> float:
        """See `Time.now`."""
        return round(self._ahead + _read_uptime(), 6)

    def wait(self, event: threading.Event, until: float) -> None:
        """See `Time.wait`; an hour at most."""
        event.wait(min(LONGEST, max(0.0, until - self.now())))

    def off(self) -> float:
        """See `Steady.off`."""
        return time.time() - self._ahead - _read_uptime()

    def follow(self) -> float:
        """See `Steady.follow`."""
        by = self.off()
        self._ahead += by
        return by


class InterruptibleClock:
    """The clock of one run: its sleeps end early, and it stops, when somebody interrupts or its time is over.

    Args:
        given: the time it goes by; None: the clock of this machine.
    """

    def __init__(self, given: Time | None = None) -> None:
        self.time: Time = given or SystemClock()
        self.ends = inf  # when the run is to stop by itself
        self._stop = threading.Event()

    def now(self) -> float:
        """Return Unix seconds."""
        return self.time.now()

    def sleep(self, until: float) -> None:
        """Wait until that instant, at most an hour, or until `interrupt`; whoever waits asks again."""
        self.time.wait(self._stop, min(until, self.ends))

    def interrupt(self) -> None:
        """Ask the run to stop; safe to call from a signal handler."""
        self._stop.set()

    def interrupted(self) -> bool:
        """Return whether it is to stop."""
        return self._stop.is_set() or (self.ends < inf and self.now() >= self.ends)

    def restart(self, ends: float = inf) -> None:
        """Begin another run, which is to stop at `ends`."""
        self.ends = ends
        self._stop.clear()


def _read_uptime() -> float:
    """Return the seconds since the machine started, with those asleep where the system counts them."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)  # Linux has it
    return time.monotonic() if boot is None else time.clock_gettime(boot)
