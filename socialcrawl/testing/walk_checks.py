"""The contract of a walk, as checks."""

from collections.abc import Callable
from typing import Any

from socialcrawl.crawls.sample.crawl import Sample
from socialcrawl.crawls.sample.rules import WalkRules
from socialcrawl.crawls.sample.walk_laws import DEGREES, AddedWalk, find_walk_fault
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.model import Node
from socialcrawl.testing.crawl_driver import GRAPHS, Make, assert_only, check_fold, drive
from socialcrawl.testing.known_graphs import DrawnGraph


def _name(made: Any) -> str:
    return type(made).__name__


def make_walks(graph: DrawnGraph, made: Any) -> Sample:
    """Return a crawl of two walks by this law, which have not begun, from the seeds of a graph."""
    seeds = Seeds(names=[Node(node) for node in graph.seeds], known=True)
    crawl = Sample(seeds, WalkRules("none", walkers=2, burn_in=0, length=60, inward=False, seed=3), None)
    crawl.walks.law = AddedWalk(_name(made), made)
    return crawl


def check_methods(make: Make) -> None:
    """Check that the class has `accept(degree, proposed)` and `weigh(degree)`."""
    fault = find_walk_fault("", type(make()))
    assert not fault, f"The class {_name(make())} {fault}."


def check_numbers(make: Make) -> None:
    """Check that chances are above 0 and at most 1, that weights are above 0, and that all depend on degrees alone."""
    law, other = (AddedWalk(_name(made), made) for made in (make(), make()))
    first, again, fresh = (
        [(one.accept(x, y), one.accept(y, x), one.made.weigh(x)) for x in DEGREES for y in DEGREES]
        for one in (law, law, other)
    )
    assert all(0.0 < float(weight) < float("inf") for _, _, weight in first), (
        f"{_name(law.made)}.weigh returns weights that are no numbers above 0."
    )
    assert first == again == fresh, (
        f"{_name(law.made)} says another thing the second time: chances and weights may depend on degrees only. "
        "socialcrawl draws the numbers that decide."
    )


def check_balance(make: Make) -> None:
    """Check that weights make all accounts count equally: links are taken both ways equally often, after weighting."""
    made = make()
    fault = AddedWalk(_name(made), made).find_imbalance()
    assert not fault, f"{_name(made)}: {fault}."


def check_folding(make: Make) -> None:
    """Check that crawls are the same again, read no account twice, and continue in the same way after a fold."""
    for graph in GRAPHS:
        for size in (1, 3):
            first, second = (drive(make_walks(graph, make()), graph, size) for _ in range(2))
            assert [batch for batch, _ in first] == [batch for batch, _ in second], f"Two {_name(make())} walks differ."
            read = [pick.node for batch, _ in first for pick in batch]
            assert len(read) == len(set(read)), f"A crawl with {_name(make())} reads an account twice."
            check_fold(lambda graph=graph: make_walks(graph, make()), graph, _name(make()), size)  # type: ignore[misc]


WALK_CHECKS: tuple[Callable[[Make], None], ...] = assert_only(
    check_methods, check_numbers, check_balance, check_folding
)
"""All checks of a walk; each is given what makes a fresh one."""
