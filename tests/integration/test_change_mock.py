"""A campaign against the mock takes up other keywords: then it is the campaign that had them from the start."""

import pytest
from x_crawls import TOPIC, CampaignView, campaign_of, crawl, posts, rows
from x_crawls import build as built

from socialcrawl.errors import SettingsError
from socialcrawl.lab.generators.generate import choose_topics
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.world import build_world

OTHER = list(choose_topics().values())[1]
WORLD = build_world(posts())
ACTIVE = [name for name, row in sorted(WORLD.accounts.by_username.items()) if len(WORLD.timelines.of(row)) > 5][:4]


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), limit=100_000) as found:
        yield found


def settings(mock, database, word, **crawl_):
    given = {"estimator": "bfs", "steps": 30, **crawl_}
    named = {"search": False, "usernames": ACTIVE}
    return campaign_of(mock.url, database, topic={"keywords": [word]}, seeds=named, crawl=given)


def found(database):
    who = "lower(a.username)"
    return {
        "hit": rows(database, "select post, occurrences from hit order by post"),
        "outcome": rows(
            database,
            f"select n, {who}, value, occurrences, o.posts, missing from outcome o join account a using (node) "
            "order by n",
        ),
        "link": rows(
            database,
            f"select n, position, coalesce(a.platform_id, {who}), alpha from link join account a using (node) "
            "order by n, position",
        ),
    }


def test_it_is_the_campaign_that_had_the_keywords_from_the_start(mock, tmp_path):
    mine, oracle = tmp_path / "mine.db", tmp_path / "oracle.db"
    crawl(settings(mock, mine, TOPIC))
    crawl(settings(mock, oracle, OTHER))
    before = found(mine)
    with pytest.raises(SettingsError, match="--change"):
        built(settings(mock, mine, OTHER), CampaignView())
    assert found(mine) == before
    built(settings(mock, mine, OTHER), CampaignView(), change=True).close()
    assert found(mine) == found(oracle) != before
    assert sum(value for _, _, value, *_ in found(oracle)["outcome"]) > 0
    for database in (mine, oracle):
        reason, _ = crawl(settings(mock, database, OTHER, steps=40))
        assert reason.why == "the limit of 40 steps is reached"
    assert found(mine) == found(oracle)
