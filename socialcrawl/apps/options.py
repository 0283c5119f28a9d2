"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

Database = Annotated[
    str | None,
    typer.Option("--db", help="The database: a file or postgresql://USER@HOST/NAME; default: the newest *.db here."),
]
OneDatabase = Annotated[
    str | None,
    typer.Option("--db", help="The database: a file or postgresql://USER@HOST/NAME; default: the only *.db here."),
]
"""Of commands that change it."""
Files = Annotated[
    list[Path] | None, typer.Argument(help="Campaign files, or folders of them; or name a database with --db.")
]
"""Of commands that work on the databases of several campaigns."""
AllowHost = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host",
        help="Also answer requests for this host name, or pattern (*.example.org); may be repeated.",
    ),
]
Pause = Annotated[
    bool,
    typer.Option("--pause", help="Pause campaigns that a daemon runs in this database, and resume them at the end."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
