"""`socialcrawl plugins`: what other packages add, and whether it can be used."""

import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from socialcrawl.crawls.collect.estimators.registry import ESTIMATORS
from socialcrawl.crawls.collect.strategies import ADDED
from socialcrawl.crawls.facts import KINDS
from socialcrawl.crawls.registry import find_kind
from socialcrawl.crawls.sample.walk_laws import WALKS
from socialcrawl.platforms.facts import PLATFORMS
from socialcrawl.platforms.registry import find_platform
from socialcrawl.render.console import Text
from socialcrawl.system.plugins import InstalledPlugin, PluginGroup
from socialcrawl.text.terminal import write_json

GROUPS: tuple[tuple[PluginGroup, Callable[[str], Any]], ...] = (
    (ESTIMATORS, ESTIMATORS.load),
    (ADDED, ADDED.load),
    (WALKS, WALKS.load),
    (PLATFORMS, find_platform),
    (KINDS, find_kind),
)
"""The groups of plug-ins, with what loads one of them by its name."""


def show_plugins(console: Console, *, as_json: bool) -> int:
    """Show what other packages add, by group: name, object, package, version, and why it cannot be used.

    Return the exit code: 1 if one of them cannot be used. What plug-ins print goes to stderr.
    """
    with redirect_stdout(sys.stderr):
        found = [(group, group.list_installed(load)) for group, load in GROUPS]
    code = int(any(one.problem for _, installed in found for one in installed))
    if as_json:
        rows = [{"group": group.group, **asdict(one)} for group, installed in found for one in installed]
        write_json(json.dumps({"plugins": rows}, indent=2, ensure_ascii=False))
        return code
    if not any(installed for _, installed in found):
        console.print(
            "No plug-ins are installed. Packages add estimators, strategies, walks, platforms and kinds of campaigns."
        )
        return code
    for group, installed in found:
        if installed:
            console.print(_make_table(group, installed))
    for _, installed in found:
        for one in installed:
            if one.problem:
                console.print(Text(f"{one.name}: {one.problem}"), soft_wrap=True)
    return code


def _make_table(group: PluginGroup, installed: list[InstalledPlugin]) -> Table:
    table = Table(title=group.group, title_justify="left", box=None, pad_edge=False)
    for heading in ("name", "object", "package", "state"):
        table.add_column(heading, overflow="fold")
    for one in installed:
        package = f"{one.package} {one.version}".strip() or "unknown"
        table.add_row(*(Text(cell) for cell in (one.name, one.value, package, "error" if one.problem else "ok")))
    return table
