"""What a campaign file has to know of each kind of campaign. Another package adds a kind by an entry point."""

from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from socialcrawl.campaign.sections.values import Section
from socialcrawl.crawls.refresh.section import RefreshSection
from socialcrawl.crawls.sample.section import SampleSection
from socialcrawl.crawls.track.section import TrackSection
from socialcrawl.errors import SettingsError

GROUP = "socialcrawl.crawls"
"""The entry points of other packages that are kinds of campaigns: each is a `kinds.base.CrawlKind`."""


@dataclass(frozen=True, slots=True)
class KindFacts:
    """A kind of campaign in a campaign file.

    Attributes:
        name: the value of `kind`, and the name of its section.
        purpose: what it does, in a few words.
        section: its section; None: it has none.
        keys: the keys of that on which every such campaign rests; of the others, on those that are not as usual.
        idle: the sections that have no effect.
        topical: whether [topic] has to be there.
        files: the keys of its section that name files by whose content accounts are judged.
        crawl: the keys of [crawl] that other kinds have not.
        fixed: sections and dotted keys that may never change, as its outcomes are judgements by them.
    """

    name: str
    purpose: str
    section: type[Section] | None = None
    keys: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    topical: bool = False
    files: tuple[str, ...] = ()
    crawl: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()


COLLECT = KindFacts(
    "collect",
    "accounts that speak of the topic",
    topical=True,
    crawl=(
        "estimator", "switch_after", "start", "strategy", "q", "zeta", "control", "nr_d", "features", "regressor",
        "shadows",
    ),
)  # fmt: skip
TRACK = KindFacts(
    "track",
    "who counts, and stay with them",
    TrackSection,
    ("target", "topical", "expansion", "recrawl", "p", "window", "rest", "parallel"),
    topical=True,
)
REFRESH = KindFacts(
    "refresh",
    "who of an old dataset is alive",
    RefreshSection,
    ("rank", "training", "z", "active"),
    idle=("topic", "seeds"),
    fixed=("refresh.active", "refresh.protected", "refresh.redirects", "refresh.soft"),
)
SAMPLE = KindFacts(
    "sample",
    "what the whole topic looks like",
    SampleSection,
    ("focus", "walkers", "consistency", "mutual", "inward"),
    files=("tree", "labels", "wider_labels"),
    fixed=("sample", "topic"),
)
DEFAULT = COLLECT
"""The kind of campaign files that name none."""
BUILT_IN = {facts.name: facts for facts in (COLLECT, TRACK, REFRESH, SAMPLE)}


def list_foreign_keys(name: str) -> frozenset[str]:
    """Return the keys of [crawl] that campaigns of the kind called `name` have not."""
    return frozenset(key for other in BUILT_IN.values() if other.name != name for key in other.crawl)


def find_kind_facts(name: str) -> KindFacts:
    """Return what a campaign file has to know of the kind called `name`.

    Raises:
        SettingsError: there is no such kind.
    """
    facts: KindFacts = BUILT_IN[name] if name in BUILT_IN else find_plugin(name).facts
    return facts


@cache
def find_plugin(name: str) -> Any:
    """Return the kind of campaign that another package calls `name`, a `CrawlKind`.

    Raises:
        SettingsError: there is none.
    """
    for entry in entry_points(group=GROUP, name=name):
        return entry.load()
    raise SettingsError(f"There is no kind of campaign {name!r}. Choose one of: {', '.join(list_kinds())}.")


def list_kinds() -> list[str]:
    """Return the names of all kinds, the built-in ones first."""
    return list(dict.fromkeys([*BUILT_IN, *sorted(entry.name for entry in entry_points(group=GROUP))]))
