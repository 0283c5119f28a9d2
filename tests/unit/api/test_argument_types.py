"""Arguments of a wrong type are answered with what to give."""

import networkx as nx
import pytest

import socialcrawl as sc
from socialcrawl.api.text_report import CampaignPage

GRAPH = sc.Graph.from_edges([("ann", "ben"), ("ben", "ann")])
CAMPAIGN = sc.Campaign(name="sky", topic={"keywords": ["telescope"]}, source={"platform": "bluesky"})
PAGE = CampaignPage("text", {}, lambda with_texts: "page", lambda link: [], {})


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: sc.Campaign(name=5), r"Campaign\(name=5\): give a text"),
        (lambda: sc.Campaign.load(5), r"load\(path=5\): give a path"),
        (lambda: CAMPAIGN.preview(steps=0), r"preview\(steps=0\): give a whole number, 1 or more"),
        (lambda: CAMPAIGN.preview(steps="9"), r"preview\(steps='9'\): give a whole number"),
        (lambda: CAMPAIGN.preview(change="yes"), r"preview\(change='yes'\): give True or False"),
        (lambda: CAMPAIGN.run(steps=1.5), r"run\(steps=1.5\): give a whole number"),
        (lambda: PAGE.to_html(None), r"to_html\(path=None\): give a path"),
        (lambda: PAGE.to_html("page.html", with_texts=1), r"to_html\(with_texts=1\): give True or False"),
        (lambda: sc.Graph.read(5), r"read\(path=5\): give a path"),
        (lambda: GRAPH.write(5), r"write\(folder=5\): give a path"),
        (lambda: sc.Graph.from_posts(5, ["sky"]), r"from_posts\(path=5\): give a path"),
        (lambda: sc.Graph.from_posts("posts.csv", "sky"), r"from_posts\(keywords='sky'\): give a list of texts"),
        (lambda: sc.Graph.from_posts("posts.csv", [5]), r"from_posts\(keywords=\[5\]\): give a list of texts"),
        (lambda: sc.Graph.from_posts("posts.csv", []), r"from_posts\(keywords=\[\]\): give a list of texts"),
        (lambda: sc.Graph.from_edges(5), r"from_edges\(edges=5\): give a list of \(source, target\)"),
        (lambda: sc.Graph.from_edges([("ann",)]), r"edge 1, \('ann',\): give \(source, target\)"),
        (lambda: sc.Graph.from_edges(["ab"]), r"edge 1, 'ab': give \(source, target\)"),
        (lambda: sc.Graph.from_edges([("a", "b"), {"a", "c"}]), r"edge 2, \{.*\}: give \(source, target\)"),
        (lambda: sc.Graph.from_edges([{"a": 1, "b": 2}]), r"edge 1, \{'a': 1, 'b': 2\}: give \(source, target\)"),
        (lambda: sc.Graph.from_posts("posts.csv", iter(["sky"])), r"from_posts\(keywords=.*\): give a list of texts"),
        (lambda: sc.Graph.from_edges([("a", "b"), ("a", "b", "c")]), r"edge 2, \('a', 'b', 'c'\): give"),
        (lambda: sc.Graph.from_edges([("a", "b")], 5), r"from_edges\(values=5\): give a dict"),
        (lambda: sc.Graph.from_edges([("a", "b")], {"a": "x"}), r"from_edges\(values=\{'a': 'x'\}\): give a dict"),
        (lambda: sc.Graph.from_networkx([("a", "b")]), r"from_networkx\(graph=.*\): give a graph of networkx"),
        (lambda: sc.Graph.from_networkx(nx.Graph(), value=5), r"from_networkx\(value=5\): give a text"),
        (lambda: sc.simulate(GRAPH, ["bfs"], steps=1, seeds_per_set=1).plot(ax=5), r"plot\(ax=5\): give axes"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named_with_what_to_give(call, said):
    with pytest.raises(sc.SettingsError, match=said):
        call()


def test_edges_may_come_from_an_iterator_and_values_from_numpy():
    np = pytest.importorskip("numpy")
    graph = sc.Graph.from_edges(((a, b) for a, b in [("a", "b"), ("b", "c")]), {"a": np.float32(2)})
    assert graph.known.beta.tolist() == [2.0, 0.0, 0.0]


@pytest.mark.parametrize("error", [TypeError, ValueError])
def test_an_error_of_the_iterator_of_edges_reaches_the_caller(error):
    def read():
        yield ("a", "b")
        raise error("line 2 of my file is broken")

    with pytest.raises(error, match="line 2 of my file is broken"):
        sc.Graph.from_edges(read())
