"""The commands that bring data in and keep it safe: `import` and `backup`."""

from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.apps.options import Database


def import_(
    files: Annotated[list[Path], typer.Argument(help="twarc's JSON lines, or Parquet, CSV, JSON lines; also .gz.")],
    *,
    kind: Annotated[str, typer.Option("--as", help="posts, seeds or history; see docs/imports.md.")] = "posts",
    campaign: Annotated[
        Path | None, typer.Option(help="A campaign file: whose topic counts, and whose history it becomes.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="As seeds: the file to write; default: the screen.")] = None,
    most: Annotated[int | None, typer.Option(min=1, help="As seeds: so many names at most.")] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out lines that cannot be read.")] = False,
    database: Database = None,
) -> None:
    """Bring in posts that others collected: as posts, as seeds, or as the history that a campaign goes on from."""
    from socialcrawl.apps.bringing import Wanted, bring  # noqa: PLC0415

    bring(Wanted(files, kind, campaign, out, most, database, skip_bad=skip_bad))


def backup(
    file: Annotated[Path, typer.Argument(help="The copy to write.")],
    database: Database = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Copy the database into a file, also while a campaign runs."""
    from socialcrawl.apps.query import database as chosen  # noqa: PLC0415
    from socialcrawl.store.backup import backup as copy  # noqa: PLC0415

    place = chosen(database)
    copy(place, file, force=force)
    typer.echo(f"wrote {file}: {file.stat().st_size:,} bytes, a copy of {place}")
