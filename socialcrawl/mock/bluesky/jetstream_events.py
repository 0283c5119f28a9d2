"""The events of Jetstream: what happens on the mock's Bluesky, numbered and written as JSON for both of its endpoints.

Posts and reposts are commits that create a record. Deleted ones are commits too; accounts that are suspended, deleted
or back are account events, renamed ones identity events. The number of an event (`seq`) and its time are the same over
every connection: a million lies between two posts, which leaves room for what happens between them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import orjson
from numpy.typing import NDArray

from socialcrawl.mock.bluesky.identifiers import (
    POST,
    REPOST,
    BlueskyNames,
    make_cid,
    make_record_key,
    make_record_keys,
)
from socialcrawl.mock.bluesky.post_json import PostWriter, format_moments, render_strong_ref
from socialcrawl.mock.bounded_cache import BoundedCache
from socialcrawl.mock.change_log import DELETION, EDIT, NAME, Change
from socialcrawl.mock.dataset_clock import DatasetClock
from socialcrawl.mock.names import DELETED, HERE, SUSPENDED
from socialcrawl.mock.relations import find_repost
from socialcrawl.mock.world import World
from socialcrawl.mock.world_changes import WorldChanges

COMMIT, ACCOUNT, IDENTITY, SYNC = "commit", "account", "identity", "sync"
METHOD = "network.bsky.jetstream.subscribeEvents"
STEP = 1_000_000  # numbers between two posts
_CHUNK = 256  # posts that are written at once
_HELD = 128 << 20  # bytes of written events
_STATUS = {SUSPENDED: "suspended", DELETED: "deleted"}


@dataclass(frozen=True, slots=True)
class JetstreamEvent:
    """One event.

    Attributes:
        kind: COMMIT, ACCOUNT or IDENTITY.
        collection: of the record of a commit.
        did: whose.
        text: as a message.
    """

    kind: str
    collection: str
    did: str
    text: str


@dataclass(frozen=True, slots=True)
class _Facts:
    """What every event tells: whose it is, its number and its time, in microseconds."""

    did: str
    seq: int
    micros: int

    @property
    def rev(self) -> str:
        return make_record_key(self.micros << 10)

    @property
    def time(self) -> str:
        return datetime.fromtimestamp(self.micros // STEP, UTC).strftime("%Y-%m-%dT%H:%M:%S") + (
            f".{self.micros % STEP:06d}Z"
        )


# What an event has besides: its kind, and its members as JSON text.
Wire = Callable[[_Facts, str, str], str]


def write_v1(facts: _Facts, kind: str, members: str) -> str:
    """Return the message of /subscribe."""
    return (
        f'{{"did":"{facts.did}","time_us":{facts.micros},"cursor":{facts.seq},"kind":"{kind}","{kind}":{{{members}}}}}'
    )


def write_v2(facts: _Facts, kind: str, members: str) -> str:
    """Return the message of network.bsky.jetstream.subscribeEvents."""
    inner = members if kind == COMMIT else f'"{kind}":{{{members}}}'
    return (
        f'{{"$type":"message","payload":{{"$type":"{METHOD}#{kind}","did":"{facts.did}","seq":{facts.seq},'
        f'"time":"{facts.time}","witnessedAt":"{facts.time}",{inner}}}}}'
    )


class JetstreamEvents:
    """The events of one world.

    Args:
        world: the posts.
        names: how they and their authors are called.
        changes: what becomes of them.
        offset: what is added to the number of every event, as another instance has other numbers.
    """

    def __init__(self, world: World, names: BlueskyNames, changes: WorldChanges, offset: int = 0) -> None:
        self._world, self._names, self._changes, self._offset = world, names, changes, offset
        self._records = PostWriter(world, names, lambda row: "", DatasetClock(world), signed_in=False)
        self._chunks: BoundedCache[tuple[Wire, int], list[JetstreamEvent]] = BoundedCache(_HELD)
        self._repeats = (world.references.retweeted_id >= 0) & (world.references.replied_account < 0)
        self.micros = _number_micros(changes.moment.appeared)

    def find_post(self, post: int, wire: Wire) -> JetstreamEvent:
        """Return the event that creates the post at this position."""
        number = post // _CHUNK
        chunk = self._chunks.get((wire, number))
        if chunk is None:
            chunk = self._write_chunk(range(number * _CHUNK, min((number + 1) * _CHUNK, len(self._world.ids))), wire)
            self._chunks.put((wire, number), chunk, sum(len(event.text) + 300 for event in chunk))
        return chunk[post % _CHUNK]

    def make_change(self, change: Change, wire: Wire) -> JetstreamEvent | None:
        """Return the event of a change; None for one that is none here: nobody is protected, or edits, on Bluesky."""
        if change.kind == EDIT:
            return None
        micros = max(int(change.second * STEP), int(self.micros[change.place - 1]) if change.place else 0)
        seq = self.number_change(change.place, change.rank)
        if change.kind == DELETION:
            did = self._names.did(int(self._world.author[change.subject]))
            facts, collection = _Facts(did, seq, micros), self._find_collection(change.subject)
            key = make_record_key(int(self._world.ids[change.subject]))
            return JetstreamEvent(COMMIT, collection, did, wire(facts, COMMIT, _render_op(facts, collection, key)))
        facts = _Facts(self._names.did(change.subject), seq, micros)
        upstream = f'"did":"{facts.did}","seq":{seq},"time":"{facts.time}"'
        if change.kind == NAME:
            handle = orjson.dumps(self._names.handle(change.subject)).decode()
            return JetstreamEvent(IDENTITY, "", facts.did, wire(facts, IDENTITY, f'{upstream},"handle":{handle}'))
        if change.fate != HERE and change.fate not in _STATUS:
            return None
        active = "true" if change.fate == HERE else f'false,"status":"{_STATUS[change.fate]}"'
        return JetstreamEvent(ACCOUNT, "", facts.did, wire(facts, ACCOUNT, f'{upstream},"active":{active}'))

    def number_post(self, post: int) -> int:
        """Return the number of the event that creates the post at this position."""
        return self._offset + (post + 1) * STEP

    def number_change(self, place: int, rank: int) -> int:
        """Return the number of a change."""
        return self._offset + place * STEP + 1 + rank

    @property
    def last(self) -> int:
        """The number of the last event so far."""
        log, there = self._changes.log, self._changes.moment.there
        late = log.read(log.end - 1, 1)
        changed = self.number_change(late[0].place, late[0].rank) if late else 0
        return max(self.number_post(there - 1), changed)

    def find_number(self, seq: int) -> tuple[int, int]:
        """Return the first post (its position) and the first change (its number) that a number does not lie behind."""
        own = max(seq - self._offset, 1)
        return max(-(-own // STEP) - 1, 0), self._changes.log.find(*divmod(own - 1, STEP))

    def find_micros(self, micros: int) -> tuple[int, int]:
        """Return the same for a time, in Unix microseconds."""
        return int(np.searchsorted(self.micros, micros)), self._changes.log.find_second(micros / STEP)

    def _find_collection(self, post: int) -> str:
        repeats = self._repeats[post] and find_repost(self._world, self._names.by_key, post) is not None
        return REPOST if repeats else POST

    def _write_chunk(self, posts: range, wire: Wire) -> list[JetstreamEvent]:
        world, chosen = self._world, np.arange(posts.start, posts.stop)
        moments = format_moments(world.created_at[chosen])
        columns = zip(
            posts,
            world.author[chosen].tolist(),
            make_record_keys(world.ids[chosen]),
            moments,
            self._records.records(posts, moments),
            self.micros[chosen].tolist(),
            strict=True,
        )
        found = []
        for post, row, key, when, record, micros in columns:
            collection, content = POST, record
            if self._repeats[post] and (repost := self._write_repost(post, when)) is not None:
                collection, content = REPOST, repost
            facts = _Facts(self._names.did(row), self.number_post(post), micros)
            members = _render_op(facts, collection, key, content)
            found.append(JetstreamEvent(COMMIT, collection, facts.did, wire(facts, COMMIT, members)))
        return found

    def _write_repost(self, post: int, when: str) -> str | None:
        """Return the record of a repost; None where it is shown as a post, as its original is not known."""
        original = find_repost(self._world, self._names.by_key, post)
        if original is None:
            return None
        subject = render_strong_ref(self._names.uri(original.account, original.number))
        return f'{{"$type":"{REPOST}","createdAt":"{when}","subject":{subject}}}'


def _render_op(facts: _Facts, collection: str, key: str, record: str | None = None) -> str:
    """Return the members of a commit, which deletes the record where there is no content."""
    operation = "delete" if record is None else "create"
    written = "" if record is None else f',"record":{record},"cid":"{make_cid(facts.did, collection, key)}"'
    return f'"rev":"{facts.rev}","operation":"{operation}","collection":"{collection}","rkey":"{key}"{written}'


def _number_micros(seconds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ascending Unix seconds as microseconds, those of one second one after the other."""
    rows = np.arange(len(seconds))
    opens = np.concatenate(([True], seconds[1:] != seconds[:-1]))
    return seconds * STEP + rows - np.maximum.accumulate(np.where(opens, rows, 0))
