"""Statuses and accounts of the world as ready bytes, with the members and in the order of recorded answers (4.6)."""

from typing import Any

import orjson

from socialcrawl.mock.bounded_cache import BoundedCache
from socialcrawl.mock.mastodon.instances import Instances
from socialcrawl.mock.mastodon.post_html import find_hashtags, render_content
from socialcrawl.mock.mastodon.profiles import Profiles
from socialcrawl.mock.mastodon.status_facts import Draft, StatusIds, make_draft, make_original_draft
from socialcrawl.mock.world import World
from socialcrawl.mock.world_changes import WorldChanges
from socialcrawl.mock.x.render import format_stamp

_MOST = 48_000_000  # bytes held of statuses, and a quarter of that of accounts


class StatusRenderer:
    """The JSON bytes of statuses (by position) and accounts (by row) as an instance tells them, the recent ones held.

    What the file cannot tell is empty: pictures, favourites, polls. What was said of an account that is gone stays
    where it was said: in mentions, replies and reposts.
    """

    def __init__(
        self, world: World, instances: Instances, numbers: StatusIds, profiles: Profiles, changes: WorldChanges
    ) -> None:
        self._world, self._instances = world, instances
        self._numbers, self._profiles, self._changes = numbers, profiles, changes
        self._version = -1
        self._renew()

    def status(self, post: int, domain: str, *, signed_in: bool) -> bytes:
        """Return the JSON of a post on an instance; with a token it tells what the asker did with the status."""
        self._renew()
        key = (post, domain, signed_in, *self._changes.stamp)
        body = self._statuses.get(key)
        if body is None:
            body = self._status(post, domain, signed_in=signed_in)
            self._statuses.put(key, body, len(body))
        return body

    def original(self, post: int, domain: str, *, signed_in: bool) -> bytes:
        """Return the JSON of the status that this post repeats, whether the file has it or not."""
        place = self._changes.place(self._numbers.repeats[post].place)
        if place >= 0:
            return self.status(place, domain, signed_in=signed_in)
        draft = make_original_draft(self._world, self._numbers.first_repost(post), self._instances.by_key)
        there = self._numbers.original_of(post, self._instances.domains[draft.author])
        return self._render_draft(draft, domain, (self._numbers.original_of(post, domain), there), signed_in=signed_in)

    def account(self, row: int, domain: str) -> bytes:
        """Return the JSON of an account on an instance."""
        self._renew()
        key = (row, domain, *self._changes.stamp)
        body = self._accounts.get(key)
        if body is None:
            body = orjson.dumps(self._profiles.profile(row, domain))
            self._accounts.put(key, body, len(body))
        return body

    def _renew(self) -> None:
        if self._version != self._changes.version:
            self._version = self._changes.version
            self._statuses: BoundedCache[tuple[int, str, bool, int, int], bytes] = BoundedCache(_MOST)
            self._accounts: BoundedCache[tuple[int, str, int, int], bytes] = BoundedCache(_MOST // 4)

    def _status(self, post: int, domain: str, *, signed_in: bool) -> bytes:
        repost = post in self._numbers.repeats
        draft = make_draft(self._world, post, self._changes, repost=repost)
        numbers = self._numbers.of(post, domain), self._numbers.of(post, self._instances.domains[draft.author])
        repeats = None
        if repost:
            repeats = self.original(post, domain, signed_in=signed_in)
        return self._render_draft(draft, domain, numbers, signed_in=signed_in, repeats=repeats)

    def _render_draft(
        self, draft: Draft, domain: str, numbers: tuple[int, int], *, signed_in: bool, repeats: bytes | None = None
    ) -> bytes:
        """Return the JSON of a draft.

        Args:
            draft: what is known of the status.
            domain: the instance that tells it.
            numbers: its id on that instance, and on its author's.
            signed_in: whether a token asks.
            repeats: the JSON of the status that this one repeats; it then has no text of its own.
        """
        local = self._instances.domains[draft.author] == domain
        found = self._head(draft, domain, numbers, repeated=repeats is not None)
        if signed_in:
            found |= {"favourited": False, "reblogged": False, "muted": False, "bookmarked": False}
        found["content"] = self._content(draft, foreign=not local)
        if signed_in:
            found["filtered"] = []
        found["reblog"] = None if repeats is None else orjson.Fragment(repeats)
        if local and repeats is None:
            found["application"] = {"name": "Web", "website": None}
        found["account"] = orjson.Fragment(self.account(draft.author, domain))
        return orjson.dumps(found | self._tail(draft, domain, local=local, signed_in=signed_in))

    def _head(self, draft: Draft, domain: str, numbers: tuple[int, int], *, repeated: bool) -> dict[str, Any]:
        here, there = numbers
        instances, end = self._instances, "/activity" if repeated else ""
        uri = f"{instances.uri(draft.author)}/statuses/{there}{end}"
        post = draft.answered_post
        return {
            "id": str(here),
            "created_at": format_stamp(draft.created_at),
            "in_reply_to_id": str(self._numbers.of(post, domain)) if post >= 0 else None,
            "in_reply_to_account_id": None if draft.answered < 0 else str(instances.account_id(draft.answered, domain)),
            "sensitive": False,
            "spoiler_text": "",
            "visibility": "public",
            "language": draft.language,
            "uri": uri,
            "url": uri if repeated else f"{instances.url(draft.author)}/{there}",
            "replies_count": draft.replies,
            "reblogs_count": draft.reposts,
            "favourites_count": 0,
            "quotes_count": 0,
            "edited_at": None if draft.edited_at is None else format_stamp(int(draft.edited_at)),
        }

    def _content(self, draft: Draft, *, foreign: bool) -> str:
        instances, keys = self._instances, self._world.accounts.keys
        home = instances.domains[draft.author]
        names = {}
        for row in draft.mentioned:
            if instances.domains[row] == home:
                names[instances.first_name(row)] = instances.url(row)
        names |= {keys[row]: instances.url(row) for row in draft.mentioned}
        return render_content(draft.text, home, names, foreign=foreign)

    def _tail(self, draft: Draft, domain: str, *, local: bool, signed_in: bool) -> dict[str, Any]:
        return {
            "media_attachments": [],
            "mentions": [self._mention(row, domain) for row in draft.mentioned],
            "tags": [{"name": tag, "url": f"https://{domain}/tags/{tag}"} for tag in find_hashtags(draft.text)],
            "emojis": [],
            "tagged_collections": [],
            "quote": None,
            "card": None,
            "poll": None,
            "quote_approval": {
                "automatic": ["public"] if local else [],
                "manual": [],
                "current_user": "automatic" if local and signed_in else "denied",
            },
        }

    def _mention(self, row: int, domain: str) -> dict[str, str]:
        instances = self._instances
        return {
            "id": str(instances.account_id(row, domain)),
            "username": instances.name(row),
            "url": instances.url(row),
            "acct": instances.acct(row, domain),
        }
