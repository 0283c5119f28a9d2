"""Texts of others that call the forgotten by the short form of a name, where the post mentions them."""

from sqlalchemy import Connection, select

from socialcrawl.storage.database.bulk import make_update
from socialcrawl.storage.database.keyed import CHUNK, select_by_keys
from socialcrawl.storage.erasure.dry_run import write_rows
from socialcrawl.storage.erasure.ownership import shorten_name
from socialcrawl.storage.erasure.targets import ErasureTargets, gone_node, gone_post
from socialcrawl.storage.erasure.texts import replace_names
from socialcrawl.storage.schema.tables import account, mention, post


def replace_short_names(connection: Connection, gone: ErasureTargets) -> int:
    """Replace short forms in others' posts; return in how many. Mentions and names are still there."""
    if not gone.brief:
        return 0
    named = _read_short_names(connection)
    keys, number, ids = sorted(named), 0, {*gone.ids, *gone.posts}
    statement = make_update(connection, post, ("text",), "id")
    for begin in range(0, len(keys), CHUNK):
        rows = select_by_keys(connection, select(post.c.id, post.c.text), post.c.id, keys[begin : begin + CHUNK])
        without = [
            (key, replace_names(text, gone.names, ids)) for key, text in rows
        ]  # as `rows.replace_in_rows` leaves it
        changed = [(new, key) for key, text in without if (new := replace_names(text, named[key])) != text]
        write_rows(statement, changed)
        number += len(changed)
    return number


def _read_short_names(connection: Connection) -> dict[str, set[str]]:
    """Return the short forms of the forgotten that each post mentions."""
    whole = select(mention.c.post, account.c.handle).join(account, account.c.node == mention.c.node)
    theirs = whole.where(mention.c.node.in_(select(gone_node.c.node)), mention.c.post.not_in(select(gone_post.c.id)))
    found: dict[str, set[str]] = {}
    for key, handle in connection.execute(theirs):
        if (name := shorten_name(handle)) is not None:
            found.setdefault(key, set()).add(name)
    return found
