"""OPIC on a web that stands still, beside the off-line algorithm (Abiteboul et al., section 4, Figures 2 and 3).

An iteration of the off-line algorithm reads all pages, and counts as n fetches, as in the paper.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

import numpy as np

from socialcrawl.errors import SettingsError
from socialcrawl.importance.opic import Cash
from socialcrawl.importance.static_opic import make_visit_order
from socialcrawl.lab.experiments.opic.importance_errors import compute_truth, iterate_offline, measure_errors
from socialcrawl.lab.experiments.opic.webs import GeneratedWeb, generate_web, get_law
from socialcrawl.lab.process_pool import Crawl, CrawlJob, crawl_here
from socialcrawl.lab.result_tables import Table, join_tables, make_table

SELECTIONS: Final = ("random", "cycle", "greedy")
OFFLINE: Final = {"off-line": False, "off-line convergent": True}
PARTS: Final = 20  # of a crawl, at the ends of which the mean crawled cash is told
SHORT: Final = 16  # points before and between the whole crawls


@dataclass(frozen=True)
class StaticWebPlan:
    """What is measured on webs that stand still.

    Attributes:
        laws: names of `webs.LAWS`.
        size: n, the number of pages; the paper's: 100,000.
        crawls: how far, in crawls of n fetches; the paper's: 10.
        seeds: of the webs and draws; a web for each.
        small: the weight of the small edges.
        mean: of in-degrees, where they are Poisson.

    Raises:
        SettingsError: there is nothing to measure.
    """

    laws: Sequence[str] = ("power",)
    size: int = 100_000
    crawls: int = 10
    seeds: Sequence[int] = (1,)
    small: float = 1.0
    mean: float = 8.0

    def __post_init__(self) -> None:
        check_terms(self.crawls, self.small)
        for name in self.laws:
            get_law(name)

    def generate_web(self, name: str, seed: int) -> GeneratedWeb:
        """Return the web of a law and seed."""
        return generate_web(replace(get_law(name), mean=self.mean), self.size, seed)

    def list_jobs(self, work: Callable[..., Table], ways: Sequence[str]) -> list[CrawlJob]:
        """Return a crawl by `work` for each law, seed and way, the ways being selections or off-line ones."""
        terms = self.size, self.crawls, self.small, self.mean
        return [
            CrawlJob(["opic", work.__name__, *terms, law, seed, way], work, (self, law, seed, way))
            for law in self.laws
            for seed in self.seeds
            for way in ways
        ]


def measure_convergence(plan: StaticWebPlan, crawl: Crawl = crawl_here) -> Table:
    """Return the errors of all selections and of the off-line algorithm, as they go.

    Columns: law, seed, way (selection or off-line), estimate ("paid and held": (H+C)/(G+1); "paid": H/G; or
    "iterate"), fetches, crawls (fetches / n), gained (G), then those of `ImportanceErrors`.
    """
    return join_tables(crawl(plan.list_jobs(_measure_convergence, [*SELECTIONS, *OFFLINE])))


def measure_payments(plan: StaticWebPlan, crawl: Crawl = crawl_here) -> Table:
    """Return how much cash crawled pages held, as it goes: the mean over parts of a crawl, for each selection.

    Columns: law, seed, way, fetches, crawls, held (the mean cash of the pages crawled since the row before, times n,
    the total being 1; the paper: 2 under greedy, 1 under random), gained (G), by_pages (G without the virtual page's).
    """
    return join_tables(crawl(plan.list_jobs(_measure_payments, SELECTIONS)))


def _measure_convergence(plan: StaticWebPlan, name: str, seed: int, way: str) -> Table:
    web = plan.generate_web(name, seed)
    x = compute_truth(web, plan.small)[:-1]
    rows = []
    for steps, gained, estimates in (
        _iterate_offline(plan, web, way) if way in OFFLINE else _crawl_online(plan, web, way, seed)
    ):
        first = {"law": name, "seed": seed, "way": way}
        for kind, estimate in estimates.items():
            at = {"estimate": kind, "fetches": steps, "crawls": steps / plan.size, "gained": gained}
            rows.append({**first, **at, **measure_errors(estimate, x).measure()})
    return make_table(rows)


def _iterate_offline(plan: StaticWebPlan, web: GeneratedWeb, way: str) -> Iterator[tuple[int, float, dict[str, Any]]]:
    found = iterate_offline(web, plan.small, convergent=OFFLINE[way])
    for number, x in enumerate(islice(found, plan.crawls), 1):
        yield number * plan.size, float("nan"), {"iterate": x[:-1]}


def _crawl_online(
    plan: StaticWebPlan, web: GeneratedWeb, way: str, seed: int
) -> Iterator[tuple[int, float, dict[str, Any]]]:
    crawl = OpicCrawl(web, way, seed, plan.small)
    for point in choose_times(plan.crawls):
        crawl.advance(round(point * plan.size))
        cash, rows = crawl.cash, crawl.rows
        yield crawl.steps, cash.paid, {"paid and held": cash.estimate(rows), "paid": cash.compute_rough(rows)}


def _measure_payments(plan: StaticWebPlan, name: str, seed: int, way: str) -> Table:
    web = plan.generate_web(name, seed)
    crawl = OpicCrawl(web, way, seed, plan.small)
    rows, before, since = [], 0.0, 0
    for part in range(1, plan.crawls * PARTS + 1):
        crawl.advance(part * plan.size // PARTS)
        by_pages = crawl.cash.paid - crawl.cash.virtual_history
        held = (by_pages - before) / max(crawl.steps - since, 1) * plan.size
        at = {"fetches": crawl.steps, "crawls": crawl.steps / plan.size, "held": held}
        paid = {"gained": crawl.cash.paid, "by_pages": by_pages}
        rows.append({"law": name, "seed": seed, "way": way, **at, **paid})
        before, since = by_pages, crawl.steps
    return make_table(rows)


def choose_times(crawls: int) -> list[float]:
    """Return when errors are taken, in crawls: at each whole one, and evenly by the logarithm from a tenth on."""
    short = np.geomspace(0.1, crawls, SHORT).round(2).tolist()
    return sorted({*short, *(float(count) for count in range(1, crawls + 1))})


def check_terms(crawls: int, small: float) -> None:
    """Check that there is at least one crawl and that small edges weigh something.

    Raises:
        SettingsError: else.
    """
    if crawls < 1:
        raise SettingsError(f"{crawls} crawls are none; give at least 1.")
    if not 0 < small < float("inf"):
        raise SettingsError(f"Small edges of weight {small:g} join nothing; give a number above 0 (a link has 1).")


class OpicCrawl:
    """OPIC at work on a web: accounts that start with equal shares, and a selection.

    Attributes:
        cash: the accounts.
        rows: all pages, int64[n].
        steps: how many fetches there were.
        seen: called with (page, its cash, G) before that is paid out; None: nobody looks on.
    """

    def __init__(self, web: GeneratedWeb, way: str, seed: int, small: float) -> None:
        self.web = web
        self.cash = Cash(small)
        self.rows = np.arange(web.size, dtype=np.int64)
        self.order = make_visit_order(way, self.cash, seed)
        self.cash.start(self.rows)
        self.steps = 0
        self.seen: Callable[[int, float, float], object] | None = None

    def advance(self, steps: int) -> None:
        """Fetch pages until this number of fetches was made since the start."""
        for _ in range(self.steps, steps):
            page = self.order.choose_next()
            if self.seen is not None:
                self.seen(page, float(self.cash.cash[page]) + self.cash.offset, self.cash.paid)
            self.cash.pay(page, self.web.get_targets(page))
        self.steps = max(self.steps, steps)
