"""Accounts that a person may mean who leaves a part of the name out: the domain, the instance, the scheme."""

from sqlalchemy import Connection, func, or_, select

from socialcrawl.store.tables import account

MOST = 10  # accounts that are listed
BETWEEN = {"bluesky": ".", "mastodon": "@"}  # what the left-out part begins with


def alike(connection: Connection, platform: str, name: str, most: int = MOST) -> list[str]:
    """The names of at most `most` accounts of a database whose name begins, or for pages ends, with `name`.

    On X a name has no parts. The case does not count. Called without a transaction.
    """
    low = name.strip().removeprefix("@").lower()
    if not low or (platform not in BETWEEN and platform != "web"):
        return []
    if platform == "web":
        mine = or_(*(account.c.handle == f"{scheme}://{low}{end}" for scheme in ("https", "http") for end in ("", "/")))
    else:
        begin = f"{low}{BETWEEN[platform]}"
        mine = func.substr(account.c.handle, 1, len(begin)) == begin
    wanted = select(account.c.username).where(account.c.platform == platform, account.c.username.is_not(None), mine)
    with connection.begin():
        return list(connection.execute(wanted.order_by(account.c.username).limit(most)).scalars())
