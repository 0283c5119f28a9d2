"""Adaptive OPIC on webs that change (Abiteboul et al., section 4, Figures 4 to 6): windows over one greedy crawl.

A month is what n fetches add to G: measured, on the web before it changes, where it is not given.

The change rate is the share of pages whose in-degree doubles or halves during n fetches, n pages being a crawl.

Windows are called "variable-8", "fixed-8", "improved-4", "interpolation-4", "none". A number is m for variable
windows, and months for the others; "+held" behind it reads importance with the cash that is held now. "none" is plain
OPIC, (H + C) / (G + 1), which forgets nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from socialcrawl.engine.draws import make_generator
from socialcrawl.errors import SettingsError
from socialcrawl.importance.history_windows import (
    FixedHistory,
    HistoryWindow,
    ImprovedFixedHistory,
    InterpolatedHistory,
    VariableHistory,
)
from socialcrawl.importance.opic import Cash
from socialcrawl.lab.experiments.opic.importance_errors import compute_truth, measure_errors
from socialcrawl.lab.experiments.opic.static_web import SELECTIONS, OpicCrawl, check_terms
from socialcrawl.lab.experiments.opic.webs import GeneratedWeb, generate_web, get_law
from socialcrawl.lab.process_pool import Crawl, CrawlJob, crawl_here
from socialcrawl.lab.result_tables import Table, join_tables, make_table
from socialcrawl.text.wording import explain_unknown

TRIES: Final = 20  # draws for a link's source, before a page goes with one link less


class WebChanges:
    """What happens to a web while it is crawled, the same for the same seed.

    Pages are drawn without doubles from an order of all pages, a new one when all have changed. A coin says whether a
    page doubles or halves; below two links it can only double, and from none it goes to one. New links come from pages
    drawn evenly; of d links, d // 2 are taken away, drawn evenly. (The paper does not say.)

    Args:
        web: what is changed.
        rate: the share of pages that change in a crawl, 0 or more.
        seed: of all draws.

    Raises:
        SettingsError: the rate is below 0.
    """

    def __init__(self, web: GeneratedWeb, rate: float, seed: int) -> None:
        if not 0 <= rate < float("inf"):
            raise SettingsError(f"A change rate of {rate:g} is none; give 0 or more.")
        self.web, self.rate, self.seed = web, rate, seed
        self.done = 0

    def advance(self, crawls: float) -> int:
        """Bring the web to its state after this number of crawls since the start; return how many pages changed now."""
        due = int(self.rate * self.web.size * crawls + 1e-9)
        before = self.done
        while self.done < due:
            self._change(self.done)
            self.done += 1
        return self.done - before

    def _change(self, number: int) -> None:
        lap, place = divmod(number, self.web.size)
        if not place:
            self.order = make_generator(self.seed, "changed pages", lap).permutation(self.web.size)
        page = int(self.order[place])
        draws = make_generator(self.seed, "change", number)
        degree = len(self.web.into[page])
        if degree >= 2 and draws.random() < 0.5:
            self.web.cut(draws.choice(self.web.into[page], degree // 2, replace=False).tolist(), page)
        else:
            self._grow(page, max(degree, 1), draws)

    def _grow(self, page: int, more: int, draws: np.random.Generator) -> None:
        for _ in range(more):
            for source in draws.integers(0, self.web.size, TRIES).tolist():
                if self.web.link(source, page):
                    break


Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

FIG4: Final = ("variable-4", "variable-8", "variable-16", "interpolation-4")
FIG6: Final = ("variable-8", "fixed-8", "improved-4", "interpolation-4")
BEGINNINGS: Final = ("listing", "equal", "nothing")
NONE: Final = "none"
HELD: Final = "+held"


def parse_window(name: str, month: float) -> HistoryWindow:
    """Return the window of that name, a month being `month` units of G.

    Raises:
        SettingsError: there is none of that name.
    """
    stem = name.removesuffix(HELD)
    kind, _, number = stem.partition("-")
    fresh = stem != name
    if number.isdecimal() and int(number) > 0:
        size = int(number)
        if kind == "variable":
            return VariableHistory(size, fresh=fresh)
        if kind == "fixed":
            return FixedHistory(size * month, fresh=fresh)
        if kind == "improved":
            return ImprovedFixedHistory(size * month, fresh=fresh)
        if kind == "interpolation":
            return InterpolatedHistory(size * month, fresh=fresh)
    raise SettingsError(
        f"{name} is not a window: say variable-M (measures), fixed-N, improved-N or interpolation-N (months), or none; "
        f"{HELD} may follow."
    )


class WindowComparison:
    """Some windows that watch one crawl; what they say does not steer it.

    What pages begin with is open in the paper. "equal": the importance of their first cash, 1/(n + 1), as if it had
    always been so; "nothing": as the listing of OPIC has it, H = 0; "listing" (the default): nothing, except for
    interpolation, which would read low for the length of its window.

    Raises:
        SettingsError: a name is no window's.
    """

    def __init__(self, names: tuple[str, ...], month: float, pages: Rows, begin: str = "listing") -> None:
        self.names, self.pages = names, pages
        self.windows = {name: parse_window(name, month) for name in names if name != NONE}
        for each in self.windows.values():
            if begin == "equal" or (begin == "listing" and isinstance(each, InterpolatedHistory)):
                for page in pages.tolist():
                    each.join(page, 0.0, 1.0 / (len(pages) + 1))

    def record_crawl(self, page: int, cash: float, paid: float) -> None:
        """Show all windows a crawl: the page, its cash, and G before that is paid out."""
        for each in self.windows.values():
            each.record_crawl(page, cash, paid)

    def compute_importance(self, cash: Cash) -> dict[str, Floats]:
        """Return what each says of all pages now, float64[n]."""
        held = cash.get_cash(self.pages)
        found = {name: each.compute_importance(self.pages, held, cash.paid) for name, each in self.windows.items()}
        return {name: found[name] if name in found else cash.estimate(self.pages) for name in self.names}

    def count_measures(self) -> dict[str, float]:
        """Return the mean number of measures a page that each keeps (Figure 5); plain OPIC keeps one number, H."""
        counts = {name: float(each.count_measures(self.pages).mean()) for name, each in self.windows.items()}
        return {name: counts.get(name, 1.0) for name in self.names}


RATES: Final = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
STEPS: Final = 100  # of a crawl, between which the web changes
WARM: Final = 2  # crawls before the month is measured


@dataclass(frozen=True)
class ChangingWebPlan:
    """What is measured on webs that change.

    Attributes:
        windows: names that `parse_window` reads.
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

    def make_job(self, work: Callable[..., Table], seed: int, *rate: float) -> CrawlJob:
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
    months = [float(found["month"][0]) for found in crawl([plan.make_job(_measure_month, seed) for seed in plan.seeds])]
    plans = [(replace(plan, month=month), seed) for seed, month in zip(plan.seeds, months, strict=True)]
    return join_tables(
        crawl([there.make_job(_measure_adaptation, seed, rate) for there, seed in plans for rate in plan.rates])
    )


def _measure_month(plan: ChangingWebPlan, seed: int) -> Table:
    """Return the month of the web of `seed`, as a table of one number."""
    return {"month": np.array([measure_month(plan, seed)])}


def measure_month(plan: ChangingWebPlan, seed: int) -> float:
    """Return what n fetches add to G on the web of `seed`, before it changes (two crawls after the first two)."""
    if plan.month:
        return plan.month
    crawl = OpicCrawl(generate_web(get_law(plan.law), plan.size, seed), plan.way, seed, plan.small)
    crawl.advance(WARM * plan.size)
    before = crawl.cash.paid
    crawl.advance(2 * WARM * plan.size)
    return (crawl.cash.paid - before) / WARM


def _measure_adaptation(plan: ChangingWebPlan, seed: int, rate: float) -> Table:
    web = generate_web(get_law(plan.law), plan.size, seed)
    changes = WebChanges(web, rate, seed)
    crawl = OpicCrawl(web, plan.way, seed, plan.small)
    watching = WindowComparison(plan.windows, plan.month, crawl.rows, plan.begin)
    crawl.seen = watching.record_crawl
    found, x = [], None
    for number in range(1, plan.crawls + 1):
        for part in range(1, STEPS + 1):
            crawl.advance((number - 1) * plan.size + part * plan.size // STEPS)
            changes.advance(number - 1 + part / STEPS)
        x = compute_truth(web, plan.small, x)
        kept = watching.count_measures()
        for name, estimate in watching.compute_importance(crawl.cash).items():
            first = {"law": plan.law, "seed": seed, "rate": rate, "window": name, "crawl": number}
            also = {"month": plan.month, "measures": kept[name], "changed": changes.done}
            found.append({**first, **also, **measure_errors(estimate, x[:-1]).measure()})
    return make_table(found)
