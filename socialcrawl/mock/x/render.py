"""Posts and users as the JSON of either vocabulary; what the file cannot tell is left out, as on X."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray

from socialcrawl.mock.dataset_clock import DatasetClock
from socialcrawl.mock.names import HERE, PROTECTED
from socialcrawl.mock.world import World
from socialcrawl.mock.world_changes import WorldChanges
from socialcrawl.mock.x.entities import XPostText, write_text
from socialcrawl.mock.x.page_writer import XPageWriter
from socialcrawl.mock.x.vocabulary import MockVocabulary, ShownFields

K = TypeVar("K")
V = TypeVar("V")
_KEPT = 20_000  # objects held of each kind, about 50 MB in all


def format_stamp(second: float) -> str:
    """Return a Unix second as X writes times: ISO 8601 with milliseconds, UTC."""
    return datetime.fromtimestamp(second, UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


class XRenderer:
    """The JSON bytes of posts (by position) and users (by row) of a world, the recent ones held."""

    def __init__(self, world: World, changes: WorldChanges | None = None) -> None:
        self.world = world
        self.changes = WorldChanges(world) if changes is None else changes
        self.moment = self.changes.moment
        self._writer = XPageWriter(world, self.post, self.moment)
        self._posts: dict[tuple[int, ShownFields, int, int], bytes] = {}
        self._users: dict[tuple[int, str, frozenset[str], int, int, int], bytes] = {}
        self._written: dict[int, XPostText] = {}

    def get_text(self, post: int) -> XPostText:
        """Return the text and entities of a post."""
        return _get_or_make(self._written, post, lambda: write_text(self.world, post))

    def post(self, post: int, ask: ShownFields) -> bytes:
        """Return the JSON of a post."""
        return _get_or_make(self._posts, (post, ask, *self.changes.stamp), lambda: orjson.dumps(self._post(post, ask)))

    def posts(self, posts: NDArray[np.int64], ask: ShownFields) -> bytes:
        """Return the JSON list of the posts at these positions, int64[m]."""
        return f"[{','.join(self._writer.posts(posts, ask))}]".encode()

    def user(self, account: int, ask: ShownFields) -> bytes:
        """Return the JSON of a user."""
        key = (account, ask.vocabulary, ask.user_fields, self.changes.version, *self.changes.stamp)
        return _get_or_make(self._users, key, lambda: orjson.dumps(self._user(account, ask)))

    def recent(self, account: int) -> int | None:
        """Return the position of the latest post of an account; None where it has none, or does not show it."""
        own = self.changes.select_existing(self.world.timelines.of(account))
        return int(own[-1]) if len(own) and self.changes.find_fate(account) == HERE else None

    def _post(self, post: int, ask: ShownFields) -> dict[str, Any]:
        words, wanted = ask.words, ask.fields
        world, shown = self.world, self.get_text(post)
        number = str(world.ids[post])
        found: dict[str, Any] = {words.history: [number], "id": number, "text": shown.text}
        if "author_id" in wanted:
            found["author_id"] = str(world.accounts.ids[world.author[post]])
        if "created_at" in wanted:
            found["created_at"] = format_stamp(int(world.created_at[post]))
        if "conversation_id" in wanted:
            found["conversation_id"] = str(world.ids[world.references.conversation[post]])
        if "lang" in wanted:
            found["lang"] = world.language(post)
        if "public_metrics" in wanted:
            found["public_metrics"] = _make_metrics(self.moment, post, words)
        if "entities" in wanted and shown.entities:
            found["entities"] = shown.entities
        if "note" in wanted and shown.note is not None:
            found[words.note] = {"text": shown.note, **({"entities": e} if (e := shown.note_entities) else {})}
        replied = int(world.references.replied_account[post])
        if "in_reply_to_user_id" in wanted and replied >= 0:
            found["in_reply_to_user_id"] = str(world.accounts.ids[replied])
        if "references" in wanted and (references := world.references.of(post)):
            found[words.references] = [{"type": kind, "id": str(number)} for kind, number, _ in references]
        return found

    def _user(self, account: int, ask: ShownFields) -> dict[str, Any]:
        found = _make_user(self.world, self.changes, account, ask)
        if ask.words.recent in ask.user_fields and (recent := self.recent(account)) is not None:
            found[ask.words.recent] = str(self.world.ids[recent])
        return found


def _get_or_make(cache: dict[K, V], key: K, make: Callable[[], V]) -> V:
    value = cache.get(key)
    if value is None:
        if len(cache) >= _KEPT:
            cache.clear()
        value = cache[key] = make()
    return value


def _make_metrics(moment: DatasetClock, post: int, words: MockVocabulary) -> dict[str, int]:
    """Return the counts that the file tells; nobody knows likes, quotes, bookmarks and impressions, they are 0."""
    return {
        words.reposts: int(moment.retweets[post]),
        "reply_count": int(moment.replies[post]),
        "like_count": 0,
        "quote_count": 0,
        "bookmark_count": 0,
        "impression_count": 0,
    }


def _make_user(world: World, changes: WorldChanges, account: int, ask: ShownFields) -> dict[str, Any]:
    accounts, wanted = world.accounts, ask.user_fields
    found: dict[str, Any] = {
        "id": str(accounts.ids[account]),
        "name": accounts.shown[account],
        "username": changes.username(account),
    }
    own, others = world.timelines.of(account), world.mentioned_in.of(account)
    if "created_at" in wanted and (len(own) or len(others)):
        # The file does not tell; the account is as old as the first that is seen of it.
        found["created_at"] = format_stamp(
            min(int(world.created_at[posts[0]]) for posts in (own, others) if len(posts))
        )
    if "protected" in wanted:
        found["protected"] = changes.find_fate(account) == PROTECTED
    if "verified" in wanted:
        found["verified"] = False
    if "public_metrics" in wanted:
        found["public_metrics"] = {
            "followers_count": 0,
            "following_count": 0,
            f"{ask.vocabulary}_count": len(changes.select_existing(own)),
            "listed_count": 0,
        }
    return found
