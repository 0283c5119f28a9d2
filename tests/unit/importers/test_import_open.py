"""Imports into campaigns whose processes ended while they fetched accounts, which `verify` replays afterwards."""

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from refresh_campaigns import judged, written
from test_refresh_campaign import SHARE, bring, edges, refreshing
from verified_campaigns import LIMIT, checks, collecting, died, differences, lived
from x_crawls import posts, posts_file, rows

from socialcrawl.importers.import_posts import PostFiles, import_history
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.mock.world import build_world
from socialcrawl.storage.database.connection import open_database
from socialcrawl.verify.replay import BROUGHT, IMPORTED

NOW = 1_800_000_000.0
OPEN = "select p.node from pick p left join outcome o using (campaign, n) where o.n is null order by p.n"


def some_posts(path, authors):
    """A file of the posts of a few authors."""
    table = pq.read_table(posts_file())
    pq.write_table(table.filter(pc.is_in(table["author"], pc.unique(table["author"])[:authors])), path)
    return path


@pytest.mark.parametrize("request_number", [7, 12])
def test_a_history_that_is_imported_while_a_batch_is_open_is_learned_after_it(request_number, tmp_path):
    database = tmp_path / "a.db"
    with serve_in_thread(posts(), missing=SHARE, limit=LIMIT) as mock:
        settings = collecting(mock.url, database)
        died(settings, request_number)
        left = rows(database, OPEN)
        assert left
        with open_database(database) as connection:
            assert (
                import_history(PostFiles([some_posts(tmp_path / "a.parquet", 30)]), connection, settings, NOW).authors
                > 5
            )
        assert rows(database, OPEN) == left
        assert differences(database) == [], "the open batch is proved, and what was imported is left out"
        lived(settings)
    assert rows(database, OPEN) == []
    assert differences(database) == []
    found = checks(database)["picks"]
    assert set(found.unproved) == {IMPORTED}
    assert found.proved + found.unproved.total() == rows(database, "select count(*) from pick")[0][0]
    assert rows(database, "select count(*) from pick where act = 'expand'") == [(36,)]


def test_a_dataset_and_tests_that_are_imported_while_a_batch_is_open_are_learned_after_it(tmp_path):
    database = tmp_path / "a.db"
    names = build_world(posts(), SHARE).accounts.usernames[:220]
    with serve_in_thread(posts(), missing=SHARE, limit=LIMIT) as mock:
        settings = refreshing(mock.url, database, refresh={"rank": "pa+-", "z": 30}, crawl={"refresh_rate": 1})
        settings = settings.model_copy(update={"source": settings.source.model_copy(update={"reuse_hours": 0.0})})
        bring(settings, written(tmp_path / "early.csv", edges(names[:120])))
        died(settings, 1)
        left = [node for (node,) in rows(database, OPEN)]
        assert len(left) == 30
        bring(settings, written(tmp_path / "late.csv", edges(names)))
        tested = names[100:140]
        results = "username,active\n" + "".join(f"{name},{place % 2}\n" for place, name in enumerate(tested))
        with open_database(database) as connection:
            learned, _ = judged(connection, written(tmp_path / "r.csv", results), settings=settings)
        begun = {name.lower() for (name,) in rows(database, f"select handle from account where node in ({OPEN})")}
        assert learned.new == len([name for name in tested if name.lower() not in begun])
        assert learned.new + learned.known == len(tested), "who is being tested is not tested twice"
        assert [node for (node,) in rows(database, OPEN)] == left
        lived(settings)
    assert rows(database, OPEN) == []
    assert differences(database) == []
    assert set(checks(database)["picks"].unproved) == {IMPORTED, BROUGHT}
    twice = "select node from pick where act = 'probe' group by node having count(*) > 1"
    missing = "select node from outcome where missing = 'temporary'"
    assert rows(database, f"{twice} except {missing}") == []
