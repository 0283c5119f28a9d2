"""What the levers on OPIC do: discovery against refresh, and extra cash for a topic (Abiteboul et al., section 3).

Unlike in the other experiments, a crawl knows few pages at first and finds the others by links: it is greedy, over the
accounts of a campaign of `kind = "track"` (`crawls/track/opic_accounts.py`). Errors are distances from the importance
without levers, of all pages that there are: pages that are not known yet are estimated at 0.

Webs of `measure_leans`: "still", and "growing": pages are born in order, a link is there when both its ends are, and
in-degrees change (`WebChanges`). Webs of `measure_topics` stand still: "spread", a topic of pages drawn evenly, and
"clustered", where links to pages on topic were moved so that most come from the topic.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.track.opic_accounts import OpicAccounts
from socialcrawl.crawls.track.target import Target
from socialcrawl.engine.draws import make_generator
from socialcrawl.errors import SettingsError
from socialcrawl.importance.opic import Cash
from socialcrawl.importance.static_opic import GreedyOrder
from socialcrawl.lab.experiments.opic.importance_errors import compute_truth, measure_errors
from socialcrawl.lab.experiments.opic.moving import WebChanges
from socialcrawl.lab.experiments.opic.static_web import check_terms
from socialcrawl.lab.experiments.opic.webs import GeneratedWeb, generate_web, get_law
from socialcrawl.lab.process_pool import Crawl, CrawlJob, crawl_here
from socialcrawl.lab.result_tables import Table, join_tables, make_table

Flags = NDArray[np.bool_]
Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

LEANS: Final = (-1.0, -0.5, 0.0, 0.5, 1.0)
EXTRAS: Final = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
POINTS: Final = 16  # evenly spread times at which a crawl is measured
STEPS: Final = 20  # between two of them, after each of which the web changes


@dataclass(frozen=True)
class LeverPlan:
    """What is measured of levers.

    Attributes:
        settings: of the lever: leans, or extras.
        law, size, crawls, seeds, small: as of `StaticWebPlan`; small edges have this weight where nothing leans.
        known: share of the pages that the crawl knows at first.
        born: of the growing web: share of its pages that there are at first; the others come evenly.
        rate: of the growing web: share of pages whose in-degree doubles or halves in a crawl.
        topic: of a topic: share of the pages that are on it.
        together: of the clustered topic: share of the links from other pages that were moved to pages on topic.

    Raises:
        SettingsError: there is nothing to measure, or a number is out of range.
    """

    settings: Sequence[float]
    law: str = "power"
    size: int = 20_000
    crawls: int = 4
    seeds: Sequence[int] = (1,)
    small: float = 1.0
    known: float = 0.01
    born: float = 0.5
    rate: float = 0.03
    topic: float = 0.1
    together: float = 0.7

    def __post_init__(self) -> None:
        check_terms(self.crawls, self.small)
        get_law(self.law)
        if not (0 < self.known <= self.born <= 1 and 0 < self.topic < 1 and 0 <= self.together <= 1):
            raise SettingsError(
                "The shares of pages known at first, there at first and on topic are above 0 and at most 1, and no "
                "more are known than there are."
            )
        if not 0 <= self.rate < float("inf"):
            raise SettingsError("A change rate is a share of pages, 0 or more.")

    def list_jobs(self, work: Callable[..., Table], kinds: Sequence[str]) -> list[CrawlJob]:
        """Return a crawl by `work` of each kind of web, seed and setting."""
        terms = [self.law, self.size, self.crawls, self.small, self.known, self.born, self.rate]
        terms += [self.topic, self.together]
        return [
            CrawlJob(["opic", work.__name__, *terms, kind, seed, setting], work, (self, kind, seed, setting))
            for kind in kinds
            for seed in self.seeds
            for setting in self.settings
        ]


def measure_leans(plan: LeverPlan, crawl: Crawl = crawl_here) -> Table:
    """Return what crawls that lean to refresh or discovery have read, as they go.

    Columns: graph ("still" or "growing"), lever (the lean, as text), seed, crawls (fetches / size), fetches, pages
    (that there are), known and read (shares of them: known, and read at least once), again (share of the fetches that
    were of pages read before), age (mean time since pages were last read, in crawls, over those that were),
    age_weighted (the same weighted with importance), stale (share of the pages read whose links have changed since),
    then the errors of `ImportanceErrors`.

    Raises:
        SettingsError: a lean is out of range, or there are too few pages.
    """
    for lean in plan.settings:
        Target(lean=lean)  # refuses what is out of range
    return join_tables(crawl(plan.list_jobs(_measure_lean, ("still", "growing"))))


def measure_topics(plan: LeverPlan, crawl: Crawl = crawl_here) -> Table:
    """Return what crawls with extra cash for a topic have read, as they go.

    Columns: those of `measure_leans`, the graph being "spread" or "clustered" and the lever the extra; before the
    errors also on_topic (share of the fetches), topic_read (share of the topic's pages that were read), claimed (the
    estimated importance of the topic, as a multiple of the true one).

    Raises:
        SettingsError: an extra is out of range, or there are too few pages.
    """
    for extra in plan.settings:
        Target(extra=extra)  # refuses what is out of range
    return join_tables(crawl(plan.list_jobs(_measure_topic, ("spread", "clustered"))))


class LeverCrawl:
    """A greedy crawl that finds pages by links, and whose virtual page favours some of them.

    Attributes:
        accounts: cash, with its lever.
        steps: how many fetches there were.
        last: int64[n], the number of each page's last fetch; 0: it was never read.
        copies: the links of each page as they were when it was last read.
        on_topic: how many fetches were on topic.

    Args:
        web: what is crawled; its pages from `born` of `advance` on are not there yet.
        target: the lever.
        known: how many pages, the first ones, are known at first.
        topic: bool[n], pages on topic.
    """

    def __init__(self, web: GeneratedWeb, target: Target, known: int, topic: Flags) -> None:
        self.web, self.topic = web, topic
        self.accounts = OpicAccounts(Cash(target.small), target)
        self.order = GreedyOrder(self.accounts.cash)
        self.accounts.start(np.arange(known, dtype=np.int64))
        self.last = np.zeros(web.size, np.int64)
        self.copies: dict[int, Rows] = {}
        self.steps = self.on_topic = 0

    def advance(self, steps: int, born: int) -> None:
        """Fetch pages until this number of fetches was made since the start; the web has `born` pages meanwhile."""
        for _ in range(self.steps, steps):
            page = self.order.choose_next()
            targets = self.copies[page] = self.get_links(page, born)
            self.accounts.pay(page, targets, self.topic[targets].tolist())
            self.steps += 1
            self.last[page] = self.steps
            self.on_topic += int(self.topic[page])
            if self.accounts.full:
                rows = np.flatnonzero(self.accounts.cash.known)
                was_read = self.last[rows] > 0
                self.accounts.lend(rows[~was_read], rows[was_read])

    def get_links(self, page: int, born: int) -> Rows:
        """Return whom a page links to, int64, while the web has `born` pages."""
        targets = self.web.get_targets(page)
        return targets[targets < born]

    def measure(self, x: Floats) -> dict[str, float]:
        """Return the row of now without its errors, x being the true importance of the pages that there are."""
        born, known = len(x), self.accounts.cash.known
        read = np.flatnonzero(self.last[:born])
        stale = [not np.array_equal(self.copies[page], self.get_links(page, born)) for page in read.tolist()]
        age = (self.steps - self.last[read]) / self.web.size
        return {
            "fetches": self.steps,
            "pages": born,
            "known": float(np.count_nonzero(known[:born]) / born),
            "read": len(read) / born,
            "again": 1 - len(read) / self.steps,
            "age": float(age.mean()),
            "age_weighted": float(np.average(age, weights=x[read])),
            "stale": float(np.mean(stale)),
        }


def _measure_lean(plan: LeverPlan, kind: str, seed: int, lean: float) -> Table:
    web = generate_web(get_law(plan.law), plan.size, seed)
    crawl = _start(plan, web, Target(name="importance", lean=lean, small=plan.small), np.zeros(web.size, np.bool_))
    changes = WebChanges(web, plan.rate if kind == "growing" else 0.0, seed)
    rows: list[dict[str, Any]] = []
    x = compute_truth(web, plan.small)[:-1]
    for point in range(POINTS):
        for part in range(1, STEPS + 1):
            done = (point + part / STEPS) / POINTS
            born = round(plan.size * (plan.born + (1 - plan.born) * done)) if kind == "growing" else plan.size
            crawl.advance(round(done * plan.crawls * plan.size), born)
            changes.advance(done * plan.crawls)
        if kind == "growing":
            x = compute_truth(cut_web(web, born), plan.small)[:-1]
        first = {"graph": kind, "lever": f"{lean:g}", "seed": seed, "crawls": (point + 1) / POINTS * plan.crawls}
        rows.append({**first, **crawl.measure(x), **_measure_errors(crawl, x)})
    return make_table(rows)


def _measure_topic(plan: LeverPlan, kind: str, seed: int, extra: float) -> Table:
    web = generate_web(get_law(plan.law), plan.size, seed)
    topic = plant_topic(web, plan.topic, plan.together if kind == "clustered" else 0.0, seed)
    crawl = _start(plan, web, Target(name="importance", extra=extra, small=plan.small), topic)
    rows: list[dict[str, Any]] = []
    x = compute_truth(web, plan.small)[:-1]
    for point in range(1, POINTS + 1):
        crawl.advance(round(point / POINTS * plan.crawls * plan.size), plan.size)
        estimate = crawl.accounts.compute_importance(np.arange(plan.size))
        also = {
            "on_topic": crawl.on_topic / crawl.steps,
            "topic_read": float((crawl.last[topic] > 0).mean()),
            "claimed": float(estimate[topic].sum() / x[topic].sum()),
        }
        first = {"graph": kind, "lever": f"{extra:g}", "seed": seed, "crawls": point / POINTS * plan.crawls}
        rows.append({**first, **crawl.measure(x), **also, **_measure_errors(crawl, x)})
    return make_table(rows)


def _start(plan: LeverPlan, web: GeneratedWeb, target: Target, topic: Flags) -> LeverCrawl:
    return LeverCrawl(web, target, max(1, round(plan.known * plan.size)), topic)


def _measure_errors(crawl: LeverCrawl, x: Floats) -> dict[str, float]:
    return measure_errors(crawl.accounts.compute_importance(np.arange(len(x))), x).measure()


def cut_web(web: GeneratedWeb, born: int) -> GeneratedWeb:
    """Return the web of the first `born` pages and the links among them."""
    indptr, targets = web.get_links()
    sources = np.repeat(np.arange(web.size, dtype=np.int64), np.diff(indptr))
    there = (sources < born) & (targets < born)
    return GeneratedWeb(born, sources[there], targets[there])


def plant_topic(web: GeneratedWeb, share: float, together: float, seed: int) -> Flags:
    """Return the pages on topic, bool[n], drawn evenly; links to them are moved to begin on topic.

    Args:
        web: its in-degrees stay as they are.
        share: of the pages that are on topic, at least one.
        together: share of the links from other pages to pages on topic that are moved, as far as there are pages on
            topic that do not link there yet.
        seed: of all draws.
    """
    draws = make_generator(seed, "topic", 0)
    on = np.zeros(web.size, np.bool_)
    on[draws.permutation(web.size)[: max(1, round(share * web.size))]] = True
    pages = np.flatnonzero(on)
    for page in pages.tolist() if together else ():
        into = np.array(web.into[page], np.int64)
        moved = into[~on[into] & (draws.random(len(into)) < together)]
        begins = draws.permutation(np.setdiff1d(pages, [*into.tolist(), page]))[: len(moved)]
        web.cut(moved[: len(begins)].tolist(), page)
        for source in begins.tolist():
            web.link(source, page)
    return on
