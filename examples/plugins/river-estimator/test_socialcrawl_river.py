"""The estimator keeps the contract of socialcrawl, and learns."""

import numpy as np
import pytest
from socialcrawl_river import RiverTree

from socialcrawl.contracts.estimators import COLUMNS, SettingsError
from socialcrawl.testing import ESTIMATOR_CHECKS, KNOWN_GRAPHS, draw_random, replay


@pytest.mark.parametrize("check", ESTIMATOR_CHECKS, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check):
    check(lambda: RiverTree(grace_period=2))


def test_before_it_learns_accounts_are_read_in_order_of_discovery():
    assert replay(KNOWN_GRAPHS["market"], RiverTree(), most=2) == [1]


def test_it_learns_that_accounts_with_more_links_matter_more():
    estimator = RiverTree(features=["links"], grace_period=5)
    many = np.arange(200) % 2 == 1
    x = np.zeros((200, len(COLUMNS)))
    x[:, COLUMNS.index("links")] = np.where(many, 9.0, 1.0)
    estimator.learn(x, np.where(many, 5.0, 0.0))
    low, high = (estimator.model.predict_one({"links": links}) for links in (1.0, 9.0))
    assert high - low > 3


def test_a_crawl_by_what_it_learned_reads_every_account_in_reach_once():
    steps = replay(draw_random(size=80, seed=4), RiverTree())
    assert len(steps) == len(set(steps)) > 60


def test_an_unknown_column_is_refused_with_those_that_there_are():
    with pytest.raises(SettingsError, match=r"no column 'likes'. Choose from: depth, links, n_sum"):
        RiverTree(features=["likes"])
