"""robots.txt (RFC 9309): what a host wants left alone, read by protego. Pure.

A reply's cursor carries the file from the wire to the talk: "" where there is none, "=" before its text, ">" before
the address that it has moved to.
"""

from functools import lru_cache

from protego import Protego

MOST = 512_000  # bytes: RFC 9309 wants at least 500 KiB to be read, the rest may be left
TEXT, MOVED = "=", ">"


def permits(cursor: str, url: str, agent: str) -> bool:
    """Whether the file lets `agent` ask for the page `url`; without a file anything may be asked.

    Args:
        cursor: that of the reply to a request for the file.
        url: the address of the page.
        agent: the name of the program by which rules may speak of it, such as "socialcrawl".
    """
    return not cursor or bool(_parsed(cursor).can_fetch(url, agent))


@lru_cache(maxsize=1_000)
def _parsed(cursor: str) -> Protego:
    return Protego.parse(cursor.removeprefix(TEXT))
