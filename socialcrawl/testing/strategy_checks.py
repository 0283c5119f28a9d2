"""The contract of a strategy, as checks."""

from collections.abc import Callable
from typing import Any

import numpy as np

from socialcrawl.crawls.collect.estimators.linear import Linear, list_first_order
from socialcrawl.crawls.collect.ranking import Ranking
from socialcrawl.crawls.collect.strategies import find_strategy_fault
from socialcrawl.testing.crawl_driver import (
    GRAPHS,
    Make,
    assert_only,
    check_fold,
    drive,
    list_steps,
    make_collect,
    wrap_strategy,
)
from socialcrawl.testing.estimator_checks import grow_graph


def make_frontier(fetched: int = 25) -> Ranking:
    """Return a frontier whose scores are those of a linear estimator, which can be negative and can be equal."""
    estimator = Linear(list_first_order("sum"))
    return Ranking(grow_graph(estimator, fetched), estimator)


def _name(made: Any) -> str:
    return type(made).__name__


def check_method(make: Make) -> None:
    """Check that the class has `pick(frontier, size, n)`."""
    fault = find_strategy_fault("", type(make()))
    assert not fault, f"The class {_name(make())} {fault}."


def check_picks(make: Make) -> None:
    """Check that picks are rows of the frontier, each once, as many as are wanted and there, with their scores."""
    for fetched in (1, 2, 25):
        for size in (1, 2, 5, 1000):
            frontier = make_frontier(fetched)
            rows, scores = wrap_strategy(make()).pick(frontier, size, fetched)
            there, said = frontier.list_all(fetched)
            assert len(rows) == min(size, len(there)), (
                f"{_name(make())}.pick returns {len(rows)} rows where {size} are wanted and {len(there)} are there."
            )
            known = dict(zip(there.tolist(), said.tolist(), strict=True))
            assert [known.get(row) for row in rows.tolist()] == np.asarray(scores).tolist(), (
                f"{_name(make())}.pick returns other scores than those of the rows that it picked."
            )


def check_picking_changes_nothing(make: Make) -> None:
    """Check that picking twice gives the same, and that two fresh strategies agree."""
    for size in (1, 3):
        made, frontier = make(), make_frontier()
        picks = [np.asarray(one.pick(frontier, size, 12)[0]).tolist() for one in (made, made, make())]
        assert picks[0] == picks[1] == picks[2], (
            f"{_name(made)}.pick says another thing the second time: {picks}. It must keep nothing, and draw random "
            "numbers with socialcrawl's `draw_uniform`, keyed by the seed and the step."
        )


def check_folding_picks(make: Make) -> None:
    """Check that crawls are the same again, read no node twice, and continue with the same picks after a fold."""
    for drawn in GRAPHS:
        for size in (1, 3):

            def begin(drawn: Any = drawn) -> Any:
                return make_collect(drawn, Linear(list_first_order("sum")), make())

            first, second = (drive(begin(), drawn, size) for _ in range(2))
            assert [batch for batch, _ in first] == [batch for batch, _ in second], (
                f"Two crawls with {_name(make())} differ."
            )
            steps = list_steps(first)
            assert len(steps) == len(set(steps)), f"A crawl with {_name(make())} reads a node twice."
            check_fold(begin, drawn, _name(make()), size)


STRATEGY_CHECKS: tuple[Callable[[Make], None], ...] = assert_only(
    check_method,
    check_picks,
    check_picking_changes_nothing,
    check_folding_picks,
)
"""All checks of a strategy; each is given what makes a fresh one."""
