"""Accounts that a person may mean who leaves a part of the name out: the domain, the instance, the scheme."""

from sqlalchemy import Connection, func, or_, select

from socialcrawl.platforms.facts import find_platform_facts
from socialcrawl.storage.schema.tables import account

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
