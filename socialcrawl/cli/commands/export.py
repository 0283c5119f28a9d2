"""`socialcrawl export`: the export, and what is said about it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from socialcrawl.api.data_export import write_export
from socialcrawl.cli.commands.sql import choose_campaign
from socialcrawl.cli.databases import ChosenDatabase
from socialcrawl.cli.running_campaigns import give_way
from socialcrawl.exporters.export import ExportOptions
from socialcrawl.exporters.export_folder import check_folder
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
