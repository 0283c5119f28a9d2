"""The checks of the test kit find what is wrong with a walk, and say it; the walk of the page passes them."""

import random
import re
from pathlib import Path

import pytest
from walk_graphs import Metropolis

from socialcrawl.testing import WALK_CHECKS

PAGE = (Path(__file__).parents[2] / "docs/development/walks.md").read_text("utf-8")


def find_failed(make):
    failed = {}
    for check in WALK_CHECKS:
        try:
            check(make)
        except AssertionError as error:
            failed[check.__name__] = str(error)
    return failed


class NoWeight:
    def accept(self, degree, proposed):
        return 1.0


class Misspelt(Metropolis):
    def weigth(self, degree):
        return 1.0


class Unbalanced(Metropolis):
    """Goes anywhere, and weighs all alike: accounts with many neighbours count more."""

    def accept(self, degree, proposed):
        return 1.0


class Certain(Metropolis):
    """Never goes to an account with more neighbours: parts of the graph are out of reach."""

    def accept(self, degree, proposed):
        return float(proposed <= degree)


class Chance(Metropolis):
    def accept(self, degree, proposed):
        return random.uniform(0.1, 1.0)


class Counts(Metropolis):
    def __init__(self):
        self.calls = 0

    def weigh(self, degree):
        self.calls += 1
        return self.calls


class Weightless(Metropolis):
    def weigh(self, degree):
        return 0.0


@pytest.mark.parametrize(
    ("make", "check", "said"),
    [
        (NoWeight, "check_methods", "The class NoWeight has no method weigh(degree)."),
        (Misspelt, "check_methods", "The class Misspelt has a method weigth that is never called. Did you mean weigh("),
        (Unbalanced, "check_balance", "accept(x, y) / (x weigh(x)) is 1 for degrees 1 and 2, and 0.5 the other way"),
        (Certain, "check_numbers", "returned from accept 0.0, where a chance above 0 and at most 1 is needed"),
        (Chance, "check_numbers", "Chance says another thing the second time"),
        (Counts, "check_numbers", "Counts says another thing the second time"),
        (Weightless, "check_numbers", "Weightless.weigh returns weights that are no numbers above 0"),
    ],
)
def test_what_breaks_the_contract_of_a_walk_is_found_by_its_check_and_said(make, check, said):
    checks = [one for one in WALK_CHECKS if one.__name__ == check]
    with pytest.raises(AssertionError, match=re.escape(said)):
        checks[0](make)


def test_the_walks_of_the_page_pass_all_checks():
    found = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[:1]:
        exec(compile(code, "walks.md", "exec"), found)
    assert find_failed(found["Rejecting"]) == {}
    assert find_failed(Metropolis) == {}
    assert found["Rejecting"]().accept(4, 16) == 0.5
    assert found["Rejecting"]().weigh(4) == 0.5


def test_a_walk_that_breaks_balance_passes_the_other_checks():
    assert find_failed(Unbalanced).keys() == {"check_balance"}
