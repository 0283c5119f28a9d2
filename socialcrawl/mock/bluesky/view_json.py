"""Profiles, posts and feeds as the JSON that the lexicons describe, recent pages of feeds held."""

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from socialcrawl.mock.bluesky.identifiers import REPOST, BlueskyNames, make_cid, make_record_key
from socialcrawl.mock.bluesky.post_json import PostWriter
from socialcrawl.mock.bounded_cache import BoundedCache
from socialcrawl.mock.names import HERE, PROTECTED, Chosen, is_chosen
from socialcrawl.mock.relations import Repost, find_repost
from socialcrawl.mock.world import Grouping, World
from socialcrawl.mock.world_changes import WorldChanges
from socialcrawl.mock.x.render import format_stamp

_KEPT = 50_000  # short profiles held, about 15 MB
_KEPT_BYTES = 128 << 20  # of pages of feeds
_DEFS = "app.bsky.feed.defs#"
PROFILE, HIDDEN = "app.bsky.actor.profile", "!no-unauthenticated"


class BlueskyViews:
    """The JSON of accounts (by row) and posts (by position).

    Args:
        world: what there is to see.
        names: how it is called.
        changes: what became of it.
        signed_in: whether they are shown to somebody, whose relation to them (`viewer`) is told then.
        nobot: whose description says #nobot.
        labelled: who has the label !no-unauthenticated.
    """

    def __init__(
        self,
        world: World,
        names: BlueskyNames,
        changes: WorldChanges,
        *,
        signed_in: bool,
        nobot: Chosen = 0.0,
        labelled: Chosen = 0.0,
    ) -> None:
        self._nobot, self._labelled = nobot, labelled
        self._world, self._names, self._changes, self._signed_in = world, names, changes, signed_in
        self._version = changes.version
        self._author = lru_cache(_KEPT)(self._short)
        self._writer = PostWriter(world, names, self._author, changes.moment, signed_in=signed_in)
        self._feeds: BoundedCache[tuple[int, ...], bytes] = BoundedCache(_KEPT_BYTES)

    def renew(self) -> None:
        """Forget the views made before the last change."""
        if self._version != self._changes.version:
            self._version = self._changes.version
            self._author.cache_clear()
            self._feeds = BoundedCache(_KEPT_BYTES)

    def profile(self, row: int, **more: int) -> bytes:
        """Return the profile of an account, with these counts."""
        says = "People only. #nobot" if is_chosen(self._world.accounts.keys[row], self._nobot, b"nobot") else ""
        return orjson.dumps({**self._basic(row), "description": says, "indexedAt": self._find_begin(row), **more})

    def posts(self, posts: Sequence[int]) -> bytes:
        """Return the posts at these positions, as a list."""
        return f"[{','.join(self._writer.posts(posts))}]".encode() if posts else b"[]"

    def feed(self, posts: Sequence[int]) -> bytes:
        """Return the items that posts of one author are in the author's feed, as a list.

        As on Bluesky, a repost is left out where the author of the original is gone.
        """
        key = (*self._changes.stamp, *posts)
        found = self._feeds.get(key)
        if found is None:
            found = f"[{','.join(self._items(posts))}]".encode()
            self._feeds.put(key, found, len(found) + 40 * len(posts))
        return found

    def _short(self, row: int) -> str:
        return orjson.dumps(self._basic(row)).decode()

    def _basic(self, row: int) -> dict[str, Any]:
        found = {
            "associated": {"activitySubscription": {"allowSubscriptions": "followers"}},
            "createdAt": self._find_begin(row),
            "did": self._names.did(row),
            "displayName": self._world.accounts.shown[row],
            "handle": self._names.handle(row),
            "labels": self._labels(row),
        }
        blocked = self._changes.find_fate(row) == PROTECTED
        if self._signed_in or blocked:  # nobody is protected on Bluesky: who hides is shown as one who blocks
            found["viewer"] = {"blockedBy": blocked, "muted": False}
        return found

    def _labels(self, row: int) -> list[dict[str, Any]]:
        """Return the labels that an account gave itself, as com.atproto.label.defs#label."""
        if not is_chosen(self._world.accounts.keys[row], self._labelled, b"noindex"):
            return []
        did = self._names.did(row)
        uri, cid = f"at://{did}/{PROFILE}/self", make_cid(did, PROFILE, "self")
        return [{"cid": cid, "cts": self._find_begin(row), "src": did, "uri": uri, "val": HIDDEN}]

    def _find_begin(self, row: int) -> str:
        """Return when the account began: the file does not tell, so when it is first seen in it."""
        world = self._world
        own, others = world.timelines.of(row), world.mentioned_in.of(row)
        seen = [int(world.created_at[posts[0]]) for posts in (own, others) if len(posts)]
        return format_stamp(min(seen, default=int(world.created_at[0])))

    def _items(self, posts: Sequence[int]) -> list[str]:
        items = np.asarray(posts, np.int64)
        retweets = items[self._world.references.retweeted_id[items] >= 0]
        answers = items[self._world.references.replied_account[items] >= 0]
        originals = {post: self._find_original(post) for post in retweets.tolist()}
        posts = [post for post in posts if (one := originals.get(post)) is None or self._is_here(one.account)]
        replies = {post: self._find_parents(post) for post in answers.tolist()}
        repeats = [one for post in posts if (one := originals.get(post)) is not None]
        shown = [place for one in repeats if (place := self._find_position(one)) >= 0]
        shown += [place for links in replies.values() for place, _ in links if place >= 0]
        shown += [post for post in posts if originals.get(post) is None]
        shown = list(dict.fromkeys(shown))
        views = dict(zip(shown, self._writer.posts(shown), strict=True))
        return [self._item(post, views, originals.get(post), replies.get(post)) for post in posts]

    def _item(
        self,
        post: int,
        views: dict[int, str],
        original: Repost | None,
        links: Sequence[tuple[int, str]] | None,
    ) -> str:
        if original is not None:
            place = self._find_position(original)
            shown = views[place] if place >= 0 else self._make_original(post, original)
            return f'{{"post":{shown},"reason":{self._reason(post)}}}'
        if links is None:
            return f'{{"post":{views[post]}}}'
        parent, root = (
            f'{{"$type":"{_DEFS}postView",{views[place][1:]}'
            if place >= 0
            else f'{{"$type":"{_DEFS}notFoundPost","notFound":true,"uri":"{address}"}}'
            for place, address in links
        )
        return f'{{"post":{views[post]},"reply":{{"parent":{parent},"root":{root}}}}}'

    def _find_original(self, post: int) -> Repost | None:
        return find_repost(self._world, self._names.by_key, post)

    def _is_here(self, row: int) -> bool:
        return bool(self._changes.find_fate(row) == HERE)

    def _find_position(self, original: Repost) -> int:
        """Return where an original stands, -1 where there is none yet."""
        return self._changes.place(original.place)

    def _find_parents(self, post: int) -> list[tuple[int, str]]:
        """Return the parent and the root of a reply: where they stand (-1: not to be found), and their address."""
        references = self._world.references
        parent = self._writer.find_answered(post)
        assert parent is not None
        above = (self._place(int(references.replied_post[post]), parent), parent)
        root = int(references.conversation[post])
        if root == post:
            return [above, above]
        first = self._writer.address(root)
        return [above, (self._place(root, first), first)]

    def _place(self, place: int, address: str) -> int:
        """Return the same place, or -1 where the post there is not to be seen as a post at this address."""
        if self._changes.place(place) < 0 or not self._changes.visible[place] or self._writer.address(place) != address:
            return -1
        return -1 if self._find_original(place) is not None else place

    def _make_original(self, post: int, original: Repost) -> str:
        """Return an original that the file lacks: as old as the file knows, and as often repeated."""
        references = self._world.references
        ids, repeats = self._retweets
        again = repeats.of(int(np.searchsorted(ids, references.retweeted_id[post])))
        place = self._changes.place(int(references.retweeted_post[post]))
        when = format_stamp(int(self._world.created_at[place if place >= 0 else again[0]]))
        count = len(self._changes.select_existing(again))
        return self._writer.original(post, original.start, original.account, original.number, when=when, reposts=count)

    @cached_property
    def _retweets(self) -> tuple[NDArray[np.int64], Grouping]:
        """The ids that are retweeted, ascending, and the positions of the retweets of each."""
        originals = self._world.references.retweeted_id
        posts = np.flatnonzero(originals >= 0)
        ids, groups = np.unique(originals[posts], return_inverse=True)
        return ids, Grouping.by(groups, posts, len(ids))

    def _reason(self, post: int) -> str:
        row, key = int(self._world.author[post]), make_record_key(int(self._world.ids[post]))
        did = self._names.did(row)
        return (
            f'{{"$type":"{_DEFS}reasonRepost","by":{self._author(row)},"cid":"{make_cid(did, REPOST, key)}",'
            f'"indexedAt":"{format_stamp(int(self._world.created_at[post]))}","uri":"at://{did}/{REPOST}/{key}"}}'
        )
