"""Time and memory from a database with a million fetched users to the next choice, in a fresh process; on both."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from benchmarks.bulk_rows import open_raw, write_rows
from benchmarks.figure import Figure, sized
from benchmarks.server import a_server, format_address
from socialcrawl.engine.model import format_time
from socialcrawl.graph.graph import COLUMNS
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.connection import connect

TITLE = "Restart: 1,000,000 users, 10,000,000 links, 1,000,000 requests; whole process, SQLite's file cold"
USERS, LINKS, NODES = sized(1_000_000, 1_000), sized(10_000_000, 10_000), sized(3_000_000, 3_000)
SEEDS = 50
TARGETS = {"nh-ne-sum": "under 15 s", "hybrid-sum": "under 15 s", "adaptive": "under 20 s"}
SERVER = "under 25 s"  # from PostgreSQL
PIECE, BEGIN = 20_000, 1_700_000_000.0
REQUEST = (
    "id, n, part, endpoint, params, credential, items, most, sent_at, arrived_at, kind, status, posts, cost, cursor, "
    "headers, answer, digest, new_posts, new_users, post_ids, nodes"
)
SCRIPT = """
import json, sys
from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import make_estimator
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.lab.simulation import measure_peak_memory
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.engine.model import Credential
from socialcrawl.campaign.policies import load_policy
from socialcrawl.storage.database.address import parse_address
from socialcrawl.storage.database.connection import connect
from socialcrawl.storage.sql_store import SqlStore

store = SqlStore(connect(parse_address(sys.argv[1])), 1, "x")
planner = WindowPlanner(load_policy("x"), [Credential("main")], Caps())
planner.fold(store.ledger())
crawl = Collect(Seeds(), make_estimator(sys.argv[2], seed=1), None)
crawl.fold(store.history())
(pick,) = crawl.choose(1, 0.0)
told = {"known": crawl.graph.size, "left": crawl.graph.left, "n": pick.n, "requests": planner.budget.requests}
print(json.dumps({"peak": measure_peak_memory(), **told}))
"""


def measure() -> list[Figure]:
    """Wall seconds of a process that opens the database, folds its history and chooses, and its peak memory."""
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "restart.db"
        links = generate(path)
        for estimator, target in TARGETS.items():
            _cool(path)
            done = _restart(str(path), estimator, estimator, target, figures)
        size = f"{path.stat().st_size / 1e6:.0f} MB"
        with a_server() as server, server("restart") as place:
            generate(place)
            _restart(format_address(place), "adaptive", "PostgreSQL, adaptive", SERVER, figures)
        known = (
            f"{links / 1e6:.1f} M links, {done['known'] / 1e6:.1f} M accounts, {done['left'] / 1e6:.1f} M of them open"
        )
        return [*figures, Figure("read", f"{known}; {size}")]


def _restart(where: str, estimator: str, name: str, target: str, figures: list[Figure]) -> dict[str, Any]:
    """Restart once, add the figures, and return what the process said."""
    begin = time.perf_counter()
    command = [sys.executable, "-c", SCRIPT, where, estimator]
    done: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    seconds = time.perf_counter() - begin
    assert (done["n"], done["requests"]) == (USERS, USERS), done
    figures.append(Figure(f"{name}: ready, the next node chosen", f"{seconds:.1f} s", target))
    figures.append(Figure(f"{name}: peak memory", f"{done['peak'] / 1024:.2f} GB", "under 1.5 GB"))
    return done


def generate(where: DatabaseAddress, users: int = USERS, links: int = LINKS, nodes: int = NODES) -> int:
    """Write a finished campaign to a new database; return its number of links.

    Accounts are asked in the order of their numbers, out-degrees are geometric, in-degrees heavy-tailed (the square of
    a uniform number), one in twenty is missing. Everybody but the seeds is known before being asked.
    """
    connection = connect(where)
    ensure_campaign(connection, {"name": "restart", "seed": 1, "source": {"platform": "x"}}, {}, 0.0)
    rng, written = np.random.default_rng(1), 0
    with open_raw(connection) as raw:
        for first in range(0, users, PIECE):
            n = np.arange(first, min(first + PIECE, users))
            missing = (rng.random(len(n)) < 0.05) & (n >= SEEDS)
            hits = np.where(missing, 0, rng.geometric(0.3, len(n)) - 1)
            _insert(raw, "pick", "n, batch, node, act, score, features", _picks(n, rng))
            _insert(raw, "outcome", "n, node, at, value, occurrences, posts, missing", _outcomes(n, hits, missing))
            _insert(raw, "request", REQUEST, _requests(n))
            rows = _links(n[~missing], rng, links / users / 0.95, nodes)
            _insert(raw, "link", "n, position, node, alpha", rows)
            written += len(rows)
            raw.commit()
    return written


def _insert(raw: Any, table: str, columns: str, rows: Iterable[tuple[object, ...]]) -> None:
    """Store rows of campaign 1."""
    write_rows(raw, table, ("campaign", *columns.split(", ")), ((1, *row) for row in rows))


def _worth(hits: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.where(hits > 0, 1.0 + np.log(np.maximum(hits, 1)), 0.0)


def _picks(n: NDArray[np.int64], rng: np.random.Generator) -> Iterator[tuple[object, ...]]:
    features = np.cumsum(_worth(rng.geometric(0.2, (len(n), len(COLUMNS)))), axis=1)
    features[:, :2] = rng.geometric(0.4, (len(n), 2))
    for number, x in zip(n.tolist(), features.tolist(), strict=True):
        seed = number < SEEDS
        text = None if seed else orjson.dumps(dict(zip(COLUMNS, x, strict=True))).decode()
        yield number, number, number, "seed" if seed else "expand", 0.0 if seed else x[-2], text


def _requests(n: NDArray[np.int64]) -> Iterator[tuple[object, ...]]:
    """Yield a timeline each, 10,000 in a window of 15 minutes, as X allows an app; ten posts on a page."""
    for number in n.tolist():
        at = format_time(BEGIN + number * 900.0 / 10_000)
        ids = orjson.dumps([str(10**18 + 10 * number + i) for i in range(10)]).decode()
        headers = f"[{BEGIN},[[{10_000 - number % 10_000},10000,{BEGIN + 900.0},false]]]"
        yield (
            number + 1, number, 1, "/2/users/:id/tweets", f'{{"id":"{number}","max_results":"100"}}', "main", 100,
            50_000, at, at, "ok", 200, 10, 5_000, None, headers, None, f"{number:032x}", 10, 0, ids,
            orjson.dumps([[0, number, 1, number + 1], [], []]).decode(),
        )  # fmt: skip


def _outcomes(
    n: NDArray[np.int64], hits: NDArray[np.int64], missing: NDArray[np.bool_]
) -> Iterator[tuple[object, ...]]:
    values = zip(n.tolist(), hits.tolist(), _worth(hits).tolist(), missing.tolist(), strict=True)
    for number, found, value, gone in values:
        posts = 0 if gone else 200
        yield number, number, "2026-01-31T12:00:00.123456Z", value, found, posts, "suspended" if gone else None


def _links(n: NDArray[np.int64], rng: np.random.Generator, mean: float, nodes: int) -> list[tuple[object, ...]]:
    """Links of the users `n`: one to the user after next, that all are known in time, the others drawn."""
    source = np.repeat(n, rng.geometric(1.0 / mean, len(n)))
    target = (nodes * rng.random(len(source)) ** 2).astype(np.int64)
    target[np.flatnonzero(np.append(True, source[1:] != source[:-1]))] = n + SEEDS
    key = np.unique(source * nodes + target, return_index=True)[1]
    key.sort()
    source, target = source[key], target[key]
    position = np.arange(len(source)) - np.searchsorted(source, source)
    alpha = _worth(rng.geometric(0.5, len(source)) - 1)
    return list(zip(source.tolist(), position.tolist(), target.tolist(), alpha.tolist(), strict=True))


def _cool(path: Path) -> None:
    """Have the system forget what it keeps of the file in memory, as far as it listens."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
