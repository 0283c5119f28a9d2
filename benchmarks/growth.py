"""A database that grows: storing, questions and reports at 20,000,000 posts, and the restart from PostgreSQL.

The first and the last twentieth are stored as a crawl stores them, what lies between by the fastest way of the driver.
POSTS (`make bench ONLY=growth POSTS=1000000`) is another number of posts.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from benchmarks.bulk_rows import open_raw, write_rows
from benchmarks.figure import Figure, sized
from benchmarks.server import a_server, format_address
from socialcrawl.engine.model import (
    Act,
    Answer,
    Grant,
    Mention,
    Node,
    Outcome,
    Page,
    Pick,
    PostRow,
    Reply,
    ReplyKind,
    Request,
    Who,
    format_time,
)
from socialcrawl.graph.graph import COLUMNS
from socialcrawl.graph.relevance import compute_worth
from socialcrawl.storage.answer_packing import pack_nodes
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.connection import connect, read_unlocked
from socialcrawl.storage.nodes import Nodes
from socialcrawl.storage.schema.questions import QUESTIONS
from socialcrawl.storage.sql_store import SqlStore

POSTS = sized(int(os.environ.get("BENCH_POSTS") or 20_000_000), 4_000)
EDGE = POSTS // 20  # posts that are stored as a crawl does, at either end
PAGE = 100
CHUNK = 50  # pages that are written together in between
BEGIN, STEP = 1_700_000_000.0, 3.0
SETTINGS = {
    "name": "growth", "seed": 1, "kind": "collect", "source": {"platform": "x"},
    "topic": {"keywords": ["drifts"], "patterns": []}, "seeds": {"usernames": []}, "crawl": {"estimator": "nh-ne-sum"},
}  # fmt: skip
TITLE = f"A database that grows to {POSTS:,} posts: storing, questions and the report"
TEXT = "the mount of this new tent drifts when it is cold outside and the clouds come in from the west, try again"
ENDPOINT, HEADERS = "/2/users/:id/tweets", "[1700000000.0,[[9000,10000,1700000900.0,false]]]"
FEATURES = (1.0,) * len(COLUMNS)
PACKED = orjson.dumps(dict(zip(COLUMNS, FEATURES, strict=True))).decode()
TABLES = {
    "account": ("node", "platform", "platform_id", "username", "handle", "first_seen_at"),
    "post": ("id", "author", *PostRow._fields[2:], "metrics_at", "fetched_at"),
    "mention": ("post", "node", "kind"),
    "hit": ("campaign", "post", "occurrences"),
    "pick": ("campaign", "n", "batch", "node", "act", "score", "features"),
    "outcome": ("campaign", "n", "node", "at", "value", "occurrences", "posts"),
    "link": ("campaign", "n", "position", "node", "alpha"),
    "request": (
        "id", "campaign", "n", "part", "endpoint", "params", "credential", "items", "most", "sent_at", "arrived_at",
        "kind", "status", "posts", "cost", "headers", "digest", "new_posts", "new_users", "post_ids", "nodes",
    ),
}  # fmt: skip
Rows = dict[str, list[tuple[Any, ...]]]


def measure() -> list[Figure]:
    """Wall time; questions and reports once, from a database that was just written."""
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_FOLDER")) as folder, a_server() as server:
        figures += _measure("sqlite", Path(folder) / "growth.db")
        with server("growth") as place:
            figures += _measure("postgresql", place)
    return figures


def _measure(name: str, where: DatabaseAddress) -> Iterator[Figure]:
    pages, edge = POSTS // PAGE, EDGE // PAGE
    first = _store(where, range(edge))
    _fill(where, range(edge, pages - edge))
    last = _store(where, range(pages - edge, pages))
    yield Figure(f"{name}: posts a second, the first {EDGE:,}", f"{EDGE / first:,.0f}")
    yield Figure(f"{name}: posts a second, the last {EDGE:,}", f"{EDGE / last:,.0f}")
    yield Figure(f"{name}: slower by", f"{1 - first / last:.0%}", "at most 20 %")
    for question, seconds in ask_questions(where):
        yield Figure(f"{name}: {question}", f"{seconds:.1f} s", "under 2 s")


def make_page(n: int) -> Page:
    """Return the page of account `n`: a hundred posts of about a year, each with a mention of an earlier account."""
    draw = random.Random(n)
    rows, mentions = [], []
    for i in range(PAGE):
        key = str(1_600_000_000_000_000_000 + draw.randrange(10**17))
        other = int((n + 1) * draw.random() ** 3)
        at = format_time(BEGIN - 31_536_000 * draw.random())
        rows.append(
            PostRow(key, str(10**9 + n), at, f"@person{other} {TEXT} {i}", "en", key, None, None, None, '["sky"]',
                    '["https://example.org/a"]', 3, 1, 0, 0, 2, 140, None)
        )  # fmt: skip
        mentions.append(Mention(i, Who(str(10**9 + other), f"person{other}"), "mention"))
    return Page(rows, [int(i % 5 == 0) for i in range(PAGE)], mentions)


def _store(where: DatabaseAddress, numbers: range) -> float:
    """Store pages as a crawl does, a request at a time; return the seconds in the store."""
    connection = connect(where)
    store = SqlStore(connection, ensure_campaign(connection, SETTINGS, {}, BEGIN), "x")
    known, took = Nodes(connection, "x"), 0.0
    for n in numbers:
        page, at, who = make_page(n), BEGIN + STEP * n, _name(n)
        begin = time.perf_counter()
        with connection.begin():
            node = known.number([who], format_time(at))[who]
        pick = Pick(n, Node(node), Act.EXPAND, 1.0, FEATURES)
        store.open((pick,))
        grant = Grant(Request((n, 1), ENDPOINT, {"id": str(who.id)}, 100, 50_000), "main", at)
        store.reserve(grant)
        kept = store.save(grant, Reply(ReplyKind.OK, at + 0.5, page, cost=50_000, status=200, date=at)).answer
        store.finish((pick,), [_make_outcome(n, node, page.hits, kept.targets, kept.target_hits)])
        took += time.perf_counter() - begin
    store.close()
    return took


def _name(n: int) -> Who:
    return Who(str(10**9 + n), f"person{n}")


def _make_outcome(n: int, node: int, hits: Sequence[int], targets: Sequence[int], counts: Sequence[int]) -> Outcome:
    alpha = np.array([compute_worth(count) for count in counts])
    return Outcome(
        n, Node(node), BEGIN + STEP * n + 0.5, compute_worth(sum(hits)), np.array(targets, dtype=np.int64), alpha,
        posts=PAGE, occurrences=sum(hits),
    )  # fmt: skip


def _fill(where: DatabaseAddress, numbers: range) -> None:
    """Write pages by the driver's fastest way: the rows that a crawl would have stored."""
    connection = connect(where)
    with connection.begin():
        rows = connection.exec_driver_sql("select platform_id, node from account").all()
    nodes = {str(key): int(node) for key, node in rows}
    with open_raw(connection) as raw:
        for first in range(numbers.start, numbers.stop, CHUNK):
            rows_of: Rows = {name: [] for name in TABLES}
            for n in range(first, min(first + CHUNK, numbers.stop)):
                _add_rows(rows_of, n, nodes)
            for name, columns in TABLES.items():
                write_rows(raw, name, columns, rows_of[name])
            raw.commit()


def _add_rows(rows_of: Rows, n: int, nodes: dict[str, int]) -> None:
    """Add the rows of page `n` as `_store` would write them; `nodes` are the known accounts by id."""
    page, at = make_page(n), format_time(BEGIN + STEP * n)
    for who in dict.fromkeys([_name(n), *(mention.who for mention in page.mentions)]):
        if str(who.id) not in nodes:
            nodes[str(who.id)] = len(nodes)
            rows_of["account"].append((nodes[str(who.id)], "x", who.id, who.username, who.username, at))
    node = nodes[str(10**9 + n)]
    named = [nodes[str(mention.who.id)] for mention in page.mentions]
    ids = [row.id for row in page.posts]
    rows_of["post"] += [(row.id, node, *row[2:], at, at) for row in page.posts]
    rows_of["mention"] += [(key, other, "mention") for key, other in zip(ids, named, strict=True)]
    rows_of["hit"] += [(1, key, hits) for key, hits in zip(ids, page.hits, strict=True) if hits]
    counts: dict[int, int] = {}
    for other, hits in zip(named, page.hits, strict=True):
        if other != node:
            counts[other] = counts.get(other, 0) + hits
    found = _make_outcome(n, node, page.hits, [*counts], [*counts.values()])
    rows_of["pick"].append((1, n, n, node, "expand", 1.0, PACKED))
    rows_of["outcome"].append((1, n, node, at, found.value, found.occurrences, PAGE))
    links = zip(found.targets.tolist(), found.alpha.tolist(), strict=True)
    rows_of["link"] += [(1, n, place, other, alpha) for place, (other, alpha) in enumerate(links)]
    digest = blake2b(str(n).encode(), digest_size=16).hexdigest()
    rows_of["request"].append(
        (n + 1, 1, n, 1, ENDPOINT, orjson.dumps({"id": str(10**9 + n)}).decode(), "main", 100, 50_000, at, at, "ok",
         200, PAGE, 50_000, HEADERS, digest, PAGE, 0, orjson.dumps(ids).decode(),
         pack_nodes(list(enumerate(named)), Answer()))
    )  # fmt: skip


def ask_questions(where: DatabaseAddress) -> Iterator[tuple[str, float]]:
    """Yield the name of each documented question, and of the report, with the seconds of its answer."""
    connection = connect(where)
    for question in QUESTIONS:
        begin = time.perf_counter()
        with read_unlocked(connection):
            connection.exec_driver_sql(question.sql).all()
        yield question.name, time.perf_counter() - begin
    connection.close()
    connection.engine.dispose()
    begin = time.perf_counter()
    command = [sys.executable, "-m", "socialcrawl", "report", "--db", format_address(where)]
    subprocess.run(command, check=True, capture_output=True)
    yield "report, the whole command", time.perf_counter() - begin
