"""The rows themselves: posts, accounts and original answers without what goes, and tombstones in its place."""

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, Select, bindparam, case, delete, null, or_, select, update

from socialcrawl.platforms.facts import list_link_shapes, list_platform_facts
from socialcrawl.storage.database import bulk
from socialcrawl.storage.database.bulk import Statement, make_update, select_by_keys
from socialcrawl.storage.erasure import tombstones
from socialcrawl.storage.erasure.dry_run import carry_out, change_rows, write_rows
from socialcrawl.storage.erasure.orders import ErasureOrder
from socialcrawl.storage.erasure.ownership import shorten_name
from socialcrawl.storage.erasure.targets import ErasureTargets, gone_node, gone_post
from socialcrawl.storage.erasure.texts import remove_links, replace_names
from socialcrawl.storage.schema.tables import (
    account,
    account_check,
    charge,
    follow,
    hit,
    mention,
    post,
    post_check,
    request,
    response,
    tombstone,
)

CHUNK = 5_000  # rows read at a time
FEW = 20  # names to search for in SQL
PROFILE = ("name", "description", "created_at", "followers", "following", "posts", "listed", "protected", "verified",
           "url", "profile_at")  # fmt: skip
REFERENCES = ("reply_to", "quote_of", "conversation_id")
MARKS = ("@", "\uff20")


def cut_references(connection: Connection) -> int:
    """Return the number of others' posts whose references to posts that go were cut.

    No original speaks of the forgotten.
    """
    ids = select(gone_post.c.id)
    cut = {name: case((post.c[name].in_(ids), null()), else_=post.c[name]) for name in REFERENCES}
    number = change_rows(connection, update(post).where(_make_reference_condition()).values(cut | {"original": null()}))
    statement = update(post).where(post.c.original.is_not(None), post.c.id.in_(_select_naming_posts()))
    carry_out(connection, statement.values(original=None))
    return number


def _make_reference_condition() -> ColumnElement[bool]:
    """Return the condition that a post of others refers to one that goes."""
    ids = select(gone_post.c.id)
    return or_(*(post.c[name].in_(ids) for name in REFERENCES)) & post.c.id.not_in(ids)


def _select_naming_posts() -> Select[Any]:
    """Return the ids of all posts that mention the forgotten."""
    return select(mention.c.post).where(mention.c.node.in_(select(gone_node.c.node)))


def replace_in_rows(connection: Connection, gone: ErasureTargets) -> int:
    """Replace names of the forgotten, and links to them, in others' posts and profiles; return in how many."""
    names = ("text", "urls", "original")
    statement, number = make_update(connection, post, names, "id"), 0
    original = case(
        (_make_reference_condition() | post.c.id.in_(_select_naming_posts()), null()), else_=post.c.original
    )  # as `cut_references` leaves it
    texts = post.c.text, post.c.urls, original.label("original")
    query = select(post.c.id, *texts).where(post.c.id.not_in(select(gone_post.c.id)))
    if len(gone.names) <= FEW:  # the database finds a few words sooner than we look at every text
        words = [*(name for name in gone.names if name.isascii()), *(key for key in gone.ids if "://" in key)]
        words += [host for shape in list_link_shapes() for host in shape.hosts]
        if not all(map(str.isascii, gone.names)):  # SQLite knows the cases of ASCII only
            words += MARKS
        found_in = (text.icontains(word, autoescape=True) for text in (*texts[:2], original) for word in words)
        query = query.where(or_(*found_in))
    ids = {*gone.ids, *gone.posts}
    for rows in read_chunks(connection, query, post.c.id):
        found = [new for row in rows if (new := _replace_in_row(row, gone.names, ids)) is not None]
        write_rows(statement, found)
        number += len(found)
    return number + _replace_in_profiles(connection, gone, ids)


def _replace_in_row(row: Any, names: Container[str], ids: Container[str]) -> tuple[Any, ...] | None:
    text = replace_names(row.text, names, ids)
    urls = remove_links(row.urls, names, ids)
    changes = row.original is not None and replace_names(row.original, names, ids) != row.original
    if text == row.text and urls == row.urls and not changes:
        return None
    return text, urls, None, row.id


def _replace_in_profiles(connection: Connection, gone: ErasureTargets, ids: Container[str]) -> int:
    names = ("name", "description", "url")
    statement, number = make_update(connection, account, names, "node"), 0
    shown = select(account.c.node, *(account.c[name] for name in names)).where(account.c.description.is_not(None))
    for rows in read_chunks(connection, shown, account.c.node):
        found = []
        for node, *texts in rows:
            new = [text and replace_names(text, gone.names, ids) for text in texts]
            if new != texts and node not in gone.nodes:
                found.append((*new, node))
        write_rows(statement, found)
        number += len(found)
    return number


def remove_rows(connection: Connection) -> dict[str, int]:
    """Return the numbers of rows removed: posts, and mentions and hits with them; mentions of the forgotten too."""
    ids, nodes = select(gone_post.c.id), select(gone_node.c.node)
    known = follow.c.node.in_(nodes) | follow.c.followed.in_(nodes)
    carry_out(connection, delete(follow).where(known))
    carry_out(connection, delete(post_check).where(post_check.c.post.in_(ids)))
    carry_out(connection, delete(account_check).where(account_check.c.node.in_(nodes)))
    said = delete(mention).where(mention.c.post.in_(ids) | mention.c.node.in_(nodes))
    return {
        "hit": change_rows(connection, delete(hit).where(hit.c.post.in_(ids))),
        "mention": change_rows(connection, said),
        "post": change_rows(connection, delete(post).where(post.c.id.in_(ids))),
    }


def empty_accounts(connection: Connection, gone: ErasureTargets, now: str) -> int:
    """Return the number of accounts emptied; another one that still shows a name of the forgotten loses that name."""
    nothing: dict[str, Any] = dict.fromkeys((*PROFILE, "platform_id", "username", "handle"))
    fresh = account.c.node.in_(select(gone_node.c.node)) & account.c.forgotten_at.is_(None)
    number = change_rows(connection, update(account).where(fresh).values(nothing | {"forgotten_at": now}))
    ours = select(account.c.node).where(account.c.platform == gone.platform)
    shown = select_by_keys(connection, ours, account.c.handle, list(gone.names))
    names = make_update(connection, account, ("username", "handle"), "node")
    write_rows(names, [(None, None, row.node) for row in shown])
    return number


def empty_profiles(connection: Connection, before: str, nodes: Sequence[int] | None = None) -> int:
    """Return the number of profiles emptied that were fetched before an instant; id and username stay.

    `nodes`: only those of these accounts.
    """
    old = update(account).where(account.c.profile_at < before)
    if nodes is not None:
        old = old.where(account.c.node.in_(nodes))
    return change_rows(connection, old.values(dict.fromkeys(PROFILE)))


def remove_places(connection: Connection, order: ErasureOrder, platform: str) -> tuple[int, set[str]]:
    """Return the number of originals without their places now, and the ids of all posts whose places had to go."""
    users = [key for kind, key in order.places if kind == "user"]
    ids = [key for kind, key in order.places if kind == "post"]
    query = select(post.c.id, post.c.original)
    written = query.join(account, account.c.node == post.c.author).where(account.c.platform == platform)
    by_user = select_by_keys(connection, written, account.c.platform_id, sorted(users))
    by_id = select_by_keys(connection, query, post.c.id, sorted(ids))
    rows = {row.id: row.original for row in (*by_user, *by_id)}
    changed, places = [], {name for facts in list_platform_facts() for name in facts.places}
    for key, original in rows.items():
        values = orjson.loads(original) if original else {}
        if not places.isdisjoint(values):
            left = {name: value for name, value in values.items() if name not in places}
            changed.append((orjson.dumps(left).decode(), key))
    write_rows(make_update(connection, post, ("original",), "id"), changed)
    return len(changed), {*rows, *ids}


def remove_old_answers(connection: Connection, before: str, requests: Sequence[int] | None = None) -> int:
    """Return the number of original answers removed that arrived before an instant; `requests`: only those of these."""
    old = select(request.c.id).where(request.c.arrived_at < before)
    if requests is not None:
        old = old.where(request.c.id.in_(requests))
    return change_rows(connection, delete(response).where(response.c.request.in_(old)))


def anonymize_charges(connection: Connection, gone: ErasureTargets) -> int:
    """Return the number of charges that name a digest instead of what goes: what was billed today stays billed."""
    columns = (charge.c.day, charge.c.credential, charge.c.kind, charge.c.resource)
    users = select_by_keys(
        connection, select(*columns).where(charge.c.kind == "user"), charge.c.resource, list(gone.ids)
    )
    posts = select(*columns).where(charge.c.kind == "post", charge.c.resource.in_(select(gone_post.c.id)))
    same = [getattr(charge.c, name) == bindparam(f"the_{name}") for name in ("day", "credential", "kind", "resource")]
    names = ("digest", "the_day", "the_credential", "the_kind", "the_resource")
    statement = Statement(connection, update(charge).where(*same).values(resource=bindparam("digest")), names)
    found = [*users, *connection.execute(posts).all()]
    write_rows(statement, [(_mask_charge(gone, row), *row) for row in found])
    return len(found)


def _mask_charge(gone: ErasureTargets, row: Any) -> str:
    platform = gone.platform if row.kind == "user" else gone.posts[row.resource].platform
    return tombstones.make_digest(platform, row.kind, row.resource)


def put_tombstones(connection: Connection, gone: ErasureTargets, now: str) -> int:
    """Put tombstones for all that goes; return how many say more than before, see `tombstones.put_tombstones`."""
    rows = _list_tombstones(gone, now)
    return sum(
        tombstones.put_tombstones(connection, rows[begin : begin + CHUNK]) for begin in range(0, len(rows), CHUNK)
    )


def renew_tombstones(connection: Connection, gone: ErasureTargets, now: str) -> None:
    """Note in the tombstones of all that goes that more of it was found now: exports go by the newest one."""
    rows = [(at, digest) for digest, _, _, at in _list_tombstones(gone, now)]
    write_rows(make_update(connection, tombstone, ("at",), "digest"), rows)


def _list_tombstones(gone: ErasureTargets, now: str) -> list[tuple[str, str, str, str]]:
    rows = [
        *_make_tombstones(gone.platform, "user", gone.ids, now),
        *_make_tombstones(gone.platform, "name", gone.names, now),
    ]
    rows += _make_tombstones(gone.platform, tombstones.SHORT, gone.brief, now)
    posts = gone.asked | gone.posts
    rows += [(tombstones.make_digest(of, "post", key), "post", why, now) for key, (of, why) in posts.items()]
    return rows


def _make_tombstones(platform: str, kind: str, whys: Mapping[str, str], now: str) -> list[tuple[str, str, str, str]]:
    return [(tombstones.make_digest(platform, kind, key), kind, why, now) for key, why in whys.items()]


def read_chunks(connection: Connection, query: Any, key: Any, size: int = CHUNK) -> Iterator[Any]:
    """Yield all rows in order of a key, which is the first column, some at a time: they may be written meanwhile."""
    rows = connection.execute(query.order_by(key).limit(size)).all()
    while rows:
        yield rows
        rows = connection.execute(query.where(key > rows[-1][0]).order_by(key).limit(size)).all()


def replace_short_names(connection: Connection, gone: ErasureTargets) -> int:
    """Replace short forms of names in posts that mention the forgotten; return in how many. Mentions still exist."""
    if not gone.brief:
        return 0
    named = _read_short_names(connection)
    keys, number, ids = sorted(named), 0, {*gone.ids, *gone.posts}
    statement = make_update(connection, post, ("text",), "id")
    for begin in range(0, len(keys), bulk.KEY_CHUNK):
        rows = select_by_keys(
            connection, select(post.c.id, post.c.text), post.c.id, keys[begin : begin + bulk.KEY_CHUNK]
        )
        without = [(key, replace_names(text, gone.names, ids)) for key, text in rows]  # as `replace_in_rows` leaves it
        changed = [(new, key) for key, text in without if (new := replace_names(text, named[key])) != text]
        write_rows(statement, changed)
        number += len(changed)
    return number


def _read_short_names(connection: Connection) -> dict[str, set[str]]:
    """Return the short forms of the forgotten that each post mentions."""
    query = select(mention.c.post, account.c.handle).join(account, account.c.node == mention.c.node)
    theirs = query.where(mention.c.node.in_(select(gone_node.c.node)), mention.c.post.not_in(select(gone_post.c.id)))
    found: dict[str, set[str]] = {}
    for key, handle in connection.execute(theirs):
        if (name := shorten_name(handle)) is not None:
            found.setdefault(key, set()).add(name)
    return found
