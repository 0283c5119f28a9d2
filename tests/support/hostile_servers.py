"""Servers that do their worst: what each says to the first request, and good answers to all that follow.

Run as a program it is the client: it sends one request to each server it is told of, and writes what came of it.

    python hostile_servers.py PLATFORM < [["a row", port, deadline], ...]      # a JSON line for each
"""

import gzip
import json
import socket
import sys
import threading
import time
import zlib
from contextlib import contextmanager, suppress
from pathlib import Path

ANN = "did:plc:aaaaaaaaaaaaaaaaaaaaaaaa"
ROOM = 200_000_000  # bytes that one answer may take, at most
GOOD = {
    "x": ("application/json", b'{"data": [], "meta": {"result_count": 0}}'),
    "bluesky": ("application/json", b'{"feed": []}'),
    "mastodon": ("application/json", b"[]"),
    "web": ("text/html", b"<p>a page"),
    "robots": ("text/plain", b"User-agent: *\n"),
}


def framed(body, *headers, status="200 OK"):
    """The bytes of an answer with its length."""
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def cut_off(_, __):
    """A behaviour: close the connection without a word; the request was heard."""


def saying(make, *headers, status="200 OK"):
    """A behaviour: say this, bytes or what makes them."""

    def behave(connection, _):
        with suppress(OSError):
            connection.sendall(framed(make() if callable(make) else make, *headers, status=status))

    return behave


def typed(make, *headers, status="200 OK"):
    """A behaviour whose body has the type that the platform's good answers have."""

    def behave(connection, platform):
        kind = f"Content-Type: {GOOD[platform][0]}"
        with suppress(OSError):
            connection.sendall(framed(make(platform), kind, *headers, status=status))

    return behave


def endlessly(start, part, pause=0.0):
    """A behaviour: say `start`, and then `part` again and again until the client goes."""

    def behave(connection, _):
        with suppress(OSError):
            connection.sendall(start)
            while True:
                connection.sendall(part)
                if pause:
                    time.sleep(pause)

    return behave


def zeros(megabytes, layers=1):
    """So many million zeros, packed by gzip once or more often."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    million = bytes(1_000_000)
    body = b"".join([*(packer.compress(million) for _ in range(megabytes)), packer.flush()])
    for _ in range(layers - 1):
        body = gzip.compress(body)
    return body


def in_other_codings(name):
    """A body in a coding that was not asked for; what it is by a library where one is installed."""
    with suppress(ImportError):
        if name == "br":
            import brotli

            return brotli.compress(bytes(300_000_000), quality=1)
        if name == "zstd":
            import zstandard

            return zstandard.compress(bytes(300_000_000))
    return b"\x28\xb5\x2f\xfd" + bytes(1000)


def posts(text, **more):
    """An answer with a post of this text, as each platform has it."""

    def make(platform):
        if platform == "x":
            told = {"public_metrics": {"like_count": 0}, "conversation_id": "1", "lang": "en", **more}
            post = {"id": "1", "author_id": "1", "text": text, "created_at": "2026-01-01T00:00:00.000Z", **told}
            return json.dumps({"data": [post], "meta": {}}).encode()
        if platform == "bluesky":
            author = {"did": ANN, "handle": "a.test"}
            record = {"$type": "app.bsky.feed.post", "text": text, "createdAt": "2026-01-01T00:00:00.000Z", **more}
            uri = f"at://{author['did']}/app.bsky.feed.post/3kaaaaaaaaaaa"
            return json.dumps({"feed": [{"post": {"uri": uri, "author": author, "record": record}}]}).encode()
        if platform == "mastodon":
            account = {"id": "1", "acct": "ann", "username": "ann", "url": "https://home.example/@ann"}
            status = {"id": "1", "uri": "https://home.example/1", "content": text, "account": account, **more}
            return json.dumps([{**status, "created_at": "2026-01-01T00:00:00.000Z"}]).encode()
        return text.encode("utf-8", "surrogatepass")

    return make


def plainly(body):
    """The same body for every platform."""
    return lambda _: body


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
UNTOLD = b"HTTP/1.1 200 OK\r\n\r\n"
MUCH = 9_900_000  # bytes: just what an answer may have
ROWS = {
    # compressed
    "a body packed three times": saying(lambda: zeros(300, 3), "Content-Encoding: gzip, gzip, gzip"),
    "a body packed twice, in two headers": saying(
        lambda: zeros(300, 2), "Content-Encoding: gzip", "Content-Encoding: gzip"
    ),
    "a small body that unpacks to 300 MB": saying(lambda: zeros(300), "Content-Encoding: gzip"),
    "brotli that was not asked for": saying(lambda: in_other_codings("br"), "Content-Encoding: br"),
    "zstandard that was not asked for": saying(lambda: in_other_codings("zstd"), "Content-Encoding: zstd"),
    "a coding that nobody knows": saying(b"{}", "Content-Encoding: " + "x" * 5000),
    "gzip that is none": saying(b"{}", "Content-Encoding: gzip"),
    "gzip without an end or a byte in it": endlessly(
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08\0\0\0\0\0\0\3", b"\0\0\0\xff\xff" * 10_000
    ),
    # without an end
    "a body without an end": endlessly(UNTOLD, bytes(1_000_000)),
    "a body of chunks without an end": endlessly(CHUNKED, b"10000\r\n" + b"x" * 65_536 + b"\r\n"),
    "a length beyond all": endlessly(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n", b"x" * 1_000_000),
    "a status line without an end": endlessly(b"HTTP/1.1 200 ", b"x" * 100_000),
    "a header without an end": endlessly(b"HTTP/1.1 200 OK\r\nA: ", b"x" * 100_000),
    "headers without an end": endlessly(b"HTTP/1.1 200 OK\r\n", b"A: b\r\n" * 10_000),
    "many headers": saying(b"{}", *[f"H{n}: v" for n in range(3000)]),
    "interim answers without an end": endlessly(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 4000),
    # drop by drop
    "a body that drips": endlessly(UNTOLD + b"[", b" ", 0.05),
    "chunks that drip": endlessly(CHUNKED, b"1\r\n \r\n", 0.05),
    "headers that drip": endlessly(b"HTTP/1.1 200 OK\r\nA: ", b"x", 0.05),
    "interim answers that drip": endlessly(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.05),
    # how chunks are cut
    "a chunk of negative size": saying(b"", "Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n"),
    "a chunk beyond all": endlessly(CHUNKED + b"fffffffffffffff\r\n", b"x" * 1_000_000),
    "a chunk whose extension has no end": endlessly(CHUNKED + b"1;", b"x" * 100_000),
    "chunks of one byte": endlessly(CHUNKED, b"1\r\nx\r\n" * 10_000),
    "trailers without an end": endlessly(CHUNKED + b"0\r\n", b"A: b\r\n" * 10_000),
    "a length and chunks": saying(b"5\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding: chunked"),
    "two lengths": saying(b"{}", "Content-Length: 9"),
    "another protocol": endlessly(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", b"x" * 100_000),
    # JSON
    "millions of empty objects": typed(plainly(b"[" + b"{}," * (MUCH // 3) + b"{}]")),
    "millions of small objects": typed(plainly(b"[" + b'{"":0},' * (MUCH // 7) + b"{}]")),
    "an error with millions of objects": typed(
        plainly(b'{"errors":[' + b"{}," * (MUCH // 3) + b"{}]}"), status="400 No"
    ),
    "too many requests with millions of objects": typed(plainly(b"[" + b"{}," * (MUCH // 3) + b"{}]"), status="429 No"),
    "brackets nine million deep": typed(plainly(b"[" * MUCH)),
    "brackets a hundred thousand deep": typed(plainly(b"[" * 100_000 + b"]" * 100_000)),
    "a number of a million digits": typed(plainly(b'{"data": ' + b"9" * 1_000_000 + b"}")),
    "a number that is none": typed(plainly(b'{"data": [{"id": NaN, "x": -Infinity}]}')),
    "half a character": typed(lambda p: posts("half \\")(p).replace(b"\\\\", b"\\ud83d")),
    "the character 0": typed(posts("a\0b")),
    "a text of nine million letters": typed(posts("word " * (MUCH // 5))),
    # HTML
    "bold nine million deep": typed(posts("<b>" * (1_900_000 // 3) + "x")),
    "paragraphs in bold links": typed(posts("<a href=x><b><p>" * 30_000)),
    "a tag of 100,000 attributes": typed(posts("<p " + " ".join(f"a{n}=1" for n in range(100_000)) + ">x")),
    "attributes of 200,000 names": typed(posts("".join(f"<p a{n}>" for n in range(200_000)) + "x")),
    "a million tags": typed(posts("<i>x" * 480_000)),
    "a text of nothing but marks": typed(posts("a" + "\u0301" * 400_000 + "\u0316" * 400_000)),
    "a link to a host of marks": typed(posts("<a href='http://a" + "\u0301\u0316" * 50_000 + ".example/'>x</a>")),
    "a hundred thousand links": typed(posts("".join(f"<a href=/{n}>x</a>" for n in range(100_000)))),
}
DRIPPING = [row for row in ROWS if "drip" in row]


def heard(connection):
    """Whether a whole request came."""
    text = b""
    while b"\r\n\r\n" not in text:
        part = connection.recv(65_536)
        if not part:
            return False
        text += part
    return True


@contextmanager
def server(behave, platform):
    """A server whose first answer is `behave`'s; its port. It ends with the block, whatever it is doing."""
    open_now, first = set(), threading.Lock()

    def answer(connection):
        with connection, suppress(OSError):
            while heard(connection):
                if first.acquire(blocking=False):
                    behave(connection, platform)
                    return
                connection.sendall(framed(GOOD[platform][1], f"Content-Type: {GOOD[platform][0]}"))

    def accept():
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                open_now.add(connection)
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            for connection in open_now:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            thread.join(10)


def asking(platform, url, deadline):
    """A wire of a platform to `url`, and the request that is sent by it."""
    from socialcrawl.engine.model import Request
    from socialcrawl.graph.relevance import Topic

    hits, now, waits = Topic(["word"]).hits, time.time, {"timeout": 60.0, "deadline": deadline}
    if platform == "x":
        from socialcrawl.campaign.policies import load_policy
        from socialcrawl.platforms.x.source import TIMELINE
        from socialcrawl.platforms.x.vocabulary import TWEET
        from socialcrawl.platforms.x.wire import XWire, make_client

        made = XWire({"main": make_client("a-bearer-token", url, **waits)}, TWEET, load_policy("x"), hits, now)
        return made, Request((0, 1), TIMELINE, {"id": "1", "max_results": "100", **TWEET.fields}, 100, 54_321)
    if platform == "bluesky":
        from socialcrawl.platforms.bluesky.source import FEED
        from socialcrawl.platforms.bluesky.wire import BlueskyWire

        params = {"id": ANN, "filter": "posts_with_replies", "limit": "100"}
        return BlueskyWire(url, hits, now, **waits), Request((0, 1), FEED, params, 100)
    if platform == "mastodon":
        from socialcrawl.platforms.mastodon.source import STATUSES
        from socialcrawl.platforms.mastodon.wire import MastodonWire

        made = MastodonWire(url, "home.example", {"main": "a-bearer-token"}, hits=hits, now=now, **waits)
        params = {"id": "1", "acct": "ann@home.example", "limit": "40"}
        return made, Request((0, 1), "home.example" + STATUSES, params, 40)
    from socialcrawl.platforms.web.source import PAGE, ROBOTS
    from socialcrawl.platforms.web.wire import WebWire

    place = "http://h.example/robots.txt" if platform == "robots" else "http://h.example/a"
    endpoint = "h.example" + (ROBOTS if platform == "robots" else PAGE)
    return WebWire(url, hits=hits, now=now, **waits), Request((0, 1), endpoint, {"url": place}, 1)


def sent(platform, port, deadline):
    """The replies to the first request and to the next one that is answered well, by one wire."""
    from socialcrawl.engine.model import Grant

    made, request = asking(platform, f"http://127.0.0.1:{port}", deadline)
    try:
        first = made.send(Grant(request, "main", 0.0))
        for _ in range(20):  # a short deadline may end a good answer too, on a busy machine
            after = made.send(Grant(request, "main", 0.0))
            if after.kind == "ok":
                break
    finally:
        made.close()
    return first, after


def replaced(reply, answer):
    """The reply as the store has it: an answer in the place of its rows."""
    from dataclasses import replace

    return replace(reply, rows=answer)


def memory(name):
    """A figure of this process's memory in bytes, as Linux tells it."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name + ":"))


def main(platform):
    """Send one request to each server, within a bounded address space, and write what came of it."""
    import resource

    rows = json.load(sys.stdin)
    sent(platform, rows.pop(0)[1], 60.0)  # all that is loaded once
    start = memory("VmRSS")
    most = memory("VmSize") + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    for row, port, deadline in rows:
        Path("/proc/self/clear_refs").write_text("5", "ascii")  # the peak begins anew
        first, after = sent(platform, port, deadline)
        peak = memory("VmHWM") - start
        told = {"row": row, "kind": first.kind, "why": first.why, "cost": first.cost, "after": after.kind, "peak": peak}
        told["reached"] = first.reached
        sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
