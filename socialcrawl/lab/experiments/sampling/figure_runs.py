"""What `socialcrawl lab sampling fig1` to `fig5` do: samples beside their truth, as data, figures and words."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import nan
from typing import Any

import numpy as np

from socialcrawl.crawls.sample.law_comparison import compare_with_law, find_deviation
from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments.figures import Bars, Curve, Panel
from socialcrawl.lab.experiments.runner import CRAWLS, ExperimentRun, Row
from socialcrawl.lab.experiments.sampling import frozen_lists, measured
from socialcrawl.lab.experiments.sampling.known_walks import PAPER, join_runs, list_jobs
from socialcrawl.lab.experiments.sampling.measured import Quantity, compare_shares, compute_truth, estimate_shares
from socialcrawl.lab.experiments.sampling.run_setup import TITLES, WalkOptions, WorldOptions
from socialcrawl.lab.experiments.sampling.truths import DEGREES
from socialcrawl.lab.experiments.sampling.worlds import PageTopic, PageWorld, find_mentions
from socialcrawl.lab.result_tables import Table, make_table
from socialcrawl.text.terminal import write_line

SHOWN = 4  # domains that a figure has room for: the largest
OF_SAMPLES = "; bands and bars: 95\N{NO-BREAK SPACE}% intervals from the visits of each method"
MOSTLY = 0.5  # share of a topic's pages that have its name, where it is a word


def make_figure(name: str, wanted: WorldOptions, asked: WalkOptions, run: ExperimentRun) -> None:
    """Make a figure of the paper: `name`.csv (a row for each bin: truth, estimate, interval), .png and .svg.

    Raises:
        SettingsError: an option or file cannot be used.
    """
    run.prepare(CRAWLS)
    world = wanted.make_world()
    write_line(f"{world.name}: {world.size:,} pages, {world.graph.links:,} links")
    rows, frames = _FIGURES[name](_Work(name, world, asked, run))
    run.write_csv(name, make_table(rows))
    run.draw(name, frames, 2, f"{TITLES[name]}{OF_SAMPLES}")


class _Work:
    """A world, and its samples as they are asked for."""

    def __init__(self, name: str, world: PageWorld, asked: WalkOptions, run: ExperimentRun) -> None:
        self.name, self.world, self.asked, self.run = name, world, asked, run

    def sample(self, topic: PageTopic, method: str) -> Table:
        """Return the visits of all runs on a topic by a method; what they were is said."""
        made = list_jobs(self.world, topic, method, self.asked.setup)
        runs = self.run.crawl(f"{self.name}: {topic.name}, {method}", made)
        seen = join_runs(runs)
        count = int((seen["weight"] > 0).sum())
        cells = [int(run["fetches"][0]) for run in runs]
        precision = sum(float(run["precision"][0]) for run in runs) / len(runs)
        jumps = sum(int(run["jumps"][0]) for run in runs)
        write_line(
            f"  {topic.name:<20} {method:<22} {count:>7,} samples, {sum(cells):>8,} pages read, "
            f"precision {precision:.1%}, {jumps} jumps"
        )
        return seen

    def choose_topics(self, number: int | None = None) -> list[PageTopic]:
        """Return the first topics of the world."""
        return list(self.world.topics.values())[:number]

    def choose_worded(self) -> list[PageTopic]:
        """Return the topics that are told by a word, their name.

        Raises:
            SettingsError: there are none, or no texts.
        """
        texts = frozen_lists.require_texts(self.world)
        chosen = [topic for topic in self.choose_topics() if find_mentions(texts, topic.name)[topic.on].mean() > MOSTLY]
        if not chosen:
            raise SettingsError("No topic here is a word: two classifiers are compared on one, as --topic church.")
        return chosen

    def choose_methods(self) -> tuple[str, ...]:
        """Return the methods to compare."""
        return self.asked.choose_methods(PAPER)


def _compare_distributions(
    work: _Work, of: Callable[[PageTopic], Quantity], along: str, axis: str
) -> tuple[list[Row], list[Any]]:
    """Return figures 1 and 2: the first two topics, each method and the truth."""
    rows: list[Row] = []
    frames: list[Any] = []
    for topic in work.choose_topics(2):
        quantity = of(topic)
        lines = [_make_true_line(quantity, topic, work.world)]
        for method in work.choose_methods():
            visits = work.sample(topic, method)
            own = compare_shares(visits, quantity, work.world, topic, method)
            rows += own
            lines.append(_make_line(method, own, len(lines[0].x)))
            _print_test(visits, quantity, topic, work.world)
        frames.append(_make_frame(topic.name, quantity, lines, axis, along))
    return rows, frames


def _make_frame(title: str, quantity: Quantity, lines: Sequence[Curve], axis: str, along: str) -> Panel | Bars:
    """Return curves over what has an order, bars of what has none."""
    if quantity.name != "domains":
        return Panel(title, axis, lines, along=along, ticks=_list_ticks(quantity), share=True)
    series = [(line.label, line.y.tolist()) for line in lines]
    return Bars(title, axis, _list_ticks(quantity), series, [line.error.tolist() for line in lines], thin=True)


def _print_test(visits: Table, quantity: Quantity, topic: PageTopic, world: PageWorld) -> None:
    """Say how far a distribution is off, and what chi-square makes of it."""
    found = dict(zip(quantity.bins, estimate_shares(visits, quantity), strict=True))
    true: dict[Any, float] = dict(
        zip(quantity.bins, compute_truth(quantity, topic.on & world.there).tolist(), strict=True)
    )
    test = compare_with_law(found, true)
    largest, off = find_deviation(found, true)
    write_line(
        f"      {quantity.name}: largest, {largest}, {true[largest]:.3f} in truth, off by {off:.1%}; chi-square "
        f"{test.statistic:.1f}, {test.freedom} degrees, p {test.p:.3f} ({test.effective:.0f} independent visits); "
        f"taken as independent: p {test.plain_p:.3g}"
    )


def _make_true_line(quantity: Quantity, topic: PageTopic, world: PageWorld) -> Curve:
    y = compute_truth(quantity, topic.on & world.there)[: _count_shown(quantity)]
    return Curve("truth", np.arange(len(y)), y, np.zeros(len(y)))


def _make_line(label: str, own: list[Row], most: int) -> Curve:
    y = np.array([row["share"] for row in own[:most]])
    return Curve(label, np.arange(len(y)), y, np.array(_read_halves(own[:most])))


def _count_shown(quantity: Quantity) -> int:
    return SHOWN if quantity.name == "domains" else len(quantity.bins)


def _list_ticks(quantity: Quantity) -> list[str]:
    if quantity.name == "degrees":
        return [f"{low:,}" for low in DEGREES]
    if quantity.name == "staying":
        return [name.removesuffix("%").replace("no links", "-") for name in quantity.bins]
    return [name[:9] for name in quantity.bins[: _count_shown(quantity)]]


def _make_fig1(work: _Work) -> tuple[list[Row], list[Any]]:
    return _compare_distributions(
        work, lambda _: measured.count_degrees(work.world), "out-degree, from", "share of pages"
    )


def _make_fig2(work: _Work) -> tuple[list[Row], list[Any]]:
    return _compare_distributions(work, lambda topic: _order_domains(work.world, topic), "domain", "share of pages")


def _order_domains(world: PageWorld, topic: PageTopic) -> Quantity:
    """Return the domains of a topic, the largest first."""
    plain = measured.count_domains(world, topic)
    order = np.argsort(-compute_truth(plain, topic.on & world.there), kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return Quantity(plain.name, [plain.bins[one] for one in order.tolist()], place[plain.place])


def _make_fig3(work: _Work) -> tuple[list[Row], list[Bars]]:
    rows: list[Row] = []
    frames = []
    for topic in work.choose_topics():
        own: list[Row] = []
        for method in work.choose_methods() if topic.parts else ():
            visits = work.sample(topic, method)
            for name in topic.parts:
                own += compare_shares(visits, measured.count_part(topic, name), work.world, topic, method)[1:]
        if own:
            frames.append(_draw_parts(topic, own, work.choose_methods()))
            for row in own:
                write_line(f"    {row['topic']}, {row['bin']}: {_format_share(row)} by {row['method']}")
        rows += own
    if not rows:
        raise SettingsError("No topic here has parts: ask for some, as --topic church=catholic,protestant.")
    return rows, frames


def _draw_parts(topic: PageTopic, own: list[Row], methods: Sequence[str]) -> Bars:
    names = list(topic.parts)
    true = [next(row["truth"] for row in own if row["bin"] == name) for name in names]
    series = [("truth", true)]
    of = [[row for row in own if row["method"] == method] for method in methods]
    series += [(method, [row["share"] for row in mine]) for method, mine in zip(methods, of, strict=True)]
    errors = [[nan] * len(names), *(_read_halves(mine) for mine in of)]
    return Bars(topic.name, "share of pages on topic", names, series, errors, thin=True)


def _read_halves(rows: list[Row]) -> list[float]:
    """Return half of the interval of each row."""
    return [(row["high"] - row["low"]) / 2 for row in rows]


def _format_share(row: dict[str, Any]) -> str:
    return f"{row['share']:.3f} ({row['low']:.3f} to {row['high']:.3f}), in truth {row['truth']:.3f}"


def _make_fig4(work: _Work) -> tuple[list[Row], list[Any]]:
    """Return both classifiers: camps of topics with two parts, and links that stay on topic."""
    rows: list[Row] = []
    frames: list[Any] = []
    for topic in work.choose_worded():
        classes = {"keyword": topic, "tree": frozen_lists.classify_by_tree(work.world, topic, work.asked.setup.seed)}
        camps: list[tuple[str, list[float]]] = []
        spread: list[list[float]] = []
        lines: list[Curve] = []
        for label, by in classes.items():
            _print_classifier(label, by, topic, work.world)
            visits = work.sample(by, "hard")
            stay = measured.count_staying_links(work.world, by)
            own = compare_shares(visits, stay, work.world, by, label)
            rows += own
            true = _make_true_line(stay, by, work.world)
            lines += [replace(true, label=f"truth:{label}"), _make_line(f"walk:{label}", own, len(true.x))]
            if len(topic.parts) > 1:
                own = compare_shares(visits, measured.count_camps(by), work.world, by, label)
                rows += own
                camps += [(f"truth:{label}", [row["truth"] for row in own])]
                camps += [(f"walk:{label}", [row["share"] for row in own])]
                spread += [[nan] * len(own), _read_halves(own)]
        if camps:
            bins = measured.count_camps(topic).bins
            title = f"{topic.name}: what its pages tell of"
            frames.append(Bars(title, "share of pages", bins, camps, spread, thin=True))
        along = "% of a page's links that stay on topic"
        frames.append(Panel(topic.name, "share of pages", lines, along=along, ticks=_list_ticks(stay), share=True))
    return rows, frames


def _print_classifier(label: str, by: PageTopic, topic: PageTopic, world: PageWorld) -> None:
    about = world.about.get(topic.name)
    size = int((by.on & world.there).sum())
    if about is None:
        write_line(f"  {topic.name} by {label}: {size:,} pages")
        return
    precision, recall = frozen_lists.measure_quality(by.on, about)
    write_line(f"  {topic.name} by {label}: {size:,} pages, precision {precision:.1%}, recall {recall:.1%}")


def _make_fig5(work: _Work) -> tuple[list[Row], list[Any]]:
    rows: list[Row] = []
    lines: dict[str, list[Curve]] = {"domains": [], "staying": []}
    for topic in work.choose_topics():
        visits = work.sample(topic, "hard")
        stay = measured.count_staying_links(work.world, topic)
        for quantity in (_join_domains(work.world), stay):
            own = compare_shares(visits, quantity, work.world, topic, "hard")
            rows += own
            lines[quantity.name].append(_make_line(topic.name.replace(" ", "_"), own, _count_shown(quantity)))
    share = "share of pages"
    return rows, [
        _make_frame("domains", _join_domains(work.world), lines["domains"], share, ""),
        _make_frame("links that stay on topic", stay, lines["staying"], share, "% of a page's links"),
    ]


def _join_domains(world: PageWorld) -> Quantity:
    """Return the domains of the pages of any topic, the largest first."""
    on = np.zeros(world.size, bool)
    for topic in world.topics.values():
        on |= topic.on
    return _order_domains(world, PageTopic("any", on))


_FIGURES: dict[str, Callable[[_Work], tuple[list[Row], Any]]] = {
    "fig1": _make_fig1,
    "fig2": _make_fig2,
    "fig3": _make_fig3,
    "fig4": _make_fig4,
    "fig5": _make_fig5,
}
