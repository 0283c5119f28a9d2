"""The Python blocks of the page on estimators and strategies run as they stand there."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from socialcrawl.crawls.collect.estimators import make_estimator
from socialcrawl.crawls.collect.strategies import make_strategy

PAGE = (Path(__file__).parents[2] / "docs/development/estimators.md").read_text("utf-8")


@pytest.fixture
def mine(monkeypatch):
    """The module `mine` of the page, with all of its Python blocks executed in order."""
    module = ModuleType("mine")
    monkeypatch.setitem(sys.modules, "mine", module)
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(code, "estimators.md", "exec"), vars(module))
    return module


def test_the_classes_of_the_page_pass_the_checks_that_the_page_names(mine):
    for test in ("test_the_estimator_keeps_its_contract", "test_the_strategy_keeps_its_contract"):
        (mark,) = getattr(mine, test).pytestmark
        for check in mark.args[1]:
            getattr(mine, test)(check)


def test_the_classes_of_the_page_are_found_by_the_paths_of_the_page(mine):
    assert 'estimator = "mine:NearestFirst"' in PAGE
    assert make_estimator("mine:NearestFirst", seed=1).made.score
    assert '`strategy = "mine:NewestFirst"`' in PAGE
    assert make_strategy("mine:NewestFirst", seed=1).made.pick
