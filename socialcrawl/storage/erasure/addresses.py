"""Whom and what an address names: the profile of an account, a post, a page. Pure.

The first platform that knows an address says so (`PlatformFacts.find_holders`).
"""

from urllib.parse import unquote, urlsplit

from socialcrawl.platforms.facts import list_platform_facts

PORTS = {"http": 80, "https": 443}


def find_holders(address: str) -> set[str]:
    """Return the ids and names (in lower case) of the accounts that an address names."""
    for facts in list_platform_facts():
        if (holders := facts.find_holders(address)) is not None:
            return holders
    return set()


def parse_post_address(address: str) -> tuple[str, str] | None:
    """Return what identifies a post in each of its addresses: its author and its key; None where it is no post's."""
    for facts in list_platform_facts():
        if (named := facts.parse_post_address(address)) is not None:
            return named
    return None


def normalize_page(address: str) -> str | None:
    """Return the address of a page in one spelling, without what stands behind `#`; None where it is none."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    scheme = parts.scheme.lower()
    if scheme not in PORTS or not parts.hostname:
        return None
    host = parts.hostname if port in (None, PORTS[scheme]) else f"{parts.hostname}:{port}"
    return f"{scheme}://{host}{unquote(parts.path or '/')}{f'?{parts.query}' if parts.query else ''}"
