"""The command that learns what is on topic from examples: `train`."""

from pathlib import Path
from typing import Annotated

import typer

from socialcrawl.cli.options import AsJson, Database


def train(
    out: Annotated[Path, typer.Argument(help="The file to write, for [sample] tree: JSON that people can read.")],
    *,
    labels: Annotated[
        Path | None, typer.Option(help="A CSV of posts judged by hand, text and on_topic, in place of all below.")
    ] = None,
    on: Annotated[
        Path | None, typer.Option(help="Posts on topic: .txt, one a line, or as import reads; default: the search's.")
    ] = None,
    off: Annotated[
        Path | None, typer.Option(help="Posts off topic likewise; default: those read that do not speak of it.")
    ] = None,
    campaign: Annotated[str | None, typer.Option(help="Whose posts they are; default: the newest campaign.")] = None,
    database: Database = None,
    most: Annotated[int, typer.Option(min=2, help="So many posts of each kind at most.")] = 5000,
    without: Annotated[
        list[str] | None, typer.Option(help="A word that it may not ask for, as that of the search; may be repeated.")
    ] = None,
    leaf: Annotated[int, typer.Option(min=1, help="Posts that each leaf of the tree has at least.")] = 2,
    depth: Annotated[int | None, typer.Option(min=1, help="Questions in a row at most; default: any number.")] = None,
    least: Annotated[
        int, typer.Option(min=1, help="Posts that have to have a word for it to be known; the paper: 1.")
    ] = 2,
    balanced: Annotated[bool, typer.Option("--balanced", help="Let both kinds weigh alike, however many.")] = False,
    folds: Annotated[int, typer.Option(min=2, help="Parts for the test: each is judged by the others.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random draws.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Learn from posts what is on topic: a decision tree, tested on posts that it has not seen."""
    from socialcrawl.cli.commands.train import Wanted, train  # noqa: PLC0415
    from socialcrawl.cli.render.console import plain  # noqa: PLC0415
    from socialcrawl.crawls.sample.decision_tree import TreeParameters  # noqa: PLC0415

    how = TreeParameters(leaf, depth, least, balanced, frozenset(without or ()), seed)
    train(Wanted(out, labels, on, off, campaign, database, most, folds, how), plain(), as_json=as_json)
