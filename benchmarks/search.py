"""Full-text search in a large database: the index, what it costs, and how long searches take with and without it."""

import random
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert

from benchmarks.figure import Figure, sized
from benchmarks.server import a_server
from socialcrawl.engine.model import format_time
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.bulk import make_insert
from socialcrawl.storage.database.connection import close_connection, connect
from socialcrawl.storage.post_search.index import list_tables, update_index
from socialcrawl.storage.post_search.reading import PostFilter, find_posts
from socialcrawl.storage.schema.tables import account, post
from socialcrawl.text.post_query import parse_query

POSTS, CHUNK, WORDS, ROUNDS = sized(1_000_000, 3_000), 5_000, 200_000, sized(5, 1)
BEGIN, YEAR = 1_700_000_000, 365 * 86_400
TITLE = f"Full-text search in {POSTS:,} posts of about 105 characters"
PHRASE, JAPANESE = "the mount drifts", "望遠鏡で土星を見た"
COLUMNS = ("id", "author", "created_at", "text", "lang", "conversation_id", "hashtags", "urls", "likes", "replies",
           "reposts", "quotes", "bookmarks", "views", "metrics_at", "fetched_at")  # fmt: skip
QUERIES = {
    "a word of half of the posts": "w1",
    "a rare word": "w150000",
    "two common words": "w2 w5",
    "a phrase of 0.1 % of the posts": f'"{PHRASE}"',
    "the beginning of many words": "w12*",
    "Japanese, a part of a run": "土星",
    "a common word without another": "w1 -w2",
}


def measure() -> list[Figure]:
    """Wall time, median of the rounds; the first 20 posts of each search, with their keys only."""
    figures = []
    with tempfile.TemporaryDirectory() as folder, a_server() as server:
        figures += _measure("sqlite", Path(folder) / "posts.db")
        with server("search") as place:
            figures += _measure("postgresql", place)
    return figures


def _measure(name: str, where: DatabaseAddress) -> list[Figure]:
    connection = connect(where)
    try:
        _fill(connection)
        rare = parse_query("w150000")
        (scan,) = _time_searches(connection, [rare], rounds=1)
        before = _read_size(connection)
        seconds, waits = _build(connection, where)
        size = _read_size(connection) - before
        assert list_tables(connection)
        took = _time_searches(connection, [parse_query(query) for query in QUERIES.values()], rounds=ROUNDS)
    finally:
        close_connection(connection)
    return [
        Figure(f"{name}: a rare word, without an index", f"{scan:.2f} s"),
        Figure(f"{name}: posts a second taken into the index", f"{POSTS / seconds:,.0f}"),
        Figure(f"{name}: another writer waits meanwhile, median", f"{statistics.median(waits) * 1e3:.0f} ms"),
        Figure(f"{name}: another writer waits meanwhile, at most", f"{max(waits) * 1e3:.0f} ms", "under 2,000 ms"),
        Figure(f"{name}: size of the index", f"{size / 1e6:,.0f} MB"),
        *(
            Figure(f"{name}: {what}", f"{one * 1e3:.1f} ms", "under 300 ms")
            for what, one in zip(QUERIES, took, strict=True)
        ),
    ]


def _fill(connection: Connection) -> None:
    draw = random.Random(1)
    at = format_time(BEGIN)
    with connection.begin():
        connection.execute(insert(account).values(node=1, platform="x", platform_id="1", first_seen_at=at))
    statement = make_insert(connection, post, COLUMNS)
    for first in range(0, POSTS, CHUNK):
        rows = list(_make_rows(draw, range(first, min(first + CHUNK, POSTS)), at))
        with connection.begin():
            statement.run(rows)


def _make_rows(draw: random.Random, numbers: range, at: str) -> Iterator[tuple[Any, ...]]:
    """Yield posts whose words are as frequent as those of a language, in no order of time."""
    for number in numbers:
        words = [f"w{int(WORDS ** draw.random())}" for _ in range(draw.randint(6, 30))]
        if draw.random() < 0.001:
            words.append(PHRASE)
        if draw.random() < 0.001:
            words.append(JAPANESE)
        if draw.random() < 0.3:
            words.append(f"#{words[0]} caf\u00e9")
        key = f"{1_600_000_000_000_000_000 + draw.randrange(10**9) * 10**8 + number}"
        created = format_time(BEGIN + draw.randrange(YEAR))
        yield key, 1, created, " ".join(words), "en", key, '["sky"]', None, 3, 1, 0, 0, 2, 140, at, at


def _build(connection: Connection, where: DatabaseAddress) -> tuple[float, list[float]]:
    """Return the seconds in which all posts were taken in, without pauses, and how long another writer waited."""
    waits: list[float] = []
    done = threading.Event()
    writer = threading.Thread(target=_write, args=(where, waits, done))
    writer.start()
    seconds = 0.0
    try:
        begin = time.perf_counter()
        for _ in update_index(connection):
            took = time.perf_counter() - begin
            seconds += took
            time.sleep(took)  # as `socialcrawl search` does
            begin = time.perf_counter()
    finally:
        done.set()
        writer.join()
    return seconds, waits


def _write(where: DatabaseAddress, waits: list[float], done: threading.Event) -> None:
    connection = connect(where)
    try:
        while not done.wait(0.2) or not waits:
            begin = time.perf_counter()
            with connection.begin():
                connection.exec_driver_sql("update account set followers = 1 where node = 1")
            waits.append(time.perf_counter() - begin)
    finally:
        close_connection(connection)


def _time_searches(connection: Connection, queries: list[Any], *, rounds: int) -> list[float]:
    times: list[list[float]] = [[] for _ in queries]
    for _ in range(rounds):
        for query, took in zip(queries, times, strict=True):
            begin = time.perf_counter()
            with closing(find_posts(connection, query, PostFilter(), 20)) as found:
                list(found)
            took.append(time.perf_counter() - begin)
    return [statistics.median(one) for one in times]


def _read_size(connection: Connection) -> int:
    server = connection.dialect.name == "postgresql"
    pages = "select page_count * page_size from pragma_page_count, pragma_page_size"
    with connection.begin():
        return int(
            connection.exec_driver_sql("select pg_database_size(current_database())" if server else pages).scalar_one()
        )
