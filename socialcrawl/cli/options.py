"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.errors import SettingsError

Database = Annotated[
    str | None,
    typer.Option(
        "--db", help="Database: a file or postgresql://USER@HOST/NAME. Default: the newest *.db in this folder."
    ),
]
OneDatabase = Annotated[
    str | None,
    typer.Option(
        "--db", help="Database: a file or postgresql://USER@HOST/NAME. Default: the only *.db in this folder."
    ),
]
"""Of commands that change it."""
Files = Annotated[list[Path] | None, typer.Argument(help="Campaign files or folders of them, or a database with --db.")]
"""Of commands that work on the databases of several campaigns."""
AllowHost = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host",
        help="Also answer requests for this host name or pattern (*.example.org). Repeatable.",
    ),
]
Pause = Annotated[
    bool,
    typer.Option("--pause", help="Pause campaigns that a daemon runs in this database; resume them at the end."),
]
OPTIONS_ONLY = {"allow_extra_args": True}
"""Context settings of commands without an argument, so that they can say what to do with one."""
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def refuse_file(given: str, wanted: str) -> None:
    """Do nothing unless a database, a campaign file or an export was given in place of `wanted`.

    Raises:
        SettingsError: it was; the message says how to name it.
    """
    from socialcrawl.storage.database.filetypes import describe_misplaced  # noqa: PLC0415

    if (wrong := describe_misplaced(given, wanted)) is not None:
        raise SettingsError(wrong)


def refuse_arguments(context: typer.Context) -> None:
    """Do nothing unless an argument was given to a command that has options only (`OPTIONS_ONLY`).

    Raises:
        SettingsError: it was; the message says how to name a database and a campaign.
    """
    for given in context.args[:1]:
        refuse_file(given, f"an option of {context.info_name}")
        raise SettingsError(f"{context.info_name} takes options only, not {given!r}: name the database with --db FILE.")
