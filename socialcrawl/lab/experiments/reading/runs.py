"""What `socialcrawl lab reading` does: ways of reading accounts compared by what they find for the money."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import product
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from socialcrawl.campaign.keywords import AS_OPTIONS, check_keywords
from socialcrawl.campaign.sections.access import MATCH, READINGS
from socialcrawl.crawls.collect.estimators.registry import check
from socialcrawl.errors import SettingsError
from socialcrawl.graph.relevance import Topic, compute_worth
from socialcrawl.lab.experiments.figures import COLOURS, STYLES, Bars, Curve, CurveStyle, Panel, describe_intervals
from socialcrawl.lab.experiments.reading.crawls import ReadingCrawl, crawl_posts
from socialcrawl.lab.experiments.runner import ExperimentRun, format_cell, half_interval
from socialcrawl.lab.experiments.seed_means import average_for_figure, list_variants, make_spread_cells, select_variant
from socialcrawl.lab.measures import compute_mean
from socialcrawl.lab.post_table import read_posts
from socialcrawl.lab.process_pool import CrawlJob
from socialcrawl.lab.result_tables import Table, join_tables, list_rows, make_table
from socialcrawl.lab.results import compute_estimator_checksum
from socialcrawl.mock.topic_seeds import draw_topic_seeds
from socialcrawl.mock.world import World, build_world
from socialcrawl.system.files import find_folder
from socialcrawl.text.terminal import write_line
from socialcrawl.text.wording import explain_unknown, pluralize

BY = ("keyword", "read", "estimator")
MEASURED = ("relevance", "accounts", "requests", "dollars", "hours")
NAME = "reading"


@dataclass(frozen=True)
class ReadingOptions:
    """What is compared.

    Attributes:
        posts: a file of posts.
        keywords: the topics.
        reads: ways of reading, as in `[source] read`.
        estimators: which accounts come first.
        budgets: dollars.
        seed_size: accounts in each set of seeds.
        pages: pages of a timeline at most; None: the default of each way.
        archive: whether the full archive is searched; else the last 7 days.

    Raises:
        SettingsError: something is missing or unknown.
    """

    posts: Path
    keywords: Sequence[str]
    reads: Sequence[str]
    estimators: Sequence[str]
    budgets: Sequence[float]
    seed_size: int
    pages: int | None
    archive: bool = True

    def __post_init__(self) -> None:
        check_keywords(self.keywords, AS_OPTIONS)
        for read in self.reads:
            if read not in READINGS:
                raise SettingsError(explain_unknown("way of reading", read, READINGS))
            if read == MATCH and not self.archive:
                raise SettingsError("--read match searches the full archive: remove it, or --last-days.")
        for name in self.estimators:
            try:
                check(name)
            except ValueError as error:
                raise SettingsError(f"--estimator: {error}") from error
        if any(not (isfinite(budget) and budget > 0) for budget in self.budgets):
            raise SettingsError("--max-money takes dollars above 0.")


def compare_readings(asked: ReadingOptions, run: ExperimentRun) -> None:
    """Make all campaigns, write reading.csv and a figure, and print the means.

    Raises:
        SocialcrawlError: an option cannot be used, a campaign failed, or a file cannot be written.
    """
    run.prepare()
    world = build_world(read_posts(asked.posts))
    crawls = list(_list_crawls(asked, world, run.seeds))
    files = [hashlib.sha256(file.read_bytes()).hexdigest() for file in (asked.posts, find_folder("config") / "x.toml")]
    code = {name: compute_estimator_checksum(name) for name in asked.estimators}
    jobs = [CrawlJob([*files, *astuple(one)[1:], code[one.estimator]], crawl_posts, [one]) for one in crawls]
    tables = run.crawl("campaigns", jobs)
    found = join_tables([_label_row(one, table) for one, table in zip(crawls, tables, strict=True)])
    means = _average(found)
    run.write_parquet(NAME, found)
    run.write_csv(NAME, means)
    _print_means(means, world, len(run.seeds))
    frames: list[Panel | Bars] = [
        Panel(keyword, "relevance", list(_draw_curves(found, keyword)), along="dollars")
        for keyword in dict.fromkeys(asked.keywords)
    ]
    if len(set(asked.budgets)) == 1:  # a curve of one point shows nothing
        frames = [_draw_bars(means, asked.keywords)]
    title = describe_intervals("Relevance found for the money, by the way of reading", len(run.seeds), "seed set")
    run.draw(NAME, frames, 2, title)


def _list_crawls(asked: ReadingOptions, world: World, seeds: Sequence[int]) -> Iterator[ReadingCrawl]:
    for keyword in dict.fromkeys(asked.keywords):
        drawn = {seed: draw_topic_seeds(world, keyword, asked.seed_size, seed) for seed in seeds}
        different = {frozenset(names) for names in drawn.values()}
        if len(different) < len(drawn) or any(len(names) < asked.seed_size for names in different):
            raise SettingsError(
                f"Too few accounts post about {keyword!r} for {pluralize(len(drawn), 'different set')} of "
                f"{pluralize(asked.seed_size, 'seed')}: lower --seed-size or --seed-sets."
            )
        ways = product(dict.fromkeys(asked.reads), dict.fromkeys(asked.estimators), sorted(set(asked.budgets)), seeds)
        for read, estimator, budget, seed in ways:
            yield ReadingCrawl(
                asked.posts, keyword, drawn[seed], read, asked.pages, estimator, seed, budget, asked.archive
            )


def _label_row(crawl: ReadingCrawl, table: Table) -> Table:
    return {**{name: np.array([getattr(crawl, name)]) for name in (*BY, "budget", "seed")}, **table}


def _average(found: Table) -> Table:
    """Return a row for each keyword, way, estimator and budget: means over sets of seeds, with 95 % intervals."""
    rows: list[dict[str, Any]] = []
    for values in list_variants(found, BY):
        own = select_variant(found, BY, values)
        for budget in np.unique(own["budget"]):
            here = own["budget"] == budget
            means = {name: compute_mean(np.asarray(own[name][here], np.float64)) for name in MEASURED}
            rows.append(dict(zip(BY, values, strict=True)) | {"budget": float(budget)} | make_spread_cells(means))
    return make_table(rows)


def _sum_relevance(world: World, keyword: str) -> float:
    """Return the relevance of all accounts by all of their posts."""
    count, occurrences = Topic([keyword]).count, Counter[int]()
    for author, text in zip(world.author, world.texts, strict=True):
        occurrences[int(author)] += count(text)
    return sum(map(compute_worth, occurrences.values()))


def _print_means(means: Table, world: World, sets: int) -> None:
    """Print a line for each way: the relevance at each budget, and half of its 95 % interval over sets of seeds."""
    budgets = np.unique(means["budget"]).tolist()
    spread = ", ± half of the 95 % interval of the mean" if sets > 1 else ""
    for (keyword,) in list_variants(means, ("keyword",)):
        here = select_variant(means, ("keyword",), (keyword,))
        total = _sum_relevance(world, keyword)
        write_line(
            f"{keyword}: relevance found{spread}; seeds not counted; all accounts, seeds and reposts included, "
            f"have {total:,.0f}"
        )
        write_line(" " * 26 + "".join(f"{f'${budget:,.12g}':>16}" for budget in budgets))
        for values in list_variants(here, BY[1:]):
            own = list_rows(select_variant(here, BY[1:], values))
            write_line(
                f"  {' '.join(values):<24}" + "".join(f"{format_cell(row, 'relevance', ',.0f'):>16}" for row in own)
            )


def _draw_bars(means: Table, keywords: Sequence[str]) -> Bars:
    """Return a group of bars for each keyword, where there is one budget."""
    budget = f"${means['budget'][0]:,.12g}"
    ways = list_variants(means, BY[1:])
    rows = {way: list_rows(select_variant(means, BY[1:], way)) for way in ways}
    heights = [("/".join(way), [row["relevance"] for row in rows[way]]) for way in ways]
    errors = [[half_interval(row, "relevance") for row in rows[way]] for way in ways]
    return Bars(f"for {budget}", "relevance", tuple(dict.fromkeys(keywords)), heights, errors, form=",.0f", thin=True)


def _draw_curves(found: Table, keyword: str) -> Iterator[Curve]:
    """Yield a curve for each way and estimator: a colour for each way, a line style for each estimator."""
    here = select_variant(found, ("keyword",), (keyword,))
    variants = list_variants(here, BY[1:])
    reads, estimators = (list(dict.fromkeys(names)) for names in zip(*variants, strict=True))
    for read, estimator in variants:
        own = select_variant(here, BY[1:], (read, estimator))
        points, mean, half = average_for_figure(own, "budget", "relevance")
        colour = COLOURS[reads.index(read) % len(COLOURS)]
        style = STYLES[estimators.index(estimator) % len(STYLES)]
        yield Curve(f"{read}, {estimator}", points, mean, half, CurveStyle(colour, style))
