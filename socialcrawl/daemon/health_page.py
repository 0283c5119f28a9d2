"""The pages of a daemon: /healthz for alerts, /metrics for Prometheus.

    pages = app(vitals, time.time)
    with serving(pages, "127.0.0.1", 9464) as url: ...  # url + "/healthz", url + "/metrics"

Answers are made of values that the daemon hands over, in a thread of their own: they wait for no crawl.
"""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from socialcrawl import __version__
from socialcrawl.daemon.campaign_state import BROKEN, DOWN, STALLED, CampaignState
from socialcrawl.daemon.metrics import CONTENT_TYPE, DaemonStatus, format_metrics, make_registry
from socialcrawl.errors import SettingsError
from socialcrawl.system.host_names import AllowedHosts, HostGuard
from socialcrawl.system.loopback import is_loopback_host
from socialcrawl.system.secret import redact
from socialcrawl.text.wording import format_span

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp

PORT = 9464
SILENCE = 60.0  # seconds without a beat of the heart after which the daemon is thought to hang
ENDING = 5.0  # seconds for the server's thread to end
DEADLINE = 10.0  # seconds for a request and its answer
ILL = (STALLED, BROKEN, DOWN)
FRESH = {"Cache-Control": "no-store"}


def parse_host_port(written: str, usual: int = PORT) -> tuple[str, int]:
    """Parse a host and port: 127.0.0.1:9464, [::1]:9464, :9464 or 9464 (this machine), or a host alone.

    Args:
        written: what a person wrote.
        usual: the port where there is a host alone.

    Raises:
        SettingsError: it is none of these.
    """
    host, colon, port = written.rpartition(":")
    if not colon or written.endswith("]") or (written.count(":") > 1 and "[" not in written):
        host, port = ("", written) if written.isdecimal() else (written, str(usual))
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if not written or not (port.isascii() and port.isdecimal() and int(port) <= 65535) or " " in host:
        raise SettingsError(f"{written!r} is not a place to listen on: write HOST:PORT, such as 127.0.0.1:{usual}.")
    return host, int(port)


def check_health(vitals: DaemonStatus, now: float, silence: float = SILENCE) -> tuple[bool, dict[str, Any]]:
    """Return whether all is well, and the page /healthz as plain values, without secrets.

    It is not when the daemon's heart has been silent for more than `silence` seconds, or a campaign is stalled or
    broken, or its platform is down; `why` then has a sentence for each.
    """
    why = []
    if now - vitals.beat > silence:
        why.append(f"The daemon hangs: its heart has been silent for {format_span(now - vitals.beat)}.")
    ill = [standing for standing in vitals.standings if standing.state in ILL]
    why += [redact(f"{standing.campaign} is {standing.state}: {standing.why}") for standing in ill]
    return not why, {
        "ok": not why,
        "why": why,
        "version": __version__,
        "since": format_iso(vitals.began),
        "campaigns": [_show_state(standing) for standing in vitals.standings],
    }


def _show_state(standing: CampaignState) -> dict[str, str | None]:
    return {
        "campaign": redact(standing.campaign),
        "file": redact(standing.file.name),
        "state": standing.state,
        "why": redact(standing.why),
        "since": format_iso(standing.since),
        "until": format_iso(standing.until),
        "moved": format_iso(standing.moved),
    }


def format_iso(instant: float | None) -> str | None:
    """Return an instant (Unix seconds) as ISO 8601 in UTC; None where it is not known, or no instant at all."""
    if instant is None:
        return None
    try:
        return datetime.fromtimestamp(instant, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):  # a clock that is nonsense must not hide the rest
        return None


def make_app(vitals: Callable[[], DaemonStatus], now: Callable[[], float], silence: float = SILENCE) -> "ASGIApp":
    """Return the pages as an ASGI application.

    Args:
        vitals: how the daemon is; called for every page, so it must hand over values and wait for nothing.
        now: the clock, in Unix seconds.
        silence: seconds without a beat after which /healthz says 503.
    """
    from starlette.applications import Starlette  # noqa: PLC0415
    from starlette.routing import Route  # noqa: PLC0415

    source = make_registry(vitals, now)

    async def healthz(request: "Request") -> "Response":
        return _respond_health(vitals, now, silence)

    async def metrics(request: "Request") -> "Response":
        return _respond_metrics(source)

    return Starlette(routes=[Route("/healthz", healthz, methods=["GET"]), Route("/metrics", metrics, methods=["GET"])])


def _respond_health(vitals: Callable[[], DaemonStatus], now: Callable[[], float], silence: float) -> "Response":
    from starlette.responses import Response  # noqa: PLC0415

    try:
        fine, page = check_health(vitals(), now(), silence)
    except Exception as error:  # noqa: BLE001 (a daemon that cannot say how it is is ill, whatever the reason)
        fine, page = False, {"ok": False, "why": [f"The daemon cannot say how it is ({type(error).__name__})."]}
    return Response(_encode_json(page), 200 if fine else 503, FRESH, "application/json")


def _encode_json(page: dict[str, Any]) -> bytes:
    import json  # noqa: PLC0415

    return json.dumps(page, indent=1).encode()  # in ASCII, so that halves of characters in names do no harm


def _respond_metrics(source: "CollectorRegistry") -> "Response":
    from starlette.responses import PlainTextResponse, Response  # noqa: PLC0415

    try:
        return Response(format_metrics(source), 200, {**FRESH, "Content-Type": CONTENT_TYPE})
    except Exception as error:  # noqa: BLE001 (as for /healthz)
        return PlainTextResponse(f"The daemon cannot say how it is ({type(error).__name__}).\n", 503, FRESH)


@contextmanager
def serve_pages(
    pages: "ASGIApp",
    host: str,
    port: int,
    *,
    allow_remote: bool = False,
    allow_hosts: Iterable[str] = (),
    deadline: float = DEADLINE,
) -> Iterator[str]:
    """Serve the pages for the length of a `with` block, from a thread; signals stay the caller's.

    Args:
        pages: see `make_app`.
        host: where to listen; another than this machine alone has to be allowed.
        port: 0 takes a free one.
        allow_remote: whether other machines may read the pages, which ask for no password.
        allow_hosts: further host names that a request may name; see `host_names.AllowedHosts`.
        deadline: seconds after which a connection is closed, whatever it sent or read until then.

    Yields:
        the URL without a path.

    Raises:
        SettingsError: the host is not allowed, the port is in use, or one of `allow_hosts` is no host.
    """
    if not allow_remote and not is_loopback_host(host):
        raise SettingsError(f"The host {host} is not this machine alone; give 127.0.0.1, or --allow-remote as well.")
    guarded = HostGuard(pages, AllowedHosts.of(allow_hosts, listening=host))
    with _listen(host, port) as listener, _serve_in_thread(guarded, listener, deadline):
        shown, taken = listener.getsockname()[:2]
        yield f"http://[{shown}]:{taken}" if ":" in shown else f"http://{shown}:{taken}"


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(64)
    except (OSError, OverflowError, UnicodeError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(
            f"The health page cannot listen on {host} port {port}: {reason}. "
            "Give another place with --health HOST:PORT; port 0 takes a free one."
        ) from error
    return listener


@contextmanager
def _serve_in_thread(pages: "ASGIApp", listener: socket.socket, deadline: float) -> Iterator[None]:
    """Answer with uvicorn in a thread, inside the block."""
    import uvicorn  # noqa: PLC0415

    class QuietServer(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            answering.set()

    answering = threading.Event()
    server = QuietServer(_make_config(pages, deadline))
    thread = threading.Thread(target=_serve, args=(server, listener, answering), name="health", daemon=True)
    thread.start()
    answering.wait()
    try:
        if not server.started:
            raise SettingsError("The health page's server ended before it answered; look for its error above.")
        yield
    finally:
        server.should_exit = True
        thread.join(ENDING)


def _make_config(pages: "ASGIApp", deadline: float) -> Any:
    import uvicorn  # noqa: PLC0415
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol  # noqa: PLC0415

    class Connection(HttpToolsProtocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.loop.call_later(deadline, transport.abort)

    return uvicorn.Config(
        pages,
        access_log=False,
        log_level="warning",
        log_config=None,
        lifespan="off",
        server_header=False,
        http=Connection,
        headers=[("Connection", "close")],  # one request each, so that the deadline cuts off none of several
        timeout_graceful_shutdown=1,
        limit_concurrency=100,  # too many requests are refused, and the crawl continues
    )


def _serve(server: Any, listener: socket.socket, answering: threading.Event) -> None:
    try:
        asyncio.run(server.serve(sockets=[listener]))
    finally:
        answering.set()  # an end before the beginning must not be waited for
