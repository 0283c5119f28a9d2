"""What a campaign that samples a topic knows of it, for people: statistics, each with its interval, and how good it is.

All of it follows from the stored picks and outcomes, folded by the crawl that made them, and from the posts stored. The
statistics are those of Bar-Yossef, Kanungo, Krauthgamer, section 5; a draw of a walk counts by its weight (visits.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls import past, sampling
from socialcrawl.relevance import Topic
from socialcrawl.sample.audit import enough
from socialcrawl.sample.crawl import Sample
from socialcrawl.sample.estimates import (
    Bar,
    Estimate,
    Series,
    distribution,
    doubling,
    histogram,
    wilson,
)
from socialcrawl.sample.parts import Part, Parts, parts
from socialcrawl.sample.staying import Links, staying
from socialcrawl.sample.visits import Held, Visits
from socialcrawl.settings import Settings, stored
from socialcrawl.store.audits import languages, said
from socialcrawl.store.traces import Begun, Traces

KIND = "sample"
MOST = 15  # of hosts and languages, so many are told, the largest
UNTOLD = "not told"  # the language of an account of whose posts no platform said it
HALF = 0.05  # half the width of an interval that is good enough
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """A campaign that samples, folded.

    Attributes:
        whole: as the database has it; `settings`: as it was last run.
        crawl: its walks, with nothing that asks anybody.
        rows: what they drew; `held`: whom they read.
        parts: the parts of the topic in which walks are.
        weight: float64[m], what each row counts: 0 off topic, before the end of the burn-in, and in parts left out.
    """

    whole: Begun
    settings: Settings
    crawl: Sample
    rows: Visits
    held: Held
    parts: Parts
    weight: Floats

    @property
    def places(self) -> NDArray[np.int64]:
        """The places of the accounts in the sample, each once, in the order in which they were read."""
        return np.unique(self.rows.place[self.weight > 0.0])

    @property
    def group(self) -> list[str]:
        """Where each account of a row is: its host or community; "" where there is none."""
        return [self.held.marks[number] for number in self.held.group[self.rows.place].tolist()]

    @property
    def series(self) -> Series:
        """The rows, ready for statistics."""
        return Series.of(self.weight, self.rows.walker, self.held.group[self.rows.place])


@dataclass(frozen=True, slots=True)
class Sampled:
    """A campaign that samples, as of its latest answer.

    Attributes:
        focus: where its walks may go; `walkers`: how many there are.
        read: accounts that were read; `on_topic`: those of them on topic.
        precision: the share of visits on topic; NaN before the first.
        burn_in: on-topic visits of each walk that do not count; `burning`: walks that have not got beyond them.
        jumps: out of traps, of all walks.
        draws: that count; `accounts`: at which they were made.
        effective: how many independent accounts they tell as much as.
        more: how many more draws it takes until any share is known to +- 5 points, about; None: nobody can say yet.
        steps: the accounts that would have to be read for them, at the rate so far.
        outs: how many others an account links to, the mean; `degrees`: how many link to so many.
        hosts: shares of instances or hosts; `languages`: of the languages in which accounts write most.
        links: how much of what they link to is on topic.
        subtopics: shares of accounts that have a word in a post that is stored, by word.
        note: why it is too small to tell; "" where it is not.
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
    links: Links
    subtopics: Mapping[str, Estimate]
    note: str = ""
    parts: tuple[Part, ...] = ()


def drawn(traces: Traces, campaign: str | None = None) -> Drawn | None:
    """What a campaign (the newest, if none is named) has drawn; None: it samples nothing.

    Raises:
        StoreError: there is no such campaign.
        SettingsError: its settings are not understood.
    """
    whole = traces.begun(campaign)
    if whole.identity.get("kind") != KIND:
        return None
    settings = stored(traces.versions(whole)[-1].settings, f"the campaign {whole.name!r}")
    names = traces.enlisted(whole.platform, whole.identity["seeds"]["usernames"])
    crawl = sampling(settings, past(settings, names, traces.topics(whole.id)))
    crawl.fold(traces.history(whole))
    rows = crawl.visits()
    apart = parts(crawl.walks, rows)
    weight = np.where(rows.kept & rows.on_topic & apart.counts[rows.place], rows.weight, 0.0)
    return Drawn(whole, settings, crawl, rows, crawl.held(), apart, weight)


def sampled(traces: Traces, campaign: str | None = None, sub: Sequence[str] = ()) -> Sampled | None:
    """The statistics of a campaign (the newest, if none is named); None: it samples nothing.

    Args:
        traces: the database.
        campaign: its name.
        sub: words or phrases of sub-topics, as keywords are written.

    Raises:
        StoreError: there is no such campaign.
        SettingsError: its settings, or one of `sub`, are not understood.
    """
    found = drawn(traces, campaign)
    return None if found is None else told(traces, found, sub)


def told(traces: Traces, found: Drawn, sub: Sequence[str] = ()) -> Sampled:
    """The statistics of what was drawn; arguments as of `sampled`."""
    rows, held, how = found.rows, found.held, found.crawl.how
    series, walk, topical = found.series, rows.walker, found.weight > 0.0
    more, accounts = lacking(series), found.places
    outs = held.outs[rows.place].astype(np.float64)
    group = [] if how.trap == "community" else found.group
    burnt = np.bincount(walk[rows.kept & rows.on_topic], minlength=how.walkers) > 0
    speech = spoken(traces, held.node[accounts].tolist())
    arrived = int(np.count_nonzero(topical & rows.came))
    return Sampled(
        focus=how.focus,
        walkers=how.walkers,
        read=len(held.node),
        on_topic=int(np.count_nonzero(held.on_topic)),
        precision=rows.precision,
        burn_in=how.burn_in,
        burning=how.walkers - int(np.count_nonzero(burnt)),
        jumps=int(rows.jumps.sum()),
        draws=series.visits,
        accounts=len(accounts),
        effective=series.floor[0] if series.visits else 0.0,
        more=more,
        steps=None if more is None or not arrived else more * found.crawl.taken / series.visits,
        outs=series.mean(outs),
        degrees=histogram(outs, doubling(float(outs[topical].max(initial=0.0))), found.weight, walk),
        hosts=distribution(group, found.weight, walk, most=MOST) if any(group) else {},
        languages=_distribution([speech.get(node, UNTOLD) for node in rows.node.tolist()], found),
        links=staying(found.crawl.walks, rows, found.weight),
        subtopics=_subtopics(traces, found, series, sub),
        note=series.share(topical).note if series.visits < 2 or series.floor[0] < 10.0 else "",
        parts=found.parts.each,
    )


def lacking(series: Series) -> float | None:
    """How many more draws make the interval of any share +- 5 points at most, about; None: there are too few to say."""
    if series.visits < 2:
        return None
    effective, freedom = series.floor
    half = Estimate(0.5, *wilson(0.5, effective, freedom, series.confidence), effective, series.visits)
    return enough(half, HALF) - series.visits


def spoken(traces: Traces, nodes: Sequence[int]) -> dict[int, str]:
    """The language that most posts of an account are in, of those that the database has; ties by name."""
    found = languages(traces.connection, nodes)
    return {
        node: min((lang for lang in counts), key=lambda lang: (-counts[lang], lang))
        for node, each in found.items()
        if (counts := {lang: count for lang, count in each.items() if _tells(lang)})
    }


def _tells(lang: str) -> bool:
    """Whether it is a language: X says und, zxx, qme, qht, ... of posts that are names, tags or links only."""
    return bool(lang) and lang not in ("und", "zxx", "mis", "mul", "art") and not lang.startswith("q")


def _distribution(labels: Sequence[str], found: Drawn) -> dict[str, Estimate]:
    """The shares of labels, the largest first; none where no label says anything."""
    shares = distribution(labels, found.weight, found.rows.walker, most=MOST)
    return {} if set(shares) <= {UNTOLD} else shares


def _subtopics(traces: Traces, found: Drawn, series: Series, sub: Sequence[str]) -> dict[str, Estimate]:
    if not sub:
        return {}
    topics = {word: Topic([word]) for word in sub}
    speakers: dict[str, set[int]] = {word: set() for word in topics}
    for one in said(traces.connection, found.held.node[found.places].tolist(), found.whole.platform):
        for word, topic in topics.items():
            if one.author not in speakers[word] and topic.count(one.text):
                speakers[word].add(one.author)
    return {word: series.share(np.isin(found.rows.node, [*who])) for word, who in speakers.items()}
