"""Tests of life that were made elsewhere, and earlier campaigns, into a campaign that refreshes a dataset."""

import numpy as np
import pytest
import typer
from import_files import NOW, table
from refresh_campaigns import brought, found_of, graph_of, judged, revived, written
from stores import a_database, failing, opened
from typer.testing import CliRunner

from socialcrawl.campaign.settings import check_settings
from socialcrawl.cli.definitions.datasets import import_
from socialcrawl.engine.model import Node, Outcome, Pick, SameAs, format_time
from socialcrawl.errors import PostsFileError, SettingsError, StoreError
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.sql_store import SqlStore

BOTH = pytest.mark.parametrize("kind", ["sqlite", "postgres"])
DAY = 86_400.0
EDGES = "ann,bob\nbob,cyd\ncyd,12\n12,ann\n"
app = typer.Typer()
app.command("import")(import_)


@BOTH
def test_results_become_tests_with_what_they_found(kind, tmp_path):
    text = (
        "id,username,active,last_active_at,status,checked_at\n"
        ",Ann,1,2023-11-01T00:00:00Z,,2023-11-10T00:00:00Z\n"
        ",bob,0,,suspended,\n"
        "12,,no,,ok,1600000000\n"
    )
    with a_database(kind) as connection:
        brought(connection, written(tmp_path / "a", EDGES))
        learned, trouble = judged(connection, written(tmp_path / "r", text))
        assert (learned.new, learned.known, learned.strange, trouble.count) == (3, 0, 0, 0)
        at = "2023-11-10T00:00:00.000000Z"
        assert found_of(connection) == {
            "ann": (1.0, None, "2023-11-01T00:00:00.000000Z", at),
            "bob": (0.0, "suspended", None, format_time(NOW)),
            "12": (0.0, None, None, format_time(1_600_000_000.0)),
        }
        assert table(connection, "select n, batch from pick where act = 'probe' order by n") == [(4, 4), (5, 4), (6, 4)]


@BOTH
def test_each_account_is_tested_once_but_after_a_test_that_failed(kind, tmp_path):
    first = "username,active,status\nann,1,\nbob,,temporary\nstranger,1,\nann,0,\n"
    with a_database(kind) as connection:
        brought(connection, written(tmp_path / "a", EDGES))
        learned, _ = judged(connection, written(tmp_path / "r", first))
        assert (learned.new, learned.known, learned.strange) == (2, 1, 1)
        accounts = table(connection, "select count(*) from account")
        learned, _ = judged(connection, written(tmp_path / "s", "username,active\nann,0\nbob,1\ncyd,0\n"))
        assert (learned.new, learned.known, learned.strange) == (2, 1, 0)
        assert {who: row[0] for who, row in found_of(connection).items()} == {"ann": 1.0, "bob": 1.0, "cyd": 0.0}
        assert table(connection, "select count(*) from account") == accounts


@pytest.mark.parametrize(
    ("cells", "value", "missing"),
    [
        (f",{format_time(NOW - 10 * DAY)},", 1.0, None),
        (f",{format_time(NOW - 300 * DAY)},", 0.0, None),
        (f",{NOW - 10 * DAY},ok", 1.0, None),
        (",,deleted", 0.0, "deleted"),
        (",,protected", 0.0, "protected"),
        ("1,,", 1.0, None),
        ("0,2023-11-01,silent", 0.0, None),
    ],
)
def test_the_rule_of_the_campaign_decides_where_the_file_does_not(tmp_path, cells, value, missing):
    with a_database("sqlite") as connection:
        brought(connection, written(tmp_path / "a", EDGES))
        judged(connection, written(tmp_path / "r", f"username,active,last_active_at,status\nann,{cells}\n"))
        assert found_of(connection)["ann"][:2] == (value, missing)


def test_a_row_that_nobody_filled_in_says_nothing_whatever_the_rule(tmp_path):
    for active in ("180d", "exists"):
        settings = revived(refresh={"active": active})
        with a_database("sqlite") as connection:
            brought(connection, written(tmp_path / "a", EDGES), settings=settings)
            results = written(tmp_path / "r", "username,active,last_active_at,status\nann,,,\nbob,1,,\n")
            learned, trouble = judged(connection, results, settings=settings, skip_bad=True)
            assert (learned.new, trouble.count) == (1, 1)
            assert list(found_of(connection)) == ["bob"]


def test_protected_accounts_count_as_alive_where_the_campaign_says_so(tmp_path):
    settings = revived(refresh={"protected": True, "active": "exists"})
    with a_database("sqlite") as connection:
        brought(connection, written(tmp_path / "a", EDGES), settings=settings)
        judged(connection, written(tmp_path / "r", "username,status\nann,protected\nbob,ok\n"), settings=settings)
        assert {who: row[:2] for who, row in found_of(connection).items()} == {"ann": (1.0, None), "bob": (1.0, None)}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("username\nann\n", "lacks a column: results need id or username, and one of active"),
        ("active,status\n1,\n", "lacks a column"),
        ("username,active\nann,perhaps\n", "line 2: active is 'perhaps': write 1 or 0"),
        ("username,status\nann,gone\n", "line 2: status is 'gone': write nothing, ok, or one of suspended"),
        ("username,active,status\nann,1,deleted\n", "it is active, and deleted too"),
        ("username,active\nann,\n", "it says neither active, nor when it last acted"),
        ("username,last_active_at\nann,yesterday\n", "last_active_at is 'yesterday': give ISO 8601"),
        ("id,active\nann,1\n", "'ann' is not an id of X"),
    ],
)
def test_results_that_tell_nothing_are_refused(tmp_path, text, says):
    with a_database("sqlite") as connection:
        brought(connection, written(tmp_path / "a", EDGES))
        with pytest.raises(PostsFileError, match=says):
            judged(connection, written(tmp_path / "r", text))
        assert found_of(connection) == {}


@BOTH
def test_results_are_stored_together_or_not_at_all(kind, tmp_path):
    with a_database(kind) as connection:
        brought(connection, written(tmp_path / "a", EDGES))
        with failing(connection, "outcome"), pytest.raises(StoreError):
            judged(connection, written(tmp_path / "r", "username,active\nann,1\n"))
        assert table(connection, "select count(*) from pick where act = 'probe'") == [(0,)]


def test_those_only_linked_to_are_tested_where_they_belong_to_the_dataset(tmp_path):
    posts = '{"author": "ann", "created_at": 1, "text": "@bob hello"}\n'
    for linked, strange in ((False, 1), (True, 0)):
        settings = revived(refresh={"linked": linked})
        with a_database("sqlite") as connection:
            brought(connection, written(tmp_path / "a", posts), settings=settings)
            assert graph_of(connection) == {"ann": {"bob": 1.0}}
            learned, _ = judged(connection, written(tmp_path / "r", "username,active\nbob,1\n"), settings=settings)
            assert learned.strange == strange


def crawled(connection):
    """An earlier campaign of X: ann and bob were read, cyd is gone, dan was only linked to, eve is another ann."""
    settings = check_settings({"name": "old", "topic": {"keywords": ["sky"]}}, "test")
    store = SqlStore(
        connection, ensure_campaign(connection, settings.model_dump(mode="json"), settings.identity([]), NOW), "x"
    )
    ann, bob, cyd, dan, eve = store.enlist(["ann", "bob", "cyd", "dan", "eve"], NOW)
    links = {ann: [bob, dan, ann], bob: [eve, cyd]}
    acts = [(Node(-1), "search", None), (ann, "seed", None), (cyd, "expand", "deleted"), (bob, "expand", None)]
    for n, (node, act, missing) in enumerate([*acts, (eve, "expand", SameAs(ann))]):
        targets = links.get(node, [])
        store.open((pick := Pick(n, node, act),))
        ends = np.array(targets, np.int64), np.linspace(1, 2, len(targets))
        store.finish((pick,), [Outcome(n, node, NOW, 0.0, *ends, missing=missing)])


@BOTH
def test_an_earlier_campaign_brings_whom_it_read_and_their_links(kind):
    with a_database(kind) as connection:
        crawled(connection)
        entered, _ = brought(connection, earlier="old")
        assert graph_of(connection) == {"ann": {"bob": 1.0, "dan": 1.5}, "bob": {"ann": 1.0, "cyd": 2.0}}
        assert (entered.nodes, entered.links) == (2, 4)
        entered, _ = brought(connection, earlier="old")
        assert (entered.nodes, entered.links, entered.known) == (0, 0, 2)


def test_an_earlier_campaign_has_to_be_there_and_of_the_same_platform(tmp_path):
    with a_database("sqlite") as connection:
        crawled(connection)
        with pytest.raises(StoreError, match="no campaign 'nothing' in this database; there are: old"):
            brought(connection, earlier="nothing")
        with pytest.raises(StoreError, match="is of x, the one that refreshes it of bluesky"):
            brought(connection, settings=revived("bluesky", "sky"), earlier="old")
        brought(connection, written(tmp_path / "a", "ann,zoe\n"), earlier="old")
        assert graph_of(connection)["ann"] == {"zoe": 1.0, "bob": 1.0, "dan": 1.5}


def typed(*words):
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SOCIALCRAWL_DB", raising=False)
    written(tmp_path / "a.csv", EDGES)
    written(tmp_path / "r.csv", "username,active\nann,1\nzoe,1\n")
    written(tmp_path / "mine.toml", 'name = "mine"\ndatabase = "mine.db"\nkind = "refresh"\n')
    return tmp_path


def test_imports_of_datasets_and_results_say_what_came_of_them(place):
    with_mine = ("--db", "mine.toml")
    done = typed("a.csv", "--as", "dataset", *with_mine)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "4 accounts and 4 links are new in the campaign 'mine'\n"
    again = typed("a.csv", "--as", "dataset", *with_mine)
    assert again.stderr == ("0 accounts and 0 links are new in the campaign 'mine'; 4 accounts had been in it before\n")
    done = typed("r.csv", "--as", "liveness", *with_mine)
    assert done.stderr == "1 test is new in the campaign 'mine'; 1 not in its dataset\n"
    with opened(place / "mine.db") as connection:
        assert found_of(connection)["ann"][0] == 1.0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("a.csv", "--as", "dataset"), "--as dataset needs the campaign that checks which accounts are active"),
        (("a.csv", "--as", "liveness"), "--as liveness needs the campaign whose accounts were checked"),
        (("--as", "dataset", "--db", "mine.toml"), "nothing to import"),
        (("a.csv", "--from-campaign", "old"), "--from-campaign is for --as dataset"),
        (("a.csv", "--ids"), "--ids and --names are for"),
    ],
)
def test_options_that_do_not_go_together_are_refused(place, words, says):
    with pytest.raises(SettingsError, match=says):
        typed(*words)
    assert not list(place.glob("*.db"))
