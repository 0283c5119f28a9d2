"""`socialcrawl search`: stored posts by their words."""

import json
from collections.abc import Mapping
from typing import Any

from rich.console import Console

from socialcrawl.api.dataset import Dataset
from socialcrawl.api.post_search import fill_index
from socialcrawl.errors import StoreError
from socialcrawl.render.found_posts import show_posts
from socialcrawl.render.query_table import convert_for_json
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.connection import HURRY, open_database
from socialcrawl.storage.database.health import open_readable
from socialcrawl.storage.post_search.index import has_index, is_large
from socialcrawl.text.post_query import parse_query
from socialcrawl.text.terminal import write_error, write_json
from socialcrawl.text.wording import parse_instant, pluralize

SAID = 50_000  # posts that are indexed between two lines about it


def search_posts(
    where: DatabaseAddress, query: str, options: Mapping[str, Any], console: Console, *, as_json: bool = False
) -> int:
    """Search the posts of a database and return the exit code: 1 if none was found.

    Args:
        where: the database.
        query: what to search for.
        options: the other arguments of `Dataset.search`, with a `limit`.
        console: where the posts are read.
        as_json: one JSON object a line to stdout instead.

    Raises:
        SettingsError: the query has nothing to search for, or an option makes no sense.
        StoreError: there is no such database, campaign or author.
    """
    wanted = parse_query(query)
    for end in (options["since"], options["until"]):
        if end is not None:
            parse_instant(end)  # whose message is for the command line
    _bring_up_to_date(where)
    with Dataset(where) as data:
        table = data.search(query, **{**options, "limit": options["limit"] + 1})
        found = list(table)
        posts = found[: options["limit"]]
        if as_json:
            for post in posts:
                write_json(json.dumps(post, ensure_ascii=False, default=convert_for_json))
        elif posts:
            show_posts(console, posts, wanted)
    if len(found) > len(posts) > 0:
        write_error(f"There are more: add --after {_make_cursor(posts[-1])}, or a larger --limit.")
    elif not found:
        write_error(
            "No post matches. All words have to occur: search for fewer words, for a beginning (tele*), or for "
            "alternatives with OR between them."
        )
    return int(not found)


def _bring_up_to_date(where: DatabaseAddress) -> None:
    """Bring the index of a large database up to date; where it cannot be written, say so."""
    with open_readable(where) as connection:
        if not has_index(connection) and not is_large(connection):
            return
    try:
        with open_database(where, create=False, busy=HURRY) as connection:
            said = 0

            def say(count: int) -> None:
                nonlocal said
                if count >= said + SAID:
                    said = count
                    write_error(f"{pluralize(count, 'post')} added to the search index")

            fill_index(connection, say)
    except StoreError as error:
        write_error(
            f"The search index was not updated, so that this search reads more posts, and takes longer: {error}"
        )


def _make_cursor(post: Mapping[str, Any]) -> str:
    at = post["created_at"]
    return f"{'' if at is None else at.strftime('%Y-%m-%dT%H:%M:%S.%fZ')}/{post['id']}"
