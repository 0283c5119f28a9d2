"""The mock as a server: in this process until a signal, in a thread for tests, or as a child process.

serve(MockSettings(posts=Path("posts.parquet")))          # until SIGTERM or SIGINT
with running(posts, limit=5, window=2.0) as mock: ...     # mock.url, mock.report()
with spawn(Path("posts.parquet"), window=2.0) as mock: ... # mock.url, a process of its own
"""

import asyncio
import gc
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import time as wall
from typing import TYPE_CHECKING, Any

from socialcrawl.errors import MockError
from socialcrawl.lab.exported_campaign import read_export
from socialcrawl.lab.post_table import Posts, read_posts
from socialcrawl.mock.server_settings import MockSettings
from socialcrawl.system.files import replace_file

if TYPE_CHECKING:
    from socialcrawl.mock.app import Mock
    from socialcrawl.mock.faults import FaultHook
    from socialcrawl.mock.gated_service import MockPlatform
    from socialcrawl.mock.world import World

REFRESH = 1.0  # seconds between two writings of the report
PATIENCE = 20.0  # seconds for the server's thread to tell its counts or to end
PING = 30.0  # seconds between two pings of a WebSocket, as Jetstream and Mastodon send them
MOST_BYTES_OF_FRAME = 10_000_000  # that a client sends
STOP_WITHIN = 1  # seconds that an answer under way may still take


def serve(settings: MockSettings, *, with_stdin: bool = False) -> None:
    """Run a mock server in this process until SIGTERM or SIGINT; must be called in the main thread.

    With `with_stdin` also until stdin ends: a child that was given a pipe does not outlive its parent, however
    that one died.

    The first line on stdout is `{"url": "http://HOST:PORT"}`, written once the server answers.

    Raises:
        MockError: no posts given, or the port is in use.
        PostsFileError: the posts cannot be read.
    """
    if settings.posts is None and settings.export is None and settings.pages is None:
        raise MockError(
            "The mock has nothing to show; give it a file of posts (Parquet, CSV or JSON lines) or of pages."
        )
    with _listen(settings) as listener:
        mock = _make_mock(settings.posts, settings)
        # The world never changes; walking its million objects again and again took the collector a quarter of the time.
        gc.collect()
        gc.freeze()
        asyncio.run(_until_stopped(mock, settings, listener, with_stdin=with_stdin))


async def _until_stopped(mock: "Mock", settings: MockSettings, listener: socket.socket, *, with_stdin: bool) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    if with_stdin:
        loop.add_reader(sys.stdin.fileno(), _stop_at_end, stopped)
    async with _serve_inside(mock, settings, listener):
        sys.stdout.write(json.dumps({"url": _make_url(listener)}) + "\n")
        sys.stdout.flush()
        await stopped.wait()


def _stop_at_end(stopped: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 1):
        stopped.set()


@dataclass(frozen=True)
class MockThread:
    """A mock in a thread of this process: where it listens, and its report at any time, also after the end."""

    url: str
    report: Callable[[], dict[str, Any]]


@contextmanager
def serve_in_thread(
    posts: Posts | Path | None = None,
    fault: "FaultHook | None" = None,
    time: Callable[[], float] = wall,
    more: Sequence["MockPlatform"] = (),
    **settings: Any,
) -> Iterator[MockThread]:
    """Run a mock server in a thread of this process for the length of a `with` block.

    Args:
        posts: the posts, or a file of posts; None with `export=FOLDER` or `pages=FILE`.
        fault: the choice of faults, see `socialcrawl.mock.faults`.
        time: what the server's clock shows, without its skew.
        more: further platforms.
        settings: those of MockSettings.

    Raises:
        MockError, PostsFileError: as `serve`.
    """
    chosen = MockSettings(**settings)
    with _listen(chosen) as listener:
        mock = _make_mock(posts, chosen, fault, time, more)
        with _run_thread(mock, chosen, listener) as report:
            yield MockThread(_make_url(listener), report)


@contextmanager
def _run_thread(
    mock: "Mock", settings: MockSettings, listener: socket.socket
) -> Iterator[Callable[[], dict[str, Any]]]:
    """Serve in a thread inside the block; the report is available inside and after."""
    loop = asyncio.new_event_loop()
    ready, stop = threading.Event(), asyncio.Event()

    async def main() -> None:
        async with _serve_inside(mock, settings, listener):
            ready.set()
            await stop.wait()

    async def counted() -> dict[str, Any]:
        return mock.report()

    def report() -> dict[str, Any]:
        # The counts belong to the server's thread while it runs.
        if thread.is_alive():
            return asyncio.run_coroutine_threadsafe(counted(), loop).result(PATIENCE)
        return mock.report()

    thread = threading.Thread(target=loop.run_until_complete, args=(main(),), name="mock", daemon=True)
    thread.start()
    try:
        while not ready.wait(0.05):
            if not thread.is_alive():
                raise MockError("The mock's server ended before it answered; look for its error above.")
        yield report
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(PATIENCE)
        loop.close()


def _make_mock(
    posts: Posts | Path | None,
    settings: MockSettings,
    fault: "FaultHook | None" = None,
    time: Callable[[], float] = wall,
    more: Sequence["MockPlatform"] = (),
) -> "Mock":
    from socialcrawl.mock.app import Mock  # noqa: PLC0415  # imported where a server is wanted

    return Mock(_make_world(posts, settings), settings, fault, time, more)


def _make_world(posts: Posts | Path | None, settings: MockSettings) -> "World | None":
    from socialcrawl.mock.export_world import build_rehearsal  # noqa: PLC0415
    from socialcrawl.mock.world import build_world  # noqa: PLC0415

    if settings.export is not None:
        return build_rehearsal(read_export(settings.export))
    if posts is None and settings.pages is not None:
        return None
    if posts is None:
        raise MockError("The mock has nothing to show; give it posts, an export or pages.")
    return build_world(read_posts(posts) if isinstance(posts, Path) else posts, settings.missing)


def _listen(settings: MockSettings) -> socket.socket:
    """Return the listening socket; taken before the posts are read, so that a port in use is told at once."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # asyncio sends without delay (TCP_NODELAY) only where the protocol is named; else each answer costs 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise MockError(
            f"The mock cannot listen on {settings.host} port {settings.port}: {error.strerror or error}. "
            "Give another port, or 0 for a free one."
        ) from error
    return listener


def _make_url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@asynccontextmanager
async def _serve_inside(mock: "Mock", settings: MockSettings, listener: socket.socket) -> AsyncIterator[None]:
    """Run a uvicorn server inside the block, and write the report beside it."""
    import uvicorn  # noqa: PLC0415

    class Server(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield  # signals are the caller's; uvicorn would raise them again before the report is written

    config = uvicorn.Config(
        mock.make_app(),
        interface="asgi3",
        ws="websockets-sansio",
        ws_max_size=MOST_BYTES_OF_FRAME,
        ws_ping_interval=PING,
        ws_per_message_deflate=False,
        proxy_headers=False,
        access_log=False,
        log_level="warning",
        log_config=None,
        lifespan="off",
        date_header=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_WITHIN,
    )
    server = Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    writer = asyncio.create_task(_refresh(mock, settings.report))
    try:
        while not server.started:
            if task.done():
                raise MockError("The mock's server ended before it answered.")
            await asyncio.sleep(0.005)
        yield
    finally:
        mock.end_streams()
        server.should_exit = True
        await task
        writer.cancel()
        with suppress(asyncio.CancelledError):
            await writer
        if settings.report is not None:
            try:
                write_report(mock.report(), settings.report)
            except OSError as error:
                raise MockError(f"The report {settings.report} cannot be written: {error.strerror}.") from error


async def _refresh(mock: "Mock", path: Path | None) -> None:
    while path is not None:
        with suppress(OSError):  # a disk that is full now may have room at the end, when a failure is told
            write_report(mock.report(), path)
        await asyncio.sleep(REFRESH)


def write_report(report: dict[str, Any], path: Path) -> None:
    """Write a report as a JSON file that is always complete: it is written beside its place and moved there."""
    with replace_file(path) as part:
        part.write_text(json.dumps(report, indent=1), encoding="utf-8")
