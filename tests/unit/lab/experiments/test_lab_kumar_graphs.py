"""Time graphs, windows, targets and components against dumb loops and networkx; generated graphs against their word."""

from datetime import UTC, datetime, timedelta, timezone

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv, parquet
from shared_data import needed

from socialcrawl.engine.model import Pick
from socialcrawl.errors import SettingsError
from socialcrawl.importance.strong_components import find_components, find_largest_component
from socialcrawl.lab.experiments.kumar.dynamic import TickingClock, WindowedSource, choose_instants
from socialcrawl.lab.experiments.kumar.timegraphs import (
    DAY,
    BurstyGraphParameters,
    build_plain_graph,
    build_time_graph,
    generate_time_graph,
    read_times,
)
from socialcrawl.lab.experiments.kumar.top_nodes import find_targets, find_top_nodes

LINKS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(0, 30)), min_size=1, max_size=60)


def made(links, size=8):
    rows = np.array([*links, (0, 1, 7)], np.int64)
    return build_time_graph(rows[:, 0], rows[:, 1], rows[:, 2].astype(float), size)


def plainly(links):
    return [(u, v, t) for u, v, t in [*links, (0, 1, 7)] if u != v]


# --- graphs


@given(LINKS)
@settings(deadline=None, max_examples=many(60))
def test_a_time_graph_holds_the_links_that_were_given_but_those_to_oneself(links):
    graph = made(links)
    held = list(zip(graph.sources().tolist(), graph.targets.tolist(), graph.times.tolist(), strict=True))
    assert sorted(held) == sorted(plainly(links))
    assert (np.diff(graph.times[graph.order]) >= 0).all()
    assert (graph.begin, graph.end) == (min(t for *_, t in plainly(links)), max(t for *_, t in plainly(links)))


@given(LINKS, st.integers(0, 7), st.integers(-2, 32), st.integers(0, 32))
@settings(deadline=None, max_examples=many(60))
def test_what_a_node_links_to_in_a_span_includes_both_ends(links, node, begin, length):
    there = [v for u, v, t in plainly(links) if u == node and begin <= t <= begin + length]
    assert sorted(made(links).list_targets(node, begin, begin + length).tolist()) == sorted(there)


@given(LINKS)
@settings(deadline=None, max_examples=many(40))
def test_the_plain_graph_has_each_pair_once(links):
    graph = build_plain_graph(made(links))
    pairs = {(u, v) for u, v, _ in plainly(links)}
    assert {(u, v) for u in range(8) for v in graph.list_links(u)[0].tolist()} == pairs
    assert graph.links == len(pairs)


@pytest.mark.parametrize("columns", [("a", "b", "ts"), ("src", "dst", "ts"), ("source", "target", "time")])
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_file_of_links_is_read_whatever_its_columns_are_called(tmp_path, columns, kind):
    rows = pa.table(
        dict(zip(columns, (["x", "y", "x"], ["y", "z", "x"], [30, 10, 20]), strict=True)) | {"t": ["RT"] * 3}
    )
    path = tmp_path / f"links.{kind}"
    (parquet.write_table if kind == "parquet" else csv.write_csv)(rows, path)
    graph = read_times(path)
    assert (graph.size, graph.links, graph.own) == (3, 2, 1)
    assert graph.list_targets(0, 0, 99).tolist() == [1]
    assert graph.list_targets(1, 10, 10).tolist() == [2]


@pytest.mark.parametrize("kind", ["seconds", "words", "iso", "offsets", "stamps"])
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_an_instant_is_the_same_however_it_is_written(tmp_path, kind, ending):
    stamps = [datetime(2012, 7, 4, 12, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 250_000, tzinfo=UTC)]
    there = timezone(timedelta(hours=-9, minutes=-30))
    times = {
        "seconds": [stamp.timestamp() for stamp in stamps],
        "words": [str(stamp.timestamp()) for stamp in stamps],
        "iso": [stamp.replace(tzinfo=None).isoformat(" ") for stamp in stamps],
        "offsets": [stamps[0].isoformat().replace("+00:00", "Z"), stamps[1].astimezone(there).isoformat()],
        "stamps": stamps,
    }[kind]
    path = tmp_path / f"links.{ending}"
    rows = pa.table({"a": ["x", "x"], "b": ["y", "z"], "ts": times})
    (parquet.write_table if ending == "parquet" else csv.write_csv)(rows, path)
    assert read_times(path).times.tolist() == [-0.75, 1341403200.0]


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ({"a": ["x"], "b": ["y"]}, "needs the columns"),
        ({"a": ["x", None], "b": ["y", "z"], "ts": [1, 2]}, "row 2: a is empty"),
        ({"a": ["x", "y"], "b": ["y", "z"], "ts": [1, None]}, "row 2: ts is not an instant"),
        ({"a": ["x"], "b": ["y"], "ts": ["soon"]}, "'soon'.*seconds since 1970, or ISO times such as"),
        ({"a": ["x"] * 2, "b": ["y"] * 2, "ts": ["soon", "1"]}, "'soon'"),
        ({"a": ["x"] * 2, "b": ["y"] * 2, "ts": ["2012-07-04", "2012-07-04T12:00:00Z"]}, "'2012-07-04T12:00:00Z'"),
        ({"a": ["x"], "b": ["x"], "ts": [1]}, "no links"),
    ],
)
def test_a_file_that_cannot_be_used_is_said_to_be_so(tmp_path, table, complaint):
    parquet.write_table(pa.table(table), tmp_path / "links.parquet")
    with pytest.raises(SettingsError, match=complaint):
        read_times(tmp_path / "links.parquet")


# --- what a fetch sees


@given(LINKS, st.integers(0, 7), st.integers(0, 40), st.integers(0, 20), st.one_of(st.none(), st.integers(0, 40)))
@settings(deadline=None, max_examples=many(60))
def test_a_fetch_sees_the_links_of_the_window_that_came_since_the_last(links, node, now, window, since):
    source = WindowedSource(made(links), window, TickingClock(now, 20))
    (talk,) = source.start_conversations(
        (Pick(3, node, "recrawl", since="" if since is None else repr(float(since))),), {}
    )
    with pytest.raises(StopIteration) as end:
        next(talk)
    outcome = end.value.value[3]
    low = -1 if since is None else since
    seen = [v for u, v, t in plainly(links) if u == node and now - window <= t <= now and t > low]
    counts = dict(zip(outcome.targets.tolist(), outcome.alpha.tolist(), strict=True))
    assert counts == {v: seen.count(v) for v in seen}
    assert (outcome.at, outcome.mark, source.clock.now()) == (now, repr(now), now + 20)


def test_asking_from_the_mark_of_an_instant_brings_what_came_then_and_later():
    source = WindowedSource(made([(0, 1, 5), (0, 2, 6), (0, 3, 9)]), 30, TickingClock(20, 20))
    assert source.make_outcome(Pick(0, 0, "expand", since=source.mark(6)), 20).targets.tolist() == [2, 1, 3]
    assert source.make_outcome(Pick(0, 0, "expand", since=source.mark(6.5)), 20).targets.tolist() == [1, 3]


def test_the_clock_ticks_once_a_fetch_and_can_be_slept_on():
    clock = TickingClock(100.0, 20.0)
    clock.tick()
    assert clock.now() == 120.0
    clock.sleep(131.0)
    assert clock.now() == 140.0
    clock.sleep(1.0)
    assert clock.now() == 140.0


@given(st.integers(0, 500), st.integers(1, 60), st.integers(1, 30))
@settings(deadline=None, max_examples=many(60))
def test_a_crawl_is_looked_at_evenly_and_at_its_last_fetch(length, every, most):
    found = choose_instants(1000.0, 1000.0 + length, every, most)
    last = len([fetch for fetch in range(length + 1) if fetch * every <= length])
    assert found[-1] == last
    assert len(found) <= most + 1
    assert len(set(np.diff([0, *found[:-1]]).tolist())) <= 1


# --- targets


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 12))
@settings(deadline=None, max_examples=many(60))
def test_the_top_nodes_are_those_of_most_links_ties_by_number(degrees, k):
    best = sorted(range(len(degrees)), key=lambda node: (-degrees[node], node))[:k]
    assert find_top_nodes(np.array(degrees), k).tolist() == sorted(node for node in best if degrees[node] > 0)


@given(LINKS, st.integers(1, 15), st.integers(1, 5), st.lists(st.integers(-3, 45), min_size=1, max_size=6))
@settings(deadline=None, max_examples=many(60))
def test_the_targets_of_each_instant_are_those_counted_from_its_window_alone(links, window, k, at):
    found = find_targets(made(links), sorted(at), window, k)
    for instant, nodes in zip(found.at, found.nodes, strict=True):
        heads = [v for _, v, t in plainly(links) if instant - window <= t <= instant]
        best = sorted(set(heads), key=lambda node: (-heads.count(node), node))[:k]
        assert nodes.tolist() == sorted(best)


# --- components


@given(st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=50))
@settings(deadline=None, max_examples=many(60))
def test_components_are_those_of_networkx(pairs):
    graph = nx.DiGraph()
    graph.add_nodes_from(range(15))
    graph.add_edges_from(pairs)
    lists = [sorted(graph.successors(node)) for node in range(15)]
    indptr = np.cumsum([0, *map(len, lists)])
    indices = np.array([node for row in lists for node in row], np.int64)
    label = find_components(indptr, indices)
    ours = {frozenset(np.flatnonzero(label == one).tolist()) for one in set(label.tolist())}
    theirs = {frozenset(one) for one in nx.strongly_connected_components(graph)}
    assert ours == theirs
    largest = min(theirs, key=lambda one: (-len(one), min(one)))
    assert find_largest_component(indptr, indices).tolist() == sorted(largest)


def test_a_chain_of_many_nodes_needs_no_deep_recursion():
    n = 5000
    ring = np.arange(1, n + 1) % n
    assert len(find_largest_component(np.arange(n + 1), ring)) == n


# --- generated graphs


def test_a_generated_graph_has_the_size_that_was_asked_for_and_is_the_same_again():
    shape = BurstyGraphParameters(2000, 9000, days=6.0, seed=4)
    graph, again = generate_time_graph(shape), generate_time_graph(shape)
    assert (graph.size, graph.links) == (2000, 9000)
    assert 0 <= graph.begin < DAY
    assert 5 * DAY < graph.end < 6 * DAY
    assert all((getattr(graph, name) == getattr(again, name)).all() for name in ("indptr", "targets", "times"))
    assert (generate_time_graph(BurstyGraphParameters(2000, 9000, days=6.0, seed=5)).targets != graph.targets).any()


def test_a_generated_graph_has_heavy_tails_and_targets_that_come_and_go():
    graph = generate_time_graph(BurstyGraphParameters(20_000, 70_000, days=24.0))
    degree = np.sort(np.bincount(graph.targets, minlength=graph.size))[::-1]
    assert degree[:200].sum() > 0.3 * graph.links  # one node in a hundred
    assert (degree == 0).mean() > 0.3
    week = 7 * DAY
    found = find_targets(graph, [week, week + 3600, 3 * week], week, 200).nodes
    stays = [len(np.intersect1d(found[0], other)) / 200 for other in found]
    assert stays[1] > 0.95
    assert 0.2 < stays[2] < 0.8


def test_attention_comes_in_bursts():
    graph = generate_time_graph(BurstyGraphParameters(20_000, 70_000, days=24.0))
    day = (graph.times // DAY).astype(int)
    counts = np.zeros((graph.size, 24))
    np.add.at(counts, (graph.targets, day), 1)
    busy = counts[counts.sum(1) >= 48]
    expected = busy.sum(1, keepdims=True) / 24
    dispersion = ((busy - expected) ** 2 / expected).sum(1) / 23  # chi-square: above 2 for 3 in 1,000 steady nodes
    assert (dispersion > 2).mean() > 0.1


@pytest.mark.parametrize("wrong", [{"nodes": 9}, {"links": 0}, {"days": 0.0}, {"entering": 1.5}, {"seed": -1}])
def test_a_shape_that_cannot_be_made_is_refused(wrong):
    with pytest.raises(SettingsError):
        BurstyGraphParameters(**wrong)


def test_real_links_with_timestamps_are_read_whole():
    path = needed("data/mathoverflow_activity.parquet")
    graph = read_times(path)
    a, b, at = (column.to_numpy() for column in parquet.read_table(path).columns)
    assert graph.links == (a != b).sum()
    assert graph.size == len({*a.tolist(), *b.tolist()})
    assert (graph.begin, graph.end) == (at[a != b].min(), at[a != b].max())
