"""`socialcrawl export`: the key of pseudonyms, the export, and what is said about it."""

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from socialcrawl.cli.commands.sql import choose_campaign
from socialcrawl.cli.databases import ChosenDatabase
from socialcrawl.cli.running_campaigns import give_way
from socialcrawl.crawls.collect.steering import measure_steering
from socialcrawl.crawls.sample.report import fold_sample
from socialcrawl.errors import SettingsError
from socialcrawl.exporters.export import ExportOptions, export
from socialcrawl.exporters.export_folder import check_folder
from socialcrawl.platforms.registry import find_platform
from socialcrawl.render.progress import show_progress
from socialcrawl.render.sample_report import explain_verdict
from socialcrawl.render.steering import describe_gain
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.connection import open_database
from socialcrawl.storage.queries.traces import CampaignTraces
from socialcrawl.system.secret import conceal
from socialcrawl.text.terminal import write_error, write_json, write_line
from socialcrawl.text.wording import pluralize

LONGEST = 10_000  # bytes of a file that could hold a key


def read_key(variable: str, file: Path | None) -> bytes:
    """Return the key of pseudonyms, from a file or else from an environment variable; blanks around it do not count.

    Raises:
        SettingsError: there is none. The message never shows it.
    """
    if file is not None:
        try:
            with file.open("rb") as opened:
                key = opened.read(LONGEST).strip()
        except OSError as error:
            raise SettingsError(f"The key file {file} cannot be read ({error.strerror}): check the path.") from error
    else:
        key = os.environ.get(variable, "").strip().encode(errors="surrogateescape")
        if not key:
            raise SettingsError(
                f"Pseudonyms need a key: put one into the environment variable {variable} or a file (--key-file), such "
                "as the output of `openssl rand -hex 32`, and keep it apart from the export."
            )
    conceal(key.decode(errors="replace"))
    return key


def _make_notes(traces: CampaignTraces, campaign: str | None) -> tuple[str, ...]:
    """Return what a datasheet says of a sample as a whole, and of what steering gained where steps were drawn.

    Args:
        traces: the database.
        campaign: the name of one; None: the newest.
    """
    gained = measure_steering(traces, campaign)
    if gained is not None and gained.chance is not None:
        return tuple(line.strip() for line in describe_gain(gained))
    sample = fold_sample(traces, campaign)
    said = [] if sample is None else list(explain_verdict(sample.seen.verdict))
    return tuple(f"does the sample represent the whole topic? {one}" for one in said[:1]) + tuple(said[1:])


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
            chosen = replace(
                wanted, campaign=name, notes=() if wanted.whole else _make_notes(CampaignTraces(connection), name)
            )
            return export(connection, folder, chosen, time.time(), lambda what, rows: watch(f"writing {what}", rows))

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
