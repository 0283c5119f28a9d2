"""The web pages beside a daemon: a child process, begun again when it ends, and ended with the daemon.

A child, not a thread: pages compute reports, which takes seconds of Python that would hold up the requests of campaigns
in the same process; and whatever makes the pages fail, or take all memory, leaves the daemon as it is. The child reads
the databases, as the pages of any other process do.
"""

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic

import structlog

from socialcrawl.cli.commands.ui import WebOptions, check_options
from socialcrawl.cli.listening import listen

COMMAND = (sys.executable, "-m", "socialcrawl", "ui", "--no-open", "--with-stdin")
PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)  # seconds until pages that ended are begun again
SOUND = 60.0  # seconds after which pages that ended count as having run well
STOP_WITHIN = 5.0  # seconds


@contextmanager
def serve_beside(options: WebOptions, command: Sequence[str] = COMMAND) -> Iterator[None]:
    """Serve the pages in a child process for the length of a `with` block; it is begun again when it ends.

    Raises:
        SettingsError: the pages cannot be served so; see `check_options`. What goes wrong later is logged.
    """
    check_options(options)
    listen(options.host, options.port, "--ui").close()
    keeper = _PageKeeper([*command, *options.places, *_list_options(options)])
    thread = threading.Thread(target=keeper.keep, name="pages", daemon=True)
    thread.start()
    try:
        yield
    finally:
        keeper.stop()
        thread.join(2 * STOP_WITHIN)


def _list_options(options: WebOptions) -> list[str]:
    words = ["--host", options.host, "--port", str(options.port)]
    words += ["--allow-remote"] if options.allow_remote else []
    return [*words, *(word for host in options.allow_hosts for word in ("--allow-host", host))]


class _PageKeeper:
    """Keeps the pages up: begins their process, writes what it says into the log, and begins it again."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._ended = threading.Event()
        self._child: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        self._log = structlog.get_logger()

    def keep(self) -> None:
        failures = 0
        while not self._ended.is_set():
            began = monotonic()
            code = self._run()
            if self._ended.is_set():
                return
            failures = 0 if monotonic() - began >= SOUND else failures
            pause = PAUSES[min(failures, len(PAUSES) - 1)]
            failures += 1
            self._log.warning("the pages ended; campaigns go on", code=code, again_after=f"{pause:.0f} s")
            self._ended.wait(pause)

    def stop(self) -> None:
        self._ended.set()
        with self._lock:
            child = self._child
        if child is None:
            return
        child.terminate()
        try:
            child.wait(STOP_WITHIN)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()

    def _run(self) -> int:
        """Run the pages until they end; return their exit code."""
        with self._lock:
            if self._ended.is_set():
                return 0
            self._child = child = subprocess.Popen(  # noqa: S603  (our own program with checked options)
                self._command,
                stdin=subprocess.PIPE,  # closed when this process ends, even by SIGKILL: the child ends with it
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
            )
        with child:
            assert child.stderr is not None
            for line in child.stderr:
                if line.strip():
                    self._log.info("the pages say", line=line.rstrip())
        return child.returncode
