"""Processor time to parse, score and store one fetched page, against the barest loop that stores the same rows."""

import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import tweepy
from pyarrow import parquet

from benchmarks.figure import Figure, sized
from socialcrawl.campaign.policies import load_policy
from socialcrawl.campaign.settings import check_settings
from socialcrawl.engine.model import Act, Credential, Grant, Node, Pick, Who
from socialcrawl.graph.relevance import Topic
from socialcrawl.mock.child_process import spawn
from socialcrawl.platforms.x.source import XSource
from socialcrawl.platforms.x.vocabulary import TWEET
from socialcrawl.platforms.x.wire import XWire, make_client
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.storage.answer_reuse import AnswerReuse
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.database.connection import connect
from socialcrawl.storage.sql_store import SqlStore

TITLE = "A page of 100 posts with 100 mentions: ours against the barest loop"
AUTHORS, ROUNDS = sized(100, 10), sized(4, 1)
TEXT = (
    "the mount of this new tent drifts when it is cold outside and the clouds come in from the west, I think "
    "we should try again tomorrow"
)


def measure() -> list[Figure]:
    """Processor milliseconds a page, median over pages; the two loops take turns."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        parquet.write_table(_posts(), folder / "posts.parquet")
        with spawn(folder / "posts.parquet", "--per-window", "1000000") as mock:
            ids = _ids(mock.url)
            bare, ours = [], []
            for turn in range(ROUNDS):
                pair = _bare(mock.url, folder / f"bare{turn}.db"), _ours(mock.url, folder / f"ours{turn}.db")
                times = [[_timed(one, number, key) for one in pair] for number, key in enumerate(ids)]
                # the first pages warm up connections and caches
                bare += [both[0] for both in times[5:]]
                ours += [both[1] for both in times[5:]]
    a, b = statistics.median(ours), statistics.median(bare)
    return [
        Figure("barest loop (tweepy's raw response, orjson, executemany)", f"{b * 1e3:.2f} ms"),
        Figure("ours (windows, ledger, parse, score, store)", f"{a * 1e3:.2f} ms"),
        Figure("ratio", f"{a / b:.2f}", "at most 1.6"),
    ]


def _posts() -> pa.Table:
    rows = []
    for author in range(AUTHORS):
        for number in range(100):
            other = (author * 7 + number * 13) % (AUTHORS * 3)
            words = TEXT[number % 5 :] if number % 10 else "this is the telescope that I told you of"
            rows.append(
                (
                    f"author{author:04}",
                    1_700_000_000 + number * 60,
                    f"@other{other:04} {words} #sky",
                    [f"other{other:04}"],
                )
            )
    names = ("author", "created_at", "text", "mentions")
    return pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})


def _ids(url: str) -> list[str]:
    made = make_client("bench", url)
    names = ",".join(f"author{i:04}" for i in range(AUTHORS))
    body = orjson.loads(made.request("GET", "/2/users/by", params={"usernames": names}).content)
    return [user["id"] for user in body["data"]]


def _timed(one: Callable[[int, str], None], number: int, key: str) -> float:
    begin = time.process_time()
    one(number, key)
    return time.process_time() - begin


def _ours(url: str, path: Path) -> Callable[[int, str], None]:
    rules = load_policy("x").override_limits(1_000_000, 900.0)
    settings = check_settings(
        {"name": "bench", "topic": {"keywords": ["telescope"]}, "source": {"base_url": url}}, "bench"
    )
    connection = connect(path)
    number = ensure_campaign(connection, settings.model_dump(mode="json"), settings.identity([]), time.time())
    reuse = AnswerReuse(24.0, Topic(["telescope"]).hits)
    store = SqlStore(connection, number, "x", rules.tariff, reuse=reuse, server=url)
    source = XSource(rules, TWEET, [])
    planner = WindowPlanner(rules, [Credential("main")], Caps())
    topic = Topic(["telescope"])
    wire = XWire({"main": make_client("bench", url)}, TWEET, rules, topic.hits, time.time)

    def one(n: int, key: str) -> None:
        pick = Pick(n, Node(n), Act.EXPAND)
        talk = source.start_conversations((pick,), {Node(n): Who(key, None)})[0]
        asked = next(talk)
        assert store.held(asked, time.time()) is None
        grant = planner.take(asked, time.time())
        assert isinstance(grant, Grant)
        store.reserve(grant)
        reply = wire.send(grant)
        planner.settle(grant, store.save(grant, reply), time.time())

    return one


def _bare(url: str, path: Path) -> Callable[[int, str], None]:
    connect(path).close()  # the same tables and indexes
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("pragma journal_mode = wal")
    database.execute("pragma synchronous = normal")
    database.execute("pragma wal_autocheckpoint = 4000")  # as the store has it
    made: tweepy.Client = make_client("bench", url)
    asked = {**TWEET.fields, "max_results": "100"}
    numbers: dict[str, int] = {}

    def one(n: int, key: str) -> None:
        posts = orjson.loads(made.request("GET", f"/2/users/{key}/tweets", params=asked).content)["data"]
        _store(database, posts, numbers)

    return one


def _store(database: sqlite3.Connection, posts: list[dict[str, Any]], numbers: dict[str, int]) -> None:
    accounts, rows, mentions = [], [], []
    now = "2026-01-01T00:00:00.000000Z"
    for post in posts:
        author = numbers.get(post["author_id"])
        if author is None:
            author = numbers[post["author_id"]] = len(numbers)
            accounts.append((author, "x", post["author_id"], None, None, now))
        metrics, tags = post["public_metrics"], [tag["tag"] for tag in post["entities"]["hashtags"]]
        rows.append(
            (post["id"], author, post["created_at"], post["text"], post["lang"], post["conversation_id"],
             None, None, None, orjson.dumps(tags).decode(), None, metrics["like_count"], metrics["reply_count"],
             metrics["retweet_count"], metrics["quote_count"], metrics.get("bookmark_count"),
             metrics.get("impression_count"), None, now, now)
        )  # fmt: skip
        for mention in post["entities"]["mentions"]:
            node = numbers.get(mention["id"])
            if node is None:
                node = numbers[mention["id"]] = len(numbers)
                accounts.append((node, "x", mention["id"], mention["username"], mention["username"].lower(), now))
            mentions.append((post["id"], node, "mention"))
    database.execute("begin immediate")
    database.executemany(
        "insert into account (node, platform, platform_id, username, handle, first_seen_at) values (?, ?, ?, ?, ?, ?)",
        accounts,
    )
    database.executemany(f"insert into post values ({', '.join('?' * 20)})", rows)
    database.executemany("insert into mention (post, node, kind) values (?, ?, ?)", mentions)
    database.execute("commit")
