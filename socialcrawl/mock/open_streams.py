"""Streams: answers that go on, over a WebSocket or HTTP, until the client leaves or the server ends them.

Every stream is read by its own task as fast as its client takes it: what is sent waits until the connection has room,
so nothing is held for who is slow. Faults strike single messages.
"""

import asyncio
from contextlib import suppress
from typing import Any

from socialcrawl.mock.gated_service import MockPlatform
from socialcrawl.mock.scenario import ScenarioRule
from socialcrawl.mock.scenario_state import ScenarioState
from socialcrawl.mock.service import NO_EVENT, Message, MockStream, StreamEndedError, StreamResponse

MOST_STREAMS = 1_000  # at the same time
BATCH = 256  # messages that are read at once
POLL = 0.02  # seconds between two looks for news
_GOING_AWAY = 1001
_GONE_WITHIN = 1.0  # seconds


def cut_connection(send: Any) -> None:
    """Close the connection of an ASGI channel at once.

    ASGI has no message for that, so the transport is taken from uvicorn's own request cycle.
    """
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    if transport is not None:
        transport.close()


class StreamWire:
    """The connection of a stream.

    Args:
        scope, receive, send: as ASGI has them.
        response: the beginning of the stream.
    """

    def __init__(self, scope: Any, receive: Any, send: Any, response: StreamResponse) -> None:
        self._receive, self._send, self._response = receive, send, response
        self._is_socket = scope["type"] == "websocket"

    async def open(self) -> None:
        """Tell the client that the stream begins."""
        response = self._response
        if self._is_socket:
            await self._receive()  # what ASGI begins with: websocket.connect
            await self._send({"type": "websocket.accept", "subprotocol": response.subprotocol})
            return
        headers = {"content-type": response.content_type, **response.headers}
        pairs = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": response.status, "headers": pairs})
        await self._send({"type": "http.response.body", "body": b"", "more_body": True})

    async def write(self, body: str | bytes) -> None:
        """Send a message, as soon as the connection has room for it."""
        if self._is_socket:
            await self._send({"type": "websocket.send", "text": body})
            return
        content = body if isinstance(body, bytes) else body.encode()
        await self._send({"type": "http.response.body", "body": content, "more_body": True})

    async def read(self) -> str | None:
        """Return the next frame of the client; None once it has left."""
        message = await self._receive()
        while message["type"] == "http.request":  # the end of the request
            message = await self._receive()
        if message["type"] != "websocket.receive":
            return None
        text: str | None = message.get("text")
        return bytes(message["bytes"]).decode("utf-8", "replace") if text is None else text

    async def close(self, code: int, reason: str) -> None:
        """End the stream in good order."""
        if self._is_socket:
            await self._send({"type": "websocket.close", "code": code, "reason": reason})
        else:
            await self._send({"type": "http.response.body", "body": b""})

    def cut(self) -> None:
        """Close the connection, as `cut_connection` does."""
        cut_connection(self._send)

    def fall_silent(self) -> None:
        """Stop the pings that uvicorn sends."""
        if self._is_socket and (stop := getattr(getattr(self._send, "__self__", None), "stop_keepalive", None)):
            stop()


class OpenStreams:
    """All streams that are open.

    Args:
        stage: the scenario, and the time.
    """

    def __init__(self, stage: ScenarioState) -> None:
        self._stage = stage
        self._open: set[StreamTask] = set()

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another one."""
        return len(self._open) >= MOST_STREAMS

    async def run(self, platform: MockPlatform, endpoint: str, stream: MockStream, wire: StreamWire) -> None:
        """Send a stream until it ends."""
        task = StreamTask(self._stage, platform, endpoint, stream, wire)
        self._open.add(task)
        try:
            await task.run()
        finally:
            self._open.discard(task)
            stream.close()

    def end(self) -> None:
        """End all of them: the server stops."""
        for task in self._open:
            task.end(StreamEndedError(_GOING_AWAY, "server shutting down"))


class StreamTask:
    """One stream that is being sent."""

    def __init__(
        self, stage: ScenarioState, platform: MockPlatform, endpoint: str, stream: MockStream, wire: StreamWire
    ) -> None:
        self._stage, self._platform, self._endpoint = stage, platform, endpoint
        self._stream, self._wire = stream, wire
        self._is_over = asyncio.Event()
        self._ending: StreamEndedError | None = None
        self._held: Message | None = None  # comes after the next one
        self._sent_at = 0.0

    def end(self, ending: StreamEndedError | None) -> None:
        """End the stream; None: the client has left."""
        if not self._is_over.is_set():
            self._ending = ending
            self._is_over.set()

    async def run(self) -> None:
        """Send what there is until the end."""
        await self._wire.open()
        self._sent_at = asyncio.get_running_loop().time()
        listener = asyncio.create_task(self._listen())
        try:
            await self._send_all()
        except StreamEndedError as ending:
            self.end(ending)
        finally:
            listener.cancel()
            with suppress(asyncio.CancelledError):
                await listener
        if self._ending is not None:
            for last in self._ending.last:
                await self._wire.write(last)
            await self._wire.close(self._ending.code, self._ending.reason)

    async def _listen(self) -> None:
        try:
            while (text := await self._wire.read()) is not None:
                self._stream.receive(text)
        except StreamEndedError as ending:
            self.end(ending)
        else:
            self.end(None)

    async def _send_all(self) -> None:
        loop, stream = asyncio.get_running_loop(), self._stream
        while not self._is_over.is_set():
            self._stage.pass_time()
            messages = stream.pull(BATCH)
            for message in messages or ():
                await self._strike(message)
                if self._is_over.is_set():
                    return
            if messages is not None:
                await asyncio.sleep(0)  # the others' turn, also where the connection always has room
                continue
            await self._release()
            if loop.time() - self._sent_at >= stream.keepalive:
                await self._write((stream.heartbeat, NO_EVENT))
            await self._wait(POLL)

    async def _strike(self, message: Message) -> None:
        """Send a message, or what a fault makes of it."""
        if message[1] == NO_EVENT:
            await self._write(message)
            return
        trouble = self._stage.strike_message(self._platform.name, self._endpoint)
        kind = None if trouble is None else trouble.kind
        if kind == "swap" and self._held is None:
            self._held = message
            return
        if kind == "drop":
            self._wire.cut()
            await self._wait(_GONE_WITHIN)  # returning before the connection is gone would let uvicorn log an error
            self.end(None)
            return
        if trouble is not None and kind == "disconnect":
            raise self._stream.make_ending(trouble.table.get("reason"))
        if trouble is not None and kind in ("stall", "silence"):
            await self._pause(trouble)
        if kind != "hole":
            await self._write(message)
        if kind == "duplicate":
            await self._write(message)
        await self._release()

    async def _pause(self, trouble: ScenarioRule) -> None:
        """Send no messages for a while; and, where the stream stalls, no heartbeats either."""
        loop, stream = asyncio.get_running_loop(), self._stream
        until = loop.time() + trouble.table.get("seconds", float("inf"))
        if trouble.kind == "stall":
            self._wire.fall_silent()
        while not self._is_over.is_set() and (rest := until - loop.time()) > 0:
            if trouble.kind == "silence" and loop.time() - self._sent_at >= stream.keepalive:
                await self._write((stream.heartbeat, NO_EVENT))
            await self._wait(min(rest, max(POLL, min(stream.keepalive, 1.0) / 4)))

    async def _release(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            await self._write(held)

    async def _write(self, message: Message) -> None:
        if self._is_over.is_set():
            return
        body, post = message
        await self._wire.write(body)
        self._sent_at = asyncio.get_running_loop().time()
        if post >= 0:
            self._stream.note_sent(post, self._stage.clock())
            self._platform.book.streamed[self._endpoint] += 1

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._is_over.wait()
