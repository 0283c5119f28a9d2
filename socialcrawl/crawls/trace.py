"""What a campaign that refreshes, or samples, asked of one account, decision by decision."""

from collections.abc import Sequence
from dataclasses import dataclass

from socialcrawl.crawls.facts import DEFAULT
from socialcrawl.engine.model import Node
from socialcrawl.errors import SettingsError
from socialcrawl.storage.queries.traces import AccountVisit, CampaignTraces, StoredCampaign


@dataclass(frozen=True, slots=True)
class AccountTrace:
    """An account of a campaign with all that was asked about it, in order."""

    campaign: str
    kind: str
    account: str
    asks: Sequence[AccountVisit]


def trace_account(traces: CampaignTraces, campaign: StoredCampaign, user: str) -> AccountTrace:
    """Return what a campaign asked of `user`, a username or id.

    Raises:
        SettingsError: it does not know the account.
    """
    node = find_account(traces, campaign, user)
    name = traces.read_names([node])[node]
    return AccountTrace(
        campaign.name, campaign.identity.get("kind", DEFAULT.name), name, traces.read_visits(campaign.id, node)
    )


def find_account(traces: CampaignTraces, campaign: StoredCampaign, user: str) -> Node:
    """Return the account of a campaign that `user`, a username or id, means.

    Raises:
        SettingsError: it is not known, or was forgotten.
    """
    user = user.strip().removeprefix("@")
    held = traces.find_account(campaign, user)
    if held is None or held.forgotten_at is not None:
        why = (
            "was forgotten"
            if held or traces.find_tombstone(campaign.platform, user)
            else "is not known to this database"
        )
        raise SettingsError(f"{user!r} {why}: no account that was read mentions it, or nothing of it is left.")
    return held.node
