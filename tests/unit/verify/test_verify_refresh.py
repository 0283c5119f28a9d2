"""`socialcrawl verify` and refreshes of earlier versions, which drew nobody, and whose PageRanks were less exact."""

import numpy as np
import pytest
from refresh_campaigns import written
from test_platforms import OnMastodon
from test_refresh_campaign import LIMITS, bring, edges, refreshing
from verified_campaigns import changed, checks, differences
from x_crawls import crawl, posts, rows

from socialcrawl.importance.pagerank_batch import BatchPageRank
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.world import build_world
from socialcrawl.verify.replay import COARSE, IMPORTED

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
    with serve_in_thread(posts(), missing=GONE, **LIMITS) as mock:
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


@pytest.mark.parametrize("rank", ["pa", "pa+-"])
def test_scores_by_the_less_exact_ranks_of_earlier_versions_are_nearly_the_same_and_no_difference(
    rank, world, tmp_path, monkeypatch
):
    database, exact = tmp_path / "a.db", BatchPageRank.compute_ranks

    def coarse(self, zaps, *, tolerance):
        """Ranks that are the same stay so."""
        return [ranks * (1 + 1e-7 * np.sin(1e6 * ranks)) for ranks in exact(self, zaps, tolerance=tolerance)]

    settings = refreshing(world, database, refresh={"rank": rank, "z": 30, "tolerance": 1e-9})
    bring(settings, written(tmp_path / "old.csv", edges(build_world(posts(), GONE).accounts.usernames)))
    with monkeypatch.context() as earlier:
        earlier.setattr(BatchPageRank, "compute_ranks", coarse)
        crawl(settings)
    assert differences(database) == []
    assert {COARSE, IMPORTED} >= checks(database)["picks"].unproved.keys()
    assert checks(database)["scores and features"].unproved[COARSE] > 100
    ((n,),) = rows(database, "select min(n) from pick where score > 0")
    changed(database, "update pick set score = score * 1.01 where n = ?", n)
    assert {place for _, place, _ in differences(database)} == {f"pick {n}"}
    changed(database, "update pick set node = (select node from pick where act = 'probe' order by n) where n = ?", n)
    assert differences(database)[0] == ("picks", f"pick {n}", "account")
    changed(database, "update version set settings = json_set(settings, '$.refresh.tolerance', 1e-13)")
    assert len(differences(database)) > 5, "there is no such excuse for the ranks of today"
