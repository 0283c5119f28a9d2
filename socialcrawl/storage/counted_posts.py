"""What of a stored post is counted: text, language, time and links, and whom it names where texts do not say so."""

from sqlalchemy import ColumnElement, Connection, Text, cast, func, literal_column, select

from socialcrawl.platforms.facts import find_platform_facts
from socialcrawl.storage.schema.tables import account, mention, post


def select_hit_columns(connection: Connection, platform: str) -> tuple[ColumnElement[str], ...]:
    """Return the columns of table post that `Topic.hits` takes, in its order.

    Args:
        connection: the database.
        platform: of the posts.
    """
    columns = (post.c.text, post.c.lang, post.c.created_at, post.c.urls)
    if not find_platform_facts(platform).federated:
        return columns  # its texts show names as they are
    together = func.json_group_array if connection.dialect.name == "sqlite" else func.json_agg
    names = select(cast(together(func.coalesce(account.c.platform_id, account.c.username)), Text))
    mine = names.join_from(mention, account, account.c.node == mention.c.node).where(mention.c.post == post.c.id)
    others = mine.where(mention.c.kind != literal_column("'quote'"), mention.c.node != post.c.author)
    return (*columns, others.scalar_subquery().label("names"))
