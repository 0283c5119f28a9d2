"""What the tests of captures share: settings of captures of the generated posts, and what a scan of these finds."""

import json
import re
from datetime import UTC, datetime

from commands import socialcrawl
from stores import opened
from test_guarantees import find_undisturbed
from x_crawls import TOKEN_ENV, TOPIC, posts, rows, scratch

from socialcrawl.graph.relevance import Topic
from socialcrawl.mock.world import build_world
from socialcrawl.storage.database.address import PostgresAddress
from socialcrawl.system.files import find_folder

ARCHIVE = "/2/tweets/search/all"
K, D = 40, 0.6
MANY = {"k": 100_000, "d": 60.0}


def write_small_pages(platform, endpoint, page):
    """A platform's table of limits with small pages of an endpoint."""
    text = (find_folder("config") / f"{platform}.toml").read_text("utf-8")
    begin = text.index(f'[endpoints."{endpoint}"]')
    file = scratch() / f"{platform}.toml"
    file.write_text(text[:begin] + re.sub(r"page = \d+", f"page = {page}", text[begin:], count=1))
    return str(file)


def write_policy(page=10):
    """A table of X's limits with small pages, and without the second between two searches of the archive."""
    text = (find_folder("config") / "x.toml").read_text("utf-8")
    begin = text.index(f'[endpoints."{ARCHIVE}"]')
    end = text.index("[endpoints", begin + 1)
    own = f'[endpoints."{ARCHIVE}"]\napp = [{{ k = 300, d = 900 }}]\npage = {page}\nsmallest = 10\n\n'
    file = scratch() / "policy.toml"
    file.write_text(text[:begin] + own + text[end:])
    return str(file)


def texts_of(database):
    """The texts of the stored posts that match, each as often as it is there."""
    return sorted(text for (text,) in rows(database, "select text from post join hit on hit.post = post.id"))


def check_captured(place, expected):
    """Hold the stored posts of a place against the texts that a scan finds, each once, and let `verify` check it."""
    with opened(place) as connection, connection.begin():
        texts = connection.exec_driver_sql("select text from post join hit on hit.post = post.id").scalars().all()
        assert connection.exec_driver_sql("select count(*) from post").scalar() == len(texts)
    assert sorted(texts) == expected
    child = socialcrawl("verify", place.url if isinstance(place, PostgresAddress) else place)
    assert "Everything that can be checked agrees." in child.stdout, child.stdout + child.stderr


def reported(database):
    """What `report --json` says of a capture."""
    child = socialcrawl("report", database, "--json")
    assert child.returncode == 0, child.stderr
    return json.loads(child.stdout)["captured"]


def stamp(at):
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def span():
    """The second of the first post, and the one after the last."""
    at = posts().created_at
    return int(at.min()), int(at.max()) + 1


def capturing(url, place, **more):
    begin, end = span()
    capture = {"from": stamp(begin), "until": stamp(end), "parts": 6, "pages": 2, **more.pop("capture", {})}
    return {
        "name": "campaign",
        "kind": "capture",
        "database": place.url if isinstance(place, PostgresAddress) else str(place),
        "topic": {"keywords": [TOPIC]},
        "capture": capture,
        "crawl": {"refresh_rate": 2, **more.pop("crawl", {})},
        "source": {"token_env": TOKEN_ENV, "base_url": url, "policy": write_policy(), "timeout": 60.0},
        "limits": {"k": K, "d": D, "pause": 0.01, "longest_pause": 0.04, "give_up": 0.5},
        **more,
    }


def capturing_on_bluesky(url, place, *, source=None, **more):
    """The settings of the same capture on Bluesky."""
    policy = write_small_pages("bluesky", "/xrpc/app.bsky.feed.searchPosts", 10)
    given = {"platform": "bluesky", "base_url": url, "policy": policy, "timeout": 60.0}
    return {**capturing(url, place, **more), "source": {**given, **(source or {})}}


def list_matches(begin=None, end=None, authors=None):
    """The texts of the posts that X's search has, by an independent scan: they match, and are no retweets.

    `authors`: theirs only; None: everybody's.
    """
    table, topic, references = posts(), Topic([TOPIC]), build_world(posts()).references
    first, last = span()
    return sorted(
        table.texts[i]
        for i in range(len(table))
        if (begin or first) <= table.created_at[i] < (end or last)
        and topic.count(table.texts[i])
        and (authors is None or table.authors[i] in authors)
        and not references.is_retweet(i)
    )


def find_slices(folder, **how):
    """What a capture finds that nobody kills, by slices alone; see `test_guarantees.find_undisturbed`."""
    whole = find_undisturbed(folder, **how)
    assert {row[2] for row in whole["picks"]} == {"slice"}
    assert all(whole.values())
    return whole
