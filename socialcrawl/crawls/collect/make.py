"""What chooses for a campaign that collects, made of its settings."""

from collections.abc import Callable, Mapping
from math import ceil, floor, inf
from typing import Any

from socialcrawl.campaign.sections.access import SEARCH, SEARCHING
from socialcrawl.campaign.settings import Settings
from socialcrawl.crawls.capture.rules import CaptureRules
from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import Estimator, make_estimator
from socialcrawl.crawls.collect.slice_queue import SliceQueue
from socialcrawl.crawls.collect.strategies import ControlledStrategy, Strategy, make_strategy
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.model import Act
from socialcrawl.platforms.registry import platform_of
from socialcrawl.platforms.slice_reading import SlicePlan


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


def make_collect(
    settings: Settings, seeds: Seeds, width: Callable[[Act], int] = lambda _: 1, *, watched: bool = True
) -> Collect:
    """Return the crawl of a campaign, which has learned nothing yet.

    Args:
        settings: those of the campaign.
        seeds: where it starts; where the topic is searched span by span, their queries are.
        width: how many picks one request can answer.
        watched: whether shadows look on.

    Raises:
        SettingsError: the estimator, the strategy or a shadow cannot be made.
    """
    source, (estimator, choice) = settings.source, choose_policy(settings)
    pages, slices = source.pages_after_match, None
    if (plan := plan_searches(settings)) is not None:
        rules = make_search_rules(settings, plan)
        alone = makes_searches_only(settings, plan)
        pages, slices = source.pages_per_user, SliceQueue(rules, seeds.queries, settings.seed, plan.back, alone=alone)
        seeds.queries.clear()
    shadows = make_shadows(settings) if watched else {}
    return Collect(seeds, estimator, settings.crawl.steps, width, choice, shadows=shadows, pages=pages, slices=slices)


def plan_searches(settings: Settings) -> SlicePlan | None:
    """Return how a campaign searches the topic span by span; None where it does not."""
    return platform_of(settings).plan_searches(settings) if settings.source.read in SEARCHING else None


def make_search_rules(settings: Settings, plan: SlicePlan) -> CaptureRules:
    """Return the span of time that is searched, which is that of the topic; see `slice_queue.bound_span`."""
    begin, end = settings.topic.span
    return CaptureRules(float(floor(max(plan.begin or 0.0, begin or 0.0))), None if end is None else float(ceil(end)))


def makes_searches_only(settings: Settings, plan: SlicePlan) -> bool:
    """Return whether nothing is read but what searches return: they reach back to the first post, or are all."""
    return settings.source.read == SEARCH or plan.back == inf


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
