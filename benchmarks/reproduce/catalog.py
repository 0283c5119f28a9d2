"""What `make reproduce` runs: papers.toml, read for one size."""

import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any

SIZES = ("tiny", "quick", "full", "paper")
LIST = Path(__file__).with_name("papers.toml")

Words = tuple[str, ...]


@dataclass(frozen=True)
class Figure:
    """One figure or table.

    Attributes:
        paper: the name of its paper.
        name: unique in its paper.
        title: its heading.
        shows: what the paper shows.
        ours: what is measured here.
        findings: headings of the paper's page.
        commands: the words of commands of socialcrawl, which run one after the other in one folder.
        takes_graphs: whether graphs that the user names are added to the last command.
    """

    paper: str
    name: str
    title: str
    shows: str
    ours: str
    findings: Words
    commands: tuple[Words, ...]
    takes_graphs: bool

    @property
    def label(self) -> str:
        """What messages, the command line and links call it."""
        return f"{self.paper}/{self.name}"


@dataclass(frozen=True)
class Paper:
    """One paper, or our own comparison.

    Attributes:
        name: the folder of its figures.
        title: authors and title.
        page: where its findings are, from the root of the project.
        about: what it asks.
        figures: in the order of the paper.
    """

    name: str
    title: str
    page: str
    about: str
    figures: tuple[Figure, ...]


def read_papers(size: str) -> list[Paper]:
    """Return the papers that have figures of a size, with their commands.

    Args:
        size: one of SIZES.
    """
    papers = (_make_paper(entry, size) for entry in tomllib.loads(LIST.read_text("utf-8"))["paper"])
    return [paper for paper in papers if paper.figures]


def _make_paper(entry: Mapping[str, Any], size: str) -> Paper:
    options = {name: sizes[size] for name, sizes in entry["options"].items() if size in sizes}
    figures = tuple(
        Figure(
            entry["name"],
            one["name"],
            one["title"],
            one["paper"],
            one["ours"],
            tuple(one["find"]),
            tuple(tuple(shlex.split(line.format_map(options))) for line in one["run"]),
            one.get("graphs", False),
        )
        for one in entry["figure"]
        if all(name in options for line in one["run"] for _, name, _, _ in Formatter().parse(line) if name)
    )
    return Paper(entry["name"], entry["title"], entry["page"], entry["about"], figures)
