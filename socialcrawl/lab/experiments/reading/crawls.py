"""One campaign on a mock server of X, from given seeds, on a clock that passes only where the campaign waits."""

import os
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from socialcrawl.campaign.build import ProcessContext, build
from socialcrawl.campaign.settings import check_settings
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import MILLS_PER_DOLLAR, Stop, StopKind, parse_time
from socialcrawl.errors import SocialcrawlError
from socialcrawl.lab.instant import VirtualClock, VirtualExecutor
from socialcrawl.lab.result_tables import Table, make_table
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.render.live_screen import CampaignView
from socialcrawl.storage.database.health import open_readable
from socialcrawl.storage.queries.summary import summarize_campaign

BEGIN = 1_800_000_000.0  # of the virtual clock, Unix seconds
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
    """

    posts: Path
    keyword: str
    seeds: Sequence[str]
    read: str
    pages: int | None
    estimator: str
    seed: int
    budget: float


def crawl_posts(asked: ReadingCrawl) -> Table:
    """Return what a campaign finds, as one row.

    Columns: relevance (of accounts read after the seeds), accounts, requests, dollars (by the ledger), hours (of its
    virtual clock) and bill (dollars by the mock's own count). The mock has X's limits and prices, and its search finds
    no reposts, as X's does not.

    Raises:
        SocialcrawlError: the campaign failed.
    """
    clock = VirtualClock(BEGIN)
    with (
        tempfile.TemporaryDirectory() as folder,
        _set_environment({TOKEN: secrets.token_urlsafe(24), "XDG_STATE_HOME": folder}),
        serve_in_thread(asked.posts, time=clock.now, platforms=("x",)) as mock,
    ):
        database = Path(folder) / "reading.db"
        settings = check_settings(
            {
                "name": "reading",
                "seed": asked.seed,
                "database": database,
                "topic": {"keywords": [asked.keyword]},
                "seeds": {"search": False, "usernames": list(asked.seeds)},
                "crawl": {"estimator": asked.estimator, "refresh_rate": 1},
                "budget": {"max_money": asked.budget},
                "source": {"token_env": TOKEN, "base_url": mock.url, "read": asked.read, "reuse_hours": 0}
                | ({} if asked.pages is None else {"pages_per_user": asked.pages}),
            },
            "the laboratory",
        )
        view = CampaignView()
        campaign = build(settings, view, ProcessContext(clock, pool=lambda _: VirtualExecutor(clock, LATENCY)))
        with closing(campaign):
            view.begin(campaign)
            reason = run(campaign.parts, size=campaign.together)
        if isinstance(reason, Stop) and reason.kind == StopKind.FAILED:
            raise SocialcrawlError(f"A campaign with read = {asked.read!r} failed on {asked.keyword!r}: {reason.why}")
        bill = float(mock.report()["totals"]["dollars"])
        with open_readable(database) as connection:
            found = summarize_campaign(connection)
    row = {
        "relevance": found.relevance,
        "accounts": len(found.steps),
        "requests": found.sent,
        "dollars": found.cost / MILLS_PER_DOLLAR,
        "hours": (parse_time(found.ended) - BEGIN) / 3600.0 if found.ended else 0.0,
        "bill": bill,
    }
    return make_table([row])


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
