"""What `lab sampling bias`, `audit`, `ends` and `gap` do: crawls, data, figures, and a summary in the terminal."""

from collections.abc import Iterable, Sequence
from math import isnan, nan
from typing import Any

import numpy as np

from socialcrawl.forecast.intervals import estimate_mean
from socialcrawl.lab.experiments.figures import Bars, Curve, Panel, describe_intervals
from socialcrawl.lab.experiments.runner import (
    CRAWLS,
    ExperimentRun,
    Row,
    format_cell,
    format_mean,
    list_values,
    select_rows,
    show_progress,
)
from socialcrawl.lab.experiments.sampling import audit_coverage, frozen_lists, walk_ends
from socialcrawl.lab.experiments.sampling.frozen_lists import GRAPHS
from socialcrawl.lab.experiments.sampling.known_walks import list_methods
from socialcrawl.lab.experiments.sampling.run_setup import TITLES, WalkOptions, WorldOptions
from socialcrawl.lab.experiments.seed_means import (
    average_for_figure,
    compare_pairs,
    list_variants,
    select_variant,
    summarize_means,
)
from socialcrawl.lab.result_tables import Table, join_tables, list_rows, make_table
from socialcrawl.text.terminal import write_line
from socialcrawl.text.wording import pluralize

ENDS = {
    "read": "pages read",
    "visits": "visits in the sample",
    "effective": "effective size",
    "error": "error of a share (% of it)",
    "width": "width of the interval (% of the share)",
    "inside": "intervals with the truth (share)",
}


def run_bias(wanted: WorldOptions, asked: WalkOptions, run: ExperimentRun) -> None:
    """Compute the exact law on frozen lists, printed and symmetric: bias.csv, .png and .svg.

    Raises:
        SettingsError: an option or file cannot be used.
    """
    run.prepare()
    world = wanted.make_world()
    topic = next(iter(world.topics.values()))
    rows = []
    total = len(frozen_lists.SEARCHES) * 2 * asked.setup.runs
    with show_progress(f"bias: {world.name}") as watch:
        for row in frozen_lists.measure_biases(world, topic, asked.setup):
            rows.append(row)
            watch(len(rows), total)
    means = _average_rows(rows, ("world", "search", "consistency"))
    spread = f"means of {pluralize(asked.setup.runs, 'run')}"
    if asked.setup.runs > 1:
        spread += ", ± half of their 95 % intervals"
    write_line(f"{world.name}, {topic.name}: the law of a walk, times the even share; {spread}")
    for row in means:
        forms = {"largest": ".2f", "least": ".3f", "misplaced": ".1%", "degree": ".2f", "share": ".2f"}
        cells = {name: _format_spread(rows, row, name, form) for name, form in forms.items()}
        write_line(
            f"  search {row['search']:<9} {row['consistency']:<10} {row['pages']:>6,.0f} pages: largest "
            f"{cells['largest']}, least {cells['least']}, misplaced {cells['misplaced']}; mean out-degree "
            f"{cells['degree']}, topic {cells['share']} of the true; correlation with visits "
            f"{_format_correlation(row['walked'])}"
        )
    searches = [name for name, _ in frozen_lists.SEARCHES]
    kinds = ("printed", "symmetric")
    frames = [
        Bars(
            title,
            axis,
            searches,
            [(one, [row[name] for row in select_rows(means, consistency=one)]) for one in kinds],
            [[_find_half(rows, name, search, one) for search in searches] for one in kinds],
            thin=True,
        )
        for name, title, axis in (
            ("misplaced", "share of time in wrong places", "total variation from even"),
            ("largest", "the most visited page", "times the even share"),
        )
    ]
    run.write_csv("bias", make_table(rows))
    run.draw("bias", frames, 2, describe_intervals(TITLES["bias"], asked.setup.runs, "run"))


def _find_half(rows: list[Row], name: str, search: str, consistency: str) -> float:
    """Return half of the 95 % interval of a mean over the runs."""
    own = [row[name] for row in select_rows(rows, search=search, consistency=consistency)]
    found = estimate_mean(np.array(own, np.float64))
    return (found.high - found.low) / 2


def _format_spread(rows: list[Row], row: dict[str, Any], name: str, form: str) -> str:
    """Return a mean over the runs with half of its interval."""
    return format_mean(row[name], _find_half(rows, name, row["search"], row["consistency"]), form)


def _format_correlation(number: float) -> str:
    """Return a correlation as people read it; of a law that is even everywhere there is none."""
    return "-" if isnan(number) else f"{number:.3f}"


def _average_rows(rows: list[Row], by: Sequence[str]) -> list[Row]:
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    numbers = [name for name in rows[0] if name not in by]
    return [
        {**dict(zip(by, key, strict=True)), **{name: sum(one[name] for one in own) / len(own) for name in numbers}}
        for key, own in groups.items()
    ]


def run_audit(wanted: WorldOptions, asked: WalkOptions, held: float, run: ExperimentRun) -> None:
    """Measure how often true shares lie in the intervals: audit.csv (a row for each question), .png and .svg.

    Raises:
        SettingsError: an option or file cannot be used.
    """
    run.prepare(CRAWLS)
    found: dict[tuple[str, str, str], list[Table]] = {}
    for world, setup in wanted.iterate_worlds(asked.setup):
        write_line(f"{world.name}: {world.size:,} pages, {world.graph.links:,} links")
        for topic in world.topics.values():
            dataset = audit_coverage.draw_dataset(world, topic, held, setup.seed)
            for method in asked.choose_methods(list_methods(topic)):
                made = audit_coverage.list_jobs(world, topic, method, setup, dataset)
                own = run.crawl(f"audit: {topic.name}, {method}", made)
                found.setdefault((world.name, topic.name, method), []).extend(own)
    rows: list[Row] = []
    for (name, on, method), own in found.items():
        answers = _measure_answers(own)
        rows += [{"world": name, "topic": on, "method": method, **row} for row in answers]
        write_line(_describe_answers(on, method, answers))
    frames = [_draw_coverage(on, select_rows(rows, topic=on)) for on in list_values(rows, "topic")]
    run.write_csv("audit", make_table(rows))
    run.draw("audit", frames, 2, TITLES["audit"])


def _measure_answers(runs: Sequence[Table]) -> list[Row]:
    questions: Iterable[str] = runs[0]["question"].tolist()
    return [
        {
            "question": name,
            **audit_coverage.measure_coverage(
                {key: _read_column(runs, key, place) for key in runs[0] if key != "question"}
            ),
        }
        for place, name in enumerate(questions)
    ]


def _read_column(runs: Sequence[Table], key: str, place: int) -> Any:
    return np.array([run[key][place] for run in runs])


def _describe_answers(topic: str, method: str, rows: list[Row]) -> str:
    """Return a line for a topic and method, a line for each question below it."""
    first = rows[0]
    crawls, worth = f"{first['runs']:.0f} crawls of {first['fetches']:,.0f} pages", f"{first['effective']:,.0f}"
    said = [f"  {topic}, {method}: {crawls}, precision {first['precision']:.1%}, {first['visits']:,.0f} samples"]
    said[0] += f", worth {worth} for {first['question']}"
    for row in rows:
        digits = ",.0f" if row["question"] == "size" else ".3f"
        also = (
            f"; of all {row['all']:{digits}}, in {row['inside_all']:.0f}" if row["inside_all"] != row["inside"] else ""
        )
        inside = f"in {row['inside']:.0f} of {row['shown']:.0f} intervals shown, of width {row['width']:{digits}}"
        text = inside if row["shown"] else "no interval shown"
        said.append(
            f"    {row['question']:<16} truth {row['truth']:{digits}}, {text}; mean {row['mean']:{digits}}{also}"
        )
    return "\n".join(said)


def _draw_coverage(topic: str, rows: list[Row]) -> Bars:
    questions = list_values(rows, "question")
    methods = list_values(rows, "method")
    series = [(one, [100 * r["inside"] / (r["shown"] or nan) for r in rows if r["method"] == one]) for one in methods]
    runs = min(row["runs"] for row in rows)
    groups = [name.replace(" ", "\n").replace("-", "-\n") for name in questions]
    label = f"% of the intervals shown with the truth, {runs:,.0f} runs"
    return Bars(topic, label, groups, series, form=".3g", thin=True)


def run_ends(wanted: WorldOptions, asked: WalkOptions, run: ExperimentRun) -> None:
    """Compare ends of walks with the last nodes of one: ends.csv (all runs), -means.csv, -pairs.csv, .png and .svg.

    Raises:
        SettingsError: an option or file cannot be used.
    """
    run.prepare(CRAWLS)
    parts: list[Table] = []
    for world, setup in wanted.iterate_worlds(asked.setup):
        for topic in world.topics.values():
            for method in asked.choose_methods(("hard",)):
                own = run.crawl(f"ends: {topic.name}, {method}", walk_ends.list_jobs(world, topic, method, setup))
                parts += [{"graph": np.full(len(one["seed"]), f"{topic.name}, {method}"), **one} for one in own]
    found = join_tables(parts)
    run.write_csv("ends", found)
    by = ("graph", "scheme")
    means = summarize_means(found, by, "walks", tuple(ENDS))
    run.write_csv("ends-means", means)
    run.write_csv("ends-pairs", compare_pairs(found, ("scheme",), ("error", "width", "inside")))
    spread = f"means over {pluralize(asked.setup.runs, 'run')}" + ", ± half of their 95 % intervals"
    write_line(f"walks of {asked.setup.length} steps; {spread if asked.setup.runs > 1 else 'one run, so no intervals'}")
    for (graph,) in list_variants(means, ("graph",)):
        write_line(f"{graph}: {', '.join(ENDS.values())}")
        for row in list_rows(select_variant(means, ("graph",), (graph,))):
            if not isnan(row["walks"]):  # the mean over all numbers of walks
                label = f"{row['walks']:.0f} walks, {row['scheme']}"
                cells = "".join(f"{format_cell(row, name, '.3g'):>16}" for name in ENDS)
                write_line(f"  {label:<26}{cells}")
    run.draw("ends", draw_ends(found), 2, describe_intervals(TITLES["ends"], asked.setup.runs, "run"))


def draw_ends(found: Table) -> list[Panel]:
    """Return for each topic the errors, and how many intervals hold the truth."""
    return [
        Panel(
            graph,
            ENDS[name],
            _draw_schemes(select_variant(found, ("graph",), (graph,)), name),
            along="walks (n); the one walk reads as many pages",
            share=name == "inside",
            level=0.95 if name == "inside" else None,
        )
        for (graph,) in list_variants(found, ("graph",))
        for name in ("error", "inside")
    ]


def _draw_schemes(found: Table, name: str) -> list[Curve]:
    return [
        Curve(scheme, *average_for_figure(select_variant(found, ("scheme",), (scheme,)), "walks", name))
        for (scheme,) in list_variants(found, ("scheme",))
    ]


def run_gap(wanted: WorldOptions, run: ExperimentRun) -> None:
    """Compute spectral gaps: gap.csv, .png and .svg.

    Raises:
        SettingsError: an option or file cannot be used.
    """
    run.prepare()
    world = wanted.make_world()
    rows = [row for topic in world.topics.values() for row in frozen_lists.measure_mixing(world, topic)]
    for row in rows:
        write_line(
            f"  {row['topic']:<20} {row['graph']:<14} {row['pages']:>6,} pages: gap {row['gap']:.2e} (without loops "
            f"{row['plain']:.4f}), mixes in {row['steps']:,.0f} steps, of which {row['moves']:,.0f} move"
        )
    topics = list(world.topics)
    for row in rows:
        row["hundreds"] = row["moves"] / 100.0
    frames = [
        Bars(
            title,
            axis,
            topics,
            [(one, [row[name] for row in select_rows(rows, graph=one)]) for one in GRAPHS],
            thin=True,
        )
        for name, title, axis in (
            ("plain", "spectral gap, without loops", "gap"),
            ("hundreds", "ln N / gap", "hundreds of steps that move"),
        )
    ]
    run.write_csv("gap", make_table(rows))
    run.draw("gap", frames, 2, TITLES["gap"])
