"""The contract of an estimator, as checks."""

from collections.abc import Callable
from typing import Any

import numpy as np

from socialcrawl.crawls.collect.estimators.added import find_estimator_fault
from socialcrawl.crawls.collect.estimators.base import Estimator, Floats
from socialcrawl.engine.model import Node
from socialcrawl.graph.graph import CrawlGraph, Rows
from socialcrawl.graph.relevance import compute_worth
from socialcrawl.testing.crawl_driver import (
    GRAPHS,
    Make,
    assert_only,
    check_fold,
    drive,
    list_steps,
    make_collect,
    wrap_estimator,
)


def grow_graph(estimator: Any, fetched: int = 25, seed: int = 1) -> CrawlGraph:
    """Return a graph with a frontier, and teach an estimator all that a crawl would have told it on the way.

    Args:
        estimator: what is taught.
        fetched: how many nodes have been fetched.
        seed: of the random draws.
    """
    draw, told = np.random.default_rng(seed), wrap_estimator(estimator)
    graph = CrawlGraph()
    graph.seed(Node(0))
    told.sow(graph, np.array([0]))
    for step in range(fetched):
        node = Node(0) if step == 0 else graph.node(int(draw.choice(graph.frontier())))
        x, value = graph.features(graph.row(node)), compute_worth(int(draw.integers(0, 9)))
        alpha = np.array([compute_worth(int(hits)) for hits in draw.integers(0, 4, 6)])
        row = graph.add(node, value, draw.choice(60, 6, replace=False), alpha)
        told.note_fetched(graph, row)
        if step:
            told.learn(np.array([x]), np.array([value]))
    return graph


def _name(made: Any) -> str:
    return type(made).__name__


def _score(made: Any, graph: CrawlGraph, rows: Rows, n: int) -> Floats:
    scores: Floats = wrap_estimator(made).score(graph, rows, n)
    return scores


def check_methods(make: Make) -> None:
    """Check that the class has `score`, and that its methods can be called as campaigns call them."""
    fault = find_estimator_fault("", type(make()))
    assert not fault, f"The class {_name(make())} {fault}."


def check_scores(make: Make) -> None:
    """Check that scores are one finite float64 for each row: before anything is learned, later, and of no rows."""
    for fetched in (1, 2, 25):
        made = make()
        graph = grow_graph(made, fetched)
        for rows in (graph.frontier(), graph.frontier()[:1], np.empty(0, np.int64)):
            scores = np.asarray(made.score(graph, rows, fetched))
            assert scores.dtype.kind in "fiu", f"{_name(made)}.score returns {scores.dtype}, not float64."
            assert scores.shape == rows.shape, (
                f"{_name(made)}.score returns shape {scores.shape} for {len(rows)} rows, not ({len(rows)},)."
            )
            assert np.isfinite(scores).all(), (
                f"{_name(made)}.score returns numbers that are not finite after {fetched} steps: {scores.tolist()}."
            )


def check_scoring_changes_nothing(make: Make) -> None:
    """Check that scoring changes neither the estimator nor the graph, and that the caller may keep the scores."""
    made, other = make(), make()
    graph, same = grow_graph(made), grow_graph(other)
    rows = graph.frontier()
    before = graph.columns(("depth", "links", "n_sum", "e_sum", "ne_sum"), rows).copy()
    first = np.array(_score(made, graph, rows, 30))
    for n in (0, 7, 30):
        _score(made, graph, rows, n)[...] = -1.0  # whoever asked may write into what came
        _score(made, graph, rows[:2], n)
    _score(made, graph, rows, 30)[...] = -1.0
    again = _score(made, graph, rows, 30)
    assert np.array_equal(first, again), (
        f"{_name(made)}.score says another thing the second time: it must learn nothing."
    )
    assert np.array_equal(before, graph.columns(("depth", "links", "n_sum", "e_sum", "ne_sum"), rows)), (
        f"{_name(made)}.score changes the graph: it may read it only."
    )
    assert np.array_equal(again, _score(other, same, rows, 30)), (
        f"{_name(made)} scores otherwise after it was asked more often: only `learn`, `sow` and `note_fetched` may "
        "change it."
    )


def check_scores_of_rows_alone(make: Make) -> None:
    """Check that the score of a row does not depend on the other rows, nor on their order.

    Every estimator needs it, with terms or without: equal accounts score alike, whatever else is in the frontier.
    Numbers drawn for each position break it, and so does `X @ w`, which can round differently for more rows.
    """
    made = make()
    graph = grow_graph(made)
    rows = graph.frontier()
    scores, mixed = np.array(_score(made, graph, rows, 4)), np.random.default_rng(2).permutation(len(rows))
    assert np.array_equal(_score(made, graph, rows[mixed], 4), scores[mixed]), (
        f"{_name(made)}.score depends on the order of the rows."
    )
    assert np.array_equal(_score(made, graph, rows[2:3], 4), scores[2:3]), (
        f"{_name(made)}.score of one row depends on which others are scored with it."
    )


def check_terms(make: Make) -> None:
    """Check that terms, where there are any, are the scores, and that a crawl by them picks what a full scan picks."""
    made = make()
    graph = grow_graph(made)
    rows = graph.frontier()
    if (terms := wrap_estimator(made).get_terms(9)) is not None:
        said = terms.combine(terms.values(graph, rows))
        assert np.array_equal(said, _score(made, graph, rows, 9)), (
            f"{_name(made)}.get_terms says another score than {_name(made)}.score; they must agree bit for bit."
        )
    for drawn in GRAPHS:
        by_terms = list_steps(drive(make_collect(drawn, make()), drawn))
        scanned = make_collect(drawn, make())
        scanned.estimator.get_terms = lambda n: None  # type: ignore[method-assign]
        assert by_terms == list_steps(drive(scanned, drawn)), (
            f"A crawl by the terms of {_name(made)} picks other nodes than one by its scores. Values of terms may "
            "change only where the graph changes."
        )


def check_repeating(make: Make) -> None:
    """Check that two crawls with fresh estimators are the same, bit for bit, and read every node in reach once."""
    for drawn in GRAPHS:
        for size in (1, 3):
            first, second = (drive(make_collect(drawn, make()), drawn, size) for _ in range(2))
            assert [batch for batch, _ in first] == [batch for batch, _ in second], (
                f"Two crawls with {_name(make())} differ. Draw random numbers with `draw_uniform`, keyed by the seed "
                "and the step, or seed your generator in the constructor."
            )
            steps = list_steps(first)
            assert len(steps) == len(set(steps)), f"A crawl with {_name(make())} reads a node twice."


def check_folding(make: Make) -> None:
    """Check that what is learned is a fold: a crawl that reads its history again continues with the same picks."""
    for drawn in GRAPHS:
        for size in (1, 3):
            check_fold(lambda drawn=drawn: make_collect(drawn, make()), drawn, _name(make()), size)  # type: ignore[misc]


def check_shadowing(make: Make) -> None:
    """Check that as a shadow the estimator thinks of each pick what it would think had it learned from that alone."""
    for drawn in GRAPHS:
        by = make_collect(drawn, _Breadth())
        shadow = wrap_estimator(make())
        watched = make_collect(drawn, _Breadth())
        watched.company = type(watched.company)(watched.estimator, {"watcher": shadow})
        plain, shadowed = drive(by, drawn), drive(watched, drawn)
        assert [batch for batch, _ in plain] == [batch for batch, _ in shadowed], (
            f"{_name(make())} as a shadow changes what another estimator picks."
        )
        scores = [pick.shadows for batch, _ in shadowed for pick in batch if pick.shadows]
        assert len(scores) == len(list_steps(shadowed)), f"{_name(make())} has no score for some picks."


class _Breadth(Estimator):
    """The nodes nearest to the seeds first."""

    def score(self, graph: CrawlGraph, rows: Rows, n: int) -> Floats:
        return -graph.column("depth", rows)


ESTIMATOR_CHECKS: tuple[Callable[[Make], None], ...] = assert_only(
    check_methods,
    check_scores,
    check_scoring_changes_nothing,
    check_scores_of_rows_alone,
    check_terms,
    check_repeating,
    check_folding,
    check_shadowing,
)
"""All checks of an estimator; each is given what makes a fresh one."""
