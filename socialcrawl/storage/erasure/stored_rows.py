"""What a database stores about the accounts and posts of an order, row by row: the answer to a request for access."""

from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, exists, select

from socialcrawl.storage.erasure.targets import gone_node, gone_post
from socialcrawl.storage.schema.tables import (
    account,
    follow,
    hit,
    link,
    mention,
    outcome,
    pick,
    post,
    sampled,
    shadow,
    standing,
)


def read_stored(connection: Connection) -> dict[str, list[dict[str, Any]]]:
    """Return the rows about the accounts and posts that the lists of keys name, by table, without values that are NULL.

    Original responses and the ledger are not among them: an erasure counts and rewrites their rows.
    """
    found = {}
    for table, condition in _list_conditions():
        query = select(table).where(condition).order_by(*table.primary_key.columns)
        rows = connection.execute(query).mappings()
        found[table.name] = [{name: value for name, value in row.items() if value is not None} for row in rows]
    return {name: rows for name, rows in found.items() if rows}


def _list_conditions() -> list[tuple[Table, ColumnElement[bool]]]:
    """Return the tables that have rows about accounts or posts, each with the condition that a row is about theirs."""
    nodes, posts = select(gone_node.c.node), select(gone_post.c.id)

    def picked(table: Table) -> ColumnElement[bool]:
        same = (pick.c.campaign == table.c.campaign) & (pick.c.n == table.c.n)
        return exists().where(same & pick.c.node.in_(nodes))

    return [
        (account, account.c.node.in_(nodes)),
        (post, post.c.id.in_(posts)),
        (mention, mention.c.post.in_(posts) | mention.c.node.in_(nodes)),
        (hit, hit.c.post.in_(posts)),
        (follow, follow.c.node.in_(nodes) | follow.c.followed.in_(nodes)),
        (pick, pick.c.node.in_(nodes)),
        (shadow, picked(shadow)),
        (outcome, outcome.c.node.in_(nodes)),
        (link, link.c.node.in_(nodes) | picked(link)),
        (standing, standing.c.node.in_(nodes)),
        (sampled, sampled.c.node.in_(nodes)),
    ]
