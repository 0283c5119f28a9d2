"""Adaptive OPIC on webs that change (Abiteboul et al., section 4, Figures 4 to 6): windows over one greedy crawl.

A month is what n fetches add to G: measured, on the web before it changes, where it is not given.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments.opic.changes import WebChanges
from socialcrawl.lab.experiments.opic.importance_errors import measure_errors
from socialcrawl.lab.experiments.opic.named_windows import BEGINNINGS, FIG4, NONE, WindowComparison, parse_window
from socialcrawl.lab.experiments.opic.static_web import SELECTIONS, OpicCrawl, check_terms
from socialcrawl.lab.experiments.opic.truth import compute_truth
from socialcrawl.lab.experiments.opic.webs import generate_web, get_law
from socialcrawl.lab.process_pool import Crawl, CrawlJob, crawl_here
from socialcrawl.lab.result_tables import Table, join_tables, make_table
from socialcrawl.text.wording import explain_unknown

RATES: Final = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
STEPS: Final = 100  # of a crawl, between which the web changes
WARM: Final = 2  # crawls before the month is measured


@dataclass(frozen=True)
class ChangingWebPlan:
    """What is measured on webs that change.

    Attributes:
        windows: names of `windows.window`.
        rates: shares of pages that change in a crawl.
        law, size, crawls, seeds, small: as of `StaticWebPlan`.
        way: the selection; the paper's: greedy.
        month: units of G that n fetches take; 0: measured.
        begin: what pages begin with, as of `WindowComparison`.

    Raises:
        SettingsError: there is nothing to measure, or a name is unknown.
    """

    windows: tuple[str, ...] = FIG4
    rates: Sequence[float] = RATES
    law: str = "power"
    size: int = 100_000
    crawls: int = 10
    seeds: Sequence[int] = (1,)
    small: float = 1.0
    way: str = "greedy"
    month: float = 0.0
    begin: str = "listing"

    def __post_init__(self) -> None:
        check_terms(self.crawls, self.small)
        get_law(self.law)
        if self.way not in SELECTIONS:
            raise SettingsError(explain_unknown("selection", self.way, SELECTIONS))
        if self.begin not in BEGINNINGS:
            raise SettingsError(explain_unknown("beginning of windows", self.begin, BEGINNINGS))
        if not all(0 <= rate < float("inf") for rate in self.rates):
            raise SettingsError("A change rate is a share of pages, 0 or more.")
        for name in self.windows:
            if name != NONE:
                parse_window(name, 1.0)
        if not 0 <= self.month < float("inf"):
            raise SettingsError(f"A month of {self.month:g} is none; give units of G, or 0 to have it measured.")

    def job(self, work: Callable[..., Table], seed: int, *rate: float) -> CrawlJob:
        """Return the crawl of the web of `seed` by `work`, at a rate of change if it has one."""
        terms = [self.law, self.size, self.crawls, self.small, self.way, self.month, self.begin, *self.windows]
        return CrawlJob(["opic", work.__name__, *terms, seed, *rate], work, (self, seed, *rate))


def measure_adaptation(plan: ChangingWebPlan, crawl: Crawl = crawl_here) -> Table:
    """Return the errors of all windows at the end of each crawl, against the importance of that moment.

    Columns: law, seed, rate, window, crawl (1, 2, ...), month, measures (kept, a page), changed (pages since the
    start), then those of `ImportanceErrors`.

    Raises:
        SettingsError: there are too few pages.
    """
    months = [float(found["month"][0]) for found in crawl([plan.job(_measure_month, seed) for seed in plan.seeds])]
    plans = [(replace(plan, month=month), seed) for seed, month in zip(plan.seeds, months, strict=True)]
    return join_tables(
        crawl([there.job(_measure_adaptation, seed, rate) for there, seed in plans for rate in plan.rates])
    )


def _measure_month(plan: ChangingWebPlan, seed: int) -> Table:
    """Return the month of the web of `seed`, as a table of one number."""
    return {"month": np.array([measure_month(plan, seed)])}


def measure_month(plan: ChangingWebPlan, seed: int) -> float:
    """Return what n fetches add to G on the web of `seed`, before it changes (two crawls after the first two)."""
    if plan.month:
        return plan.month
    crawl = OpicCrawl(generate_web(get_law(plan.law), plan.size, seed), plan.way, seed, plan.small)
    crawl.until(WARM * plan.size)
    before = crawl.cash.paid
    crawl.until(2 * WARM * plan.size)
    return (crawl.cash.paid - before) / WARM


def _measure_adaptation(plan: ChangingWebPlan, seed: int, rate: float) -> Table:
    web = generate_web(get_law(plan.law), plan.size, seed)
    changes = WebChanges(web, rate, seed)
    crawl = OpicCrawl(web, plan.way, seed, plan.small)
    watching = WindowComparison(plan.windows, plan.month, crawl.rows, plan.begin)
    crawl.seen = watching.crawled
    found, x = [], None
    for number in range(1, plan.crawls + 1):
        for part in range(1, STEPS + 1):
            crawl.until((number - 1) * plan.size + part * plan.size // STEPS)
            changes.until(number - 1 + part / STEPS)
        x = compute_truth(web, plan.small, x)
        kept = watching.measures()
        for name, estimate in watching.importance(crawl.cash).items():
            first = {"law": plan.law, "seed": seed, "rate": rate, "window": name, "crawl": number}
            also = {"month": plan.month, "measures": kept[name], "changed": changes.done}
            found.append({**first, **also, **measure_errors(estimate, x[:-1]).columns()})
    return make_table(found)
