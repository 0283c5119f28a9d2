"""What a campaign file needs to know about each kind of campaign. Another package adds a kind by an entry point."""

from dataclasses import dataclass

from socialcrawl.campaign.sections.values import Section
from socialcrawl.crawls.capture.section import CaptureSection
from socialcrawl.crawls.refresh.section import RefreshSection
from socialcrawl.crawls.sample.section import SampleSection
from socialcrawl.crawls.track.section import TrackSection
from socialcrawl.system.plugins import PluginGroup, make_facts_check


@dataclass(frozen=True, slots=True)
class KindFacts:
    """A kind of campaign in a campaign file.

    Attributes:
        name: the value of `kind`, and the name of its section.
        purpose: what it finds, in a few words.
        section: the type of its section; None: it has none.
        keys: keys of the section that are always part of the campaign's identity; other keys are if they differ from
            their defaults.
        idle: sections that have no effect.
        why_idle: why they have none, as a clause that follows the name of the kind.
        topical: whether [topic] is required.
        files: keys of the section that name files whose content decides how accounts are judged.
        crawl: keys of [crawl] that have an effect in this kind. Those of the built-in kinds have none in other kinds,
            which refuse them unless they name them here too.
        unused: dotted keys of sections that all kinds have, without effect in this kind: templates leave them out.
        reading: the line on `read` under [source] in templates of platforms that search posts of named accounts;
            "": there is none.
        follows_captures: whether it begins with the authors of a capture, where [seeds] capture names one.
        fixed: sections and dotted keys that cannot change after the campaign began, because outcomes depend on them.
        reads_further: whether timelines of accounts that were matched are read on, page after page.
        reads_accounts: whether it reads accounts; a kind that does not stores posts only.
        rates_accounts: whether accounts that it read are on topic or not.
        scores_relevance: whether the score by which it chooses an account estimates the relevance of that.
    """

    name: str
    purpose: str
    section: type[Section] | None = None
    keys: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    why_idle: str = ""
    topical: bool = False
    files: tuple[str, ...] = ()
    crawl: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    reading: str = ""
    follows_captures: bool = False
    reads_further: bool = False
    reads_accounts: bool = True
    rates_accounts: bool = True
    scores_relevance: bool = False


COLLECT = KindFacts(
    "collect",
    "accounts that post about the topic",
    topical=True,
    crawl=(
        "estimator", "switch_after", "start", "strategy", "q", "zeta", "control", "nr_d", "features", "regressor",
        "estimator_options", "strategy_options", "shadows", "follow",
    ),
    follows_captures=True,
    reads_further=True,
    scores_relevance=True,
)  # fmt: skip
TRACK = KindFacts(
    "track",
    "important accounts, revisited to stay up to date",
    TrackSection,
    ("target", "topical", "expansion", "recrawl", "p", "window", "rest", "parallel"),
    topical=True,
    reading='# read = "match"                # pay for new posts that match only (docs/how-to/match.md)',
    follows_captures=True,
)
REFRESH = KindFacts(
    "refresh",
    "accounts of an old dataset that are still active",
    RefreshSection,
    ("rank", "training", "z", "active"),
    idle=("topic", "seeds"),
    why_idle=", whose accounts `socialcrawl import` brings",
    fixed=("refresh.active", "refresh.protected", "refresh.redirects", "refresh.soft"),
    unused=("seeds.capture",),
    rates_accounts=False,
)
SAMPLE = KindFacts(
    "sample",
    "what the whole topic looks like",
    SampleSection,
    ("focus", "walkers", "consistency", "mutual", "inward"),
    files=("tree", "labels", "wider_labels"),
    fixed=("sample", "topic"),
    unused=("seeds.capture",),
    reading='# read = "match"                # judge accounts by searches for the keywords, and read those on topic '
    "only (docs/how-to/match.md)",
)
CAPTURE = KindFacts(
    "capture",
    "every post that matches the topic, from a span of time and as it appears",
    CaptureSection,
    ("from", "until", "order", "parts", "pages"),
    idle=("seeds",),
    why_idle=", which reads posts and begins with no accounts",
    fixed=(
        "topic",
        "capture.from",
        "capture.until",
        "capture.order",
        "capture.parts",
        "capture.pages",
        "capture.counts",
        "capture.full_text",
    ),
    unused=("source.pages_per_user", "source.reuse_hours", "source.hosts", "budget.max_nodes"),
    reads_accounts=False,
    rates_accounts=False,
)
DEFAULT = COLLECT
"""The kind of campaign files that name none."""
BUILT_IN = {facts.name: facts for facts in (COLLECT, TRACK, REFRESH, SAMPLE, CAPTURE)}
KINDS = PluginGroup(
    "socialcrawl.crawl_kinds",
    "kind of campaign",
    tuple(BUILT_IN),
    make_facts_check(KindFacts),
    earlier="socialcrawl.kinds",
)
"""The kinds of campaigns; another package adds a `crawls.base.CrawlKind`."""


def list_foreign_keys(name: str) -> frozenset[str]:
    """Return the keys of [crawl] that belong to built-in kinds other than `name`, which `name` does not have."""
    foreign = frozenset(key for other in BUILT_IN.values() if other.name != name for key in other.crawl)
    return foreign.difference(find_kind_facts(name).crawl)


def list_added_facts() -> tuple[KindFacts, ...]:
    """Return what campaign files need to know about the kinds that other packages add, without broken ones."""
    return tuple(kind.facts for kind in KINDS.load_added())


def find_kind_facts(name: str) -> KindFacts:
    """Return what a campaign file needs to know about the kind called `name`.

    Raises:
        SettingsError: there is no such kind.
    """
    facts: KindFacts = BUILT_IN[name] if name in BUILT_IN else KINDS.load(name).facts
    return facts
