"""Whole campaigns against mock servers: how often the intervals that commands show hold the truth."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sqlalchemy import text

from benchmarks.coverage.table import Shown, repeat
from benchmarks.coverage.towns import LANGUAGES, WORD, Town, make_town
from benchmarks.virtual_runs import run_until_done
from socialcrawl.campaign.cost_outlook import make_campaign_quote
from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import Settings, check_settings
from socialcrawl.cli.commands import audit as auditing
from socialcrawl.crawls.reporting import report
from socialcrawl.crawls.sample.audit_report import audit_datasets
from socialcrawl.engine.model import Outcome
from socialcrawl.engine.protocols import Batch
from socialcrawl.importers.import_dataset import DatasetFiles, import_dataset
from socialcrawl.lab.instant import VirtualClock
from socialcrawl.mock import faults
from socialcrawl.mock.server import MockThread, serve_in_thread
from socialcrawl.render import quote
from socialcrawl.render.kind_parts import collect_knowledge
from socialcrawl.render.live_screen import CampaignView
from socialcrawl.storage.database.connection import connect
from socialcrawl.storage.database.health import open_readable
from socialcrawl.storage.queries.traces import CampaignTraces

TITLE = "Whole campaigns against mock servers"
NOTE = """10 runs on each platform show gross errors only: intervals that contain the true value in 95 of 100 runs do
so in 8 of 10 or fewer in one case of twelve. A run has a generated town of 900 accounts that post, a tenth of which
cannot be read, a mock server that allows 60 requests in 15 minutes and fails one request in 40, and a clock that
advances only while the campaign waits. Requests go over loopback, databases are SQLite files, and intervals are taken
from the commands' JSON output. The true values are those of the posts of the town, of the server's count and bill, and
of the clock.

- `audit` of a campaign steered by hybrid-sum that made 200 steps, and `report`, by a hard-focused sample of eight
  walkers (burn-in 10) after 400 steps (early) and 550 (late).
- `quote` of that campaign for 200 more steps, after 200 (early) and 400 (late). `run`: its time to the end, halfway.
- `report` of a refresh, with `fraction = 0.9`, of all accounts of the town when two thirds of them are gone: after a
  quarter of the tests (early), and at the stop (late).

Widths are in shares, accounts, requests, posts, dollars and seconds."""

RUNS = KEPT = 10
TOKEN = "SOCIALCRAWL_COVERAGE_TOKEN"  # the environment variable
BEGIN, DAY = 1_800_000_000.0, 86_400.0
K, WINDOW = 60, 900.0
FAILING = 40  # answers among which one is a failure
EARLY, LATE = "early", "late"


@dataclass(frozen=True)
class Size:
    """How large a run is.

    Attributes:
        users: accounts that post.
        collect: the steps of a campaign when it is quoted, early and late, and at its end.
        sample: the steps of a sample, early and late.
        length: the steps of each walk, counted as often as it stays where it is; None: no end.
        random: the random accounts that a refresh tests before all others.
    """

    users: int = 900
    collect: tuple[int, int, int] = (200, 400, 600)
    sample: tuple[int, int] = (400, 550)
    length: int | None = None
    random: int = 200


@dataclass(frozen=True)
class Place:
    """A platform whose mock is measured.

    Attributes:
        title: what tables call it.
        source: how campaigns name it.
        windows: the rate limit, as arguments of the mock.
        billed: whether it charges for requests.
        size: of a run.
    """

    title: str
    source: Mapping[str, str]
    windows: Mapping[str, Any]
    billed: bool
    size: Size = field(default_factory=Size)

    def names(self, town: Town) -> list[str]:
        """Return how the platform names the accounts of a town."""
        names = town.world.accounts.usernames
        return names if self.billed else [f"{name.lower().replace('_', '-')}.mock.social" for name in names]


X = Place("mock of X", {"platform": "x", "token_env": TOKEN}, {"limit": K, "window": WINDOW}, billed=True)
BLUESKY = Place(
    "mock of Bluesky", {"platform": "bluesky"}, {"bluesky_limit": K, "windows": {"bluesky": WINDOW}}, billed=False
)


def measure(runs: int) -> list[Shown]:
    """Return what `runs` runs on each platform showed."""
    return repeat((X, BLUESKY), runs, find_intervals)


def find_intervals(place: Place, seed: int) -> Iterator[Shown]:
    """Yield what the campaigns of one run show."""
    town, old = (make_town(place.source["platform"], seed, place.size.users, missing) for missing in (0.1, 2 / 3))
    with serve(place, town, seed) as desk:
        desk.run(desk.collecting(place.size.collect[0]))
        yield from sample(desk)
        desk.clock.at += DAY  # X bills a post once a day, and the sample has read most of them
        yield from collect(desk)
    with serve(place, old, seed) as desk:
        yield from refresh(desk)


@dataclass(frozen=True)
class Desk:
    """A mock server, and where its campaigns work."""

    place: Place
    town: Town
    server: MockThread
    clock: VirtualClock
    database: Path
    seed: int

    def settings(self, name: str, steps: int | None, **sections: Any) -> Settings:
        """Return a campaign of this run."""
        given = {
            "name": name,
            "seed": self.seed,
            "database": self.database,
            "topic": {"keywords": [WORD]},
            "crawl": {} if steps is None else {"steps": steps},
            "source": {**self.place.source, "base_url": self.server.url, "reuse_hours": 0, "pages_per_user": 32},
            "limits": {"k": K, "d": WINDOW},
            **sections,
        }
        return check_settings({key: value for key, value in given.items() if value is not None}, "coverage")

    def collecting(self, steps: int) -> Settings:
        """Return the campaign that collects, up to a number of steps."""
        return self.settings("collected", steps, crawl={"estimator": "hybrid-sum", "steps": steps})

    def run(self, settings: Settings, view: CampaignView | None = None) -> None:
        """Run a campaign until it stops."""
        run_until_done(settings, self.clock, view or CampaignView())

    def show(self, interval: str, at: str, ends: Sequence[float | None] | None, truth: float) -> Shown:
        """Return an interval beside the truth; None: withheld."""
        low, high = ends or (None, None)
        return Shown(interval, self.place.title, at, low, high, truth)

    def spent(self) -> dict[str, float]:
        """Return what the server has counted, and billed where it charges, and the time."""
        told = self.server.report()
        counted = told if self.place.billed else told["platforms"][self.place.source["platform"]]
        read = self.town.rows(read_by(self.database, "collected"))
        posts = sum(int(self.town.world.author[post]) in read for post in self.town.shown)
        bill = {name: sum(day[name] for day in told["billed"].values()) for name in BILLED} if self.place.billed else {}
        requests = sum(window["requests"] for window in counted["windows"])
        return {"requests": requests, "seconds": self.clock.now(), "posts": posts} | bill


@contextmanager
def serve(place: Place, town: Town, seed: int) -> Iterator[Desk]:
    """Yield a mock server that fails now and then, with a clock that it shares with campaigns, and an empty folder."""
    clock = VirtualClock(BEGIN)
    kinds: tuple[Callable[[], faults.Fault], ...] = (faults.make_cut, faults.make_html_fault)

    def fail(endpoint: str, nth: int) -> faults.Fault | None:
        return kinds[nth // FAILING % 2]() if (nth + seed) % FAILING == 0 else None

    shown = {"missing": town.missing, "platforms": (town.platform,), **place.windows}
    with ExitStack() as ends:
        folder = ends.enter_context(tempfile.TemporaryDirectory())
        ends.enter_context(patch.dict(os.environ, {TOKEN: "a-token", "XDG_STATE_HOME": folder}))
        mock = ends.enter_context(serve_in_thread(town.posts, fail, clock.now, **shown))
        yield Desk(place, town, mock, clock, Path(folder) / "a.db", seed)


class Noting(CampaignView):
    """A view that notes the forecast of time, and the time, after `at` steps."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at
        self.noted: tuple[float, tuple[float, float] | None] | None = None

    def learned(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """Note them once."""
        super().learned(batch, outcomes)
        campaign = self.campaign
        if campaign is not None and self.noted is None and campaign.crawl.taken >= self.at:
            self.noted = campaign.clock.now(), self.remaining(campaign)


def collect(desk: Desk) -> Iterator[Shown]:
    """Yield the ranges of the quote of a campaign, and of its time to the end."""
    for at, (done, steps) in zip((EARLY, LATE), pairwise(desk.place.size.collect), strict=True):
        settings = desk.collecting(steps)
        meant = make_plan(settings)
        ranges = quote.build_object(meant, make_campaign_quote(meant))["probably_ranges"]
        before, view = desk.spent(), Noting((done + steps) // 2)
        desk.run(settings, view)
        after = desk.spent()
        for name, what in QUOTED.items():
            if name in after:
                yield desk.show(f"quote: {what}", at, ranges.get(name), after[name] - before[name])
        assert view.noted is not None
        yield desk.show("run: time to the end", at, view.noted[1], after["seconds"] - view.noted[0])


BILLED = "posts", "dollars"
QUOTED = {"requests": "requests", "posts": "posts", "dollars": "cost", "seconds": "time"}


def sample(desk: Desk) -> Iterator[Shown]:
    """Yield what a sample of the topic, and its audit of the campaign that collected, show."""
    town, topic = desk.town, desk.town.reached
    held = town.rows(read_by(desk.database, "collected"))
    linked = set().union(*(town.links.get(one, set()) for one in held)) - held
    lang = LANGUAGES[0]
    speakers = topic & town.speakers(lang)
    walks = {"walkers": 8, "burn_in": 10, "length": desk.place.size.length}
    for at, steps in zip((EARLY, LATE), desk.place.size.sample, strict=True):
        settings = desk.settings("sampled", steps, kind="sample", sample=walks)
        desk.run(settings)
        with open_readable(desk.database) as connection:
            traces = CampaignTraces(connection)
            audit = auditing.build_object(audit_datasets(traces, settings, of=["collected"]))
            known = collect_knowledge(report(traces, "sampled"))["sampled"]
        (one,) = audit["datasets"]
        gaps = {gap["group"]: gap["lacking"] for gap in one["languages"]}
        for what, estimate, truth in (
            ("audit: share held", one["found"]["share"], len(held & topic) / len(topic)),
            ("audit: accounts in the topic", one["found"]["size"], len(topic)),
            ("audit: linked to, not held", one["found"]["reach"], len(linked & topic) / len(topic)),
            (f"audit: gap in `{lang}`", gaps.get(lang), len(speakers - held) / len(topic)),
            ("report: links to accounts on topic", known["links"]["staying"], town.staying),
            (f"report: accounts that write `{lang}`", known["languages"].get(lang), len(speakers) / len(topic)),
        ):
            ends = None
            if estimate is not None and audit["verdict"]["enough"]:
                ends = estimate["low"], estimate["high"]
            yield desk.show(what, at, ends, truth)


def read_by(database: Path, campaign: str) -> list[str]:
    """Return the ids, or the names, of the accounts that a campaign has read."""
    sql = (
        "select distinct coalesce(a.platform_id, a.username) from outcome o join pick p using (campaign, n) "
        "join campaign c on c.id = o.campaign join account a on a.node = o.node "
        "where c.name = :campaign and o.missing is null and p.act in ('seed', 'expand')"
    )
    with open_readable(database) as connection:
        return [name for (name,) in connection.execute(text(sql), {"campaign": campaign})]


def refresh(desk: Desk) -> Iterator[Shown]:
    """Yield what a refresh of all accounts of a town shows."""
    town, names = desk.town, desk.place.names(desk.town)
    dataset = set(town.former).union(*town.former.values())
    alive = sum(bool(town.here[one]) for one in dataset)
    rules = {"rank": "pa", "z": 100, "active": "exists", "check": desk.place.size.random, "fraction": 0.9}
    file = desk.database.with_name("old.csv")
    links = [(names[a], names[b]) for a, others in town.former.items() for b in sorted(others)]
    file.write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in links), "utf-8")
    for at, steps in ((EARLY, len(dataset) // 4), (LATE, None)):
        settings = desk.settings("refreshed", steps, kind="refresh", refresh=rules, topic=None)
        if at == EARLY:
            connection = connect(desk.database)
            import_dataset(DatasetFiles([file]), connection, settings, desk.clock.now())
            connection.close()
            connection.engine.dispose()
        desk.run(settings)
        with open_readable(desk.database) as connection:
            known = collect_knowledge(report(CampaignTraces(connection), "refreshed"))["refreshed"]["known"]
        yield desk.show("report: active in all", at, (known["low"], known["high"]), alive)
        yield desk.show("report: share found", at, (known["share_low"], known["share_high"]), known["found"] / alive)
