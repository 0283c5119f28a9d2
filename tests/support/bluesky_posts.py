"""What the tests of the Bluesky source share: posts as Bluesky has them, and a server that says what it is told."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

import orjson

from socialcrawl.platforms.bluesky.source import ACTORS, FEED, FOLLOWS, MEMBERS, PROFILES, RESOLVE, SEARCH
from socialcrawl.ratelimit.policy import Endpoint, Policy, Pool, Rule

ALL = Rule(3000, 300.0)
POOL = (Pool("all", public=(ALL,), user=(ALL,)),)
PAGES = {FEED: 100, SEARCH: 100, PROFILES: 25, ACTORS: 100, FOLLOWS: 100, MEMBERS: 100, RESOLVE: 1}
ENDPOINTS = {name: Endpoint(page=size, pools=POOL) for name, size in PAGES.items()}
POLICY = Policy("bluesky", "https://public.api.bsky.app", "2026-11-21", ENDPOINTS)
AT = "2026-01-31T12:00:00.000Z"


def did(name):
    return "did:plc:" + (name + "a" * 24)[:24]


def uri(name, key="3kfirst"):
    return f"at://{did(name)}/app.bsky.feed.post/{key}"


def profile(name, **more):
    return {"did": did(name), "handle": f"{name}.test", **more}


def facet(text, part, feature):
    """The facet of a part of a text, whose place is counted in bytes of UTF-8."""
    begin = len(text[: text.index(part)].encode())
    index = {"byteStart": begin, "byteEnd": begin + len(part.encode())}
    return {"index": index, "features": [feature]}


def naming(text, part, name):
    return facet(text, part, {"$type": "app.bsky.richtext.facet#mention", "did": did(name)})


def post(name, text="", key="3kfirst", at=AT, *, view=None, counts=None, **record):
    """A postView; `record` is added to its record, `view` to what stands around it."""
    whole = {"$type": "app.bsky.feed.post", "text": text, "createdAt": at, **record}
    more = {**(view or {}), **(counts or {})}
    return {"uri": uri(name, key), "cid": "bafy", "author": profile(name), "record": whole, "indexedAt": at, **more}


def repost(by, at=AT, key="3krepost"):
    """The reason of a repost."""
    reason = {"$type": "app.bsky.feed.defs#reasonRepost", "by": profile(by), "indexedAt": at}
    return {**reason, "uri": f"at://{did(by)}/app.bsky.feed.repost/{key}"} if key else reason


def reply_to(name, key="3kparent", root="root"):
    """The reply of a record."""
    return {"root": {"uri": uri(root), "cid": "b"}, "parent": {"uri": uri(name, key), "cid": "b"}}


def quote(name, key="3kquoted", kind="app.bsky.feed.post"):
    """The embed of a record that quotes."""
    strong = {"uri": f"at://{did(name)}/{kind}/{key}", "cid": "b"}
    return {"$type": "app.bsky.embed.record", "record": strong}


def no_topic(text, lang, created_at, urls=None, named=None):
    return 0


class Sky:
    """A server that notes what it was asked, and answers with `says`: (status, headers, body), or what makes it.

    Use as a context manager.
    """

    def __init__(self, says=(200, {}, {})):
        self.says, self.asked, self.lock = says, [], threading.Lock()
        sky = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                parts = urlsplit(self.path)
                body = self.rfile.read(int(self.headers["Content-Length"] or 0))
                asked = parts.path, parse_qsl(parts.query), dict(self.headers), body
                with sky.lock:
                    sky.asked.append(asked)
                status, headers, content = sky.says(*asked) if callable(sky.says) else sky.says
                content = content if isinstance(content, bytes) else orjson.dumps(content)
                self.send_response_only(status)
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def do_GET(self):
                self.answer()

            def do_POST(self):
                self.answer()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def paths(self):
        return [path.rsplit(".", 1)[1] for path, *_ in self.asked]

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
