"""What `Dataset.search` and `Dataset.posts` are asked, the rows that answer it, and the index that makes it fast."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import date
from itertools import islice
from typing import Any

from socialcrawl.api.argument_checks import ArgumentRule
from socialcrawl.api.data_tables import Table
from socialcrawl.api.page_addresses import finish_post
from socialcrawl.api.table_definitions import POST_ROWS, POSTS, TableDefinition, make_table
from socialcrawl.engine.model import format_time
from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.post_search.index import SECOND, update_index
from socialcrawl.storage.post_search.reading import (
    PostFilter,
    PostKey,
    count_posts,
    find_posts,
    match_authors,
    parse_cursor,
    read_rows,
)
from socialcrawl.storage.queries.read_session import ReadSession
from socialcrawl.text.post_query import PostQuery
from socialcrawl.text.wording import parse_instant, parse_seconds


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
    author: str | None,
    campaign: int | None,
    since: str | date | None,
    until: str | date | None,
    after: str | None = None,
    *,
    off_topic: bool = False,
) -> PostFilter:
    """Return which posts are meant, from the arguments of `Dataset.search`; `campaign`: whose topic they match or not.

    Raises:
        SettingsError: `after` is no place in a search.
    """
    place = None if after is None else parse_cursor(after)
    return PostFilter(author, campaign, _to_microseconds(since), _to_microseconds(until), place, off_topic)


def search_posts(
    session: ReadSession, campaign: int, question: tuple[PostQuery, PostFilter, int | None], timeout: str | None
) -> Table:
    """Return the table of the posts that match a query; see `Dataset.search`.

    Args:
        session: the database.
        campaign: the number of the one whose topic counts.
        question: what the posts match, which are searched, and how many are wanted.
        timeout: the longest time, as "20s"; None: without a bound.
    """
    seconds = None if timeout is None else parse_seconds(timeout)

    def read(size: int) -> Iterator[Sequence[Sequence[Any]]]:
        end = None if seconds is None else time.monotonic() + seconds

        def check() -> None:
            if end is not None and time.monotonic() > end:
                raise StoreError(
                    f"The search read texts for {seconds:g} s and was stopped, as many posts are in no search index. "
                    "Build the index (`socialcrawl search` does), or name an author."
                )

        with session.open_reader() as connection, closing(find_posts(connection, *question, check)) as keys:
            while page := list(islice(keys, size)):
                yield read_rows(connection, POST_ROWS, {"number": campaign}, page)

    return make_table(session, "search", POSTS, {}, finish_post, read)


def count_found(
    session: ReadSession, query: PostQuery | None, among: PostFilter, most: int, timeout: str
) -> int | None:
    """Return how many posts match; see `Dataset.count_posts`."""
    end = time.monotonic() + parse_seconds(timeout)

    def check() -> None:
        if time.monotonic() > end:
            raise TimeoutError

    try:
        with session.open_reader() as connection:
            return count_posts(connection, query, among, most, check)
    except TimeoutError:
        return None


def describe_posts(session: ReadSession, campaign: int, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return rows of the table posts by their ids, of those posts that are stored.

    Args:
        session: the database.
        campaign: the number of the one whose topic counts.
        ids: of the posts.
    """

    def read(size: int) -> Iterator[Sequence[Sequence[Any]]]:
        with session.open_reader() as connection:
            for begin in range(0, len(ids), size):
                keys = [PostKey(0, one) for one in ids[begin : begin + size]]
                yield read_rows(connection, POST_ROWS, {"number": campaign}, keys)

    return {row["id"]: row for row in make_table(session, "posts", POSTS, {}, finish_post, read)}


def list_posts(
    session: ReadSession, among: PostFilter, after: str | None, *, newest_first: bool
) -> tuple[TableDefinition, dict[str, Any]]:
    """Return the table of the posts that a filter leaves, in the order of time, and the parameters of its SELECT.

    Raises:
        StoreError: no account has the author's name or id.
    """
    direction, beyond = ("desc", "<") if newest_first else ("asc", ">")
    with session.open_reader() as connection:
        authors = "" if among.author is None else match_authors(connection, among.author)
    given = {
        "number": among.campaign,
        "off_topic": int(among.off_topic),
        "since": _to_text(among.since),
        "until": _to_text(among.until),
        "after": after or "",
    }
    return POSTS._replace(sql=POSTS.sql.format(direction=direction, beyond=beyond, authors=authors)), given


def fill_index(connection: Opened, watch: Callable[[int], Any], seconds: float | None = None) -> bool:
    """Take posts into the index, and return whether all are in it.

    After each transaction it pauses as long as that took: campaigns write meanwhile.

    Args:
        connection: the database, without a transaction.
        watch: called with the number of posts that were taken in, after each transaction.
        seconds: the longest time, about; None: until all are in it.

    Raises:
        StoreError: the database cannot be written.
    """
    began = begin = time.monotonic()
    for count in update_index(connection):
        watch(count)
        now = time.monotonic()
        if seconds is not None and now - began > seconds:
            return False
        time.sleep(now - begin)
        begin = time.monotonic()
    return True


def _to_text(moment: int | None) -> str:
    """Return a moment so that it compares with times as posts have them: without the zone and without zeros."""
    if moment is None:
        return ""
    whole, _, part = format_time(moment / SECOND).removesuffix("Z").partition(".")
    return f"{whole}.{part.rstrip('0')}".removesuffix(".")


def _to_microseconds(given: str | date | None) -> int | None:
    if given is None:
        return None
    return round(parse_instant(given if isinstance(given, str) else given.isoformat()) * SECOND)
