"""The crawl of a campaign that samples, and what judges accounts, made of its settings."""

from socialcrawl.collect.seeds import Seeds
from socialcrawl.kinds.base import Width, one_each
from socialcrawl.platforms import known
from socialcrawl.sample.crawl import Sample
from socialcrawl.sample.how import How
from socialcrawl.sample.labels import accounts
from socialcrawl.settings import Settings
from socialcrawl.sources.focusing import Predicate


def make_sample(settings: Settings, seeds: Seeds, width: Width = one_each) -> Sample:
    """Return the crawl of a campaign that samples.

    It also asks which accounts mention an account where the platform can be asked that.
    """
    sample, platform = settings.sample, settings.source.platform
    how = How(
        focus=sample.focus,
        exact=sample.exact,
        k=sample.reach,
        b=sample.b,
        crude=sample.crude,
        degree=sample.degree,
        weights=sample.weights,
        corrected=sample.corrected,
        walkers=sample.walkers,
        burn_in=sample.burn_in,
        samples=sample.samples,
        length=sample.length,
        inward=sample.inward and bool(known.of(settings).roles.inward),
        mutual=sample.mutual,
        consistency=sample.consistency,
        trap=sample.traps(platform),
        trap_window=sample.trap_window,
        trap_hosts=sample.trap_hosts,
        seed=settings.seed,
    )
    return Sample(seeds, how, settings.crawl.steps, width)


def make_predicate(settings: Settings) -> Predicate:
    """Return what judges whether an account is on the topic of a campaign that samples.

    Raises:
        SettingsError: nothing tells it, or the labels cannot be read.
    """
    sample = settings.sample
    labels = {} if sample.labels is None else accounts(sample.labels)
    return Predicate(sample.occurrences, sample.patterns, sample.expressions, labels)


def make_wider_predicate(settings: Settings) -> Predicate | None:
    """Return what judges who is on the wider topic on which walks with focus = "ancestor" go; None for other focuses.

    Raises:
        SettingsError: the labels cannot be read, or a pattern cannot be used.
    """
    sample = settings.sample
    if sample.focus != "ancestor":
        return None
    labels = {} if sample.wider_labels is None else accounts(sample.wider_labels)
    return Predicate(sample.wider_least, sample.wider_patterns, sample.wider_expressions, labels)
