"""What a campaign that refreshes, or samples, asked of one account, for people and for programs."""

import json
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from socialcrawl.cli.render.console import Text
from socialcrawl.crawls.registry import find_kind
from socialcrawl.crawls.trace import AccountTrace
from socialcrawl.storage.queries.traces import AccountVisit
from socialcrawl.text.terminal import write_json

FOUND = {"probe": ("active", "not active"), "walk": ("on topic", "off topic")}


def show(console: Console, told: AccountTrace, *, as_json: bool) -> None:
    """Say when a campaign asked about an account and what it found; one JSON object to stdout on request."""
    if as_json:
        write_json(json.dumps(asdict(told), ensure_ascii=False))
        return
    kind = find_kind(told.kind)
    console.print(Text(f"{told.account} in the campaign {told.campaign}, {kind.does}"))
    if not told.asks:
        console.print(kind.unasked)
        return
    table = Table(box=None, pad_edge=False)
    for name in ("decision", "act", "answered (UTC)", "found", "posts", "matches"):
        table.add_column(name, justify="left" if name in ("act", "answered (UTC)", "found") else "right", no_wrap=True)
    for ask in told.asks:
        at = ask.at[:16].replace("T", " ") if ask.at else "not yet"
        counts = ["-" if count is None else f"{count:,}" for count in (ask.posts, ask.occurrences)]
        table.add_row(f"{ask.n:,}", ask.act, at, _format_found(ask), *counts)
    console.print()
    console.print(table)


def _format_found(ask: AccountVisit) -> str:
    if ask.at is None:
        return ""
    yes, no = FOUND.get(ask.act, ("", ""))
    return ask.missing or (yes if ask.value else no)
