"""Timeline pages a second of the mock with a million posts loaded: a raw socket asks, in a process of its own."""

import re
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import orjson
import pyarrow as pa
from pyarrow import parquet

from benchmarks.figure import Figure, sized
from socialcrawl.mock.child_process import spawn
from socialcrawl.platforms.x.vocabulary import TWEET

TITLE = "The mock: timeline pages of 100 posts, 1,000,000 posts of 10,000 accounts loaded"
AUTHORS, POSTS = sized(10_000, 100), 100
CONNECTIONS = 8
WARM_ROUNDS = sized(3, 1)
_LENGTH = re.compile(rb"content-length: (\d+)")
_WORDS = "the mount of this new tent drifts when it is cold outside and the clouds come in from the west again tomorrow"


def measure() -> list[Figure]:
    """Seconds to start, memory, and pages a second: every page for the first time, and again."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "posts.parquet"
        parquet.write_table(_posts(), path)
        begin = time.perf_counter()
        with spawn(path, "--per-window", "1000000") as mock:
            started = time.perf_counter() - begin
            loaded = _memory(mock.process.pid)
            client = [sys.executable, "-m", "benchmarks.mock", mock.url]
            told = orjson.loads(subprocess.run(client, check=True, capture_output=True).stdout)
            served = _memory(mock.process.pid)
            report = httpx.get(f"{mock.url}/_mock/report", timeout=60).json()
    asked = report["received"]["/2/users/:id/tweets"]
    assert asked == AUTHORS * (1 + WARM_ROUNDS) == sum(one["requests"] for one in report["windows"][1:]), report["over"]
    return [
        Figure("start: the first answer can be asked for", f"{started:.1f} s", "under 15 s"),
        Figure("memory when loaded", f"{loaded:.2f} GB", "under 3 GB"),
        Figure("pages a second, each of the 10,000 again (three rounds)", f"{told['warm']:,.0f}", "at least 2,000"),
        Figure("pages a second, each for the first time", f"{told['cold']:,.0f}"),
        Figure("pages a second, the four rounds together", f"{told['mean']:,.0f}", "at least 2,000"),
        Figure("a page", f"{told['bytes'] / 1e3:.0f} kB, windows, token and headers on"),
        Figure("memory in the end (peak)", f"{served:.2f} GB", "under 3 GB"),
    ]


def _posts() -> pa.Table:
    number = range(AUTHORS * POSTS)
    return pa.table(
        {
            "author": [f"author{n % AUTHORS:05}" for n in number],
            "created_at": [1_700_000_000 + n * 7 for n in number],
            "text": [f"@author{n * 7919 % AUTHORS:05} {n} {_WORDS[n % 17 :]} #sky{n % 9}" for n in number],
        }
    )


def _memory(pid: int) -> float:
    """Return the peak resident memory of a process, GB."""
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    return int(status.split("VmHWM:")[1].split()[0]) / 1e6


def main(url: str) -> None:
    """Run the client: request all pages once, then again; print the result as JSON."""
    ids = []
    with httpx.Client(base_url=url, headers={"Authorization": "Bearer bench"}, timeout=60) as http:
        for first in range(0, AUTHORS, 100):
            names = ",".join(f"author{n:05}" for n in range(first, first + 100))
            ids += [user["id"] for user in http.get("/2/users/by", params={"usernames": names}).json()["data"]]
        query = str(httpx.QueryParams({**TWEET.fields, "max_results": "100"}))
    requests = [_request(number, query) for number in ids]
    cold, size = _rate(url, requests)
    warm, _ = _rate(url, requests * WARM_ROUNDS)
    mean = (1 + WARM_ROUNDS) / (1 / cold + WARM_ROUNDS / warm)
    sys.stdout.write(orjson.dumps({"cold": cold, "warm": warm, "mean": mean, "bytes": size}).decode())


def _request(number: str, query: str) -> bytes:
    lines = (f"GET /2/users/{number}/tweets?{query} HTTP/1.1", "Host: mock", "Authorization: Bearer bench", "", "")
    return "\r\n".join(lines).encode()


def _rate(url: str, requests: list[bytes]) -> tuple[float, float]:
    """Pages a second, and the mean size of a body; one request under way on each connection, bodies read whole."""
    at = urlsplit(url)
    waiting, size, left = deque(requests), 0, len(requests)
    buffer = bytearray(1 << 20)
    with selectors.DefaultSelector() as selector:
        links = [socket.create_connection((at.hostname or "", at.port or 0)) for _ in range(CONNECTIONS)]
        missing = dict.fromkeys(range(CONNECTIONS), 0)
        for number, link in enumerate(links):
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(link, selectors.EVENT_READ, number)
            link.sendall(waiting.popleft())
        begin = time.perf_counter()
        while left:
            for key, _ in selector.select():
                number = key.data
                got = links[number].recv_into(buffer)
                if not missing[number]:
                    missing[number], body = _whole(bytes(buffer[:got]))
                    size += body
                missing[number] -= got
                if not missing[number]:
                    left -= 1
                    if waiting:
                        links[number].sendall(waiting.popleft())
        took = time.perf_counter() - begin
        for link in links:
            link.close()
    return len(requests) / took, size / len(requests)


def _whole(begun: bytes) -> tuple[int, int]:
    """Return the length of an answer that begins so, and that of its body."""
    head, end, _ = begun.partition(b"\r\n\r\n")
    length = _LENGTH.search(head)
    assert head.startswith(b"HTTP/1.1 200"), head
    assert b"x-rate-limit-remaining" in head, head
    assert end, head
    assert length, head
    return len(head) + len(end) + int(length[1]), int(length[1])


if __name__ == "__main__":
    main(sys.argv[1])
