"""What a campaign that samples a topic knows of it, for people: statistics, each with its interval, and how good it is.

All of it follows from the stored picks and outcomes, folded by the crawl that made them, and from the posts stored. The
statistics are those of Bar-Yossef, Kanungo, Krauthgamer, section 5; a draw of a walk counts by its weight (visits.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from socialcrawl.campaign.settings import Settings, load_stored
from socialcrawl.crawls.base import remember_seeds
from socialcrawl.crawls.facts import SAMPLE
from socialcrawl.crawls.sample.audit import count_needed_visits
from socialcrawl.crawls.sample.crawl import Sample
from socialcrawl.crawls.sample.estimates import (
    NOTHING,
    Bar,
    Estimate,
    Series,
    compute_wilson,
    estimate_distribution,
    list_doubling_edges,
    make_histogram,
)
from socialcrawl.crawls.sample.evidence import Evidence, gather_evidence
from socialcrawl.crawls.sample.make import make_sample
from socialcrawl.crawls.sample.mixing import MixingVerdict
from socialcrawl.crawls.sample.topic_stability import TopicStability, measure_stability
from socialcrawl.crawls.sample.visits import ReadNodes, Visits
from socialcrawl.crawls.sample.walk_components import WalkComponent
from socialcrawl.crawls.sample.walk_laws import BUILT_IN
from socialcrawl.graph.relevance import Topic
from socialcrawl.storage.queries.holdings import count_languages, read_posts
from socialcrawl.storage.queries.traces import CampaignTraces, StoredCampaign

MOST = 15  # hosts and languages that are shown, the largest first
UNTOLD = "not told"  # the language of an account of whose posts no platform said it
HALF = 0.05  # half the width of an interval that is good enough


@dataclass(frozen=True, slots=True, eq=False)
class FoldedSample:
    """A campaign that samples, folded.

    Attributes:
        whole: as the database has it; `settings`: as it was last run.
        crawl: its walks, with nothing that asks anybody.
        rows: what they drew; `held`: whom they read.
        seen: what statistics rest on.
    """

    whole: StoredCampaign
    settings: Settings
    crawl: Sample
    rows: Visits
    held: ReadNodes
    seen: Evidence

    @property
    def group(self) -> list[str]:
        """Where the account of each row of `seen` is: its host or community; "" where there is none."""
        return [self.held.marks[number] for number in self.held.group[self.seen.rows.place].tolist()]

    @property
    def series(self) -> Series:
        """The rows of `seen`, ready for statistics."""
        return self.seen.make_series(self.held.group[self.seen.rows.place])


@dataclass(frozen=True, slots=True)
class SampleReport:
    """A campaign that samples, as of its latest answer.

    Where the verdict is that there is not enough data, estimates are `NOTHING`, and there are no bars and no shares.

    Attributes:
        focus: where its walks may go; `walkers`: how many there are.
        walk: the name of its walk; `paper`: where one of another package is described, "" where it does not say so.
        read: accounts that were read; `on_topic`: those of them on topic.
        precision: the share of visits on topic; NaN before the first.
        burn_in: on-topic visits of each walk that do not count; `burning`: walks that have not got beyond them.
        jumps: out of traps, of all walks.
        draws: that count; `accounts`: at which they were made.
        effective: how many independent accounts they tell as much as.
        more: how many more draws it takes until any share is known to +- 5 points, about; None: nobody can say yet.
        steps: the accounts that would have to be read for them, at the rate so far.
        outs: how many others an account links to, the mean; `degrees`: how many accounts have each number of links.
        hosts: shares of instances or hosts; `languages`: of the languages in which accounts write most.
        links: how much of what they link to is on topic.
        subtopics: shares of accounts that have a word in a post that is stored, by word.
        verdict: whether there is enough data.
        parts: of the topic, in which walks are, the largest first: all numbers from `draws` on are of those that count.
    """

    focus: str
    walkers: int
    read: int
    on_topic: int
    precision: float
    burn_in: int
    burning: int
    jumps: int
    draws: int
    accounts: int
    effective: float
    more: float | None
    steps: float | None
    outs: Estimate
    degrees: tuple[Bar, ...]
    hosts: Mapping[str, Estimate]
    languages: Mapping[str, Estimate]
    links: TopicStability
    subtopics: Mapping[str, Estimate]
    verdict: MixingVerdict
    parts: tuple[WalkComponent, ...] = ()
    walk: str = BUILT_IN
    paper: str = ""


WITHHELD: dict[str, Any] = {
    "outs": NOTHING,
    "degrees": (),
    "hosts": {},
    "languages": {},
    "links": TopicStability(NOTHING, NOTHING, (), NOTHING),
    "subtopics": {},
}
"""What `SampleReport` has instead of estimates where there is not enough data."""


def fold_sample(traces: CampaignTraces, campaign: str | None = None) -> FoldedSample | None:
    """Return what a campaign (the newest, if none is named) has drawn; None: it samples nothing.

    Raises:
        StoreError: there is no such campaign.
        SettingsError: its settings are not understood.
    """
    stored = traces.read_campaign(campaign)
    return _fold(traces, stored) if stored.identity.get("kind") == SAMPLE.name else None


def _fold(traces: CampaignTraces, campaign: StoredCampaign) -> FoldedSample:
    settings = load_stored(traces.read_versions(campaign)[-1].settings, f"the campaign {campaign.name!r}")
    names = traces.read_seeds(campaign.platform, campaign.identity["seeds"]["usernames"])
    crawl = make_sample(settings, remember_seeds(settings, names, traces.read_topics(campaign.id)))
    crawl.fold(traces.read_history(campaign))
    rows = crawl.list_visits()
    return FoldedSample(campaign, settings, crawl, rows, crawl.list_read(), gather_evidence(crawl.walks, rows))


def report_sample(traces: CampaignTraces, campaign: StoredCampaign, sub: Sequence[str] = ()) -> SampleReport:
    """Return the statistics of a campaign that samples.

    Args:
        traces: the database.
        campaign: the campaign.
        sub: words or phrases of sub-topics, as keywords are written.

    Raises:
        SettingsError: its settings, or one of `sub`, are not understood.
    """
    return summarize_sample(traces, _fold(traces, campaign), sub)


def summarize_sample(traces: CampaignTraces, found: FoldedSample, sub: Sequence[str] = ()) -> SampleReport:
    """Return the statistics of what was drawn; arguments as of `sampled`."""
    rows, held, how, seen = found.rows, found.held, found.crawl.rules, found.seen
    series, verdict = found.series, seen.verdict
    burnt = np.bincount(rows.walker[rows.kept & rows.on_topic], minlength=how.walkers) > 0
    more = count_missing_draws(series) if verdict.enough else None
    arrived = int(np.count_nonzero((seen.weight > 0.0) & seen.rows.came))
    counts: dict[str, Any] = {
        "focus": how.focus,
        "walkers": how.walkers,
        "read": len(held.node),
        "on_topic": int(np.count_nonzero(held.on_topic)),
        "precision": rows.precision,
        "burn_in": how.burn_in,
        "burning": how.walkers - int(np.count_nonzero(burnt)),
        "jumps": int(rows.jumps.sum()),
        "draws": series.visits,
        "accounts": len(seen.places),
        "effective": series.floor[0] if series.visits else 0.0,
        "more": more,
        "steps": None if more is None or not arrived else more * found.crawl.taken / series.visits,
        "verdict": verdict,
        "parts": seen.parts.each,
        "walk": how.walk,
        "paper": "" if (law := found.crawl.walks.law) is None else law.paper,
    }
    return SampleReport(**counts, **(_make_estimates(traces, found, sub) if verdict.enough else WITHHELD))


def _make_estimates(traces: CampaignTraces, found: FoldedSample, sub: Sequence[str]) -> dict[str, Any]:
    """Return the estimates, by the names that `SampleReport` has for them."""
    held, seen, series = found.held, found.seen, found.series
    outs = held.outs[seen.rows.place].astype(np.float64)
    group = [] if found.crawl.rules.trap == "community" else found.group
    speech = find_languages(traces, held.node[seen.places].tolist(), found.whole.id)
    most = float(outs[seen.weight > 0.0].max(initial=0.0))
    options: dict[str, Any] = {"weights": seen.weight, "walk": seen.rows.walker, "confidence": seen.confidence}
    languages_ = estimate_distribution(
        [speech.get(node, UNTOLD) for node in seen.rows.node.tolist()], most=MOST, **options
    )
    return {
        "outs": series.estimate_mean(outs),
        "degrees": make_histogram(outs, list_doubling_edges(most), **options),
        "hosts": estimate_distribution(group, most=MOST, **options) if any(group) else {},
        "languages": {} if set(languages_) <= {UNTOLD} else languages_,  # none where no label says anything
        "links": measure_stability(found.crawl.walks, seen.rows, seen.weight, complete=seen.verdict.whole),
        "subtopics": _estimate_subtopics(traces, found, series, sub),
    }


def count_missing_draws(series: Series) -> float | None:
    """Return how many more draws make the interval of any share +- 5 points at most, about.

    None: there are too few to say.
    """
    if series.visits < 2:
        return None
    effective, freedom = series.floor
    half = Estimate(0.5, *compute_wilson(0.5, effective, freedom, series.confidence), effective, series.visits)
    return count_needed_visits(half, HALF) - series.visits


def find_languages(traces: CampaignTraces, nodes: Sequence[int], by: int) -> dict[int, str]:
    """Return the language that most posts of an account are in, of those that campaign `by` read; ties by name."""
    found = count_languages(traces.connection, nodes, by)
    return {
        node: min((lang for lang in counts), key=lambda lang: (-counts[lang], lang))
        for node, each in found.items()
        if (counts := {lang: count for lang, count in each.items() if _is_language(lang)})
    }


def _is_language(lang: str) -> bool:
    """Return whether it is a language: X says und, zxx, qme, qht, ... of posts that are names, tags or links only."""
    return bool(lang) and lang not in ("und", "zxx", "mis", "mul", "art") and not lang.startswith("q")


def _estimate_subtopics(
    traces: CampaignTraces, found: FoldedSample, series: Series, sub: Sequence[str]
) -> dict[str, Estimate]:
    if not sub:
        return {}
    topics = {word: Topic([word]) for word in sub}
    speakers: dict[str, set[int]] = {word: set() for word in topics}
    nodes, campaign = found.held.node[found.seen.places].tolist(), found.whole
    for one in read_posts(traces.connection, nodes, campaign.platform, campaign.id):
        for word, topic in topics.items():
            if one.author not in speakers[word] and topic.count(one.text):
                speakers[word].add(one.author)
    return {word: series.estimate_share(np.isin(found.seen.rows.node, [*who])) for word, who in speakers.items()}
