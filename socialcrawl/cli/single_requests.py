"""Single requests outside of a crawl, for meters and checks, with the campaign's tokens."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from socialcrawl.campaign.build import make_wire
from socialcrawl.campaign.credentials import CampaignAccess, open_access
from socialcrawl.campaign.plan import Plan
from socialcrawl.engine.model import Credential
from socialcrawl.errors import SettingsError
from socialcrawl.platforms.base import Wired
from socialcrawl.ratelimit.policy import Policy

if TYPE_CHECKING:
    from socialcrawl.platforms.x.wire import XWire


@contextmanager
def open_wire(meant: Plan, now: Callable[[], float]) -> Iterator[tuple[CampaignAccess, Wired]]:
    """Yield the tokens of a campaign, locked against other processes, and the wire that uses them.

    Raises:
        SettingsError: a token is missing.
        StoreError: another process uses one, such as a run of the campaign.
    """
    allowed = open_access(meant.settings, meant.base)
    wire = make_wire(meant, allowed, now)
    try:
        yield allowed, wire
    finally:
        wire.close()
        allowed.release()


@contextmanager
def open_meters(meant: Plan, now: Callable[[], float]) -> Iterator[tuple[CampaignAccess, "XWire"]]:
    """Yield the same for X's meters, which no other platform has.

    Raises:
        SettingsError: another platform is asked, or a token is missing.
        StoreError: as `open_wire`.
    """
    from socialcrawl.platforms.x.wire import XWire  # noqa: PLC0415 - other platforms need no tweepy

    with open_wire(meant, now) as (allowed, wire):
        if not isinstance(wire, XWire):
            raise SettingsError(f"{meant.platform.title} counts nothing for us, nor charges anything: only X does.")
        yield allowed, wire


def find_admitted(allowed: CampaignAccess, policy: Policy, endpoint: str) -> Credential:
    """Return the first credential that may ask an endpoint.

    Raises:
        SettingsError: none may.
    """
    known = policy.find_endpoint(endpoint)
    if known is None:
        raise SettingsError(
            f"The campaign's own policy has no [endpoints.{endpoint!r}]: copy it from config/{policy.platform}.toml."
        )
    for credential in allowed.credentials:
        if known.get_rules(credential.kind):
            return credential
    raise SettingsError(
        f"None of the tokens may ask {endpoint}: it takes the bearer token of an app; name one under [source]."
    )
