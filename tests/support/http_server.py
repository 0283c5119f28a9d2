"""A small HTTP server on loopback, whose handler a test writes."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class QuietHandler(BaseHTTPRequestHandler):
    """A handler that logs nothing, and sends head and body together: apart, the second waits 40 ms."""

    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 20

    def do_GET(self):
        """Call `answer`, which a test writes, whatever the method."""
        self.answer()

    do_HEAD = do_POST = do_GET  # noqa: N815 (the library's names)

    def send(self, status, headers, body):
        """Send an answer with these headers and its length; nothing else is added."""
        self.send_response_only(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        """Log nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_):
        """Ignore clients that leave early."""


@contextmanager
def serving(handler):
    """A server with this handler, in a thread; it has a `url`."""
    server = _Server(("127.0.0.1", 0), handler)
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
