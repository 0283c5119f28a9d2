"""`socialcrawl verify` and refreshes of earlier versions, which drew no accounts and stopped at their estimate."""

import pytest
from crawling import crawl, posts
from reviving import written
from test_platforms import OnMastodon
from test_refresh_campaign import LIMITS, bring, edges, refreshing
from verifying import changed, checks, differences

from socialcrawl.mock.server import running
from socialcrawl.mock.world import build_world
from socialcrawl.verify.replay import IMPORTED

GONE, BEFORE = 0.6, 250  # the share of accounts that are gone, and how many the earlier version tested
RULE = {"rank": "pa", "z": 30, "check": 20}
WANTED = {**RULE, "fraction": 0.8}


def made_earlier(database):
    """Write the settings of a campaign as versions without `stop` did, which wanted the fraction all the time."""
    wanted = f"json_set({{}}, '$.refresh.fraction', {WANTED['fraction']})"
    changed(database, f"update version set settings = json_remove({wanted.format('settings')}, '$.refresh.stop')")
    changed(database, f"update campaign set settings = json_remove({wanted.format('settings')}, '$.refresh.stop')")
    changed(database, f"update campaign set identity = {wanted.format('identity')}")


@pytest.fixture
def world():
    with running(posts(), missing=GONE, **LIMITS) as mock:
        yield mock.url


def test_a_refresh_that_an_earlier_version_began_is_proved_and_goes_on_by_the_rule_of_today(world, tmp_path):
    on, database = OnMastodon(), tmp_path / "a.db"

    def settings(rule, **more):
        return refreshing(world, database, on.source, refresh=rule, crawl={"refresh_rate": 1}, **more)

    names = [on.called(name) for name in build_world(posts(), GONE).accounts.keys]
    bring(settings(RULE), written(tmp_path / "old.csv", edges(names)))
    crawl(settings(RULE, budget={"max_nodes": BEFORE}))
    made_earlier(database)
    assert differences(database) == [], "whom today's rule would have drawn is nobody's lie"
    crawl(settings(WANTED))
    assert differences(database) == []
    picks = checks(database)["picks"]
    assert BEFORE < picks.proved < len(names)
    assert picks.unproved == {IMPORTED: len(names)}
    for n in (len(names) + picks.proved - 1, len(names) + BEFORE - 1):
        changed(database, "update pick set node = (select min(node) from pick where act = 'probe') where n = ?", n)
        assert differences(database)[0] == ("picks", f"pick {n}", "account")
