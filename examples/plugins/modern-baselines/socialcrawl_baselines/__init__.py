"""Baseline estimators from the literature, to compare others with."""

from socialcrawl_baselines.boosted_trees import BoostedTrees
from socialcrawl_baselines.d3ts import D3TS
from socialcrawl_baselines.nol import NOL
from socialcrawl_baselines.sleeping_bandit import SleepingBandit

__all__ = ["D3TS", "NOL", "BoostedTrees", "SleepingBandit"]
