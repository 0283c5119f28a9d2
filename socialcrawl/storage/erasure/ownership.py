"""Whose a post is where its id says so, and whom people mean by a short name."""

from collections.abc import Container, Iterable

from sqlalchemy import Connection, func, or_, select

from socialcrawl.platforms.facts import find_platform_facts, list_owner_finders
from socialcrawl.storage.schema.tables import account


def find_owners(key: str | None) -> set[str]:
    """Return the accounts that a post id names, see `PlatformFacts.find_owners`."""
    if not key or "/" not in key:
        return set()
    owners: set[str] = set()
    for find in list_owner_finders():
        if found := find(key):
            owners |= found
    return owners


def is_owned(key: str | None, ids: Container[str], names: Container[str]) -> bool:
    """Return whether the id of a post names one of these accounts, by id or by name (in lower case)."""
    return any(owner in ids or owner.lower() in names for owner in find_owners(key))


def shorten_name(name: str | None) -> str | None:
    """Return the short form of a name in lower case: `bob` for bob.example.org and bob@example.org.

    None where names have no longer form (X), or are no names (the web).
    """
    if not name or "/" in name or ":" in name.partition("@")[0]:
        return None
    begin, mark, _ = name.lower().partition("@")
    if not mark:
        begin, mark, _ = begin.partition(".")
    return begin if mark and begin else None


def shorten_names(names: Iterable[str]) -> set[str]:
    """Return the short forms of names that have one."""
    return {found for name in names if (found := shorten_name(name)) is not None}


MOST = 10  # accounts that are listed


def find_similar_names(connection: Connection, platform: str, name: str, most: int = MOST) -> list[str]:
    """Return the names of at most `most` accounts of a database whose name begins, or for pages ends, with `name`.

    Of a platform whose names have no such parts, none. The case does not count. Called without a transaction.
    """
    low = name.strip().removeprefix("@").lower()
    facts = find_platform_facts(platform)
    if not low or not (facts.omitted_from or facts.pages):
        return []
    if facts.pages:
        mine = or_(*(account.c.handle == f"{scheme}://{low}{end}" for scheme in ("https", "http") for end in ("", "/")))
    else:
        begin = f"{low}{facts.omitted_from}"
        mine = func.substr(account.c.handle, 1, len(begin)) == begin
    wanted = select(account.c.username).where(account.c.platform == platform, account.c.username.is_not(None), mine)
    with connection.begin():
        return list(connection.execute(wanted.order_by(account.c.username).limit(most)).scalars())
