"""An export as a whole: tables, network, ids, archive, and the sheet that goes with them."""

import hashlib
import platform
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from socialcrawl import __version__
from socialcrawl.engine.model import format_time
from socialcrawl.errors import SettingsError
from socialcrawl.exporters import data_dictionary, mention_network, warc
from socialcrawl.exporters.columns import name_people
from socialcrawl.exporters.datasheet import FORMAT, render_page
from socialcrawl.exporters.datasheet_facts import collect_facts
from socialcrawl.exporters.export_folder import open_new_folder
from socialcrawl.exporters.exported_tables import SHEETS, ExportTable
from socialcrawl.exporters.pseudonymize import Pseudonymizer, Pseudonyms
from socialcrawl.exporters.selection import SOME, ExportSelection, open_selection
from socialcrawl.exporters.table_files import IDS, WRITERS, IdWriter, Maker, SafeCsvWriter, read_pyarrow_version
from socialcrawl.storage.database import address
from socialcrawl.storage.database.trouble import convert_error
from socialcrawl.text.wording import explain_unknown, pluralize

FORMATS = (*WRITERS, *mention_network.FORMS, "ids", "warc")
"""What an export can be made of: parquet, csv, jsonl (tables), gexf, graphml (the network), ids, warc."""
ARCHIVE = "answers.warc.gz"
NAMING = ("ids", "warc")  # what cannot be had without names
Watch = Callable[[str, int], None]


@dataclass(frozen=True)
class ExportOptions:
    """What to export.

    Attributes:
        campaign: its name; None is the newest.
        whole: everything in the database instead.
        formats: some of FORMATS.
        key: the key of pseudonyms; None: people are named.
        force: whether an export that is there already is replaced.
        active: whether only those are exported that the campaign has found active.
        safe_csv: whether texts in CSV that spreadsheets would take for formulas begin with `'`.
        notes: what the datasheet says of the campaign besides, sentences.
        on_topic: whether the network has only mentions in matching posts, and the accounts at their ends.
    """

    campaign: str | None = None
    whole: bool = False
    formats: tuple[str, ...] = ("parquet",)
    key: bytes | None = None
    force: bool = False
    active: bool = False
    safe_csv: bool = False
    notes: tuple[str, ...] = ()
    on_topic: bool = False


def export(
    connection: Connection, folder: Path, wanted: ExportOptions, now: float, watch: Watch = lambda what, rows: None
) -> dict[str, Any]:
    """Write what is wanted into a folder; the values of its datasheet.json.

    A campaign may be running: the export shows the database as it was when it began. It is streamed: memory does not
    grow with the data.

    Args:
        connection: the database.
        folder: where; see `export_folder.open_new_folder`.
        wanted: what.
        now: Unix seconds, for the sheet.
        watch: told what is being written, and how many of its rows were.

    Raises:
        SettingsError: what is wanted cannot be had together, or the folder is not free.
        StoreError: there is no such campaign, or the database or the disk fails.
    """
    _check_options(wanted)
    pseudonyms = None if wanted.key is None else Pseudonyms(wanted.key)
    try:
        with (
            open_selection(connection, wanted.campaign, whole=wanted.whole, active=wanted.active) as choice,
            open_new_folder(folder, force=wanted.force) as to,
        ):
            hiding = None if pseudonyms is None else Pseudonymizer(choice, pseudonyms)
            about = {
                name: _describe_file(to / name, *said) for name, said in _write_files(choice, to, wanted, hiding, watch)
            }
            sheet = make_datasheet(choice, hiding, now, ids=set(wanted.formats) == {"ids"}) | {
                **({"safe_csv": wanted.safe_csv} if "csv" in wanted.formats else {}),
                "dictionary": data_dictionary.NAME,
                "files": [{"name": name, **about[name]} for name in sorted(about)],
            }
            if wanted.notes:
                sheet["campaigns"][0]["notes"] = list(wanted.notes)
            package = data_dictionary.make_package(sheet)
            (to / data_dictionary.NAME).write_bytes(orjson.dumps(package, option=orjson.OPT_INDENT_2))
            (to / "datasheet.json").write_bytes(orjson.dumps(sheet, option=orjson.OPT_INDENT_2))
            (to / "datasheet.md").write_text(render_page(sheet), "utf-8")
            return sheet
    except DBAPIError as error:
        raise convert_error(error, address.find_address(connection)) from error


def _check_options(wanted: ExportOptions) -> None:
    unknown = [name for name in wanted.formats if name not in FORMATS]
    if unknown:
        raise SettingsError(explain_unknown("format", unknown[0], FORMATS))
    if not wanted.formats:
        raise SettingsError(f"No format is given. Choose one or more of: {', '.join(FORMATS)}.")
    naming = [name for name in NAMING if name in wanted.formats]
    if wanted.key is not None and naming:
        raise SettingsError(
            f"The format {naming[0]} names people, so it cannot be pseudonymised: remove one of the two."
        )
    if wanted.whole and (drawn := [name for name in mention_network.FORMS if name in wanted.formats]):
        raise SettingsError(f"The format {drawn[0]} is the network of one campaign: remove --all, or the format.")
    if wanted.active and (wanted.whole or "warc" in wanted.formats):
        other = "--all" if wanted.whole else "the format warc"
        raise SettingsError(f"--only-active is the dataset of one campaign, without the rest: leave it or {other} out.")
    if wanted.on_topic and not any(name in wanted.formats for name in mention_network.FORMS):
        raise SettingsError("--only-on-topic is for the network: add --format gexf or graphml, or remove it.")
    if wanted.safe_csv and "csv" not in wanted.formats:
        raise SettingsError("--safe-csv is for CSV files: add --format csv, or remove it.")
    if "parquet" in wanted.formats:
        read_pyarrow_version()
    if "warc" in wanted.formats:
        warc.check_available()


def _write_files(
    choice: ExportSelection, to: Path, wanted: ExportOptions, hiding: Pseudonymizer | None, watch: Watch
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Write the files, as (name, (what it is, its rows, and of a network its accounts and links))."""
    formats, makers = wanted.formats, WRITERS | ({"csv": SafeCsvWriter} if wanted.safe_csv else {})
    for sheet in SHEETS:
        names = [f"{sheet.name}.{name}" for name in WRITERS if name in formats]
        ids = IDS.get(sheet.name) if "ids" in formats else None
        if names or ids:
            files = {to / name: makers[name.rpartition(".")[2]] for name in names}
            count, listed = _write_table(choice, sheet, files, to / ids if ids else None, hiding, watch=watch)
            yield from ((name, (sheet.about, count)) for name in names)
            if ids:
                yield ids, (f"ids of {sheet.name}, one per line", listed)
    if drawn := {name: to / f"mentions.{name}" for name in mention_network.FORMS if name in formats}:
        watch("network", 0)
        if wanted.on_topic and choice.refreshes:
            raise SettingsError(
                f"The campaign {choice.name!r} refreshes a dataset without a topic: remove --only-on-topic."
            )
        names_hidden = hiding.pseudonyms if hiding else None
        nodes, edges = mention_network.write_network(
            choice, drawn, names_hidden, on_topic=wanted.on_topic, watch=partial(watch, "network")
        )
        what = "mention network" if not choice.refreshes else "refreshed dataset" if choice.active else "old dataset"
        about = f"the {what}; rows: its {pluralize(nodes, 'node')} and {pluralize(edges, 'edge')}"
        about += ", of mentions in matching posts" if wanted.on_topic else ""
        yield from ((path.name, (about, nodes + edges, nodes, edges)) for path in drawn.values())
    if "warc" in formats:
        watch("original responses", 0)
        count = warc.write_archive(choice, to / ARCHIVE, partial(watch, "original responses"))
        yield ARCHIVE, ("the original responses", count)


def _write_table(
    choice: ExportSelection,
    sheet: ExportTable,
    files: dict[Path, Maker],
    ids: Path | None,
    hiding: Pseudonymizer | None,
    *,
    watch: Watch,
) -> tuple[int, int]:
    """Write one table into all its files at once, and its ids into theirs: how many rows, how many ids."""
    count = 0
    with ExitStack() as stack:
        writers = [make(file, sheet.columns, stack) for file, make in files.items()]
        listing = IdWriter(ids, sheet.columns, stack) if ids else None
        rows = sheet.rows(choice)
        while some := list(islice(rows, SOME)):
            count += len(some)
            shown = hiding.hide_rows(sheet.columns, some) if hiding else name_people(sheet.columns, some)
            for writer in (*writers, listing):
                if writer is not None:
                    writer.write(shown)
            watch(sheet.name, count)
    return count, listing.count if listing else 0


def _describe_file(path: Path, about: str, rows: int, *network: int) -> dict[str, Any]:
    """Return what a datasheet says of a file; `network`: its accounts and links, of a network."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    counts = dict(zip(("accounts", "links"), network, strict=False))
    return {"about": about, "rows": rows, **counts, "bytes": path.stat().st_size, "sha256": digest}


def make_datasheet(
    choice: ExportSelection, hiding: Pseudonymizer | None, now: float, *, ids: bool = False
) -> dict[str, Any]:
    """Return the values of a datasheet, without the files of an export.

    Args:
        choice: what it is about.
        hiding: how people are made unreadable; None: they are named.
        now: Unix seconds.
        ids: whether people are called by the platform's ids instead of their names.
    """
    found = collect_facts(choice, hiding, ids=ids)
    versions = {
        "socialcrawl": __version__,
        "python": platform.python_version(),
        "database": choice.reader.dialect.name,
        "schema": found.pop("schema"),
    }
    return {
        "format": FORMAT,
        "exported_at": format_time(now),
        "campaign": choice.name,
        **({"only_active": True} if choice.active else {}),
        "pseudonymised": hiding is not None,
        "versions": versions,
        **found,
    }
