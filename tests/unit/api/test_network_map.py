"""The part of a network that fits into a picture, against the whole network."""

import lzma
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from api_campaigns import run_example

import socialcrawl as sc

FROZEN = Path(__file__).parents[2] / "compatibility/frozen"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("map")
    run_example(folder)
    with sc.open(folder / "example.db") as made:
        yield made


@pytest.fixture(scope="module")
def frozen(tmp_path_factory):
    path = tmp_path_factory.mktemp("map") / "a.db"
    path.write_bytes(lzma.decompress(next(FROZEN.rglob("x-collect.db.xz")).read_bytes()))
    with sc.open(path) as made:
        yield made


@pytest.mark.parametrize("on_topic", [False, True])
def test_a_map_that_has_room_shows_the_whole_network(frozen, on_topic):
    network = frozen.network(on_topic=on_topic)
    graph, drawn = network.to_networkx(), network.compute_map()
    nodes = [*drawn.nodes]
    names = [node["account"] for node in nodes]
    assert {(names[a], names[b]) for a, b in drawn.edges} == set(graph.edges)
    assert len(drawn.edges) == len(graph.edges)
    assert drawn.left_out == 0
    assert set(names) == set(graph.nodes)
    for node in nodes:
        assert node["relevance"] == graph.nodes[node["account"]].get("relevance")
        assert node["mentioned_by"] == graph.in_degree(node["account"])
        assert node["mentions"] == graph.out_degree(node["account"])
        assert (node["act"] is None) == (node["relevance"] is None)
        assert abs(node["x"]) <= 1
        assert abs(node["y"]) <= 1
    assert drawn.read - drawn.alone == sum(node["act"] is not None for node in nodes)


def test_of_a_large_network_the_most_relevant_accounts_and_the_most_mentioned_others_are_shown(data):
    graph = data.network().to_networkx()
    relevance = {name: values["relevance"] for name, values in graph.nodes(data=True) if values["collected"]}
    drawn = data.network().compute_map(limit=20)
    nodes = [*drawn.nodes]
    read = [node for node in nodes if node["act"] is not None]
    assert len(nodes) == 20
    assert len(read) + drawn.alone == 16
    assert [node["relevance"] for node in read] == sorted(relevance.values(), reverse=True)[: len(read)]
    others = [node["account"] for node in nodes if node["act"] is None]
    best = sorted(relevance.items(), key=lambda one: -one[1])[:16]
    bar = {
        name for name, value in best if value > best[-1][1]
    }  # of equals, which are in depends on when they were read
    ties = {name for name, value in relevance.items() if value == best[-1][1]}
    assert len(others) == 20 - len(read) >= 4
    most = max(sum(graph.has_edge(name, one) for name in bar | ties) for one in graph if one not in relevance)
    assert max(sum(graph.has_edge(name, one) for name in bar | ties) for one in others) == most
    assert drawn.read >= len(relevance)


def test_a_map_is_the_same_each_time(data):
    first, second = (data.network().compute_map(limit=40) for _ in range(2))
    assert [*first.nodes] == [*second.nodes]
    assert first.edges == second.edges


def test_a_forgotten_account_and_one_that_could_not_be_read_are_not_shown_as_unread(tmp_path):
    run_example(tmp_path)
    with sc.open(tmp_path / "example.db") as data:
        unread = [node for node in data.network().compute_map().nodes if node["act"] is None]
    gone, failed = unread[0], unread[1]
    with closing(sqlite3.connect(tmp_path / "example.db")) as plain, plain:
        (number,) = plain.execute("select max(n) + 1 from pick").fetchone()
        node = "(select node from account where platform_id = ?)"
        plain.execute(
            f"update account set forgotten_at = '2026-01-01T00:00:00Z' where node = {node}", (gone["account_id"],)
        )
        plain.execute(
            f"insert into pick (campaign, n, batch, node, act, score) values (1, ?, ?, {node}, 'expand', 0)",
            (number, number, failed["account_id"]),
        )
        plain.execute(
            "insert into outcome (campaign, n, node, at, value, occurrences, posts, missing) "
            f"values (1, ?, {node}, '2026-01-01T00:00:00Z', 0, 0, 0, 'protected')",
            (number, failed["account_id"]),
        )
    with sc.open(tmp_path / "example.db") as data:
        drawn = data.network().compute_map()
        names = {node["account_id"] for node in drawn.nodes}
    assert {one["account_id"] for one in unread} - names == {gone["account_id"], failed["account_id"]}
