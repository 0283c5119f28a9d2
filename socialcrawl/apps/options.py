"""Options that several commands have."""

from typing import Annotated

import typer

Database = Annotated[
    str | None,
    typer.Option("--db", help="The database: a file or postgresql://USER@HOST/NAME; default: the newest *.db here."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
