"""The command line that all papers share: how an application is made, and the options that each of them has."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.cli.command_group import CommandGroup

Out = Annotated[Path, typer.Option("-o", "--out", help="Folder for crawls, figures and data.")]
Processes = Annotated[int, typer.Option("--jobs", help="Parallel crawls. -1: one per processor.")]
FirstSeed = Annotated[int, typer.Option("--seed", min=0, help="Random seed of the first crawl; the others follow.")]

PerRun = Annotated[
    bool, typer.Option("--graph-per-run", help="A generated graph for each of --runs: intervals hold their spread.")
]


def make_app(name: str, about: str) -> typer.Typer:
    """Return the application of a paper, `socialcrawl lab NAME`, without commands."""
    return typer.Typer(
        name=name,
        cls=CommandGroup,
        help=about,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )


def add_commands(app: typer.Typer, about: Mapping[str, str], make: Callable[[str], Callable[..., None]]) -> None:
    """Add a command for each name, made by `make`; `about` holds their help by name."""
    for name, text in about.items():
        app.command(name, help=text)(make(name))
