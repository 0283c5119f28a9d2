"""What the web application costs: many campaigns with some viewers, and the page of one very large campaign."""

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import orjson

from benchmarks import restart
from benchmarks.figure import Figure, sized
from socialcrawl.campaign.settings import check_settings
from socialcrawl.engine.model import format_time

POSTS, LINKS, ACCOUNTS = sized(1_000_000, 2_000), sized(10_000_000, 10_000), sized(3_000_000, 3_000)
READ = sized(100_000, 200)  # accounts, of 10 posts each
EACH = 10  # posts of an account and a request
BEGIN, YEAR = 1_700_000_000.0, 365 * 86_400
SETTINGS = {"name": "large", "topic": {"keywords": ["telescope"]}}


def generate(path: Path, read: int = READ) -> int:
    """Write a finished campaign with POSTS posts and about LINKS links to a new database; return its links.

    Args:
        path: the file.
        read: the number of accounts that were read.
    """
    links = restart.generate(path, read, LINKS, ACCOUNTS)
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("pragma synchronous = off")
        settings = check_settings(SETTINGS, "ui")
        values = orjson.dumps(settings.model_dump(mode="json")).decode()
        identity = orjson.dumps(settings.identity([])).decode()
        raw.execute("update campaign set name = ?, settings = ?, identity = ?", [settings.name, values, identity])
        raw.execute("update version set settings = ?", [values])
        known = max(ACCOUNTS, read + restart.SEEDS)
        raw.executemany(
            "insert into account (node, platform, platform_id, username, handle, first_seen_at) values (?,?,?,?,?,?)",
            ((node, "x", str(node), f"User{node}", f"user{node}", format_time(BEGIN)) for node in range(known)),
        )
        each = POSTS // read
        raw.execute("update outcome set posts = ? where missing is null", [each])
        found = raw.execute("select n, min(occurrences, ?) from outcome where missing is null", [each]).fetchall()
        raw.executemany(
            "insert into post (id, author, created_at, text, lang, metrics_at, fetched_at) values (?,?,?,?,'en',?,?)",
            _make_posts([n for n, _ in found], each),
        )
        raw.executemany(
            "insert into hit (campaign, post, occurrences) values (1, ?, 1)",
            ((_name_post(n, place),) for n, hits in found for place in range(hits)),
        )
    return links


def _make_posts(authors: list[int], each: int) -> Iterator[tuple[object, ...]]:
    for n in authors:
        for place in range(each):
            at = format_time(BEGIN + (n * 7919 + place * 104_729) % YEAR)
            yield _name_post(n, place), n, at, f"the telescope of user {n} shows the moon again, night {place}", at, at


def _name_post(n: int, place: int) -> str:
    """Return the id of a post, which the ledger of `restart.generate` names too."""
    return str(10**18 + EACH * n + place)
