"""Campaigns that sample: random walks through a topic (Bar-Yossef, Kanungo, Krauthgamer)."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from socialcrawl.campaign.settings import Settings
from socialcrawl.crawls.base import (
    CrawlKind,
    Mark,
    Progress,
    ReportRequest,
    Snapshot,
    Width,
    no_mark,
    one_each,
)
from socialcrawl.crawls.facts import SAMPLE
from socialcrawl.crawls.sample.crawl import Sample
from socialcrawl.crawls.sample.make import make_predicate, make_sample, make_wider_predicate
from socialcrawl.crawls.sample.section import WIDER_JUDGES
from socialcrawl.crawls.sample.walk_laws import BUILT_IN, describe_walk, make_walk
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.crawls.track.tracked_graph import COLUMNS
from socialcrawl.errors import SettingsError
from socialcrawl.platforms.base import Platform
from socialcrawl.platforms.focusing import Predicate
from socialcrawl.text.wording import pluralize

if TYPE_CHECKING:
    from socialcrawl.crawls.sample.report import SampleReport
    from socialcrawl.storage.queries.traces import CampaignTraces, StoredCampaign

HIDDEN = "(not told)"  # a pattern that stands for others


class SampleKind(CrawlKind):
    """Campaigns of kind `sample`."""

    facts = SAMPLE
    paper = (
        "Bar-Yossef, Kanungo and Krauthgamer (2003): Focused Sampling: Computing Topical Web Statistics. "
        "IBM Research Division, Almaden Research Center"
    )
    matter = "what all accounts on topic are like, taken together"
    does = "which draws accounts on topic by random walks over links"
    unasked = "no walk has needed it yet: accounts that were read link to it, or are mentioned by it"
    drawn = """\
Accounts that walks visited are a random sample of the accounts on topic that can be reached from the seeds, as far as
the walks have mixed; if these have parts without links between them, of the largest part. The chances are unequal:
statistics have to weight them (table `sampled`, `socialcrawl audit`)."""
    features = COLUMNS
    private = ("tree", "labels", "patterns", "expressions", *WIDER_JUDGES)
    sample = matches = True
    matched = ". Of those on topic, the newest posts were read too ({pages} at most)."

    def make_crawl(self, settings: Settings, seeds: Seeds, width: Width = one_each, mark: Mark = no_mark) -> Sample:
        """See `CrawlKind.make_crawl`."""
        del mark
        return make_sample(settings, seeds, width)

    def check(self, settings: Settings) -> None:
        """See `CrawlKind.check`."""
        self.predicates(settings)
        sample = settings.sample
        make_walk(sample.walk)
        if settings.source.pages_after_match is None or (sample.focus == "hard" and sample.counts and not sample.tree):
            return
        raise SettingsError(
            'read = "match" under [source] judges accounts by a search for the keywords, and reads those on topic '
            'only: under [sample] write focus = "hard" and least = 1 or more, and no tree; or remove read.'
        )

    def describe(self, settings: Settings) -> str:
        """See `CrawlKind.describe`."""
        sample, steps = settings.sample, settings.crawl.steps
        ends = f", until {pluralize(sample.samples, 'visit counts', 'visits count')}" if sample.samples else ""
        first = pluralize(steps, "step") if steps else "no end"
        walks = "walks" if sample.walk == BUILT_IN else f"walks ({sample.walk})"
        return f"{first}, {sample.walkers} {walks} with focus {sample.focus}{ends}"

    def count(self, settings: Settings, platform: Platform) -> Mapping[str, Any]:
        """See `CrawlKind.count`."""
        del platform
        usual = {"inward": settings.sample.inward}
        return usual if settings.source.pages_after_match is None else usual | {"matches": True}

    def needs_topic(self, settings: Settings) -> bool:
        """See `CrawlKind.needs_topic`."""
        if settings.sample.by_name and not settings.sample.counts:
            return False
        raise SettingsError(
            "Nothing tells what the sample is of: name keywords under [topic]; or, where names or addresses tell who "
            "is on topic, patterns under [sample] and usernames to start from under [seeds]."
        )

    def report(self, traces: "CampaignTraces", campaign: "StoredCampaign", asked: ReportRequest) -> "SampleReport":
        """See `CrawlKind.report`."""
        from socialcrawl.crawls.sample.report import report_sample  # noqa: PLC0415 - plans are made without SQLAlchemy

        return report_sample(traces, campaign, asked.sub)

    def make_judge(self, settings: Settings) -> Callable[[str], int] | None:
        """See `CrawlKind.make_judge`."""
        if settings.topic.model is not None:
            raise SettingsError("[topic] model is for other kinds of campaigns: name the file as tree under [sample].")
        if settings.sample.tree is None:
            return None
        from socialcrawl.crawls.text_models.model_file import read_model  # noqa: PLC0415 - few campaigns have one

        return read_model(settings.sample.tree).hits

    def describe_progress(self, crawl: Sample) -> Progress:
        """See `CrawlKind.describe_progress`."""
        on_topic, draws = f"{crawl.relevance:,.0f}", sum(walker.steps for walker in crawl.walks.walkers)
        walks = f"{crawl.rules.walkers:,} with {pluralize(draws, 'draw')}, {crawl.graph.left:,} wait for an account"
        rows = [("on topic", f"{on_topic} accounts"), ("walks", walks)]
        return Progress("read", f"on topic {on_topic}", f"draws {draws:,}", rows)

    def tell_method(self, section: Mapping[str, Any]) -> Iterator[str]:
        """See `CrawlKind.tell_method`."""
        if section.get("walk", BUILT_IN) != BUILT_IN:
            yield f"The walk was {describe_walk(section['walk'])}."

    def publish(self, section: Mapping[str, Any]) -> dict[str, Any]:
        """See `CrawlKind.publish`. A pattern stands for those of a wider topic, without which there is none."""
        values = super().publish(section)
        return values | ({"wider_patterns": [HIDDEN]} if any(section.get(key) for key in WIDER_JUDGES) else {})

    def hides_judge(self, section: Mapping[str, Any]) -> bool:
        """See `CrawlKind.hides_judge`."""
        return bool(section.get("tree"))

    def tell_choice(self, section: Mapping[str, Any], platform: str) -> Iterator[str]:
        """See `CrawlKind.tell_choice`."""
        from socialcrawl.crawls.sample.datasheet import tell_choice  # noqa: PLC0415 - for exports only

        yield from super().tell_choice(section, platform)
        yield from tell_choice(section)

    def snapshot(self) -> Snapshot:
        """See `CrawlKind.snapshot`."""
        from socialcrawl.crawls.sample.snapshot import collect_draws  # noqa: PLC0415 - plans are made without SQLAlchemy
        from socialcrawl.storage.queries.snapshots import read_sampled  # noqa: PLC0415 - as above

        return Snapshot(
            "sampled",
            lambda crawl: {one.node: one for one in collect_draws(crawl)} if crawl.begun else {},
            lambda store, crawl: store.sample(collect_draws(crawl)),
            read_sampled,
        )

    def predicates(self, settings: Settings) -> tuple[Predicate, Predicate | None]:
        """See `CrawlKind.predicates`."""
        return make_predicate(settings), make_wider_predicate(settings)
