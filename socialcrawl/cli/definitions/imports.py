"""The commands that bring data in, share out work and keep data safe: `import`, `order` and `backup`."""

from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.cli.options import Database, OneDatabase, Pause


def import_(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="File to import: twarc JSON lines, Parquet, CSV, JSONL, text (also .gz), or the folder of an export."
        ),
    ] = None,
    *,
    kind: Annotated[
        str, typer.Option("--as", help="Import as posts, seeds, history, dataset or liveness (see docs/imports.md).")
    ] = "posts",
    campaign: Annotated[
        Path | None, typer.Option(help="Campaign file: its topic is counted and its history is extended.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="With --as seeds: file to write. Default: standard output.")] = None,
    most: Annotated[int | None, typer.Option(min=1, help="With --as seeds: maximum number of names.")] = None,
    from_campaign: Annotated[
        str | None, typer.Option(help="With --as dataset: an earlier campaign of the same database.")
    ] = None,
    by_id: Annotated[
        bool | None,
        typer.Option("--ids/--names", help="Whether cells of a dataset are ids or names. Default: see the docs."),
    ] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip lines that cannot be read.")] = False,
    pause: Pause = False,
    database: OneDatabase = None,
) -> None:
    """Import posts, seeds, a campaign's history or an old dataset from files."""
    from socialcrawl.cli.commands.import_file import ImportOptions, import_files  # noqa: PLC0415

    import_files(
        ImportOptions(
            files or [],
            kind,
            campaign,
            out,
            most,
            database,
            skip_bad=skip_bad,
            earlier=from_campaign,
            by_id=by_id,
            pause=pause,
        )
    )


def order(
    campaign: Annotated[Path, typer.Argument(help='Campaign file with kind = "refresh".')],
    *,
    out: Annotated[Path, typer.Option(help="Folder to write the lists to.")],
    workers: Annotated[int, typer.Option(min=1, help="Number of workers that share the order.")] = 1,
    most: Annotated[int | None, typer.Option(min=1, help="Maximum number of accounts.")] = None,
    beyond: Annotated[bool, typer.Option("--beyond", help="Continue after the wanted fraction is found.")] = False,
) -> None:
    """Split the remaining accounts of a dataset into one list per worker. Import their results with `import`."""
    from socialcrawl.cli.render.refresh_report import share_out  # noqa: PLC0415

    share_out(campaign, workers, out, most, beyond=beyond)


def backup(
    file: Annotated[Path, typer.Argument(help="Copy to write.")],
    database: Database = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    pause: Pause = False,
) -> None:
    """Copy the database to a file. Campaigns may keep running."""
    from socialcrawl.cli.commands.backup import copy  # noqa: PLC0415

    copy(database, file, force=force, pause=pause)
