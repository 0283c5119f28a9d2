"""Discovery and tracking in the laboratory: measures against dumb counts from the picks, samplers against their law."""

from collections import Counter
from dataclasses import replace
from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from scipy import stats

from socialcrawl.crawls.track.target import Target
from socialcrawl.crawls.track.tracked_graph import TrackedGraph
from socialcrawl.engine.draws import draw_chance
from socialcrawl.engine.model import Outcome, Pick
from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments.kumar import dynamic, fixed_graphs
from socialcrawl.lab.experiments.kumar.sampling import SamplingExpansion
from socialcrawl.lab.experiments.kumar.timegraphs import (
    DAY,
    BurstyGraphParameters,
    build_plain_graph,
    build_time_graph,
    generate_time_graph,
)
from socialcrawl.lab.experiments.kumar.top_nodes import RankedSequenceStore

SMALL = BurstyGraphParameters(300, 3000, days=3.0, seed=2)
SETTING = dynamic.TrackingSettings(window=DAY, every=600.0, k=20, points=12)
TINY = ["--nodes", "200", "--links", "1500", "--runs", "2", "--jobs", "1"]


@pytest.fixture(scope="module")
def graph():
    return generate_time_graph(SMALL)


# --- samplers


def test_a_sampler_draws_without_replacement_in_proportion_to_weights():
    weights = np.array([1.0, 0.0, 3.0, 6.0])
    graph = TrackedGraph(Target())
    counts = dict.fromkeys(permutations((0, 2, 3)), 0)
    for seed in range(2000):
        order = []
        while (node := SamplingExpansion(weights, seed).pick(graph, float, frozenset(order))) is not None:
            order.append(node)
        counts[tuple(order)] += 1
    expected = [2000 * weights[a] / 10 * weights[b] / (10 - weights[a]) for a, b, _ in counts]
    assert stats.chisquare(list(counts.values()), expected).pvalue > 1e-3


def test_a_sampler_passes_over_who_was_crawled():
    graph, sample = TrackedGraph(Target()), SamplingExpansion(np.ones(5), seed=1)
    first = sample.pick(graph, float, frozenset())
    second = sample.pick(graph, float, frozenset([first]))
    assert sample.pick(graph, float, frozenset()) == first  # choosing changes nothing
    assert second not in (first, None)


# --- what is looked at


def watched(graph, recorded):
    """CrawlTape that also keeps every (node, targets) it is told of, in order."""

    class Recording(RankedSequenceStore):
        def finish(self, batch, outcomes):
            recorded.extend(
                (pick.node, outcome.targets.tolist()) for pick, outcome in zip(batch, outcomes, strict=True)
            )
            super().finish(batch, outcomes)

    return Recording


@pytest.mark.parametrize(("expansion", "recrawl"), [("gai", "or"), ("ai", "yru"), ("sample-u", "ldu"), ("gai", "ydu")])
def test_the_measures_of_a_crawl_are_those_counted_from_its_visits(graph, monkeypatch, expansion, recrawl):
    visits = []
    monkeypatch.setattr(dynamic, "RankedSequenceStore", watched(graph, visits))
    there = dynamic.make_world("small", graph, SETTING)
    table = dynamic.track_targets(there, expansion, recrawl, 7, dynamic.choose_source(there, 7))
    links = list(zip(graph.sources().tolist(), graph.targets.tolist(), graph.times.tolist(), strict=True))
    assert table["fetches"][-1] == len(visits) == int((graph.end - graph.begin) / 600) + 1
    for row, fetches in enumerate(there.looks):
        now = graph.begin + (fetches - 1) * 600.0
        heads = [v for _, v, t in links if now - DAY <= t <= now]
        best = set(sorted(set(heads), key=lambda node: (-heads.count(node), node))[:20])
        crawled_, found = {node for node, _ in visits[:fetches]}, {v for _, vs in visits[:fetches] for v in vs}
        known = crawled_ | found
        assert table["crawl"][row] == pytest.approx(len(crawled_ & best) / len(best))
        assert table["discovery"][row] == pytest.approx(len(known & best) / len(best))
        assert table["lift"][row] == pytest.approx(len(crawled_ & best) / len(crawled_) / (len(best) / 300))
        assert table["lift_known"][row] == pytest.approx(len(known & best) / len(known) / (len(best) / 300))
        assert (table["crawled"][row], table["known"][row]) == (len(crawled_), len(known))
        assert table["recrawls"][row] == fetches - len(crawled_)
        assert 0 <= table["steered"][row] <= 1


def test_every_visit_sees_the_links_of_the_window_that_came_since_the_one_before(graph, monkeypatch):
    visits = []
    monkeypatch.setattr(dynamic, "RankedSequenceStore", watched(graph, visits))
    there = dynamic.make_world("small", graph, SETTING)
    dynamic.track_targets(there, "ai", "u", 3, dynamic.choose_source(there, 3))
    last = {}
    for number, (node, seen) in enumerate(visits):
        now = graph.begin + number * 600.0
        begin = max(now - DAY, np.nextafter(last.get(node, -1.0), np.inf))
        assert set(seen) == set(graph.list_targets(node, begin, now).tolist())
        last[node] = now


def drawn(nodes, weights, u):
    """The node at `u` of the total weight; any of them, each as likely, where all weigh nothing."""
    if not sum(weights):
        weights = [1.0] * len(nodes)
    x = u * sum(weights)
    for node, weight in zip(nodes, weights, strict=True):
        if x < weight:
            return node
        x -= weight
    return None


def referee(graph, setting, policies, seed, fetches):
    """The nodes that a crawl visits, found by looking at everything again at each fetch."""
    expansion, recrawl, source = policies
    known, last, indegree, outlinks, gains, scores, visited = [source], {}, Counter(), Counter(), {}, {}, []
    for n in range(fetches):
        now, u = graph.begin + setting.begin + n * setting.every, draw_chance(seed, "recrawl", n)
        frontier, crawled_ = [v for v in known if v not in last], [v for v in known if v in last]
        if n == 0:
            node = source
        elif crawled_ and (draw_chance(seed, "mix", n) < setting.p or not frontier):
            score = {"or": outlinks, "yr": gains, "yru": gains, "ydu": gains, "ldu": scores}.get(recrawl, {})
            best = max(crawled_, key=lambda v: score.get(v, 0.0))
            if recrawl == "u" or (recrawl in ("yru", "ydu", "ldu") and draw_chance(seed, "coin", n) >= 0.5):
                node = drawn(crawled_, [1.0] * len(crawled_), u)
            elif recrawl in ("ydu", "ldu") and score.get(best, 0.0) > 0:
                node = best
            else:
                weights = [0.0] * len(crawled_) if recrawl in ("ydu", "ldu") else [score.get(v, 0.0) for v in crawled_]
                node = drawn(crawled_, weights, u)
        elif expansion == "gai":
            node = max(frontier, key=lambda v: indegree[v])
        else:
            node = drawn(frontier, [indegree[v] for v in frontier], draw_chance(seed, "expand", n))
        before = last.get(node, -np.inf)
        begin, end = graph.indptr[node], graph.indptr[node + 1]
        links = zip(graph.targets[begin:end].tolist(), graph.times[begin:end].tolist(), strict=True)
        new = [v for v, t in links if before < t <= now and now - setting.window <= t]
        if node in last:
            span = now - before
            gains[node], scores[node] = (
                len(new) / span,
                sum(indegree[v] for v in new) / (span if setting.per_time else 1),
            )
        last[node] = now
        outlinks[node] += len(new)
        known = list(dict.fromkeys([*known, *new]))
        indegree.update(new)
        visited.append(node)
    return visited


@pytest.mark.parametrize("expansion", ["ai", "gai"])
@pytest.mark.parametrize("recrawl", dynamic.RECRAWLS)
def test_a_crawl_visits_whom_the_words_of_the_paper_say(graph, monkeypatch, expansion, recrawl):
    visits = []
    monkeypatch.setattr(dynamic, "RankedSequenceStore", watched(graph, visits))
    setting = replace(SETTING, every=900.0)
    there = dynamic.make_world("small", graph, setting)
    source = dynamic.choose_source(there, 4)
    dynamic.track_targets(there, expansion, recrawl, 4, source)
    expected = referee(graph, setting, (expansion, recrawl, source), 4, len(visits))
    assert [node for node, _ in visits] == expected
    assert 50 < len(set(expected)) < len(expected) > 250


def test_a_crawl_goes_by_every_part_of_its_setting(graph, monkeypatch):
    visits = []
    monkeypatch.setattr(dynamic, "RankedSequenceStore", watched(graph, visits))
    usual = dynamic.TrackingSettings(DAY, 900.0, 20, begin=DAY / 2, length=2 * DAY, points=12)
    others = [{"per_time": True}, {"window": DAY / 3}, {"every": 1000.0}, {"p": 0.3}, {"begin": DAY}, {"length": DAY}]
    seen = []
    for other in ({}, *others):
        visits.clear()
        setting = replace(usual, **other)
        there = dynamic.make_world("small", graph, setting)
        table = dynamic.track_targets(there, "gai", "ldu", 4, 5)
        assert table["day"][-1] == pytest.approx(setting.length / DAY, abs=setting.every / DAY)
        assert [node for node, _ in visits] == referee(graph, setting, ("gai", "ldu", 5), 4, len(visits))
        seen.append([node for node, _ in visits])
    assert seen[0] not in seen[1:]  # each of them matters here


def test_greedy_discovery_takes_the_node_of_most_links_from_those_crawled(graph, monkeypatch):
    visits = []
    monkeypatch.setattr(fixed_graphs, "RankedSequenceStore", watched(graph, visits))
    there = fixed_graphs.make_world("small", build_plain_graph(graph), 30, 150)
    table = fixed_graphs.discover_targets(there, "gai", 1, 5)
    out = [there.graph.list_links(u)[0].tolist() for u in range(300)]
    crawled_, count = [5], {}
    while len(crawled_) < 150:
        for v in out[crawled_[-1]]:
            count[v] = count.get(v, 0) + 1  # in order of discovery
        left = [v for v in count if v not in crawled_]
        if not left:
            break
        crawled_.append(max(left, key=lambda v: count[v]))  # max: the first of equals
    assert [node for node, _ in visits] == crawled_
    degree = Counter(v for u in range(300) for v in out[u])
    best = set(sorted(range(300), key=lambda v: (-degree[v], v))[:30])
    for row, step in enumerate(there.looks):
        inside = crawled_[:step]
        apparent = Counter(v for u in inside for v in out[u])
        ranked = set(sorted(inside, key=lambda v: (-apparent[v], v))[:30])
        assert table["crawl"][row] == pytest.approx(len(best & set(inside)) / 30)
        assert table["rank"][row] == pytest.approx(len(best & ranked) / 30)


@pytest.mark.parametrize("expansion", ["sample-i", "sample-io", "sample-u"])
def test_a_sampler_of_a_fixed_graph_draws_by_links_in_or_in_and_out_or_by_nothing(monkeypatch, expansion):
    pairs_ = [(0, 1), (0, 2), (0, 3), (1, 2), (3, 2), (4, 2), (4, 1), (4, 3), (4, 0)]
    rows = np.array(pairs_)
    known = build_plain_graph(build_time_graph(rows[:, 0], rows[:, 1], np.zeros(len(rows)), 5))
    weights = {
        "sample-i": [sum(v == node for _, v in pairs_) for node in range(5)],
        "sample-io": [sum(node in pair for pair in pairs_) for node in range(5)],
        "sample-u": [1] * 5,
    }[expansion]
    visits, counts = [], Counter()
    monkeypatch.setattr(fixed_graphs, "RankedSequenceStore", watched(known, visits))
    there = fixed_graphs.make_world("tiny", known, 2, 2)
    for seed in range(600):
        visits.clear()
        fixed_graphs.discover_targets(there, expansion, seed, 3)
        counts[visits[1][0]] += 1
    left = [node for node in (0, 1, 2, 4) if weights[node]]  # the source is 3
    assert set(counts) == set(left)
    expected = np.array([weights[node] for node in left]) * 600 / sum(weights[node] for node in left)
    assert stats.chisquare([counts[node] for node in left], expected).pvalue > 1e-3


def test_crawls_of_a_fixed_graph_begin_with_any_node_of_its_largest_component(graph):
    known = build_plain_graph(build_time_graph(graph.sources()[:900], graph.targets[:900], graph.times[:900], 300))
    there = fixed_graphs.make_world("small", known, 10, 10)
    links = nx.DiGraph([(u, v) for u in range(300) for v in known.list_links(u)[0].tolist()])
    inside = sorted(max(nx.strongly_connected_components(links), key=len))
    counts = Counter(fixed_graphs.choose_sources(there, range(40 * len(inside))).values())
    assert 3 < len(inside) < 150
    assert set(counts) <= set(inside)
    assert stats.chisquare([counts[node] for node in inside]).pvalue > 1e-3


@pytest.mark.parametrize("expansion", fixed_graphs.EXPANSIONS)
def test_discovery_asks_nobody_twice_and_finds_all_in_the_end(graph, expansion):
    there = fixed_graphs.make_world("small", build_plain_graph(graph), 10, 10_000)
    table = fixed_graphs.discover_targets(there, expansion, 1, fixed_graphs.choose_sources(there, [1])[1])
    assert table["crawled"][-1] <= 300
    assert (np.diff(table["crawl"]) >= 0).all()
    assert table["crawl"][-1] == 1.0
    if expansion == "sample-u":  # everybody: apparent in-degrees are the true ones
        assert table["crawled"][-1] == 300
        assert table["rank"][-1] == 1.0


def test_without_targets_there_is_no_measure():
    found = dynamic.measure_crawl(RankedSequenceStore(4), np.empty(0, np.int64))
    assert all(np.isnan(found[name]) for name in dynamic.COLUMNS)


def test_progress_counts_a_pair_once_and_a_return_as_a_recrawl():
    progress = RankedSequenceStore(4)
    for n, (score, targets) in enumerate([(1.0, [1, 2]), (0.0, [2, 3]), (0.5, [3])]):
        outcome = Outcome(n, 0, 0.0, targets=np.array(targets), alpha=np.ones(len(targets)))
        progress.finish((Pick(n, 0, "recrawl", score),), [outcome])
    assert (progress.fetches, progress.recrawls, progress.steered, progress.asked) == (3, 2, 1, [0])
    assert progress.indegree.tolist() == [0, 1, 1, 0]
    assert progress.known.all()


# --- sources, settings


def test_the_source_is_in_the_largest_component_of_the_first_window_and_the_same_for_all_policies(graph):
    there = dynamic.make_world("small", graph, SETTING)
    kept = graph.times <= graph.begin + DAY
    links = nx.DiGraph(list(zip(graph.sources()[kept].tolist(), graph.targets[kept].tolist(), strict=True)))
    largest = max(nx.strongly_connected_components(links), key=len)
    drawn = {dynamic.choose_source(there, seed) for seed in range(20)}
    assert drawn <= largest
    assert len(drawn) > 3
    given = {job.given[-1] for job in dynamic.list_jobs(there, dynamic.EXPANSIONS, dynamic.RECRAWLS, [5])}
    assert len(given) == 1


@pytest.mark.parametrize("any_source", [False, True])
def test_the_source_is_drawn_by_what_it_writes_unless_anybody_will_do(graph, any_source):
    there = dynamic.make_world("small", graph, replace(SETTING, any_source=any_source))
    kept = graph.times <= graph.begin + DAY
    links = nx.DiGraph(list(zip(graph.sources()[kept].tolist(), graph.targets[kept].tolist(), strict=True)))
    inside = sorted(max(nx.strongly_connected_components(links), key=len))
    written = np.array([len(graph.list_targets(node, graph.begin, graph.begin + DAY)) for node in inside])
    chances = np.ones(len(inside)) / len(inside) if any_source else written / written.sum()
    expected = chances @ written
    error = np.sqrt(chances @ (written - expected) ** 2 / 100)
    found = np.mean([written[inside.index(dynamic.choose_source(there, seed))] for seed in range(100)])
    assert abs(found - expected) < 3 * error


@pytest.mark.parametrize(
    "wrong",
    [{"p": 1.2}, {"window": 0.0}, {"every": -1.0}, {"every": np.inf}, {"k": 0}, {"begin": -1.0}, {"length": 0.0}],
)
def test_a_setting_out_of_range_is_refused(wrong):
    with pytest.raises(SettingsError):
        dynamic.TrackingSettings(**wrong)


def test_a_crawl_cannot_begin_after_the_last_link(graph):
    with pytest.raises(SettingsError, match="begin earlier"):
        dynamic.make_world("small", graph, dynamic.TrackingSettings(begin=9 * DAY))
