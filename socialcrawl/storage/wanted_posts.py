"""The ids of posts that were imported into a campaign to be fetched: what is asked for, and what became of each."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, Select, bindparam, func, inspect, or_, select, update

from socialcrawl.engine.model import Reason, SoughtPost
from socialcrawl.storage.database.bulk import make_keyed_update
from socialcrawl.storage.erasure.dry_run import change_rows
from socialcrawl.storage.erasure.orders import WHY
from socialcrawl.storage.erasure.ownership import is_owned
from socialcrawl.storage.erasure.targets import FEW, ErasureReason, ErasureTargets, gone_post
from socialcrawl.storage.erasure.tombstones import make_digest, put_tombstones
from socialcrawl.storage.schema.tables import campaign, wanted_post

WANTED, STORED, HELD = "wanted", "stored", "held"
"""States of ids: not asked for yet; the post came; it was stored before. All others are reasons why it did not come."""
NOTHING = {"id": None, "post": None, "state": str(Reason.FORGOTTEN)}
CHUNK = 5_000  # ids a statement


class WantedPosts:
    """The wanted posts of one campaign. Called in a transaction.

    Args:
        connection: the database.
        campaign: campaign.id.
        platform: of its posts.
    """

    def __init__(self, connection: Connection, campaign: int, platform: str) -> None:
        self.connection, self.campaign, self.platform = connection, campaign, platform
        self._mine = wanted_post.c.campaign == campaign
        self._settle = make_keyed_update(connection, wanted_post, ("state", "post"), ("campaign", "id"))
        between = wanted_post.c.position.between(bindparam("first"), bindparam("last"))
        ids = select(wanted_post.c.position, wanted_post.c.id, wanted_post.c.state)
        known = ids.where(self._mine, between, wanted_post.c.id.is_not(None))
        self._ids = known.order_by(wanted_post.c.position)

    def read_ids(self, first: int, end: int, *, left: bool = False) -> dict[int, str]:
        """Return the ids from position `first` on, before `end`, without those forgotten; or those `left` of them."""
        rows = self.connection.execute(self._ids, {"first": first, "last": end - 1})
        return {row.position: row.id for row in rows if row.state == WANTED or not left}

    def write_found(self, sought: Sequence[SoughtPost], kept: Collection[str], now: str) -> None:
        """Write what became of posts that were asked for.

        Those that came and were not stored are of somebody who was forgotten: they are forgotten too, so that nobody
        asks for them again.

        Args:
            sought: the posts.
            kept: the ids of those that were stored.
            now: ISO 8601.
        """
        lost = [one for one in sought if one.post is not None and one.post not in kept]
        gone = [one.asked for one in lost]
        keys = dict.fromkeys(key for one in lost for key in (one.asked, one.post) if key is not None)
        put_tombstones(self.connection, [(make_digest(self.platform, "post", key), "post", WHY, now) for key in keys])
        left = [one for one in sought if one.post is None or one.post in kept]
        self._settle.run([
            (STORED if one.post is not None else str(one.why), one.post, self.campaign, one.asked) for one in left
        ])  # fmt: skip
        for begin in range(0, len(gone), CHUNK):
            theirs = self._mine & wanted_post.c.id.in_(gone[begin : begin + CHUNK])
            self.connection.execute(update(wanted_post).where(theirs).values(NOTHING))


def count_states(connection: Connection, campaign: int) -> dict[str, int]:
    """Return how many ids a campaign has in each state; none in an older schema. Called in a transaction."""
    if not inspect(connection).has_table(wanted_post.name):
        return {}
    states = select(wanted_post.c.state, func.count()).where(wanted_post.c.campaign == campaign)
    found = connection.execute(states.group_by(wanted_post.c.state).order_by(wanted_post.c.state)).all()
    return {str(state): int(number) for state, number in found}


def find_asked(connection: Connection, gone: ErasureTargets) -> dict[str, ErasureReason]:
    """Return the ids by which posts that are to be erased were asked for, or would be, with why."""
    ids = select(gone_post.c.id)
    named = select(wanted_post.c.id, wanted_post.c.post, campaign.c.platform).join(
        campaign, campaign.c.id == wanted_post.c.campaign
    )
    rows = connection.execute(named.where(wanted_post.c.id.in_(ids) | wanted_post.c.post.in_(ids))).all()
    posts = gone.posts
    found = {
        str(row.id): posts.get(row.post) or posts.get(row.id) or ErasureReason(row.platform, WHY)
        for row in rows
        if row.id is not None
    }
    keys = [key.partition("@")[0] for key in (*gone.ids, *gone.names)]
    if gone.facts.numeric_ids or not keys:
        return found
    owned = connection.execute(_select_naming(keys)).scalars()
    mine = {str(key) for key in owned if is_owned(key, gone.ids, gone.names)}
    return dict.fromkeys(mine, ErasureReason(gone.platform, WHY)) | found


def _select_naming(keys: Sequence[str]) -> Select[Any]:
    """Select the ids that may name one of some accounts; all, where these are many."""
    every = select(wanted_post.c.id).where(wanted_post.c.id.is_not(None))
    if len(keys) > FEW or not all(map(str.isascii, keys)):
        return every
    return every.where(or_(*(wanted_post.c.id.icontains(key, autoescape=True) for key in keys)))


def erase_wanted(connection: Connection, gone: ErasureTargets) -> int:
    """Return the number of ids that were emptied, as their posts are erased: `ErasureTargets.asked`."""
    keys = sorted(gone.asked)
    chunks = (keys[begin : begin + CHUNK] for begin in range(0, len(keys), CHUNK))
    number = sum(
        change_rows(connection, update(wanted_post).where(wanted_post.c.id.in_(some)).values(NOTHING))
        for some in chunks
    )
    ids = select(gone_post.c.id)
    unnamed = wanted_post.c.id.is_(None) & wanted_post.c.post.in_(ids)
    return number + change_rows(connection, update(wanted_post).where(unnamed).values(NOTHING))
