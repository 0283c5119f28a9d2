"""Streams of an instance, as server-sent events and over a WebSocket: posts as they appear, their edits and deletions.

Behaviour and sentences as in github.com/mastodon/mastodon, streaming/index.js of version 4.5. Nothing is replayed. The
stream `user` is that of somebody who follows everybody whom the instance knows, as the file tells of no one's follows
but its authors'.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from socialcrawl.mock.change_log import DELETION, EDIT
from socialcrawl.mock.event_reader import EventReader
from socialcrawl.mock.mastodon.instance_world import Answer, InstanceWorld
from socialcrawl.mock.mastodon.responses import is_true, make_refusal
from socialcrawl.mock.service import (
    NO_EVENT,
    NO_POST,
    Guest,
    Message,
    MockRequest,
    MockResponse,
    MockStream,
    StreamEndedError,
    StreamResponse,
)

STREAMING = "/api/v1/streaming"
HEALTH = f"{STREAMING}/health"
HEARTBEAT = 15.0  # seconds between two of an event source; a WebSocket has pings instead
MISSING_TOKEN = make_refusal(401, "Missing access token")
INVALID_TOKEN = make_refusal(401, "Invalid access token")
_UNKNOWN_CHANNEL = make_refusal(400, "Unknown channel requested")
_MOST = 1_000  # subscriptions of a WebSocket
_SHUTDOWN = StreamEndedError(1001, "")
_BY_PATH = {
    name: name.replace("/", ":")
    for name in ("user", "user/notification", "public", "public/local", "public/remote", "hashtag", "hashtag/local",
                 "direct", "list")
}  # fmt: skip
_OF_MEDIA = ("public:media", "public:local:media", "public:remote:media")
_EMPTY = np.zeros(0, np.int64)

Writer = Callable[[Sequence[str], str, str], str]  # (stream, event, payload) -> what is sent


class ChannelError(Exception):
    """A stream that cannot be: a status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True, slots=True)
class Channel:
    """One stream: what it is called in messages, and the posts (int64[m], ascending) that are of it."""

    names: Sequence[str]
    posts: NDArray[np.int64]

    def has(self, post: int) -> bool:
        """Return whether the post at this position is of the stream."""
        place = int(np.searchsorted(self.posts, post))
        return place < len(self.posts) and int(self.posts[place]) == post


def write_event(names: Sequence[str], event: str, payload: str) -> str:
    """Return an event of an event source."""
    return f"event: {event}\ndata: {payload}\n\n"


def write_frame(names: Sequence[str], event: str, payload: str) -> str:
    """Return a frame of a WebSocket."""
    return orjson.dumps({"stream": names, "event": event, "payload": payload}).decode()


@dataclass
class MastodonStream(MockStream):
    """What one client receives: everything of its channels from now on."""

    town: InstanceWorld
    domain: str
    reader: EventReader
    write: Writer
    open: Callable[[str, Mapping[str, Any]], Channel]
    channels: dict[tuple[str, ...], Channel] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    heartbeat: str | bytes = ":thump\n"

    def pull(self, most: int) -> Sequence[Message] | None:
        """Return the next events, in every channel that has them."""
        waiting, self.waiting = self.waiting, []
        items = self.reader.read(most)
        if not items:
            return [(text, NO_EVENT) for text in waiting] or None
        town = self.town
        found: list[Message] = [(text, NO_EVENT) for text in waiting]
        for item in items:
            if isinstance(item, int):
                if town.changes.visible[item] and not town.changes.is_deleted(item):
                    found += self._tell(item, "update", item)
            elif item.kind == DELETION:
                found += self._tell(item.subject, "delete", NO_POST)
            elif item.kind == EDIT and not town.changes.is_deleted(item.subject):
                found += self._tell(item.subject, "status.update", NO_POST)
        return found

    def _tell(self, post: int, event: str, counted: int) -> list[Message]:
        names = [channel.names for channel in self.channels.values() if channel.has(post)]
        if not names:
            return []
        if event != "delete":
            payload = self.town.renderer.status(post, self.domain, signed_in=False).decode()
        else:
            payload = str(self.town.numbers.of(post, self.domain))
        return [(self.write(name, event, payload), counted) for name in names]

    def receive(self, text: str) -> None:
        """Subscribe to a stream, or leave it; what cannot be read is ignored."""
        try:
            frame = orjson.loads(text)
        except orjson.JSONDecodeError:
            return
        if not isinstance(frame, dict) or frame.get("type") not in ("subscribe", "unsubscribe"):
            return
        self.subscribe(frame.get("stream"), frame, leave=frame["type"] == "unsubscribe")

    def subscribe(self, stream: Any, parameters: Mapping[str, Any], *, leave: bool = False) -> None:
        """Subscribe to a stream, or leave it; errors are sent as frames."""
        name = stream[0] if isinstance(stream, list) and stream else stream
        try:
            channel = self.open(str(name), parameters)
        except ChannelError as error:
            told = {"error": str(error), "status": error.status}
            self._answer({"error": "Error unsubscribing from channel"} if leave else told)
            return
        key = tuple(part.lower() for part in channel.names)
        if leave:
            self.channels.pop(key, None)
        elif len(self.channels) < _MOST:
            self.channels.setdefault(key, channel)

    def _answer(self, told: Mapping[str, Any]) -> None:
        if len(self.waiting) < _MOST:
            self.waiting.append(orjson.dumps(told).decode())

    def make_ending(self, reason: str | None) -> StreamEndedError:
        """Return the end of the stream, of which Mastodon gives no reason."""
        return _SHUTDOWN


class StreamingEndpoints:
    """Answers that are streams, each (request, who asks, instance) -> answer.

    Args:
        town: the instances.
        heartbeat: seconds of silence after which an event source says that it is open.
    """

    def __init__(self, town: InstanceWorld, heartbeat: float = HEARTBEAT) -> None:
        self._town, self._heartbeat = town, heartbeat

    def answers(self) -> Mapping[str, Answer]:
        """Return the endpoints by template."""
        return {HEALTH: self.health, STREAMING: self.socket, f"{STREAMING}/*rest": self.event_source}

    def health(self, asked: MockRequest, guest: Guest, domain: str) -> MockResponse:
        """Return that streams are served."""
        return MockResponse(200, b"OK", content_type="text/plain")

    def event_source(self, asked: MockRequest, guest: Guest, domain: str) -> MockResponse:
        """Return one stream as server-sent events."""
        name = _BY_PATH.get(asked.path["rest"])
        if name is None:
            return self.socket(asked, guest, domain) if asked.upgrade else _UNKNOWN_CHANNEL
        name += ":media" if is_true(asked, "only_media") and name.startswith("public") else ""
        try:
            channel = self._open_at(domain)(name, dict(asked.query))
        except ChannelError as error:
            return make_refusal(error.status, str(error))
        stream = self._make(domain, write_event)
        stream.channels[tuple(channel.names)] = channel
        stream.waiting.append(":)\n")
        stream.keepalive = self._heartbeat
        headers = {"cache-control": "no-store"}
        return StreamResponse(200, b"", headers, "text/event-stream", stream=stream)

    def socket(self, asked: MockRequest, guest: Guest, domain: str) -> MockResponse:
        """Return a WebSocket, with the stream that the query names, and all to which its client subscribes."""
        if not asked.upgrade:
            return _UNKNOWN_CHANNEL
        stream = self._make(domain, write_frame)
        if name := asked.one("stream"):
            stream.subscribe(name, dict(asked.query))
        return StreamResponse(101, stream=stream, is_socket=True, subprotocol=_read_protocol(asked))

    def _make(self, domain: str, write: Writer) -> MastodonStream:
        return MastodonStream(self._town, domain, EventReader(self._town.changes), write, self._open_at(domain))

    def _open_at(self, domain: str) -> Callable[[str, Mapping[str, Any]], Channel]:
        return lambda name, parameters: self._open(name, parameters, domain)

    def _open(self, name: str, parameters: Mapping[str, Any], domain: str) -> Channel:
        """Return a stream of an instance.

        Raises:
            ChannelError: there is none of this name, or a parameter is missing.
        """
        finding = self._town.finding
        if name in ("hashtag", "hashtag:local"):
            tag = parameters.get("tag")
            if not tag or not isinstance(tag, str):
                raise ChannelError(400, "Missing tag name parameter")
            posts = finding.with_tag(tag.lower(), domain)
            return Channel((name, tag), posts if name == "hashtag" else posts[self._is_local(posts, domain)])
        if name == "list":
            if not parameters.get("list"):
                raise ChannelError(400, "Missing list name parameter")
            raise ChannelError(401, "Not authorized to stream this list")
        if name in ("user:notification", "direct", *_OF_MEDIA):
            return Channel((name,), _EMPTY)  # of these the file tells nothing
        posts = finding.known(domain)
        if name == "user":
            return Channel((name,), posts)
        if name not in ("public", "public:local", "public:remote"):
            raise ChannelError(400, "Unknown stream type")
        posts = posts[self._is_public[posts]]
        if name != "public":
            posts = posts[self._is_local(posts, domain) == (name == "public:local")]
        return Channel((name,), posts)

    def _is_local(self, posts: NDArray[np.int64], domain: str) -> NDArray[np.bool_]:
        local: NDArray[np.bool_] = self._town.finding.living(domain)[self._town.world.author[posts]]
        return local

    @property
    def _is_public(self) -> NDArray[np.bool_]:
        """bool[n]: which posts public streams show: no reposts, and no answers to others."""
        world, numbers = self._town.world, self._town.numbers
        answered = world.references.replied_account
        shown: NDArray[np.bool_] = ~numbers.reposts & ((answered < 0) | (answered == world.author))
        return shown


def read_token(asked: MockRequest) -> str | None:
    """Return the token of a request for a stream: of the header, the query, or in place of a protocol."""
    given = asked.headers.get("authorization")
    if given:
        return given.removeprefix("Bearer ")
    return asked.one("access_token") or _read_protocol(asked)


def _read_protocol(asked: MockRequest) -> str | None:
    return asked.headers.get("sec-websocket-protocol", "").partition(",")[0].strip() or None
