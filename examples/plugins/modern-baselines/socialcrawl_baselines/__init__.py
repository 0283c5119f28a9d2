"""Baselines from the literature, to compare others with: estimators, and a walk."""

from socialcrawl_baselines.boosted_trees import BoostedTrees
from socialcrawl_baselines.d3ts import D3TS
from socialcrawl_baselines.metropolis_hastings import MetropolisHastings
from socialcrawl_baselines.nol import NOL
from socialcrawl_baselines.sleeping_bandit import SleepingBandit

__all__ = ["D3TS", "NOL", "BoostedTrees", "MetropolisHastings", "SleepingBandit"]
