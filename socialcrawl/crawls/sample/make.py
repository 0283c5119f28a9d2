"""The crawl of a campaign that samples, and what judges accounts, made of its settings."""

from dataclasses import fields

from socialcrawl.campaign.settings import Settings
from socialcrawl.crawls.base import Width, one_each
from socialcrawl.crawls.sample.crawl import Sample
from socialcrawl.crawls.sample.labels import read_account_labels
from socialcrawl.crawls.sample.rules import WalkRules
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.platforms.focusing import Predicate
from socialcrawl.platforms.registry import platform_of


def make_sample(settings: Settings, seeds: Seeds, width: Width = one_each) -> Sample:
    """Return the crawl of a campaign that samples.

    It also asks which accounts mention an account where the platform can be asked that.
    """
    sample = settings.sample
    shared = {one.name: getattr(sample, one.name) for one in fields(WalkRules) if one.name in type(sample).model_fields}
    resolved = {
        "k": sample.reach,
        "inward": sample.inward and bool(platform_of(settings).roles.inward),
        "trap": sample.traps(settings.source.platform),
        "seed": settings.seed,
    }
    rules = WalkRules(**{**shared, **resolved})
    matches = settings.source.pages_after_match is not None
    return Sample(seeds, rules, settings.crawl.steps, width, matches=matches)


def make_predicate(settings: Settings) -> Predicate:
    """Return what judges whether an account is on the topic of a campaign that samples.

    Raises:
        SettingsError: nothing tells it, or the labels cannot be read.
    """
    sample = settings.sample
    labels = {} if sample.labels is None else read_account_labels(sample.labels)
    return Predicate(sample.occurrences, sample.patterns, sample.expressions, labels)


def make_wider_predicate(settings: Settings) -> Predicate | None:
    """Return what judges who is on the wider topic on which walks with focus = "ancestor" go; None for other focuses.

    Raises:
        SettingsError: the labels cannot be read, or a pattern cannot be used.
    """
    sample = settings.sample
    if sample.focus != "ancestor":
        return None
    labels = {} if sample.wider_labels is None else read_account_labels(sample.wider_labels)
    return Predicate(sample.wider_least, sample.wider_patterns, sample.wider_expressions, labels)
