"""The mock as an application: every request passes the same gate of guest, fault, limits and answer.

A request is read from ASGI as a `MockRequest` and answered whole, in half or not at all. Routes say which endpoint a
path fits: templates with names (`:id`) and rests (`*rest`); words go before names before rests.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import formatdate
from functools import lru_cache
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl

from socialcrawl.errors import MockError
from socialcrawl.mock.account_list import AccountNames
from socialcrawl.mock.admin import Admin
from socialcrawl.mock.dataset_clock import DatasetClock
from socialcrawl.mock.faults import Fault, FaultHook
from socialcrawl.mock.gated_service import Entry, MockPlatform
from socialcrawl.mock.open_streams import OpenStreams, StreamWire, cut_connection
from socialcrawl.mock.scenario_state import ScenarioState
from socialcrawl.mock.server_settings import MockSettings
from socialcrawl.mock.service import Guest, MockRequest, MockResponse, StreamResponse
from socialcrawl.mock.services import make_platforms
from socialcrawl.mock.world import World
from socialcrawl.mock.x.service import make_not_found

Message = dict[str, Any]
Scope = Any  # ASGI's own dictionaries: a scope and its two channels
Receive = Any
Send = Any
ASGIApp = Callable[[Scope, Receive, Send], Any]
_LEAVE = 1.0  # seconds for a client that was refused a WebSocket to be gone


@lru_cache(maxsize=10_000)
def parse_query(text: bytes) -> tuple[tuple[str, str], ...]:
    """Return the parameters of a query string, in order; blank ones are kept."""
    return tuple(parse_qsl(text.decode("latin-1"), keep_blank_values=True))


def read_headers(scope: Scope) -> dict[str, str]:
    """Return the headers by lower-case name; of several the last."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


async def read_body(receive: Receive) -> bytes:
    """Return the body of a request; what came of it where the client left."""
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


def parse_host(headers: dict[str, str]) -> str:
    """Return the name in the Host header, without its port."""
    host = headers.get("host", "")
    return host if host.endswith("]") else host.rpartition(":")[0] or host


@lru_cache(maxsize=4)
def format_date(second: int) -> str:
    """Return a Unix second as the Date header has it."""
    return formatdate(second, usegmt=True)


def _make_head(response: MockResponse, now: float) -> Message:
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in response.headers.items()]
    headers.append((b"content-type", response.content_type.encode("latin-1")))
    headers.append((b"content-length", b"%d" % len(response.body)))
    headers.append((b"date", format_date(int(now)).encode()))
    return {"type": "http.response.start", "status": response.status, "headers": headers}


async def answer(scope: Scope, receive: Receive, send: Send, response: MockResponse, now: float) -> None:
    """Send the whole answer, with the moment at which it leaves (Unix seconds); it refuses who wants a WebSocket."""
    is_socket = scope["type"] == "websocket"
    prefix, head = "websocket." if is_socket else "", _make_head(response, now)
    await send({**head, "type": prefix + head["type"]})
    await send({"type": f"{prefix}http.response.body", "body": response.body})
    if is_socket:
        # Returning before the connection is gone, of which uvicorn tells twice, would let it log an error.
        with suppress(TimeoutError):
            async with asyncio.timeout(_LEAVE):
                for _ in range(2):
                    await _await_end(receive)


async def _await_end(receive: Receive) -> None:
    while not (await receive())["type"].endswith(".disconnect"):
        pass


async def sever(scope: Scope, receive: Receive, send: Send, half: MockResponse | None, now: float) -> None:
    """Send an answer that breaks off: nothing of it (None), or half of its body under its full length."""
    if half is not None and scope["type"] != "websocket":
        await send(_make_head(half, now))
        await send({"type": "http.response.body", "body": half.body[: len(half.body) // 2], "more_body": True})
    cut_connection(send)
    # Returning before the connection is gone would let uvicorn answer 500.
    await _await_end(receive)


T = TypeVar("T")


@dataclass
class _Step(Generic[T]):
    """What may follow one part of a path: a certain word, any word, anything; and what ends here, by method."""

    words: dict[str, "_Step[T]"] = field(default_factory=dict)
    any_word: "_Step[T] | None" = None
    rest: dict[str, T] = field(default_factory=dict)
    ends: dict[str, T] = field(default_factory=dict)


class Routes(Generic[T]):
    """What stands at each (method, template); HEAD is answered where GET is."""

    def __init__(self) -> None:
        self._root: _Step[T] = _Step()

    def add(self, method: str, template: str, what: T) -> None:
        """Add an endpoint, as `/2/users/:id` or `/*rest`.

        Raises:
            MockError: it is taken.
        """
        step, parts = self._root, template.strip("/").split("/")
        for part in parts:
            if part.startswith("*"):
                break
            if part.startswith(":"):
                step.any_word = step.any_word or _Step()
                step = step.any_word
            else:
                step = step.words.setdefault(part, _Step())
        here = step.rest if parts[-1].startswith("*") else step.ends
        if method in here:
            raise MockError(f"Two platforms of the mock have the endpoint {method} {template}; remove one of them.")
        here[method] = what

    def find(self, method: str, path: str) -> tuple[T, list[str]] | None:
        """Return what stands at a path, and the parts that its template names, in their order.

        None where nothing does.
        """
        parts = path.removeprefix("/").split("/")
        return _find(self._root, method, parts, 0)


def _find(step: _Step[T], method: str, parts: list[str], at: int) -> tuple[T, list[str]] | None:
    if at == len(parts):
        what = _at(step.ends, method)
        if what is not None:
            return what, []
    else:
        word = step.words.get(parts[at])
        found = None if word is None else _find(word, method, parts, at + 1)
        if found is None and step.any_word is not None and parts[at]:
            found = _find(step.any_word, method, parts, at + 1)
            if found is not None:
                found[1].insert(0, parts[at])
        if found is not None:
            return found
    what = _at(step.rest, method)
    return None if what is None else (what, ["/".join(parts[at:])])


def _at(here: dict[str, T], method: str) -> T | None:
    return here.get("GET") if method == "HEAD" and "HEAD" not in here else here.get(method)


_PLAIN = "text/plain; charset=utf-8"
_NO_UPGRADE = MockResponse(426, b"This endpoint is a WebSocket: send the header Upgrade.", content_type=_PLAIN)
_NO_SOCKET = MockResponse(400, b"This endpoint is no WebSocket: leave out the header Upgrade.", content_type=_PLAIN)
_FULL = MockResponse(503, b"The mock has no room for another stream: close one.", content_type=_PLAIN)
At = tuple[MockPlatform, str, tuple[str, ...]]  # a platform, one of its templates, and the names in it


class Mock:
    """A mock of several platforms for one world: their endpoints, and its own count of what was asked and answered.

    Args:
        world: what there is to see; None where that is pages only.
        settings: platforms, limits, windows, tokens, money, the server's clock, the moments of search and of the file.
        fault: the choice of faults, for tests.
        time: the time that the server's clock shows, without its skew.
        more: further platforms, for tests.
    """

    def __init__(
        self,
        world: World | None,
        settings: MockSettings,
        fault: FaultHook | None = None,
        time: Callable[[], float] = time.time,
        more: Sequence[MockPlatform] = (),
    ) -> None:
        self._settings, self._fault = settings, fault
        moment = find_begin(world, settings, time)
        self._platforms = {platform.name: platform for platform in (*make_platforms(world, settings, moment), *more)}
        self._stage = ScenarioState(world, settings, self._platforms, time, moment)
        self._streams = OpenStreams(self._stage)
        self._admin = Admin(self.report, self._stage, AccountNames(world, settings, self._platforms), moment)
        self._started = self._stage.clock()
        self._routes: Routes[At] = Routes()
        for platform in self._platforms.values():
            for method, template in platform.endpoints():
                names = tuple(part[1:] for part in template.split("/") if part[:1] in (":", "*") and part)
                self._routes.add(method, template, (platform, template, names))

    def make_app(self) -> ASGIApp:
        """Return the ASGI application."""
        return self._serve

    def end_streams(self) -> None:
        """End all streams, so that the server can stop."""
        self._streams.end()

    def report(self) -> dict[str, Any]:
        """Return what the server counted, as plain values by the server's clock (`skew` seconds ahead of ours).

        At the top what X counted: requests by endpoint (`received`; of these `unauthorized` had no good token and
        `forbidden` one of the wrong kind), `windows` and `rules` per token and endpoint, `over` (the requests that a
        limit had no room for), and the bill by UTC day (`billed`) and of all days (`totals`). Under `platforms` the
        same of every other platform, by its name, where a window tells its `key`.
        """
        own = {name: platform.report() for name, platform in self._platforms.items()}
        return {
            "started": self._started,
            "written": self._stage.clock(),
            "skew": self._stage.skew,
            **own.pop("x", {}),
            "platforms": own,
        }

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, method = scope["path"], scope.get("method", "GET")
        if path.startswith("/_mock/"):
            body = await read_body(receive) if method == "POST" else b""
            shown = self._admin.answer(method, path, body, parse_query(scope["query_string"]))
            await answer(scope, receive, send, shown, self._stage.clock())
            return
        found = self._routes.find(method, path)
        if found is None:
            await answer(scope, receive, send, make_not_found(), self._stage.clock())
            return
        body = await read_body(receive) if method in ("POST", "PUT") else b""
        # All is decided, counted and billed at once; only the answer takes its time.
        response, fault = self._decide(found[0][0], self._parse_request(scope, *found, body))
        pause = self._settings.latency + (fault.seconds if fault and fault.kind == "hang" else 0.0)
        if pause:
            await asyncio.sleep(pause)
        if response is None or (fault and fault.kind == "half"):
            if isinstance(response, StreamResponse) and response.stream is not None:
                response.stream.close()
            await sever(scope, receive, send, response, self._stage.clock())
        elif isinstance(response, StreamResponse) and response.stream is not None:
            await self._stream(scope, receive, send, found[0], response)
        else:
            await answer(scope, receive, send, response, self._stage.clock())

    async def _stream(self, scope: Scope, receive: Receive, send: Send, at: At, response: StreamResponse) -> None:
        """Send an answer that goes on, to a client that can take it."""
        assert response.stream is not None
        refused = None
        if response.is_socket != (scope["type"] == "websocket"):
            refused = _NO_UPGRADE if response.is_socket else _NO_SOCKET
        elif self._streams.is_full:
            refused = _FULL
        if refused is not None:
            response.stream.close()
            await answer(scope, receive, send, refused, self._stage.clock())
            return
        await self._streams.run(at[0], at[1], response.stream, StreamWire(scope, receive, send, response))

    def _parse_request(self, scope: Scope, at: At, parts: list[str], body: bytes) -> MockRequest:
        headers = read_headers(scope)
        return MockRequest(
            method=scope.get("method", "GET"),
            endpoint=at[1],
            path=dict(zip(at[2], parts, strict=True)),
            query=parse_query(scope["query_string"]),
            headers=headers,
            now=self._stage.clock(),
            host=parse_host(headers),
            server="{}:{}".format(*(scope.get("server") or ("", ""))),
            body=body,
            upgrade=scope["type"] == "websocket",
        )

    def _decide(self, platform: MockPlatform, asked: MockRequest) -> tuple[MockResponse | None, Fault | None]:
        """Return the answer, None where the connection is cut; and the fault that it meets."""
        book = platform.book
        book.received[asked.endpoint] += 1
        guest = platform.guest(asked)
        if isinstance(guest, MockResponse):
            book.turn_away(asked.endpoint, guest.status)
            book.answers[guest.status] += 1
            return guest, None
        asked, fault = self._stage.strike(platform, asked)
        if fault is None and self._fault is not None:
            fault = self._fault(asked.endpoint, book.received[asked.endpoint])
        if fault and fault.status == 401:
            book.turn_away(asked.endpoint, 401)
            book.answers[401] += 1
            return _read_fault(fault, {}), fault
        entry = platform.take(asked, guest)
        response = self._answer(platform, asked, guest, entry, fault)
        if response is not None:
            entry.note(response.status)
            book.answers[response.status] += 1
        # Who is refused meets no other fault.
        return response, None if entry.refused else fault

    def _answer(
        self, platform: MockPlatform, asked: MockRequest, guest: Guest, entry: Entry, fault: Fault | None
    ) -> MockResponse | None:
        if entry.refused:
            return platform.too_many(asked, entry)
        kind = fault.kind if fault else None
        if fault is None or kind in ("half", "hang"):
            return self._stage.keep(platform, asked, guest, platform.answer(asked, guest, entry))
        if kind == "cut":
            return None
        if kind == "answer":
            return _read_fault(fault, entry.headers)
        if kind == "too_many":
            return _refuse(platform, asked, entry, fault)
        if kind == "repeat" and (before := self._stage.find_previous(platform, asked, guest)) is not None:
            return replace(before, headers={**before.headers, **entry.headers})
        return platform.answer(replace(asked, overlap=fault.posts), guest, entry)


def find_begin(world: World | None, settings: MockSettings, time: Callable[[], float]) -> DatasetClock | None:
    """Return the moment at which a mock begins; None where there are pages only.

    Raises:
        MockError: nothing would come after it.
    """
    if world is None:
        if settings.moment is not None:
            raise MockError("Pages have no times, so they cannot come as time passes; leave out the moment (--from).")
        return None
    moment = DatasetClock(world, settings.moment, settings.speed, time)
    if settings.moment is not None and moment.there == len(world.ids):
        last = datetime.fromtimestamp(world.end - 1, UTC).isoformat()
        raise MockError(f"All posts are there at that moment, the last of {last}; give an earlier one (--from).")
    return moment


def _read_fault(fault: Fault, limits: Mapping[str, str]) -> MockResponse:
    return MockResponse(
        fault.status, fault.body, {**(limits if fault.limited else {}), **fault.headers}, fault.content_type
    )


def _refuse(platform: MockPlatform, asked: MockRequest, entry: Entry, fault: Fault) -> MockResponse:
    response = platform.too_many(asked, platform.spent(asked, entry) if fault.spent else entry)
    if fault.limited:
        return response
    hidden = {*entry.headers, "retry-after", "Retry-After"}
    return replace(response, headers={name: value for name, value in response.headers.items() if name not in hidden})
