"""A dataset that grows: Parquet files in folders by time, to which each run adds what is new.

DuckDB, polars, Spark and Dask read such a folder as one table. What was deleted from the database since leaves it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.exc import DBAPIError

from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.exporters.export_folder import check_folder, open_new_folder
from socialcrawl.exporters.exported_tables import SHEETS
from socialcrawl.exporters.new_posts import (
    choose_accounts,
    choose_posts,
    fill_candidates,
    find_position,
    has_changed,
    read_candidates,
)
from socialcrawl.exporters.partition_files import (
    ACCOUNTS,
    OURS,
    PERIODS,
    TABLES,
    DatasetFolder,
    DatasetPart,
    DatasetState,
    FileFacts,
    list_columns,
    list_tables,
    read_cells,
    read_numbers,
    read_state,
)
from socialcrawl.exporters.selection import ExportSelection, open_selection
from socialcrawl.exporters.table_files import read_pyarrow_version
from socialcrawl.storage.database import address
from socialcrawl.storage.database.trouble import convert_error
from socialcrawl.storage.schema.tables import campaign
from socialcrawl.system.files import get_folder_mode
from socialcrawl.system.locks import Lock
from socialcrawl.text.wording import explain_unknown

NAME = "parquet-dataset"
"""The format's name among those of `socialcrawl export`."""
LARGEST = 500_000  # posts in a file
Watch = Callable[[str, int], Any]


@dataclass(frozen=True)
class PartitionOptions:
    """What a dataset has.

    Attributes:
        campaign: its name; None: the newest.
        whole: everything in the database instead.
        by: one of `PERIODS`: into what the times of posts are divided; None: as the dataset is, or month.
        since_last: whether an existing dataset is kept, and what is new is added.
        force: whether an existing one is replaced.
    """

    campaign: str | None = None
    whole: bool = False
    by: str | None = None
    since_last: bool = False
    force: bool = False


@dataclass(slots=True)
class DatasetChanges:
    """What a run changed.

    Attributes:
        added: posts.
        removed: posts that are no longer in the database.
        rewritten: files whose rows changed.
    """

    added: int = 0
    removed: int = 0
    rewritten: int = 0


def write_dataset(
    connection: Connection, folder: Path, wanted: PartitionOptions, watch: Watch = lambda what, rows: None
) -> dict[str, Any]:
    """Write a dataset into a folder, or add to it what is new; return what changed and what there is.

    Campaigns may run meanwhile. At any moment, also after the process was killed, the folder can be read, and has no
    post twice; the next run adds what is missing.

    Args:
        connection: the database.
        folder: where; see `PartitionOptions.since_last`.
        wanted: what.
        watch: told what is being written, and how many posts were.

    Raises:
        SettingsError: the folder holds something else, or another dataset.
        StoreError: there is no such campaign, or the database or the disk fails.
    """
    if wanted.by is not None and wanted.by not in PERIODS:
        raise SettingsError(explain_unknown("period", wanted.by, tuple(PERIODS)))
    read_pyarrow_version()
    try:
        with open_selection(connection, wanted.campaign, whole=wanted.whole, filled=False) as choice:
            if not wanted.since_last:
                with open_new_folder(folder, force=wanted.force) as made:
                    return _update(choice, made, wanted, watch)
            begun = folder.is_dir() and [path.name for path in folder.iterdir()] == [OURS]
            if read_state(folder) is None and not begun:
                check_folder(folder.resolve(), force=False)
            folder.mkdir(mode=get_folder_mode(), exist_ok=True)
            (folder / OURS).mkdir(exist_ok=True)
            lock = Lock(folder / OURS / "lock", "The dataset is being written by another process: wait until it ends.")
            try:
                return _update(choice, folder, wanted, watch)
            finally:
                lock.release()
    except DBAPIError as error:
        raise convert_error(error, address.find_address(connection)) from error
    except OSError as error:
        raise StoreError(
            f"The dataset {folder} could not be written ({error.strerror or error}). It can be read; run the same "
            "command with --since-last again when there is room."
        ) from error


def _update(choice: ExportSelection, folder: Path, wanted: PartitionOptions, watch: Watch) -> dict[str, Any]:
    to, changes = DatasetFolder(folder, _find_state(choice, folder, wanted)), DatasetChanges()
    state = to.state
    to.save_state()
    to.remove_leftovers()
    now = find_position(choice)
    changed = bool(state.parts) if state.position is None else has_changed(state.position, now)
    if changed:
        for number, part in enumerate(list(state.parts)):
            watch("comparing files", number)
            _renew_part(choice, to, part, changes)
    for period in fill_candidates(choice, state.position, PERIODS[state.by], changed=changed):
        mine = [to.find("posts", part) for part in state.parts if part.period == period]
        known = {key for path in mine for rows in read_cells(path, "id") for (key,) in rows}
        for keys in read_candidates(choice, period, known, LARGEST):
            choose_posts(choice, keys)
            part = DatasetPart(period, state.next_name)
            _write_part(choice, to, part)
            state.parts.append(part)
            to.save_state()
            changes.added += len(keys)
            watch("writing posts", changes.added)
    _write_accounts(choice, to)
    state.position = now
    to.save_state()
    return _describe(to, changes)


def _find_state(choice: ExportSelection, folder: Path, wanted: PartitionOptions) -> DatasetState:
    """Return the state of what is in the folder, or that of an empty dataset.

    Raises:
        SettingsError: it is another dataset than the one wanted.
    """
    first = select(campaign.c.created_at).where(campaign.c.id.in_(choice.numbers[:1]))
    sheets = [*list_tables(whole=choice.whole), *(sheet for sheet in SHEETS if sheet.name == ACCOUNTS)]
    columns = {sheet.name: [column.name for column in list_columns(sheet)] for sheet in sheets}
    empty = DatasetState(choice.name, choice.reader.execute(first).scalar(), wanted.by or "month", columns)
    state = read_state(folder)
    if state is None:
        return empty
    same = (
        (state.campaign == empty.campaign, f"of {_name(state.campaign)}, not of {_name(empty.campaign)}"),
        (state.origin in (None, empty.origin), "of a campaign of the same name in another database"),
        (wanted.by in (None, state.by), f"divided by {state.by}, not by {wanted.by}"),
        (state.columns == columns, "of another version of socialcrawl, with other columns"),
    )
    for is_same, what in same:
        if not is_same:
            raise SettingsError(
                f"The dataset in {folder} is {what}: name another folder, or write all of it again, with --force "
                "and without --since-last."
            )
    return state


def _name(name: str | None) -> str:
    return "all campaigns" if name is None else f"campaign {name!r}"


def _write_part(choice: ExportSelection, to: DatasetFolder, part: DatasetPart) -> int:
    """Write the files of a part from the posts that are chosen; return how many were others before."""
    before, part.files = part.files, {}
    for sheet in list_tables(whole=choice.whole):
        path, known = to.find(sheet.name, part), before.get(sheet.name)
        if (facts := to.write_file(path, sheet, choice, known)).rows:
            part.files[sheet.name] = facts
    return sum(part.files.get(name) != facts for name, facts in before.items())


def _renew_part(choice: ExportSelection, to: DatasetFolder, part: DatasetPart, changes: DatasetChanges) -> None:
    """Write the files of a part again that are no longer as the database is."""
    keys = [key for rows in read_cells(to.find("posts", part), "id") for (key,) in rows]
    found = read_cells(to.find("mentions", part), "post", "node", "position")
    choose_posts(choice, keys, (row for rows in found for row in rows))
    before = part.files["posts"].rows
    changes.rewritten += _write_part(choice, to, part)
    changes.removed += before - part.files.get("posts", FileFacts(0, "")).rows
    if not part.files:
        to.state.parts.remove(part)
    to.save_state()


def _write_accounts(choice: ExportSelection, to: DatasetFolder) -> None:
    """Write the accounts, as they are now, unless the file has them so."""
    nodes: set[int] = set()
    for table, column in () if choice.whole else (("posts", "author_node"), ("mentions", "node")):
        paths = (to.find(table, part) for part in to.state.parts if table in part.files)
        nodes |= read_numbers(paths, column)
    choose_accounts(choice, nodes)
    (sheet,) = (sheet for sheet in SHEETS if sheet.name == ACCOUNTS)
    to.state.accounts = to.write_file(to.accounts, sheet, choice, to.state.accounts)


def _describe(to: DatasetFolder, changes: DatasetChanges) -> dict[str, Any]:
    """Return what a run changed, and what there is of each table."""
    state, tables = to.state, {}
    for name in TABLES:
        facts = [part.files[name] for part in state.parts if name in part.files]
        if facts:
            tables[name] = {"files": len(facts), "rows": sum(one.rows for one in facts)}
    assert state.accounts is not None
    return {
        "campaign": state.campaign,
        "partition_by": state.by,
        "posts_added": changes.added,
        "posts_removed": changes.removed,
        "files_rewritten": changes.rewritten,
        "tables": tables | {ACCOUNTS: {"files": min(state.accounts.rows, 1), "rows": state.accounts.rows}},
    }
