"""Rows with author, created_at, text and whatever else a table of posts has, into pages. Pure.

The columns are those of table `post` and those that `socialcrawl mock` reads:

- `author`: a username. `author_id`: the platform's own id of the author, where it is known.
- `created_at` and, on request, `fetched_at`, `metrics_at`: Unix seconds, ISO 8601 text or timestamps.
- `id`: the platform's own id of the post; a post without one gets an id that is made of author, time and text.
- `mentions`: a list of usernames, a JSON list, or names separated by spaces, commas or semicolons; without the column,
  the names are read from `@name` in the text.
- `reply_to`: the id of the post that is answered, or the name of its author.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from hashlib import blake2b
from math import isfinite
from typing import Any

import orjson

from socialcrawl.engine.model import LARGEST, Mention, Page, PostRow, Who, format_time
from socialcrawl.formats.csv_files import NEEDED
from socialcrawl.formats.lines import LineErrors
from socialcrawl.graph.relevance import Hits
from socialcrawl.storage.imports.parsed_page import MADE, ParsedPage

TEXTS = ("lang", "conversation_id", "reply_to", "repost_of", "quote_of")
LISTS = ("hashtags", "urls")
COUNTS = ("likes", "replies", "reposts", "quotes", "bookmarks", "views")
IDS = ("id", "author_id", "conversation_id", "repost_of", "quote_of", "reply_to")
ROUNDED = re.compile(r"\d+([.,]\d+)?[eE]\+?\d+|\d+[.,]0*")  # what a spreadsheet makes of a long number
TIMES = ("metrics_at", "fetched_at")  # when the counts were read, and when the post was
KNOWN = (*NEEDED, *TEXTS, *LISTS, *COUNTS, *TIMES, "id", "author_id", "mentions", "original")
LATEST = 3_471_292_800.0  # 2080-01-01: what is later is milliseconds by mistake
AT_NAME = re.compile(r"(?<!\w)@(\w+)")
BETWEEN_NAMES = re.compile(r"[\s,;]+")
REPOST = re.compile(r"RT @([^\s:]+)")

Row = Mapping[str, Any]


class BadRowError(ValueError):
    """A row that is no post; `str(error)` says why."""


def parse_rows(rows: Sequence[tuple[str, Row]], count: Hits, trouble: LineErrors) -> ParsedPage:
    """Return the posts of some rows; the bad ones are noted.

    Args:
        rows: (where it is, the row by column), in order.
        count: occurrences of the topic in a post, by text, language and time.
        trouble: what bad rows are added to.
    """
    posts: list[PostRow] = []
    times: list[tuple[str, str] | None] = []
    mentions: list[Mention] = []
    replies: list[tuple[int, str]] = []
    authors: dict[str, Who] = {}
    for where, row in rows:
        try:
            author, post, at = _parse_author(row), _parse_post(row), _parse_times(row)
            named = _find_mentions(row, post.text)
        except BadRowError as error:
            trouble.add(where, str(error))
            continue
        key = author.id or f"@{author.username}".lower()
        authors[key] = author
        place = len(posts)
        posts.append(post._replace(author=key))
        times.append(at)
        mentions += [Mention(place, who, kind) for who, kind in named]
        if post.reply_to is not None:
            replies.append((place, post.reply_to))
    page = Page(posts, _count_topic(posts, mentions, authors, count), mentions)
    return ParsedPage(page, None, times, authors, replies=replies)


def _count_topic(
    posts: Sequence[PostRow], mentions: Sequence[Mention], authors: Mapping[str, Who], count: Hits
) -> list[int]:
    """Return the occurrences of the topic in each post."""
    named: dict[int, list[str]] = {}
    for one in mentions:
        author, name = authors[posts[one.post].author], one.who.id or one.who.username or ""
        if name not in (author.id, author.username):
            named.setdefault(one.post, []).append(name)
    listed = {place: orjson.dumps(names).decode() for place, names in named.items()}
    return [
        count(post.text, post.lang, post.created_at, post.urls, listed.get(place)) for place, post in enumerate(posts)
    ]


def _parse_author(row: Row) -> Who:
    name = _read_text(row, "author")
    key = _read_text(row, "author_id")
    if not name and not key:
        raise BadRowError("the author is empty")
    # An export names an account without a known name by its id.
    return Who(key, name.removeprefix("@") if name and name != key else None)


def _parse_post(row: Row) -> PostRow:
    text = _read_text(row, "text") or ""
    at = format_time(_parse_instant(row, "created_at"))
    created_at = f"{at[:-4]}Z"  # milliseconds, as the platform writes them
    key = _read_text(row, "id") or _make_id(_parse_author(row), at, text)
    columns: dict[str, Any] = {name: _read_text(row, name) for name in TEXTS}
    columns["reply_to"] = (columns["reply_to"] or "").removeprefix("@") or None
    columns |= {name: _read_list(row, name) for name in LISTS} | {name: _read_count(row, name) for name in COUNTS}
    return PostRow(id=key, author="", created_at=created_at, text=text, original=_read_original(row), **columns)


def _make_id(author: Who, at: str, text: str) -> str:
    """Return an id for a post that came without one: the same again whenever the post is imported."""
    who = (author.username or str(author.id)).lower()
    return MADE + blake2b(orjson.dumps([who, at, text]), digest_size=12).hexdigest()


def _find_mentions(row: Row, text: str) -> list[tuple[Who, str]]:
    """Return whom a post mentions, each once and in order; a repost says whom it repeats in its text."""
    given = row.get("mentions") if "mentions" in row else AT_NAME.findall(text)
    names: dict[str, str] = {}
    for name in _split_names(given):
        names.setdefault(name.lower(), name)
    repost = REPOST.match(text)
    reposted = repost[1].lower() if repost else None
    by_id = not _is_empty(row.get("author_id"))  # a table that knows ids may name people by them
    return [
        (Who(name, None) if by_id and name.isdigit() else Who(None, name), "repost" if one == reposted else "mention")
        for one, name in names.items()
    ]


def _split_names(given: Any) -> list[str]:
    if _is_empty(given):
        return []
    if isinstance(given, str) and given.lstrip().startswith("["):
        try:
            given = orjson.loads(given)
        except orjson.JSONDecodeError as error:
            raise BadRowError(f"mentions is not a JSON list: {given[:60]!r}") from error
    words = BETWEEN_NAMES.split(given) if isinstance(given, str) else given
    if not isinstance(words, list | tuple) or not all(isinstance(word, str | None) for word in words):
        raise BadRowError(f"mentions is not a list of names: {given!r:.60}")
    return [bare for word in words if (bare := (word or "").strip().removeprefix("@"))]


def _parse_times(row: Row) -> tuple[str, str] | None:
    """Return when the counts were read and when the post was fetched, where the row tells it."""
    instants = [format_time(_parse_instant(row, name)) for name in TIMES if not _is_empty(row.get(name))]
    return (instants[0], instants[-1]) if instants else None


def _parse_instant(row: Row, name: str) -> float:
    """Return the Unix seconds of a cell."""
    given = row.get(name)
    try:
        if isinstance(given, str):
            given = _parse_time(given.strip())
        if isinstance(given, date) and not isinstance(given, datetime):
            given = datetime(given.year, given.month, given.day, tzinfo=UTC)
        if isinstance(given, datetime):
            given = (given if given.tzinfo else given.replace(tzinfo=UTC)).timestamp()
        if isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given < LATEST:
            return float(given)
    except (ValueError, OverflowError):
        pass
    shown = row.get(name)
    raise BadRowError(f"{name} is {shown!r:.60}: give Unix seconds or ISO 8601 between 1970 and 2080")


def _parse_time(text: str) -> datetime | float:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return float(text)


def _read_text(row: Row, name: str) -> str | None:
    """Return a cell as text; None where it is empty. Ids may have been read as whole numbers."""
    given = row.get(name)
    if _is_empty(given):
        return None
    if isinstance(given, int | float) and not isinstance(given, bool) and given == int(given) and name != "text":
        if isinstance(given, float) and abs(given) >= 2**53:
            raise BadRowError(f"{name} was turned into the rounded number {given!r}: keep ids as text")
        return str(int(given))
    if not isinstance(given, str):
        raise BadRowError(f"{name} is not text: {given!r:.60}")
    if name in IDS and ROUNDED.fullmatch(given.strip()):
        raise BadRowError(f"{name} was turned into the rounded number {given.strip()!r:.60}: keep ids as text")
    return given if name == "text" else given.strip() or None


def _read_count(row: Row, name: str) -> int | None:
    given = row.get(name)
    if _is_empty(given):
        return None
    try:
        number = int(given) if isinstance(given, str) else given
        if isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number <= LARGEST:
            return int(number)
    except ValueError:
        pass
    raise BadRowError(f"{name} is not a number: {given!r:.60}")


def _read_list(row: Row, name: str) -> str | None:
    """Return a list of words as JSON, from a list, a JSON list or words."""
    given = row.get(name)
    if _is_empty(given):
        return None
    if isinstance(given, str) and given.lstrip().startswith("["):
        return given
    words = given.split() if isinstance(given, str) else given
    try:
        return orjson.dumps(words).decode() if words else None
    except TypeError as error:
        raise BadRowError(f"{name} is not a list: {given!r:.60}") from error


def _read_original(row: Row) -> str | None:
    given = row.get("original")
    try:
        return given or None if isinstance(given, str | None) else orjson.dumps(given, default=str).decode()
    except TypeError as error:
        raise BadRowError(f"original is not valid JSON: {error}") from error


def _is_empty(given: Any) -> bool:
    return given is None or given == "" or (isinstance(given, float) and not isfinite(given))
