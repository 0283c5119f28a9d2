"""The code tour, walked by hand: one batch through the nine stages, looking into the database after each."""

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from socialcrawl.campaign.policies import load_policy
from socialcrawl.campaign.settings import check_settings
from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import make_estimator
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.model import Answer, Credential, Grant, Node, Page, Pick
from socialcrawl.graph.relevance import Topic, compute_worth
from socialcrawl.lab.post_table import Posts
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.platforms.x.source import XSource
from socialcrawl.platforms.x.vocabulary import TWEET
from socialcrawl.platforms.x.wire import XWire, make_client
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.database.connection import connect
from socialcrawl.storage.sql_store import SqlStore

# ada mentions bob (twice on the topic) and eve (never on it); the crawl begins at ada.
SAID = [
    ("ada", "@bob the telescope is here, a telescope!", ["bob"]),
    ("ada", "@eve good morning", ["eve"]),
    ("ada", "nothing to see", []),
    ("bob", "@ada my telescope is bigger", ["ada"]),
    ("eve", "good night", []),
]


def posts():
    mentions = [names for _, _, names in SAID]
    return Posts(
        authors=[author for author, _, _ in SAID],
        created_at=np.arange(len(SAID), dtype=np.int64) + 1_700_000_000,
        texts=[text for _, text, _ in SAID],
        mentioned=[name for names in mentions for name in names],
        mention_offsets=np.cumsum([0, *map(len, mentions)]),
    )


@pytest.fixture
def world(tmp_path):
    with serve_in_thread(posts(), window=60.0, limit=10) as mock:
        yield mock.url, tmp_path / "walk.db"


def look(path: Path, sql: str):
    """What anybody who opens the file sees: committed rows only."""
    reader = sqlite3.connect(path)
    try:
        return reader.execute(sql).fetchall()
    finally:
        reader.close()


def test_one_batch_through_the_nine_stages(world):
    url, path = world
    settings = check_settings({"name": "walk", "topic": {"keywords": ["telescope"]}}, "walk")
    connection = connect(path)
    number = ensure_campaign(connection, settings.model_dump(mode="json"), settings.identity([]), 0.0)
    store = SqlStore(connection, number, "x")
    rules, topic = load_policy("x").override_limits(10, 60.0), Topic(["telescope"])
    source = XSource(rules, TWEET, [])
    planner = WindowPlanner(rules, [Credential("main")], Caps())
    wire = XWire({"main": make_client("token", url)}, TWEET, rules, topic.hits, lambda: 1000.0)
    (ada,) = store.enlist(["Ada"], 0.0)
    crawl = Collect(Seeds(names=[ada]), make_estimator("nh-ne-sum", seed=1), steps=1, width=source.width)

    def walk(now):
        batch = crawl.choose(1, now)  # 1 decide
        assert crawl.choose(1, now) == batch  # nothing has changed by deciding
        store.open(batch)  # 2 remember
        assert look(path, "select count(*) from pick")[0][0] == batch[-1].n + 1
        assert store.unfinished() == batch
        (talk,) = source.start_conversations(batch, store.accounts([pick.node for pick in batch]))  # 3 talk
        request, outcomes = next(talk), None
        while outcomes is None:
            grant = planner.take(request, now)  # 4 may we?
            assert isinstance(grant, Grant)
            store.reserve(grant)  # 5 remember: the slot is spent before anything is sent
            assert look(path, "select kind from request order by id desc limit 1") == [(None,)]
            reply = wire.send(grant)  # 6 send
            assert reply.kind == "ok"
            assert isinstance(reply.rows, Page)
            assert planner.settle(grant, reply, now) is None
            reply = store.save(grant, reply)  # 7 remember: rows, cursor and cost
            assert isinstance(reply.rows, Answer)
            assert look(path, "select kind from request order by id desc limit 1") == [("ok",)]
            try:
                request = talk.send(reply)
            except StopIteration as end:
                outcomes = [end.value[pick.n] for pick in batch]
        store.finish(batch, outcomes)  # 8 remember: the batch is closed
        assert store.unfinished() == ()
        crawl.absorb(batch, outcomes)  # 9 learn
        return batch, outcomes

    (resolved,), _ = walk(1.0)
    assert (resolved.act, resolved.node) == ("resolve", ada)

    (seed,), (found,) = walk(2.0)
    assert (seed.act, seed.node) == ("seed", ada)
    assert found.value == compute_worth(2)
    bob, eve = (Node(int(node)) for node in found.targets[::-1])  # the newest post comes first: eve, then bob
    assert found.alpha.tolist() == [0.0, compute_worth(2)]
    assert look(path, "select count(*) from post")[0][0] == 3
    assert look(path, "select username from account join mention using (node) order by post") == [("bob",), ("eve",)]
    assert look(path, "select occurrences from hit") == [(2,)]

    (expanded,), (outcome,) = walk(3.0)
    assert (expanded.act, expanded.node) == ("expand", bob)  # not eve, although she was discovered first
    assert expanded.score == compute_worth(2) * compute_worth(2)
    assert outcome.value == crawl.relevance == compute_worth(1)
    assert crawl.graph.frontier().tolist() == [crawl.graph.row(eve)]
    assert crawl.choose(1, 4.0).kind == "done"

    again = Collect(Seeds(names=[ada]), make_estimator("nh-ne-sum", seed=1), steps=2, width=source.width)
    again.fold(store.history())  # a restart: the same state from the stored history
    assert again.choose(1, 5.0) == (Pick(3, eve, "expand", 0.0, crawl.graph.features(crawl.graph.row(eve))),)
    connection.close()
    connection.engine.dispose()
