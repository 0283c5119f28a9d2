"""The refreshed dataset as files: the old one with what became of it, or only whom is alive of it."""

import csv
import io
import json
from itertools import product

import networkx as nx
import pyarrow.parquet as pq
import pytest
from exported_towns import exported
from import_files import table
from refresh_campaigns import brought, graph_of, judged, written
from stores import a_database, opened
from test_import_liveness import crawled
from typer.testing import CliRunner

from socialcrawl.cli.main import app
from socialcrawl.crawls.refresh.datasheet import find_steering, tell_choice
from socialcrawl.crawls.refresh.section import RefreshSection
from socialcrawl.errors import SettingsError

EDGES = "source,target,weight\nann,bob,2\nbob,cyd,1\ncyd,12,0.5\n12,ann,1\nann,cyd,3\n12,bob,1\nzoe,ann,1\n"
RESULTS = (
    "id,username,active,last_active_at,status\n,ann,1,2023-11-01T00:00:00Z,\n,bob,0,,suspended\n,cyd,1,,\n"
    "12,,1,2023-11-02,\n"
)
ALIVE = {"ann", "cyd", "12"}
BOTH = pytest.mark.parametrize("kind", ["sqlite", "postgres"])


def refreshed(connection, folder):
    brought(connection, written(folder / "old.csv", EDGES))
    judged(connection, written(folder / "results.csv", RESULTS))


def cells(path):
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))


@BOTH
def test_only_whom_is_alive_and_the_links_between_them_are_exported_on_request(kind, tmp_path):
    with a_database(kind) as connection:
        refreshed(connection, tmp_path)
        sheet = exported(connection, tmp_path / "out", "csv", "parquet", "graphml", "gexf", active=True)
        out, whole = tmp_path / "out", graph_of(connection)
        expected = {(a, b): w for a, ends in whole.items() for b, w in ends.items() if {a, b} <= ALIVE}
        assert {row["account"] for row in cells(out / "accounts.csv")} == ALIVE
        ends = ("source_account", "target_account")
        assert {tuple(row[end] for end in ends): float(row["alpha"]) for row in cells(out / "links.csv")} == expected
        assert {row["account"] for row in cells(out / "picks.csv")} == ALIVE
        for graph in (nx.read_graphml(out / "mentions.graphml"), nx.read_gexf(out / "mentions.gexf")):
            label = dict(graph.nodes(data="label")) if graph.nodes else {}
            assert {(label[a], label[b]): w for a, b, w in graph.edges(data="weight")} == expected
            assert not [data for _, data in graph.nodes(data=True) if {"collected", "relevance"} & set(data)]
            assert {(label[n], data["asked"], data["value"]) for n, data in graph.nodes(data=True)} == {
                (name, True, 1.0) for name in ALIVE
            }
        assert pq.read_table(out / "accounts.parquet").num_rows == 3
        assert sheet["only_active"] is True
        with pytest.raises(SettingsError, match="refreshes a dataset without a topic: remove --only-on-topic"):
            exported(connection, tmp_path / "other", "gexf", on_topic=True)
        assert "refreshed dataset; rows: its 3 nodes and 3 edges" in (out / "datasheet.md").read_text("utf-8")


def test_the_refreshed_dataset_can_be_refreshed_once_more(tmp_path):
    with a_database("sqlite") as connection:
        refreshed(connection, tmp_path)
        exported(connection, tmp_path / "out", "csv", "parquet", active=True)
        for form in ("csv", "parquet"):
            with a_database("sqlite") as other:
                brought(other, tmp_path / "out" / f"accounts.{form}", tmp_path / "out" / f"links.{form}")
                again = graph_of(other)
                kept = graph_of(connection)
                assert again == {a: {b: w for b, w in kept[a].items() if b in ALIVE} for a in ALIVE}


@BOTH
def test_liveness_is_a_table_of_every_export(kind, tmp_path):
    with a_database(kind) as connection:
        refreshed(connection, tmp_path)
        exported(connection, tmp_path / "out", "csv", "parquet", "jsonl")
        rows = {row["account"]: row for row in cells(tmp_path / "out" / "liveness.csv")}
        assert set(rows) == {"ann", "bob", "cyd", "12"}
        assert (rows["bob"]["active"], rows["bob"]["status"]) == ("false", "suspended")
        assert (rows["ann"]["active"], rows["ann"]["status"]) == ("true", "active")
        assert rows["ann"]["last_active_at"].startswith("2023-11-01T00:00:00")
        lines = [json.loads(line) for line in (tmp_path / "out" / "liveness.jsonl").read_text("utf-8").splitlines()]
        assert {line["account"]: line["active"] for line in lines} == {
            "ann": True,
            "bob": False,
            "cyd": True,
            "12": True,
        }
        days = pq.read_table(tmp_path / "out" / "liveness.parquet").to_pydict()
        told = dict(zip(days["account"], days["last_active_at"], strict=True))
        assert told["12"].isoformat() == "2023-11-03T00:00:00+00:00", "of a day alone its end"
        accounts = {row["account"] for row in cells(tmp_path / "out" / "accounts.csv")}
        assert accounts == {"ann", "bob", "cyd", "12", "zoe"}


def test_names_can_be_hidden_in_it(tmp_path):
    with a_database("sqlite") as connection:
        refreshed(connection, tmp_path)
        exported(connection, tmp_path / "out", "csv", "graphml", active=True, key=b"k" * 32)
        for path in (tmp_path / "out").iterdir():
            words = path.read_text("utf-8").replace('"', ",").replace(">", ",").replace("<", ",").split(",")
            assert not {"ann", "bob", "cyd", "zoe"} & set(words), path
        assert len(cells(tmp_path / "out" / "liveness.csv")) == 3


def test_the_datasheet_says_what_a_refresh_is_and_names_no_seeds(tmp_path):
    with a_database("sqlite") as connection:
        refreshed(connection, tmp_path)
        sheet = exported(connection, tmp_path / "out", "csv")
        text = (tmp_path / "out" / "datasheet.md").read_text("utf-8")
        (campaign,) = sheet["campaigns"]
        assert (campaign["kind"], campaign["seeds"], campaign["picks"]) == ("refresh", [], {"import": 5, "probe": 4})
        for line in (
            "Motivation: the accounts of an old dataset that are still active",
            "- counted as active: accounts that posted within 180d before the check",
            "- checked then, as the training set: 1,000 accounts in the order pagerank, by PageRank in the dataset",
        ):
            assert f"\n{line}\n" in text
        assert "\n- checked after those: all others in the order pa, by PageRank that starts from the accounts" in text
        assert "- kind: `refresh`, which checks which accounts of an old dataset are active" in text
        assert "Imported accounts are those of an old dataset" in text
        assert "focused crawl" not in text
        assert "estimator" not in text
        assert "seeds" not in text.split("## Campaign")[1].split("Collection process")[0]
        assert max(map(len, text.split("## Composition")[1].split("## Campaign")[0].splitlines())) <= 120


def test_the_order_that_is_told_is_the_one_that_the_campaign_takes():
    for platform, rank, training, fraction, check in product(
        ("x", "web"), ("auto", "ai"), ("auto", "indegree"), (None, 0.5), (0, 9)
    ):
        if fraction is None or check or training == "auto":
            section = RefreshSection(rank=rank, training=training, fraction=fraction, check=check)
            assert find_steering(section.model_dump(), platform) == section.steering(platform)


@pytest.mark.parametrize(
    ("stop", "told"),
    [
        ("bound", "it ends when at least 90% of the active ones are found (95% interval)"),
        ("estimate", "it ends when 90% of the active ones, as estimated, are found"),
        (None, "it ends when 90% of the active ones, as estimated, are found"),
    ],
)
def test_a_datasheet_says_when_the_campaign_ends_and_of_older_programs_that_it_was_by_the_estimate(stop, told):
    section = {"fraction": 0.9, **({"stop": stop} if stop else {})}
    said = list(tell_choice(section, "x"))
    assert told in said
    assert any("at random are checked too" in line for line in said) == (stop == "bound")


def test_only_a_campaign_that_tests_for_life_has_a_refreshed_dataset(tmp_path):
    with a_database("sqlite") as connection:
        crawled(connection)
        with pytest.raises(SettingsError, match="'old' tests no accounts: remove --only-active"):
            exported(connection, tmp_path / "out", "csv", active=True)
        with pytest.raises(SettingsError, match="leave it or --all out"):
            exported(connection, tmp_path / "out", "csv", active=True, whole=True)
        with pytest.raises(SettingsError, match="leave it or the format warc out"):
            exported(connection, tmp_path / "out", "warc", active=True)


def test_it_is_exported_from_the_command_line(tmp_path):
    with opened(tmp_path / "a.db") as connection:
        refreshed(connection, tmp_path)
        assert table(connection, "select count(*) from account") == [(5,)]
    words = ["export", str(tmp_path / "a.db"), "-o", str(tmp_path / "out"), "--only-active", "--format", "ids"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    ids = (tmp_path / "out" / "user_ids.txt").read_text("utf-8").split()
    assert ids == ["12"]
