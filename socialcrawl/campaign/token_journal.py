"""A journal of what was sent with a token, by whichever campaign of this machine, whatever database it writes to.

The ledgers of campaigns that are not open cannot all be read when a process begins to use a token: nobody knows where
their databases are, or has their passwords. So each request is noted in the state folder before it leaves, and when its
reply came. One process at a time uses a token (`token_locks.TokenLease`), so one at a time writes to its journal. What
no window counts any more is dropped: a journal is two files, the present one and the one before.
"""

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import orjson

from socialcrawl.engine.model import Grant, Reply
from socialcrawl.errors import StoreError

Line = tuple[str, str, float, list[float | None]]
"""The campaign, the endpoint, when the request left, and what came of it.

[]: it leaves now; [at]: its reply came (Unix seconds); [None]: the server was not reached.
"""

_writing = threading.Lock()  # held while the files change places


class TokenJournal:
    """What was sent with one token.

    Args:
        path: the present file; the one before has `.old` after its name. They need not be there yet.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.old = path, path.with_name(f"{path.name}.old")
        self._begun: float | None = None  # when the first request of the present file left

    def note(self, campaign: str, grant: Grant, reply: Reply | None, keep: float) -> None:
        """Write that a request leaves, or that its reply came; it outlives this process as soon as this returns.

        Args:
            campaign: what tells the campaign from all others of this machine.
            grant: the request.
            reply: what came; None: it leaves now.
            keep: seconds for which it has to be known.

        Raises:
            StoreError: the journal cannot be written.
        """
        came = [] if reply is None else [reply.at if reply.reached else None]
        line = [campaign, grant.request.endpoint, grant.at, *came]
        try:
            if reply is None:
                self._turn(grant.at, keep)
            # A line begins on a new one, whatever a power cut has left of the last.
            _append(self.path, b"\n" + orjson.dumps(line))
        except OSError as error:
            raise self._explain_unusable(error) from error

    def read(self, since: float) -> dict[str, list[tuple[str, float, float | None]]]:
        """Return what each campaign has sent since an instant: the endpoint, when it left, and when its reply came.

        Raises:
            StoreError: the journal cannot be read.
        """
        found: dict[str, dict[tuple[str, float], list[float | None]]] = {}
        with _writing:
            lines = [*self._read_lines(self.old), *self._read_lines(self.path)]
        for campaign, endpoint, left, came in lines:
            if left < since:
                continue
            replies = found.setdefault(campaign, {}).setdefault((endpoint, left), [])
            if not came:
                replies.append(None)
            elif None in replies:
                place = replies.index(None)
                replies[place : place + 1] = [landed for landed in came if landed is not None]
        return {
            campaign: [(*key, landed) for key, replies in its.items() for landed in replies]
            for campaign, its in found.items()
        }

    def _turn(self, now: float, keep: float) -> None:
        """Begin another file where nothing in the one before is needed any more, nor in what is one now."""
        if self._begun is not None and self._begun <= now <= self._begun + keep:
            return
        with _writing:
            first = next(self._read_lines(self.path), None)
            self._begun = now if first is None else min(now, first[2])  # the clock may have been set back
            if now > self._begun + keep:
                self.path.replace(self.old)
                self._begun = now

    def _read_lines(self, path: Path) -> Iterator[Line]:
        """Return the lines of a file that are whole."""
        try:
            with path.open("rb") as file:
                for line in file:
                    with suppress(ValueError, TypeError):
                        campaign, endpoint, left, *came = orjson.loads(line)
                        replies = [None if landed is None else float(landed) for landed in came[:1]]
                        yield str(campaign), str(endpoint), float(left), replies
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._explain_unusable(error) from error

    def _explain_unusable(self, error: OSError) -> StoreError:
        return StoreError(
            f"The journal {self.path}, which says how much of a token's rate limits is used, cannot be used "
            f"({error.strerror}): free the disk, or let XDG_STATE_HOME name a folder that can be written."
        )


def _append(path: Path, line: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        if os.write(file, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(file)
