"""Campaigns on a known graph whose links tell who is relevant: one estimator sees it, the others do not."""

from pathlib import Path

import numpy as np

from socialcrawl.campaign.settings import Settings, check_settings
from socialcrawl.crawls.collect.following import ShadowFollower
from socialcrawl.crawls.collect.make import make_collect
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Node
from socialcrawl.graph.known_graph import KnownGraph, KnownGraphSource
from socialcrawl.lab.instant import make_parts
from socialcrawl.storage.campaigns import TopicChange, ensure_campaign
from socialcrawl.storage.database.connection import connect
from socialcrawl.storage.sql_store import SqlStore
from socialcrawl.storage.versions import read_latest_settings

NOW = 1_700_000_000.0


def star(seed: int = 1, *, tie: float = 10.0, width: int = 300) -> KnownGraph:
    """A seed that links to `width` accounts, half of them relevant, whose links weigh more by `tie`."""
    draw = np.random.default_rng(seed)
    relevant = draw.random(1 + width) < 1 / 2
    alpha = 1.0 + draw.random(1 + width) + tie * relevant
    indptr = np.concatenate([[0], np.full(1 + width, width)])
    return KnownGraph(indptr, np.arange(1, 1 + width), alpha[1:], relevant.astype(float))


def following(database: Path, **crawl: object) -> Settings:
    """The settings of a campaign that follows the best shadow."""
    given = {"estimator": "bfs", "shadows": ["random", "nh-e-sum"], "control": 0.5, "steps": 220, "follow": True}
    values = {"name": "a", "database": database, "topic": {"keywords": ["b"]}, "crawl": given | crawl}
    return check_settings(values, "test")


def go_on(settings: Settings, graph: KnownGraph, *, change: bool = False, size: int = 1, seeds=(0,)) -> list[str]:
    """Run a campaign in one process, from what is stored; return what was told."""
    connection, told = connect(settings.database), []
    allowed = TopicChange(lambda text, lang, at: 0) if change else None
    try:
        number = ensure_campaign(
            connection, settings.model_dump(mode="json"), settings.identity([]), NOW, change=allowed, queries=[]
        )
        stored = read_latest_settings(connection, settings.name)["crawl"]
        chosen = {key: stored[key] for key in ("estimator", "shadows")}
        now = settings.model_copy(update={"crawl": settings.crawl.model_copy(update=chosen)})
        line = Seeds()
        line.ready = [Node(seed) for seed in seeds]
        crawl = make_collect(now, line)
        driven = crawl
        if settings.crawl.follow:
            driven = ShadowFollower(crawl, crawl, connection, number, now=lambda: NOW, tell=told.append)
        run(make_parts(driven, KnownGraphSource(graph), SqlStore(connection, number, "x")), size=size)
    finally:
        connection.close()
        connection.engine.dispose()
    return told
