"""The wire of a campaign. Where another package adds the platform, what it raises becomes a reply."""

from collections.abc import Callable, Mapping
from typing import Any

from socialcrawl.engine.model import Grant, Reply, ReplyKind
from socialcrawl.platforms.base import Keys, Platform, Secret, Terms, Wired
from socialcrawl.platforms.facts import PLATFORMS
from socialcrawl.system.plugins import describe_error
from socialcrawl.system.state_folder import make_state_folder


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


def make_wire(platform: Platform, terms: Terms, secrets: Mapping[str, Secret], now: Callable[[], float]) -> Wired:
    """Return the wire of a campaign.

    Args:
        platform: its platform.
        terms: the campaign as its platform has to know it.
        secrets: its tokens by the names of their credentials.
        now: the clock, Unix seconds.
    """
    wire = platform.make_wire(terms, Keys(secrets, make_state_folder), now)
    name = platform.facts.name
    return GuardedWire(wire, name, now) if PLATFORMS.is_added(name) else wire
