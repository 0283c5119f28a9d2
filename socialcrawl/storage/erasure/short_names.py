"""Texts of others that call the forgotten by the short form of a name, where the post mentions them."""

from sqlalchemy import Connection, select

from socialcrawl.storage.database.bulk import updating
from socialcrawl.storage.database.keyed import CHUNK, keyed
from socialcrawl.storage.erasure.dry_run import write
from socialcrawl.storage.erasure.ownership import short
from socialcrawl.storage.erasure.targets import ErasureTargets, gone_node, gone_post
from socialcrawl.storage.erasure.texts import without_names
from socialcrawl.storage.schema.tables import account, mention, post


def shortened(connection: Connection, gone: ErasureTargets) -> int:
    """Replace short forms in others' posts; return in how many. Mentions and names are still there."""
    if not gone.brief:
        return 0
    named = _named(connection)
    keys, number, ids = sorted(named), 0, {*gone.ids, *gone.posts}
    statement = updating(connection, post, ("text",), "id")
    for begin in range(0, len(keys), CHUNK):
        rows = keyed(connection, select(post.c.id, post.c.text), post.c.id, keys[begin : begin + CHUNK])
        without = [(key, without_names(text, gone.names, ids)) for key, text in rows]  # as `rows.reworded` leaves it
        changed = [(new, key) for key, text in without if (new := without_names(text, named[key])) != text]
        write(statement, changed)
        number += len(changed)
    return number


def _named(connection: Connection) -> dict[str, set[str]]:
    """Return the short forms of the forgotten that each post mentions."""
    whole = select(mention.c.post, account.c.handle).join(account, account.c.node == mention.c.node)
    theirs = whole.where(mention.c.node.in_(select(gone_node.c.node)), mention.c.post.not_in(select(gone_post.c.id)))
    found: dict[str, set[str]] = {}
    for key, handle in connection.execute(theirs):
        if (name := short(handle)) is not None:
            found.setdefault(key, set()).add(name)
    return found
