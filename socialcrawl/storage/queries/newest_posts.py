"""The posts that a database has stored last, with what of them is counted. Called in a transaction."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, func, literal_column, select

from socialcrawl.storage.link_weights import select_hit_columns
from socialcrawl.storage.schema.tables import account, post


def read_newest_posts(connection: Connection, platform: str, most: int) -> Sequence[Sequence[Any]]:
    """Return (id, author, what `Topic.hits` takes) of the posts that were stored last, the last one first.

    Args:
        connection: the database.
        platform: posts of other platforms are left out.
        most: how many posts are looked at.
    """
    if connection.dialect.name == "sqlite":
        order: Any = [literal_column("post.rowid").desc()]  # rows are numbered as they are stored
    else:
        order = [post.c.fetched_at.desc(), post.c.id.desc()]
    author = func.coalesce(account.c.username, account.c.platform_id)
    query = select(account.c.platform, post.c.id, author, *select_hit_columns(connection, platform))
    # An outer join, as SQLite would begin with the accounts of the platform otherwise, and read all posts.
    newest = query.outerjoin_from(post, account, account.c.node == post.c.author).order_by(*order).limit(most)
    return [row[1:] for row in connection.execute(newest) if row[0] == platform]
