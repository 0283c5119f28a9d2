"""The mock as a child process: started, awaited by its first line, and stopped by its own handle."""

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from socialcrawl.errors import MockError

COMMAND = (sys.executable, "-m", "socialcrawl", "mock", "--with-stdin", "--posts")
STOP_WITHIN = 5.0  # seconds


@dataclass(frozen=True)
class MockProcess:
    """A mock in a process of its own: where it listens, and its handle."""

    url: str
    process: subprocess.Popen[str]

    def stop(self) -> None:
        """Stop the child; kill it if it does not end within STOP_WITHIN."""
        self.process.terminate()
        try:
            self.process.wait(STOP_WITHIN)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextmanager
def spawn(
    posts: Path, *options: str, command: Sequence[str] = COMMAND, start_within: float = 60.0
) -> Iterator[MockProcess]:
    """Run a mock server as a child process for the length of a `with` block.

    Args:
        posts: the file of posts.
        options: options of the command line, such as `"--window", "2"`.
        command: the command before the file.
        start_within: seconds until the first line must have come.

    Raises:
        MockError: the child ended or said nothing in time; its last words are told.
    """
    with tempfile.TemporaryFile("w+") as complaints:
        process = subprocess.Popen(  # noqa: S603  # our own program with a path as one argument
            [*command, str(posts), *options],
            stdin=subprocess.PIPE,  # closed when this process ends, even by SIGKILL: the child ends with it
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
        )
        child = MockProcess("", process)
        try:
            yield MockProcess(_url(process, complaints, start_within), process)
        finally:
            child.stop()
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    pipe.close()


def _url(process: subprocess.Popen[str], complaints: IO[str], start_within: float) -> str:
    lines: list[str] = []
    assert process.stdout is not None
    # A thread, as a pipe cannot be read with a time-out everywhere; it ends with the line or with the child.
    reader = threading.Thread(target=lambda out: lines.append(out.readline()), args=(process.stdout,), daemon=True)
    reader.start()
    reader.join(start_within)
    if not lines:
        process.kill()
        process.wait()
        reader.join()
        raise MockError(f"The mock said nothing within {start_within:g} s; start it by hand to see why.")
    try:
        url: str = json.loads(lines[0])["url"]
    except (ValueError, KeyError, TypeError):
        process.kill()
        process.wait()
        complaints.seek(0)
        last = complaints.read().strip().splitlines()[-1:] or [lines[0].strip() or "nothing"]
        raise MockError(f"The mock did not start. It said: {last[0].removeprefix('error: ')}") from None
    return url
