"""Time and bytes of the pictures of a long campaign: the map of its network, and what it would read next."""

import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

import socialcrawl as sc
from benchmarks.figure import Figure, sized
from benchmarks.restart import generate
from socialcrawl.campaign.settings import check_settings
from socialcrawl.render.network_layout import compute_large_layout
from socialcrawl.web.campaign_readings import read_map, read_next
from socialcrawl.web.picture_api import MOST_NODES

TITLE = "Pictures of a campaign of 200,000 accounts and 2,000,000 links: a map of 5,000 accounts, and what comes next"
USERS, LINKS, NODES = sized(200_000, 1_000), sized(2_000_000, 10_000), sized(600_000, 3_000)
NEXT = 20


def measure() -> list[Figure]:
    """Wall seconds to lay out a map, to answer the requests of the pages, and the bytes of the answers."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "network.db"
        make_database(path, USERS, LINKS, NODES)
        project = sc.open_project(path)
        (status,) = project.list_campaigns()
        with sc.open(path) as data:
            drawn, seconds = _time(lambda: read_map(data, status, MOST_NODES))
            frontier, waited = _time(lambda: read_next(data, status, NEXT))
    source, target = np.array(drawn.edges, np.int64).T
    _, layout = _time(lambda: compute_large_layout(len(drawn.nodes), source, target))
    about = f"{len(drawn.nodes):,} accounts and {len(drawn.edges):,} mentions"
    return [
        Figure(f"layout of {about}", f"{layout:.1f} s", "under 5 s"),
        Figure("the map from the database, with its layout", f"{seconds:.1f} s"),
        Figure("its answer of the HTTP API", f"{len(drawn.model_dump_json()) / 1e6:.2f} MB", "under 3 MB"),
        Figure(f"what comes next: {NEXT} of {frontier.left:,} accounts, with reasons", f"{waited:.1f} s"),
    ]


def make_database(path: Path, users: int, links: int, nodes: int) -> None:
    """Write a finished campaign to a new database at `path`, whose accounts have names and settings can be read."""
    generate(path, users, links, nodes)
    given = {"name": "restart", "topic": {"keywords": ["telescope"]}}
    settings = check_settings(given, "bench").model_dump_json(by_alias=True)
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("update campaign set settings = ?, identity = ?", (settings, '{"seeds": {"usernames": []}}'))
        raw.execute("delete from version")
        raw.execute(
            "insert into account (node, platform, platform_id, username, handle, first_seen_at) "
            "select node, 'x', 1000000 + node, 'user' || node, 'user' || node, '2026-01-01T00:00:00.000000Z' "
            "from (select node from pick union select node from link)"
        )


def _time(make: Callable[[], Any]) -> tuple[Any, float]:
    begin = time.perf_counter()
    return make(), time.perf_counter() - begin
