"""Posts as Bluesky shows them, written as JSON text; a page of a hundred at once, as that takes a tenth of the time.

The facets of a text are whom it mentions, its hashtags and links, with their places in bytes of UTF-8.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter
from unicodedata import category

import numpy as np
import orjson
from numpy.typing import NDArray

from socialcrawl.mock.bluesky.identifiers import (
    CID_END,
    POST,
    BlueskyNames,
    make_cid,
    make_cid_head,
    make_record_key,
    make_record_keys,
)
from socialcrawl.mock.dataset_clock import DatasetClock
from socialcrawl.mock.relations import make_number
from socialcrawl.mock.world import World
from socialcrawl.mock.x.entities import find_links, locate, lower_text

_TAG = re.compile(r"(?<!\S)#([^\s\u00ad\u2060\u200a-\u200d\u20e2]+)")
_FACET = '{"features":[{"$type":"app.bsky.richtext.facet#'


def render_facets(text: str, named: Sequence[tuple[str, str]], *, ordered: bool = False) -> str:
    """Return the member `facets` of a post's record with a comma before it, as JSON; empty where the text has none.

    A mentioned name that the text does not contain stands at the empty range 0..0.

    Args:
        text: the post's.
        named: the name in the file, folded, and the DID of everybody whom it mentions.
        ordered: whether the mentions keep their order; else they come in that of their places.
    """
    plain, found = text.isascii(), []
    if named:
        low = text.lower() if plain else lower_text(text)
        for name, did in named:
            start, end = locate(low, name)
            found.append((start, f'{_FACET}mention","did":"{did}"}}],{_render_index(text, start, end, plain=plain)}'))
        if not ordered and len(found) > 1:
            found.sort(key=itemgetter(0))
    if "#" in text:
        for start, end, tag in find_tags(text):
            named_so, place = orjson.dumps(tag).decode(), _render_index(text, start, end, plain=plain)
            found.append((start, f'{_FACET}tag","tag":{named_so}}}],{place}'))
    if "://" in text:
        for link in find_links(text):
            uri, place = (
                orjson.dumps(link["url"]).decode(),
                _render_index(text, link["start"], link["end"], plain=plain),
            )
            found.append((link["start"], f'{_FACET}link","uri":{uri}}}],{place}'))
    return f',"facets":[{",".join([facet for _, facet in found])}]' if found else ""


def find_tags(text: str) -> list[tuple[int, int, str]]:
    """Return the tags of a text as Bluesky's client detects them: (start, end, tag).

    They begin behind white space and go on to the next, without punctuation at their end; numbers are none.
    """
    found = []
    for match in _TAG.finditer(text) if "#" in text else ():
        tag = match[1]
        while tag and category(tag[-1])[0] == "P":
            tag = tag[:-1]
        if any(not letter.isdigit() and category(letter)[0] != "P" for letter in tag):
            found.append((match.start(), match.start() + 1 + len(tag), tag))
    return found


def _render_index(text: str, start: int, end: int, *, plain: bool) -> str:
    """Return the end of a facet: its bytes; in plain ASCII they are the characters."""
    if not plain:
        start, end = len(text[:start].encode()), len(text[:end].encode())
    return f'"index":{{"byteEnd":{end},"byteStart":{start}}}}}'


_VIEWER = ',"viewer":{"bookmarked":false,"embeddingDisabled":false,"threadMuted":false}'


def format_moments(seconds: NDArray[np.int64]) -> list[str]:
    """Return Unix seconds (int64[n]) as Bluesky writes moments."""
    return [f"{text}Z" for text in np.datetime_as_string(seconds.astype("datetime64[s]"), unit="ms").tolist()]


class PostWriter:
    """The JSON of posts (app.bsky.feed.defs#postView) of a world.

    Args:
        world: the posts.
        names: how they and their authors are called.
        author: the JSON of an account's short profile.
        moment: which posts exist and are counted.
        signed_in: whether they are shown to somebody who has signed in.
    """

    def __init__(
        self, world: World, names: BlueskyNames, author: Callable[[int], str], moment: DatasetClock, *, signed_in: bool
    ) -> None:
        self._world, self._names, self._author, self._moment = world, names, author, moment
        self._viewer = _VIEWER if signed_in else ""
        self._langs = lru_cache(1_000)(lambda lang: orjson.dumps([lang]).decode())

    def posts(self, posts: Sequence[int]) -> list[str]:
        """Return the posts at these positions."""
        world, chosen = self._world, np.asarray(posts, np.int64)
        moments = format_moments(world.created_at[chosen])
        columns = zip(
            world.author[chosen].tolist(),
            make_record_keys(world.ids[chosen]),
            moments,
            self.records(posts, moments),
            self._moment.replies[chosen].tolist(),
            self._moment.retweets[chosen].tolist(),
            strict=True,
        )
        heads = {row: self._head(row) for row in set(world.author[chosen].tolist())}
        return [
            self._view(heads[row], key, when, record, (replies, reposts))
            for row, key, when, record, replies, reposts in columns
        ]

    def records(self, posts: Sequence[int], moments: Sequence[str]) -> list[str]:
        """Return the records (app.bsky.feed.post) of the posts at these positions, written at these moments."""
        world, chosen = self._world, np.asarray(posts, np.int64)
        columns = zip(
            posts,
            moments,
            self._list_mentioned(chosen),
            (world.references.replied_account[chosen] >= 0).tolist(),
            strict=True,
        )
        found, keys, dids, texts = [], world.accounts.keys, self._names.dids, world.texts
        ordered = world.record is not None
        for post, when, mentioned, answers in columns:
            text, marks = texts[post], ""
            if mentioned or "#" in text or "://" in text:
                marks = render_facets(text, [(keys[one], dids[one]) for one in mentioned], ordered=ordered)
            reply = self._reply(post) if answers else ""
            found.append(self._record(text, when, marks, world.language(post), reply))
        return found

    def original(self, post: int, start: int, row: int, number: int, *, when: str, reposts: int) -> str:
        """Return the original of a repost that the file lacks.

        Args:
            post: the position of the repost, whose text from `start` on it has, and whose mentions but of its author.
            start: a character.
            row: the author.
            number: its own.
            when: when it was written.
            reposts: how often it was repeated.
        """
        world, names = self._world, self._names
        text = world.texts[post][start:]
        named = [(world.accounts.keys[one], names.did(one)) for one in world.mentions.of(post).tolist() if one != row]
        marks = render_facets(text, named, ordered=world.record is not None)
        record = self._record(text, when, marks, world.language(post), "")
        return self._view(self._head(row), make_record_key(number), when, record, (0, reposts))

    def address(self, post: int) -> str:
        """Return the address of the post at this position."""
        return self._names.uri(int(self._world.author[post]), int(self._world.ids[post]))

    def find_answered(self, post: int) -> str | None:
        """Return the address of what a post answers, made up where the file has an account only.

        None: it answers nobody.
        """
        references = self._world.references
        account = int(references.replied_account[post])
        if account < 0:
            return None
        place = int(references.replied_post[post])
        if place >= 0 and int(self._world.author[place]) == account:
            return self.address(place)
        return self._names.uri(account, make_number(int(self._world.ids[post])))

    def _head(self, row: int) -> tuple[str, str]:
        """Return the common beginning of an author's posts: JSON up to the key in the CID, address up to its key."""
        did = self._names.did(row)
        return (
            f'{{"author":{self._author(row)},"bookmarkCount":0,"cid":"{make_cid_head(did, POST)}',
            f"at://{did}/{POST}/",
        )

    def _view(self, head: tuple[str, str], key: str, when: str, record: str, counts: tuple[int, int]) -> str:
        return (
            f'{head[0]}{key}{CID_END}","indexedAt":"{when}","labels":[],"likeCount":0,"quoteCount":0,"record":{record},'
            f'"replyCount":{counts[0]},"repostCount":{counts[1]},"uri":"{head[1]}{key}"{self._viewer}}}'
        )

    def _record(self, text: str, when: str, marks: str, language: str, reply: str) -> str:
        return (
            f'{{"$type":"{POST}","createdAt":"{when}"{marks},"langs":{self._langs(language)}{reply},'
            f'"text":{orjson.dumps(text).decode()}}}'
        )

    def _list_mentioned(self, posts: NDArray[np.int64]) -> list[list[int]]:
        """Return the accounts that each of these posts mentions."""
        mentions = self._world.mentions
        bounds = zip(mentions.offsets[posts].tolist(), mentions.offsets[posts + 1].tolist(), strict=True)
        return [mentions.members[begin:end].tolist() if begin < end else [] for begin, end in bounds]

    def _reply(self, post: int) -> str:
        """Return the references of a reply to what it answers and to the first post of the conversation."""
        parent = self.find_answered(post)
        assert parent is not None
        root = int(self._world.references.conversation[post])
        first = parent if root == post else self.address(root)
        return f',"reply":{{"parent":{render_strong_ref(parent)},"root":{render_strong_ref(first)}}}'


def render_strong_ref(address: str) -> str:
    """Return the reference to a record by its address and its CID, as JSON."""
    return f'{{"cid":"{make_cid(*address.split("/")[2:])}","uri":"{address}"}}'
