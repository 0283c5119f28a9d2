"""Single requests outside of a crawl, for meters and checks, with the campaign's tokens."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from socialcrawl.access import Access, access
from socialcrawl.build import wired
from socialcrawl.errors import SettingsError
from socialcrawl.limits.policy import Policy
from socialcrawl.model import Credential
from socialcrawl.plan import Plan
from socialcrawl.sources.x.wire import XWire


@contextmanager
def door(meant: Plan, now: Callable[[], float]) -> Iterator[tuple[Access, XWire]]:
    """The tokens of a campaign and the wire that uses them; other processes are kept from them meanwhile.

    Raises:
        SettingsError: a token is missing.
        StoreError: another process uses one, such as a run of the campaign.
    """
    allowed = access(meant.settings, meant.base)
    wire = wired(meant, allowed, now)
    try:
        yield allowed, wire
    finally:
        for made in wire.clients.values():
            made.session.close()
        allowed.release()


def admitted(allowed: Access, policy: Policy, endpoint: str) -> Credential:
    """The first credential that may ask an endpoint.

    Raises:
        SettingsError: none may.
    """
    known = policy.endpoints.get(endpoint)
    if known is None:
        raise SettingsError(f"The campaign's own policy has no [endpoints.{endpoint!r}]: copy it from config/x.toml.")
    for credential in allowed.credentials:
        if known.rules(credential.kind):
            return credential
    raise SettingsError(
        f"None of the tokens may ask {endpoint}: it takes the bearer token of an app; name one under [source]."
    )
