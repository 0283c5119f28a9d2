"""Which stored posts match a topic that is tried out, or would by a model."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from socialcrawl.api.argument_checks import KEYWORDS, TEXT, check_arguments, make_whole_rule
from socialcrawl.api.label_file import draw_stored_posts
from socialcrawl.campaign.match_counting import count_matches, find_match_spans
from socialcrawl.graph.relevance import Topic
from socialcrawl.platforms.facts import DEFAULT
from socialcrawl.storage.queries.newest_posts import read_newest_posts
from socialcrawl.storage.queries.read_session import ReadSession
from socialcrawl.storage.queries.summary import find_campaign, read_first_settings
from socialcrawl.text.wording import parse_seconds

COMING, LEAVING = (False, True), (True, False)
"""Whether a post or account is on topic now, and whether it would be."""


@dataclass(frozen=True, slots=True)
class MatchPreview:
    """Which of the posts that were stored last match a topic.

    Attributes:
        examined: the number of posts that were looked at.
        matching: the number of those that match.
        occurrences: how often the topic occurs in them.
        matches: matching posts, the one that was stored last first: dicts of id, author, created_at, text, occurrences,
            and spans: [from, to] of each place in the text at which the topic occurs; not where a link or a name says
            it, or where that cannot be told.
        others: posts that do not match, likewise.

    Example:
        >>> preview = data.preview_matches(["telescope"], limit=2)
        >>> preview.matching, preview.examined, preview.occurrences
        (6, 7, 8)
        >>> len(preview.matches), preview.others[0]["text"]
        (2, 'Bread recipes for Sunday @emil')
        >>> post = preview.matches[0]
        >>> [post["text"][begin:end] for begin, end in post["spans"]]
        ['telescope']
    """

    examined: int
    matching: int
    occurrences: int
    matches: tuple[dict[str, Any], ...]
    others: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class ModelPreview:
    """Which stored posts of a campaign come on topic, and which leave it, if a model decides from now on.

    An account is on topic if one of its posts is. Where posts were drawn, accounts are judged by the drawn posts.

    Attributes:
        stored: the number of stored posts of the campaign.
        examined: the number of those that were judged.
        posts: how many of them are on topic now.
        posts_on: how many come on topic.
        posts_off: how many leave it.
        accounts: how many of their authors are on topic now.
        accounts_on: how many come on topic.
        accounts_off: how many leave it.
        on_examples: some of the posts that come on topic: dicts of id and text.
        off_examples: some of those that leave it, likewise.

    Example:
        >>> report = sc.train_model("sky-labels.csv", "tried.json")
        >>> file = sc.CampaignFile.load("example.toml")
        >>> effect = file.use_model("tried.json")
        >>> preview = data.preview_model(file)
        >>> preview.examined, preview.posts, preview.posts_on, preview.posts_off
        (7, 6, 1, 0)
        >>> preview.accounts, preview.accounts_on, preview.accounts_off
        (5, 1, 0)
        >>> preview.on_examples[0]["text"], preview.off_examples, preview.stored
        ('Bread recipes for Sunday @emil', (), 7)
    """

    stored: int
    examined: int
    posts: int
    posts_on: int
    posts_off: int
    accounts: int
    accounts_on: int
    accounts_off: int
    on_examples: tuple[dict[str, Any], ...]
    off_examples: tuple[dict[str, Any], ...]


def preview_model(
    session: ReadSession, campaign: str | None, topic: Topic, drawn: tuple[int, int | None], limit: int
) -> ModelPreview:
    """Return which posts and accounts of a campaign change sides.

    Args:
        session: the database.
        campaign: its name; None: the newest.
        topic: has the model.
        drawn: the seed of the draws, and the posts to look at (None: all).
        limit: examples of each sort.

    Raises:
        StoreError: there is no such campaign.
    """
    sides = Counter[tuple[bool, bool]]()
    authors: dict[int, tuple[bool, bool]] = {}
    examples: dict[tuple[bool, bool], list[dict[str, Any]]] = {COMING: [], LEAVING: []}
    with session.open_reader() as connection:
        posts, stored = draw_stored_posts(connection, find_campaign(connection, campaign)[0], *drawn)
        for post in posts:
            side = post.matches, topic.hits(post.text, post.lang, post.created_at) > 0
            sides[side] += 1
            if post.author is not None:
                known = authors.get(post.author, (False, False))
                authors[post.author] = known[0] or side[0], known[1] or side[1]
            if len(some := examples.get(side, [])) < limit:
                some.append({"id": post.id, "text": post.text})
    people = Counter(authors.values())
    return ModelPreview(
        stored, sides.total(), sides[True, True] + sides[LEAVING], sides[COMING], sides[LEAVING],
        people[True, True] + people[LEAVING], people[COMING], people[LEAVING],
        tuple(examples[COMING]), tuple(examples[LEAVING]),
    )  # fmt: skip


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
    return _match_rows(platform, words, rows, limit, seconds)


@check_arguments(
    texts=KEYWORDS, keywords=KEYWORDS, patterns=KEYWORDS, languages=KEYWORDS, platform=TEXT, limit=make_whole_rule(1),
    timeout=TEXT,
)  # fmt: skip
def match_texts(
    texts: Sequence[str],
    keywords: Sequence[str] = (),
    *,
    patterns: Sequence[str] = (),
    languages: Sequence[str] = (),
    platform: str = DEFAULT.name,
    limit: int = 50,
    timeout: str = "5s",
) -> MatchPreview:
    """Return which of some texts match a topic, as `Dataset.preview_matches` does for stored posts.

    Args:
        texts: the posts.
        keywords: see `Dataset.preview_matches`, as for the following.
        patterns: regular expressions.
        languages: no language of a text is known, so all match.
        platform: whose hashtags, mentions and addresses count.
        limit: the number of matching texts to return, and of others.
        timeout: the longest time to count.

    Raises:
        SettingsError: the topic is unusable, there is no such platform, or counting takes too long.

    Example:
        >>> preview = sc.match_texts(["A clear sky", "Rain all day"], ["sky"])
        >>> [post["text"] for post in preview.matches], preview.matches[0]["spans"]
        (['A clear sky'], [[8, 11]])
    """
    rows = [("", None, text, None, None, None, None) for text in texts]
    return _match_rows(platform, (keywords, patterns, languages), rows, limit, parse_seconds(timeout))


def _match_rows(
    platform: str,
    words: tuple[Sequence[str], Sequence[str], Sequence[str]],
    rows: Sequence[Sequence[Any]],
    limit: int,
    seconds: float,
) -> MatchPreview:
    counts = count_matches(platform, words, [row[2:] for row in rows], seconds, time.monotonic)
    posts = [
        {"id": row[0], "author": row[1], "created_at": row[4], "text": row[2], "occurrences": count, "spans": []}
        for row, count in zip(rows, counts, strict=True)
    ]
    found = [one for one in posts if one["occurrences"]]
    others = [one for one in posts if not one["occurrences"]]
    shown = found[:limit]
    places = find_match_spans(platform, words, [one["text"] for one in shown], seconds)
    for one, spans in zip(shown, places, strict=True):
        one["spans"] = spans
    return MatchPreview(len(posts), len(found), sum(counts), tuple(shown), tuple(others[:limit]))
