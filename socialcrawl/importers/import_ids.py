"""Ids of posts, from files into a capture that fetches the posts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from socialcrawl.campaign.plan import make_topic
from socialcrawl.campaign.settings import Settings
from socialcrawl.crawls.registry import kind_of
from socialcrawl.errors import PostsFileError, SettingsError
from socialcrawl.formats.column_tables import CellTable, open_table
from socialcrawl.formats.lines import LineErrors
from socialcrawl.importers.import_dataset import lock_campaign
from socialcrawl.importers.import_posts import Watch
from socialcrawl.platforms.hydration import PostIdError, PostLookUp
from socialcrawl.platforms.registry import platform_of
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.imports.wanted_ids import IdImportResult
from socialcrawl.storage.imports.wanted_ids import import_ids as store_ids

NAMES = ("id", "tweet_id", "post_id", "status_id", "id_str", "tweetid", "uri", "url", "link")
"""What a column of ids is called; the first of them that a table has."""


@dataclass(frozen=True, slots=True)
class IdFiles:
    """Files with ids and how they are read: bad lines may be skipped; `watch` gets the progress."""

    paths: Sequence[Path]
    skip_bad: bool = False
    watch: Watch = lambda what, rows: None


def import_ids(files: IdFiles, connection: Opened, settings: Settings, now: float) -> tuple[IdImportResult, LineErrors]:
    """Return what came of adding ids to a capture, and the lines that were left out.

    Nothing is stored where something is wrong. A second time only what is new is stored.

    Args:
        files: what to read.
        connection: the database.
        settings: the campaign, which is begun if it is new.
        now: Unix seconds.

    Raises:
        SettingsError: the campaign is of another kind, or its platform cannot be asked for posts by their ids.
        PostsFileError: a file cannot be read.
        StoreError: the campaign is running.
    """
    look_up, trouble = _find_look_up(settings), LineErrors()
    ids = read_ids(files.paths, look_up, trouble, files.watch)
    if not files.skip_bad:
        trouble.refuse()
    with lock_campaign(connection, settings, now) as number:
        hits = make_topic(settings).hits
        return store_ids(connection, number, ids, width=look_up.width, hits=hits, at=now), trouble


def read_ids(
    paths: Iterable[Path], look_up: PostLookUp, trouble: LineErrors, watch: Watch = lambda what, rows: None
) -> list[str]:
    """Return the ids in files, each once, in order.

    A file is a text with an id or an address a line, or a table with a column of them (CSV or Parquet); texts may be
    compressed with gzip.

    Args:
        paths: the files.
        look_up: how the platform is asked for posts.
        trouble: what lines without an id are added to; they are left out.
        watch: told how far it has come.

    Raises:
        PostsFileError: a file cannot be read, or it is not known which of its columns has the ids.
    """
    found: dict[str, None] = {}
    rows = 0
    for path in paths:
        with open_table(path, NAMES, trouble, lambda cell: _is_id(cell, look_up)) as table:
            column = _find_column(path, table)
            for lines, columns in table.chunks if table is not None else ():
                if column is None and len(columns) > 1:
                    raise _make_column_error(path, [f"{len(columns)} columns without names"])
                for line, cell in zip(lines, columns[column or 0], strict=True):
                    try:
                        found[look_up.parse((cell or "").strip())] = None
                    except PostIdError as error:
                        trouble.add(f"{path}, line {line}", str(error))
                rows += len(lines)
                watch("reading", rows)
    return list(found)


def _find_column(path: Path, table: CellTable | None) -> int | None:
    """Return which column of a table has the ids; None where none has a name."""
    if table is None:
        raise PostsFileError(
            f"{path} has JSON: ids are read from a text with one id per line, or from a table with a column id. Posts "
            "that are complete already are imported with --as posts."
        )
    if table.names is None or len(table.names) == 1:
        return None
    place = next((table.names.index(name) for name in NAMES if name in table.names), None)
    if place is None:
        raise _make_column_error(path, table.names)
    return place


def _make_column_error(path: Path, names: Sequence[str]) -> PostsFileError:
    shown = ", ".join(names)[:200]
    return PostsFileError(f"{path} has no column of ids: it has {shown}. Call the column id, in the first line.")


def _is_id(cell: str, look_up: PostLookUp) -> bool:
    try:
        look_up.parse(cell.strip())
    except PostIdError:
        return False
    return True


def _find_look_up(settings: Settings) -> PostLookUp:
    platform = platform_of(settings)
    if not kind_of(settings).hydrates:
        raise SettingsError(
            f"The campaign {settings.name!r} is of kind {settings.kind}: posts are fetched by their ids by one of kind "
            'capture. Write kind = "capture" above the first section of a new campaign file, with another name, and '
            "ids = true under [capture]."
        )
    look_up = platform.make_post_look_up(settings)
    if look_up is None:
        raise SettingsError(f"Posts of {platform.title} cannot be fetched by their ids.")
    return look_up
