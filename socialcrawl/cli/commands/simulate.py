"""`socialcrawl simulate`: crawls replayed on known graphs, one for a script or a whole grid for a person."""

import json
import signal
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from socialcrawl.crawls.collect.estimators import make_estimator
from socialcrawl.crawls.collect.strategies import make_strategy
from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.lab.graphs import read, read_seeds
from socialcrawl.lab.grid import ReplayJob, connect_scheduler, draw_seed_sets, read_results, replay_all
from socialcrawl.lab.simulation import ReplaySetup
from socialcrawl.lab.simulation import simulate as replayed
from socialcrawl.render.console import make_console
from socialcrawl.text.terminal import is_quiet, write_error, write_json

GROUPED = ("graph", "estimator", "strategy", "refresh_rate")


def make_comparison(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the table of mean scores over the sets of seeds, with their standard deviation.

    Where the oracle was replayed, a score is divided by that of the oracle with the same graph and seeds: the greedy
    one, where there is one, with the lowest refresh rate.
    """
    oracle = _find_oracle(rows)
    several = len({row["graph"] for row in rows}) > 1
    table = Table(title=f"scores{' relative to the oracle' if oracle else ''}", title_justify="left", box=None)
    for name in ("graph",) * several + ("estimator", "strategy"):
        table.add_column(name, overflow="fold")
    for name in ("r", "mean", "sd", "seed sets", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in GROUPED), []).append(row)
    for (graph, *names, rate), group in groups.items():
        scores = [score for row in group if (score := _compute_relative(row, oracle)) is not None]
        spread = statistics.stdev(scores) if len(scores) > 1 else None
        mean = statistics.fmean(scores) if scores else None
        seconds = statistics.fmean(row["seconds"] for row in group)
        figures = (_format_figure(mean, oracle), _format_figure(spread, oracle), str(len(scores)), f"{seconds:.2f}")
        table.add_row(*[graph] * several, *names, str(rate), *figures)
    return table


def _find_oracle(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, int], float]:
    """Return the oracle's score by graph and set of seeds."""
    known = [row for row in rows if row["estimator"] == "oracle"]
    known.sort(key=lambda row: (row["strategy"] != "greedy", row["strategy"], row["refresh_rate"]), reverse=True)
    return {(row["graph"], row["seed_set"]): row["score"] for row in known}


def _compute_relative(row: Mapping[str, Any], oracle: Mapping[tuple[str, int], float]) -> float | None:
    """Return a score as it is compared; None where the oracle found nothing."""
    if not oracle:
        return float(row["score"])
    best = oracle[row["graph"], row["seed_set"]]
    return row["score"] / best if best else None


def _format_figure(value: float | None, oracle: Mapping[tuple[str, int], float]) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if oracle else f"{value:,.1f}"


INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Seeding:
    """Where crawls begin: files of rows, or a number of sets, drawn among the nodes of value above `least`."""

    files: Sequence[Path]
    sets: int | None
    size: int
    least: float
    seed: int

    def of(self, graph: KnownGraph) -> list[list[int]]:
        """Return the sets of seeds for one graph.

        Raises:
            SettingsError: neither or both ways are named, or the graph has not what they need.
        """
        if bool(self.files) == (self.sets is not None):
            raise SettingsError("Where to begin? Give either --seeds FILE, or --seed-sets N to have them drawn.")
        if self.sets is not None:
            return draw_seed_sets(graph, self.sets, self.size, self.seed, self.least)
        return [read_seeds(file, graph) for file in self.files]


@dataclass(frozen=True, slots=True)
class Grid:
    """What is replayed: every graph with every estimator, strategy, refresh rate and set of seeds.

    `common` are the arguments of `ReplaySetup` that all have in common.
    """

    graphs: Sequence[Path]
    estimators: Sequence[str]
    strategies: Sequence[str]
    refresh_rates: Sequence[int]
    seeding: Seeding
    common: Mapping[str, Any]

    def setups(self) -> list[ReplaySetup]:
        """Return all that is done with one set of seeds, found sound.

        Raises:
            SettingsError: a name is not known or a number out of range.
        """
        wanted = product(
            _drop_repeats(self.estimators), _drop_repeats(self.strategies), _drop_repeats(self.refresh_rates)
        )
        found = [
            ReplaySetup(estimator=name, strategy=by, refresh_rate=size, **self.common) for name, by, size in wanted
        ]
        for setup in found:  # before any graph is opened
            _check(setup)
        return found

    def jobs(self) -> list[ReplayJob]:
        """Return all replays, graph after graph.

        Raises:
            SettingsError: a name is not known, or a graph or a file of seeds not sound.
        """
        setups, jobs = self.setups(), []
        for path in _drop_repeats(self.graphs):
            sets = self.seeding.of(read(path))
            jobs += [ReplayJob(str(path), i, tuple(seeds), setup) for setup in setups for i, seeds in enumerate(sets)]
        return jobs


def simulate(grid: Grid, out: Path, *, jobs: int, address: str | None, as_json: bool) -> None:
    """Replay a grid and show what it found (`run`; for scripts, `replay_as_values`). Ctrl-C: exit code 130."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that workers are stopped on the way out
    try:
        if as_json:
            write_json(json.dumps(replay_as_values(grid)))
        else:
            run(grid, out, make_console(unfolded=True), jobs=jobs, address=address)
    except KeyboardInterrupt:
        kept = "" if as_json else f"; what is done is in {out}, and the same command again goes on"
        write_error(f"interrupted{kept}")
        raise typer.Exit(INTERRUPTED) from None


def replay_as_values(grid: Grid) -> dict[str, Any]:
    """Replay all of a grid in this process, one after the other, and return the results as plain values.

    Returns:
        curve, steps, seed_score, seconds and peak_rss_mb of the only replay; else `replays`, a list with the same of
        each, and its graph, estimator, strategy, refresh_rate and seed_set.

    Raises:
        SettingsError: something in the grid is not sound.
    """
    jobs, values = grid.jobs(), list[dict[str, Any]]()
    for job in jobs:
        replay = replayed(read(Path(job.graph)), job.seeds, job.setup)
        values.append(
            {
                "graph": job.graph,
                "estimator": job.setup.estimator,
                "strategy": job.setup.strategy,
                "refresh_rate": job.setup.refresh_rate,
                "seed_set": job.seed_set,
                "curve": replay.curve.tolist(),
                "steps": replay.steps.tolist(),
                "seed_score": replay.seed_score,
                "seconds": replay.seconds,
                "peak_rss_mb": replay.peak_rss_mb,
            }
        )
    return values[0] if len(values) == 1 else {"replays": values}


def run(grid: Grid, out: Path, console: Console, *, jobs: int, address: str | None) -> None:
    """Replay what has no result in `out` yet, watched on `console`, and compare all of the grid.

    Args:
        grid: what is replayed.
        out: the folder of results.
        console: where a person looks; it shows progress only where it is a terminal.
        jobs: replays at once on this machine; -1: as many as there are processors.
        address: of a Dask scheduler whose workers do it instead.
    """
    if jobs == 0 or jobs < -1:
        raise SettingsError(f"--jobs {jobs}: give the number of replays at once, or -1 for one a processor.")
    wanted = grid.jobs()
    with connect_scheduler(address) if address else nullcontext(), _show_progress(console) as watch:
        now = replay_all(wanted, out, n_jobs=jobs, watch=watch)
    keys = [job.key for job in wanted]
    rows = read_results(out, ["score", "seconds"], keys).to_pylist()
    console.print(make_comparison(rows))
    for late in dict.fromkeys(job.setup.late_switch for job in wanted if job.setup.late_switch):
        console.print(f"{late}.", soft_wrap=True)
    console.print(f"{now:,} of {len(set(keys)):,} replays were done now; all are in {out}/*.parquet", soft_wrap=True)


def _check(setup: ReplaySetup) -> None:
    if setup.estimator != "oracle":
        make_estimator(setup.estimator, seed=setup.seed, start=setup.start, nr_d=setup.nr_d)
    make_strategy(setup.strategy, seed=setup.seed, q=setup.q, zeta=setup.zeta)


def _drop_repeats(values: Sequence[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


@contextmanager
def _show_progress(console: Console) -> Iterator[Callable[[int, int], object] | None]:
    """Yield a callback for finished replays: it shows a bar on a terminal, nothing elsewhere."""
    if is_quiet() or not console.is_terminal:
        yield None
        return
    columns = (TextColumn("replays"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("replays", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
