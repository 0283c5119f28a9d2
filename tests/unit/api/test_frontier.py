"""What a campaign would read next, against what it then reads."""

import lzma
import sqlite3
import threading
from contextlib import closing
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from api_campaigns import sections_of
from kind_campaigns import make_refresh, make_sample, make_track
from x_crawls import posts

import socialcrawl as sc
from socialcrawl.api.dataset import Dataset
from socialcrawl.crawls import kept_crawls
from socialcrawl.crawls.kept_crawls import KeptCrawls
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.storage.database.connection import open_database

FROZEN = Path(__file__).parents[2] / "compatibility/frozen"
PICKED = """select coalesce(a.username, a.platform_id) from pick p join account a on a.node = p.node
where p.act in ('expand', 'match') order by p.n"""


def read_picked(database):
    with closing(sqlite3.connect(database)) as plain:
        return [name for (name,) in plain.execute(PICKED)]


def go_on(url, database, steps, crawl):
    sections = sections_of(url, database, crawl={**crawl, "steps": steps})
    sc.Campaign(name="next", **sections).run()


def check_next(database, url, crawl, *, rate, stages):
    """Check that the first `rate` accounts of the frontier are those that the campaign then reads, at each stage."""
    go_on(url, database, stages[0], crawl)
    crawls = KeptCrawls(least=0.0)
    for step in stages[1:]:
        done = read_picked(database)
        with sc.open(database) as data:
            frontier = data.frontier(top=8)
            rows = [*frontier.accounts]
        with Dataset(database, crawls) as data:  # a crawl that is kept takes in what is new
            assert [*data.frontier(top=8).accounts] == rows
        assert frontier.step == len(done)
        assert frontier.left >= len(rows)
        assert f"limit of {len(done)} steps" in frontier.why
        assert not any(row["open"] for row in rows)
        go_on(url, database, step, crawl)
        assert [row["account"] for row in rows[:rate]] == read_picked(database)[len(done) :][:rate]


def test_the_first_account_is_the_one_that_the_campaign_then_reads(tmp_path):
    with serve_in_thread(posts(), limit=100_000) as mock:
        check_next(tmp_path / "a.db", mock.url, {"estimator": "adaptive", "control": 0.3}, rate=1, stages=(6, 7))


@pytest.mark.parametrize(
    "crawl",
    [
        {"estimator": "adaptive", "control": 0.3},
        {"estimator": "bfs"},
        {"estimator": "hybrid-sum", "switch_after": 10},
        {"estimator": "nh-ne-sum", "strategy": "proportional", "shadows": ["bfs"]},
        {"estimator": "nh-ne-sum", "strategy": "altered-greedy", "control": 0.5},
    ],
    ids=["adaptive", "bfs", "hybrid-sum", "proportional", "altered-greedy"],
)
def test_whatever_chooses_the_first_accounts_are_those_that_are_read_then(tmp_path, crawl):
    with serve_in_thread(posts(), limit=100_000) as mock:
        check_next(tmp_path / "a.db", mock.url, {"refresh_rate": 3, **crawl}, rate=3, stages=(6, 9, 12, 15, 18))


def test_steps_that_are_drawn_say_so_and_others_have_the_rank_of_their_score(tmp_path):
    with serve_in_thread(posts(), limit=100_000) as mock:
        go_on(mock.url, tmp_path / "a.db", 20, {"estimator": "nh-ne-sum", "control": 0.5})
    with sc.open(tmp_path / "a.db") as data:
        rows = [*data.frontier(top=12).accounts]
        told = {row["account"]: data.explain(row["account"]).to_dict() for row in rows}
    drawn = [row for row in rows if row["drawn"]]
    assert 0 < len(drawn) < len(rows)
    assert all(row["why"].startswith("Drawn at random from ") for row in drawn)
    for row in rows:
        assert row["score"] == told[row["account"]]["decision"]["score"]
        assert row["why"].endswith(told[row["account"]]["summary"])
    ranks = [told[row["account"]]["decision"]["rank"] for row in rows if not row["drawn"]]
    assert ranks == sorted(ranks)


def test_a_crawl_that_is_kept_is_of_the_history_that_the_database_has_now(tmp_path):
    crawls = KeptCrawls(least=0.0)
    with serve_in_thread(posts(), limit=100_000) as mock:
        go_on(mock.url, tmp_path / "a.db", 12, {"estimator": "nh-ne-sum"})
    for n in (14, 9):  # the second time, a part of the history has gone
        with closing(sqlite3.connect(tmp_path / "a.db")) as plain, plain:
            for statement in CUT:
                plain.execute(statement, {"n": n})
        with sc.open(tmp_path / "a.db") as data, Dataset(tmp_path / "a.db", crawls) as kept:
            assert [*kept.frontier(top=9).accounts] == [*data.frontier(top=9).accounts]


def test_a_dataset_that_no_project_opened_keeps_no_crawl_however_long_it_took(tmp_path, monkeypatch):
    readings = count(0.0, 100.0)
    monkeypatch.setattr(kept_crawls, "SteadyClock", lambda: SimpleNamespace(now=lambda: next(readings)))
    with serve_in_thread(posts(), limit=100_000) as mock:
        go_on(mock.url, tmp_path / "a.db", 3, {"estimator": "nh-ne-sum"})
    before = {*threading.enumerate()}
    with sc.open(tmp_path / "a.db") as data:
        data.frontier()
    assert next(readings) > 0, "the clock was asked how long it took"
    assert {*threading.enumerate()} <= before, "nothing waits to forget it"


def test_a_campaign_with_several_tokens_says_what_is_next(tmp_path, monkeypatch):
    with serve_in_thread(posts(), limit=100_000) as mock:
        sections = sections_of(mock.url, tmp_path / "a.db", crawl={"steps": 3})
        name = sections["source"].pop("token_env")
        monkeypatch.setenv("OTHER_TOKEN", "b")
        sections["source"]["tokens"] = [{"env": name}, {"env": "OTHER_TOKEN"}]
        sc.Campaign(name="next", **sections).run()
    with sc.open(tmp_path / "a.db") as data:
        assert data.frontier().step == 3


CUT = (
    "delete from link where n >= :n",
    "delete from shadow where n >= :n",
    "delete from request where n >= :n",
    "delete from outcome where n >= :n",
    "delete from pick where n >= :n",
)


@pytest.mark.parametrize("make", [make_track, make_sample, make_refresh], ids=["track", "sample", "refresh"])
def test_campaigns_of_other_kinds_would_choose_again_what_they_chose_last(tmp_path, make):
    database = tmp_path / "a.db"
    make(database)
    chosen = """select p.n, coalesce(a.username, a.platform_id), p.act from pick p join account a on a.node = p.node
    where p.batch = (select max(batch) from pick where act <> 'import') order by p.n"""
    with closing(sqlite3.connect(database)) as plain, plain:
        last = plain.execute(chosen).fetchall()
        for statement in CUT:
            plain.execute(statement, {"n": last[0][0]})
    with sc.open(database) as data:
        rows = [*data.frontier(top=len(last)).accounts]
    assert [(row["account"], row["act"]) for row in rows] == [pick[1:] for pick in last]


@pytest.mark.parametrize("name", ["bluesky-track", "mastodon-refresh", "web-sample"])
def test_what_was_chosen_and_not_answered_comes_first_in_campaigns_of_each_kind(tmp_path, name):
    (found,) = FROZEN.rglob(f"{name}.db.xz")
    (tmp_path / "a.db").write_bytes(lzma.decompress(found.read_bytes()))
    with open_database(tmp_path / "a.db", create=False):
        pass
    with closing(sqlite3.connect(tmp_path / "a.db")) as plain:
        waiting = plain.execute(
            "select p.node, p.act from pick p where p.n > (select coalesce(max(n), -1) from outcome) order by n"
        ).fetchall()
    with sc.open(tmp_path / "a.db") as data:
        rows = [*data.frontier().accounts]
    begun = [row for row in rows if row["open"]]
    assert [row["act"] for row in begun] == [act for _, act in waiting]
    assert rows[: len(begun)] == begun
    assert all(row["why"] for row in rows)
