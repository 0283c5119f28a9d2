"""What the tests of captures on Mastodon share: settings, and what a scan of the posts finds."""

import re

from archive_captures import D, K, span, stamp
from x_crawls import posts, scratch

from socialcrawl.storage.database.address import PostgresAddress
from socialcrawl.system.files import find_folder

TIMELINE = "/api/v1/timelines/tag/:hashtag?max_id"
TAGS = ("#mood", "#weekend")


def write_policy(page=3):
    """A table of Mastodon's limits with small pages of hashtags."""
    text = (find_folder("config") / "mastodon.toml").read_text("utf-8")
    begin = text.index(f'[endpoints."{TIMELINE}"]')
    end = text.index("[endpoints", begin + 1)
    file = scratch() / "policy.toml"
    file.write_text(text[:begin] + text[begin:end].replace("page = 40", f"page = {page}") + text[end:])
    return str(file)


def capturing(url, place, *, tags=TAGS, **more):
    """Settings of a capture of hashtags on the mock's Mastodon."""
    begin, end = span()
    capture = {"from": stamp(begin), "until": stamp(end), "parts": 6, "pages": 2, **more.pop("capture", {})}
    source = {"platform": "mastodon", "base_url": url, "domain": "home.example", "policy": write_policy()}
    return {
        "name": "campaign",
        "kind": "capture",
        "database": place.url if isinstance(place, PostgresAddress) else str(place),
        "topic": {"keywords": list(tags)},
        "capture": capture,
        "crawl": {"refresh_rate": 2, **more.pop("crawl", {})},
        "source": {**source, "timeout": 60.0, **more.pop("source", {})},
        "limits": {"k": K, "d": D, "pause": 0.01, "longest_pause": 0.04, "give_up": 0.5},
        **more,
    }


def list_tagged(tags=TAGS, begin=None, end=None, *, without=()):
    """The texts of the posts that hashtag timelines have, by an independent scan: no reposts, a tag as a whole word."""
    table, (first, last) = posts(), span()
    pattern = re.compile("|".join(rf"(?<![\w/=]){tag}(?!\w)" for tag in tags), re.IGNORECASE)
    return sorted(
        table.texts[i]
        for i in range(len(table))
        if (begin or first) <= table.created_at[i] < (end or last)
        and pattern.search(table.texts[i])
        and not table.texts[i].startswith("RT @")
        and table.authors[i].lower() not in without
    )
