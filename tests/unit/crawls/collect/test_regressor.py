"""Regressors of scikit-learn as estimators: taught by hand and by the crawl, in code and in a campaign file."""

import re
import warnings

import numpy as np
import pytest
from lab_graphs import known, random_world
from sklearn.linear_model import SGDRegressor
from sklearn.neural_network import MLPRegressor
from test_estimators import random_graph
from test_settings import FILE
from x_crawls import campaign_of, crawl, posts, rows

from socialcrawl.campaign.build import build
from socialcrawl.campaign.settings import check_settings, read
from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import make_estimator
from socialcrawl.crawls.collect.estimators.added import LOWEST
from socialcrawl.crawls.collect.estimators.regressor import CHOICE, FEATURES, Flowing, Regressor
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Node, Outcome, Stop
from socialcrawl.errors import SettingsError
from socialcrawl.graph.graph import COLUMNS
from socialcrawl.graph.known_graph import KnownGraphSource
from socialcrawl.lab.instant import SequenceStore, make_parts
from socialcrawl.lab.simulation import ReplaySetup, simulate
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.render.live_screen import CampaignView

SGD, MLP = "sklearn.linear_model.SGDRegressor", "sklearn.neural_network.MLPRegressor"
OTHERS = [
    (SGD, SGDRegressor, {"eta0": 0.001}),
    (SGD, SGDRegressor, {"average": True, "penalty": "l1"}),
    (SGD, SGDRegressor, {"loss": "epsilon_insensitive", "penalty": None, "learning_rate": "constant", "eta0": 0.5}),
    (MLP, MLPRegressor, {"hidden_layer_sizes": [5, 3]}),
    (MLP, MLPRegressor, {"hidden_layer_sizes": [4], "solver": "sgd", "activation": "tanh"}),
]
SOME = ("links", "n_avg", "e_max", "ne_sum", "depth")


def columns(x, features):
    """The referee of features as picked: an average is the sum over the known in-links."""
    links = np.maximum(x[:, COLUMNS.index("links")], 1)
    read_off = {name: x[:, i] for i, name in enumerate(COLUMNS)}
    read_off |= {f"{of}_avg": read_off[f"{of}_sum"] / links for of in ("n", "e", "ne")}
    return np.column_stack([read_off[feature] for feature in features])


def frontier(graph, features):
    return columns(np.array([graph.features(int(row)) for row in graph.frontier()]), features)


@pytest.mark.parametrize("features", [FEATURES, SOME, CHOICE])
@pytest.mark.parametrize(("name", "kind", "options"), OTHERS)
def test_it_says_what_scikit_learn_says_when_taught_row_by_row(name, kind, options, features):
    graph, x, y, _ = random_graph()
    estimator = make_estimator(name, seed=4, features=features, options=options)
    model, wanted = kind(random_state=4, **options), frontier(graph, features)
    for row, value in zip(x, y, strict=True):
        estimator.learn(row[None], np.array([value]))
        model.partial_fit(columns(row[None], features), [value])
        scores = estimator.score(graph, graph.frontier(), 1)
        assert scores.dtype == np.float64
        assert scores.tolist() == pytest.approx(model.predict(wanted).tolist(), rel=1e-12)
    assert len(set(scores.tolist())) > 5
    assert estimator.get_terms(1) is None


@pytest.mark.parametrize(("name", "kind", "options"), OTHERS)
def test_learning_in_bulk_is_bit_for_bit_learning_one_by_one(name, kind, options):
    graph, x, y, _ = random_graph()
    bulk, parts, single = (make_estimator(name, seed=4, options=options) for _ in range(3))
    bulk.learn(x, y)
    for some in (slice(0, 7), slice(7, 7), slice(7, None)):
        if len(y[some]):
            parts.learn(x[some], y[some])
    for row, value in zip(x, y, strict=True):
        single.learn(row[None], np.array([value]))
        single.score(graph, graph.frontier(), 1)
    told = [estimator.score(graph, graph.frontier(), 9).tobytes() for estimator in (bulk, parts, single)]
    assert told[0] == told[1] == told[2]


@pytest.mark.parametrize("name", [SGD, MLP])
def test_before_the_first_node_all_are_equal_and_of_nobody_nothing_is_said(name):
    graph, x, y, _ = random_graph()
    estimator = make_estimator(name, seed=4)
    assert not estimator.score(graph, graph.frontier(), 0).any()
    estimator.learn(x, y)
    assert estimator.score(graph, graph.frontier()[:0], 0).shape == (0,)


def test_the_seed_decides_unless_the_options_name_another():
    graph, x, y, _ = random_graph()
    told = []
    for seed, options in ((1, {}), (1, {}), (2, {}), (1, {"random_state": 2})):
        estimator = make_estimator(MLP, seed=seed, options={"hidden_layer_sizes": [4]} | options)
        estimator.learn(x, y)
        told.append(estimator.score(graph, graph.frontier(), 1).tolist())
    assert told[0] == told[1] != told[2] == told[3]


class Says:
    """A regressor that was taught, and then says what it was told to."""

    def __init__(self, *numbers):
        self.numbers = numbers

    def partial_fit(self, x, y):
        return self

    def predict(self, x):
        return np.array(self.numbers, np.float32)[: len(x)]


def test_what_is_no_number_is_the_lowest_score_and_all_else_stays():
    graph, x, y, _ = random_graph()
    estimator = Regressor(Says(np.nan, 2.5, np.inf, -np.inf, -7.0, 0.0))
    estimator.learn(x, y)
    scores = estimator.score(graph, graph.frontier()[:6], 1)
    assert scores.tolist() == [LOWEST, 2.5, LOWEST, LOWEST, -7.0, 0.0]
    assert scores.dtype == np.float64


def test_a_regressor_whose_predictions_overflow_still_gives_finite_scores():
    graph, x, y, _ = random_graph()
    estimator = make_estimator(SGD, seed=1, options={"learning_rate": "constant", "eta0": 1e290})
    estimator.learn(x[:3], y[:3])
    graph.add(Node(int(graph.node(int(graph.frontier()[0])))), 1e20, np.array([900]), np.array([1e3]))
    with np.errstate(over="ignore", invalid="ignore"):
        plain = estimator.model.predict(frontier(graph, FEATURES))
        scores = estimator.score(graph, graph.frontier(), 1)
    assert not np.isfinite(plain).all()
    assert np.isfinite(scores).all()
    assert scores[~np.isfinite(plain)].tolist() == [LOWEST] * int((~np.isfinite(plain)).sum())


@pytest.mark.parametrize(
    ("name", "options"),
    [
        (SGD, {"learning_rate": "constant", "eta0": 1e300}),
        (MLP, {"hidden_layer_sizes": [4], "solver": "sgd", "learning_rate_init": 1e3}),
    ],
)
def test_a_regressor_that_diverges_while_it_is_taught_does_not_end_the_crawl(name, options):
    graph, x, y, _ = random_graph()
    estimator = make_estimator(name, seed=1, options=options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for _ in range(20):
            estimator.learn(x, y)
        assert np.isfinite(estimator.score(graph, graph.frontier(), 1)).all()


def by_hand(graph, seeds, features, model, budget):
    """The referee of a whole crawl: the frontier, features and lessons anew at every step, from the definitions."""
    done, steps, taught = list(seeds), [], False
    while len(steps) < budget:
        seen = dict.fromkeys([*seeds, *(int(v) for u in done for v in graph.list_links(u)[0])])
        into = {v: [] for v in seen if v not in done}
        for u in done:
            for v, a in zip(*(part.tolist() for part in graph.list_links(u)), strict=True):
                if v in into:
                    into[v].append((float(graph.beta[u]), a))
        x = np.array([[summed(links, feature) for feature in features] for links in into.values()])
        place = int(model.predict(x).argmax()) if taught else 0
        node = list(into)[place]
        model.partial_fit(x[place][None], [graph.beta[node]])
        taught = True
        done.append(node)
        steps.append(node)
    return steps


def summed(links, feature):
    of, h = feature.split("_")
    total = 0.0
    numbers = [{"n": w, "e": a, "ne": w * a}[of] for w, a in links]
    for number in numbers:
        total += number
    return {"sum": total, "avg": total / len(numbers), "max": max(numbers)}[h]


@pytest.mark.parametrize("name", [SGD, MLP])
def test_a_replay_is_the_crawl_of_a_regressor_that_is_taught_by_hand(name):
    graph = known(random_world(60, 4, 7))
    model = {SGD: SGDRegressor, MLP: MLPRegressor}[name](random_state=1)
    steps = simulate(graph, [5, 17, 2], ReplaySetup(name, 40, seed=1)).steps.tolist()
    assert steps == by_hand(graph, [5, 17, 2], FEATURES, model, 40)
    assert steps != simulate(graph, [5, 17, 2], ReplaySetup("lnh-sum", 40, seed=1)).steps.tolist()


@pytest.mark.parametrize(("name", "kind", "options"), OTHERS[1:4])
def test_folding_the_history_is_living_through_it(name, kind, options):
    graph = known(random_world(50, 4, 3))
    line, lived = [Node(1), Node(2)], None
    history = []
    for round_ in ("live", "fold"):
        seeds = Seeds()
        seeds.ready = list(line)
        by = Collect(seeds, make_estimator(name, seed=4, features=SOME, options=options), 30)
        if round_ == "fold":
            by.fold(history)
            assert by.choose(2, 0.0) == lived.choose(2, 0.0)
            assert len(by.choose(2, 0.0)) == 2
            return
        while len(history) < 12:
            batch = by.choose(2, 0.0)
            assert not isinstance(batch, Stop)
            said = [Outcome(p.n, p.node, 0.0, float(graph.beta[p.node]), *graph.list_links(p.node)) for p in batch]
            by.absorb(batch, said)
            history.append((batch, said))
        lived = by


# -- in a campaign file


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), limit=100_000) as found:
        yield found


CHOSEN = {"estimator": SGD, "features": ["n_avg", "e_max"], "regressor": {"eta0": 0.002, "penalty": "l1"}}


def test_a_campaign_file_names_the_regressor_its_features_and_its_arguments(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        'name = "mine"\nseed = 6\n[topic]\nkeywords = ["tea"]\n[source]\nbase_url = "http://127.0.0.1:1"\n'
        f'token_env = "SOCIALCRAWL_TEST_TOKEN"\n[crawl]\nestimator = "{MLP}"\nfeatures = ["links", "ne_avg"]\n'
        'regressor = { hidden_layer_sizes = [3, 2], solver = "sgd" }\n',
        "utf-8",
    )
    campaign = build(read(file), CampaignView())
    try:
        estimator = campaign.crawl.estimator
        assert isinstance(estimator, Regressor)
        assert estimator.features == ("links", "ne_avg")
        given = estimator.model.get_params()
        assert {key: given[key] for key in ("hidden_layer_sizes", "solver", "random_state")} == {
            "hidden_layer_sizes": [3, 2],
            "solver": "sgd",
            "random_state": 6,
        }
    finally:
        campaign.close()


def test_a_campaign_with_a_regressor_runs_and_goes_on_as_if_it_had_never_stopped(mock, tmp_path):
    query = (
        "select coalesce(lower(a.username), p.node), p.score from pick p left join account a using (node) order by n"
    )
    crawl(campaign_of(mock.url, tmp_path / "a.db", crawl=CHOSEN))
    for requests in (15, 30, None):
        budget = {"max_requests": requests} if requests else {}
        crawl(campaign_of(mock.url, tmp_path / "b.db", crawl=CHOSEN, budget=budget))
    picks = rows(tmp_path / "a.db", query)
    assert picks == rows(tmp_path / "b.db", query)
    assert len({score for _, score in picks}) > 10
    other = campaign_of(mock.url, tmp_path / "c.db", crawl=CHOSEN | {"features": ["ne_sum"]})
    crawl(other)
    assert rows(tmp_path / "c.db", query) != picks


@pytest.mark.parametrize(
    "change", [{"features": ["n_sum"]}, {"regressor": {"eta0": 0.5}}, {"estimator": MLP, "regressor": {}}]
)
def test_what_a_campaign_learns_with_may_not_change_on_the_way(tmp_path, change):
    build(campaign_of("http://127.0.0.1:1", tmp_path / "a.db", crawl=CHOSEN), CampaignView()).close()
    with pytest.raises(SettingsError, match=re.escape(f"[crawl] {next(iter(change))}")):
        build(campaign_of("http://127.0.0.1:1", tmp_path / "a.db", crawl=CHOSEN | change), CampaignView())


# -- refusals

WRONG = [
    ({"name": "sklearn.linear_model.SGDRegresor"}, "has no attribute 'SGDRegresor'"),
    ({"name": "sklearn.linear_modell.SGDRegressor"}, "No module named 'sklearn.linear_modell'"),
    ({"name": "sklearn."}, "cannot be made from scikit-learn"),
    ({"name": "sklearn.linear_model"}, "cannot be made from scikit-learn"),
    ({"name": "sklearn.linear_model.SGDRegressor.fit"}, "cannot be made from scikit-learn"),
    ({"name": "sklearn.linear_model.LinearRegression"}, "is not a regressor with partial_fit"),
    ({"name": "sklearn.svm.SVR"}, "is not a regressor with partial_fit"),
    ({"name": "sklearn.linear_model.SGDClassifier"}, "choose one as sklearn.linear_model.SGDRegressor"),
    ({"name": "sklearn.cluster.MiniBatchKMeans"}, "is not a regressor with partial_fit"),
    ({"name": "sklearn.multioutput.MultiOutputRegressor"}, "estimator"),
    ({"name": SGD, "options": {"eta": 1.0}}, "unexpected keyword argument 'eta'"),
    (
        {"name": SGD, "features": ("n_sum", "n_median")},
        "Unknown feature 'n_median'. Did you mean 'n_max'? Choose one of: depth",
    ),
    ({"name": "xgboost.XGBRegressor"}, "Unknown estimator 'xgboost.XGBRegressor'"),
    ({"name": "os.system"}, "(a regressor with partial_fit)"),
    ({"name": "sklearn"}, "Unknown estimator 'sklearn'"),
]


@pytest.mark.parametrize(("what", "said"), WRONG)
def test_what_cannot_be_an_estimator_is_refused_with_a_reason(what, said):
    with pytest.raises(SettingsError, match=re.escape(said)):
        make_estimator(**what, seed=1)


@pytest.mark.parametrize(
    "what",
    [
        pytest.param({"options": {"loss": "hubert"}}, id="a value that scikit-learn does not know"),
        pytest.param({"options": {"alpha": -5.0}}, id="a value out of range"),
        pytest.param({"options": {"early_stopping": True}}, id="an option that partial_fit refuses"),
        pytest.param({"features": ()}, id="no features"),
        pytest.param({"name": "sklearn.utils.all_estimators"}, id="a function"),
    ],
)
def test_what_scikit_learn_will_refuse_to_learn_with_is_refused_at_the_start(what):
    with pytest.raises(SettingsError):
        make_estimator(**{"name": SGD, "seed": 1} | what)


@pytest.mark.parametrize("name", ["xgboost.XGBRegressor", "linear_model.SGDRegressor"])
def test_a_campaign_file_that_names_something_else_is_refused_with_its_place(name):
    with pytest.raises(SettingsError, match=re.escape(f"{FILE}: [crawl] estimator = '{name}': unknown estimator")):
        check_settings({"name": "a", "topic": {"keywords": ["x"]}, "crawl": {"estimator": name}}, FILE)


def test_a_campaign_with_a_wrong_regressor_is_refused_before_anything_is_asked(tmp_path):
    wrong = campaign_of("http://127.0.0.1:1", tmp_path / "a.db", crawl=CHOSEN | {"features": ["n_median"]})
    with pytest.raises(SettingsError, match="Unknown feature 'n_median'"):
        build(wrong, CampaignView())


def test_a_campaign_with_a_wrong_regressor_can_be_mended(tmp_path):
    wrong = campaign_of("http://127.0.0.1:1", tmp_path / "a.db", crawl=CHOSEN | {"features": ["n_median"]})
    with pytest.raises(SettingsError):
        build(wrong, CampaignView())
    build(campaign_of("http://127.0.0.1:1", tmp_path / "a.db", crawl=CHOSEN), CampaignView()).close()


class Seen(SGDRegressor):
    """A regressor that remembers its lessons."""

    lessons: list

    def partial_fit(self, x, y):
        type(self).lessons.append(x[0].tolist())
        return super().partial_fit(x, y)


def flowing_crawl(seeds):
    line = Seeds()
    line.ready = [Node(node) for node in seeds]
    return Collect(line, Flowing(Seen(eta0=0.001, random_state=1), ("n_sum",)), 40)


def test_cash_is_a_column_to_learn_over_and_is_that_of_a_dictionary(monkeypatch):
    monkeypatch.setattr(Seen, "lessons", [], raising=False)
    graph, seeds, store = known(random_world(90, 5, 3)), range(4), SequenceStore()
    run(make_parts(flowing_crawl(seeds), KnownGraphSource(graph), store))
    cash, paid = dict.fromkeys(seeds, 1 / len(seeds)), []
    for node in store.nodes:
        mine, to = cash.pop(node, 0.0), [v for v in graph.list_links(node)[0].tolist() if v != node]
        paid.append(mine)
        for other in to:
            cash[other] = cash.get(other, 0.0) + mine / len(to)
    lessons = list(Seen.lessons)
    assert len(lessons) == 40
    assert [lesson[-1] for lesson in lessons] == pytest.approx(paid[len(seeds) :], abs=1e-15)
    assert len({lesson[-1] for lesson in lessons}) > 10
    # Step by step from the history it is the same again, bit for bit.
    Seen.lessons.clear()
    again = flowing_crawl(seeds)
    for node in store.nodes:
        (pick,) = again.choose(1, 0.0)
        assert pick.node == node
        again.absorb((pick,), [Outcome(pick.n, node, 0.0, float(graph.beta[node]), *graph.list_links(node))])
    assert Seen.lessons == lessons


def test_cash_may_be_named_among_the_features_of_a_campaign():
    estimator = make_estimator(SGD, seed=1, features=("cash", "n_sum"))
    assert isinstance(estimator, Flowing)
    assert estimator.features == ("n_sum",)
    assert estimator.is_sequential()
    assert not make_estimator(SGD, seed=1).is_sequential()
    with pytest.raises(SettingsError, match="cash"):
        make_estimator(SGD, seed=1, features=("money",))
