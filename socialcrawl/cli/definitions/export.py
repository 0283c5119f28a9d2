"""The command that hands data on: `export`."""

from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.cli.options import Database, Pause


def export(
    folder: Annotated[Path, typer.Argument(help="Folder to write: new, empty, or an older export.")],
    *,
    campaign: Annotated[str | None, typer.Option(help="Name of the campaign. Default: the newest.")] = None,
    whole: Annotated[bool, typer.Option("--all", help="Export all campaigns of the database.")] = False,
    form: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            help="parquet (default), csv, jsonl; network: gexf, graphml; ids; warc (original answers). Repeatable.",
        ),
    ] = None,
    pseudonymise: Annotated[
        bool, typer.Option("--pseudonymise", help="Replace names and ids by keyed hashes.")
    ] = False,
    key_env: Annotated[
        str, typer.Option(help="Environment variable that holds the key for pseudonyms.")
    ] = "SOCIALCRAWL_KEY",
    key_file: Annotated[Path | None, typer.Option(help="File that holds the key instead.")] = None,
    only_active: Annotated[
        bool, typer.Option("--only-active", help="Refresh campaigns: export only accounts found active.")
    ] = False,
    safe_csv: Annotated[
        bool,
        typer.Option(
            "--safe-csv", help="CSV for spreadsheets: put an apostrophe before texts that look like formulas."
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing export in the folder.")] = False,
    database: Database = None,
    pause: Pause = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the datasheet as JSON and nothing else.")] = False,
) -> None:
    """Export posts, accounts, network and ledger as files with a datasheet, with names or pseudonyms."""
    from socialcrawl.cli.commands.export import export_data, read_key  # noqa: PLC0415
    from socialcrawl.exporters.export import ExportOptions  # noqa: PLC0415

    key = read_key(key_env, key_file) if pseudonymise or key_file is not None else None
    wanted = ExportOptions(
        campaign, whole, tuple(dict.fromkeys(form or ["parquet"])), key, force, only_active, safe_csv
    )
    export_data(database, folder, wanted, as_json=as_json, pause=pause)
