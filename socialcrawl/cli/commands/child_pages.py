"""The web pages as a child process: beside a daemon, begun again when it ends, or beside a demo.

A child, not a thread: pages compute reports, which takes seconds of Python that would hold up the requests of campaigns
in the same process; and whatever makes the pages fail, or take all memory, leaves the daemon as it is. The child reads
the databases, as the pages of any other process do. It ends with its parent, even if that is killed.
"""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

import structlog

from socialcrawl.cli.commands.ui import WebOptions, check_options
from socialcrawl.cli.listening import listen
from socialcrawl.errors import SettingsError

COMMAND = (sys.executable, "-m", "socialcrawl", "ui", "--with-stdin")
PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)  # seconds until pages that ended are begun again
SOUND = 60.0  # seconds after which pages that ended count as having run well
STOP_WITHIN = 5.0  # seconds


@contextmanager
def serve_beside(options: WebOptions) -> Iterator[None]:
    """Serve the pages in a child process for the length of a `with` block; it is begun again when it ends.

    Raises:
        SettingsError: the pages cannot be served so; see `check_options`. What goes wrong later is logged.
    """
    check_options(options)
    listen(options.host, options.port, "--ui").close()
    keeper = _PageKeeper(options)
    thread = threading.Thread(target=keeper.keep, name="pages", daemon=True)
    thread.start()
    try:
        yield
    finally:
        keeper.stop()
        thread.join(2 * STOP_WITHIN)


@contextmanager
def serve_once(options: WebOptions) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Serve the pages in a child process for the length of a `with` block; yield what it says first, and the process.

    Raises:
        SettingsError: the pages cannot be served so.
    """
    check_options(options)
    with _begin(options) as child:
        try:
            assert child.stderr is not None
            said = child.stderr.readline().strip()
            if not said.startswith("served at "):
                raise SettingsError(said.removeprefix("error: ") or "The pages ended at once.")
            threading.Thread(target=child.stderr.read, daemon=True).start()  # a full pipe would hold it up
            yield said, child
        finally:
            _stop(child)


def _begin(options: WebOptions) -> subprocess.Popen[str]:
    words = ["--host", options.host, "--port", str(options.port), *([] if options.browser else ["--no-open"])]
    words += ["--allow-remote"] if options.allow_remote else []
    words += [word for host in options.allow_hosts for word in ("--allow-host", host)]
    return subprocess.Popen(  # noqa: S603  (our own program with checked options)
        [*COMMAND, *options.places, *words],
        stdin=subprocess.PIPE,  # closed when this process ends, even by SIGKILL: the child ends with it
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )


def _stop(child: subprocess.Popen[str]) -> None:
    child.terminate()
    try:
        child.wait(STOP_WITHIN)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


class _PageKeeper:
    """Keeps the pages up: begins their process, writes what it says into the log, and begins it again."""

    def __init__(self, options: WebOptions) -> None:
        self._options = options
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
        if child is not None:
            _stop(child)

    def _run(self) -> int:
        """Run the pages until they end; return their exit code."""
        with self._lock:
            if self._ended.is_set():
                return 0
            self._child = child = _begin(self._options)
        with child:
            assert child.stderr is not None
            for line in child.stderr:
                if line.strip():
                    self._log.info("the pages", said=line.rstrip())
        return child.returncode
