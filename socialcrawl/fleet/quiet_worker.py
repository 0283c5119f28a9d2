"""What Dask runs first in worker processes of our own: Ctrl-C in a terminal is for the process that decides."""

import signal
from typing import Any


def dask_setup(worker: Any) -> None:
    """Ignore the interrupt of the terminal; whoever started the worker ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
