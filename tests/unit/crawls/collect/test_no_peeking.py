"""What a crawl may know: nothing of a node before it was picked; and what it learns from the nodes that were."""

import re

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from known_worlds import outcome
from lab_graphs import known, random_world
from sklearn.linear_model import LinearRegression

from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import NAMES, Linear, make_estimator
from socialcrawl.crawls.collect.strategies import STRATEGIES, make_strategy
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.model import Node, Stop
from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.lab import simulation
from socialcrawl.lab.simulation import Oracle, ReplaySetup, simulate

SGD = "sklearn.linear_model.SGDRegressor"
EVERYBODY = (*NAMES, SGD)
SEEDS = (5, 17, 2)


class PeekedError(AssertionError):
    """Somebody looked at a node that was not picked."""


class Sealed:
    """Numbers, one a node, of which only those of picked nodes can be read."""

    def __init__(self, numbers, picked):
        self.numbers, self.picked, self.read = numbers, picked, []

    def __len__(self):
        return len(self.numbers)

    def __getitem__(self, key):
        nodes = np.atleast_1d(np.arange(len(self.numbers))[key]).tolist()
        if hidden := sorted(set(nodes) - set(self.picked)):
            raise PeekedError(f"nodes {hidden} were peeked at")
        self.read += nodes
        return self.numbers[key]

    def __array__(self, *_, **__):
        raise PeekedError("all values were peeked at")


class Indices(Sealed):
    """The same for targets and weights: a slice of links can be read once the node that they leave was picked."""

    def __init__(self, numbers, picked, indptr):
        super().__init__(numbers, picked)
        self.owner = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))

    def __getitem__(self, key):
        if hidden := sorted(set(np.atleast_1d(self.owner[key]).tolist()) - set(self.picked)):
            raise PeekedError(f"links of {hidden} were peeked at")
        return self.numbers[key]


def sealed(graph, picked):
    """The same graph; of nodes that are not in `picked` neither the value nor the links can be read."""
    links = (Indices(numbers, picked, graph.indptr) for numbers in (graph.indices, graph.alpha))
    return KnownGraph(graph.indptr, *links, Sealed(graph.beta, picked))


class Watched(Collect):
    """A crawl that notes its picks where the seals look them up, and asks twice: choosing changes nothing."""

    picked: list[int]

    def choose(self, size, now):
        batch = super().choose(size, now)
        assert super().choose(size, now) == batch
        if not isinstance(batch, Stop):
            self.picked += [int(pick.node) for pick in batch]
        return batch


def watched(monkeypatch, graph):
    """The sealed graph, and a `simulate` whose crawls break the seals of what they pick."""
    picked: list[int] = []

    class Mine(Watched):
        pass

    Mine.picked = picked
    monkeypatch.setattr(simulation, "Collect", Mine)
    return sealed(graph, picked), picked


@pytest.mark.parametrize("way", [("greedy", 1), ("greedy", 4), ("altered-greedy", 1), ("proportional", 3)])
@pytest.mark.parametrize("name", EVERYBODY)
def test_no_estimator_reads_what_a_node_holds_before_it_is_picked(name, way, monkeypatch):
    graph = known(random_world(40, 3, 11))
    behind_seals, picked = watched(monkeypatch, graph)
    setup = ReplaySetup(name, 45, strategy=way[0], refresh_rate=way[1], q=0.5, switch_after=8, seed=3)
    replay = simulate(behind_seals, SEEDS, setup)
    assert picked == [*SEEDS, *replay.steps.tolist()]
    assert len(replay.steps) > 30
    monkeypatch.undo()
    assert replay.steps.tolist() == simulate(graph, SEEDS, setup).steps.tolist()
    assert set(behind_seals.beta.read) == set(picked)


@pytest.mark.parametrize("way", STRATEGIES)
def test_the_oracle_is_caught(way, monkeypatch):
    behind_seals, _ = watched(monkeypatch, known(random_world(40, 3, 11)))
    with pytest.raises(PeekedError, match="peeked at"):
        simulate(behind_seals, SEEDS, ReplaySetup("oracle", 30, strategy=way))


@pytest.mark.parametrize("start", ["random", "opic-ne", "nr"])
def test_nor_does_the_start_of_a_hybrid(start, monkeypatch):
    behind_seals, picked = watched(monkeypatch, known(random_world(40, 3, 11)))
    simulate(behind_seals, SEEDS, ReplaySetup("hybrid-max", 30, start=start, switch_after=20))
    assert len(picked) == 33


def test_the_seals_hold():
    graph = known(random_world(10, 2, 1))
    behind_seals = sealed(graph, [3])
    assert behind_seals.beta[3] == graph.beta[3]
    assert behind_seals.list_links(3)[0].tolist() == graph.list_links(3)[0].tolist()
    looks = (lambda g: g.beta[4], lambda g: g.beta[np.array([3, 4])], lambda g: g.beta[:], lambda g: np.asarray(g.beta))
    linked = next(u for u in range(10) if u != 3 and len(graph.list_links(u)[0]))
    for look in (*looks, lambda g: g.list_links(linked)):
        with pytest.raises(PeekedError):
            look(behind_seals)


def fresh(name, steps, seeds=SEEDS, how="greedy", *, seed=3, switch_after=8):
    line = Seeds()
    line.ready = [Node(node) for node in seeds]
    estimator = make_estimator(name, seed=seed, switch_after=switch_after)
    return Collect(line, estimator, steps, strategy=make_strategy(how, seed=seed, q=0.5))


# -- what is learned, at every refit of a crawl

LINEAR = [name for name in NAMES if name.startswith("lnh")]


def crawled(name, way, size=1, steps=200):
    """A crawl over 300 nodes, one batch after the other: the crawl as it stands, and its training rows so far."""
    world = random_world(300, 3, 23)
    by, x, y = fresh(name, steps, how=way), [], []
    while not isinstance(batch := by.choose(size, 0.0), Stop):
        said = [outcome(pick, world.ask(int(pick.node))) for pick in batch]
        for pick, answer in zip(batch, said, strict=True):
            if pick.act == "expand":
                x.append(read_off(by.graph, by.graph.row(pick.node), by.estimator))
                y.append(answer.value)
        by.absorb(batch, said)
        yield by, np.array(x), np.array(y)


def read_off(graph, row, estimator):
    """The features of a row, from the links of all that was fetched: no sum that somebody kept."""
    known_links = [graph.list_links(u) for u in graph.list_fetched().tolist()]
    values = graph.value(graph.list_fetched()).tolist()
    pairs = [(w, float(a[to == row][0])) for w, (to, a) in zip(values, known_links, strict=True) if row in to]
    numbers = {"n": [w for w, _ in pairs], "e": [a for _, a in pairs], "ne": [w * a for w, a in pairs]}
    h = {"sum": np.sum, "avg": np.mean, "max": np.max}
    return [len(pairs) if name == "links" else _aggregate(h, numbers, name) for name in estimator.features]


def _aggregate(h, numbers, name):
    of, how = name.split("_")
    return float(h[how](numbers[of]))


@pytest.mark.parametrize(
    ("name", "way", "size"),
    [*((name, "greedy", 1) for name in LINEAR), ("lnh-sum", "proportional", 1), ("lnh-wide", "altered-greedy", 5)],
)
def test_every_refit_of_a_crawl_is_scikit_learns_on_the_rows_so_far(name, way, size):
    full = refits = 0
    for by, x, y in crawled(name, way, size):
        if not len(y):
            continue
        assert isinstance(by.estimator, Linear)
        model = LinearRegression().fit(x, y)
        weights, intercept = by.estimator.coefficients
        refits += 1
        if model.rank_ == x.shape[1]:
            full += 1
            assert weights == pytest.approx(model.coef_, rel=1e-6, abs=1e-6)
            assert intercept == pytest.approx(model.intercept_, rel=1e-6, abs=1e-6)
        rows = by.graph.frontier()
        if len(rows):
            wanted = by.graph.columns(by.estimator.features, rows).T
            told = by.estimator.score(by.graph, rows, by.taken)
            assert told == pytest.approx(model.predict(wanted), rel=1e-6, abs=1e-6)
            assert told == pytest.approx(wanted @ weights + intercept, rel=1e-9, abs=1e-9)
    assert refits == 200 // size
    assert full > 0.6 * refits
    assert by.estimator.moments.rows == by.taken == len(y) == 200  # the seeds are no rows


def test_rows_are_learned_as_picked_not_as_they_become():
    """A node that is linked to again after it was fetched keeps the row that it was picked with."""
    for by, x, _ in crawled("lnh-sum", "greedy"):
        last = by, x
    by, x = last
    now = by.graph.columns(by.estimator.features, by.graph.list_fetched()[len(SEEDS) :]).T
    assert (now >= x - 1e-9).all()
    assert np.count_nonzero(np.abs(now - x).max(axis=1) > 1e-9) > 50


# -- the rules of a replay


@pytest.mark.parametrize("objective", ["sum", "count"])
@pytest.mark.parametrize("name", [*EVERYBODY, "oracle"])
def test_the_curve_leaves_the_seeds_out(name, objective):
    graph = known(random_world(30, 3, 8))
    replay = simulate(graph, SEEDS, ReplaySetup(name, 12, objective=objective, switch_after=4))
    worth = graph.beta if objective == "sum" else (graph.beta > 0).astype(float)
    total, wanted = 0.0, []
    for node in replay.steps:
        total += worth[node]
        wanted.append(total)
    assert replay.curve.tolist() == pytest.approx(wanted, rel=1e-14)
    assert replay.seed_score == pytest.approx(sum(worth[node] for node in SEEDS))
    assert replay.seed_score > 0


@pytest.mark.parametrize("rate", [1, 2, 7])
@pytest.mark.parametrize("seeds", [(5, 17, 2), (17, 2, 5), (2, 5, 17)])
@pytest.mark.parametrize("name", ["bfs", "nh-n-sum", "opic", "random"])
def test_seeds_are_asked_first_in_the_order_given_and_are_never_in_the_frontier(name, seeds, rate):
    world = random_world(30, 4, 6)
    for u in seeds:  # everybody links to every seed
        world.links[u] = {**world.links[u], **{v: 2 for v in seeds if v != u}}
    by, asked = fresh(name, 40, seeds), []
    while not isinstance(batch := by.choose(rate, 0.0), Stop):
        asked += [(int(pick.node), pick.act) for pick in batch]
        assert len({pick.act for pick in batch}) == 1
        by.absorb(batch, [outcome(pick, world.ask(int(pick.node))) for pick in batch])
        assert not set(by.graph.nodes(by.graph.frontier()).tolist()) & set(seeds)
    assert asked[:3] == [(node, "seed") for node in seeds]
    assert {act for _, act in asked[3:]} == {"expand"}
    assert not {node for node, _ in asked[3:]} & set(seeds)
    assert len(asked) == len(set(asked)) > 20


@pytest.mark.parametrize("rate", [1, 3, 100])
@pytest.mark.parametrize("name", [*EVERYBODY, "oracle"])
def test_a_budget_larger_than_the_graph_takes_all_that_is_in_reach_and_holds_the_curve(name, rate):
    graph = known(random_world(25, 2, 14))
    reach, ring = set(), set(SEEDS)
    while ring:
        reach |= ring
        ring = {int(v) for u in ring for v in graph.list_links(u)[0]} - reach
    replay = simulate(graph, SEEDS, ReplaySetup(name, 60, refresh_rate=rate, switch_after=5))
    assert sorted(replay.steps.tolist()) == sorted(reach - set(SEEDS))
    assert len(reach) < 25
    assert replay.curve.shape == (60,)
    assert replay.curve[len(replay.steps) - 1 :].tolist() == [replay.curve[-1]] * (61 - len(replay.steps))
    assert replay.curve[-1] == pytest.approx(sum(graph.beta[v] for v in reach - set(SEEDS)))


@pytest.mark.parametrize("name", ["bfs", "lnh-avg", "nr", "oracle", SGD])
def test_seeds_that_lead_nowhere_give_a_curve_of_nothing(name):
    lonely = KnownGraph(np.zeros(4, np.int64), np.empty(0, np.int64), np.empty(0), np.array([1.0, 2.0, 4.0]))
    replay = simulate(lonely, [2, 0], ReplaySetup(name, 3))
    assert (replay.steps.tolist(), replay.curve.tolist(), replay.seed_score) == ([], [0.0, 0.0, 0.0], 5.0)


@pytest.mark.parametrize(
    ("seeds", "said"), [([], "at least one seed"), ([1, 1], "twice"), ([30], "seed 30 is not in"), ([-1], "seed -1")]
)
def test_seeds_that_are_none_are_refused(seeds, said):
    with pytest.raises(SettingsError, match=re.escape(said)):
        simulate(known(random_world(30, 3, 8)), seeds, ReplaySetup("bfs", 5))


@settings(deadline=None, max_examples=many(150))
@given(
    st.sampled_from([*EVERYBODY, "oracle"]),
    st.sampled_from(STRATEGIES),
    st.integers(1, 5),
    st.integers(0, 12),
    st.integers(0, 3),
)
def test_the_fold_of_a_history_is_the_same_crawl_bit_for_bit(name, way, size, at_most, number):
    world = random_world(20, 2, number)

    def crawl():
        by = fresh("bfs" if name == "oracle" else name, 15, how=way, switch_after=4)
        if name == "oracle":
            by.estimator = by.ranking.estimator = Oracle(known(world).beta)
        return by

    lived, history = crawl(), []
    while len(history) < at_most and not isinstance(batch := lived.choose(size, 0.0), Stop):
        said = [outcome(pick, world.ask(int(pick.node))) for pick in batch]
        lived.absorb(batch, said)
        history.append((batch, said))
    folded = crawl()
    folded.fold(history)
    assert bits(folded.choose(size, 5.0)) == bits(lived.choose(size, 0.0))
    assert (folded.picks, folded.taken, folded.relevance.hex()) == (lived.picks, lived.taken, lived.relevance.hex())
    rows = lived.graph.frontier()
    assert folded.graph.frontier().tolist() == rows.tolist()
    scores = [by.estimator.score(by.graph, rows, by.taken).tobytes() for by in (folded, lived)]
    assert scores[0] == scores[1]


def bits(batch):
    if isinstance(batch, Stop):
        return batch
    return [(pick.n, pick.node, pick.act, pick.score and pick.score.hex(), pick.x) for pick in batch]
