"""Connections over WebSocket, for streams: bounded in size and time. Whatever goes wrong is an error that says so."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from socialcrawl.engine.model import ReplyKind
from socialcrawl.platforms.http_client import name_agent
from socialcrawl.platforms.stream_reader import StreamRefusedError
from socialcrawl.system.loopback import is_loopback

LONGEST = 2**20  # bytes of a message
CLOSING = 1.0  # seconds for a server to agree that the connection is closed
REFUSALS = (401, 403)


def complete_address(address: str, path: str) -> str:
    """Return the address of a WebSocket, of that of its server, which may have the path or be written with http."""
    base = address.rstrip("/").removesuffix(path)
    return (base.replace("http", "ws", 1) if base.startswith("http") else base) + path


@contextmanager
def open_socket(
    address: str, timeout: float, contact: str, headers: Mapping[str, str] | None = None
) -> Iterator[ClientConnection]:
    """Yield a connection, and close it.

    Args:
        address: ws:// or wss://, with the query.
        timeout: seconds to wait for it.
        contact: whom the operator of the server may write to; sent in the User-Agent.
        headers: more of them.

    Raises:
        StreamRefusedError: the server answers, but opens none.
        OSError: there is no such server, or it does not answer.
    """
    proxy: Literal[True] | None = None if is_loopback(address) else True
    try:
        with connect(
            address,
            compression=None,
            max_size=LONGEST,
            open_timeout=timeout,
            close_timeout=CLOSING,
            user_agent_header=name_agent(contact),
            additional_headers=dict(headers or {}),
            proxy=proxy,
        ) as socket:
            yield socket
    except InvalidStatus as error:
        raise _explain_status(error) from error


def receive(socket: ClientConnection, timeout: float) -> bytes | None:
    """Return the next message; None where none came in `timeout` seconds.

    Raises:
        ConnectionError: the connection ended.
    """
    try:
        message = socket.recv(timeout=timeout, decode=False)
    except TimeoutError:
        return None
    except ConnectionClosed as error:
        told = error.rcvd
        why = f"the server closed the stream ({told.code} {told.reason})" if told else "the connection broke"
        raise ConnectionError(why) from error
    assert isinstance(message, bytes)
    return message


def _explain_status(error: InvalidStatus) -> StreamRefusedError:
    answer = error.response
    said = (answer.body or b"")[:300].decode("utf-8", "replace")
    after = answer.headers.get("Retry-After", "")
    kind = ReplyKind.BROKEN
    if answer.status_code == 429:
        kind = ReplyKind.BACKOFF
    elif answer.status_code in REFUSALS:
        kind = ReplyKind.REFUSED
    elif 300 <= answer.status_code < 500:
        kind = ReplyKind.INVALID
    why = f"the server answered HTTP {answer.status_code}: {said or answer.headers.get('Location', '')}"
    return StreamRefusedError(kind, answer.status_code, why, float(after) if after.isdecimal() else None)
