"""Accounts: their profiles and feeds, the search for them, whom they follow and who follows them.

A file tells of no follows. Here an account follows everybody whom it mentions, in the order of first mention, and is
followed in the order in which it was first mentioned by each; its one list, of the key `LIST_KEY`, holds whom it
follows.
Accounts that are no longer there are in no list, as on Bluesky.
"""

from functools import lru_cache

import numpy as np
import orjson
from numpy.typing import NDArray

from socialcrawl.lab.post_table import fold_name
from socialcrawl.mock.bluesky.identifiers import BlueskyNames, make_cid, make_record_key
from socialcrawl.mock.bluesky.parameters import (
    RefusalError,
    check_identifier,
    cut_page,
    make_refusal,
    parse_cursor,
    read_limit,
    refuse_gone,
    require,
)
from socialcrawl.mock.bluesky.view_json import BlueskyViews
from socialcrawl.mock.names import HERE, PROTECTED
from socialcrawl.mock.relations import make_number
from socialcrawl.mock.service import MockRequest, MockResponse
from socialcrawl.mock.world import World
from socialcrawl.mock.world_changes import WorldChanges
from socialcrawl.mock.x.render import format_stamp

MOST_ACTORS = 25
LIST_KEY = "3k2222222222a"
_LIST, _ITEM = "app.bsky.graph.list", "app.bsky.graph.listitem"


class ProfileEndpoints:
    """The endpoints of accounts.

    Args:
        world: the accounts and the posts in which they mention one another.
        names: how they are called.
        changes: what became of them.
    """

    def __init__(self, world: World, names: BlueskyNames, changes: WorldChanges) -> None:
        self._world, self._names, self._changes = world, names, changes
        self._mentioned = lru_cache(4_096)(self._list_mentioned_by)
        self._mentioners = lru_cache(4_096)(self._list_mentioning)
        self._matching = lru_cache(64)(self._search)

    def profile(self, asked: MockRequest, views: BlueskyViews) -> MockResponse:
        """GET app.bsky.actor.getProfile."""
        return MockResponse(200, self._render_detailed(self._find_visible(asked, "actor", "Profile not found"), views))

    def profiles(self, asked: MockRequest, views: BlueskyViews) -> MockResponse:
        """GET app.bsky.actor.getProfiles: those that are there, each once."""
        actors = [check_identifier(value, "actors") for name, value in asked.query if name == "actors"]
        if not actors:
            raise make_refusal('Error: Params must have the property "actors"')
        if len(actors) > MOST_ACTORS:
            raise make_refusal(f"Error: actors must not have more than {MOST_ACTORS} elements")
        rows = dict.fromkeys(row for actor in actors if (row := self._names.row(actor)) is not None)
        shown = [self._render_detailed(row, views) for row in rows if self._list_shown(row)]
        return MockResponse(200, b'{"profiles":[' + b",".join(shown) + b"]}")

    def search(self, asked: MockRequest, views: BlueskyViews) -> MockResponse:
        """GET app.bsky.actor.searchActors: the most mentioned first."""
        words = tuple(fold_name(asked.one("q") or asked.one("term") or "").removeprefix("@").split())
        found = [row for row in self._matching(words) if self._list_shown(row)]
        page, behind = self._page(asked, found, f"actors {' '.join(words)}", read_limit(asked, 25))
        return MockResponse(200, orjson.dumps({"actors": _render_profiles(views, page), **behind}))

    def resolve(self, asked: MockRequest, views: BlueskyViews) -> MockResponse:
        """GET com.atproto.identity.resolveHandle."""
        handle = check_identifier(require(asked, "handle"), "handle")
        row = None if handle.startswith("did:") else self._names.row(handle)
        if row is None or refuse_gone(self._changes.find_fate(row), ""):
            raise make_refusal("Unable to resolve handle")
        return MockResponse(200, orjson.dumps({"did": self._names.did(row)}))

    def follows(self, asked: MockRequest, views: BlueskyViews) -> MockResponse:
        """GET app.bsky.graph.getFollows."""
        row = self._find_visible(asked, "actor", "Actor not found")
        return self._render_related(asked, views, row, "follows", self._follows(row))

    def followers(self, asked: MockRequest, views: BlueskyViews) -> MockResponse:
        """GET app.bsky.graph.getFollowers."""
        row = self._find_visible(asked, "actor", "Actor not found")
        return self._render_related(asked, views, row, "followers", self._followers(row))

    def members(self, asked: MockRequest, views: BlueskyViews) -> MockResponse:
        """GET app.bsky.graph.getList."""
        uri = require(asked, "list")
        actor, _, rest = uri.removeprefix("at://").partition("/")
        row = self._names.row(actor) if uri.startswith("at://did:") else None
        if row is None or rest != f"{_LIST}/{LIST_KEY}" or not self._list_shown(row):
            raise make_refusal("List not found")
        rows = [other for other in self._follows(row).tolist() if self._list_shown(other)]
        page, behind = self._page(asked, rows, f"list {uri}", read_limit(asked, 50))
        numbers = [int(self._world.accounts.ids[other]) for other in page]
        items = [
            {"subject": subject, "uri": self._names.uri(row, number, _ITEM)}
            for subject, number in zip(_render_profiles(views, page), numbers, strict=True)
        ]
        (creator,) = _render_profiles(views, [row])
        about = {
            "cid": make_cid(self._names.did(row), _LIST, make_record_key(make_number(rest))),
            "creator": creator,
            "indexedAt": format_stamp(int(self._world.created_at[0])),
            "listItemCount": len(rows),
            "name": "mentioned",
            "purpose": "app.bsky.graph.defs#curatelist",
            "uri": uri,
        }
        return MockResponse(200, orjson.dumps({"items": items, "list": about, **behind}))

    def _find_visible(self, asked: MockRequest, name: str, sentence: str) -> int:
        """Return the account that is asked for, where it is to be seen."""
        row = self._names.row(check_identifier(require(asked, name), name))
        if row is None:
            raise make_refusal(sentence)
        if refusal := refuse_gone(self._changes.find_fate(row), sentence):
            raise refusal
        return row

    def _list_shown(self, row: int) -> bool:
        return self._changes.find_fate(row) in (HERE, PROTECTED)

    def _render_detailed(self, row: int, views: BlueskyViews) -> bytes:
        follows, followers = len(self._follows(row)), len(self._followers(row))
        posts = len(self._changes.select_existing(self._world.timelines.of(row)))
        return views.profile(row, followersCount=followers, followsCount=follows, postsCount=posts)

    def _render_related(
        self, asked: MockRequest, views: BlueskyViews, row: int, kind: str, others: NDArray[np.int64]
    ) -> MockResponse:
        found = [other for other in others.tolist() if self._list_shown(other)]
        page, behind = self._page(asked, found, f"{kind} {row}", read_limit(asked, 50))
        (subject,) = _render_profiles(views, [row])
        return MockResponse(200, orjson.dumps({kind: _render_profiles(views, page), "subject": subject, **behind}))

    def _page(self, asked: MockRequest, rows: list[int], place: str, size: int) -> tuple[list[int], dict[str, str]]:
        """Return the accounts on a page of a list, and the cursor behind it, if any."""
        part, cursor = cut_page(asked, self._changes, place, size=size, n=len(rows))
        return rows[part], {"cursor": cursor} if cursor else {}

    def _follows(self, row: int) -> NDArray[np.int64]:
        """Return whom an account mentioned so far, the first mentioned first."""
        return self._select_past(*self._mentioned(row))

    def _followers(self, row: int) -> NDArray[np.int64]:
        """Return who mentioned an account so far, the first to do so first."""
        return self._select_past(*self._mentioners(row))

    def _select_past(self, rows: NDArray[np.int64], posts: NDArray[np.int64]) -> NDArray[np.int64]:
        return rows[: len(self._changes.select_existing(posts))]

    def _list_mentioned_by(self, row: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        mentions, posts = self._world.mentions, self._world.timelines.of(row)
        named = [mentions.of(post) for post in posts.tolist()]
        return _drop_repeats(
            np.concatenate(named) if named else posts, np.repeat(posts, [len(some) for some in named]), row
        )

    def _list_mentioning(self, row: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        posts = self._world.mentioned_in.of(row)
        return _drop_repeats(self._world.author[posts], posts, row)

    def _search(self, words: tuple[str, ...]) -> list[int]:
        """Return the accounts whose handle or shown name contains every word; none for no words."""
        accounts, mentioned = self._world.accounts, np.diff(self._world.mentioned_in.offsets)
        if not words:
            return []
        bare = [word.removesuffix(f".{self._names.domain}").replace("-", "_") for word in words]
        both = list(zip(words, bare, strict=True))
        found = [
            row
            for row, (name, username) in enumerate(zip(accounts.shown, accounts.usernames, strict=True))
            if all(word in fold_name(name) or other in fold_name(username) for word, other in both)
        ]
        return sorted(found, key=lambda row: (-int(mentioned[row]), accounts.keys[row]))


def _drop_repeats(
    rows: NDArray[np.int64], posts: NDArray[np.int64], without: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the different rows in order, without one, and the position of the post that names each first."""
    _, first = np.unique(rows, return_index=True)
    first.sort()
    others = first[rows[first] != without]
    return rows[others], posts[others]


def _render_profiles(views: BlueskyViews, rows: list[int]) -> list[orjson.Fragment]:
    return [orjson.Fragment(views.profile(row)) for row in rows]


FILTERS = (
    "posts_with_replies",
    "posts_no_replies",
    "posts_with_media",
    "posts_and_author_threads",
    "posts_with_video",
)
_MEDIA = ("posts_with_media", "posts_with_video")  # a file of texts has none
_BLOCKED = RefusalError("BlockedByActor", "Requester is blocked by actor")


class FeedEndpoint:
    """The endpoint app.bsky.feed.getAuthorFeed.

    Args:
        world: the posts.
        names: how they are called.
        changes: what became of their authors.
    """

    def __init__(self, world: World, names: BlueskyNames, changes: WorldChanges) -> None:
        self._world, self._names, self._changes = world, names, changes

    def author_feed(self, asked: MockRequest, views: BlueskyViews) -> MockResponse:
        """Return a page of an account's posts, replies and reposts; no cursor at the end."""
        row = self._names.row(check_identifier(require(asked, "actor"), "actor"))
        size = read_limit(asked, 50)
        if row is None:
            raise make_refusal("Profile not found")
        fate = self._changes.find_fate(row)
        if refusal := refuse_gone(fate, "Profile not found"):
            raise refusal
        if fate == PROTECTED:
            raise _BLOCKED
        own = self._filter_posts(row, asked.one("filter") or FILTERS[0])
        end = stop = self._place(asked, own)
        if stop < len(own):
            end = min(stop + asked.overlap, len(own))
        start = max(end - size, 0)
        page = own[start:end][::-1].tolist()
        body = b'{"feed":' + views.feed(page)
        if start > 0:
            body += b',"cursor":"' + self._changes.issue(self._cursor(page[-1])).encode() + b'"'
        return MockResponse(200, body + b"}", posts=len(page))

    def _filter_posts(self, row: int, wanted: str) -> NDArray[np.int64]:
        """Return the posts of an account that a filter leaves, ascending."""
        if wanted not in FILTERS:
            raise make_refusal(f"Error: filter must be one of ({'|'.join(FILTERS)})")
        own = self._changes.select_existing(self._world.timelines.of(row))
        if wanted == FILTERS[0]:
            return own
        if wanted in _MEDIA:
            return own[:0]
        answered = self._world.references.replied_account[own]
        own_thread = (answered == row) & (wanted == "posts_and_author_threads")
        left: NDArray[np.int64] = own[(answered < 0) | own_thread]
        return left

    def _place(self, asked: MockRequest, own: NDArray[np.int64]) -> int:
        """Return how many of an account's posts are older than the cursor."""
        cursor = asked.one("cursor")
        if not cursor:
            return len(own)
        if self._changes.has_expired(cursor):
            raise make_refusal("Malformed cursor")
        before = int(np.searchsorted(self._world.ids, parse_cursor(cursor)))
        return int(np.searchsorted(own, before))

    def _cursor(self, post: int) -> str:
        return f"{int(self._world.created_at[post]) * 1000}::{make_record_key(int(self._world.ids[post]))}"
