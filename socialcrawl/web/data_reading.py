"""Searches and queries of pages and API, and the rows that answer them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from socialcrawl import CampaignStatus, Project, SettingsError
from socialcrawl.web.data_models import PostChoice

QUERY_TIME = "20s"
LARGEST_ANSWER = "4MB"
MOST_COUNTED, COUNT_TIME = 10_000, "1s"


def search_posts(
    project: Project, status: CampaignStatus, wanted: PostChoice, limit: int
) -> tuple[list[dict[str, Any]], str | None]:
    """Return posts, the newest first, and the `after` of the next page; None: these are the last ones.

    Raises:
        SettingsError: the query has nothing to search for, or a time is none.
        StoreError: there is no such author, or the database cannot be read.
    """
    chosen = _choose_posts(status, wanted) | {"after": wanted.after or None, "limit": limit + 1}
    with project.open(status.key) as data:
        if wanted.query.strip():
            rows = [*data.search(wanted.query, timeout=QUERY_TIME, **chosen)]
        else:
            rows = [*data.posts(newest_first=True, **chosen)]
    return rows[:limit], find_cursor(rows[limit - 1], wanted) if len(rows) > limit else None


def count_hits(project: Project, status: CampaignStatus, wanted: PostChoice) -> int | None:
    """Return how many posts all pages of a search have together; more than MOST_COUNTED: that, or more.

    Returns:
        None where they cannot be counted in time.

    Raises:
        SocialcrawlError: see `search_posts`.
    """
    chosen = _choose_posts(status, wanted)
    with project.open(status.key) as data:
        return data.count_posts(wanted.query, most=MOST_COUNTED + 1, timeout=COUNT_TIME, **chosen)


def _choose_posts(status: CampaignStatus, wanted: PostChoice) -> dict[str, Any]:
    return {
        "campaign": status.name,
        "on_topic": wanted.topic == "on",
        "off_topic": wanted.topic == "off",
        "author": wanted.author.strip() or None,
        "since": wanted.since or None,
        "until": wanted.until or None,
    }


def find_cursor(post: Mapping[str, Any], wanted: PostChoice) -> str:
    """Return what names a post as the last one of a page: of a search with its time, by which it goes on."""
    if not wanted.query.strip():
        return str(post["id"])
    at = post["created_at"]
    return f"{'' if at is None else at.strftime('%Y-%m-%dT%H:%M:%S.%fZ')}/{post['id']}"


def include_day(day: str) -> str:
    """Return the moment at which a day ends, for a day; else the text as it is."""
    try:
        return (date.fromisoformat(day) + timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        return day


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """The answer to a query.

    Attributes:
        names: of its columns.
        kinds: of them.
        rows: the cells; a number that JSON does not have is None.
        more: whether there are more rows.
    """

    names: Sequence[str]
    kinds: Sequence[str]
    rows: Sequence[Sequence[Any]]
    more: bool


def read_answer(project: Project, status: CampaignStatus, query: str, limit: int) -> ReadAnswer:
    """Return the answer to a query, within the bounds of a page.

    Raises:
        SettingsError: there is no query.
        StoreError: it is wrong, would change something, takes too long, or its answer is too large.
    """
    if not query.strip():
        raise SettingsError("Write a SELECT.")
    with project.open(status.key) as data:
        table = data.sql(query, timeout=QUERY_TIME, limit=limit + 1, max_size=LARGEST_ANSWER)
    rows = [[_make_finite(cell) for cell in row.values()] for row in table]
    columns = table.columns
    return ReadAnswer([one.name for one in columns], [one.kind for one in columns], rows[:limit], len(rows) > limit)


def _make_finite(cell: Any) -> Any:
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell
