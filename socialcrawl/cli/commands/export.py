"""`socialcrawl export`: the export, and what is said about it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from socialcrawl.api.data_export import write_export
from socialcrawl.cli.commands.sql import choose_campaign
from socialcrawl.cli.databases import ChosenDatabase
from socialcrawl.cli.running_campaigns import give_way
from socialcrawl.errors import SettingsError
from socialcrawl.exporters.export import ExportOptions
from socialcrawl.exporters.export_folder import check_folder
from socialcrawl.exporters.partitioned import NAME, PartitionOptions, write_dataset
from socialcrawl.platforms.registry import find_platform
from socialcrawl.render.progress import show_progress
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.connection import open_database
from socialcrawl.text.terminal import write_error, write_json, write_line
from socialcrawl.text.wording import pluralize


def choose_folder(chosen: ChosenDatabase) -> Path:
    """Return the folder of an export where none is named, in this folder: named after the campaign or database."""
    where = chosen.address
    return Path(f"{chosen.campaign or (where.stem if isinstance(where, Path) else where.name)}-export")


def export_data(
    where: DatabaseAddress, folder: Path, wanted: ExportOptions, *, as_json: bool, pause: bool = False
) -> None:
    """Export what is wanted, and say what was written; `pause`: while campaigns that a daemon runs are paused."""
    check_folder(folder.resolve(), force=wanted.force)  # before the database is opened

    def write() -> dict[str, Any]:
        with open_database(where, create=False) as connection, show_progress("exporting", unit="rows") as watch:
            name = None if wanted.whole else choose_campaign(connection, wanted.campaign)
            chosen = replace(wanted, campaign=name)
            return write_export(connection, folder, chosen, lambda what, rows: watch(f"writing {what}", rows))

    sheet = give_way("export", where, None, write, pause=pause)
    if as_json:
        write_json(orjson.dumps(sheet).decode())
        return
    for file in sheet["files"]:
        size = pluralize(file["rows"], "row")
        if "links" in file:
            size = f"{pluralize(file['accounts'], 'account')}, {pluralize(file['links'], 'link')}"
        write_line(f"{folder / file['name']}: {size}, {pluralize(file['bytes'], 'byte')}")
    write_line(f"{folder / 'datasheet.md'} says how they came about")
    if not sheet["pseudonymised"] and {"csv", "jsonl", "parquet"} & set(wanted.formats):
        write_error("these files name people: see the notes on terms in the datasheet before you hand them on")
    restricted = (
        find_platform(name).publishing for name in dict.fromkeys(one["platform"] for one in sheet["campaigns"])
    )
    if set(wanted.formats) != {"ids"}:
        for text in filter(None, restricted):
            write_error(text)


def export_partitions(
    where: DatabaseAddress, folder: Path, wanted: ExportOptions, dataset: PartitionOptions, *, as_json: bool
) -> None:
    """Write a dataset or what is new in it, and say what changed.

    Args:
        where: the database.
        folder: of the dataset.
        wanted: the options of exports; a dataset has only some of them.
        dataset: the others.
        as_json: whether what changed is printed as JSON.

    Raises:
        SettingsError: an option is given that does not go with the others.
    """
    _check_dataset(wanted)
    with open_database(where, create=False) as connection, show_progress("exporting", unit="rows") as watch:
        name = None if dataset.whole else choose_campaign(connection, dataset.campaign)
        done = write_dataset(connection, folder, replace(dataset, campaign=name), watch)
    if as_json:
        write_json(orjson.dumps(done).decode())
        return
    for table, facts in done["tables"].items():
        write_line(f"{folder / table}: {pluralize(facts['rows'], 'row')}, {pluralize(facts['files'], 'file')}")
    write_line(f"{pluralize(done['posts_added'], 'post')} added, {done['posts_removed']:,} removed")
    if done["files_rewritten"]:
        write_line(f"{pluralize(done['files_rewritten'], 'file')} changed, because the database changed")
    write_error("these files name people: read docs/explanation/terms-and-ethics.md before you hand them on")


def _check_dataset(wanted: ExportOptions) -> None:
    if wanted.formats != (NAME,):
        raise SettingsError(
            f"--partition-by and --since-last are for --format {NAME}, which goes with no other format: run the "
            "command once for each."
        )
    given = {
        "--pseudonymise": wanted.key is not None,
        "--only-active": wanted.active,
        "--only-on-topic": wanted.on_topic,
        "--safe-csv": wanted.safe_csv,
    }
    if refused := [name for name, is_given in given.items() if is_given]:
        raise SettingsError(f"--format {NAME} does not go with {refused[0]}: remove one of the two.")
