"""What chooses for a campaign that collects, made of its settings."""

from collections.abc import Mapping
from typing import Any

from socialcrawl.campaign.settings import Settings
from socialcrawl.crawls.collect.estimators import Estimator, make_estimator
from socialcrawl.crawls.collect.strategies import ControlledStrategy, Strategy, make_strategy


def choose_policy(settings: Settings) -> tuple[Estimator, Strategy]:
    """Return the estimator and the strategy of a campaign, which have learned nothing yet."""
    crawl = settings.crawl
    choice = make_strategy(
        crawl.strategy, seed=settings.seed, q=crawl.q, zeta=crawl.zeta, options=crawl.strategy_options
    )
    if crawl.control:
        choice = ControlledStrategy(choice, crawl.control, settings.seed)
    return _make_estimator(settings, crawl.estimator, crawl.regressor | crawl.estimator_options), choice


def make_shadows(settings: Settings) -> dict[str, Estimator]:
    """Return the estimators that only look on, by name, in the order of the file; they have learned nothing yet.

    `estimator_options` are those of the estimator that steers: a shadow of scikit-learn or of another package has its
    own defaults.

    Raises:
        SettingsError: one of them cannot be made.
    """
    return {name: _make_estimator(settings, name, {}) for name in settings.crawl.shadows}


def _make_estimator(settings: Settings, name: str, options: Mapping[str, Any]) -> Estimator:
    crawl = settings.crawl
    return make_estimator(
        name,
        seed=settings.seed,
        switch_after=crawl.switch_after,
        start=crawl.start,
        nr_d=crawl.nr_d,
        features=crawl.features,
        options=options,
    )
