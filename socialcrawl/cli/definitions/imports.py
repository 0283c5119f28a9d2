"""The commands that bring data in, share out work and keep data safe: `import`, `order` and `backup`."""

from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.cli.options import Database, OneDatabase, Pause


def import_(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="twarc's JSON lines, Parquet, CSV, JSONL, text (also .gz), or a folder with an export."),
    ] = None,
    *,
    kind: Annotated[
        str, typer.Option("--as", help="posts, seeds, history, dataset or liveness; see docs/imports.md.")
    ] = "posts",
    campaign: Annotated[
        Path | None, typer.Option(help="A campaign file: whose topic counts, and whose history it becomes.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="As seeds: the file to write; default: the screen.")] = None,
    most: Annotated[int | None, typer.Option(min=1, help="As seeds: so many names at most.")] = None,
    from_campaign: Annotated[
        str | None, typer.Option(help="As a dataset: an earlier campaign of the same database.")
    ] = None,
    by_id: Annotated[
        bool | None, typer.Option("--ids/--names", help="Cells of a dataset are ids, or names; default: see the docs.")
    ] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out lines that cannot be read.")] = False,
    pause: Pause = False,
    database: OneDatabase = None,
) -> None:
    """Import what others collected: posts, seeds, a campaign's history, or an old dataset."""
    from socialcrawl.cli.commands.import_file import Wanted, bring  # noqa: PLC0415

    bring(
        Wanted(
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
    campaign: Annotated[Path, typer.Argument(help="The campaign file, of kind refresh.")],
    *,
    out: Annotated[Path, typer.Option(help="The folder to write the lists into.")],
    workers: Annotated[int, typer.Option(min=1, help="Among how many the order is shared out.")] = 1,
    most: Annotated[int | None, typer.Option(min=1, help="So many accounts at most.")] = None,
    beyond: Annotated[
        bool, typer.Option("--beyond", help="Go on though the fraction that the campaign wants is found.")
    ] = False,
) -> None:
    """Write who of an old dataset is to be tested next, a list for each worker; import brings back what they find."""
    from socialcrawl.cli.render.refresh_report import share_out  # noqa: PLC0415

    share_out(campaign, workers, out, most, beyond=beyond)


def backup(
    file: Annotated[Path, typer.Argument(help="The copy to write.")],
    database: Database = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    pause: Pause = False,
) -> None:
    """Copy the database into a file, also while a campaign runs."""
    from socialcrawl.cli.commands.backup import copy  # noqa: PLC0415

    copy(database, file, force=force, pause=pause)
