"""A history folded at once is the one absorbed pick by pick: the whole state, bit for bit, and what is picked next."""

from contextlib import contextmanager
from dataclasses import replace
from subprocess import Popen

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import AT, a_store, reopened

from socialcrawl.crawls.collect import bulk_fold
from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import make_estimator
from socialcrawl.crawls.collect.estimators.leastsquares import SCALE, Moments
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.model import Node, Outcome, Pick, SameAs, Stop
from socialcrawl.graph.graph import COLUMNS, CrawlGraph
from socialcrawl.graph.links import Additions
from socialcrawl.graph.relevance import compute_worth
from socialcrawl.storage.queries import history as stored
from socialcrawl.storage.queries import linked

NAMES = (
    "bfs", "nh-ne-sum", "nh-e-max", "nh-n-avg", "lnh-sum", "hybrid-sum", "lnh-wide", "opic", "random", "adaptive",
)  # fmt: skip
NODES = 14
ACTS = ("expand", "expand", "expand", "expand", "import", "captured", "seed", "resolve", "search")
MISSING = (*[None] * 6, "temporary", "temporary", "deleted", "forgotten", "protected", "same-as")


def crawl(name, shadows=()):
    line = Seeds([Node(-1), Node(-2)], [Node(0), Node(5), Node(9)], 4)
    others = {other: make_estimator(other, seed=3, switch_after=6) for other in shadows}
    return Collect(line, make_estimator(name, seed=3, switch_after=6), None, shadows=others)


@st.composite
def events(draw, acts=ACTS, missing=MISSING, nodes=NODES, most=45):
    """A history that no crawl would make: (act, node, missing, occurrences, links, whether a batch ends here)."""
    node = st.integers(0, nodes - 1)
    links = st.dictionaries(node, st.integers(0, 5), max_size=6)
    whys = st.sampled_from(missing)
    one = st.tuples(st.sampled_from(acts), node, whys, node, st.integers(0, 9), links, st.booleans())
    return draw(st.lists(one, min_size=1, max_size=most))


def history_of(made, past=7):
    """Batches with outcomes; features as picked are any numbers, as nothing else may be learned from."""
    history, batch, outcomes = [], [], []
    for n, (act, node, why, other, hits, links, last) in enumerate(made):
        asked = Node(-1 - node % 2 if act == "search" else node)
        x = tuple(float(compute_worth(n * (place + 1) % 11)) / 3.0 for place in range(len(COLUMNS)))
        batch.append(Pick(n, asked, act, 0.0, () if act != "expand" else (np.inf, *x[1:]) if n % past == 0 else x))
        missing = SameAs(other) if why == "same-as" else why
        found = not missing or act == "search"
        targets = np.array(list(links) if found else [], np.int64)
        alpha = np.array([compute_worth(x) for x in links.values()] if found else [], np.float64)
        value = compute_worth(hits) if missing is None else 0.0
        outcomes.append(Outcome(n, asked, AT, value, targets, alpha, missing, 2, hits))
        if last or n == len(made) - 1:
            history.append((tuple(batch), outcomes))
            batch, outcomes = [], []
    return history


def absorbed(name, history, shadows=()):
    by = crawl(name, shadows)
    for batch, outcomes in history:
        by.absorb(batch, outcomes)
    return by


def bits(array):
    return array.dtype, array.tobytes()


def state(by):
    """Everything that a crawl has learned."""
    graph, size = by.graph, by.graph.size
    rows = np.arange(size)
    out = [tuple(bits(part) for part in graph.list_links(row)) for row in range(size)]
    seen = (
        graph.size,
        graph.left,
        graph.list_fetched().tolist(),
        graph.frontier().tolist(),
        graph.nodes().tolist(),
        out,
    )
    told = [[(a.hex()) for a in graph.features(row)] for row in range(size)]
    line = (by.seeds.queries, by.seeds.unresolved, by.seeds.ready, by.seeds.asked, by.seeds.missing, by.seeds.failures)
    own = (by.picks, by.taken, by.relevance.hex(), by.seed_relevance.hex(), by.imported, by.failures, by.captured)
    names = [graph.row(Node(node)) for node in range(NODES) if node < len(graph._next_of)]
    resting = list(by.resting.items())
    everybody = [mind(by, one) for one in by.company.all]
    return seen, told, line, own, resting, everybody, names, bits(graph.value(rows))


def mind(by, estimator):
    """Everything that one of the estimators has learned, and what it thinks now."""
    scores = bits(estimator.score(by.graph, by.graph.frontier(), by.taken))
    learner = getattr(estimator, "then", estimator)
    moments = getattr(learner, "moments", None)
    sums = (moments.rows, moments.first, moments.second) if moments else None
    cash = bits(estimator.accounts.get_cash(np.arange(by.graph.size))) if hasattr(estimator, "accounts") else None
    return scores, sums, cash, *(getattr(estimator, name, None) for name in ("weights", "means", "rows"))


def following(by, picks=20):
    """The next choices, each answered in the same way."""
    chosen = []
    while len(chosen) < picks and not isinstance(batch := by.choose(2, 0.0), Stop):
        chosen += [(pick.n, pick.node, pick.act, pick.score.hex(), pick.x, repr(pick.shadows)) for pick in batch]
        targets = [np.array([(pick.node * 5 + 3) % 40 + 40, (pick.node * 3 + 1) % 40], np.int64) for pick in batch]
        found = zip(batch, targets, strict=True)
        by.absorb(batch, [Outcome(p.n, p.node, 0.0, compute_worth(p.n % 4), t, np.array([1.0, 2.5])) for p, t in found])
    return chosen, batch if isinstance(batch, Stop) else None


def sensible(name, history, shadows=()):
    """Whether the history can be absorbed at all: links to one node under two names may not be, nor seeds of nobody."""
    try:
        return absorbed(name, history, shadows)
    except (ValueError, IndexError):
        return None


@contextmanager
def chunks_of(picks, few=0):
    """Read and fold a few picks at a time, and nothing one by one for want of others."""
    before = bulk_fold.CHUNK, stored.CHUNK, bulk_fold.FEW
    bulk_fold.CHUNK = stored.CHUNK = picks
    bulk_fold.FEW = few
    try:
        yield
    finally:
        bulk_fold.CHUNK, stored.CHUNK, bulk_fold.FEW = before


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=35)
@given(events(), st.sampled_from([3, 10, 1000]))
def test_a_history_folded_at_once_is_the_one_absorbed_pick_by_pick(name, made, chunk):
    history = history_of(made)
    if (lived := sensible(name, history)) is None:
        return
    folded = crawl(name)
    with chunks_of(chunk):
        folded.fold(history)
    assert state(folded) == state(lived)
    assert following(folded) == following(lived)
    assert state(folded) == state(lived)


COMPANY = (
    ("bfs", "nh-n-max"),
    ("adaptive", "lnh-sum"),
    ("lnh-sum",),
    ("hybrid-max", "nh-ne-sum", "lnh-wide"),
    ("opic-n", "lnh-avg"),
)


@pytest.mark.parametrize("name", ["bfs", "nh-ne-sum", "hybrid-sum", "opic"])
@settings(deadline=None, max_examples=35)
@given(events(), st.sampled_from([3, 10, 1000]), st.sampled_from(COMPANY), st.integers(0, 5))
def test_those_who_look_on_learn_at_once_what_they_learn_pick_by_pick(name, made, chunk, shadows, forgotten):
    history = without_features(history_of(made), forgotten)
    if (lived := sensible(name, history, shadows)) is None:
        return
    folded = crawl(name, shadows)
    with chunks_of(chunk):
        folded.fold(history)
    assert state(folded) == state(lived)
    assert following(folded) == following(lived)


def without_features(history, every):
    """The history after the features of some of its picks were forgotten, as a change of topic does it; 0: of none."""
    return [
        (tuple(replace(pick, x=()) if every and pick.n % (every + 1) else pick for pick in batch), outcomes)
        for batch, outcomes in history
    ]


@pytest.mark.parametrize("name", ["hybrid-sum", "lnh-wide", "nh-ne-sum"])
@pytest.mark.parametrize("shadows", [(), ("lnh-avg", "bfs")])
@pytest.mark.parametrize("kind", ["list", "memory", "sqlite", "postgres"])
def test_features_that_are_not_known_any_more_are_those_of_the_graph_just_before(kind, shadows, name):
    lived = crawl(name, shadows)
    lived.seeds.queries, lived.seeds.unresolved, lived.seeds.ready = [], [], [Node(0)]
    history = []
    for n in range(60):  # one at a time, so that the features as picked are those just before
        (pick,) = batch = lived.choose(1, 0.0)
        targets = np.array([(pick.node * 7 + 3) % 90 + 1, (pick.node * 5 + n) % 70 + 100], np.int64)
        found = Outcome(n, pick.node, AT, compute_worth(n % 5), targets, np.array([compute_worth(n % 3), 1.5]))
        outcomes = [Outcome(n, pick.node, AT, missing="deleted") if n % 11 == 5 else found]
        lived.absorb(batch, outcomes)
        history.append((batch, outcomes))
    past = [
        (tuple(replace(p, x=(), shadows=()) for p in batch) if batch[0].n < 35 else batch, o) for batch, o in history
    ]
    for few in (0, 8):
        folded = crawl(name, shadows)
        folded.seeds.queries, folded.seeds.unresolved, folded.seeds.ready = [], [], [Node(0)]
        with history_in(kind, past) as kept, chunks_of(16, few):
            folded.fold(kept)
        assert state(folded) == state(lived)
        assert any(mind(lived, one)[1] for one in lived.company.all) == lived.company.learns
    assert following(folded) == following(lived)


@contextmanager
def history_in(kind, history):
    if kind == "list":
        yield history
        return
    with a_store(kind) as store:
        for batch, outcomes in history:
            store.open(batch)
            store.finish(batch, outcomes)
        yield reopened(store).history()


def test_a_pick_whom_nobody_is_known_to_have_linked_to_is_learned_from_too():
    history = history_of([("expand", 9000 + n, None, 0, n % 3, {n + 20: 1}, True) for n in range(12)])
    history = without_features(history, 1)
    folded, lived = crawl("lnh-sum"), absorbed("lnh-sum", history)
    folded.fold(history)
    assert state(folded) == state(lived)
    assert lived.estimator.moments.rows == 12
    kept = [pick.x for batch, _ in history for pick in batch if pick.x]
    wanted = [sum(x[COLUMNS.index(of)] for x in kept) for of in ("n_sum", "e_sum", "ne_sum")]
    assert [part / SCALE for part in lived.estimator.moments.first[:3]] == pytest.approx(wanted), "others have nothing"


def test_a_link_to_itself_under_another_name_is_not_yet_there_when_it_is_learned_from():
    made = [("expand", 1, None, 0, 5, {2: 1, 3: 1}, True), ("expand", 3, "same-as", 2, 0, {}, True)]
    history = history_of([*made, ("expand", 2, None, 0, 4, {3: 1, 4: 1}, True)], past=99)
    bare = [((replace(pick, x=() if pick.n == 2 else pick.x),), outcomes) for (pick,), outcomes in history]
    folded, lived = crawl("lnh-sum"), absorbed("lnh-sum", bare)
    folded.fold(bare)
    assert state(folded) == state(lived)
    first = [history[0][0][0].x[COLUMNS.index(of)] for of in ("n_sum", "e_sum", "ne_sum")]
    then = [2 * compute_worth(5), 2.0, 2 * compute_worth(5)]  # both links of 1, which is worth 1 + ln 5
    wanted = [a + b for a, b in zip(first, then, strict=True)]
    assert [part / SCALE for part in lived.estimator.moments.first[:3]] == pytest.approx(wanted)


@settings(deadline=None, max_examples=20)
@given(events(most=30), st.sampled_from(["hybrid-sum", "nh-ne-sum", "opic"]), st.sampled_from([2, 7, 1000]))
def test_a_database_and_the_memory_fold_to_the_same_state(made, name, chunk):
    history = history_of(made)
    if (lived := sensible(name, history)) is None:
        return
    for kind in ("memory", "sqlite", "postgres"):
        with a_store(kind) as store, chunks_of(chunk):
            for batch, outcomes in history:
                store.open(batch)
                store.finish(batch, outcomes)
            folded = crawl(name)
            folded.fold(reopened(store).history())
            assert state(folded) == state(lived), kind


@settings(deadline=None, max_examples=20)
@given(events(most=25), st.sampled_from([1, 4, 1000]))
def test_columns_of_a_database_are_its_batches(made, chunk):
    history = history_of(made)
    with a_store("sqlite") as store, chunks_of(chunk):
        for batch, outcomes in history:
            store.open(batch)
            store.finish(batch, outcomes)
        kept = store.history()
        assert [batch for batch, _ in kept] == [batch for batch, _ in history]
        for (_, before), (_, after) in zip(history, kept, strict=True):
            assert [replace(o, targets=None, alpha=None) for o in before] == [
                replace(o, targets=None, alpha=None) for o in after
            ]
            assert [(bits(o.targets), bits(o.alpha)) for o in before] == [
                (bits(o.targets), bits(o.alpha)) for o in after
            ]
        lean = list(kept.columns(features=False, rest=False))
        assert all(part.x is None and part.score is None and part.at is None for part in lean)
        assert np.concatenate([part.n for part in lean]).tolist() == list(range(len(made)))


SMALL = st.floats(0.0, 1e6, allow_subnormal=False)


@settings(deadline=None, max_examples=many(70))
@given(
    st.lists(
        st.tuples(
            st.integers(0, 30),
            SMALL,
            st.dictionaries(st.integers(0, 30), SMALL, max_size=8),
            st.booleans(),
            st.booleans(),
        ),
        min_size=1,
        max_size=25,
        unique_by=lambda one: one[0],
    ),
    st.integers(0, 25),
    st.lists(st.integers(0, 30), max_size=3),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=4),
    st.integers(1, 25),
)
def test_nodes_added_at_once_are_those_added_one_by_one(made, before, seeds, same, piece):
    one, all_ = CrawlGraph(), CrawlGraph()
    for graph in (one, all_):
        for seed in seeds:
            graph.seed(Node(seed))
    for place, (node, value, links, there, root) in enumerate(made):
        for graph in (one, all_) if place < before else (one,):
            one_by_one(graph, node, value, links, there, root)
        for alias, known in same if place == before - 1 else ():
            for graph in (one, all_):
                graph.drop(Node(alias))
                graph.merge(Node(alias), Node(known))
    for begin in range(before, len(made), piece):
        rest = made[begin : begin + piece]
        rows = all_.extend(additions(rest))
        if rows is None:  # one of them was fetched under its other name
            for some in rest:
                one_by_one(all_, *some)
        else:
            assert rows.tolist() == [one.row(Node(node)) for node, *_ in rest]
            assert set(all_.take_changes().tolist()) >= set(rows.tolist())
    assert one.nodes().tolist() == all_.nodes().tolist()
    assert (one.left, one.frontier().tolist()) == (all_.left, all_.frontier().tolist())
    assert [one.features(row) for row in range(one.size)] == [all_.features(row) for row in range(one.size)]
    assert one.list_fetched().tolist() == all_.list_fetched().tolist()
    for row in range(one.size):
        assert [bits(part) for part in one.list_links(row)] == [bits(part) for part in all_.list_links(row)]


def one_by_one(graph, node, value, links, *there_and_root):
    there, root = there_and_root
    if there and root:
        graph.seed(Node(node))
    if there:
        graph.add(Node(node), value, np.array(list(links), np.int64), np.array(list(links.values())))
    else:
        graph.drop(Node(node))


def additions(some):
    return Additions(
        np.array([node for node, *_ in some], np.int64),
        np.array([value for _, value, *_ in some]),
        np.cumsum([0, *(len(links) for _, _, links, *_ in some)]),
        np.array([v for _, _, links, *_ in some for v in links], np.int64),
        np.array([alpha for _, _, links, *_ in some for alpha in links.values()]),
        np.array([there for *_, there, _ in some], bool),
        np.array([there and root for *_, there, root in some], bool),
    )


def many(nodes, links, **more):
    """Additions of nodes that all have the same links."""
    size = len(nodes)
    given_ = {
        "nodes": np.array(nodes, np.int64),
        "value": np.ones(size),
        "offsets": np.arange(size + 1) * len(links),
        "targets": np.tile(np.array(links, np.int64), size),
        "alpha": np.ones(size * len(links)),
        "fetched": np.ones(size, bool),
        "root": np.zeros(size, bool),
    }
    return Additions(**given_ | more)


@pytest.mark.parametrize(
    "wrong",
    [
        many([1, 2], [3, 3]),
        many([1, 2, 1], [3]),
        many([0, 2], [3]),
        many([1, 2], [3], value=np.array([1.0, -1.0])),
        many([1, 2], [3], value=np.array([1.0, np.nan])),
        many([1, 2], [3], alpha=np.array([1.0, np.inf])),
        many([1, -2], [3]),
        many([1, 2], [-3]),
    ],
)
def test_what_has_to_be_looked_at_by_itself_is_not_added_at_once_and_leaves_no_trace(wrong):
    graph = CrawlGraph()
    graph.add(Node(0), 1.0, np.array([7, 8]), np.array([1.0, 2.0]))
    assert graph.extend(wrong) is None
    assert (graph.nodes().tolist(), graph.left, graph.list_fetched().tolist()) == ([0, 7, 8], 2, [0])


@settings(deadline=None, max_examples=35)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.booleans()), min_size=40, max_size=90))
def test_nodes_that_fail_for_a_while_rest_and_wake_inside_a_stretch(made):
    whys = (None, "temporary", "temporary")
    history = history_of([("expand", node, whys[why], 0, 1, {(node + 1) % 6: 1}, last) for node, why, last in made])
    folded, lived = crawl("nh-ne-sum"), absorbed("nh-ne-sum", history)
    with chunks_of(1000):
        folded.fold(history)
    assert state(folded) == state(lived)


def test_a_node_that_woke_and_was_picked_again_in_one_stretch_is_closed():
    made = [
        ("expand", n if n != 30 else 0, "temporary" if n == 0 else None, 0, 1, {n + 100: 1}, True) for n in range(60)
    ]
    history = history_of(made)
    folded, lived = crawl("nh-ne-sum"), absorbed("nh-ne-sum", history)
    folded.fold(history)
    assert not folded.graph.is_open(np.array([folded.graph.row(Node(0))]))[0]
    assert state(folded) == state(lived)


def test_two_names_of_one_node_in_one_list_of_links_are_one_link_at_once_too():
    one, all_ = CrawlGraph(), CrawlGraph()
    made = [(7, 2.0, {3: 1.5, 5: 0.1, 4: 0.2}, True, True), (8, 1.0, {4: 2.5, 3: 1.0}, True, False)]
    for graph in (one, all_):
        graph.drop(Node(4))
        graph.merge(Node(4), Node(3))
    for some in made:
        one_by_one(one, *some)
    assert all_.extend(additions(made)) is not None
    assert all_.features(all_.row(Node(3)))[1] == 2.0
    assert [all_.features(row) for row in range(all_.size)] == [one.features(row) for row in range(one.size)]


def test_a_shorter_way_is_handed_on_through_nodes_that_were_added_at_once_and_one_by_one():
    graph, size = CrawlGraph(), 12
    graph.seed(Node(0))
    for begin in range(1, size, 2):  # a road without a beginning, in many pieces, some of them single
        pair = [(n, 1.0, {n + 1: 1.0}, True, False) for n in (begin, begin + 1)]
        one_by_one(graph, *pair[0])
        assert graph.extend(additions(pair[1:])) is not None
    assert graph.features(graph.row(Node(size)))[0] == np.inf
    assert graph.extend(additions([(0, 1.0, {1: 1.0}, True, False), (50, 1.0, {size: 1.0}, True, False)])) is not None
    assert [graph.features(graph.row(Node(n)))[0] for n in range(size + 1)] == list(range(size + 1))


def test_a_history_that_makes_no_sense_is_refused_as_pick_by_pick():
    history = history_of([("expand", 1, None, 0, 2, {2: 1}, True), ("expand", 2, None, 0, 2, {3: 1}, True)])
    broken = replace(history[1][1][0], value=-1.0)
    with chunks_of(100), pytest.raises(ValueError, match="node 2: values and weights"):
        crawl("bfs").fold([history[0], (history[1][0], [broken])])


def test_most_of_a_history_is_folded_at_once(monkeypatch):
    whys = ["temporary" if n % 9 == 0 else "deleted" if n % 7 == 0 else None for n in range(200)]
    made = [("expand", n, why, 0, n % 3, {n + 1: 1, n + 5: 2}, True) for n, why in enumerate(whys)]
    added = []
    monkeypatch.setattr(CrawlGraph, "add", lambda graph, node, *_: added.append(node))
    by = crawl("nh-ne-sum")
    by.fold(history_of(made))
    assert added == []
    assert by.graph.left > 0


@pytest.mark.parametrize("scale", [1.0, 1e-20, 1e100, 1e180, 1e-60])
def test_many_rows_are_summed_exactly_as_one_by_one(scale):
    rng = np.random.default_rng(5)
    x, y = (1 + np.log(rng.integers(1, 99, (700, 3)))) * scale, (1 + np.log(rng.integers(1, 9, 700))) * scale
    x[::7] /= 3
    y[::3] = 0
    x[5] *= -1
    at_once, one_by_one = Moments(3), Moments(3)
    at_once.add(x, y)
    for i in range(len(y)):
        one_by_one.add(x[i : i + 1], y[i : i + 1])
    assert (at_once.rows, at_once.first, at_once.second) == (one_by_one.rows, one_by_one.first, one_by_one.second)


def test_rows_of_nothing_and_rows_that_no_limbs_reach_are_summed_too():
    for y in (np.zeros(40), np.array([1e60, *[1e-40] * 39])):
        at_once, one_by_one = Moments(1), Moments(1)
        at_once.add(y[:, None], y)
        for value in y:
            one_by_one.add(np.array([[value]]), np.array([value]))
        assert (at_once.rows, at_once.first, at_once.second) == (one_by_one.rows, one_by_one.first, one_by_one.second)


def test_an_imported_account_is_at_distance_0_and_neither_a_step_nor_a_seed():
    by = crawl("bfs")
    by.fold(history_of([("import", 1, None, 0, 2, {2: 1, 3: 0}, True)]))
    row = by.graph.row(Node(1))
    assert (by.graph.features(row)[0], by.graph.features(by.graph.row(Node(2)))[0]) == (0.0, 1.0)
    assert (by.picks, by.taken, by.relevance, by.seed_relevance, by.imported, by.seeds.asked) == (1, 0, 0.0, 0.0, 1, {})
    by.seeds.queries, by.seeds.unresolved = [], []
    assert [pick.node for pick in by.choose(5, 0.0)] == [2, 3]


@pytest.mark.parametrize("few", [0, 100])
@pytest.mark.parametrize("order", ["before", "after"])
def test_an_imported_account_is_not_asked_again_as_a_seed(monkeypatch, few, order):
    monkeypatch.setattr(bulk_fold, "FEW", few)
    by = Collect(Seeds([Node(-1)], [Node(1)], None), make_estimator("nh-n-sum", seed=1), None)
    searched = ((Pick(0, Node(-1), "search"),), [Outcome(0, Node(-1), AT, 0.0, np.array([2, 1, 3]), np.zeros(3))])
    brought = [
        ((Pick(n, Node(node), "import"),), [Outcome(n, Node(node), AT, 2.0, np.array([9]), np.array([1.0]))])
        for n, node in ((1, 1), (2, 2))
    ]
    renamed = [(Pick(n, pick.node, pick.act), replace(outcome, n=n)) for n, ((pick,), (outcome,)) in enumerate(brought)]
    late = ((Pick(2, Node(-1), "search"),), [replace(searched[1][0], n=2)])
    history = [searched, *brought] if order == "before" else [*(((p,), [o]) for p, o in renamed), late]
    by.fold(history)
    asked = [pick.node for pick in by.choose(9, 0.0)]
    assert asked == [3]
    assert by.graph.column("n_sum", np.array([by.graph.row(Node(9))])).tolist() == [4.0]


def links_of(columns):
    return [(part.offsets.tolist(), part.targets.tobytes(), part.alpha.tobytes()) for part in columns]


@pytest.mark.parametrize("where", ["sqlite", "postgres"])
@settings(deadline=None, max_examples=8)
@given(events(), st.sampled_from([3, 50]), st.booleans())
def test_links_that_a_second_process_reads_are_the_same(where, made, piece, fails):
    history = history_of(made)
    with a_store(where) as store, pytest.MonkeyPatch.context() as patched:
        for batch, outcomes in history:
            store.open(batch)
            store.finish(batch, outcomes)
        patched.setattr(stored, "CHUNK", 11)
        alone = links_of(store.history().columns())
        patched.setattr(linked, "LONG", 0)
        patched.setattr(linked, "PIECE", piece)
        begun = []
        patched.setattr(
            linked.subprocess, "Popen", lambda *words, **more: begun.append(Popen(*words, **more)) or begun[-1]
        )
        if fails:
            patched.setattr(linked, "SERVE", linked.SERVE.replace("serve(", "raise SystemExit; serve("))
        assert links_of(store.history().columns()) == alone
        assert all(process.returncode is not None for process in begun), "nothing outlives the reading"
        assert bool(begun) == bool(history)


def test_weights_that_are_not_of_few_occurrences_come_back_bit_for_bit(database):
    alpha = np.array(
        [
            0.0,
            1.0,
            compute_worth(2),
            compute_worth(62),
            compute_worth(63),
            compute_worth(10**9),
            0.1,
            1e300,
            np.nextafter(1.0, 2.0),
            5e-324,
        ]
    )
    with a_store(database) as store:
        batch = (Pick(0, Node(0), "expand", 0.0, (1.0,) * len(COLUMNS)),)
        store.open(batch)
        store.finish(batch, [Outcome(0, Node(0), AT, 1.0, np.arange(1, 1 + len(alpha)) * 10**11, alpha)])
        ((_, (outcome,)),) = store.history()
        assert outcome.alpha.tobytes() == alpha.tobytes()
        assert outcome.targets.tolist() == [n * 10**11 for n in range(1, 1 + len(alpha))]
