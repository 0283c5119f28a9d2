"""The Python blocks of the page on estimators and strategies run as they stand there."""

import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from socialcrawl.cli.commands.installed_plugins import GROUPS
from socialcrawl.contracts.estimators import COLUMNS
from socialcrawl.contracts.platforms import Act, Answer, Node, Pick, Reply, ReplyKind, Who
from socialcrawl.crawls.collect.estimators import make_estimator
from socialcrawl.crawls.collect.strategies import make_strategy
from socialcrawl.testing import ESTIMATOR_CHECKS, STRATEGY_CHECKS

FOLDER = Path(__file__).parents[2] / "docs/development"
PAGE = (FOLDER / "estimators.md").read_text("utf-8")


def find_policy():
    """A table of limits in which every endpoint is free."""
    return SimpleNamespace(compute_most=lambda endpoint, items: 0)


@pytest.fixture
def mine(monkeypatch):
    """The module `mine` of the page, with all of its Python blocks executed in order."""
    module = ModuleType("mine")
    monkeypatch.setitem(sys.modules, "mine", module)
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(code, "estimators.md", "exec"), vars(module))
    return module


def test_the_classes_of_the_page_pass_the_checks_that_the_page_names(mine):
    for check in ESTIMATOR_CHECKS:
        for make in (mine.NearestFirst, mine.LearnedLinks, mine.LinksOrChance):
            mine.test_the_estimators_keep_their_contract(check, make)
    for check in STRATEGY_CHECKS:
        mine.test_the_strategy_keeps_its_contract(check)


def test_the_estimator_of_the_page_that_learns_takes_its_option_and_prefers_what_was_relevant(mine):
    made = make_estimator("mine:LearnedLinks", seed=1, options={"memory": 0.0})
    x = np.zeros((1, len(COLUMNS)))
    x[0, COLUMNS.index("links")] = 3.0
    made.learn(x, np.array([2.0]))
    assert made.made.best == 3.0
    made.learn(x * 9, np.array([0.0]))
    assert made.made.best == 3.0


def test_the_page_on_plugins_names_all_groups_and_the_page_on_platforms_all_kinds_of_replies():
    page = (FOLDER / "plugins.md").read_text("utf-8")
    assert all(f"`{group.group}`" in page for group, _ in GROUPS)
    kinds = {kind.name for kind in ReplyKind} - {"HELD"}  # that one is the store's
    assert all(f"`{name}`" in (FOLDER / "platforms.md").read_text("utf-8") for name in kinds)


def test_the_source_of_the_page_on_platforms_passes_the_checks_of_conversations():
    blocks = re.findall(r"```python\n(.*?)```", (FOLDER / "platforms.md").read_text("utf-8"), re.DOTALL)
    found = {"__file__": __file__}
    for code in blocks[:2]:
        exec(compile(code, "platforms.md", "exec"), found)
    source = found["PagedSource"](find_policy(), ["tea"])
    for act, node in ((Act.SEARCH, Node(-1)), (Act.EXPAND, Node(7))):
        pick = Pick(4, node, act)
        (conversation,) = source.start_conversations((pick,), {node: Who("ann", "ann")})
        asked = [next(conversation)]
        asked.append(conversation.send(Reply(ReplyKind.OK, 1.0, Answer(1, 2, (8,), (1,), {9: "bob"}), "2")))
        with pytest.raises(StopIteration) as end:
            conversation.send(Reply(ReplyKind.OK, 2.0, Answer(1, 1, (8,), (3,), {}), None))
        assert [(request.key, request.params["page"]) for request in asked] == [((4, 0), "1"), ((4, 1), "2")]
        outcome = end.value.value[4]
        assert (outcome.posts, outcome.targets.tolist()) == (2, [9] if act == Act.SEARCH else [8])


def test_the_classes_of_the_page_are_found_by_the_paths_of_the_page(mine):
    assert 'estimator = "mine:NearestFirst"' in PAGE
    assert make_estimator("mine:NearestFirst", seed=1).made.score
    assert '`strategy = "mine:NewestFirst"`' in PAGE
    assert make_strategy("mine:NewestFirst", seed=1).made.pick
