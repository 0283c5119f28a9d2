"""The command that learns what is on topic from examples: `train`."""

from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.cli.options import AsJson, Database


def train(
    out: Annotated[Path, typer.Argument(help="JSON file to write, for [sample] tree.")],
    *,
    labels: Annotated[
        Path | None, typer.Option(help="CSV of hand-labelled posts (text, on_topic), instead of the sources below.")
    ] = None,
    on: Annotated[
        Path | None,
        typer.Option(
            help="Posts on topic: .txt, one per line, or a file that import reads. Default: posts from the search."
        ),
    ] = None,
    off: Annotated[
        Path | None, typer.Option(help="Posts off topic, likewise. Default: stored posts that do not match.")
    ] = None,
    campaign: Annotated[str | None, typer.Option(help="Campaign of these posts. Default: the newest.")] = None,
    database: Database = None,
    most: Annotated[int, typer.Option(min=2, help="Maximum number of posts of each kind.")] = 5000,
    without: Annotated[
        list[str] | None, typer.Option(help="Word that the tree must not use, such as the search word. Repeatable.")
    ] = None,
    leaf: Annotated[int, typer.Option(min=1, help="Minimum number of posts per leaf.")] = 2,
    depth: Annotated[int | None, typer.Option(min=1, help="Maximum depth of the tree. Default: unlimited.")] = None,
    least: Annotated[int, typer.Option(min=1, help="Minimum number of posts with a word. The paper: 1.")] = 2,
    balanced: Annotated[bool, typer.Option("--balanced", help="Give both kinds the same total weight.")] = False,
    folds: Annotated[int, typer.Option(min=2, help="Number of folds of the cross-validation.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Train a decision tree that decides what is on topic, and test it by cross-validation."""
    from socialcrawl.cli.commands.train import TrainingOptions, train  # noqa: PLC0415
    from socialcrawl.cli.render.console import make_console  # noqa: PLC0415
    from socialcrawl.crawls.sample.decision_tree import TreeParameters  # noqa: PLC0415

    how = TreeParameters(leaf, depth, least, balanced, frozenset(without or ()), seed)
    train(TrainingOptions(out, labels, on, off, campaign, database, most, folds, how), make_console(), as_json=as_json)
