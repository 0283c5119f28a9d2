"""`socialcrawl label`: stored posts, one after the other, and what a person says of them, kept after each answer."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from socialcrawl.api.label_file import LabelFile, choose_unlabelled
from socialcrawl.cli.databases import ChosenDatabase
from socialcrawl.crawls.text_models.informative_posts import StoredText
from socialcrawl.crawls.text_models.model_file import read_model
from socialcrawl.text.wording import pluralize

ANSWERS = {"y": True, "yes": True, "n": False, "no": False, "s": None, "skip": None}
BACK, QUIT = ("b", "back"), ("q", "quit")
UNKNOWN = "Answer y, n, s, b or q."
ASKED = "on topic? y = yes, n = no, s = skip, b = back, q = quit: "


@dataclass(frozen=True, slots=True)
class LabelOptions:
    """The options of `socialcrawl label`."""

    out: Path
    model: Path | None
    chosen: ChosenDatabase
    count: int
    seed: int


def label(wanted: LabelOptions, console: Console, read_line: Callable[[], str] | None = None) -> LabelFile:
    """Show posts and keep what is said of them; the labels.

    Args:
        wanted: the options.
        console: where posts are shown.
        read_line: gives an answer, "" where there are no more; None: a line of stdin.

    Raises:
        SettingsError: the model or the labels cannot be read, or the labels not be written.
        StoreError: there is no such database or campaign.
    """
    labels = LabelFile.load(wanted.out)
    posts = _choose(wanted, labels)
    if not posts:
        console.print("No post is left to judge: collect more, or name another campaign or database.", soft_wrap=True)
    _ask(posts, labels, console, read_line or partial(_read_line, console))
    _print_end(labels, console)
    return labels


def _read_line(console: Console) -> str:
    """Return a line of stdin; from a pipe, end the line of the prompt, which no key ends there."""
    line = sys.stdin.readline()
    if line and not sys.stdin.isatty():
        console.print()
    return line


def _choose(wanted: LabelOptions, labels: LabelFile) -> list[StoredText]:
    from socialcrawl.cli.commands.sql import choose_campaign  # noqa: PLC0415
    from socialcrawl.storage.database.health import open_readable  # noqa: PLC0415
    from socialcrawl.storage.queries.summary import find_campaign  # noqa: PLC0415

    model = None if wanted.model is None else read_model(wanted.model)
    with open_readable(wanted.chosen.address) as connection:
        number, _ = find_campaign(connection, choose_campaign(connection, wanted.chosen.campaign))
        return choose_unlabelled(connection, number, labels, (wanted.count, wanted.seed, None), model)


def _ask(posts: list[StoredText], labels: LabelFile, console: Console, read_line: Callable[[], str]) -> None:
    """Ask for each post, from the first on, until all are answered or there are no more answers."""
    place = 0
    while place < len(posts):
        console.print(f"\npost {place + 1:,} of {len(posts):,}", style="bold")
        console.print(posts[place].text, soft_wrap=True)
        console.print(ASKED, end="", soft_wrap=True)
        line = read_line()
        said = line.strip().lower()
        if not line or said in QUIT:
            console.print()
            return
        if said in BACK:
            place = max(0, place - 1)
        elif said in ANSWERS:
            labels.put(posts[place].id, posts[place].text, on_topic=ANSWERS[said])
            place += 1
        else:
            console.print(UNKNOWN, soft_wrap=True)


def _print_end(labels: LabelFile, console: Console) -> None:
    if not labels.posts:
        return
    on, off, skipped = labels.counts.values()
    said = f"{labels.path}: {pluralize(on, 'post')} on topic, {off:,} off it, {skipped:,} skipped"
    console.print(f"\n{said}", soft_wrap=True)
    if min(on, off) < labels.LEAST:
        console.print(f"A model takes {labels.LEAST} posts at least of each kind: label more.", soft_wrap=True)
    else:
        names = (f"model{number}.json" for number in ("", *range(2, 100)))
        out = next((name for name in names if not Path(name).exists()), "FILE")  # train overwrites none
        console.print(f"Next: socialcrawl train --labels {labels.path} --out {out}", soft_wrap=True)
