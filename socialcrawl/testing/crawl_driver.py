"""Crawls on known graphs, driven by hand: what the checks of the test kit compare."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators.added import AddedEstimator
from socialcrawl.crawls.collect.estimators.base import Estimator
from socialcrawl.crawls.collect.strategies import AddedStrategy, Strategy
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.model import Act, Node, Outcome, Pick, Stop, Wait
from socialcrawl.engine.protocols import Batch, Crawl
from socialcrawl.system.plugins import describe_error
from socialcrawl.testing.known_graphs import KNOWN_GRAPHS, DrawnGraph, draw_random

Make = Callable[[], Any]
"""What returns a fresh object at each call: a class, or a function without arguments."""
Steps = list[tuple[Batch, list[Outcome]]]
"""A history: batches with their outcomes."""
OWN = "socialcrawl.crawls."
GRAPHS = (*KNOWN_GRAPHS.values(), draw_random())


def assert_only(*checks: Callable[[Make], None]) -> tuple[Callable[[Make], None], ...]:
    """Return the checks, which raise only AssertionError: other errors, as of a failing method, become its sentence."""
    return tuple(map(_raise_assertions, checks))


def _raise_assertions(check: Callable[[Make], None]) -> Callable[[Make], None]:
    @wraps(check)
    def run(make: Make) -> None:
        try:
            check(make)
        except AssertionError:
            raise
        except Exception as error:  # whatever an object of another package raises
            raise AssertionError(f"{check.__name__}: {describe_error(error)}.") from error

    return run


def wrap_estimator(made: Any) -> Estimator:
    """Return an estimator as campaigns use it: one of another package is guarded."""
    own = type(made).__module__.startswith(OWN)
    return made if own else AddedEstimator(type(made).__name__, made)


def wrap_strategy(made: Any) -> Strategy:
    """Return a strategy as campaigns use it: one of another package is guarded."""
    strategy: Strategy = made if type(made).__module__.startswith(OWN) else AddedStrategy(type(made).__name__, made)
    return strategy


def make_collect(graph: DrawnGraph, estimator: Any, strategy: Any = None) -> Collect:
    """Return a crawl that has learned nothing yet, whose seeds are those of a graph."""
    seeds = Seeds(names=[Node(node) for node in graph.seeds], known=True)
    choice = None if strategy is None else wrap_strategy(strategy)
    return Collect(seeds, wrap_estimator(estimator), None, strategy=choice)


def answer(graph: DrawnGraph, pick: Pick) -> Outcome:
    """Return what the graph says of a pick. Looking an account up finds the account itself."""
    if pick.act == Act.RESOLVE:
        return Outcome(pick.n, pick.node, 0.0, targets=np.array([pick.node], np.int64), alpha=np.zeros(1))
    links = graph.links[pick.node]
    targets, alpha = np.array(list(links), np.int64), np.array(list(links.values()), np.float64)
    return Outcome(pick.n, pick.node, 0.0, float(graph.beta[pick.node]), targets, alpha, posts=1)


def drive(crawl: Crawl, graph: DrawnGraph, size: int = 1, most: int = 200) -> Steps:
    """Drive a crawl on a graph until it stops or has made `most` picks; return its history.

    Each batch is chosen twice, to see that choosing changes nothing.

    Args:
        crawl: the crawl.
        graph: what it reads.
        size: the picks of a batch.
        most: the most picks.
    """
    history: Steps = []
    picks, now = 0, 0.0
    while picks < most:
        batch = crawl.choose(size, now)
        again = crawl.choose(size, now)
        assert again == batch, f"choosing twice gives two decisions: {batch} and {again}; choosing must change nothing."
        if isinstance(batch, Stop):
            break
        if isinstance(batch, Wait):
            assert batch.until > now, f"the crawl waits for {batch.until}, which is not after {now}."
            now = batch.until
            continue
        outcomes = [answer(graph, pick) for pick in batch]
        crawl.absorb(batch, outcomes)
        history.append((batch, outcomes))
        picks += len(batch)
    return history


def list_steps(history: Steps) -> list[int]:
    """Return the nodes of all picks that are no seeds and no look-ups, in order."""
    return [int(pick.node) for batch, _ in history for pick in batch if pick.act not in (Act.SEED, Act.RESOLVE)]


def replay(graph: DrawnGraph, estimator: Any, strategy: Any = None, *, size: int = 1, most: int = 200) -> Sequence[int]:
    """Return the nodes that a crawl reads after the seeds, in order.

    Args:
        graph: what it reads, as one of KNOWN_GRAPHS.
        estimator: a fresh one.
        strategy: a fresh one; None: greedy.
        size: the picks of a batch (r).
        most: the most picks, seeds included.
    """
    return list_steps(drive(make_collect(graph, estimator, strategy), graph, size, most))


def check_fold(make: Callable[[], Crawl], graph: DrawnGraph, what: str, size: int = 1) -> None:
    """Check that a crawl that folds a history continues as one that lived through it, after any batch.

    Args:
        make: makes the crawl, which has learned nothing yet.
        graph: what it reads.
        what: what messages call it.
        size: the picks of a batch.
    """
    history = drive(make(), graph, size)
    places = {1, 2, len(history) // 2, len(history) - 1} & set(range(len(history)))
    for place in sorted(places):
        folded = make()
        folded.fold(history[:place])
        folded.fold(history[:place])  # twice changes nothing
        _check_choice(folded, history[place][0], f"{what} folds a history of {place} batches", size)
    folded = make()
    for place in sorted(places):
        folded.fold(history[:place])  # in parts
        _check_choice(folded, history[place][0], f"{what} folds a history in parts, up to batch {place}", size)


def _check_choice(crawl: Crawl, lived: Batch, what: str, size: int) -> None:
    now = 0.0
    chosen = crawl.choose(size, now)
    while isinstance(chosen, Wait):
        now = chosen.until
        chosen = crawl.choose(size, now)
    assert chosen == lived, (
        f"{what} and chooses {chosen}, but the crawl that lived through it chose {lived}. What is learned must depend "
        "on the history only: no clock, no random numbers but those of `draw_uniform`, nothing kept from elsewhere."
    )
