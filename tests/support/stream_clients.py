"""What the tests of the mock's streams share: rows of a file, plain clients, and a way to move the mock's time."""

import json
from contextlib import contextmanager

import httpx
from bluesky_mock import START, Row, town
from websockets.sync.client import connect

from socialcrawl.mock.server import serve_in_thread

PATIENCE = 60.0  # seconds for a message that must come; nobody waits so long unless the test fails
SIGNED_IN = {"Authorization": "Bearer x"}


def rows_of(n=300, marker="the end about rust #rust"):
    """A file: every third post is about rust, some answer, some repeat; its last one ends every reading."""
    rows = []
    for i in range(n):
        author, at = f"author{i % 7}", START + 10 * i
        text = f"note {i} about rust 🌾 #rust" if i % 3 == 0 else f"note {i} about tea"
        answers = f"p{i - 3}" if i % 5 == 3 else None
        rows.append(Row(f"p{i}", author, at, text, (), answers))
        if i % 10 == 6:
            rows.append(Row(f"r{i}", f"fan{i % 4}", at + 1, f"RT @{author}: {text}", (author,)))
    return [*rows, Row("end", "zed", START + 10 * n + 100, marker)]


class Streamed:
    """A mock of rows in a thread, and its time, which stands still until it is moved."""

    def __init__(self, rows, mock):
        self.rows, self.mock = rows, mock
        self.admin = httpx.Client(base_url=mock.url, headers=SIGNED_IN)
        self.url, self.socket_url = mock.url, mock.url.replace("http", "ws")

    def move(self, second):
        """Let the file stand at this second: what was posted until then is there."""
        answer = self.admin.post("/_mock/moment", json={"moment": second})
        assert answer.status_code == 200, answer.text

    def end(self):
        """Let all posts be there, the marker too."""
        self.move(self.rows[-1].at + 1)

    def fail(self, *rules):
        """Replace the scenario by these rules; those that change accounts and posts take effect at once."""
        answer = self.admin.post("/_mock/faults", json={"fault": rules})
        assert answer.status_code == 200, answer.text
        self.sky("com.atproto.identity.resolveHandle", handle="author1.mock.social")
        self.admin.get("/api/v1/instance", headers={"Host": "home.example"})
        self.admin.get("/2/users/by/username/author1")

    def sky(self, method, **query):
        """What a method of Bluesky answers to the public."""
        return httpx.get(f"{self.url}/xrpc/{method}", params=query).json()

    def call(self, name):
        """What the platforms call an account."""
        return self.admin.get("/_mock/accounts", params={"name": name}).json()

    @contextmanager
    def listen(self, path, **options):
        """A WebSocket from which `receive` reads."""
        with connect(self.socket_url + path, compression=None, max_size=None, max_queue=None, **options) as socket:
            yield socket


@contextmanager
def streaming(rows=None, *, begin=None, **settings):
    """A mock of rows; `begin` is the second at which the file stands at first, None: all posts are there."""
    rows = rows_of() if rows is None else rows
    moment = {} if begin is None else {"moment": begin}
    plenty = dict.fromkeys(("limit", "bluesky_limit", "mastodon_limit", "paged_limit"), 10**6)
    with serve_in_thread(town(rows), **{**plenty, **moment, **settings}) as mock:
        streamed = Streamed(rows, mock)
        yield streamed
        streamed.admin.close()


def receive(socket):
    """The next message as JSON."""
    return json.loads(socket.recv(timeout=PATIENCE))


def receive_until(socket, is_last):
    """All messages to the first that is the last, with it."""
    found = []
    while not found or not is_last(found[-1]):
        found.append(receive(socket))
    return found
