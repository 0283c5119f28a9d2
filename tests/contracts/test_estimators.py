"""One contract for all estimators, and what each of them says."""

import copy

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from socialcrawl.crawls.collect.estimators import NAMES, Hybrid, Linear, make_estimator
from socialcrawl.engine.model import Node
from socialcrawl.errors import SettingsError
from socialcrawl.graph.graph import COLUMNS, CrawlGraph
from socialcrawl.graph.relevance import compute_worth

AGGREGATES = {"sum": np.sum, "avg": np.mean, "max": np.max}


def random_graph(seed=1, nodes=60, fetched=25):
    """A graph with its rows of training (features when fetched, value) and its known links (u, v, w(u), alpha)."""
    rng = np.random.default_rng(seed)
    graph, x, y, links = CrawlGraph(), [], [], []
    graph.seed(Node(0))
    for step in range(fetched):
        node = 0 if step == 0 else int(graph.node(int(rng.choice(graph.frontier()))))
        value = compute_worth(int(rng.integers(0, 9)))
        targets = rng.choice(nodes, 6, replace=False)
        alpha = np.array([compute_worth(int(hits)) for hits in rng.integers(0, 4, 6)])
        if step:
            x.append(graph.features(graph.row(Node(node))))
            y.append(value)
        graph.add(Node(node), value, targets, alpha)
        links += [(node, v, value, a) for v, a in zip(targets.tolist(), alpha.tolist(), strict=True) if v != node]
    return graph, np.array(x), np.array(y), links


def taught(name, x, y, **options):
    estimator = make_estimator(name, seed=5, **options)
    estimator.learn(x, y)
    return estimator


def state(thing):
    """Everything below an object, arrays as bytes; what is computed on demand and kept (`_fit`) apart."""
    if isinstance(thing, np.ndarray):
        return thing.tobytes()
    if isinstance(thing, dict):
        return {key: state(value) for key, value in thing.items()}
    if isinstance(thing, tuple | list):
        return [state(value) for value in thing]
    if hasattr(thing, "__dict__"):
        return {key: state(value) for key, value in vars(thing).items() if key not in ("_fit", "_terms")}
    return thing


@pytest.mark.parametrize("name", NAMES)
def test_scoring_changes_nothing_and_says_the_same_twice(name):
    graph, x, y, _ = random_graph()
    estimator, rows = taught(name, x, y, switch_after=10), graph.frontier()
    before = copy.deepcopy((state(graph), state(estimator), rows.tolist()))
    first = estimator.score(graph, rows, 30)
    assert first.shape == rows.shape
    assert first.dtype == np.float64
    assert np.isfinite(first).all()
    kept = first.copy()
    first[:] = -1.0  # a score belongs to whoever asked for it
    assert np.array_equal(estimator.score(graph, rows, 30), kept)
    assert (state(graph), state(estimator), rows.tolist()) == before


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_frontier_has_no_scores(name):
    graph, x, y, _ = random_graph()
    scores = taught(name, x, y).score(graph, np.empty(0, np.int64), 3)
    assert scores.shape == (0,)
    assert scores.dtype == np.float64


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("switch_after", [3, 1000])
def test_learning_in_bulk_is_bit_for_bit_learning_one_by_one(name, switch_after):
    graph, x, y, _ = random_graph()
    bulk, single = (make_estimator(name, seed=5, switch_after=switch_after) for _ in range(2))
    bulk.learn(x, y)
    for row, value in zip(x, y, strict=True):
        single.learn(row[None], np.array([value]))
        single.score(graph, graph.frontier(), 1)  # looking on the way changes nothing either
    rows = graph.frontier()
    assert bulk.score(graph, rows, 9).tobytes() == single.score(graph, rows, 9).tobytes()
    assert state(bulk) == state(single)


@pytest.mark.parametrize("name", NAMES)
def test_a_score_does_not_depend_on_who_else_is_scored(name):
    graph, x, y, _ = random_graph()
    estimator, rows = taught(name, x, y, switch_after=10), graph.frontier()
    scores, mixed = estimator.score(graph, rows, 4), np.random.default_rng(2).permutation(len(rows))
    again = estimator.score(graph, rows[mixed], 4)
    if name == "random":  # draws go by position
        assert np.array_equal(again, scores)
        assert np.array_equal(estimator.score(graph, rows[:3], 4), scores[:3])
    else:
        assert np.array_equal(again, scores[mixed])
        assert estimator.score(graph, rows[2:3], 4) == scores[2:3]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "random"])
def test_higher_is_better(name):
    graph = CrawlGraph()
    graph.seed(Node(0))
    estimator = make_estimator(name, seed=5)
    estimator.sow(graph, np.array([0]))
    for node, value, links in ((0, 1.0, {1: 0.0, 2: 3.0, 4: 3.0}), (2, 4.0, {3: 2.0}), (4, 4.0, {3: 2.0})):
        row = graph.add(Node(node), value, np.array(list(links)), np.array(list(links.values())))
        estimator.note_fetched(graph, row)
    rows = np.array([[0, 1, 1, 1, a, a, a, a] for a in (0.0, 1.0, 2.0)], np.float64)  # values rise with alpha
    far, near = [graph.row(Node(node)) for node in ((3, 1) if name == "bfs" else (1, 3))]
    estimator.learn(rows, np.array([0.0, 2.0, 4.0]))
    scores = estimator.score(graph, np.array([far, near]), 1)
    assert scores[1] > scores[0]


def test_breadth_first_is_one_over_distance_plus_one():
    graph, _, _, _ = random_graph()
    depth = [graph.features(int(row))[0] for row in graph.frontier()]
    assert make_estimator("bfs", seed=1).score(graph, graph.frontier(), 0).tolist() == [1 / (d + 1) for d in depth]
    assert len(set(depth)) > 1


@pytest.mark.parametrize("h", AGGREGATES)
@pytest.mark.parametrize(("of", "pick"), [("n", lambda w, _: w), ("e", lambda _, a: a), ("ne", lambda w, a: w * a)])
def test_a_neighbourhood_is_its_aggregate_over_all_known_in_links(of, pick, h):
    graph, _, _, links = random_graph()
    rows = graph.frontier()
    scores = make_estimator(f"nh-{of}-{h}", seed=1).score(graph, rows, 0)
    brute = [AGGREGATES[h]([pick(w, a) for _, v, w, a in links if v == graph.node(int(row))]) for row in rows]
    assert np.allclose(scores, brute, rtol=1e-14)
    assert len(set(brute)) > 3


@pytest.mark.parametrize("h", AGGREGATES)
def test_the_linear_estimator_is_scikit_learn_on_the_same_rows(h):
    graph, x, y, _ = random_graph(nodes=200, fetched=90)
    total = {name: x[:, COLUMNS.index(name)] for name in COLUMNS}
    if h == "avg":
        columns = [total[f"{of}_sum"] / total["links"] for of in ("n", "e", "ne")]
    else:
        columns = [total[f"{of}_{h}"] for of in ("n", "e", "ne")]
    rows = graph.frontier()
    wanted = np.stack([graph.column(f"{of}_{h}", rows) for of in ("n", "e", "ne")], axis=1)
    for known in (1, 2, 3, 10, len(y)):
        model = LinearRegression().fit(np.stack(columns, axis=1)[:known], y[:known])
        estimator = taught(f"lnh-{h}", x[:known], y[:known])
        assert np.allclose(estimator.score(graph, rows, 0), model.predict(wanted), rtol=1e-8, atol=1e-8)
        weights, intercept = estimator.coefficients
        assert np.allclose([*weights, intercept], [*model.coef_, model.intercept_], rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("h", AGGREGATES)
def test_before_the_first_row_the_linear_estimator_holds_all_equal(h):
    graph, _, _, _ = random_graph()
    assert not make_estimator(f"lnh-{h}", seed=1).score(graph, graph.frontier(), 0).any()


@pytest.mark.parametrize("h", AGGREGATES)
def test_the_hybrid_switches_exactly_after_its_steps(h):
    graph, x, y, _ = random_graph()
    rows, hybrid = graph.frontier(), make_estimator(f"hybrid-{h}", seed=1, switch_after=12, start="nh-e-sum")
    start, then = make_estimator("nh-e-sum", seed=1), make_estimator(f"lnh-{h}", seed=1)
    for step in range(len(y)):
        turn, other = (start, then) if step < 12 else (then, start)
        assert np.array_equal(hybrid.score(graph, rows, step), turn.score(graph, rows, step))
        assert not np.array_equal(hybrid.score(graph, rows, step), other.score(graph, rows, step))
        for estimator in (hybrid, start, then):
            estimator.learn(x[step][None], y[step : step + 1])


def test_a_hybrid_starts_with_the_product_unless_another_start_is_named():
    default, other = make_estimator("hybrid-max", seed=1), make_estimator("hybrid-max", seed=1, start="nh-n-sum")
    assert isinstance(default, Hybrid)
    assert isinstance(default.then, Linear)
    assert (default.start.feature, other.start.feature) == ("ne_max", "n_sum")
    assert default.switch_after == 1000


def test_chance_is_keyed_by_seed_and_pick_and_fresh_at_every_pick():
    graph, _, _, _ = random_graph()
    rows = graph.frontier()
    draws = {(seed, n): make_estimator("random", seed=seed).score(graph, rows, n) for seed in (1, 2) for n in range(5)}
    assert len({scores.tobytes() for scores in draws.values()}) == 10
    assert np.array_equal(draws[2, 3], make_estimator("random", seed=2).score(graph, rows, 3))


def test_chance_is_uniform_over_the_frontier():
    graph, _, _, _ = random_graph()
    rows, draws = graph.frontier()[:20], 8_000
    estimator = make_estimator("random", seed=11)
    best = np.bincount([int(np.argmax(estimator.score(graph, rows, n))) for n in range(draws)], minlength=20)
    expected = draws / 20
    assert ((best - expected) ** 2 / expected).sum() < 43.8  # chi2, 19 degrees of freedom, p = 0.001


@pytest.mark.parametrize(("wrong", "nearest"), [("nh-ne-summ", "nh-ne-sum"), ("hybrid_sum", "hybrid-sum"), ("?", None)])
def test_an_unknown_name_is_answered_with_the_nearest_and_all(wrong, nearest):
    with pytest.raises(SettingsError) as error:
        make_estimator(wrong, seed=1)
    assert all(name in str(error.value) for name in NAMES)
    assert (f"Did you mean {nearest!r}?" in str(error.value)) if nearest else ("Did you mean" not in str(error.value))


def test_every_name_is_an_estimator_of_its_own():
    assert len(set(NAMES)) == len(NAMES) == 24
    assert {name.split("-")[0] for name in NAMES} == {"adaptive", "random", "bfs", "nh", "lnh", "hybrid", "opic", "nr"}
