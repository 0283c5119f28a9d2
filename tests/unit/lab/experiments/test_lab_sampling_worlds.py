"""Known worlds of focused sampling: generators, files, what a walk sees, and the truth, against networkx and counts."""

from collections import Counter
from dataclasses import replace
from random import Random

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from shared_data import needed

from socialcrawl.engine.model import Node, Pick
from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments.sampling import file_worlds, frozen_lists, truths
from socialcrawl.lab.experiments.sampling.file_worlds import TopicRequest
from socialcrawl.lab.experiments.sampling.generated_webs import CYCLING, TopicWebParameters, generate_web
from socialcrawl.lab.experiments.sampling.worlds import (
    COMPLETE,
    InlinkSearch,
    PageTopic,
    PageWorld,
    WalkedSource,
    draw_covered,
    find_shown,
    link_pages,
    reverse_links,
)


@pytest.fixture(scope="module")
def world():
    return generate_web(TopicWebParameters(800, seed=3))


def edges(graph):
    return {(u, int(v)) for u in range(graph.size) for v in graph.list_links(u)[0]}


def small(links, on, size=None, there=None):
    """A world of given links, whose only topic is `on`."""
    size = size or len(on)
    there = np.ones(size, bool) if there is None else np.array(there, bool)
    graph = link_pages(*np.array(links).reshape(-1, 2).T, size, there)
    topic = PageTopic("t", np.array(on, bool))
    return PageWorld("small", graph, [""] * size, np.zeros(size, np.int64), ["all"], {"t": topic}, there)


# --- generated


def test_a_generated_world_is_the_same_again_and_another_with_another_seed(world):
    again, other = generate_web(TopicWebParameters(800, seed=3)), generate_web(TopicWebParameters(800, seed=4))
    assert edges(again.graph) == edges(world.graph)
    assert again.texts == world.texts
    assert edges(other.graph) != edges(world.graph)


def test_topics_are_told_by_their_words_mostly_where_they_were_planted(world):
    for name in ("cycling", "abortion", "hiv"):
        on, about = world.find_topic(name).on, world.about[name]
        words = ("hiv", "aids") if name == "hiv" else (name,)
        assert on.tolist() == [any(word in text.split() for word in words) for text in world.texts]
        assert about[on].mean() > 0.7
        assert 0.75 < on[about].mean() < 1.0
    assert world.find_topic("uk").on.tolist() == [host.endswith(".uk") for host in world.hosts]


def test_each_generated_topic_is_a_part_of_a_wider_one(world):
    health = {"abortion", "pro-choice", "pro-life", "clinic", "pregnancy", "court"}
    health |= {"hiv", "aids", "virus", "treatment", "infection"}
    riding = {"cycling", "bike", "pedal", "saddle", "gear", "rider"}
    for name, words in (("cycling", riding), ("abortion", health), ("hiv", health)):
        assert world.find_topic(name).wider.tolist() == [not words.isdisjoint(text.split()) for text in world.texts]
        assert (world.find_topic(name).wider & ~world.find_topic(name).on).any()
    assert world.find_topic("uk").wider.tolist() == [host.endswith((".uk", ".de")) for host in world.hosts]
    assert all((topic.above == topic.wider).all() for topic in world.topics.values())


def test_communities_link_to_themselves_and_camps_hardly_to_each_other(world):
    links = np.array(sorted(edges(world.graph)))
    for name in ("cycling", "abortion", "hiv"):
        about = world.about[name]
        inside = about[links[about[links[:, 0]], 1]].mean()
        assert inside > 2 * about.mean()
    both = world.find_topic("abortion").parts
    choice, life = (
        both[name] & ~both[other] for name, other in (("pro-choice", "pro-life"), ("pro-life", "pro-choice"))
    )
    from_choice = links[choice[links[:, 0]], 1]
    assert choice[from_choice].sum() > 3 * life[from_choice].sum()


def test_a_trap_is_one_host_that_is_easily_entered_and_hardly_left():
    world = generate_web(TopicWebParameters(2_000, trap=0.1, seed=1))
    host, pages = Counter(world.hosts).most_common(1)[0]
    trapped = np.array([name == host for name in world.hosts])
    assert pages == 200
    links = np.array(sorted(edges(world.graph)))
    assert trapped[links[trapped[links[:, 0]], 1]].mean() > 0.9
    assert (~trapped[links[:, 0]] & trapped[links[:, 1]]).sum() > 50
    assert world.about["cycling"][trapped].all()
    assert CYCLING == 1


@pytest.mark.parametrize(
    "shape", [TopicWebParameters(199), TopicWebParameters(500, trap=0.3), TopicWebParameters(500, trap=-0.1)]
)
def test_a_world_too_small_or_all_trap_is_refused(shape):
    with pytest.raises(SettingsError, match="200 pages"):
        generate_web(shape)


# --- from files


def test_pages_of_a_file_keep_their_links_categories_and_words(tmp_path):
    table = {
        "key": ["a", "b", "c"],
        "text": ["An owl is a bird.", "Birds of prey, species", None],
        "links": [["b", "b", "a", "zz"], ["c"], None],
        "categories": [["subject.Science.Biology.Birds", "subject.Art"], ["subject.Science.Biology"], []],
    }
    parquet.write_table(pa.table(table), tmp_path / "pages.parquet")
    world = file_worlds.read_page_world(
        tmp_path / "pages.parquet", [TopicRequest("bird", ("owl",)), TopicRequest("category:Science.Biology")]
    )
    assert edges(world.graph) == {(0, 1), (1, 2)}
    assert world.hosts == ["Science.Biology", "Science.Biology", ""]
    assert [world.domains[place] for place in world.domain] == ["Science", "Science", "none"]
    assert world.find_topic("bird").on.tolist() == [True, False, False]
    assert world.find_topic("bird").parts["owl"].tolist() == [True, False, False]
    assert world.find_topic("category:Science.Biology").on.tolist() == [True, True, False]
    with pytest.raises(SettingsError, match="nothing there is on topic 'whale'"):
        file_worlds.read_page_world(tmp_path / "pages.parquet", [TopicRequest("whale")])
    with pytest.raises(SettingsError, match="Unknown topic 'owl'"):
        world.find_topic("owl")


def test_a_category_is_whole_words_of_a_path(tmp_path):
    table = {"key": ["a", "b"], "text": ["x", "y"], "links": [[], []],
             "categories": [["subject.Art"], ["subject.Artillery"]]}  # fmt: skip
    parquet.write_table(pa.table(table), tmp_path / "pages.parquet")
    assert file_worlds.read_page_world(tmp_path / "pages.parquet", [TopicRequest("category:Art")]).find_topic(
        "category:Art"
    ).on.tolist() == [
        True,
        False,
    ]


def test_posts_make_a_world_of_accounts_in_which_who_only_is_mentioned_is_not_there(tmp_path):
    (tmp_path / "posts.csv").write_text(
        "author,created_at,text,mentions\nAnn,1100000000,the kernel,bob carl\nbob,1200000000,hm,ANN\n"
        "ann,1000000000,first,\n"
    )
    world = file_worlds.read_post_world(tmp_path / "posts.csv", [TopicRequest("kernel")])
    assert edges(world.graph) == {(0, 1), (0, 2), (1, 0)}
    assert world.there.tolist() == [True, True, False]
    assert [world.domains[place] for place in world.domain] == ["2001", "2008", "unknown"]
    assert world.find_topic("kernel").on.tolist() == [True, False, False]


def test_a_web_graph_has_ranges_of_addresses_for_topics(tmp_path):
    np.savez(tmp_path / "w.npz", offsets=np.arange(201), targets=(np.arange(200) + 1) % 200)
    world = file_worlds.read_web_world(tmp_path / "w.npz")
    assert edges(world.graph) == {(u, (u + 1) % 200) for u in range(200)}
    assert np.flatnonzero(world.find_topic("range 3").on).tolist() == list(range(60, 80))
    assert np.flatnonzero(world.find_topic("range 3").parts["first half"]).tolist() == list(range(60, 70))
    assert world.domains[world.domain[199]] == "9.9"


@pytest.mark.parametrize(
    ("arrays", "why"),
    [
        ({"offsets": np.arange(201)}, "needs the arrays"),
        ({"offsets": np.arange(201), "targets": np.full(200, 200)}, "outside 0 to 199"),
        ({"offsets": np.arange(201), "targets": np.zeros(3, int)}, "offsets do not index targets"),
    ],
)
def test_a_broken_web_graph_is_refused(tmp_path, arrays, why):
    np.savez(tmp_path / "w.npz", **arrays)
    with pytest.raises(SettingsError, match=why):
        file_worlds.read_web_world(tmp_path / "w.npz")


def test_shared_pages_make_a_world():
    path = needed("data/wikispeedia_6k.parquet")
    world = file_worlds.read_page_world(path, [TopicRequest("category:Music")])
    table = parquet.read_table(path).to_pylist()
    assert world.size == len(table) == 4598
    keys = {row["key"]: number for number, row in enumerate(table)}
    told = {(n, keys[to]) for n, row in enumerate(table) for to in row["links"] if to in keys and keys[to] != n}
    assert edges(world.graph) == told
    music = [any(c.split(".")[1] == "Music" for c in row["categories"]) for row in table]
    assert world.find_topic("category:Music").on.tolist() == music


# --- what a walk sees


def answered(source, node, act):
    (talk,) = source.start_conversations((Pick(0, Node(node), act),), {})
    with pytest.raises(StopIteration) as end:
        next(talk)
    return end.value.value[0]


def test_a_walk_is_answered_with_links_predicate_and_host(world):
    on = world.find_topic("cycling").on
    source = WalkedSource(world, on)
    for node in range(0, world.size, 97):
        outcome = answered(source, node, "walk")
        assert outcome.targets.tolist() == world.graph.list_links(node)[0].tolist()
        assert len(outcome.alpha) == len(outcome.targets)
        assert outcome.value == float(on[node])
        assert outcome.mark == world.hosts[node]
        assert outcome.missing is None


def test_a_walk_is_told_who_is_on_the_wider_topic_only(world):
    topic = world.find_topic("abortion")
    source = WalkedSource(world, topic.on, COMPLETE, topic.above)
    for node in range(0, world.size, 7):
        expected = 1.0 if topic.on[node] else 0.5 if topic.wider[node] else 0.0
        assert answered(source, node, "walk").value == expected


def test_who_is_not_there_is_missing():
    there = small([(0, 1), (1, 0)], [True, True], there=[True, False])
    outcome = answered(WalkedSource(there, there.find_topic("t").on), 1, "walk")
    assert outcome.missing == "unknown"
    assert edges(there.graph) == {(0, 1)}


def test_a_complete_search_shows_all_who_link_to_a_page(world):
    source, links = WalkedSource(world, world.find_topic("uk").on, COMPLETE), edges(world.graph)
    for node in range(0, world.size, 53):
        assert answered(source, node, "inward").targets.tolist() == sorted(u for u, v in links if v == node)


def test_a_search_shows_so_many_of_the_pages_it_has_and_always_the_same(world):
    search = InlinkSearch(0.5, 3, seed=5)
    has, links = draw_covered(world.size, search), edges(world.graph)
    assert 0.4 < has.mean() < 0.6
    back = find_shown(world.graph, search)
    ascending = 0
    for node in range(world.size):
        seen = back.list_links(node)[0].tolist()
        known = {u for u, v in links if v == node and has[u]} if node % 29 == 0 else None
        if known is not None:
            assert set(seen) <= known
            assert len(seen) == min(3, len(known)) == len(set(seen))
        ascending += seen == sorted(seen)
    assert ascending < world.size  # the order is of the search's making
    assert edges(find_shown(world.graph, search)) == edges(back)
    assert edges(find_shown(world.graph, replace(search, seed=6))) != edges(back)


def test_turning_a_graph_turns_every_link(world):
    assert edges(reverse_links(world.graph)) == {(v, u) for u, v in edges(world.graph)}


# --- truths


def test_bins_of_out_degrees_cover_all_and_part_where_they_say():
    degrees = np.array([0, 1, 2, 3, 4, 5, 99, 100, 5000])
    assert [truths.DEGREE_BINS[i] for i in truths.find_degree_bin(degrees)] == [
        "0", "1", "2-3", "2-3", "4-5", "4-5", "60-99", "100+", "100+"]  # fmt: skip


def test_the_fraction_that_stays_on_topic_is_counted_link_by_link(world):
    on = world.find_topic("hiv").on
    found = truths.measure_staying(world, on)
    for node in range(0, world.size, 31):
        heads = world.graph.list_links(node)[0]
        assert found[node] == pytest.approx(np.mean([on[v] for v in heads])) if len(heads) else np.isnan(found[node])
    bins = truths.find_fraction_bin(np.array([0.0, 0.04, 0.05, 0.96, 1.0, np.nan]))
    assert [truths.FRACTIONS[i] for i in bins] == ["0%", "0%", "10%", "100%", "100%", "no links"]
    assert truths.compute_shares(bins, 12).tolist() == pytest.approx([2 / 6, 1 / 6, *[0] * 8, 2 / 6, 1 / 6])


def test_what_is_reached_is_the_component_with_most_of_the_topic():
    # 0-1-2 on topic together; 3 on topic behind one page off topic (4), 5 behind two (6, 7), 8 alone; 9, 10 off topic.
    links = [(0, 1), (2, 1), (2, 4), (4, 3), (0, 6), (6, 7), (7, 5), (9, 10)]
    world = small(links, [1, 1, 1, 1, 0, 1, 0, 0, 1, 0, 0])
    topic = world.find_topic("t")

    def found(focus, k=1):
        return np.flatnonzero(truths.find_reached(world, topic, focus, k)).tolist()

    assert found("hard") == [0, 1, 2]
    assert found("trial") == [0, 1, 2, 3]
    assert found("trial", 2) == [0, 1, 2, 3, 5]
    assert found("neighbourhood") == [0, 1, 2, 3, 5]  # 6 and 7 both have a neighbour on topic
    assert found("none") == [0, 1, 2, 3, 5]
    with pytest.raises(SettingsError, match="Unknown focus 'soft'"):
        found("soft")
    with pytest.raises(SettingsError, match="of which wider topic 't' is a part"):
        found("ancestor")


def test_what_is_reached_in_a_world_is_what_networkx_says(world):
    whole = nx.Graph(sorted(edges(world.graph)))
    whole.add_nodes_from(range(world.size))
    for name in ("uk", "abortion"):
        topic = world.find_topic(name)
        on = set(np.flatnonzero(topic.on).tolist())
        near = on | {v for u in on for v in whole[u]}
        above = on | set(np.flatnonzero(topic.wider).tolist())
        assert len(on) <= len(above) < world.size
        assert name == "uk" or on < above
        for focus, nodes in (("none", set(whole)), ("hard", on), ("neighbourhood", near), ("ancestor", above)):
            parts = nx.connected_components(whole.subgraph(nodes))
            most = max((part & on for part in parts), key=len)
            assert set(np.flatnonzero(truths.find_reached(world, topic, focus)).tolist()) == most


def test_distances_from_a_topic_are_those_of_networkx(world):
    on = world.find_topic("abortion").on
    whole = nx.Graph(sorted(edges(world.graph)))
    expected = nx.multi_source_dijkstra_path_length(whole, set(np.flatnonzero(on).tolist()))
    found = truths.measure_distances(world, on)
    assert {node: int(found[node]) for node in expected} == expected
    assert all(found[node] == world.size for node in range(world.size) if node not in expected)


# --- exact laws


def test_lists_are_frozen_as_the_paper_says_and_agree_where_both_sides_must_have_a_link():
    # 2 links to 0, 0 to 1, 1 to 2; visited in the order 0, 1, 2 without any search.
    world = small([(2, 0), (0, 1), (1, 2)], [1, 1, 1])
    unseen = InlinkSearch(0.0, 100)
    printed = frozen_lists.make_lists(world, np.array([0, 1, 2]), unseen, "printed")
    assert printed.tolist() == [[False, True, False], [True, False, True], [True, True, False]]
    symmetric = frozen_lists.make_lists(world, np.array([0, 1, 2]), unseen, "symmetric")
    assert symmetric.tolist() == [[False, True, False], [True, False, True], [False, True, False]]
    assert frozen_lists.make_lists(world, np.array([0, 1, 2]), COMPLETE, "printed").sum() == 6


def walked(world, search, steps):
    """Lists as a walk freezes them, page by page, from page 0: a referee."""
    back, lists, page, dice = find_shown(world.graph, search), {}, 0, Random(1)
    out = [set(world.graph.list_links(u)[0].tolist()) for u in range(world.size)]
    for _ in range(steps):
        if page not in lists:
            lists[page] = sorted(
                out[page] | set(back.list_links(page)[0].tolist()) | {w for w in lists if page in out[w]}
            )
        page = dice.choice(lists[page])
    return lists


def test_the_lists_and_the_law_of_a_walk_are_those_of_a_referee():
    world, search = generate_web(TopicWebParameters(200, seed=2)), InlinkSearch(0.3, 5)
    referee = walked(world, search, 20_000)
    order = np.array(list(referee))
    printed = frozen_lists.make_lists(world, order, search, "printed")
    assert len(order) > 180
    for place, page in enumerate(order.tolist()):
        assert set(order[printed[place]].tolist()) == set(referee[page]) & set(referee)
    degree = printed.sum(axis=1)
    chain = printed / (degree.max() + 1) + np.diag(1 - degree / (degree.max() + 1))
    values, vectors = np.linalg.eig(chain.T)
    (one,) = np.flatnonzero(np.abs(values - 1) < 1e-9)
    expected = np.real(vectors[:, one])
    assert frozen_lists.compute_law(printed) == pytest.approx(expected / expected.sum(), abs=1e-9)
    assert frozen_lists.measure_unevenness(frozen_lists.compute_law(printed))["misplaced"] > 0.1
    both = frozen_lists.compute_law(frozen_lists.make_lists(world, order, search, "symmetric"))
    assert len(both[both > 1e-12]) > 160
    assert np.ptp(both[both > 1e-12]) < 1e-12


def test_first_visits_are_in_order():
    assert frozen_lists.find_first_visits(np.array([5, 2, 5, 9, 2, 1])).tolist() == [5, 2, 9, 1]


def test_unevenness_is_counted_in_even_shares():
    assert frozen_lists.measure_unevenness(np.array([0.5, 0.25, 0.25, 0.0])) == {
        "largest": 2.0,
        "least": 0.0,
        "misplaced": 0.25,
    }
