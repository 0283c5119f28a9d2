"""X's filtered stream on the wire: the one connection of an app, and the parts of it that are taken."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Any
from urllib.parse import urlencode

from socialcrawl.engine.model import Grant, Page, Reply, ReplyKind, parse_time
from socialcrawl.engine.stream_places import Place, parse_place
from socialcrawl.platforms.headers import parse_date, parse_pause
from socialcrawl.platforms.http_client import HttpAnswer, HttpStream
from socialcrawl.platforms.json_reader import decode_json
from socialcrawl.platforms.metered_reader import MeteredReader
from socialcrawl.platforms.stream_reader import StreamEvent, StreamRefusedError
from socialcrawl.platforms.x import classify, parse
from socialcrawl.platforms.x.live_source import OURS, STREAM
from socialcrawl.platforms.x.transport import XSession
from socialcrawl.platforms.x.vocabulary import Vocabulary
from socialcrawl.ratelimit.policy import Policy

Json = Mapping[str, Any]
SILENCE = 45.0  # seconds without a byte after which a connection counts as broken: X says every 20 s that it is there
LONGEST = 2**20  # bytes of a message
UNREADABLE = 3  # messages in a row that cannot be read, after which the stream is refused
WRONG = (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError)

_epochs = count(1)


class FilteredConnection:
    """An open connection. A message that cannot be read ends it, so that what it brought is searched.

    Args:
        stream: the answer that goes on.
        opening: the reply to the request that opened it.
        begin: from when on it is complete, Unix seconds.
        terms: what its posts are read by.
    """

    def __init__(self, stream: HttpStream, opening: Reply, begin: float, terms: "XStreamReader") -> None:
        self.opening, self._stream, self._terms = opening, stream, terms
        self._epoch, self._numbers = f"{opening.at:.3f}-{next(_epochs)}", count(1)
        # Where the clocks differ, it is complete from the later instant on, and up to the earlier one.
        self._behind = 0.0 if opening.date is None else opening.date - opening.at
        self.begin: Place | None = Place(begin + max(0.0, self._behind), f"{self._epoch}:0")

    def __iter__(self) -> Iterator[StreamEvent]:
        """See `stream_reader.StreamConnection`.

        Raises:
            StreamRefusedError: posts lack the fields that were requested, or several in a row cannot be read.
            ConnectionError: X closed the connection, or is not there any more, or a message cannot be read.
        """
        seen = self.begin or Place(0.0)
        for line in self._stream.read_lines(LONGEST):
            place = Place(self._terms.now() + min(0.0, self._behind), f"{self._epoch}:{next(self._numbers)}")
            event, trouble = self._parse(place, line) if line else (StreamEvent(place), None)
            yield event if trouble is None else replace(event, place=seen)  # it is not complete up to this one
            if trouble is not None:
                raise trouble
            seen = place

    def end(self, seconds: float) -> None:
        """See `metered_reader.MeteredConnection.end`."""
        self._stream.end(seconds)

    def close(self) -> None:
        """See `stream_reader.StreamConnection.close`."""
        self._stream.close()

    def _parse(self, place: Place, line: bytes) -> tuple[StreamEvent, Exception | None]:
        """Return what a message brings, and why nothing after it is read: it is the end, or cannot be read."""
        told = decode_json(line)
        if isinstance(told, dict) and "data" not in told:
            return StreamEvent(place), ConnectionError(f"X ended the stream: {_explain_end(told)}")
        billed = StreamEvent(place, size=len(line), cost=self._terms.compute_cost(told))
        try:
            page = self._terms.parse([told])
            # A stream that is behind loses, where it breaks, posts that are as much older.
            written = [parse_time(post.created_at) for post in page.posts if post.created_at]
        except parse.FieldsMissingError as error:
            why = (
                f"X did not send the fields that were requested ({', '.join(error.args[0])}): set vocabulary = "
                '"tweet" or "post" under [source]'
            )
            return billed, StreamRefusedError(ReplyKind.INVALID, 200, why)
        except WRONG as error:
            return billed, self._terms.explain_unreadable(error)
        self._terms.unreadable = 0
        return replace(billed, place=replace(place, at=min([place.at, *written])), post=line), None


class XStreamReader(MeteredReader):
    """The stream of one campaign.

    Args:
        words: the vocabulary that posts are written in.
        policy: the prices.
        parse_page: makes a page of the body of an answer.
        now: the clock, Unix seconds.

    Attributes:
        unreadable: messages in a row that could not be read, on however many connections.
    """

    def __init__(
        self, words: Vocabulary, policy: Policy, parse_page: Callable[[Json], Page], now: Callable[[], float]
    ) -> None:
        super().__init__(_open_post, now)
        self.words, self.policy, self.parse_page = words, policy, parse_page
        self.unreadable = 0

    def connect_by(self, grant: Grant, session: XSession, token: str) -> Reply:
        """Return the reply to the request for a connection, which is then open.

        Args:
            grant: the request.
            session: of the credential.
            token: its bearer token.
        """
        request = grant.request
        complete = parse_time(request.params["complete"]) if "complete" in request.params else 0.0

        @contextmanager
        def connecting(place: Place) -> Iterator[FilteredConnection]:
            del place  # nothing is sent again
            query = urlencode({name: text for name, text in request.params.items() if name not in OURS})
            shown = {"Authorization": f"Bearer {token}"}
            with session.http.open_stream(f"{session.base}{STREAM}?{query}", shown, SILENCE) as came:
                if isinstance(came, Reply):
                    raise StreamRefusedError(came.kind, 0, came.why, reply=replace(came, at=self.now()))
                opening = _read_opening(came, self.now())
                if isinstance(came, HttpAnswer):
                    raise StreamRefusedError(opening.kind, came.status, opening.why, reply=opening)
                yield FilteredConnection(came, opening, max(opening.at, complete), self)

        return self.open(parse_place(request.params["after"]), connecting, request.most)

    def take_part(self, grant: Grant) -> Reply:
        """Return the reply to the request for a part; it costs what its messages cost."""
        request = grant.request
        asked = {**request.params, "limit": request.params["max_results"]}
        return self.take(asked, self.parse, request.most)

    def parse(self, told: list[Any]) -> Page:
        """Return a page of messages."""
        users = {user["id"]: user for one in told for user in (one.get("includes") or {}).get("users") or ()}
        return self.parse_page({"data": [one["data"] for one in told], "includes": {"users": list(users.values())}})

    def explain_unreadable(self, error: Exception) -> Exception:
        """Return why the stream ends with a message that cannot be read: it is opened again, or refused for good."""
        self.unreadable += 1
        why = f"a post in X's stream is not what X sends ({type(error).__name__}: {str(error)[:200]})"
        if self.unreadable < UNREADABLE:
            return ConnectionError(why)
        hint = "write ongoing = true instead of live = true under [capture], and continue with `run --change`"
        return StreamRefusedError(ReplyKind.INVALID, 200, f"{why}, {UNREADABLE} times in a row: {hint}")

    def compute_cost(self, told: Any) -> int:
        """Return what X bills for a message, in mills."""
        includes = told.get("includes") if isinstance(told, dict) else None
        users = includes.get("users") if isinstance(includes, dict) else None
        many = len(users) if isinstance(users, list) else 0
        return self.policy.compute_price("post", 1) + self.policy.compute_price("user", many)


def _open_post(line: bytes) -> tuple[str, Json]:
    """Return the id of a post, and the message that it came in."""
    told = decode_json(line)
    return str(told["data"]["id"]), told


def _read_opening(came: HttpAnswer | HttpStream, at: float) -> Reply:
    """Return the reply that the status and the headers of an answer make, without rows."""
    known, date = classify.parse_limits(came.headers), parse_date(came.headers)
    if isinstance(came, HttpStream):
        return Reply(ReplyKind.OK, at, status=200, date=date, limits=known)
    body, server = decode_json(came.body), at if date is None else date
    kind, why = classify.classify(came.status, body, known, server)
    issue = body.get("connection_issue") if isinstance(body, dict) else None
    if issue == "TooManyConnections":
        why = "another program reads the stream of this app, which X lets only one do: stop it"
    return Reply(
        kind,
        at,
        status=came.status,
        date=server,
        limits=known,
        why=why,
        after=parse_pause(came.status, came.headers, server),
    )


def _explain_end(told: Json) -> str:
    errors = told.get("errors")
    first = errors[0] if isinstance(errors, list) and errors and isinstance(errors[0], dict) else told
    said = [str(first[name]) for name in ("disconnect_type", "title", "detail") if first.get(name)]
    return ": ".join(said)[:300] or "it did not say why"
