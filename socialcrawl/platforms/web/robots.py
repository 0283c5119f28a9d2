"""robots.txt (RFC 9309): what a host wants left alone, read by protego. Pure.

A reply's cursor carries the file from the wire to the source: "" where there is none, "=" before its text, ">" before
the address that it has moved to.
"""

import threading
from collections import OrderedDict

from protego import Protego

MOST = 512_000  # bytes: RFC 9309 wants at least 500 KiB to be read, the rest may be left
TEXT, MOVED = "=", ">"
MAX_KEPT = 2_000_000  # characters of files that are kept parsed; parsed they take some thirty times as much memory


def permits(cursor: str, url: str, agent: str) -> bool:
    """Return whether the file lets `agent` ask for the page `url`; without a file anything may be asked.

    Args:
        cursor: that of the reply to a request for the file.
        url: the address of the page.
        agent: the name of the program by which rules may speak of it, such as "socialcrawl".
    """
    return not cursor or bool(_parsed.parse(cursor.removeprefix(TEXT)).can_fetch(url, agent))


class ParsedFiles:
    """Files that were parsed, as many of the latest used as have `most` characters together."""

    def __init__(self, most: int = MAX_KEPT) -> None:
        self.most, self.size = most, 0
        self._files: OrderedDict[str, Protego] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._files)

    def parse(self, text: str) -> Protego:
        """Return the rules of a file."""
        with self._lock:
            if text in self._files:
                self._files.move_to_end(text)
                return self._files[text]
            rules = self._files[text] = Protego.parse(text)
            self.size += len(text)
            while self.size > self.most and len(self._files) > 1:
                self.size -= len(self._files.popitem(last=False)[0])
            return rules


_parsed = ParsedFiles()
