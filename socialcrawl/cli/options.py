"""Options that several commands have."""

from typing import Annotated

import typer

PLACE = "CAMPAIGN|DATABASE"
Place = Annotated[
    str | None,
    typer.Argument(
        metavar=PLACE,
        help="Campaign file (for its database), database file, or postgresql://USER@HOST/NAME. Default: the newest "
        "*.db in this folder.",
    ),
]
Database = Annotated[
    str | None, typer.Option("--db", metavar=PLACE, help="The same, as an option. Default: the newest *.db.")
]
OneDatabase = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar=PLACE,
        help="Campaign file, database file, or postgresql://USER@HOST/NAME. Default: the only *.db in this folder.",
    ),
]
"""Of commands that change it."""
CampaignName = Annotated[str | None, typer.Option("--campaign", help="Name of the campaign. Default: the newest.")]
Files = Annotated[
    list[str] | None,
    typer.Argument(metavar="CAMPAIGN|FOLDER|DATABASE", help="Campaign files, folders of them, or databases."),
]
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
Workers = Annotated[
    int, typer.Option("--workers", min=0, max=256, help="Send requests by this many worker processes (needs Dask).")
]
WorkerProcesses = Annotated[
    int,
    typer.Option(
        "--worker-processes",
        min=0,
        max=256,
        help="Send requests by this many worker processes, for campaigns without a scheduler (needs Dask).",
    ),
]
WithStdin = Annotated[bool, typer.Option("--with-stdin", hidden=True)]
"""Of commands that run as a child: they end when stdin does."""
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
