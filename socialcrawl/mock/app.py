"""The mock as an application: every request passes the same gate of token, fault, window, endpoint and bill."""

import asyncio
import time
from collections import Counter
from email.utils import formatdate
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from socialcrawl.mock.bill import Bill
from socialcrawl.mock.endpoints import Call, Handler, Timelines, Users
from socialcrawl.mock.faults import JSON_TYPE, Fault, FaultHook, Severed, closable
from socialcrawl.mock.finding import Finding, Usage
from socialcrawl.mock.parameters import Parameters
from socialcrawl.mock.problems import NOT_FOUND, TOO_MANY, UNAUTHORIZED, InvalidRequestError
from socialcrawl.mock.render import Renderer
from socialcrawl.mock.settings import ENDPOINTS, MockSettings
from socialcrawl.mock.vocabulary import ask
from socialcrawl.mock.windows import Window, Windows, label
from socialcrawl.mock.world import World

API_VERSION = "2.168"
AFTER_THE_END = 30.0  # seconds, so that search's implicit end_time includes the last post


class Mock:
    """A mock X API for one world: the endpoints, and its own count of what was asked, answered and billed.

    Args:
        world: what there is to see.
        settings: limits, windows, tokens and the moment of search.
        fault: the choice of faults, for tests.
    """

    def __init__(self, world: World, settings: MockSettings, fault: FaultHook | None = None) -> None:
        self._settings = settings
        self._fault = fault
        self._received: Counter[str] = Counter()
        self._turned_away: Counter[str] = Counter()
        self._windows = Windows(settings.limit_of, settings.window)
        self._bill = Bill()
        self._started = time.time()
        world.warm()
        renderer = Renderer(world)
        users, timelines, usage = Users(renderer), Timelines(renderer), Usage(self._bill)
        now = world.end + AFTER_THE_END if settings.now is None else settings.now
        finding = Finding(renderer, now)
        handlers: tuple[Handler, ...] = (
            *(users.by_usernames, users.by_username, users.by_id, users.by_ids),
            *(timelines.tweets, timelines.mentions, finding.recent, finding.counts, usage.tweets),
        )
        self._handlers = dict(zip(ENDPOINTS, handlers, strict=True))

    def app(self) -> ASGIApp:
        """The ASGI application."""
        routes = [Route(_template(endpoint), self._route(endpoint), methods=["GET"]) for endpoint in ENDPOINTS]
        routes.append(Route("/_mock/report", self._show_report, methods=["GET"]))
        return closable(Starlette(routes=routes, exception_handlers={404: _not_found, 405: _not_found}))

    def report(self) -> dict[str, Any]:
        """What the server counted, as plain values: requests, windows per token and endpoint, the bill by UTC day."""
        return {
            "started": self._started,
            "written": time.time(),
            "received": dict(self._received),
            "unauthorized": dict(self._turned_away),
            "windows": self._windows.report(),
            "billed": self._bill.report(),
        }

    async def _show_report(self, request: Request) -> Response:
        return Response(orjson.dumps(self.report()), media_type=JSON_TYPE)

    def _route(self, endpoint: str) -> Any:
        async def answer(request: Request) -> Response:
            return await self._answer(endpoint, request)

        return answer

    async def _answer(self, endpoint: str, request: Request) -> Response:
        now = time.time()
        self._received[endpoint] += 1
        token = _bearer(request)
        if not token or (self._settings.tokens is not None and token not in self._settings.tokens):
            self._turned_away[endpoint] += 1
            return _response(401, orjson.dumps(UNAUTHORIZED), now)
        fault = self._fault(endpoint, self._received[endpoint]) if self._fault else None
        if fault and fault.status == 401:
            self._turned_away[endpoint] += 1
            return _faulty(fault, now, {})
        window = self._windows.take(label(token), endpoint, now)
        if window.full:
            window.answers[429] += 1
            return _response(429, orjson.dumps(TOO_MANY), now, window.headers())
        if fault and fault.kind in ("answer", "cut"):
            if fault.kind == "answer":
                window.answers[fault.status] += 1
            return _faulty(fault, now, window.headers())
        if fault and fault.kind == "hang":
            await asyncio.sleep(fault.seconds)
        response = self._handled(endpoint, request, window, now)
        return Severed(response) if fault and fault.kind == "half" else response

    def _handled(self, endpoint: str, request: Request, window: Window, now: float) -> Response:
        given = dict(request.query_params)
        path = next(iter(request.path_params.values()), "")
        call = Call(Parameters(given), path, ask(given), now)
        try:
            answer = self._handlers[endpoint](call)
        except InvalidRequestError as error:
            window.answers[400] += 1
            return _response(400, orjson.dumps(error.problem(call.ask.words)), now, window.headers())
        window.answers[200] += 1
        self._bill.charge(now, answer.posts, answer.users, answer.counts)
        return _response(200, answer.body, now, window.headers())


def _template(endpoint: str) -> str:
    return "/".join(f"{{{part[1:]}}}" if part.startswith(":") else part for part in endpoint.split("/"))


def _bearer(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _response(status: int, body: bytes, now: float, headers: dict[str, str] | None = None) -> Response:
    own = {"date": formatdate(now, usegmt=True), "api-version": API_VERSION, "x-access-level": "read"}
    return Response(body, status, {**own, **(headers or {})}, media_type=JSON_TYPE)


def _faulty(fault: Fault, now: float, limits: dict[str, str]) -> Response:
    if fault.kind == "cut":
        return Severed(None)
    headers = {**(limits if fault.limited else {}), **fault.headers, "date": formatdate(now, usegmt=True)}
    return Response(fault.body, fault.status, headers, media_type=fault.content_type)


async def _not_found(request: Request, error: Exception) -> Response:
    return _response(404, orjson.dumps(NOT_FOUND), time.time())
