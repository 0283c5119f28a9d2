"""What the commands of `socialcrawl lab liverank` do: worlds, crawls, data, figures, and a summary in the terminal."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments.figures import Bars, Curve, Panel, describe_intervals
from socialcrawl.lab.experiments.liverank import cost_curves, shares
from socialcrawl.lab.experiments.liverank import frames as liverank_figures
from socialcrawl.lab.experiments.liverank.dataset_worlds import DatasetWorld, Floats
from socialcrawl.lab.experiments.liverank.probe_orders import FRAMES, compute_pagerank
from socialcrawl.lab.experiments.liverank.world_options import KINDS, DatasetOptions
from socialcrawl.lab.experiments.runner import CRAWLS, ExperimentRun, format_cell
from socialcrawl.lab.experiments.seed_means import list_variants, select_variant
from socialcrawl.lab.result_tables import Table, join_tables, list_rows
from socialcrawl.text.terminal import write_line

TOLD = (0.1, 0.2, 0.4, 0.5, 0.6, 0.8, 0.9, 1.0)  # alphas in the terminal
NEEDS_SITES = "fig8"
TITLES = {
    "table1": "What is left of pages (table 1)",
    "fig1": "What is left of accounts (figure 1)",
    "fig2": "In-degree and PageRank of active pages (figure 2)",
    "fig3": "In-degree and PageRank of active accounts (figure 3)",
    "fig4": "Static and sample-based (figure 4)",
    "fig5": "Training sets (figure 5)",
    "fig6": "Dynamic LiveRanks (figure 6)",
    "fig7": "After a year (figure 7)",
    "fig8": "Active sites first (figure 8)",
    "fig9": "Static and sample-based (figure 9)",
    "fig10": "Training sets (figure 10)",
    "fig11": "Dynamic LiveRanks (figure 11)",
    "dpr": "Dynamic PageRank",
}


@dataclass(frozen=True)
class ProbeOptions:
    """The options of a command about crawls.

    Attributes:
        z: how many nodes are tested first; None: the paper's share.
        batch: after how many tests dynamic ranks look again.
    """

    z: int | None
    batch: int


def run_experiment(name: str, wanted: DatasetOptions, asked: ProbeOptions, run: ExperimentRun) -> None:
    """Run one experiment, or `all` of them: `name`.csv, .png, .svg, and .parquet where there are cost curves.

    Raises:
        SocialcrawlError: an option or file cannot be used, or a file not be written.
    """
    run.prepare(CRAWLS)
    for one in KINDS if name == "all" else (name,):
        seeds = run.choose_seeds(per_run=wanted.per_run and one in FRAMES)
        worlds = [world for number in range(len(seeds)) for world in wanted.iterate_worlds(KINDS[one], number)]
        if one == NEEDS_SITES:
            worlds = _select_with_sites(worlds, say_so=name == "all")
        if not worlds:
            continue
        if one in FRAMES:
            _run_costs(one, worlds, asked, run, seeds)
        elif one in ("fig2", "fig3"):
            _run_distributions(one, worlds, run)
        else:
            _run_statuses(one, worlds, run)


def _select_with_sites(worlds: Sequence[DatasetWorld], *, say_so: bool) -> list[DatasetWorld]:
    """Return the worlds that have sites; those that have none are refused, or passed over with a word."""
    for world in worlds:
        if world.sites is None:
            why = f"{world.name} has no sites, so that there are no active sites to test first"
            if not say_so:
                raise SettingsError(f"{why}; remove --file, or give a --web.")
            write_line(f"{NEEDS_SITES} is left out: {why}")
    return [world for world in worlds if world.sites is not None]


def _run_statuses(name: str, worlds: Sequence[DatasetWorld], run: ExperimentRun) -> None:
    found = join_tables([shares.count_statuses(world) for world in worlds])
    run.write_csv(name, found)
    for row in list_rows(found):
        write_line(f"  {row['graph']:<24}{row['status']:<26}{row['nodes']:>12,}{row['share']:>9.2%}")
    frames: list[Panel | Bars] = []
    for world in worlds:
        frames.append(liverank_figures.draw_statuses(world))
        if name == "fig1":
            ages = shares.compute_ages(world)
            if len(ages["days"]):
                run.write_csv(f"{name}-{world.name}-ages", ages)
                line = Curve("last act", ages["days"], ages["share"], 0 * ages["share"])
                along = "days since the last act"
                frames.append(Panel(world.name, "share of who ever acted", [line], along=along))
    run.draw(name, frames, 2, TITLES[name], data=f"{name}.csv")


def _run_distributions(name: str, worlds: Sequence[DatasetWorld], run: ExperimentRun) -> None:
    parts = []
    frames: list[Panel | Bars] = []
    for world in worlds:
        measures: tuple[tuple[str, Floats], ...] = (
            ("in-degree", np.asarray(world.count_indegrees() + 1.0)),
            ("PageRank times n", np.asarray(compute_pagerank(world) * world.size)),
        )
        for measure, values in measures:
            found = shares.compute_distributions(world, values, measure)
            parts.append(found)
            lines = [
                Curve(whose, own["x"], own["share"], 0 * own["share"], liverank_figures.WHOSE.get(whose))
                for (whose,) in list_variants(found, ("whose",))
                for own in [select_variant(found, ("whose",), (whose,))]
            ]
            along = f"{measure}{' plus 1' if measure == 'in-degree' else ''}"
            least = float(values.min())
            frames.append(Panel(world.name, "share that has no more", lines, log=True, along=along, begin=least))
            ahead = shares.compute_advantage(values, world.active)
            medians = [float(np.median(values[chosen])) for chosen in (world.active, ~world.active)]
            shift = 1.0 if measure == "in-degree" else 0.0
            write_line(
                f"  {measure:<18}an active node has more than another one with chance {ahead:.3f}; medians "
                f"{medians[0] - shift:.3g} and {medians[1] - shift:.3g}"
            )
        active, others = shares.measure_links_of_active(world)
        write_line(
            f"  links of active nodes lead to active ones with chance {active:.3f}, those of others {others:.3f}"
        )
    run.write_csv(name, join_tables(parts))
    run.draw(name, frames, 2, TITLES[name], data=f"{name}.csv")


def _run_costs(
    name: str, worlds: Sequence[DatasetWorld], asked: ProbeOptions, run: ExperimentRun, seeds: Sequence[range]
) -> None:
    parts = []
    for number, world in enumerate(worlds):
        jobs = [
            job
            for frame in FRAMES[name]
            for job in cost_curves.list_jobs(world, frame, seeds[number % len(seeds)], asked.z, asked.batch)
        ]
        parts += run.crawl(f"{name}: {world.name}", jobs)
    found = join_tables(parts)
    run.write_parquet(name, found)
    means = cost_curves.summarize_curves(found)
    run.write_csv(name, means)
    _print_costs(means)
    title = describe_intervals(TITLES[name], run.repeats, "seed")
    frames = liverank_figures.draw_costs(found, FRAMES[name])
    run.draw(name, frames, len(frames), title, even=True, data=f"{name}.parquet, {name}.csv")


def _print_costs(means: Table) -> None:
    """Print a line for each way: its mean cost at some alphas, and half of its interval over several seeds."""
    for graph, frame in list_variants(means, ("graph", "frame")):
        here = select_variant(means, ("graph", "frame"), (graph, frame))
        write_line(f"{graph}: {frame} (cost at alpha, ± half of its 95 % interval over the seeds)")
        write_line(" " * 18 + "".join(f"{alpha:>15}" for alpha in TOLD))
        for (way,) in list_variants(here, ("way",)):
            own = {row["alpha"]: row for row in list_rows(select_variant(here, ("way",), (way,)))}
            write_line(f"  {way:<16}" + "".join(f"{format_cell(own[alpha], 'cost', '.2f'):>15}" for alpha in TOLD))
