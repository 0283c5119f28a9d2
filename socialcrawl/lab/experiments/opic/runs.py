"""What the commands of `socialcrawl lab opic` do: crawls, data, figures, and a summary in the terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Final

import numpy as np

from socialcrawl.lab.experiments.figures import Bars, Curve, Panel, describe_intervals
from socialcrawl.lab.experiments.opic.importance_errors import ImportanceErrors
from socialcrawl.lab.experiments.opic.moving import FIG4, FIG6, RATES, ChangingWebPlan, measure_adaptation
from socialcrawl.lab.experiments.opic.static_web import PARTS, StaticWebPlan, measure_convergence, measure_payments
from socialcrawl.lab.experiments.runner import (
    CRAWLS,
    ExperimentRun,
    format_cell,
    format_mean,
    half_interval,
    list_values,
    select_rows,
)
from socialcrawl.lab.measures import Mean, compute_mean
from socialcrawl.lab.result_tables import Table, list_rows, make_table
from socialcrawl.text.terminal import write_line

NAMES: Final = tuple(field.name for field in fields(ImportanceErrors))
LAST: Final = 3  # crawls that are averaged in the figures: poor pages are crawled in waves, an end alone is chance


def summarize_windows(found: Table) -> Table:
    """Return the means over the last crawls and all seeds: a row for each rate and window, in their order.

    Columns: rate, window, runs (seeds), month, measures (at the last crawl), the errors, and for each error NAME
    `NAME_spread`, its standard error over the seeds (0 with one), NAME_low and NAME_high, its 95 % interval (NaN).
    """
    listed = list_rows(found)
    last = max(row["crawl"] for row in listed)
    made = []
    for rate, window in dict.fromkeys((row["rate"], row["window"]) for row in listed):
        here = [row for row in listed if (row["rate"], row["window"]) == (rate, window) and row["crawl"] > last - LAST]
        ends = [row for row in here if row["crawl"] == last]
        first = {"rate": rate, "window": window, "runs": len(ends)}
        made.append(
            {**first, **{name: _compute_mean(ends, name) for name in ("month", "measures")}, **_summarize_errors(here)}
        )
    return make_table(made)


def summarize_ways(found: Table) -> Table:
    """Return the means over all seeds: a row for each law, way, estimate and time, in their order.

    Columns: law, way, estimate, crawls, runs (seeds), the errors and their spreads as of `summarize_windows`.
    """
    listed = list_rows(found)
    keys = ("law", "way", "estimate", "crawls")
    parts: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in listed:
        parts.setdefault(tuple(row[key] for key in keys), []).append(row)
    return make_table(
        [
            {**dict(zip(keys, key, strict=True)), "runs": len(some), **_summarize_errors(some)}
            for key, some in parts.items()
        ]
    )


def _summarize_errors(listed: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the means of all errors over rows, and their spread over the seeds, as of `summarize_windows`."""
    seeds = dict.fromkeys(row["seed"] for row in listed)
    found = {}
    for name in NAMES:
        means = [_compute_mean([row for row in listed if row["seed"] == seed], name) for seed in seeds]
        made = compute_mean(np.array(means))
        found[name], found[f"{name}_spread"] = made.mean, float(np.nan_to_num(made.error))
        found[f"{name}_low"], found[f"{name}_high"] = made.mean - made.half, made.mean + made.half
    return found


def _compute_mean(listed: Sequence[Mapping[str, Any]], name: str) -> float:
    return float(np.mean([row[name] for row in listed]))


DRAWN: Final = ("paid and held", "iterate")  # estimates in the figures; the others are in the data
TOLD: Final = (1.0, 2.0, 5.0, 10.0)  # crawls, and the last one
ERRORS: Final = {
    "mean": "mean error on all pages (%)",
    "median": "median error of all pages (%)",
    "top": "mean error on the top ten per cent (%)",
    "deviation": "standard deviation of the error (%)",
    "outliers": "pages with twice the mean error (share)",
    "weighted": "error weighted with importance (%)",
    "relative": "error of relative importance (%)",
    "disordered": "pairs in the wrong order (%)",
    "missed": "of the top ten per cent missed (%)",
}
OTHERS: Final = ("deviation", "outliers", "weighted", "relative", "disordered", "missed")
TITLES: Final = {"fig2": "Convergence on all pages", "fig3": "Convergence on important pages"}


@dataclass(frozen=True)
class WindowFigure:
    """What a figure about windows compares when nothing else is asked for, and its title."""

    title: str
    windows: Sequence[str]
    rates: Sequence[float]


FIGURES: Final = {
    "fig4": WindowFigure("Sizes of windows", FIG4, RATES),
    "fig5": WindowFigure("What windows store", FIG6, (0.01,)),
    "fig6": WindowFigure("Types of windows", FIG6, RATES),
}


def run_convergence(name: str, plan: StaticWebPlan, run: ExperimentRun) -> None:
    """Crawl by all selections, and iterate: `name`.csv (all errors at all times and seeds), -means.csv, .png, .svg.

    Raises:
        SocialcrawlError: an option cannot be used, or a file not be written.
    """
    run.prepare(CRAWLS)
    found = measure_convergence(plan, partial(run.crawl, name))
    run.write_csv(name, found)
    means = summarize_ways(found)
    run.write_csv(f"{name}-means", means)
    listed = list_rows(means)
    print_meaning(listed[0]["runs"])
    main = "top" if name == "fig3" else "mean"
    for law in plan.laws:
        for error in (main, *OTHERS):
            _print_ways(select_rows(listed, law=law), f"{law}: {ERRORS[error]}", error)
    seen = [row for row in listed if row["estimate"] in DRAWN]
    frames = [_make_way_panel(seen, law, error) for law in plan.laws for error in (main, "weighted", "disordered")]
    run.draw(name, frames, 3, describe_intervals(TITLES[name], listed[0]["runs"], "web"))


def run_payments(plan: StaticWebPlan, run: ExperimentRun) -> None:
    """Show what crawled pages held: cash.csv, .png and .svg.

    Raises:
        SocialcrawlError: an option cannot be used, or a file not be written.
    """
    run.prepare(CRAWLS)
    found = measure_payments(plan, partial(run.crawl, "cash"))
    run.write_csv("cash", found)
    listed = list_rows(found)
    print_meaning(len(plan.seeds))
    for law in plan.laws:
        for way in list_values(listed, "way"):
            here = select_rows(listed, law=law, way=way)
            late = _average_webs([row for row in here if row["crawls"] > plan.crawls / 2], "held")
            first = _average_webs([row for row in here if row["crawls"] <= 1], "held")
            paid = _average_webs([row for row in here if row["crawls"] == plan.crawls], "gained")
            write_line(
                f"{law:10}{way:10} crawled pages held {_format_mean(first)} of 1/n in the first crawl, "
                f"{_format_mean(late)} in the second half; {_format_mean(paid)} paid in all"
            )
    frames = [_make_cash_panel(listed, law) for law in plan.laws]
    run.draw("cash", frames, 2, describe_intervals("Mean cash of crawled pages", len(plan.seeds), "web"))


def run_adaptation(name: str, plan: ChangingWebPlan, run: ExperimentRun) -> None:
    """Crawl webs that change: `name`.csv (all crawls and seeds), -means.csv (over the last three), .png and .svg.

    Raises:
        SocialcrawlError: an option cannot be used, or a file not be written.
    """
    run.prepare(CRAWLS)
    found = measure_adaptation(plan, partial(run.crawl, name))
    run.write_csv(name, found)
    means = summarize_windows(found)
    run.write_csv(f"{name}-means", means)
    listed = list_rows(means)
    write_line(f"a month, {plan.size:,} fetches, adds {listed[0]['month']:.3f} to G; means of the last three crawls")
    print_meaning(listed[0]["runs"])
    for error in ("mean", "median", "top", "measures"):
        _print_windows(listed, "measures kept, a page" if error == "measures" else ERRORS[error], error)
    if name == "fig5":
        frames: list[Panel | Bars] = [_draw_stored(listed), *(_draw_errors(listed, error) for error in ("mean", "top"))]
    else:
        frames = [_make_window_panel(listed, error) for error in ("mean", "median", "top")]
    run.draw(name, frames, 3, describe_intervals(FIGURES[name].title, listed[0]["runs"], "web"))


def _make_way_panel(listed: list[dict[str, Any]], law: str, error: str) -> Panel:
    here = select_rows(listed, law=law)
    lines = [_make_line(select_rows(here, way=way), way, error) for way in list_values(here, "way")]
    return Panel(law, ERRORS[error], lines, along="crawls of all pages", steep=_is_positive(lines))


def _make_line(listed: list[dict[str, Any]], label: str, error: str) -> Curve:
    x = np.array([row["crawls"] for row in listed])
    return Curve(label, x, _read_column(listed, error), _read_halves(listed, error))


def _make_cash_panel(listed: list[dict[str, Any]], law: str) -> Panel:
    lines = []
    for way in list_values(listed, "way"):
        here = select_rows(listed, law=law, way=way)
        times = list_values(here, "fetches")
        held = [[row["held"] for row in select_rows(here, fetches=time)] for time in times]
        x = np.array([row["crawls"] for row in here[: len(times)]])
        means = [compute_mean(np.array(some)) for some in held]
        each = np.array([one.mean for one in means]), np.array([one.half for one in means])
        lines.append(Curve(way, x, *each))
    return Panel(law, f"mean cash, times n\n(each 1/{PARTS} of a crawl)", lines, level=2.0, along="crawls")


def _make_window_panel(listed: list[dict[str, Any]], error: str) -> Panel:
    rates = list_values(listed, "rate")
    x = np.arange(len(rates), dtype=np.int64)
    lines = []
    for window in list_values(listed, "window"):
        here = select_rows(listed, window=window)
        lines.append(Curve(window, x, _read_column(here, error), _read_halves(here, error)))
    ticks = [f"{100 * rate:g}" for rate in rates]
    return Panel(
        "", ERRORS[error], lines, along="pages that change in a crawl (%)", ticks=ticks, steep=_is_positive(lines)
    )


def _draw_stored(listed: list[dict[str, Any]]) -> Bars:
    return Bars("measures a page", "measures", *_collect_heights(listed, "measures"))


def _draw_errors(listed: list[dict[str, Any]], error: str) -> Bars:
    return Bars("", ERRORS[error], *_collect_heights(listed, error))


def _collect_heights(listed: list[dict[str, Any]], column: str) -> tuple[Any, ...]:
    """Return the groups (change rates) of a frame of bars, what each window has in them, and the errors."""
    groups = [f"{100 * rate:g} % a crawl" for rate in list_values(listed, "rate")]
    of = {name: select_rows(listed, window=name) for name in list_values(listed, "window")}
    series = [(name, [row[column] for row in own]) for name, own in of.items()]
    return groups, series, [_read_halves(own, column).tolist() for own in of.values()]


def _print_ways(listed: list[dict[str, Any]], title: str, error: str) -> None:
    """Print the means of an error after whole crawls, a line for each way and estimate."""
    times = [time for time in list_values(listed, "crawls") if time in TOLD or time == listed[-1]["crawls"]]
    write_line(f"{title:<42}" + "".join(f"{time:>18g}" for time in times) + " crawls")
    for way, estimate in dict.fromkeys((row["way"], row["estimate"]) for row in listed):
        own = select_rows(listed, way=way, estimate=estimate)
        cells = {row["crawls"]: format_cell(row, error, ".3g") for row in own}
        write_line(f"  {way + ', ' + estimate:<40}" + "".join(f"{cells[time]:>18}" for time in times))


def _print_windows(listed: list[dict[str, Any]], title: str, column: str) -> None:
    """Print the means of a column, a line for each window, by change rate."""
    rates = list_values(listed, "rate")
    write_line(f"{title:<40}" + "".join(f"{100 * rate:>18g}" for rate in rates) + " % change in a crawl")
    for window in list_values(listed, "window"):
        cells = [format_cell(row, column, ".3g") for row in select_rows(listed, window=window)]
        write_line(f"  {window:<38}" + "".join(f"{cell:>18}" for cell in cells))


def print_meaning(webs: int) -> None:
    """Say what the numbers below are."""
    if webs > 1:
        write_line(f"means over {webs} webs, ± half of their 95 % intervals")
    else:
        write_line("one web, so no intervals: --webs 3 shows how far webs differ")


def _average_webs(listed: list[dict[str, Any]], column: str) -> Mean:
    """Return the mean over the webs of what each has on average."""
    webs = [[row[column] for row in select_rows(listed, seed=seed)] for seed in list_values(listed, "seed")]
    return compute_mean(np.array([np.mean(one) for one in webs]))


def _format_mean(found: Mean) -> str:
    return format_mean(found.mean, found.half, ".3f")


def _is_positive(lines: Sequence[Curve]) -> bool:
    """Return whether a logarithmic axis can show all heights: on a web of hardly any links some errors are none."""
    return all(bool((line.y > 0).all()) for line in lines)


def _read_column(listed: list[dict[str, Any]], name: str) -> Any:
    return np.array([row[name] for row in listed], np.float64)


def _read_halves(listed: list[dict[str, Any]], name: str) -> Any:
    """Return half of the intervals of a column; NaN where it has none."""
    return np.array([half_interval(row, name) for row in listed])
