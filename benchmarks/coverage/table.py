"""Count how many intervals of many runs hold the truth, and keep the counts on a page."""

import os
import platform
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf, isfinite
from pathlib import Path
from statistics import median
from typing import Protocol, TypeVar

ALL = "All graphs together"
PAGE = Path(__file__).with_name("README.md")


class Titled(Protocol):
    """A place where runs are made."""

    @property
    def title(self) -> str:
        """What tables call it."""


P = TypeVar("P", bound=Titled)


@dataclass(frozen=True)
class Shown:
    """What one run showed of one quantity.

    Attributes:
        interval: what is estimated.
        graph: where.
        at: how far the run was, "900 steps" or "at the stop".
        low, high: the ends; None: withheld.
        truth: of that graph, in that run.
    """

    interval: str
    graph: str
    at: str
    low: float | None
    high: float | None
    truth: float

    @property
    def holds(self) -> bool:
        """Whether the interval holds the truth, to what a sum of floats may be off."""
        slack = 1e-9 * max(1.0, abs(self.truth))
        return self.low is not None and self.high is not None and self.low - slack <= self.truth <= self.high + slack


@dataclass(frozen=True)
class Covered:
    """What many runs showed of one quantity.

    Attributes:
        runs: how many there were; `shown`: in how many an interval was; `holding`: how many of these hold the truth.
        width: the median of those shown.
    """

    runs: int
    shown: int
    holding: int
    width: float

    @property
    def share(self) -> float:
        """The share of the intervals shown that hold the truth; 1 where none was."""
        return self.holding / self.shown if self.shown else 1.0


def covered(runs: Iterable[Shown]) -> Covered:
    """Return what some runs showed together."""
    every = list(runs)
    told = [one for one in every if one.low is not None]
    widths = [inf if one.low is None or one.high is None else one.high - one.low for one in told]
    return Covered(len(every), len(told), sum(one.holds for one in told), median(widths) if widths else inf)


def repeat(
    places: Iterable[P],
    runs: int,
    run: Callable[[P, int], Iterable[Shown]],
    describe: Callable[[P], str] = lambda _: "",
) -> list[Shown]:
    """Return what `runs` runs at each place show, and print when a place is done.

    Args:
        places: where runs are made, one after the other.
        runs: how many there are at each place.
        run: makes the run with a number from 0 on, and yields what it shows.
        describe: returns what else is printed when all runs at a place are done.
    """
    shown: list[Shown] = []
    for place in places:
        for number in range(runs):
            shown += run(place, number)
        print(f"  {place.title}: {runs} runs{describe(place)}", flush=True)
    return shown


def keep(name: str, title: str, note: str, found: Sequence[Shown], page: Path = PAGE, *, apart: bool = True) -> None:
    """Replace the section of one measure on the page by what was just measured.

    Args:
        name: of the measure.
        title: of the section.
        note: what a run is, and what the cells say.
        found: what every run showed.
        page: which is written.
        apart: whether each graph has a table too, beside that of all together.
    """
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {datetime.now(UTC):%Y-%m-%d}"
    head = f"## {title}\n\n{machine}. `make coverage ONLY={name}`\n\n{note}"
    graphs = [*dict.fromkeys(one.graph for one in found)]
    several = [ALL] if len(graphs) > 1 else []
    tables = "\n\n".join(_table(graph, found) for graph in several + (graphs if apart or not several else []))
    body = f"<!-- {name} -->\n{head}\n\n{tables}\n<!-- /{name} -->"
    text = page.read_text("utf-8") if page.exists() else ""
    section = re.compile(f"<!-- {name} -->.*?<!-- /{name} -->", re.DOTALL)
    text = section.sub(lambda _: body, text) if section.search(text) else f"{text.rstrip()}\n\n{body}\n".lstrip()
    page.write_text(text, "utf-8")


def _table(graph: str, found: Sequence[Shown]) -> str:
    """Format the table of one graph; or of ALL, without widths, as the estimated quantity differs by graph."""
    mine = [one for one in found if graph in (ALL, one.graph)]
    ats, names = (list(dict.fromkeys(column)) for column in zip(*((one.at, one.interval) for one in mine), strict=True))
    cells = {
        (name, at): covered(one for one in mine if (one.interval, one.at) == (name, at)) for name in names for at in ats
    }
    lines = [f"### {graph}", "", f"| interval | {' | '.join(ats)} |", "|---" * (len(ats) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(_cell(cells[name, at], wide=graph != ALL) for at in ats)} |" for name in names]
    return "\n".join(lines)


def _cell(one: Covered, *, wide: bool = True) -> str:
    """Format how many intervals hold the truth of how many shown in how many runs, and their median width."""
    if not one.shown:
        return f"0 of {one.runs} shown" if one.runs else "-"
    width = (f"{one.width:,.0f}" if one.width >= 100.0 else f"{one.width:.3g}") if isfinite(one.width) else "no end"
    return f"**{one.share:.0%}** of {one.shown} shown in {one.runs}" + (f"; width {width}" if wide else "")
