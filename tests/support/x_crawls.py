"""What the tests of the X source and of whole campaigns share: posts, settings, a run, and what it left behind."""

import atexit
import os
import shutil
import sqlite3
import tempfile
from functools import lru_cache
from pathlib import Path

from socialcrawl.campaign.build import ProcessContext, build
from socialcrawl.campaign.settings import Settings, check_settings
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Stop
from socialcrawl.lab.generators.generate import choose_topics, generate, write
from socialcrawl.lab.post_table import Posts, read_posts
from socialcrawl.render.live_screen import CampaignView

TOKEN_ENV, TOKEN = "SOCIALCRAWL_TEST_TOKEN", "AAAA-the-token-that-nobody-may-see"
os.environ[TOKEN_ENV] = TOKEN
TOPIC = next(iter(choose_topics().values()))


def scratch() -> Path:
    """A folder that goes away with this process."""
    folder = Path(tempfile.mkdtemp(prefix="socialcrawl-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@lru_cache
def posts_file(users: int = 300, seed: int = 1, posts_per_user: float = 12.0) -> Path:
    path = scratch() / "posts.parquet"
    write(path, generate(users, seed, posts_per_user=posts_per_user, weeks=2, only=list(choose_topics())[:2]))
    return path


@lru_cache
def posts(users: int = 300, seed: int = 1, posts_per_user: float = 12.0) -> Posts:
    return read_posts(posts_file(users, seed, posts_per_user))


def campaign_of(url: str | None, database: Path, **sections) -> Settings:
    """Settings against the mock at `url`; sections are merged into the defaults of these tests."""
    given = {
        "name": "campaign",
        "database": database,
        "topic": {"keywords": [TOPIC]},
        "seeds": {"most": 10},
        "crawl": {"estimator": "nh-ne-sum", "steps": 40},
        "source": {"token_env": TOKEN_ENV, "base_url": url, "pages_per_user": 32, "timeout": 10.0},
        "limits": {"k": 100_000, "d": 60.0, "pause": 0.01, "longest_pause": 0.04, "give_up": 0.5},
    }
    for name, values in sections.items():
        given[name] = {**given.get(name, {}), **values} if isinstance(values, dict) else values
    if given["source"].get("tokens"):
        del given["source"]["token_env"]
    return check_settings(given, "test")


def crawl(
    settings: Settings,
    view: CampaignView | None = None,
    process: ProcessContext | None = None,
    *,
    change: bool = False,
):
    """The reason why a campaign ended, and its planner."""
    campaign = build(settings, view or CampaignView(), process, change=change)
    try:
        reason = run(campaign.parts, size=campaign.together)
        campaign.parts.pool.shutdown()
    finally:
        campaign.close()
    assert isinstance(reason, Stop)
    return reason, campaign.planner


def rows(database: Path, query: str, *parameters):
    connection = sqlite3.connect(database)
    try:
        return connection.execute(query, parameters).fetchall()
    finally:
        connection.close()


def sequence(database: Path):
    """The picks of a campaign as anybody would name them: act and username (or the query's number), in order."""
    return rows(
        database,
        "select p.act, coalesce(lower(a.username), p.node), p.score from pick p left join account a using (node) "
        "order by p.n",
    )
