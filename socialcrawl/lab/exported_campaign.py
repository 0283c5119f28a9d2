"""An export of one campaign, read back: what a mock needs to answer it once more."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from socialcrawl.engine.model import Act, Reason, ReplyKind
from socialcrawl.errors import PostsFileError
from socialcrawl.formats.documents import read_text
from socialcrawl.formats.parquet import read_table
from socialcrawl.system.bounds import MAX_LINE

FORMAT = "socialcrawl export"
TABLES = {
    "posts": ("id", "created_at", "text", "lang", "conversation_id", "reply_to", "repost_of", "author_node"),
    "accounts": ("node", "platform_id", "username", "name", "protected"),
    "mentions": ("post", "node", "kind", "position"),
    "picks": ("n", "node", "act", "missing"),
    "requests": ("n", "endpoint", "kind", "query", "post_ids"),
}
TIMELINE, SEARCH = "/2/users/:id/tweets", "/2/tweets/search/recent"
TRIED = Reason.TEMPORARY

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Exported:
    """The rows of an export, as tuples in the order of TABLES, and what its requests brought.

    Attributes:
        posts, accounts, mentions: the tables; mentions in the order in which each post names people.
        missing: why accounts could not be read, by node, where none of the requests for their posts was answered.
        timelines: the ids of the posts that each timeline showed, by node.
        searches: the ids of the posts that each search found, by its query.
    """

    posts: list[Row]
    accounts: list[Row]
    mentions: list[Row]
    missing: dict[int, str]
    timelines: dict[int, list[str]]
    searches: dict[str, list[str]]


def read_export(folder: Path) -> Exported:
    """Return the export in a folder.

    Raises:
        PostsFileError: it is none, or one that cannot be answered from: of several campaigns, without names, without
            Parquet, or empty.
    """
    _check(folder)
    tables = {name: _read_rows(folder / f"{name}.parquet", columns) for name, columns in TABLES.items()}
    if not tables["posts"]:
        raise PostsFileError(f"{folder} holds no posts: export a campaign that has read some.")
    acts = {row[0]: (row[1], row[2]) for row in tables["picks"]}
    timelines: dict[int, list[str]] = {}
    searches: dict[str, list[str]] = {}
    for n, endpoint, kind, query, ids in tables["requests"]:
        if kind not in (ReplyKind.OK, ReplyKind.MISSING, ReplyKind.HELD):
            continue
        if endpoint == SEARCH and query is not None:
            searches.setdefault(query, []).extend(ids or ())
        elif endpoint == TIMELINE and n in acts and (ids or kind != ReplyKind.MISSING):
            timelines.setdefault(acts[n][0], []).extend(ids or ())
    missing = dict(_find_missing(tables["picks"]))
    return Exported(tables["posts"], tables["accounts"], tables["mentions"], missing, timelines, searches)


def _check(folder: Path) -> None:
    try:
        sheet = json.loads(read_text(folder / "datasheet.json", most=MAX_LINE))
        known = sheet["format"] == FORMAT
        campaigns, hidden = len(sheet["campaigns"]), sheet["pseudonymised"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        known, campaigns, hidden = False, 0, False
    if not known:
        raise PostsFileError(f"{folder} is not an export: make one with `socialcrawl export {folder}`.")
    if hidden:
        raise PostsFileError(
            f"{folder} is pseudonymised: whom the campaign asks has other names there. Export it again."
        )
    if campaigns != 1:
        raise PostsFileError(f"{folder} holds {campaigns} campaigns: export the one that is to be rehearsed.")


def _read_rows(path: Path, columns: Sequence[str]) -> list[Row]:
    try:
        found = read_table(path, columns)
    except FileNotFoundError as error:
        raise PostsFileError(f"{path} is missing: export with --format parquet.") from error
    except OSError as error:
        raise PostsFileError(f"{path} cannot be read: {str(error).splitlines()[0]}. Export it again.") from error
    if lacking := [name for name in columns if name not in found.column_names]:
        raise PostsFileError(f"{path} lacks the column {lacking[0]}: export it again.")
    return list(zip(*(found.column(name).to_pylist() for name in columns), strict=True))


def _find_missing(picks: list[Row]) -> Iterator[tuple[int, str]]:
    """Yield why accounts are missing, by node: the last word on each; one that was read at all is not missing."""
    last = {node: missing for _, node, act, missing in picks if node >= 0 and missing != TRIED}
    unread = (Act.RESOLVE, Act.CAPTURED)
    read = {node for _, node, act, missing in picks if act not in unread and missing is None}
    yield from ((node, missing) for node, missing in last.items() if missing is not None and node not in read)
