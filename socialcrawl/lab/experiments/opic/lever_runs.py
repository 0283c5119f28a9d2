"""What `socialcrawl lab opic lean` and `topic` do: crawls, data, figures, and a summary in the terminal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan
from typing import Final

from socialcrawl.lab.experiments.figures import Curve, Panel, describe_intervals
from socialcrawl.lab.experiments.opic.levers import LeverPlan, measure_leans, measure_topics
from socialcrawl.lab.experiments.opic.runs import print_meaning
from socialcrawl.lab.experiments.runner import CRAWLS, ExperimentRun, Row, format_cell, list_values, select_rows
from socialcrawl.lab.experiments.seed_means import average_for_figure, compare_pairs, select_variant, summarize_means
from socialcrawl.lab.result_tables import Table, list_rows
from socialcrawl.text.terminal import write_line

BY: Final = ("graph", "lever")
UNUSED: Final = "0"  # the lever with which others are compared
READING: Final = {
    "read": "pages read (share)",
    "known": "pages known (share)",
    "again": "fetches of pages read before (share)",
    "age": "time since a page was last read (crawls)",
    "age_weighted": "time since, weighted with importance (crawls)",
    "stale": "pages read whose links have changed since (share)",
}
TOPIC: Final = {
    "on_topic": "fetches on topic (share)",
    "topic_read": "pages of the topic read (share)",
    "claimed": "estimated importance of the topic, times the true one",
}
SHARES: Final = ("read", "on_topic", "topic_read")  # of what is drawn
ERRORS: Final = {
    "weighted": "error weighted with importance (%)",
    "mean": "mean error on all pages (%)",
    "top": "mean error on the top ten per cent (%)",
    "disordered": "pairs in the wrong order (%)",
}


@dataclass(frozen=True)
class LeverFigure:
    """What a command about a lever measures, draws and prints.

    Attributes:
        title: of the figure.
        lever: what its settings are called.
        measure: makes the crawls.
        columns: what is summarized, with what it is called.
        drawn: the columns in the figure, a frame each.
    """

    title: str
    lever: str
    measure: Callable[..., Table]
    columns: dict[str, str]
    drawn: Sequence[str]


FIGURES: Final = {
    "lean": LeverFigure(
        "Discovery against refresh", "lean", measure_leans, READING | ERRORS, ("read", "age_weighted", "weighted")
    ),
    "topic": LeverFigure(
        "Extra cash for a topic",
        "extra",
        measure_topics,
        TOPIC | READING | ERRORS,
        ("on_topic", "topic_read", "weighted"),
    ),
}


def run_levers(name: str, plan: LeverPlan, run: ExperimentRun) -> None:
    """Crawl with each setting of a lever.

    `name`.csv has all crawls at all times, -means.csv their means over the webs, -pairs.csv how far each two settings
    are apart at the end, web by web; and .png, .svg.

    Raises:
        SocialcrawlError: an option cannot be used, or a file not be written.
    """
    run.prepare(CRAWLS)
    figure = FIGURES[name]
    found = figure.measure(plan, partial(run.crawl, name))
    run.write_csv(name, found)
    means = summarize_means(found, BY, "crawls", tuple(figure.columns))
    run.write_csv(f"{name}-means", means)
    ends = {column: values[found["crawls"] == found["crawls"].max()] for column, values in found.items()}
    pairs = compare_pairs(ends, ("lever",), tuple(figure.columns))
    run.write_csv(f"{name}-pairs", pairs)
    print_meaning(len(plan.seeds))
    listed, apart = list_rows(means), list_rows(pairs) if pairs else []
    for graph in list_values(listed, "graph"):
        against = {row["variant"]: row for row in select_rows(apart, graph=graph, other=UNUSED)}
        for column, label in figure.columns.items():
            write_line(f"{graph} web: {label}")
            _print_settings(figure.lever, column, select_rows(listed, graph=graph), against)
    frames = [
        _make_panel(select_variant(found, ("graph",), (graph,)), f"{graph} web", column, figure)
        for graph in list_values(listed, "graph")
        for column in figure.drawn
    ]
    run.draw(name, frames, len(figure.drawn), describe_intervals(figure.title, len(plan.seeds), "web"))


def _make_panel(here: Table, title: str, column: str, figure: LeverFigure) -> Panel:
    settings = list_values(list_rows(here), "lever")
    lines = [
        Curve(
            f"{figure.lever} {setting}",
            *average_for_figure(select_variant(here, ("lever",), (setting,)), "crawls", column),
        )
        for setting in settings
    ]
    return Panel(title, figure.columns[column], lines, along="crawls of all pages", share=column in SHARES)


def _print_settings(lever: str, column: str, own: Sequence[Row], against: Mapping[str, Row]) -> None:
    """Print the means of a column after a quarter, half and all of the crawls, and the difference from no lever."""
    times = [time for time in list_values(own, "crawls") if not isnan(time)]  # NaN: the mean over all times
    told = [times[len(times) // 4 - 1], times[len(times) // 2 - 1], times[-1]]
    head = "".join(f"{time:>18g}" for time in told)
    write_line(f"  {'crawls':<12}{head}" + (f"    less {lever} {UNUSED} at the end" if against else ""))
    for setting in list_values(own, "lever"):
        here = select_rows(own, lever=setting)
        cells = [format_cell(row, column, ".3g") for time in told for row in select_rows(here, crawls=time)]
        change = f"    {format_cell(against[setting], column, '.3g')}" if setting in against else ""
        write_line(f"  {lever + ' ' + setting:<12}" + "".join(f"{cell:>18}" for cell in cells) + change)
