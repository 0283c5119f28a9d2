"""Time: the only module that looks at the wall clock or sleeps."""

import threading
import time

LONGEST = 3600.0  # seconds of one sleep: a clock that is set meanwhile is noticed


class SystemClock:
    """The clock of this machine; a sleep ends early when somebody interrupts."""

    def __init__(self) -> None:
        self._stop = threading.Event()

    def now(self) -> float:
        """Unix seconds, whole microseconds: as the store keeps them."""
        return round(time.time(), 6)

    def sleep(self, until: float) -> None:
        """Wait until that instant, at most an hour, or until `interrupt`; whoever waits asks again."""
        self._stop.wait(min(LONGEST, max(0.0, until - time.time())))

    def interrupt(self) -> None:
        """Ask the run to stop; safe to call from a signal handler."""
        self._stop.set()

    def interrupted(self) -> bool:
        """Whether `interrupt` was called."""
        return self._stop.is_set()
