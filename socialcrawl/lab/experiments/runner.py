"""One run of an experiment, the same for all papers: seeds, processes, resumption, progress, tables and figures.

A paper's folder holds what is its own: its graphs, its crawls, and what its tables and figures show.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from errno import EACCES
from math import isnan
from pathlib import Path
from typing import Any

from rich.progress import Progress

from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments.figures import Bars, Panel, draw
from socialcrawl.lab.process_pool import CrawlJob, crawl_missing
from socialcrawl.lab.result_tables import Table, write_csv, write_parquet
from socialcrawl.render.console import make_console
from socialcrawl.text.terminal import write_line

CRAWLS = "crawls"  # the folder in --out where finished crawls are kept

Row = dict[str, Any]


@dataclass(frozen=True)
class ExperimentRun:
    """One run of an experiment: where its results go, which seeds its crawls have, and how many are made at once.

    Attributes:
        out: the folder of figures and data. Finished crawls are kept in its folder `crawls` and not made again.
        processes: crawls at once; -1: as many as there are processors.
        seed: of the first crawl.
        repeats: how many crawls of each kind are made, of consecutive seeds.

    Raises:
        SettingsError: there are no processes.
    """

    out: Path
    processes: int = -1
    seed: int = 1
    repeats: int = 1

    def __post_init__(self) -> None:
        if self.processes == 0:
            raise SettingsError("--jobs 0: give 1 or more crawls at once, or -1 for as many as there are processors.")

    @property
    def seeds(self) -> range:
        """The seeds of the crawls of each kind."""
        return range(self.seed, self.seed + self.repeats)

    def choose_seeds(self, *, per_run: bool) -> list[range]:
        """Return the seeds of the crawls on one graph; with `per_run` each alone, for crawls with a graph for each."""
        return [range(seed, seed + 1) for seed in self.seeds] if per_run else [self.seeds]

    def prepare(self, *folders: str) -> None:
        """Create the folder of the results, and `folders` inside it, before time is spent on the work.

        Raises:
            SettingsError: a folder cannot be created, or nothing can be written into it.
        """
        for folder in (self.out, *(self.out / name for name in folders)):
            try:
                folder.mkdir(parents=True, exist_ok=True)
                if not os.access(folder, os.W_OK | os.X_OK):
                    raise PermissionError(EACCES, os.strerror(EACCES), str(folder))
            except OSError as error:
                why = f"{error.strerror}: {error.filename}"
                raise SettingsError(
                    f"--out {self.out} cannot be a folder ({why}): name a folder that can be written."
                ) from error

    def crawl(self, title: str, jobs: Sequence[CrawlJob]) -> list[Table]:
        """Return the tables of all crawls, in their order; those that are not kept yet are made now.

        Args:
            title: beside the progress bar.
            jobs: the crawls.

        Raises:
            SocialcrawlError: a file cannot be written, or a process was killed.
        """
        with show_progress(title) as watch:
            return crawl_missing(jobs, self.out / CRAWLS, self.processes, watch)

    def write_csv(self, name: str, table: Table) -> None:
        """Write the table `name`.csv.

        Raises:
            SocialcrawlError: it cannot be written.
        """
        write_csv(self.out / f"{name}.csv", table)

    def write_parquet(self, name: str, table: Table) -> None:
        """Write the table `name`.parquet.

        Raises:
            SocialcrawlError: it cannot be written.
        """
        write_parquet(self.out / f"{name}.parquet", table)

    def draw(
        self,
        name: str,
        frames: Sequence[Panel | Bars],
        across: int,
        title: str,
        *,
        even: bool = False,
        data: str | None = None,
    ) -> None:
        """Draw the figure `name`, and print which files were written.

        Args:
            name: of the figure, without an ending.
            frames: row by row.
            across: how many there are in a row.
            title: above all of them.
            even: whether frames of a row have the same heights.
            data: the files of its data, as printed; None: all files whose names begin with that of the figure.

        Raises:
            SocialcrawlError: it cannot be written.
        """
        pictures = draw(self.out / name, frames, across, title, even=even)
        if data is None:
            data = ", ".join(sorted(path.name for path in self.out.glob(f"{name}[.-]*") if path not in pictures))
        write_line(f"wrote {', '.join(str(path) for path in pictures)}; the data: {data}")


@contextmanager
def show_progress(title: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar in the terminal: call what is yielded with (done, total). The bar goes away at the end."""
    with Progress(console=make_console(errors=True), transient=True) as progress:
        task = progress.add_task(title, total=None)

        def watch(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        yield watch


def require_different_names(names: Sequence[str], what: str) -> None:
    """Check that no two graphs of a command have one name, by which tables tell them apart.

    Raises:
        SettingsError: two have.
    """
    if twice := [name for name in names if names.count(name) > 1]:
        raise SettingsError(f"two {what} are called {twice[0]}; run them one after the other, each with its own --out.")


def list_values(rows: Sequence[Row], column: str) -> list[Any]:
    """Return the different values of a column, in order of first appearance."""
    return list(dict.fromkeys(row[column] for row in rows))


def select_rows(rows: Sequence[Row], **values: Any) -> list[Row]:
    """Return the rows whose columns have these values."""
    return [row for row in rows if all(row[column] == value for column, value in values.items())]


def half_interval(row: Row, column: str) -> float:
    """Return half of the 95 % interval of a column, from NAME_low to NAME_high; NaN where the row has none."""
    return float(row.get(f"{column}_high", float("nan")) - row.get(f"{column}_low", float("nan"))) / 2


def format_mean(mean: float, half: float, form: str) -> str:
    """Return a mean as text with half of its 95 % interval, where it has one (NaN: it has none)."""
    return f"{mean:{form}}" + ("" if isnan(half) else f" ± {half:{form}}")


def format_cell(row: Row, column: str, form: str) -> str:
    """Return a column of a row as text with half of its 95 % interval, where it has one."""
    return format_mean(row[column], half_interval(row, column), form)
