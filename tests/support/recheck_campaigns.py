"""What the tests of checks by look-ups share: a crawl, checks as runs on other days make them, what is still there."""

import sys

import httpx
import pytest
from deletion_checks import run_check
from killed_campaigns import DONE, TROUBLE, die_before
from x_crawls import TOPIC, rows

from socialcrawl.campaign import post_recheck
from socialcrawl.campaign.settings import check_settings

HOME = "home.example"
SOURCES = {"bluesky": {}, "mastodon": {"domain": HOME, "contact": "mailto:us@example.org"}}
TOPICS = {"bluesky": TOPIC, "mastodon": "#mood"}
FIRST, SECOND = 1e9, -post_recheck.TOGETHER  # seconds between two look-ups: no post is old enough yet, and each is


def crawling(platform, url, place, **more):
    """The settings of a crawl of accounts and their posts, with reposts."""
    source = {"platform": platform, "base_url": url, "timeout": 60.0, "pages_per_user": 4, "opt_outs": False}
    given = {
        "name": "campaign",
        "database": str(place),
        "topic": {"keywords": [TOPICS[platform]]},
        "seeds": {"most": 10},
        "crawl": {"estimator": "bfs", "steps": 12},
        "limits": {"k": 100_000, "d": 60.0, "pause": 0.01, "longest_pause": 0.04, "give_up": 0.5},
    }
    return {**given, "source": {**source, **SOURCES[platform], **more.pop("source", {})}, **more}


def check_on(settings, apart, **how):
    """Check what is stored, on a day when posts that were absent `apart` seconds ago are looked up again."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(post_recheck, "APART", apart)
        return run_check(settings, **how)


def list_stored(database):
    """The stored posts: id -> the id of the post that is looked up for it."""
    found = rows(database, "select id, repost_of from post order by id")
    return {key: of if ".repost/" in key or key.startswith("repost:") else key for key, of in found}


def is_there(client, key):
    """Whether the mock shows a post, by a request of our own for this post alone."""
    if key.startswith("at://"):
        return bool(client.get("/xrpc/app.bsky.feed.getPosts", params={"uris": key}).json()["posts"])
    host, number = key.split("/")[2], key.removesuffix("/activity").rpartition("/")[2]
    answer = client.get(f"/api/v1/statuses/{number}", headers={"Host": host})
    return answer.status_code == 200 and answer.json()["uri"] == key


def list_shown(url, database):
    """The ids of the stored posts that the mock still shows."""
    stored = list_stored(database)
    with httpx.Client(base_url=url) as client:
        there = {key: is_there(client, key) for key in set(stored.values())}
    return {key for key, sought in stored.items() if there[sought]}


def list_absent(database):
    """The ids of the posts that were absent once."""
    return {
        key
        for (key,) in rows(
            database,
            "select c.post from post_check c join compliance_job j on j.began_at = c.checked_at "
            "where j.name like 'absent-%'",
        )
    }


def work(given, room=0, statement=0):
    """Check in this process; its exit code. `statement`: the number of that before which it dies."""
    from socialcrawl.errors import SocialcrawlError

    post_recheck.APART = SECOND if given.pop("again") else FIRST
    if statement:
        die_before(statement)
    try:
        run_check(check_settings(given, "test"))
    except SocialcrawlError as error:
        sys.stderr.write(f"{error}\n")
        return TROUBLE
    return DONE
