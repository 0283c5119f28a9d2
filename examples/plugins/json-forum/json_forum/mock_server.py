"""A forum on this machine for tests: the members and posts that a test names, in pages."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

PAGE = 20  # posts


class MockForum:
    """A running forum.

    Attributes:
        url: its address.
        requests: the paths that were requested, in order.
        refuse: how many of the next requests are answered with 429.
    """

    def __init__(self, posts: Mapping[str, Sequence[str]]) -> None:
        self.posts, self.url, self.requests, self.refuse = posts, "", list[str](), 0

    def answer(self, path: str) -> tuple[int, object]:
        """Return the status and the JSON that a request gets."""
        self.requests.append(path)
        if self.refuse:
            self.refuse -= 1
            return 429, {"error": "too many requests"}
        parts = urlsplit(path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path == "/search":
            word = asked["q"].lower()
            found = [post for name in self.posts for post in self._list_posts(name) if word in post["text"].lower()]
        else:
            name = unquote(parts.path.removeprefix("/members/"))
            if name not in self.posts:
                return 404, {"error": "no such member"}
            found = self._list_posts(name)
        page = int(asked.get("page", "1"))
        shown = found[(page - 1) * PAGE : page * PAGE]
        return 200, {"posts": shown, "next": page + 1 if len(found) > page * PAGE else None}

    def _list_posts(self, name: str) -> list[dict[str, str]]:
        return [
            {
                "id": f"{name}-{place}",
                "by": name,
                "text": text,
                "at": f"2026-11-01T00:{place // 60:02}:{place % 60:02}Z",
            }
            for place, text in enumerate(self.posts[name])
        ]


@contextmanager
def serve_forum(posts: Mapping[str, Sequence[str]]) -> Iterator[MockForum]:
    """Serve a forum on a free port inside the block: `posts` are the texts of each member."""
    forum = MockForum(posts)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, told = forum.answer(self.path)
            body = json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            if status == 429:
                self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    forum.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield forum
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
