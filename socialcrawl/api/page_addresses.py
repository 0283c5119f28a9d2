"""Where platforms show posts and accounts: the addresses of their pages."""

from collections.abc import Callable, Sequence
from typing import Any

from socialcrawl.errors import SettingsError
from socialcrawl.platforms.facts import PlatformFacts, find_platform_facts
from socialcrawl.storage.queries.traces import CampaignTraces


def finish_post(row: Sequence[Any]) -> list[Any]:
    """Return a row of POSTS with the page of the post in place of its platform."""
    return [*row[:-1], find_post_page(row[-1], row[0])]


def finish_account(row: Sequence[Any]) -> list[Any]:
    """Return a row of ACCOUNTS with the page of the account in place of its platform and username."""
    *cells, platform, username = row
    return [*cells, find_account_page(platform, username, row[2])]


def find_account(traces: CampaignTraces, user: str, campaign: str | None) -> str | None:
    """Return where the platform shows an account of a campaign; None where that is not known, or it was forgotten."""
    stored = traces.read_campaign(campaign)
    known = traces.find_account(stored, user) or traces.find_account(stored, user.removeprefix("@"))
    if known is None or known.forgotten_at is not None:
        return None
    return find_account_page(stored.platform, known.username, known.platform_id)


def find_account_page(platform: str, name: str | None, account_id: str | None) -> str | None:
    """Return where a platform shows an account; None where that is not known."""
    return _find_page(platform, lambda facts: facts.find_account_page(name, account_id))


def find_post_page(platform: str, key: str) -> str | None:
    """Return where a platform shows a post; None where that is not known."""
    return _find_page(platform, lambda facts: facts.find_post_page(key))


def _find_page(platform: str, find: Callable[[PlatformFacts], str | None]) -> str | None:
    try:
        return find(find_platform_facts(platform))
    except SettingsError:  # a platform of a package that is not installed
        return None
