"""Pages of posts as JSON text straight from the columns of a world: the same bytes as `write_text` gives.

A hundred posts that nobody asked for before are written in well under a millisecond. What is rare (a text that is cut,
a rehearsed campaign) is left to `render`.
"""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import lru_cache
from itertools import repeat
from json.encoder import encode_basestring as quoted
from operator import itemgetter
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from socialcrawl.mock.dataset_clock import DatasetClock
from socialcrawl.mock.world import World
from socialcrawl.mock.x.entities import LONGEST, find_links, locate, lower_text
from socialcrawl.mock.x.vocabulary import ShownFields

_METRICS = '"like_count":0,"quote_count":0,"bookmark_count":0,"impression_count":0'
_FIRST = itemgetter(0)
_TAG = re.compile(r"#\w+")
_BETWEEN = frozenset(("", *" .,:;!?'\"()[]/\n"))  # letters of no word


class XPageWriter:
    """The JSON of posts of a world.

    Args:
        world: what there is to see.
        other: the JSON of a post that cannot be written here.
        moment: which posts exist and are counted; None: all.
    """

    def __init__(
        self, world: World, other: Callable[[int, ShownFields], bytes], moment: DatasetClock | None = None
    ) -> None:
        self._world, self._other = world, other
        self._moment = DatasetClock(world) if moment is None else moment
        self._ids: dict[int, str] = {}
        self._tails: dict[int, tuple[str, str]] = {}

    def posts(self, posts: NDArray[np.int64], ask: ShownFields) -> list[str]:
        """Return the JSON of the posts at these positions, int64[m]."""
        world = self._world
        places = posts.tolist()
        texts = [world.texts[post] for post in places]
        if world.record is not None:
            return [self._other(post, ask).decode() for post in places]
        ids = world.ids[posts].tolist()
        columns: list[Iterable[Any]] = [ids, ids, map(quoted, texts)]
        columns += [self._column(name, posts, places, texts, ask) for name in _make_template(ask)[1]]
        items = list(map(_make_template(ask)[0].__mod__, zip(*columns, strict=False)))  # some columns have no end
        if max(map(len, texts), default=0) > LONGEST:
            for number, text in enumerate(texts):
                if len(text) > LONGEST:
                    items[number] = self._other(places[number], ask).decode()
        return items

    def _column(
        self, name: str, posts: NDArray[np.int64], places: list[int], texts: list[str], ask: ShownFields
    ) -> Iterable[Any]:
        """Return one field of these posts, as it stands in the template."""
        world, references = self._world, self._world.references
        if name == "author_id":
            return [self._id(row) for row in world.author[posts].tolist()]
        if name == "created_at":
            return map(_format_stamp, world.created_at[posts].tolist())
        if name == "conversation_id":
            return list(world.ids[references.conversation[posts]].tolist())
        if name == "lang":
            return map(quoted, map(world.language, places))
        if name == "retweets":
            return list(self._moment.retweets[posts].tolist())
        if name == "replies":
            return list(self._moment.replies[posts].tolist())
        if name == "entities":
            offsets = world.mentions.offsets
            return self._entities(texts, offsets[posts].tolist(), offsets[posts + 1].tolist())
        if name == "in_reply_to_user_id":
            replied = references.replied_account[posts]
            if not (replied >= 0).any():
                return repeat("")
            return ["" if row < 0 else f',"in_reply_to_user_id":"{self._id(row)}"' for row in replied.tolist()]
        if not ((references.replied_post[posts] >= 0) | (references.retweeted_id[posts] >= 0)).any():
            return repeat("")
        return [_render_references(ask.words.references, references.of(post)) for post in places]

    def _id(self, account: int) -> str:
        number = self._ids.get(account)
        if number is None:
            number = self._ids[account] = str(self._world.accounts.ids[account])
        return number

    def _entities(self, texts: list[str], first: list[int], last: list[int]) -> list[str]:
        """Return the entities of these texts, whose mentions are `members[first:last]`; empty where there are none."""
        members, parts = self._world.mentions.members, []
        for text, begin, end in zip(texts, first, last, strict=True):
            found = _render_hashtags(text) if "#" in text else ""
            if "://" in text and (urls := find_links(text)):
                found = f'{found}{"," if found else ""}"urls":{orjson.dumps(urls).decode()}'
            if begin < end:
                low = text.lower()
                if len(low) != len(text):
                    low = lower_text(text)
                if end - begin == 1:
                    mentions = self._mention(low, members[begin])[1]
                else:
                    places = [self._mention(low, account) for account in members[begin:end].tolist()]
                    places.sort(key=_FIRST)
                    mentions = ",".join([part for _, part in places])
                found = f'{found}{"," if found else ""}"mentions":[{mentions}]'
            parts.append(f',"entities":{{{found}}}' if found else "")
        return parts

    def _mention(self, low: str, account: Any) -> tuple[int, str]:
        """Return where a text in lower case names an account (a row), and the JSON of that."""
        needle, tail = self._tails.get(account) or self._tail(int(account))
        start = low.find(needle)
        stop = start + len(needle)
        # The usual case, short of asking `locate`, which is twice as long about it.
        if start < 0 or low[start - 1 : start] not in _BETWEEN or low[stop : stop + 1] not in _BETWEEN:
            start, stop = locate(low, needle[1:])
        return start, f'{{"start":{start},"end":{stop},{tail}'

    def _tail(self, account: int) -> tuple[str, str]:
        """Return what an account's mention is found by in lower case, and how its JSON ends."""
        accounts = self._world.accounts
        number = f',"id":"{self._id(account)}"' if self._world.tells_id(account) else ""
        tail = f'"username":{quoted(accounts.usernames[account])}{number}}}'
        self._tails[account] = ("@" + accounts.keys[account], tail)
        return self._tails[account]


def _render_hashtags(text: str) -> str:
    """Return what `entities.find_tags` finds, as JSON; a tag has no letter that would have to be quoted."""
    found, start = "", text.find("#")
    while start >= 0:
        before, match = text[start - 1 : start], _TAG.match(text, start)
        if match and (before in _BETWEEN or not (before.isalnum() or before == "_")):
            tag = match[0][1:]
            if not tag.isdigit():
                found += f',{{"start":{start},"end":{match.end()},"tag":"{tag}"}}'
        start = text.find("#", start + 1)
    return f'"hashtags":[{found[1:]}]' if found else ""


@lru_cache(maxsize=1024)
def _make_template(ask: ShownFields) -> tuple[str, tuple[str, ...]]:
    """Return the JSON of a post with %s for its values, after the id (twice) and the text.

    And the names of these values.
    """
    words, wanted = ask.words, ask.fields
    text, names = f'{{"{words.history}":["%s"],"id":"%s","text":%s', []
    for name, form in (("author_id", '"%s"'), ("created_at", '"%s"'), ("conversation_id", '"%s"'), ("lang", "%s")):
        if name in wanted:
            text += f',"{name}":{form}'
            names.append(name)
    if "public_metrics" in wanted:
        text += f',"public_metrics":{{"{words.reposts}":%s,"reply_count":%s,{_METRICS}}}'
        names += ["retweets", "replies"]
    own = [name for name in ("entities", "in_reply_to_user_id", "references") if name in wanted]
    return text + "%s" * len(own) + "}", (*names, *own)


def _render_references(key: str, references: list[tuple[str, int, int]]) -> str:
    items = ",".join([f'{{"type":"{kind}","id":"{number}"}}' for kind, number, _ in references])
    return f',"{key}":[{items}]' if items else ""


def _format_stamp(second: int) -> str:
    """Return a whole Unix second as X writes times."""
    return f"{_format_hour(second // 3_600)}{_MINUTES[second % 3_600]}"


@lru_cache(maxsize=10_000)
def _format_hour(number: int) -> str:
    return datetime.fromtimestamp(number * 3_600, UTC).strftime("%Y-%m-%dT%H:")


_MINUTES = [f"{second // 60:02}:{second % 60:02}.000Z" for second in range(3_600)]
