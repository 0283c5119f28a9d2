"""Whole campaigns on a mock of each platform: do they rank estimators as replays of the same posts do?

Beside the relevance of each estimator stands how many times as much `adaptive` found, with its 95 % interval over the
sets of seeds. Two orders are the same if no pair changes places that either of them shows to differ. The weight of a
link between pages can differ in a replay, which measures the text around the link after `ß` has become `ss`.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import httpx
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from benchmarks.coverage.worlds import SHARED
from benchmarks.figure import Figure, is_tiny, sized
from benchmarks.virtual_runs import run_until_done
from socialcrawl.campaign.settings import Settings, check_settings
from socialcrawl.forecast.intervals import Interval, estimate_mean
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.graph.relevance import Topic
from socialcrawl.lab.generators.generate import DEMO_USERS, choose_topics, generate, write
from socialcrawl.lab.graphs.from_texts import COLUMNS, build_mention_graph, build_page_graph
from socialcrawl.lab.grid import draw_seed_sets
from socialcrawl.lab.instant import VirtualClock
from socialcrawl.lab.post_table import Posts, fold_name, read_posts
from socialcrawl.lab.simulation import ReplaySetup, simulate
from socialcrawl.mock.server import MockThread, serve_in_thread
from socialcrawl.mock.web.html import make_path
from socialcrawl.render.live_screen import CampaignView
from socialcrawl.storage.database.health import open_readable

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

STEPS, SETS, SEEDS = sized(200, 30), sized(5, 2), sized(20, 5)
TITLE = (
    f"Estimators on mocks of four platforms, beside replays: campaigns of {STEPS} steps, {SETS} sets of {SEEDS} seeds"
)
ESTIMATORS = ("adaptive", "hybrid-sum", "nh-ne-sum", "bfs")
END, AREA = f"relevance after {STEPS} steps", "mean relevance over the requests"
SWITCH = sized(50, 10)  # steps before a hybrid turns linear
NEWEST = 200  # posts of an account that are served: two pages of X, five of Mastodon
TOKEN = "SOCIALCRAWL_BENCH_TOKEN"  # the environment variable
HOST, CONTACT = "http://wiki.example", "mailto:bench@example.org"
SOURCES: Mapping[str, Mapping[str, Any]] = {
    "x": {"token_env": TOKEN},
    "bluesky": {},
    "mastodon": {"domain": "home.example", "contact": CONTACT},
    "web": {"contact": CONTACT},
}
CHAT, PAGES = SHARED / "ubuntu_irc.parquet", SHARED / "wikispeedia_6k.parquet"
STEPPED = """
select p.n, coalesce(o.value, 0.0) from pick p join outcome o on o.campaign = p.campaign and o.n = p.n
where p.act = 'expand' order by p.n
"""
SENT = "select n from request where coalesce(kind, '') <> 'held' order by n"


class Curve(NamedTuple):
    """What a crawl found.

    Attributes:
        found: float64[steps], the relevance found up to each step, without that of the seeds.
        sent: int64[steps], the requests sent up to each step after those for the seeds.
    """

    found: Floats
    sent: Ints

    def list_found(self, requests: int) -> Floats:
        """Return the relevance found when 1, 2, .. `requests` requests were sent, float64[requests]."""
        places = np.searchsorted(self.sent, np.arange(1, requests + 1), "right")
        return np.concatenate([[0.0], self.found])[places]


@dataclass(frozen=True, eq=False)
class Place:
    """Accounts or pages that a mock serves as some platforms.

    Attributes:
        title: what tables call it.
        word: the topic.
        platforms: names of SOURCES.
        posts: what accounts posted; None: there are pages only.
        pages: the columns key, text and links of pages; None: there are posts only.
    """

    title: str
    word: str
    platforms: Sequence[str]
    posts: Posts | None = None
    pages: Mapping[str, Sequence[Any]] | None = None

    @cached_property
    def graph(self) -> KnownGraph:
        """What replays crawl."""
        topic = Topic([self.word])
        if self.posts is not None:
            newest_first = range(len(self.posts) - 1, -1, -1)  # as timelines show them
            return build_mention_graph(select_posts(self.posts, newest_first), topic)
        assert self.pages is not None
        return build_page_graph(self.pages, topic)

    @cached_property
    def sets(self) -> list[list[int]]:
        """Nodes to begin with, drawn among those on topic."""
        return draw_seed_sets(self.graph, SETS, SEEDS, 1)

    def name(self, nodes: Sequence[int], platform: str, url: str) -> list[str]:
        """Return what a platform of the mock at `url` calls some nodes."""
        assert self.graph.names is not None
        names = [self.graph.names[node] for node in nodes]
        if platform == "web":
            return [f"{HOST}{make_path(name)}" for name in names]
        asked = [httpx.get(f"{url}/_mock/accounts", params={"name": name}) for name in names]
        return [answer.json()[platform] for answer in asked]


def measure() -> list[Figure]:
    """Relevance that campaigns on each platform find, beside replays, and whether both rank the estimators alike."""
    figures = [figure for place in list_places() for figure in measure_place(place)]
    missing = [] if is_tiny() else [path for path in (CHAT, PAGES) if not path.exists()]
    return [*figures, *(Figure(f"not measured: {path} is missing (set SOCIALCRAWL_SHARED)", "-") for path in missing)]


def list_places() -> Iterator[Place]:
    """Yield what is crawled; files that are not on this machine are left out."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "generated.parquet"
        write(path, generate(sized(DEMO_USERS, 200), 1))
        yield from show_everywhere(path, next(iter(choose_topics().values())))
    if is_tiny():
        return
    if CHAT.exists():
        yield from show_everywhere(CHAT, "kernel")
    if PAGES.exists():
        columns = parquet.read_table(PAGES, columns=list(COLUMNS)).to_pydict()
        yield Place(PAGES.stem, "species", ("web",), pages=columns)


def show_everywhere(path: Path, word: str) -> Iterator[Place]:
    """Yield the posts of a file for the platforms that have accounts, and the same as pages for the web."""
    posts = take_newest(read_posts(path), NEWEST)
    yield Place(path.stem, word, ("x", "bluesky", "mastodon"), posts)
    yield Place(f"{path.stem} as pages", word, ("web",), pages=write_pages(posts))


def take_newest(posts: Posts, most: int) -> Posts:
    """Return the newest posts of each account, in the order of time."""
    kept, counts = list[int](), dict[str, int]()
    for row in np.argsort(posts.created_at, kind="stable")[::-1].tolist():
        author = fold_name(posts.authors[row])
        counts[author] = counts.get(author, 0) + 1
        if counts[author] <= most:
            kept.append(row)
    return select_posts(posts, kept[::-1])


def select_posts(posts: Posts, rows: Sequence[int]) -> Posts:
    """Return some posts, in the order given, without ids: who is mentioned is all that links accounts."""
    mentions = [posts.list_mentions(row) for row in rows]
    return Posts(
        [posts.authors[row] for row in rows],
        posts.created_at[list(rows)],
        [posts.texts[row] for row in rows],
        [name for names in mentions for name in names],
        np.cumsum([0, *map(len, mentions)]),
    )


def write_pages(posts: Posts) -> Mapping[str, Sequence[Any]]:
    """Return a page for each account: what it posted, newest first, and links to those whom it mentions.

    Who posted nothing has an empty page. Titles have blanks where names have underscores, and so have the texts.
    """
    texts, links = dict[str, list[str]](), dict[str, list[str]]()
    for row in range(len(posts) - 1, -1, -1):
        author, mentioned = fold_name(posts.authors[row]), [fold_name(name) for name in posts.list_mentions(row)]
        for name in (author, *mentioned):
            texts.setdefault(name, [])
            links.setdefault(name, [])
        texts[author].append(posts.texts[row].replace("_", " "))
        links[author] += mentioned
    return dict(zip(COLUMNS, (list(texts), [" ".join(one) for one in texts.values()], [*links.values()]), strict=True))


def measure_place(place: Place) -> Iterator[Figure]:
    """Yield the figures of the replays of a place, and of the campaigns on each of its platforms."""
    replays = [{name: replay(place, name, number) for name in ESTIMATORS} for number in range(SETS)]
    known = compare(replays)
    yield from known.show(f"{place.title}, replayed")
    for platform in place.platforms:
        with serve(place, platform) as desk:
            crawls = [{name: desk.crawl(name, number) for name in ESTIMATORS} for number in range(SETS)]
        where, live = f"{place.title}, {platform}", compare(crawls)
        yield from live.show(where)
        swaps = live.find_swaps(known)
        yield Figure(f"{where}: same order as replayed", f"no: {', '.join(swaps)}" if swaps else "yes", "yes")
        same = [
            np.array_equal(crawl.found, replayed[name].found)
            for one, replayed in zip(crawls, replays, strict=True)
            for name, crawl in one.items()
        ]
        yield Figure(f"{where}: campaigns that found the same, step by step", f"{sum(same)} of {len(same)}")


def replay(place: Place, estimator: str, number: int) -> Curve:
    """Return what a replay finds, a request a step."""
    setup = ReplaySetup(estimator, STEPS, seed=number + 1, switch_after=SWITCH)
    return Curve(simulate(place.graph, place.sets[number], setup).curve, np.arange(1, STEPS + 1))


@dataclass(frozen=True)
class Desk:
    """A mock that serves a place as one platform, and where its campaigns work."""

    place: Place
    platform: str
    mock: MockThread
    clock: VirtualClock
    folder: Path

    def crawl(self, estimator: str, number: int) -> Curve:
        """Return what a campaign finds from one of the sets of seeds, at the platform's limits.

        Raises:
            AssertionError: it ended early, or the mock has counted other requests than it.
        """
        before, settings = self._count(), self._make_settings(estimator, number)
        run_until_done(settings, self.clock, CampaignView())
        with open_readable(settings.database) as connection:
            numbers, values = zip(*connection.exec_driver_sql(STEPPED), strict=True)
            sent = np.array([n for (n,) in connection.exec_driver_sql(SENT)], np.int64)
        assert len(sent) == self._count() - before
        counts = np.searchsorted(sent, np.array(numbers), "right") - int(np.searchsorted(sent, numbers[0]))
        return Curve(np.cumsum(values), counts)

    def _make_settings(self, estimator: str, number: int) -> Settings:
        names = self.place.name(self.place.sets[number], self.platform, self.mock.url)
        crawl = {"steps": STEPS, "switch_after": SWITCH, "refresh_rate": 1, "shadows": []}
        source = {"platform": self.platform, "base_url": self.mock.url, "pages_per_user": 32, "reuse_hours": 0}
        return check_settings(
            {
                "name": "bench",
                "seed": number + 1,
                "database": self.folder / f"{estimator}-{number}.db",
                "topic": {"keywords": [self.place.word]},
                "seeds": {"search": False, "usernames": names},
                "crawl": {"estimator": estimator, **crawl},
                "source": {**source, **SOURCES[self.platform]},
            },
            "benchmarks",
        )

    def _count(self) -> int:
        """Return how many requests the mock has answered."""
        told = self.mock.report()
        counted = told if self.platform == "x" else told["platforms"][self.platform]
        return sum(counted["received"].values())


@contextmanager
def serve(place: Place, platform: str) -> Iterator[Desk]:
    """Yield a mock server with a clock that it shares with campaigns, and an empty folder."""
    with ExitStack() as ends:
        folder = Path(ends.enter_context(tempfile.TemporaryDirectory()))
        ends.enter_context(patch.dict(os.environ, {TOKEN: "a-token", "XDG_STATE_HOME": str(folder)}))
        shown: dict[str, Any] = {"platforms": (platform,), "cap": 10**9}
        begin = 1_800_000_000.0
        if place.posts is not None:
            begin = float(place.posts.created_at.max()) + 60.0
        else:
            shown = {"platforms": (), "pages": folder / "pages.parquet"}
            parquet.write_table(pa.table(dict(place.pages or {})), shown["pages"])
        clock = VirtualClock(begin)
        mock = ends.enter_context(serve_in_thread(place.posts, time=clock.now, **shown))
        yield Desk(place, platform, mock, clock, folder)


@dataclass(frozen=True)
class Comparison:
    """What the estimators found from the same sets of seeds.

    Attributes:
        values: float64[sets, estimators] by measure: END, and AREA.
    """

    values: Mapping[str, Floats]

    def order(self, measure: str) -> list[str]:
        """Return the estimators, the best first."""
        return [ESTIMATORS[place] for place in np.argsort(-self.values[measure].mean(axis=0), kind="stable")]

    def compute_ratio(self, measure: str, one: str, other: str) -> Interval:
        """Return the logarithm of how much more one estimator found than another, paired by sets of seeds."""
        a, b = (self.values[measure][:, ESTIMATORS.index(name)] for name in (one, other))
        return estimate_mean(np.log(a / b))

    def find_swaps(self, other: "Comparison") -> list[str]:
        """Return the pairs that two comparisons order differently, unless neither shows that the two differ."""
        return [
            f"{a} and {b} ({measure})"
            for measure in self.values
            for a, b in combinations(ESTIMATORS, 2)
            if len({order.index(a) < order.index(b) for order in (self.order(measure), other.order(measure))}) == 2
            and any(one.compute_ratio(measure, a, b).sign for one in (self, other))
        ]

    def show(self, title: str) -> Iterator[Figure]:
        """Yield the means of the estimators, the best first, and how many times as much adaptive found."""
        for measure, values in self.values.items():
            cells = []
            for name in self.order(measure):
                ratio = self.compute_ratio(measure, ESTIMATORS[0], name)
                cells.append(f"{name} {values[:, ESTIMATORS.index(name)].mean():,.0f}")
                if name != ESTIMATORS[0]:
                    low, middle, high = np.exp([ratio.low, ratio.value, ratio.high])
                    cells[-1] += f" ({middle:.2f}: {low:.2f} to {high:.2f})"
            yield Figure(f"{title}: {measure}", ", ".join(cells), "no interval below 1")


def compare(crawls: Sequence[Mapping[str, Curve]]) -> Comparison:
    """Return what crawls found: for each set of seeds, those of all estimators.

    AREA is the mean over the requests that all crawls of a set have sent.
    """
    least = [min(int(curve.sent[-1]) for curve in one.values()) for one in crawls]
    end = [[one[name].found[-1] for name in ESTIMATORS] for one in crawls]
    area = [
        [one[name].list_found(requests).mean() for name in ESTIMATORS]
        for one, requests in zip(crawls, least, strict=True)
    ]
    return Comparison({END: np.array(end, np.float64), AREA: np.array(area, np.float64)})
