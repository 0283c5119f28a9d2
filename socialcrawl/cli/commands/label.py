"""`socialcrawl label`: stored posts, one after the other, and what a person says of them, kept after each answer."""

import csv
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from socialcrawl.cli.databases import ChosenDatabase
from socialcrawl.crawls.sample.labels import read_cells
from socialcrawl.crawls.text_models.cross_validation import FOLDS
from socialcrawl.crawls.text_models.informative_posts import StoredText, choose_posts
from socialcrawl.crawls.text_models.model_file import read_model
from socialcrawl.crawls.text_models.vocabulary import count_words, identify_words
from socialcrawl.errors import SettingsError
from socialcrawl.system.files import replace_file
from socialcrawl.text.wording import pluralize

HEADER = ["id", "text", "on_topic"]
YES, NO, SKIPPED = "yes", "no", ""
ANSWERS = {"y": YES, "yes": YES, "n": NO, "no": NO, "s": SKIPPED, "skip": SKIPPED}
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


class LabelFile:
    """A CSV of labels: id, text and on_topic (yes, no, or empty where a post was skipped) of each post shown.

    Args:
        path: the file; one that is there is gone on with.

    Raises:
        SettingsError: it cannot be read, or has other columns.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, tuple[str, str]] = {}
        if not path.exists():
            return
        (_, header), *lines = read_cells(path) or [(1, [])]
        wrong = next((line for line, cells in lines if len(cells) != len(HEADER)), 1 if header != HEADER else None)
        if wrong is not None:
            raise SettingsError(
                f"{path}, line {wrong}: the columns are not {', '.join(HEADER)}, as `socialcrawl label` writes them. "
                "Choose another file with --out."
            )
        self.rows = {key: (text, label) for _, (key, text, label) in lines}

    def put(self, post: StoredText, label: str) -> None:
        """Write what was said of a post, in place of what was said before; the file is never there in part.

        Raises:
            SettingsError: it cannot be written.
        """
        self.rows[post.id] = post.text, label
        try:
            with replace_file(self.path) as part, part.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(HEADER)
                writer.writerows([key, *row] for key, row in self.rows.items())
        except OSError as error:
            raise SettingsError(f"{self.path} cannot be written ({error.strerror}): name another file.") from error

    def count(self, label: str) -> int:
        """Return how many posts have a label."""
        return sum(said == label for _, said in self.rows.values())


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
    labels = LabelFile(wanted.out)
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
    from socialcrawl.storage.queries.topic_posts import read_stored_posts  # noqa: PLC0415

    model = None if wanted.model is None else read_model(wanted.model)
    judged = [identify_words(count_words(text)) for text, _ in labels.rows.values()]
    with open_readable(wanted.chosen.address) as connection:
        number, _ = find_campaign(connection, choose_campaign(connection, wanted.chosen.campaign))
        stored = (StoredText(*row) for row in read_stored_posts(connection, number) if row[0] not in labels.rows)
        return choose_posts(stored, wanted.count, wanted.seed, model, judged)


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
            labels.put(posts[place], ANSWERS[said])
            place += 1
        else:
            console.print(UNKNOWN, soft_wrap=True)


def _print_end(labels: LabelFile, console: Console) -> None:
    on, off, skipped = (labels.count(one) for one in (YES, NO, SKIPPED))
    if not labels.rows:
        return
    said = f"{labels.path}: {pluralize(on, 'post')} on topic, {off:,} off it, {skipped:,} skipped"
    console.print(f"\n{said}", soft_wrap=True)
    if min(on, off) < FOLDS:
        console.print(f"A model takes {FOLDS} posts at least of each kind: label more.", soft_wrap=True)
    else:
        names = (f"model{number}.json" for number in ("", *range(2, 100)))
        out = next((name for name in names if not Path(name).exists()), "FILE")  # train overwrites none
        console.print(f"Next: socialcrawl train --labels {labels.path} --out {out}", soft_wrap=True)
