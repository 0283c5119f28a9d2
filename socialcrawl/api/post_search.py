"""What `Dataset.search` is asked, and the rows that answer it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date
from itertools import islice
from typing import Any

from socialcrawl.api.argument_checks import ArgumentRule
from socialcrawl.errors import SettingsError
from socialcrawl.storage.post_search.index import SECOND
from socialcrawl.storage.post_search.reading import PostFilter, find_posts, parse_cursor, read_rows
from socialcrawl.storage.queries.read_session import ReadSession
from socialcrawl.text.post_query import PostQuery
from socialcrawl.text.wording import parse_instant


def _convert_instant(value: Any) -> Any:
    if not isinstance(value, str | date):
        raise TypeError
    try:
        _to_microseconds(value)
    except SettingsError:
        raise ValueError from None
    return value


INSTANT = ArgumentRule('a date or time, such as "2026-01-31" or a datetime', _convert_instant)


def make_filter(
    author: str | None, campaign: int | None, since: str | date | None, until: str | date | None, after: str | None
) -> PostFilter:
    """Return which posts are searched, from the arguments of `Dataset.search`; `campaign`: whose topic they match.

    Raises:
        SettingsError: `after` is no place in a search.
    """
    place = None if after is None else parse_cursor(after)
    return PostFilter(author, campaign, _to_microseconds(since), _to_microseconds(until), place)


def read_found(
    session: ReadSession,
    sql: str,
    parameters: Mapping[str, Any],
    question: tuple[PostQuery, PostFilter, int | None],
    size: int,
) -> Iterator[Sequence[Sequence[Any]]]:
    """Yield the rows of the posts that match, at most `size` at a time.

    Args:
        session: the database.
        sql: a SELECT of posts, without a condition, from a table `p`; the first column is the id.
        parameters: its parameters.
        question: what the posts match, which are searched, and how many are wanted.
        size: at least 1.

    Raises:
        StoreError: no account has the author's name or id; the database was closed, or cannot be read.
    """
    with session.open_reader() as connection, closing(find_posts(connection, *question)) as keys:
        while page := list(islice(keys, size)):
            yield read_rows(connection, sql, parameters, page)


def _to_microseconds(given: str | date | None) -> int | None:
    if given is None:
        return None
    return round(parse_instant(given if isinstance(given, str) else given.isoformat()) * SECOND)
