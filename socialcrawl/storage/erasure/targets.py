"""What goes: the accounts and posts that an order names, and all that is theirs. Looked up before anything changes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Column, Connection, MetaData, Select, Table, Text, or_, select, union

from socialcrawl.engine.model import SAME_AS, Node, SameAs
from socialcrawl.platforms.facts import PlatformFacts, find_platform_facts
from socialcrawl.storage.database.bulk import make_insert, select_by_keys
from socialcrawl.storage.erasure.orders import WHY, ErasureOrder
from socialcrawl.storage.erasure.ownership import is_owned, shorten_name
from socialcrawl.storage.erasure.tombstones import AGED
from socialcrawl.storage.schema.tables import Count, account, mention, outcome, post

FEW = 20  # accounts to search for in SQL
OF_ALL = PlatformFacts("", "all platforms")  # where no account goes
REFERENCES = ("reply_to", "quote_of", "conversation_id", "repost_of")

_temporary = MetaData()
gone_node = Table("gone_node", _temporary, Column("node", Count, primary_key=True, autoincrement=False),
                  prefixes=["TEMPORARY"])  # fmt: skip
gone_post = Table("gone_post", _temporary, Column("id", Text, primary_key=True), prefixes=["TEMPORARY"])


class ErasureReason(NamedTuple):
    """Why a post goes, and the platform it is of."""

    platform: str
    why: str


@dataclass(slots=True)
class ErasureTargets:
    """What goes.

    Attributes:
        nodes: account.node of the forgotten, with why.
        ids: their ids on the platform, with why; of those too that are not held.
        names: their names in lower case, with why.
        owners: the forgotten node that each name stood for, where one is held.
        posts: ids of posts, with why; of those too that are not held.
        asked: ids by which campaigns ask for such posts, with why.
        platform: the platform of the forgotten; "" where only posts go, of all platforms.
    """

    platform: str
    nodes: dict[int, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    owners: dict[str, int] = field(default_factory=dict)
    posts: dict[str, ErasureReason] = field(default_factory=dict)
    asked: dict[str, ErasureReason] = field(default_factory=dict)

    @property
    def facts(self) -> PlatformFacts:
        """What the platform is like."""
        return find_platform_facts(self.platform) if self.platform else OF_ALL

    @property
    def brief(self) -> dict[str, str]:
        """The short forms of their names, with why, where the platform has such forms."""
        whys = self.names.items() if self.facts.short_names else ()
        return {name: why for key, why in whys if (name := shorten_name(key)) is not None}


def create_key_tables(connection: Connection) -> None:
    """Create the two lists of keys that statements refer to, empty; `drop_key_tables` removes them."""
    _temporary.create_all(connection, checkfirst=False)


def drop_key_tables(connection: Connection) -> None:
    """Drop the lists of keys."""
    _temporary.drop_all(connection, checkfirst=False)


def find_order_targets(connection: Connection, order: ErasureOrder, platform: str) -> ErasureTargets:
    """Return all that goes with an order, with the lists of keys filled."""
    gone = ErasureTargets(platform, ids=dict(order.users), names=dict(order.names))
    _add_accounts(connection, gone)
    make_insert(connection, gone_node, ("node",)).run([(node,) for node in sorted(gone.nodes)])
    for key, why in order.posts.items():
        gone.posts[key] = ErasureReason(platform, why)
    make_insert(connection, gone_post, ("id",)).run([(key,) for key in gone.posts])
    _add_posts(connection, gone)
    return gone


def list_posts(connection: Connection, posts: Mapping[str, ErasureReason]) -> ErasureTargets:
    """Return posts that go, with the list of keys filled."""
    make_insert(connection, gone_post, ("id",)).run([(key,) for key in posts])
    return ErasureTargets("", posts=dict(posts))


def find_older_posts(connection: Connection, before: str) -> ErasureTargets:
    """Return the posts that were first fetched before an instant (ISO 8601), with the list of keys filled."""
    joined = select(post.c.id, account.c.platform).join(account, account.c.node == post.c.author)
    reasons: dict[str, ErasureReason] = {}
    rows = connection.execute(joined.where(post.c.fetched_at < before))
    posts = {key: reasons.setdefault(platform, ErasureReason(platform, AGED)) for key, platform in rows}
    return list_posts(connection, posts)


def _add_accounts(connection: Connection, gone: ErasureTargets) -> None:
    """Add the nodes of the ids and names, of their other names, and of accounts that turned out to be one of them."""
    ours = select(account.c.node, account.c.platform_id, account.c.handle).where(account.c.platform == gone.platform)
    by_id = select_by_keys(connection, ours, account.c.platform_id, list(gone.ids))
    fresh: list[tuple[Any, str]] = [(row, gone.ids[row.platform_id]) for row in by_id]
    names: dict[str, str] = dict(gone.names)
    while fresh or names:
        for row, why in fresh:
            gone.nodes.setdefault(row.node, why)
            if row.platform_id is not None:
                gone.ids.setdefault(row.platform_id, why)
            if row.handle is not None:
                names.setdefault(row.handle, why)
        more = [
            (row, gone.nodes[same]) for same, row in _find_aliases(connection, ours, [row.node for row, _ in fresh])
        ]
        more += _find_owners(connection, gone, names)
        fresh, names = [(row, why) for row, why in more if row.node not in gone.nodes], {}


def _select_holders(platform: str) -> Select[Any]:
    """Return all accounts that go by a name; the one that the name refers to comes last, as in `nodes.Nodes`."""
    query = select(account.c.node, account.c.platform_id, account.c.handle)
    return query.where(account.c.platform == platform).order_by(
        account.c.platform_id.is_not(None), account.c.profile_at.nulls_first(), account.c.node.desc()
    )


def _find_owners(connection: Connection, gone: ErasureTargets, names: dict[str, str]) -> list[tuple[Any, str]]:
    """Return whom names refer to; a name that has passed on to somebody who was not named is not theirs any more."""
    holders: dict[str, list[Any]] = {}
    for row in select_by_keys(connection, _select_holders(gone.platform), account.c.handle, list(names)):
        holders.setdefault(row.handle, []).append(row)
    found: list[tuple[Any, str]] = []
    for name, why in names.items():
        rows = holders.get(name, [])
        if name not in gone.names and rows and rows[-1].platform_id is not None and rows[-1].node not in gone.nodes:
            continue
        gone.names.setdefault(name, why)
        mine = [row for row in rows if row.platform_id is None or row is rows[-1]]
        if mine:
            gone.owners.setdefault(name, mine[0].node)
        found += [(row, why) for row in mine]
    return found


def _find_aliases(connection: Connection, ours: Select[Any], nodes: list[int]) -> list[tuple[int, Any]]:
    """Return accounts that turned out to be one of `nodes` when they were asked, each with that one."""
    texts = [str(SameAs(Node(node))) for node in nodes]
    rows = select_by_keys(connection, select(outcome.c.missing, outcome.c.node), outcome.c.missing, texts)
    same = {row.node: int(row.missing.removeprefix(SAME_AS)) for row in rows}
    return [(same[row.node], row) for row in select_by_keys(connection, ours, account.c.node, list(same))]


def _add_posts(connection: Connection, gone: ErasureTargets) -> None:
    """Add the posts of the forgotten, including those that others refer to, and others' reposts of them."""
    held = select(post.c.id, post.c.author).where(post.c.author.in_(select(gone_node.c.node)))
    _add_rows(connection, gone, ((row.id, gone.nodes[row.author]) for row in connection.execute(held).all()))
    theirs = select(mention.c.post, mention.c.node).where(
        mention.c.kind == "repost", mention.c.node.in_(select(gone_node.c.node))
    )
    _add_rows(connection, gone, ((row.post, gone.nodes[row.node]) for row in connection.execute(theirs).all()))
    _add_rows(connection, gone, ((key, WHY) for key in _find_referred(connection, gone)))
    copies = select(post.c.id, post.c.repost_of).where(
        post.c.repost_of.in_(select(gone_post.c.id)), post.c.id.not_in(select(gone_post.c.id))
    )
    while rows := connection.execute(copies).all():
        _add_rows(connection, gone, ((row.id, gone.posts[row.repost_of].why) for row in rows))


def _find_referred(connection: Connection, gone: ErasureTargets) -> list[str]:
    """Return the ids of posts of the forgotten that others' posts refer to, by what such an id says of its author."""
    keys = [key.partition("@")[0] for key in (*gone.ids, *gone.names)]
    if gone.facts.numeric_ids or not keys:
        return []
    columns = [post.c[name] for name in REFERENCES]
    # The database finds a few words sooner than we look at every id; addresses may write other letters as %C3%A9.
    few = len(keys) <= FEW and all(map(str.isascii, keys))
    asked = union(
        *(
            select(column).where(or_(*(column.icontains(key, autoescape=True) for key in keys)))
            if few
            else select(column).where(column.is_not(None))
            for column in columns
        )
    )
    return sorted(key for key in connection.execute(asked).scalars() if is_owned(key, gone.ids, gone.names))


def _add_rows(connection: Connection, gone: ErasureTargets, rows: Iterable[tuple[str, str]]) -> None:
    fresh = {key: ErasureReason(gone.platform, why) for key, why in rows if key not in gone.posts}
    gone.posts |= fresh
    make_insert(connection, gone_post, ("id",)).run([(key,) for key in fresh])


def find_stored(connection: Connection, gone: ErasureTargets) -> set[str]:
    """Return what of it is in the database, as `user:ID` and `post:ID`."""
    ids = select(account.c.platform_id).where(account.c.node.in_(select(gone_node.c.node)))
    posts = select(post.c.id).where(post.c.id.in_(select(gone_post.c.id)))
    users = {f"user:{key}" for key in connection.execute(ids).scalars() if key is not None}
    return users | {f"post:{key}" for key in connection.execute(posts).scalars()}
