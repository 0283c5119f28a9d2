"""How much of what strangers send is held at once: one set of numbers for every platform and every file.

Servers and files may say anything. Where their bytes come in, size, memory and time are bounded by these numbers;
SECURITY.md says who is trusted with what.
"""

import ctypes
import threading
from collections import Counter
from contextlib import suppress
from functools import cache

# Answers of servers.
MAX_ANSWER = 10_000_000  # bytes of one answer, after decompression
MAX_TOGETHER = 64_000_000  # bytes of all answers that are read at the same time
MAX_HEADERS = 500  # headers of one answer
MAX_CHUNKS = 100_000  # pieces in which the body of one answer comes: each costs time, however small it is
MAX_PREFACE = 1_000_000  # bytes before the body: status line, headers, interim answers (100 Continue)
LARGE = 100_000  # bytes from which on answers are parsed one at a time
SMALL = 64_000  # bytes up to which an answer waits for nobody
MAX_POSTS = 5_000  # posts, or profiles, in one answer: platforms send 100
DEADLINE = 4.0  # times the timeout: seconds for a whole request, unless `[source] deadline` says otherwise

# Values in JSON, from servers and from files. Each costs up to some 200 bytes as a Python object.
MAX_VALUES = 500_000

# Files that a person names. Text is held as Python objects, which take up to 25 times its bytes.
MAX_LINE = 16_000_000  # bytes of one line of JSON; an answer with 500 posts has about 5 MB
MAX_ROW = 1_000_000  # bytes of one row of CSV or of a list
MAX_COLUMNS = 2_000  # columns of a table
MAX_CELL = 4_000_000  # characters of one text in JSON, bytes of one row of Parquet
MAX_BATCH = 4_000_000  # bytes of a file that are held at once
MAX_PAGES = 128_000_000  # bytes of the largest page of each column of a Parquet file together, unpacked
MAX_ITEMS = 5_000_000  # items in the lists of one row group of a Parquet file
MAX_DOCUMENT = 16_000_000  # bytes of a file that is read whole, such as a list of accounts
MAX_TOML = 1_000_000  # bytes of a campaign file, a policy or a scenario
MAX_GROWTH = 200  # times its size that a packed file may unpack to ...
MAX_UNPACKED = 100_000_000  # ... and bytes that any file may unpack to

M_ARENA_MAX = -8  # of malloc.h


def is_crowded(json: bytes) -> bool:
    """Return whether JSON may hold more than `MAX_VALUES` values; counts its commas and opening brackets, unparsed."""
    if len(json) <= MAX_VALUES:
        return False
    return json.count(b",") + json.count(b"[") + json.count(b"{") > MAX_VALUES


@cache
def share_heaps() -> None:
    """Let all threads share two heaps of glibc: each has one of its own else, which keeps what it once needed."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 2)


class AllowanceShare:
    """What one reader holds of an allowance, in bytes; `owner` is whose it is: one campaign's client."""

    def __init__(self, owner: int = 0) -> None:
        self.held, self.owner = 0, owner


class Allowance:
    """Bytes that all readers of a process may hold together.

    A reader that needs more waits until others let go. One reader at a time may go on regardless, up to `largest`, so
    that somebody always comes to an end: readers that each wait for the others cannot happen. Small answers wait for
    nobody, and one owner holds half of the room at most: who reads from a slow server does not keep others waiting.

    Args:
        total: bytes that are held at most, besides small answers.
        largest: bytes that one reader needs at most.
        small: bytes that a reader always gets.
    """

    def __init__(self, total: int = MAX_TOGETHER, largest: int = MAX_ANSWER, small: int = SMALL) -> None:
        self._room, self._small = total - largest, small
        self._held = 0
        self._owned: Counter[int] = Counter()
        self._first: AllowanceShare | None = None
        self._freed = threading.Condition()

    @property
    def bytes_held(self) -> int:
        """Bytes that all readers hold now."""
        return self._held

    def take(self, share: AllowanceShare, size: int, timeout: float) -> bool:
        """Add `size` bytes to what a reader holds; return False if there was no room within `timeout` seconds."""
        with self._freed:
            if not self._freed.wait_for(lambda: self._may_take(share, size), max(0.0, timeout)):
                return False
            share.held += size
            self._held += size
            self._owned[share.owner] += size
            return True

    def give_back(self, share: AllowanceShare) -> None:
        """Release all that a reader holds."""
        with self._freed:
            self._held -= share.held
            self._owned[share.owner] -= share.held
            if not self._owned[share.owner]:
                del self._owned[share.owner]
            share.held = 0
            if self._first is share:
                self._first = None
            self._freed.notify_all()

    def _may_take(self, share: AllowanceShare, size: int) -> bool:
        if share.held + size <= self._small or self._first is share:
            return True
        if self._held + size <= self._room and self._owned[share.owner] + size <= self._room // 2:
            return True
        if self._first is None:
            self._first = share
            return True
        return False
