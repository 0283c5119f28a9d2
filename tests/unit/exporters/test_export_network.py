"""The mention network in GEXF and GraphML, read back by networkx."""

import json
import xml.etree.ElementTree as ET
from collections import Counter
from io import BytesIO, StringIO

import networkx as nx
import pytest
from exported_towns import a_town, exported, rows, town
from hypothesis import given, settings
from hypothesis import strategies as st
from test_export_tables import asked, lines_of

from socialcrawl.exporters.mention_network import FORMS, Edge, Vertex


def read(form):
    if form == "gexf":
        return nx.read_gexf(town() / "out" / "mentions.gexf", node_type=int)
    return nx.read_graphml(town() / "out" / "mentions.graphml", node_type=int)


@pytest.mark.parametrize("form", ["gexf", "graphml"])
def test_networkx_reads_the_network_that_the_tables_tell(form):
    graph = read(form)
    assert isinstance(graph, nx.DiGraph)
    author = {row["id"]: int(row["author_node"]) for row in lines_of(town() / "out/posts.jsonl")}
    pairs = Counter((author[row["post"]], int(row["node"])) for row in lines_of(town() / "out/mentions.jsonl"))
    expected = {pair: count for pair, count in pairs.items() if pair[0] != pair[1]}
    assert {(u, v): data["weight"] for u, v, data in graph.edges(data=True)} == expected
    links = lines_of(town() / "out/links.jsonl")
    alpha = {(int(row["source"]), int(row["target"])): row["alpha"] for row in links}
    told = {(u, v): data["alpha"] for u, v, data in graph.edges(data=True) if "alpha" in data}
    assert told == {pair: alpha[pair] for pair in expected if pair in alpha}
    assert len(told) > 20


@pytest.mark.parametrize("form", ["gexf", "graphml"])
def test_nodes_tell_what_asking_them_found(form):
    graph = read(form)
    assert set(graph) == {node for (node,) in asked("select node from account")}
    latest = {}
    for row in lines_of(town() / "out/picks.jsonl"):
        if row["act"] in ("seed", "expand"):
            latest[int(row["node"])] = row
    for node, data in graph.nodes(data=True):
        row = latest.get(node)
        assert data["asked"] is (row is not None)
        for name in ("value", "occurrences", "missing"):
            assert data.get(name) == (row[name] if row else None)
        assert data.get("relevance") == data.get("value")
        assert data["collected"] is (data.get("value") is not None)
    assert sum(data.get("missing") is not None for _, data in graph.nodes(data=True)) == 2
    assert graph.nodes[0]["label"] == "Odd\ufffd<name>"


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("form", ["gexf", "graphml"])
def test_the_network_on_topic_has_the_mentions_in_matching_posts_and_the_accounts_at_their_ends(form, hidden, tmp_path):
    with a_town(tmp_path) as connection:
        more = {"key": b"k" * 32} if hidden else {}
        exported(connection, tmp_path / "all", form, **more)
        sheet = exported(connection, tmp_path / "out", form, on_topic=True, **more)
    reader = nx.read_gexf if form == "gexf" else nx.read_graphml
    everything, graph = (reader(tmp_path / name / f"mentions.{form}") for name in ("all", "out"))
    wanted = {(u, v): data for u, v, data in everything.edges(data=True) if data.get("alpha", 0.0) > 0}
    assert {(u, v): data["weight"] for u, v, data in graph.edges(data=True)} == {
        pair: data["weight"] for pair, data in wanted.items()
    }
    assert dict(graph.nodes(data=True)) == {
        node: everything.nodes[node] for node in {end for pair in wanted for end in pair}
    }
    assert 0 < len(wanted) < everything.number_of_edges()
    (file,) = sheet["files"]
    assert (file["accounts"], file["links"]) == (graph.number_of_nodes(), graph.number_of_edges())
    assert "of mentions in matching posts" in file["about"]
    assert "`relevance` is" in (tmp_path / "out" / "datasheet.md").read_text("utf-8")


def drawn(form, vertices, edges):
    file = StringIO()
    writer = FORMS[form](file)
    for vertex in vertices:
        writer.write_vertex(vertex)
    writer.end_vertices()
    for edge in edges:
        writer.write_edge(edge)
    writer.end()
    return file.getvalue().encode("utf-8", "surrogatepass")


LABELS = st.text(st.characters(codec=None), min_size=1)


@settings(deadline=None)
@given(LABELS, st.one_of(st.none(), LABELS), st.floats(allow_nan=False, allow_infinity=False))
@pytest.mark.parametrize("form", ["gexf", "graphml"])
def test_any_text_makes_valid_xml(form, label, missing, value):
    whole = drawn(form, [Vertex(1, label, True, value, 3, missing), Vertex(2, "b", False, None, None, None)], [Edge(1, 2, 4, 0.5)])  # noqa: E501  # fmt: skip
    ET.fromstring(whole)
    graph = (nx.read_gexf if form == "gexf" else nx.read_graphml)(BytesIO(whole), node_type=int)
    assert graph.nodes[1]["value"] == value
    assert graph.edges[1, 2]["weight"] == 4
    plain = label.isprintable() and label.isascii() and label.strip() == label
    assert not plain or graph.nodes[1]["label"] == label


def test_two_campaigns_have_networks_of_their_own(tmp_path):
    with a_town(tmp_path) as connection:
        from exported_towns import crawled

        crawled(connection, steps=2, name="other")
        sizes = {}
        for name in ("tiny", "other"):
            exported(connection, tmp_path / name, "graphml", campaign=name)
            graph = nx.read_graphml(tmp_path / name / "mentions.graphml", node_type=int)
            asked_here = {
                node
                for (node,) in rows(
                    connection,
                    "select node from pick where act in ('seed', 'expand') and campaign = "
                    f"(select id from campaign where name = '{name}')",
                )
            }
            assert {node for node, data in graph.nodes(data=True) if data["asked"]} == asked_here
            sizes[name] = len(asked_here)
    assert sizes["other"] < sizes["tiny"]
    assert json.loads((tmp_path / "tiny/datasheet.json").read_text())["files"][0]["name"] == "mentions.graphml"
