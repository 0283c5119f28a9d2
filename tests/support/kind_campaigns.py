"""Campaigns of the kinds that no demo has, on the mock X API or from files: each has something to show."""

import io
from random import Random

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
from audit_worlds import sample_of
from refresh_campaigns import brought, judged, revived, written
from rich.console import Console
from stores import opened
from x_crawls import campaign_of, crawl, posts_file

from socialcrawl.cli.commands.run import run_campaign
from socialcrawl.crawls.refresh.report import plan_probes
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.storage.queries.traces import CampaignTraces

LIMIT = 1_000_000
SIZE = 400  # accounts of the old dataset
TRACK = {"window": "all", "rest": "1ms", "target": "indegree", "expansion": "ai", "recrawl": "yru", "p": 0.8}


def make_track(path):
    """A campaign that tracks: some accounts are mentioned more often by and by."""
    table = pq.read_table(posts_file())
    cut = np.quantile(table["created_at"].to_numpy(), 0.4)
    early = path.with_suffix(".parquet")
    pq.write_table(table.filter(pc.less_equal(table["created_at"], cut)), early)
    for posts, steps in ((early, 120), (posts_file(), 700)):
        with serve_in_thread(posts, limit=LIMIT) as mock:
            whole = campaign_of(mock.url, path, name="track", source={"reuse_hours": 24})
            given = whole.model_dump(mode="python", by_alias=True, exclude_unset=True)
            given |= {"kind": "track", "track": TRACK, "crawl": {"steps": steps}}
            run_campaign(type(whole).model_validate(given), Console(file=io.StringIO()), quiet=True, change=True)
    early.unlink()


def make_sample(path, steps=180):
    """A campaign that samples: with 180 steps it has enough data."""
    with serve_in_thread(posts_file(), limit=LIMIT) as mock:
        crawl(sample_of(mock.url, path, crawl={"steps": steps}))


def make_refresh(path):
    """A campaign that refreshes an old dataset: 130 of 400 accounts were tested."""
    chance = Random(1)
    ring = [(1000 + i, 1000 + (i + 1) % SIZE) for i in range(SIZE)]
    more = [(1000 + chance.randrange(SIZE), 1000 + chance.randrange(SIZE)) for _ in range(4 * SIZE)]
    settings = revived(refresh={"rank": "pagerank", "training": "random", "z": 60})
    with opened(path) as connection:
        links = written(path.with_suffix(".csv"), "".join(f"{a},{b}\n" for a, b in [*ring, *more]))
        brought(connection, links, settings=settings)
        for most in (60, 70):
            keys = [who.id for who in plan_probes(CampaignTraces(connection), settings, 1, most).whos]
            rows = "".join(f"{key},{int(chance.random() < 0.4)}\n" for key in keys)
            judged(connection, written(path.with_suffix(f".{most}.csv"), f"id,active\n{rows}"), settings=settings)
    for left in path.parent.glob(f"{path.stem}*.csv"):
        left.unlink()
