"""One campaign on a mock server of X, from given seeds, on a clock that passes only where the campaign waits."""

import os
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.campaign.build import ProcessContext, build
from socialcrawl.campaign.sections.access import SEARCH, SEARCHING
from socialcrawl.campaign.settings import Settings, check_settings
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import MILLS_PER_DOLLAR, Stop, StopKind, parse_time
from socialcrawl.errors import SocialcrawlError
from socialcrawl.lab.instant import VirtualClock, VirtualExecutor
from socialcrawl.lab.post_table import Posts, read_posts
from socialcrawl.lab.result_tables import Table, make_table
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.world import build_world
from socialcrawl.render.live_screen import CampaignView
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.database.health import open_readable
from socialcrawl.storage.queries.summary import summarize_campaign

# Accounts whose first reading was of what a search returned, with each of their values, the last one last.
FOUND_FIRST = """
select o.node, a.platform_id, o.value from outcome o join account a on a.node = o.node
where o.missing is null and o.node in (select p.node from pick p where p.act = 'match') order by o.n
"""
DAY = 86_400.0
LATE = 120.0  # seconds after midnight, as what was posted in the last minute cannot be found yet
LATENCY = 0.25  # seconds of an answer
TOKEN = "SOCIALCRAWL_LABORATORY_TOKEN"  # noqa: S105 - the name of the environment variable


@dataclass(frozen=True)
class ReadingCrawl:
    """One campaign.

    Attributes:
        posts: the file of posts.
        keyword: the topic.
        seeds: usernames.
        read: how accounts are read, as in `[source] read`.
        pages: pages of a timeline at most; None: the default of that way of reading.
        estimator: which accounts come first.
        seed: of the campaign.
        budget: dollars.
        archive: whether the full archive is searched.
    """

    posts: Path
    keyword: str
    seeds: Sequence[str]
    read: str
    pages: int | None
    estimator: str
    seed: int
    budget: float
    archive: bool = True


def crawl_posts(asked: ReadingCrawl) -> Table:
    """Return what a campaign finds, as one row.

    Columns: relevance (of accounts that are no seeds), accounts, requests, dollars (by the ledger), hours (of its
    virtual clock) and bill (dollars by the mock's own count).

    Raises:
        SocialcrawlError: the campaign failed.
    """
    posts = read_posts(asked.posts)
    with open_crawl(asked, posts) as (connection, bill, begin):
        found, known = summarize_campaign(connection), _read_found_seeds(connection, asked, posts)
    row = {
        "relevance": found.relevance - known.sum(),
        "accounts": len(found.steps) - len(known),
        "requests": found.sent,
        "dollars": found.cost / MILLS_PER_DOLLAR,
        "hours": (parse_time(found.ended) - begin) / 3600.0 if found.ended else 0.0,
        "bill": bill,
    }
    return make_table([row])


@contextmanager
def open_crawl(asked: ReadingCrawl, posts: Posts) -> Iterator[tuple[Opened, float, float]]:
    """Run a campaign and yield its database, with the mock's bill in dollars and when it began, in Unix seconds.

    The mock has X's limits and prices, and its search finds no reposts, as X's does not.

    Raises:
        SocialcrawlError: the campaign failed.
    """
    # Searches of the last days find the last posts; no midnight passes, after which X bills the same posts again.
    begin = ceil((float(posts.created_at.max()) + 1.0) / DAY) * DAY + LATE
    clock = VirtualClock(begin)
    with (
        tempfile.TemporaryDirectory() as folder,
        _set_environment({TOKEN: secrets.token_urlsafe(24), "XDG_STATE_HOME": folder}),
        serve_in_thread(posts, time=clock.now, platforms=("x",), now=begin) as mock,
    ):
        database = Path(folder) / "reading.db"
        settings = _make_settings(asked, database, mock.url)
        view = CampaignView()
        campaign = build(settings, view, ProcessContext(clock, pool=lambda _: VirtualExecutor(clock, LATENCY)))
        with closing(campaign):
            view.begin(campaign)
            reason = run(campaign.parts, size=campaign.together)
        if isinstance(reason, Stop) and reason.kind == StopKind.FAILED:
            raise SocialcrawlError(f"A campaign with read = {asked.read!r} failed on {asked.keyword!r}: {reason.why}")
        bill = float(mock.report()["totals"]["dollars"])
        with open_readable(database) as connection:
            yield connection, bill, begin


def _make_settings(asked: ReadingCrawl, database: Path, url: str) -> Settings:
    source: dict[str, Any] = {"token_env": TOKEN, "base_url": url, "read": asked.read, "reuse_hours": 0}
    if asked.read in SEARCHING:
        source["archive"] = asked.archive
    return check_settings(
        {
            "name": "reading",
            "seed": asked.seed,
            "database": database,
            "topic": {"keywords": [asked.keyword]},
            "seeds": {"search": False, "usernames": [] if asked.read == SEARCH else list(asked.seeds)},
            "crawl": {"estimator": asked.estimator, "refresh_rate": 1},
            "budget": {"max_money": asked.budget},
            "source": source if asked.pages is None else {**source, "pages_per_user": asked.pages},
        },
        "the laboratory",
    )


def _read_found_seeds(connection: Opened, asked: ReadingCrawl, posts: Posts) -> NDArray[np.float64]:
    """Return the relevance of the seeds that searches found: float64, one for each that was read so."""
    if asked.read not in SEARCHING:
        return np.empty(0)
    accounts = build_world(posts).accounts
    wanted = {str(key) for name, key in zip(accounts.usernames, accounts.ids, strict=True) if name in {*asked.seeds}}
    values = {node: value for node, key, value in connection.exec_driver_sql(FOUND_FIRST) if key in wanted}
    return np.array(list(values.values()), np.float64)


@contextmanager
def _set_environment(wanted: dict[str, str]) -> Iterator[None]:
    """Set environment variables inside the block."""
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
