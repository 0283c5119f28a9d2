"""What `socialcrawl lab steering` does: replays of all estimators on all graphs, and the files of the leaderboard."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from socialcrawl import __version__
from socialcrawl.crawls.collect.estimators.registry import ESTIMATORS, NAMES, OURS, make_estimator
from socialcrawl.engine.clock import SystemClock
from socialcrawl.engine.model import format_time
from socialcrawl.errors import SettingsError, SocialcrawlError
from socialcrawl.lab.experiments.gouriten.replays import count_reachable
from socialcrawl.lab.experiments.runner import CRAWLS, ExperimentRun, Row, show_progress
from socialcrawl.lab.experiments.steering.board import Leaderboard, format_board, list_graph_rows, list_standings
from socialcrawl.lab.experiments.steering.leaderboard_page import draw_page
from socialcrawl.lab.experiments.steering.standings import (
    FIRST,
    MEASURES,
    Entrants,
    make_standings,
    measure_curve,
)
from socialcrawl.lab.graphs import read
from socialcrawl.lab.graphs.graph_folder import ARRAYS
from socialcrawl.lab.grid import ReplayJob, draw_seed_sets, read_results, replay_all
from socialcrawl.lab.measures import Floats
from socialcrawl.lab.result_tables import make_table
from socialcrawl.lab.results import compute_digest
from socialcrawl.lab.simulation import ReplaySetup
from socialcrawl.render.html_report import check_page_file, write_page
from socialcrawl.system.files import replace_file
from socialcrawl.text.terminal import write_line

NAME = "leaderboard"
ALL = "all"
TOO_SLOW = ("nr",)  # scores the whole frontier at every step
USUAL = ("adaptive", "bfs", "nh-n-sum", "nh-e-sum", "nh-ne-sum", "hybrid-sum")
SEEDS = 30
GIVEN_AWAY = 4  # a set of seeds is at most one in this many of the nodes with a value
STEPS = (200, 3000)


@dataclass(frozen=True)
class SteeringOptions:
    """What is compared.

    Attributes:
        graphs: folders or .npz.
        estimators: their names; "all" stands for adaptive and all of the paper but Navigational Rank.
        baseline: the estimator that each other one is compared with; it is added where it is missing.
        seed_size: nodes in each set of seeds; None: at most SEEDS, and at most a quarter of the nodes with a value.
        steps: of each crawl; None: as many as nodes have a value, within STEPS.
        switch_after: the steps after which hybrids turn to their linear estimator.

    Raises:
        SettingsError: no graph, a graph twice, or an unknown estimator.
    """

    graphs: Sequence[Path]
    estimators: Sequence[str] = USUAL
    baseline: str = "hybrid-sum"
    seed_size: int | None = None
    steps: int | None = None
    switch_after: int = 1000

    def __post_init__(self) -> None:
        if not self.graphs:
            raise SettingsError(
                "There is nothing to crawl: give graphs with --graph, or a folder of them with --graphs."
            )
        places, names = [path.absolute() for path in self.graphs], [path.stem for path in self.graphs]
        for path, place in zip(self.graphs, places, strict=True):
            if places.count(place) > 1:
                raise SettingsError(f"{path} is given twice; give it once, as it would count twice.")
            if names.count(path.stem) > 1:
                raise SettingsError(
                    f"Two graphs are called {path.stem}, and tables tell them apart by name; rename one."
                )
        for name in self.names:
            check_estimator(name)

    @property
    def names(self) -> list[str]:
        """The names of the estimators, each once."""
        every = [name for name in NAMES if name not in TOO_SLOW]
        given = [one for name in self.estimators for one in (every if name == ALL else [name])]
        return list(dict.fromkeys([*given, self.baseline]))

    def format_command(self, run: ExperimentRun) -> str:
        """Return the command that makes the same leaderboard."""
        options: list[tuple[str, object]] = [("--graph", path) for path in self.graphs]
        options += [("--estimator", name) for name in self.names]
        options += [("--baseline", self.baseline), ("--seed", run.seed), ("--seed-sets", run.repeats)]
        given = ("--seed-size", self.seed_size), ("--steps", self.steps), ("--switch-after", self.switch_after)
        options += [(name, value) for name, value in given if value is not None]
        return shlex.join(["socialcrawl", "lab", "steering", *(str(word) for pair in options for word in pair)])

    @property
    def references(self) -> list[str]:
        """The estimators whose best counts as 1: those of the paper, or all where there are none of the paper."""
        paper = [name for name in self.names if name in NAMES and name not in OURS]
        return paper or self.names


def check_estimator(name: str) -> None:
    """Check that an estimator can be made; a class of your own is imported.

    Raises:
        SettingsError: it cannot.
    """
    setup = ReplaySetup(name, 1)
    if name != "oracle":
        make_estimator(name, seed=setup.seed)


def list_graphs(folder: Path) -> list[Path]:
    """Return the graphs in a folder, by name: each .npz, and each folder that is a graph.

    Raises:
        SettingsError: there is no such folder, or no graph in it.
    """
    if not folder.is_dir():
        raise SettingsError(f"There is no folder {folder}; give one that has graphs in it.")
    found = sorted(path for path in folder.iterdir() if path.suffix == ".npz" or (path / f"{ARRAYS[0]}.npy").is_file())
    if not found:
        raise SettingsError(f"There is no graph in {folder}: it has neither .npz files nor folders of graphs.")
    return found


def compare_estimators(asked: SteeringOptions, run: ExperimentRun) -> None:
    """Replay all estimators on all graphs, write the leaderboard, and print it.

    Files: leaderboard.html, .json, .csv (a row for each measure and estimator), leaderboard-graphs.csv (for each
    measure, graph and estimator) and leaderboard.parquet (for each replay). Replays that are kept are not made again.

    Raises:
        SettingsError: an option or graph cannot be used.
        SocialcrawlError: a file cannot be written, or a process was killed.
    """
    run.prepare(CRAWLS)
    check_page_file(run.out / f"{NAME}.html")
    facts, jobs = list[Row](), list[list[ReplayJob]]()
    for path in asked.graphs:
        fact, own = _plan(path, asked, run)
        facts.append(fact)
        jobs.append(own)
    _require_different_graphs(facts)
    with show_progress("replays") as watch:
        replay_all([job for own in jobs for job in own], run.out / CRAWLS, n_jobs=run.processes, watch=watch)
    rows = [row for fact, own in zip(facts, jobs, strict=True) for row in _measure(fact["graph"], own, run)]
    entrants = Entrants([fact["graph"] for fact in facts], asked.names, asked.references, asked.baseline)
    board = Leaderboard(
        entrants,
        {name: make_standings(entrants, _shape_values(entrants, rows, name)) for name in MEASURES},
        facts,
        _describe_estimators(entrants, jobs[0]),
        run.seed,
        run.repeats,
        asked.switch_after,
        asked.format_command(run),
        _list_late(facts, jobs),
        format_time(SystemClock().now()),
    )
    _write_files(board, rows, run)
    for line in format_board(board):
        write_line(line)
    write_line(f"wrote {run.out / NAME}.html; the data: {NAME}.json, {NAME}.csv, {NAME}-graphs.csv, {NAME}.parquet")


def _plan(path: Path, asked: SteeringOptions, run: ExperimentRun) -> tuple[Row, list[ReplayJob]]:
    """Return what is to be known of a graph, and its replays: the sets of seeds of each estimator."""
    graph, where = read(path), str(path.absolute())
    positive = int((graph.beta > 0).sum())
    size = min(SEEDS, positive // GIVEN_AWAY) if asked.seed_size is None else asked.seed_size
    if size < 1:
        remedy = ", or --seed-size" if positive else ", or see whether the topic was misspelled when this was made"
        raise SettingsError(
            f"{path} has {positive:,} nodes with a value above 0, too few to begin at some and look for the others; "
            f"give a graph with at least {GIVEN_AWAY}{remedy}."
        )
    try:
        sets = draw_seed_sets(graph, run.repeats, size, run.seed)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error
    if not any(count_reachable(graph, seeds, 1) for seeds in sets):
        raise SettingsError(f"{path}: the seeds link to nobody else; there is nothing to crawl.")
    steps = int(np.clip(positive, *STEPS)) if asked.steps is None else asked.steps
    fact = {
        "graph": path.stem,
        "nodes": graph.size,
        "links": graph.links,
        "positive": positive,
        "seeds": size,
        "steps": steps,
        "sha256": compute_digest(where),
    }
    return fact, [
        ReplayJob(
            where,
            number,
            tuple(seeds),
            ReplaySetup(name, steps, seed=run.seed + number, switch_after=asked.switch_after),
        )
        for name in asked.names
        for number, seeds in enumerate(sets)
    ]


def _require_different_graphs(facts: Sequence[Row]) -> None:
    seen: dict[str, str] = {}
    for fact in facts:
        other = seen.setdefault(fact["sha256"], fact["graph"])
        if other != fact["graph"]:
            raise SettingsError(
                f"{other} and {fact['graph']} are the same graph; give it once, as it would count twice."
            )


def _measure(graph: str, jobs: Sequence[ReplayJob], run: ExperimentRun) -> list[Row]:
    """Return a row for each replay of a graph, in the order of `jobs`: its measures and how long it took."""
    found = read_results(run.out / CRAWLS, ["curve", "seconds"], [job.key for job in jobs])
    names = zip(*(found[name].to_pylist() for name in ("estimator", "seed_set", "seconds")), strict=True)
    curves = found["curve"].combine_chunks()
    rows = {
        (estimator, number): {
            **measure_curve(curves[place].values.to_numpy()),
            "seconds": seconds,
        }
        for place, (estimator, number, seconds) in enumerate(names)
    }
    return [
        {"graph": graph, "estimator": job.setup.estimator, "seed_set": job.seed_set}
        | rows[job.setup.estimator, job.seed_set]
        for job in jobs
    ]


def _shape_values(entrants: Entrants, rows: Sequence[Row], measure: str) -> Floats:
    values = np.array([row[measure] for row in rows], np.float64)
    return values.reshape(len(entrants.graphs), len(entrants.estimators), -1)


def _describe_estimators(entrants: Entrants, jobs: Sequence[ReplayJob]) -> list[Row]:
    """Return whose each estimator is, and the checksum of the code that its results belong to."""
    code = {job.setup.estimator: job.code for job in jobs}
    return [
        {
            "estimator": name,
            "reference": name in entrants.references,
            "added": ESTIMATORS.is_added(name),
            "package": ESTIMATORS.describe_package(name) if ESTIMATORS.is_added(name) else "",
            "code": code[name],
        }
        for name in entrants.estimators
    ]


def _list_late(facts: Sequence[Row], jobs: Sequence[Sequence[ReplayJob]]) -> dict[str, list[str]]:
    """Return the graphs on which a hybrid never switches, by its name."""
    late: dict[str, list[str]] = {}
    for fact, own in zip(facts, jobs, strict=True):
        for name in dict.fromkeys(job.setup.estimator for job in own if job.setup.late_switch):
            late.setdefault(name, []).append(fact["graph"])
    return late


def _write_files(board: Leaderboard, rows: Sequence[Row], run: ExperimentRun) -> None:
    run.write_parquet(NAME, make_table(rows))
    standings = [row for name in MEASURES for row in list_standings(board, name)]
    run.write_csv(NAME, make_table(standings))
    run.write_csv(f"{NAME}-graphs", make_table(list(list_graph_rows(board))))
    known = {
        "made": board.at,
        "version": __version__,
        "seed": board.seed,
        "seed_sets": board.sets,
        "switch_after": board.switch_after,
        "command": board.command,
        "versions": board.versions,
        "first_steps": FIRST,
        "baseline": board.entrants.baseline,
        "references": list(board.entrants.references),
        "measures": dict(MEASURES),
        "notes": board.notes,
        "graphs": list(board.graphs),
        "estimators": list(board.estimators),
        "standings": [{name: _show_number(value) for name, value in row.items()} for row in standings],
    }
    path = run.out / f"{NAME}.json"
    try:
        with replace_file(path) as part:
            part.write_text(json.dumps(known, indent=1, allow_nan=False) + "\n", "utf-8")
    except OSError as error:
        raise SocialcrawlError(f"{path} cannot be written: {error}. Free space or name another folder.") from error
    write_page(run.out / f"{NAME}.html", draw_page(board))


def _show_number(value: Any) -> Any:
    """Return a value as JSON has it: null for what is no number."""
    return None if isinstance(value, float) and not isfinite(value) else value
