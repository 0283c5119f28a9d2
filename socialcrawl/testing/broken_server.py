"""A server on loopback that answers every request in the same broken way."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class BrokenAnswer(NamedTuple):
    """An answer: status, type, body, and whether its end is missing."""

    status: int = 200
    type: str = "application/json"
    body: bytes = b""
    cut: bool = False


BROKEN_ANSWERS = {
    "an empty answer": BrokenAnswer(),
    "a page of HTML": BrokenAnswer(200, "text/html", b"<!doctype html><title>Sign in</title>"),
    "a failure in HTML": BrokenAnswer(502, "text/html", b"<h1>Bad gateway"),
    "half an answer": BrokenAnswer(200, body=b'{"data": [{"id": "1", "te', cut=True),
    "half a character": BrokenAnswer(200, body=b'["\xe2\x82"]'),
    "the JSON null": BrokenAnswer(200, body=b"null"),
    "a number": BrokenAnswer(200, body=b"17"),
    "a list of numbers": BrokenAnswer(200, body=b"[1, 2]"),
    "a list of empty objects": BrokenAnswer(200, body=b"[{}, {}]"),
    "an empty object": BrokenAnswer(200, body=b"{}"),
    "an object with wrong types": BrokenAnswer(200, body=b'{"data": 3, "posts": "x", "feed": {}, "errors": 1}'),
    "deep brackets": BrokenAnswer(200, body=b"[" * 20_000),
    "nobody": BrokenAnswer(404, body=b'{"error": "Record not found"}'),
    "too many requests": BrokenAnswer(429, body=b"{}"),
    "no permission": BrokenAnswer(403, body=b"{}"),
}
"""Ways in which servers go wrong, by what messages call them."""


@contextmanager
def serve_broken(answer: BrokenAnswer) -> Iterator[str]:
    """Serve one answer to all requests inside the block; yield the address of the server."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.type)
            self.send_header("Content-Length", str(len(answer.body) + (9 if answer.cut else 0)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(answer.body)
            self.close_connection = True

        do_POST = do_HEAD = do_GET  # noqa: N815 - the library's names

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
