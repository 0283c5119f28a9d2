"""A wire that sends at once or not at all: a request counts in the windows of the time for which it was granted.

Other processes count a request as received within LAG seconds of its reservation (`ratelimit.other_processes`). A
process may be stopped for longer at any moment, or its machine may sleep; what it was about to send then is not sent.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from socialcrawl.engine.model import Grant, Reply, ReplyKind
from socialcrawl.platforms.base import Wired
from socialcrawl.platforms.sockets import leave_within

PROMPT = 5.0  # seconds from the grant of a request until its first byte leaves
WHY = "the request waited too long and was not sent; it is tried again"


class PromptWire:
    """A wire around another one, whose other attributes it has.

    Args:
        wire: the wire of the platform.
        now: the clock, Unix seconds.
    """

    def __init__(self, wire: Wired, now: Callable[[], float]) -> None:
        self.wire, self.now = wire, now

    def send(self, grant: Grant) -> Reply:
        """Return the reply to one request; one that is `late` where it waited too long, and was not sent."""
        left = grant.at + PROMPT - self.now()
        if left < 0.0:
            return Reply(ReplyKind.BROKEN, self.now(), why=WHY, late=True)
        with leave_within(left) as departure:
            reply = self.wire.send(grant)
        return replace(reply, why=WHY, late=True) if departure.is_missed and not reply.reached else reply

    def close(self) -> None:
        """Close the wire."""
        self.wire.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.wire, name)
