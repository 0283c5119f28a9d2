"""Single requests outside of a crawl, for meters and checks, with the campaign's tokens."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from socialcrawl.campaign.build import make_wire
from socialcrawl.campaign.credentials import CampaignAccess, open_access
from socialcrawl.campaign.plan import Plan
from socialcrawl.engine.model import Credential
from socialcrawl.errors import SettingsError
from socialcrawl.platforms.base import Wired
from socialcrawl.platforms.server_info import Meters
from socialcrawl.ratelimit.policy import Policy


@contextmanager
def open_wire(plan: Plan, now: Callable[[], float]) -> Iterator[tuple[CampaignAccess, Wired]]:
    """Yield the tokens of a campaign, locked against other processes, and the wire that uses them.

    Raises:
        SettingsError: a token is missing.
        StoreError: another process uses one, such as a run of the campaign.
    """
    allowed = open_access(plan.settings, plan.base)
    wire = make_wire(plan, allowed, now)
    try:
        yield allowed, wire
    finally:
        wire.close()
        allowed.release()


def find_meters(plan: Plan) -> Meters:
    """Return what asks the platform of a campaign how many posts it counts and has billed.

    Raises:
        SettingsError: the platform tells neither.
    """
    meters = plan.platform.make_meters(plan.settings, plan.policy)
    if meters is None:
        raise SettingsError(f"{plan.platform.title} counts nothing for us, nor charges anything: only X does.")
    return meters


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
        f"None of the tokens may use {endpoint}: it takes the bearer token of an app; name one under [source]."
    )
