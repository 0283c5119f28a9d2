"""What the tests of the mock's Bluesky share: a town as rows, a way to ask the service, a server for real clients."""

from contextlib import contextmanager
from typing import NamedTuple

import orjson
from test_mock_world import posts_of

from socialcrawl.mock.app import Mock
from socialcrawl.mock.bluesky.service import BlueskyService
from socialcrawl.mock.gated_service import ServicePlatform
from socialcrawl.mock.server import _listen, _make_url, _run_thread
from socialcrawl.mock.server_settings import MockSettings
from socialcrawl.mock.service import MockRequest, MockResponse
from socialcrawl.mock.world import build_world
from socialcrawl.mock.world_changes import WorldChanges

START = 1_700_000_000  # 2023-11-14T22:13:20Z
NOW = 1_800_000_000.0
DOMAIN = "mock.social"


class Row(NamedTuple):
    """A post as the file has it; `answers` is an id or a name."""

    id: str
    author: str
    at: int
    text: str
    names: tuple[str, ...] = ()
    answers: str | None = None


ROWS = [
    *(Row(f"n{i}", "Ann", START + 60 * i, f"note {i} about rust 🌾 #Rust") for i in range(57)),
    Row("b0", "bob", START + 14_400, "🐈 hey @ann and @nobody: https://example.org/a_b?c=1.", ("ann", "nobody"), "n3"),
    Row("b1", "bob", START + 14_401, "RT @Ann: note 3 about rust 🌾 #Rust", ("ann",)),
    Row("l0", "the.long-named_one_of_all", START + 18_000, "bob: quite so", ("bob",), "bob"),
    Row("c0", "cy", START + 21_600, "é" * 150 + " @bob " + "y " * 100 + "@ann #late", ("bob", "ann")),
    Row("a57", "ANN", START + 21_600, "I agree", (), "b0"),
    Row("c1", "cy", START + 21_609, "RT @gone: never seen by @bob", ("gone", "bob")),
    Row("c2", "cy", START + 21_700, "RT @Ann: note 4 about…", ("ann",)),
    Row("c3", "cy", START + 21_701, "RT @Ann: whom it does not name", ()),
    Row("c4", "cy", START + 21_702, "to myself", (), "c0"),
    Row("b2", "bob", START + 25_200, "the last word, cats and dogs", ("dave",)),
]
BY_ID = {row.id: row for row in ROWS}


def town(rows=ROWS):
    """The rows as a file of posts."""
    return posts_of(
        [(row.author, row.at, row.text, row.names) for row in rows],
        ids=[row.id for row in rows],
        reply_to=[row.answers for row in rows],
    )


class Sky:
    """A Bluesky of one world, asked without a server."""

    def __init__(self, posts=None, *, missing=0.0, **options):
        self.world = build_world(town() if posts is None else posts, missing)
        self.changes = WorldChanges(self.world)
        self.service = BlueskyService(self.world, changes=self.changes, **options)
        self.names = self.service.names

    def row(self, name):
        return self.world.accounts.keys.index(name.lower())

    def handle(self, name):
        return self.names.handle(self.row(name))

    def did(self, name):
        return self.names.did(self.row(name))

    def asked(self, method, query=(), *, token=None, now=NOW, body=None, overlap=0, host="bsky.social"):
        served = {template: how for how, template in self.service.endpoints()}
        endpoint = f"/xrpc/{method}" if f"/xrpc/{method}" in served else "/xrpc/*rest"
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        content = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
        return MockRequest(
            served[endpoint], endpoint, {}, [(k, str(v)) for k, v in query], headers, now, host, content, overlap
        )

    def told(self, method, query=(), **how) -> MockResponse:
        self.changes.tick(how.get("now", NOW))
        asked = self.asked(method, query, **how)
        guest = self.service.guest(asked)
        return guest if isinstance(guest, MockResponse) else self.service.answer(asked, guest)

    def ask(self, method, *pairs, token=None, now=NOW, body=None, overlap=0, status=200, **query):
        """The JSON of an answer with this status."""
        told = self.told(method, [*pairs, *query.items()], token=token, now=now, body=body, overlap=overlap)
        assert told.status == status, told.body
        return orjson.loads(told.body)

    def error(self, method, *pairs, status=400, **how):
        """The name and the sentence of a refusal."""
        found = self.ask(method, *pairs, status=status, **how)
        return found["error"], found["message"]

    def feed(self, actor, **query):
        """All items of an author's feed, page by page, and the number of pages."""
        items, pages, cursor = [], 0, None
        while pages == 0 or cursor:
            page = self.ask(
                "app.bsky.feed.getAuthorFeed", actor=actor, **query, **({"cursor": cursor} if cursor else {})
            )
            items += page["feed"]
            cursor, pages = page.get("cursor"), pages + 1
        return items, pages


@contextmanager
def serving(sky, **settings):
    """The address of a server that serves a `Sky` as one platform of the mock."""
    chosen = MockSettings(**settings)
    mock = Mock(None, chosen, more=[ServicePlatform(sky.service, sky.changes)])
    with _listen(chosen) as listener, _run_thread(mock, chosen, listener):
        yield _make_url(listener)
