"""What an estimator and a strategy are made of."""

from socialcrawl.crawls.collect.estimators.base import Estimator, Floats, ScoreTerms
from socialcrawl.crawls.collect.strategies import Ranked, Scored, Strategy
from socialcrawl.engine.draws import draw_chance, draw_uniform
from socialcrawl.errors import SettingsError
from socialcrawl.graph.graph import COLUMNS, CrawlGraph, Rows

__all__ = [
    "COLUMNS", "CrawlGraph", "Estimator", "Floats", "Ranked", "Rows", "ScoreTerms", "Scored", "SettingsError",
    "Strategy", "draw_chance", "draw_uniform",
]  # fmt: skip
