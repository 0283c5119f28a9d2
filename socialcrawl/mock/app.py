"""The mock as an application: every request passes the same gate of token, fault, limits, endpoint and bill."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
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
from socialcrawl.mock.gate import Gate, Passage
from socialcrawl.mock.parameters import Parameters
from socialcrawl.mock.problems import (
    NOT_FOUND,
    TOO_MANY,
    UNAUTHORIZED,
    InvalidRequestError,
    Problem,
    credits_depleted,
    unsupported_authentication,
    usage_capped,
)
from socialcrawl.mock.render import Renderer
from socialcrawl.mock.settings import APP_ONLY, ENDPOINTS, FREE, READING_POSTS, MockSettings
from socialcrawl.mock.visitors import Visitor, visitor
from socialcrawl.mock.vocabulary import ask
from socialcrawl.mock.windows import Windows
from socialcrawl.mock.world import World

API_VERSION = "2.168"
AFTER_THE_END = 30.0  # seconds, so that search's implicit end_time includes the last post


class Mock:
    """A mock X API for one world: the endpoints, and its own count of what was asked, answered and billed.

    Args:
        world: what there is to see.
        settings: limits, windows, tokens, money, the server's clock and the moment of search.
        fault: the choice of faults, for tests.
        time: the time that the server's clock shows, but for its skew.
    """

    def __init__(
        self,
        world: World,
        settings: MockSettings,
        fault: FaultHook | None = None,
        time: Callable[[], float] = time.time,
    ) -> None:
        self._settings, self._time = settings, time
        self._fault = fault
        self._received: Counter[str] = Counter()
        self._turned_away: Counter[str] = Counter()
        self._forbidden: Counter[str] = Counter()
        windows = {
            "app": Windows(settings.limit_of, settings.window),
            "user": Windows(settings.user_limit_of, settings.window, "user"),
        }
        self._gate = Gate(windows, settings.rules)
        self._bill = Bill(settings.cap_reset_day)
        self._started = self._clock()
        world.warm()
        renderer = Renderer(world)
        users, timelines, usage = Users(renderer), Timelines(renderer), Usage(self._bill, settings.most_posts)
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
        return closable(Starlette(routes=routes, exception_handlers={404: self._not_found, 405: self._not_found}))

    def report(self) -> dict[str, Any]:
        """What the server counted, as plain values by the server's clock (`skew` seconds ahead of ours).

        Requests by endpoint (`received`; of these `unauthorized` had no good token and `forbidden` one of the wrong
        kind), `windows` and `rules` per token and endpoint, `over` (the requests that a limit had no room for), and
        the bill by UTC day (`billed`) and of all days (`totals`).
        """
        return {
            "started": self._started,
            "written": self._clock(),
            "skew": self._settings.skew,
            "received": dict(self._received),
            "unauthorized": dict(self._turned_away),
            "forbidden": dict(self._forbidden),
            **self._gate.report(),
            "billed": self._bill.report(),
            "totals": self._bill.totals(),
        }

    def _clock(self) -> float:
        return self._time() + self._settings.skew

    async def _show_report(self, request: Request) -> Response:
        return Response(orjson.dumps(self.report()), media_type=JSON_TYPE)

    async def _not_found(self, request: Request, error: Exception) -> Response:
        return self._dated(_response(404, NOT_FOUND))

    def _dated(self, response: Response) -> Response:
        """The response with the moment at which it leaves."""
        response.headers["date"] = formatdate(self._clock(), usegmt=True)
        return response

    def _route(self, endpoint: str) -> Any:
        async def answer(request: Request) -> Response:
            self._received[endpoint] += 1
            who = self._visitor(request)
            fault = self._fault(endpoint, self._received[endpoint]) if who and self._fault else None
            # All is decided, counted and billed at once; only the answer takes its time.
            response = self._answer(endpoint, request, who, fault)
            pause = self._settings.latency + (fault.seconds if fault and fault.kind == "hang" else 0.0)
            if pause:
                await asyncio.sleep(pause)
            return self._dated(response)

        return answer

    def _visitor(self, request: Request) -> Visitor | None:
        tokens, user_tokens = self._settings.tokens, self._settings.user_tokens
        return visitor(request.headers.get("authorization", ""), tokens, user_tokens)

    def _answer(self, endpoint: str, request: Request, who: Visitor | None, fault: Fault | None) -> Response:
        now = self._clock()
        if who is None or (fault and fault.status == 401):
            self._turned_away[endpoint] += 1
            return _faulty(fault, {}) if fault else _response(401, UNAUTHORIZED)
        if who.kind == "user" and endpoint in APP_ONLY:
            return self._wrong_kind(endpoint, request, who)
        passage = self._gate.take(who.label, who.kind, endpoint, now)
        if passage.refused:
            passage.window.answers[429] += 1
            return _response(429, TOO_MANY, passage.headers)
        if fault and fault.kind in ("answer", "cut"):
            if fault.kind == "answer":
                passage.window.answers[fault.status] += 1
            return _faulty(fault, passage.headers)
        response = self._handled(endpoint, request, passage, now)
        return Severed(response) if fault and fault.kind == "half" else response

    def _wrong_kind(self, endpoint: str, request: Request, who: Visitor) -> Response:
        """The refusal of a user's token; there is no limit for it at this endpoint, so no window either."""
        self._forbidden[endpoint] += 1
        return _response(403, unsupported_authentication(ask(dict(request.query_params)).words, who.scheme))

    def _handled(self, endpoint: str, request: Request, passage: Passage, now: float) -> Response:
        given = dict(request.query_params)
        path = next(iter(request.path_params.values()), "")
        call = Call(Parameters(given), path, ask(given), now)
        stopped = self._stopped(endpoint, call)
        if stopped:
            status, problem = stopped
            passage.window.answers[status] += 1
            # X was seen to tell no limits with a 402, and those of the window with the 429 of the cap.
            return _response(status, problem, {} if status == 402 else passage.headers)
        try:
            answer = self._handlers[endpoint](call)
        except InvalidRequestError as error:
            passage.window.answers[400] += 1
            return _response(400, error.problem(call.ask.words), passage.headers)
        passage.window.answers[200] += 1
        self._bill.charge(now, answer.posts, answer.users, answer.counts)
        return _response(200, answer.body, passage.headers)

    def _stopped(self, endpoint: str, call: Call) -> tuple[int, Problem] | None:
        """The status and problem where the cap on posts or the credits are used up, for what they pay for."""
        credit = self._settings.credits
        if credit is not None and endpoint not in FREE and self._bill.dollars >= credit:
            return 402, credits_depleted(call.ask.words)
        if endpoint in READING_POSTS and self._bill.posts_in_cycle(call.now) >= self._settings.most_posts:
            return 429, usage_capped(call.ask.words)
        return None


def _template(endpoint: str) -> str:
    return "/".join(f"{{{part[1:]}}}" if part.startswith(":") else part for part in endpoint.split("/"))


def _response(status: int, body: bytes | Problem, headers: dict[str, str] | None = None) -> Response:
    own = {"api-version": API_VERSION, "x-access-level": "read"}
    content = body if isinstance(body, bytes) else orjson.dumps(body)
    return Response(content, status, {**own, **(headers or {})}, media_type=JSON_TYPE)


def _faulty(fault: Fault, limits: dict[str, str]) -> Response:
    if fault.kind == "cut":
        return Severed(None)
    headers = {**(limits if fault.limited else {}), **fault.headers}
    return Response(fault.body, fault.status, headers, media_type=fault.content_type)
