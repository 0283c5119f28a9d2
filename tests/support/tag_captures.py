"""What the tests of captures on Mastodon share: settings, and what a scan of the posts finds."""

import re

import archive_captures
from archive_captures import span, write_small_pages
from x_crawls import posts

TIMELINE = "/api/v1/timelines/tag/:hashtag?max_id"
TAGS = ("#mood", "#weekend")


def capturing(url, place, *, tags=TAGS, source=None, **more):
    """Settings of a capture of hashtags on the mock's Mastodon."""
    policy = write_small_pages("mastodon", TIMELINE, 3)
    given = {"platform": "mastodon", "base_url": url, "domain": "home.example", "policy": policy, "timeout": 60.0}
    topic = {"keywords": list(tags)}
    return {**archive_captures.capturing(url, place, **more), "topic": topic, "source": {**given, **(source or {})}}


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
