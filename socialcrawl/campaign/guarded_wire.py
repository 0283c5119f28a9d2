"""The wire of a platform that another package adds: what it raises becomes a reply, as the loop needs it."""

from collections.abc import Callable
from typing import Any

from socialcrawl.engine.model import Grant, Reply, ReplyKind
from socialcrawl.platforms.base import Wired
from socialcrawl.system.plugins import describe_error


class GuardedWire:
    """A wire that never raises, around one that may.

    A request whose wire raised may have been sent and billed: its reply is `lost`, at the highest price.

    Args:
        wire: the wire of the platform.
        platform: the name of the platform.
        now: the clock, Unix seconds.
    """

    def __init__(self, wire: Wired, platform: str, now: Callable[[], float]) -> None:
        self.wire, self.platform, self.now = wire, platform, now

    def send(self, grant: Grant) -> Reply:
        """Return the reply of the wire; one of kind `lost` that says why, where it raised or returned anything else."""
        try:
            reply: Any = self.wire.send(grant)
        except Exception as error:  # noqa: BLE001 - whatever another package raises
            wrong = f"raised {describe_error(error)}"
        else:
            if isinstance(reply, Reply):
                return reply
            wrong = f"returned a {type(reply).__name__} in place of a Reply"
        why = f"the wire of the platform {self.platform!r} {wrong} ({grant.request.endpoint})"
        return Reply(ReplyKind.LOST, self.now(), cost=grant.request.most, why=why)

    def close(self) -> None:
        """Close the wire."""
        self.wire.close()
