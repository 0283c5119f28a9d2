"""Which stored posts match a topic that is tried out."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from socialcrawl.campaign.match_counting import count_matches
from socialcrawl.storage.queries.newest_posts import read_newest_posts
from socialcrawl.storage.queries.read_session import ReadSession
from socialcrawl.storage.queries.summary import find_campaign, read_first_settings


@dataclass(frozen=True, slots=True)
class MatchPreview:
    """Which of the posts that were stored last match a topic.

    Attributes:
        examined: the number of posts that were looked at.
        matching: the number of those that match.
        occurrences: how often the topic occurs in them.
        matches: matching posts, the one that was stored last first: dicts of id, author, created_at, text, occurrences.
        others: posts that do not match, likewise.

    Example:
        >>> preview = data.preview_matches(["telescope"], limit=2)
        >>> preview.matching, preview.examined, preview.occurrences
        (6, 7, 8)
        >>> len(preview.matches), preview.others[0]["text"]
        (2, 'Bread recipes for Sunday @emil')
    """

    examined: int
    matching: int
    occurrences: int
    matches: tuple[dict[str, Any], ...]
    others: tuple[dict[str, Any], ...]


def preview_matches(
    session: ReadSession,
    campaign: str | None,
    words: tuple[Sequence[str], Sequence[str], Sequence[str]],
    bounds: tuple[int, int, float],
) -> MatchPreview:
    """Return which posts match keywords, regular expressions and languages.

    Args:
        session: the database.
        campaign: whose platform counts; None: the newest.
        words: the keywords, regular expressions and languages.
        bounds: posts to return of each sort, posts to look at, seconds to count.

    Raises:
        SettingsError: the topic is unusable, or counting takes too long.
        StoreError: there is no such campaign.
    """
    limit, newest, seconds = bounds
    with session.open_reader() as connection:
        platform, _ = read_first_settings(connection, find_campaign(connection, campaign)[0])
        with connection.begin():
            rows = read_newest_posts(connection, platform, newest)
    counts = count_matches(platform, words, [row[2:] for row in rows], seconds, time.monotonic)
    posts = [
        {"id": row[0], "author": row[1], "created_at": row[4], "text": row[2], "occurrences": count}
        for row, count in zip(rows, counts, strict=True)
    ]
    found = [one for one in posts if one["occurrences"]]
    others = [one for one in posts if not one["occurrences"]]
    return MatchPreview(len(posts), len(found), sum(counts), tuple(found[:limit]), tuple(others[:limit]))
