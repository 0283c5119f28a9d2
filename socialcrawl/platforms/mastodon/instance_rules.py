"""What an instance says of itself to people: its rules, and the addresses of its terms. Neither is part of a crawl."""

from typing import Any

from socialcrawl.engine.model import Reply
from socialcrawl.platforms.http_client import HttpClient
from socialcrawl.platforms.json_reader import decode_json
from socialcrawl.platforms.server_info import InstanceRules

RULES, INSTANCE = "/api/v1/instance/rules", "/api/v2/instance"
PAGES = {"terms_of_service": "terms", "privacy_policy": "privacy", "about": "about"}
MOST_RULES, LONGEST = 50, 300  # characters of a rule or an address
BYTES = 1_000_000


def read_about(http: HttpClient, base: str) -> InstanceRules:
    """Return what the instance at `base` says of itself; two requests. What it sends may be anything."""
    rules, instance = _fetch_json(http, base + RULES), _fetch_json(http, base + INSTANCE)
    texts = [_shorten(one.get("text")) for one in rules if isinstance(one, dict)] if isinstance(rules, list) else None
    urls = instance
    for name in ("configuration", "urls"):
        urls = urls.get(name) if isinstance(urls, dict) else None
    named = {title: _shorten(urls.get(name)) for name, title in PAGES.items()} if isinstance(urls, dict) else {}
    addresses = {title: url for title, url in named.items() if url.startswith(("https://", "http://"))}
    return InstanceRules(None if texts is None else [one for one in texts if one][:MOST_RULES], addresses)


def _fetch_json(http: HttpClient, url: str) -> Any:
    came = http.fetch("GET", url, max_bytes=BYTES)
    return None if isinstance(came, Reply) or came.status != 200 else decode_json(came.body)


def _shorten(text: Any) -> str:
    """Return the text on one line, cut where it is long; "" where it is none."""
    line = " ".join(text.split()) if isinstance(text, str) else ""
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."
