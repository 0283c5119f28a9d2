"""X's filtered stream: posts that match one of the rules, as they appear, over the one connection that an app may have.

Reposts match by their text, and posts that quote others by the quoted text too. Nothing is sent again.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import orjson

from socialcrawl.mock.change_log import Change
from socialcrawl.mock.event_reader import EventReader
from socialcrawl.mock.search import read_post
from socialcrawl.mock.searched_post import SearchedPost
from socialcrawl.mock.service import Message, MockStream, StreamEndedError, StreamResponse
from socialcrawl.mock.x.bill import XBill
from socialcrawl.mock.x.bodies import find_billed, make_stream_body
from socialcrawl.mock.x.parameters import STREAM_PARAMETERS, Parameters
from socialcrawl.mock.x.problems import Problem
from socialcrawl.mock.x.render import XRenderer
from socialcrawl.mock.x.stream_rules import RULE_DIALECT, StreamRule, StreamRules
from socialcrawl.mock.x.vocabulary import MockVocabulary, ShownFields

HEARTBEAT = 20.0  # seconds
FASTEST = 250  # posts that a connection is sent within any second
_END = b"\r\n"
_USUAL = "OperationalDisconnect"


def _make_connection_problem(words: MockVocabulary, issue: str, detail: str) -> Problem:
    kind = words.problems + "streaming-connection"
    return {"title": "ConnectionException", "detail": detail, "connection_issue": issue, "type": kind}


def make_disconnection(words: MockVocabulary, reason: str) -> bytes:
    """Return the message with which X ends a stream; `reason` is its `disconnect_type`."""
    problem = {
        "title": "operational-disconnect",
        "disconnect_type": reason,
        "detail": "This stream has been disconnected for operational reasons.",
        "type": words.problems + "operational-disconnect",
    }
    return orjson.dumps({"errors": [problem]}) + _END


@dataclass(eq=False)
class XFilteredStream(MockStream):
    """What one connection receives.

    Attributes:
        owner: the open streams among which it is, by app; it leaves them when it is closed.
        credits: the dollars that may be billed; None: no end.
        ending: why it ends at once; None: it goes on.
    """

    renderer: XRenderer
    rules: StreamRules
    ask: ShownFields
    bill: XBill
    owner: dict[str, "XFilteredStream"]
    app: str
    credits: float | None
    keepalive: float = HEARTBEAT
    heartbeat: str | bytes = _END
    ending: StreamEndedError | None = None

    def __post_init__(self) -> None:
        self._reader = EventReader(self.renderer.changes)
        self._sent: deque[float] = deque()  # when the posts of the last second were

    def pull(self, most: int) -> Sequence[Message] | None:
        """Return the next posts that match a rule, with the rules that they match."""
        if self.ending is not None:
            raise self.ending
        if self.credits is not None:
            if self.bill.dollars >= self.credits:
                raise StreamEndedError(last=[make_disconnection(self.ask.words, "ForceDisconnect")])
            most = 1  # each post may be the last that is paid for
        while self._sent and self._sent[0] < monotonic() - 1.0:
            self._sent.popleft()
        most = min(most, FASTEST - len(self._sent))
        if most < 1:
            return None
        items = self._reader.read(most)
        return [message for item in items for message in self._tell(item)] if items else None

    def _tell(self, item: int | Change) -> list[Message]:
        changes = self.renderer.changes
        if not isinstance(item, int) or not changes.visible[item] or changes.is_deleted(item):
            return []
        post = self._read(item)
        matching = [_show(rule) for rule in self.rules if rule.query.test(post)]
        if not matching:
            return []
        return [(make_stream_body(self.renderer, item, self.ask, matching) + _END, item)]

    def _read(self, post: int) -> SearchedPost:
        """Return a post as rules see it: with the words of those that it quotes."""
        world, changes = self.renderer.world, self.renderer.changes
        read = read_post(world, post, changes, RULE_DIALECT.fold)
        for number in sorted(read.quotes):
            place = changes.place(world.find_post(number))
            if place >= 0:
                quoted = read_post(world, place, changes, RULE_DIALECT.fold)
                read = replace(read, text=f"{read.text}\n{quoted.text}", words=(*read.words, "", *quoted.words))
        return read

    def note_sent(self, post: int, now: float) -> None:
        """Bill a post, and what its expansions bring."""
        self._sent.append(monotonic())
        posts, users = find_billed(self.renderer, post, self.ask)
        self.bill.charge(now, posts, users)

    def make_ending(self, reason: str | None) -> StreamEndedError:
        """Return the end of the stream with a `disconnect_type`."""
        return StreamEndedError(last=[make_disconnection(self.ask.words, reason or _USUAL)])

    def close(self) -> None:
        """Make room for another connection."""
        if self.owner.get(self.app) is self:
            del self.owner[self.app]


def _show(rule: StreamRule) -> dict[str, str]:
    return {"id": str(rule.number), "tag": rule.tag or ""}


class FilteredStreams:
    """The rules and the connection of every app.

    Args:
        renderer: the world's JSON.
        bill: what is charged.
        credit: the dollars that may be billed; None: no end.
        heartbeat: seconds of silence after which a stream says that it is open; None: 20.
    """

    def __init__(self, renderer: XRenderer, bill: XBill, credit: float | None, heartbeat: float | None) -> None:
        self._renderer, self._bill, self._credit = renderer, bill, credit
        self._heartbeat = heartbeat or HEARTBEAT
        self._rules: dict[str, StreamRules] = {}
        self._open: dict[str, XFilteredStream] = {}

    def get_rules(self, app: str) -> StreamRules:
        """Return the rules of an app."""
        return self._rules.setdefault(app, StreamRules())

    def connect(self, app: str, given: dict[str, str], ask: ShownFields) -> tuple[int, Problem] | StreamResponse:
        """Return the stream of an app, or the status and the problem that stands in its way.

        Raises:
            InvalidRequestError: a parameter that is not served, such as `backfill_minutes`.
        """
        Parameters(given).allow(STREAM_PARAMETERS)
        if app in self._open:
            said = "This stream is currently at the maximum allowed connection limit."
            return 429, _make_connection_problem(ask.words, "TooManyConnections", said)
        if not len(self.get_rules(app)):
            said = "Rules must be configured before connecting."
            return 409, _make_connection_problem(ask.words, "RuleConfigurationIssue", said)
        self._open[app] = XFilteredStream(
            *(self._renderer, self.get_rules(app), ask, self._bill, self._open, app, self._credit, self._heartbeat)
        )
        return StreamResponse(200, stream=self._open[app])

    def end_all(self, app: str) -> dict[str, Any]:
        """End the connections of an app; return the answer."""
        stream = self._open.pop(app, None)
        if stream is not None:
            stream.ending = StreamEndedError(last=[make_disconnection(stream.ask.words, "ForceDisconnect")])
        killed = [{"success": True}] if stream is not None else []
        return {"data": {"successful_kills": len(killed), "failed_kills": 0, "results": killed}}
