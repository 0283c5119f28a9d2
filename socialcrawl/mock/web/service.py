"""The web site of the mock: pages at /wiki/KEY, and at other paths what goes wrong with pages.

/private/KEY   forbidden by robots.txt (and there)
/hidden/KEY    wants to be in no index (noindex)
/moved/KEY     moved to /wiki/KEY
/loop/KEY      moved to itself by way of another address
/soft/KEY      gone, and says so with status 200
/gone/KEY      gone, and says so with status 410
/closed/KEY    not for everybody: status 403
/headless/KEY  a page whose server does not know HEAD: status 405
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from email.utils import formatdate
from math import ceil
from pathlib import Path
from typing import Any
from urllib.parse import quote

from socialcrawl.errors import SettingsError
from socialcrawl.graph.link_context import WebPage
from socialcrawl.lab.graphs.column_files import describe_missing_columns, read_csv, read_parquet, read_strings
from socialcrawl.mock.service import Guest, MockRequest, MockResponse, WindowSpec, WindowState
from socialcrawl.mock.web.html import make_path, render_page

COLUMNS = ("key", "text", "links")


def read_pages(path: Path) -> Mapping[str, WebPage]:
    """Return the pages of a file by key, in its order.

    Args:
        path: a Parquet file with the columns key (text), text (text) and links (lists of keys), or a CSV file in which
            links are JSON lists, or keys with blanks between them.

    Raises:
        SettingsError: the file cannot be read or lacks columns, or a key is missing or there twice.
    """
    table = read_csv(path) if path.suffix.lower() == ".csv" else read_parquet(path)
    if not set(COLUMNS) <= set(table.column_names):
        raise describe_missing_columns(path, table, COLUMNS)
    keys, texts = read_strings(table, "key").to_pylist(), read_strings(table, "text").to_pylist()
    return number_pages(zip(keys, texts, map(_parse_keys, table.column("links").to_pylist()), strict=True))


def number_pages(rows: Iterable[tuple[str | None, str | None, Iterable[str]]]) -> Mapping[str, WebPage]:
    """Return the pages by key, from (key, text, keys linked to); a page links to another one once.

    Raises:
        SettingsError: a key is missing or there twice.
    """
    pages: dict[str, WebPage] = {}
    for row, (key, text, links) in enumerate(rows, 1):
        if not key or key in pages:
            wrong = f"the key {key!r} is there twice" if key else "the key is empty"
            raise SettingsError(f"Page {row}: {wrong}; give every page a key of its own.")
        pages[key] = WebPage(text or "", list(dict.fromkeys(link for link in links if link)))
    return pages


def _parse_keys(value: Any) -> list[str]:
    """Return a cell of `links` as keys."""
    if not isinstance(value, str):
        return list(value or ())
    try:
        found = json.loads(value) if value.lstrip().startswith("[") else value.split()
    except ValueError:
        found = value.split()
    return [key for key in found if isinstance(key, str)]


HTML = "text/html; charset=utf-8"
ROBOTS = "User-agent: *\nDisallow: /private/\n"
FIRST = 20  # pages that the page at / links to
PATHS = ("wiki", "private", "hidden", "moved", "loop", "soft", "gone", "closed", "headless")
REFUSED = {"gone": (410, "Gone"), "closed": (403, "Forbidden")}


class Site:
    """Pages as one web site, whatever host is asked for.

    Args:
        pages: by key, see `read_pages`.
        k: requests to one host in `period` seconds that are answered.
        period: seconds.
        robots: the text of robots.txt; None: there is none.
    """

    name = "web"

    def __init__(
        self, pages: Mapping[str, WebPage], k: int = 1_000, period: float = 1.0, robots: str | None = ROBOTS
    ) -> None:
        self.pages, self.k, self.period, self.robots = pages, k, period, robots
        first = WebPage("", list(pages)[:FIRST])
        self._pages = {"": render_page("Index", first)}

    def endpoints(self) -> Sequence[tuple[str, str]]:
        """Return the index, robots.txt, and each kind of page."""
        return [("GET", "/"), ("GET", "/robots.txt"), *(("GET", f"/{name}/*key") for name in PATHS)]

    def guest(self, asked: MockRequest) -> Guest | MockResponse:
        """Return the guest that every client is."""
        return Guest("public", "public")

    def counted(self, asked: MockRequest, guest: Guest) -> Sequence[WindowSpec]:
        """Return one window for each host."""
        return [WindowSpec(("site", asked.host), self.k, self.period, "sliding")]

    def limits(self, asked: MockRequest, standing: Sequence[WindowState]) -> Mapping[str, str]:
        """Return no limits: web servers do not tell them."""
        return {}

    def too_many(self, asked: MockRequest, standing: Sequence[WindowState]) -> MockResponse:
        """Return a page that says when to come again."""
        rest = max((one.ends - asked.now for one in standing if one.left == 0), default=self.period)
        return MockResponse(429, b"<h1>Too many requests</h1>", {"Retry-After": str(max(1, ceil(rest)))}, HTML)

    def answer(self, asked: MockRequest, guest: Guest) -> MockResponse:
        """Return the page at a path."""
        if asked.endpoint == "/robots.txt":
            return (
                _make_absent()
                if self.robots is None
                else MockResponse(200, self.robots.encode(), {}, "text/plain; charset=utf-8")
            )
        kind, key = asked.endpoint.split("/")[1], asked.path.get("key", "")
        if kind in REFUSED or (kind == "headless" and asked.method == "HEAD"):
            return _make_refusal(*REFUSED.get(kind, (405, "Method Not Allowed")))
        if kind == "soft":
            return MockResponse(200, b"<title>Page not found</title><p>Sorry, there is no such page.", {}, HTML)
        if kind in ("moved", "loop"):
            turn = quote(key.removesuffix("*") if key.endswith("*") else f"{key}*", safe="")
            return MockResponse(301, b"", {"Location": make_path(key) if kind == "moved" else f"/loop/{turn}"}, HTML)
        if key not in self.pages and key:
            return _make_absent()
        page = self._page(key, '<meta name="robots" content="noindex">' if kind == "hidden" else "")
        return MockResponse(200, page.encode(), {"Last-Modified": formatdate(0, usegmt=True)}, HTML, posts=1)

    def _page(self, key: str, more: str) -> str:
        if more:
            return render_page(key, self.pages[key], more)
        if key not in self._pages:  # made when it is first asked for: a site may be large
            self._pages[key] = render_page(key, self.pages[key])
        return self._pages[key]


def _make_absent() -> MockResponse:
    return _make_refusal(404, "Not Found")


def _make_refusal(status: int, words: str) -> MockResponse:
    return MockResponse(status, f"<title>{status} {words}</title><h1>{words}</h1>".encode(), {}, HTML)
