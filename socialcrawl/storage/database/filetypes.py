"""Tell what a file or folder is where a database or a campaign file is wanted, and what to give instead."""

import re
import sqlite3
import tomllib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.formats.documents import explain_toml_error, explain_unreadable, read_toml
from socialcrawl.storage.database.address import LIKE_A_SERVER, DatabaseAddress, parse_address

PG_DUMP = b"PGDMP"  # how an archive of pg_dump begins
DATABASE, ARCHIVE, CAMPAIGN = "a database", "an archive of pg_dump", "a campaign file"
EXPORT, PART, FOLDER = "the folder of an export", "a file of an export", "a folder"
TABLES = {".csv": "a CSV file", ".tsv": "a CSV file", ".parquet": "a Parquet file", ".jsonl": "a file of JSON lines"}
OTHER, EMPTY = "a file of another kind", "an empty file"
SHEET = "datasheet.json"  # which every export has
SECTIONS = {"topic", "seeds", "crawl", "source", "budget", "kind", "database"}  # of which a campaign file has one
WRITES_ONE = "`socialcrawl init` writes one"
SHOWN = 5  # files that a message names


@dataclass(frozen=True, slots=True)
class FoundCampaign:
    """What is needed of a campaign file without reading it all: where it is, its name and kind, and its database."""

    path: Path
    name: str
    kind: str
    database: DatabaseAddress

    def writes_into(self, path: Path) -> bool:
        """Return whether its database is the file `path`."""
        return isinstance(self.database, Path) and self.database.absolute() == path.absolute()

    def __str__(self) -> str:
        return f"{self.path} (kind {self.kind})"


def recognize(path: Path) -> str:
    """Return what a file or folder that exists is, as a noun with its article."""
    if path.is_dir():
        return EXPORT if (path / SHEET).is_file() else FOLDER
    try:
        if not path.stat().st_size:
            return EMPTY
        if _is_sqlite(path):
            return DATABASE
        with path.open("rb") as file:
            if file.read(len(PG_DUMP)) == PG_DUMP:
                return ARCHIVE
    except OSError:
        return OTHER
    if read_campaign(path) is not None:
        return CAMPAIGN
    if (path.parent / SHEET).is_file():
        return PART
    return TABLES.get(path.suffix.lower(), OTHER)


def _is_sqlite(path: Path) -> bool:
    """Return whether SQLite takes a file for a database, in whatever state.

    Nothing else may open a database: closing it would release the locks that SQLite holds on it in this process.
    """
    try:
        place = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
        with closing(sqlite3.connect(place, uri=True)) as raw:
            raw.execute("pragma schema_version").fetchone()
    except sqlite3.Error as error:
        return "not a database" not in str(error)
    return True


def read_campaign(path: Path) -> FoundCampaign | None:
    """Return what a campaign file says of its kind and database; None if it is no campaign file."""
    try:
        given = read_toml(path)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return None
    if "name" not in given or not SECTIONS & set(given):
        return None
    try:
        return _make_campaign(path, given)
    except SettingsError:
        return _make_campaign(path, {**given, "database": "socialcrawl.db"})


def _make_campaign(path: Path, given: dict[str, Any]) -> FoundCampaign:
    named = parse_address(str(given.get("database", "socialcrawl.db")))
    place = path.parent / named if isinstance(named, Path) else named
    return FoundCampaign(path, str(given["name"]), str(given.get("kind", "collect")), place)


def require_campaign(path: Path) -> FoundCampaign:
    """Return what a campaign file says of its name, kind and database; its other keys may be wrong.

    Raises:
        SettingsError: it is missing, no TOML, no campaign file, or names no usable database.
    """
    if (wrong := describe_wrong_campaign(path)) is not None:
        raise SettingsError(wrong)
    try:
        given = read_toml(path)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{explain_unreadable(path, error)}: name a campaign file ({WRITES_ONE}).") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is not valid TOML: {explain_toml_error(error, path)}.") from error
    if "name" not in given or not SECTIONS & set(given):
        lacks = "`name`" if "name" not in given else "`database` and [topic]"
        raise SettingsError(f"{path} is not a campaign file, as it has no {lacks}: {_suggest_campaign(path)}.")
    return _make_campaign(path, given)


def find_databases(folder: Path) -> list[Path]:
    """Return the SQLite databases (*.db) of a folder."""
    return [path for path in _list_files(folder, "*.db") if recognize(path) == DATABASE]


def find_campaigns(folder: Path) -> list[FoundCampaign]:
    """Return the campaign files (*.toml) of a folder."""
    return [found for path in _list_files(folder, "*.toml") if (found := read_campaign(path)) is not None]


def _list_files(folder: Path, pattern: str) -> Iterator[Path]:
    yield from (path for path in sorted(folder.glob(pattern)) if path.is_file())


def require_database(place: DatabaseAddress) -> None:
    """Do nothing if `place` may be a database: a server, an SQLite file, or an empty file.

    Raises:
        StoreError: it is missing or something else; the message says what to give instead.
    """
    if not isinstance(place, Path):
        return
    if not place.exists():
        raise StoreError(describe_missing(place))
    if (wrong := describe_wrong_database(place)) is not None:
        raise StoreError(wrong)


def describe_missing(path: Path) -> str:
    """Return that a database is not there, and what to give or run."""
    begun = find_campaigns(path.parent)
    own = [one for one in begun if one.writes_into(path)]
    others = find_databases(path.parent)
    if own:
        what = f"run its campaign first: `socialcrawl run {own[0].path}`"
    elif others:
        what = f"its folder has {_join_words(others, 'and')}"
    else:
        what = f"run a campaign first{_describe_example(begun)}, or name another database"
    return f"There is no database {path}: {what}."


def describe_none() -> str:
    """Return that no database is named and the current folder has none, and what to do."""
    example = _describe_example(find_campaigns(Path()))
    return (
        f"There is no database (*.db) in this folder: run a campaign first{example}, or name a database in another "
        "folder."
    )


def _describe_example(begun: list[FoundCampaign]) -> str:
    return f" (`socialcrawl run {begun[0].path}`)" if begun else " (`socialcrawl init` writes a campaign file)"


def describe_wrong_database(path: Path) -> str | None:
    """Return what a file or folder is that is no database, and what to give instead; None if it may be a database."""
    kind = recognize(path)
    if kind in (DATABASE, EMPTY) or (kind == OTHER and not path.is_file()):
        return None
    return f"{path} is {kind}, not a database: {_suggest_database(path, kind)}."


def _suggest_database(path: Path, kind: str) -> str:
    if kind == CAMPAIGN and (campaign := read_campaign(path)) is not None:
        place = campaign.database
        if isinstance(place, Path) and not place.exists():
            return f"it writes into {place}, which does not exist yet, so run it first: `socialcrawl run {path}`"
        return f"give the database that it writes into, {place}"
    inside = find_databases(path) if path.is_dir() else []
    if inside:
        return f"give a database in it, {_join_words(inside)}"
    near = find_databases(path.parent) or find_databases(Path())
    such = f", such as {_join_words(near)}" if near else ""
    if kind in (EXPORT, PART):
        export = path if kind == EXPORT else path.parent
        return f"give the database that was exported{such}; `socialcrawl verify {export}` checks the export"
    if kind == ARCHIVE:
        return "restore it with pg_restore, and give postgresql://USER@HOST/NAME"
    return f"give an SQLite file{such}, or postgresql://USER@HOST/NAME, with --db or as database in the campaign file"


def describe_no_export(folder: Path) -> str | None:
    """Return that a folder holds no export, and what to give instead; None if it does."""
    if recognize(folder) == EXPORT:
        return None
    exports = [one for one in sorted(folder.iterdir()) if one.is_dir() and recognize(one) == EXPORT]
    inside = [*exports, *find_databases(folder)]
    what = _join_words(inside) if inside else "a folder that `socialcrawl export` wrote, or a database"
    return f"{folder} is a folder without an export, as it has no {SHEET}: give {what}."


def describe_wrong_campaign(path: Path) -> str | None:
    """Return what `path` is that is no campaign file, and what to give instead; None if it may be one, or is broken."""
    if LIKE_A_SERVER.search(re.sub(r":/+", "://", str(path))):  # a path has one / where a URL has two
        return "That is the address of a database, not a campaign file: give the campaign file (*.toml)."
    if not path.exists():
        return f"There is no campaign file {path}: {_suggest_campaign(path)}."
    kind = recognize(path)
    if kind in (CAMPAIGN, OTHER) or (kind == PART and path.suffix == ".toml"):
        return None
    return f"{path} is {kind}, not a campaign file: {_suggest_campaign(path)}."


def _suggest_campaign(path: Path) -> str:
    """Return which campaign files to give: those in a folder, of a database, or beside what was given."""
    if path.is_dir() and (inside := find_campaigns(path)):
        return f"give one in it, {_join_words(inside)}"
    folders = dict.fromkeys([path.parent, Path()])
    near = [one for folder in folders for one in find_campaigns(folder)]
    own = [one for one in near if one.writes_into(path)]
    if own:
        return f"give the campaign file that writes into it, {_join_words(own)}"
    return f"name a campaign file, such as {_join_words(near)}" if near else f"name a campaign file ({WRITES_ONE})"


def _join_words(some: list[Path] | list[FoundCampaign], between: str = "or") -> str:
    names = list(map(str, some))
    names = [*names[: SHOWN - 1], "others"] if len(names) > SHOWN else names
    *first, last = names
    return f"{', '.join(first)} {between} {last}" if first else last
