"""What the tests of `verify` share: campaigns of every kind whose processes died again and again, and their checks."""

import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from time import time

import pyarrow as pa
import pyarrow.parquet as pq
from archive_captures import write_policy
from refresh_campaigns import written
from test_change_mock import OTHER
from test_refresh_campaign import SHARE, bring, edges, refreshing
from test_sample_campaign import sampling
from test_track_campaign import tracking
from x_crawls import CampaignView, build, campaign_of, posts, posts_file, scratch

from socialcrawl.engine.loop import run
from socialcrawl.engine.model import format_time
from socialcrawl.lab.post_table import read_posts
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.world import build_world
from socialcrawl.storage.database.snapshot import open_snapshot
from socialcrawl.verify.verification import verify

EVERY = 17  # requests after which a process dies
LIMIT = 100_000
DECIDED = {"picks", "scores and features", "standings", "sampled", "budgets"}  # what an export proves as its database


class DiedError(Exception):
    """The process is gone."""


class Mortal:
    """A wire that has its process die with request number `left`, whose answer is lost."""

    def __init__(self, wire, left):
        self.wire, self.left = wire, left

    def send(self, grant):
        self.left -= 1
        if self.left <= 0:
            raise DiedError
        return self.wire.send(grant)


def lived(settings, *, change=False, every=EVERY):
    """Run a campaign to its end, in processes that die; how many did."""
    for deaths in range(1_000):
        campaign = build(settings, CampaignView(), change=change)
        try:
            with suppress(DiedError):
                parts = campaign.parts
                reason = run(replace(parts, wire=Mortal(parts.wire, every)), size=campaign.together)
                campaign.keep(reason)
                return deaths
        finally:
            campaign.parts.pool.shutdown()  # or a thread is left with a socket that nobody closes
            campaign.close()
    raise AssertionError("it never ends")


@lru_cache
def recent():
    """The posts as a file, as if the last of them was written an hour ago."""
    table = pq.read_table(posts_file())
    at = table["created_at"].to_numpy()
    path = scratch() / "recent.parquet"
    shifted = pa.array(at + (int(time()) - 3600 - at.max()), table["created_at"].type)
    pq.write_table(table.set_column(table.column_names.index("created_at"), "created_at", shifted), path)
    return path


def died(settings, requests):
    """Run a campaign until its process dies with that request."""
    campaign = build(settings, CampaignView())
    try:
        with suppress(DiedError):
            run(replace(campaign.parts, wire=Mortal(campaign.parts.wire, requests)), size=campaign.together)
            raise AssertionError("it lives")
    finally:
        campaign.parts.pool.shutdown()
        campaign.close()


def collecting(url, place, **more):
    crawl = {"estimator": "hybrid-sum", "switch_after": 10, "steps": 36, "refresh_rate": 3}
    crawl |= {"shadows": ["bfs", "nh-e-max"]}
    more = {"budget": {"max_requests": 1000, "confirm_above": 1e6}, **more}
    return campaign_of(url, place, name="collected", **{**more, "crawl": {**crawl, **more.get("crawl", {})}})


def collect(place, folder):
    with serve_in_thread(posts(), missing=SHARE, limit=LIMIT) as mock:
        assert lived(collecting(mock.url, place)) > 2


def change(place, folder):
    """The same, then another topic, then another estimator, one more seed and steps that are drawn."""
    collect(place, folder)
    with serve_in_thread(posts(), missing=SHARE, limit=LIMIT) as mock:
        named = {"usernames": [posts().authors[0]]}
        lived(collecting(mock.url, place, topic={"keywords": [OTHER]}, crawl={"steps": 45}), change=True)
        last = {"estimator": "nh-ne-sum", "steps": 54, "control": 0.5}
        lived(collecting(mock.url, place, topic={"keywords": [OTHER]}, seeds=named, crawl=last), change=True)


def track(place, folder):
    with serve_in_thread(posts(), missing=SHARE, limit=LIMIT) as mock:
        assert lived(tracking(mock.url, place, 60, p=0.6)) > 2


def follow(place, folder):
    """Tracking with a window, so that marks are of the moment of a choice, and by time."""
    with serve_in_thread(recent(), limit=LIMIT) as mock:
        assert lived(tracking(mock.url, place, 60, window="90d", rest="40ms", target="indegree", expansion="ai")) > 2


def refresh(place, folder):
    names = build_world(posts(), SHARE).accounts.usernames[:220]
    with serve_in_thread(posts(), missing=SHARE, limit=LIMIT) as mock:
        settings = refreshing(mock.url, place, refresh={"rank": "pa+-", "z": 30}, crawl={"refresh_rate": 1})
        settings = settings.model_copy(update={"source": settings.source.model_copy(update={"reuse_hours": 0.0})})
        bring(settings, written(folder / "old.csv", edges(names)))
        assert lived(settings, every=2) > 1


def sample(place, folder):
    with serve_in_thread(posts(), missing=SHARE, limit=LIMIT) as mock:
        assert lived(sampling(mock.url, place)) > 2


def match(place, folder):
    """Accounts are matched by searches, and two pages of some timelines are read: then there are no more accounts."""
    with serve_in_thread(posts(), missing=SHARE, limit=LIMIT) as mock:
        source = {"read": "match", "pages_per_user": 2, "policy": write_policy(page=100)}
        assert lived(collecting(mock.url, place, source=source, crawl={"steps": 150})) > 2


def end_of(data):
    """A span of time that ends with the last of some posts: the mock's clock stands still there."""
    return {"until": format_time(float(data.created_at.max()) + 1.0)}


def search(place, folder):
    """Accounts are read from what searches of spans of time return."""
    with serve_in_thread(posts(), missing=SHARE, limit=LIMIT) as mock:
        source = {"read": "search", "policy": write_policy(page=20)}
        assert lived(collecting(mock.url, place, source=source, topic=end_of(posts()), crawl={"steps": None})) > 2


def week(place, folder):
    """The last days are searched, then timelines are read: of accounts that were found, and of the frontier."""
    with serve_in_thread(recent(), missing=SHARE, limit=LIMIT) as mock:
        source = {"read": "auto", "archive": False, "pages_per_user": 2}
        assert (
            lived(collecting(mock.url, place, source=source, topic=end_of(read_posts(recent())), crawl={"steps": 80}))
            > 2
        )


MADE = {
    "collect": collect,
    "match": match,
    "search": search,
    "week": week,
    "change": change,
    "track": track,
    "follow": follow,
    "refresh": refresh,
    "sample": sample,
}


@lru_cache
def lasting(kind):
    """The SQLite database of a campaign of that kind, which nobody changes."""
    folder = scratch()
    MADE[kind](folder / "a.db", folder)
    return folder / "a.db"


def copied(kind, folder):
    """A copy of it to change."""
    return Path(shutil.copy(lasting(kind), folder / f"{kind}.db"))


def changed(database, sql, *values):
    """Run one statement as somebody would who wants the data to be others; it changes a row or more."""
    with closing(sqlite3.connect(database)) as raw, raw:
        assert raw.execute(sql, values).rowcount > 0


def checks(place, campaign=None):
    """What the checks of a database with one campaign found, by their names."""
    with open_snapshot(place) as connection:
        return {check.name: check for one in verify(connection, campaign) for check in one.checks}


def differences(place):
    """(check, place, column) of all that differs."""
    return [(name, one.place, one.column) for name, check in checks(place).items() for one in check.differences]
