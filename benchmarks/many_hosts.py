"""A web of many hosts as one server on loopback, which tells hosts apart by the Host header and counts requests.

`python -m benchmarks.many_hosts --hosts 500 --latency 0.1` prints its address as a line of JSON; it ends with stdin.
Each page has links to pages of other hosts, all of them a function of its address. The address /count tells how many
requests came, and the most in `window` seconds to one host.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from time import monotonic
from urllib.request import urlopen

LINKS = 8
PAGES = 1_000  # of a host
WORD = "telescope"
FILLER = "Light of far stars falls through the dome, and somebody writes down what it was like tonight. " * 8


def make_page(host: str, path: str, hosts: int) -> str:
    """Return the page at a path of a host, with links to others."""
    drawn = blake2b(f"{host}{path}".encode(), digest_size=LINKS * 5).digest()
    links = []
    for i in range(LINKS):
        number = int.from_bytes(drawn[5 * i : 5 * i + 5])
        links.append(f"http://host{number % hosts}.example/page/{number // hosts % PAGES}")
    listed = "".join(
        f'<li><a href="{to}">a {WORD if i % 3 else "dome"} elsewhere</a></li>' for i, to in enumerate(links)
    )
    text = f"{WORD} " * (drawn[0] % 4) + FILLER
    head = f"<!DOCTYPE html><html><head><title>{host}{path}</title></head>"
    return f"{head}<body><p>{text}</p><ul>{listed}</ul></body></html>"


class ManyHosts:
    """The server.

    Args:
        hosts: how many hosts there are.
        latency: seconds until an answer.
        window: seconds in which requests to one host are counted together.
    """

    def __init__(self, hosts: int, latency: float, window: float) -> None:
        self.hosts, self.latency, self.window = hosts, latency, window
        self.requests = self.most = 0
        self._recent: dict[str, deque[float]] = defaultdict(deque)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode("latin-1").split("\r\n")
                path = first.split(" ")[1]
                host = next((line[5:].strip() for line in lines if line.lower().startswith("host:")), "")
                writer.write(await self._answer(host, path))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, host: str, path: str) -> bytes:
        if path == "/count":
            return _make_answer(
                "200 OK", "application/json", json.dumps({"requests": self.requests, "most": self.most})
            )
        self._count(host)
        await asyncio.sleep(self.latency)
        if path == "/robots.txt":
            return _make_answer("404 Not Found", "text/plain", "")
        return _make_answer("200 OK", "text/html; charset=utf-8", make_page(host, path, self.hosts))

    def _count(self, host: str) -> None:
        now, recent = monotonic(), self._recent[host]
        recent.append(now)
        while recent[0] <= now - self.window:
            recent.popleft()
        self.requests, self.most = self.requests + 1, max(self.most, len(recent))


def _make_answer(status: str, content_type: str, body: str) -> bytes:
    data = body.encode()
    return f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data


@contextmanager
def serve_hosts(hosts: int, latency: float, window: float = 1.0) -> Iterator[str]:
    """Run the server as a process; yield its address."""
    options = ["--hosts", str(hosts), "--latency", str(latency), "--window", str(window)]
    command = [sys.executable, "-m", "benchmarks.many_hosts", *options]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True) as child:  # type: ignore[call-overload]
        try:
            yield json.loads(child.stdout.readline())["url"]
        finally:
            child.stdin.close()


def read_count(url: str) -> dict[str, int]:
    """Return how many requests came, and the most to one host in a window."""
    with urlopen(f"{url}/count", timeout=60) as answer:
        found: dict[str, int] = json.load(answer)
        return found


async def _run(made: ManyHosts) -> None:
    ended = asyncio.Event()

    def look() -> None:
        if not os.read(sys.stdin.fileno(), 1):
            ended.set()

    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), look)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    print(json.dumps({"url": f"http://{host}:{port}"}), flush=True)
    await ended.wait()


def main() -> None:
    """Serve until stdin ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", type=int, default=500)
    parser.add_argument("--latency", type=float, default=0.1)
    parser.add_argument("--window", type=float, default=1.0)
    given = parser.parse_args()
    asyncio.run(_run(ManyHosts(given.hosts, given.latency, given.window)))


if __name__ == "__main__":
    main()
