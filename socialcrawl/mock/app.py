"""The mock as an application: every request passes the same gate of guest, fault, limits and answer."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from socialcrawl.errors import MockError
from socialcrawl.mock.account_list import AccountNames
from socialcrawl.mock.admin import Admin
from socialcrawl.mock.asgi import (
    ASGIApp,
    Receive,
    Scope,
    Send,
    answer,
    parse_host,
    parse_query,
    read_body,
    read_headers,
    sever,
)
from socialcrawl.mock.dataset_clock import DatasetClock
from socialcrawl.mock.faults import Fault, FaultHook
from socialcrawl.mock.gated_service import Entry, MockPlatform
from socialcrawl.mock.routes import Routes
from socialcrawl.mock.scenario_state import ScenarioState
from socialcrawl.mock.server_settings import MockSettings
from socialcrawl.mock.service import Guest, MockRequest, MockResponse
from socialcrawl.mock.services import make_platforms
from socialcrawl.mock.world import World
from socialcrawl.mock.x.service import make_not_found

At = tuple[MockPlatform, str, tuple[str, ...]]  # a platform, one of its templates, and the names in it


class Mock:
    """A mock of several platforms for one world: their endpoints, and its own count of what was asked and answered.

    Args:
        world: what there is to see; None where that is pages only.
        settings: platforms, limits, windows, tokens, money, the server's clock, the moments of search and of the file.
        fault: the choice of faults, for tests.
        time: the time that the server's clock shows, but for its skew.
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
        self._admin = Admin(self.report, self._stage, AccountNames(world, settings, self._platforms), moment)
        self._started = self._stage.clock()
        self._routes: Routes[At] = Routes()
        for platform in self._platforms.values():
            for method, template in platform.endpoints():
                names = tuple(part[1:] for part in template.split("/") if part[:1] in (":", "*") and part)
                self._routes.add(method, template, (platform, template, names))

    def app(self) -> ASGIApp:
        """Return the ASGI application."""
        return self._serve

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
        path, method = scope["path"], scope["method"]
        if path.startswith("/_mock/"):
            body = await read_body(receive) if method == "POST" else b""
            shown = self._admin.answer(method, path, body, parse_query(scope["query_string"]))
            await answer(send, shown, self._stage.clock())
            return
        found = self._routes.find(method, path)
        if found is None:
            await answer(send, make_not_found(), self._stage.clock())
            return
        body = await read_body(receive) if method == "POST" else b""
        # All is decided, counted and billed at once; only the answer takes its time.
        response, fault = self._decided(found[0][0], self._asked(scope, *found, body))
        pause = self._settings.latency + (fault.seconds if fault and fault.kind == "hang" else 0.0)
        if pause:
            await asyncio.sleep(pause)
        if response is None or (fault and fault.kind == "half"):
            await sever(scope, receive, send, response, self._stage.clock())
        else:
            await answer(send, response, self._stage.clock())

    def _asked(self, scope: Scope, at: At, parts: list[str], body: bytes) -> MockRequest:
        headers = read_headers(scope)
        return MockRequest(
            method=scope["method"],
            endpoint=at[1],
            path=dict(zip(at[2], parts, strict=True)),
            query=parse_query(scope["query_string"]),
            headers=headers,
            now=self._stage.clock(),
            host=parse_host(headers),
            body=body,
        )

    def _decided(self, platform: MockPlatform, asked: MockRequest) -> tuple[MockResponse | None, Fault | None]:
        """Return the answer, None where the connection is cut; and the fault that it meets."""
        book = platform.book
        book.received[asked.endpoint] += 1
        guest = platform.guest(asked)
        if isinstance(guest, MockResponse):
            book.turn_away(asked.endpoint, guest.status)
            book.answers[guest.status] += 1
            return guest, None
        asked, fault = self._stage.struck(platform, asked)
        if fault is None and self._fault is not None:
            fault = self._fault(asked.endpoint, book.received[asked.endpoint])
        if fault and fault.status == 401:
            book.turn_away(asked.endpoint, 401)
            book.answers[401] += 1
            return _read_fault(fault, {}), fault
        entry = platform.take(asked, guest)
        response = self._answered(platform, asked, guest, entry, fault)
        if response is not None:
            entry.note(response.status)
            book.answers[response.status] += 1
        # Who is refused meets no other fault.
        return response, None if entry.refused else fault

    def _answered(
        self, platform: MockPlatform, asked: MockRequest, guest: Guest, entry: Entry, fault: Fault | None
    ) -> MockResponse | None:
        if entry.refused:
            return platform.too_many(asked, entry)
        kind = fault.kind if fault else None
        if fault is None or kind in ("half", "hang"):
            return self._stage.kept(platform, asked, guest, platform.answer(asked, guest, entry))
        if kind == "cut":
            return None
        if kind == "answer":
            return _read_fault(fault, entry.headers)
        if kind == "too_many":
            return _refuse(platform, asked, entry, fault)
        if kind == "repeat" and (before := self._stage.before(platform, asked, guest)) is not None:
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
