"""What a capture has read, for people: which spans of time are complete, which are not, and how much is left.

All of it follows from the stored picks and outcomes, folded by the crawl that made them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from socialcrawl.campaign.settings import load_stored
from socialcrawl.crawls.capture.crawl import COLUMNS, Capture
from socialcrawl.crawls.capture.estimate import VolumeEstimate, estimate_volume
from socialcrawl.crawls.capture.rules import EVEN
from socialcrawl.engine.model import Node, Reason
from socialcrawl.engine.time_spans import write_span
from socialcrawl.storage.identity import read_texts
from socialcrawl.storage.queries.traces import CampaignTraces, StoredCampaign
from socialcrawl.storage.wanted_posts import HELD, STORED, WANTED

Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class QueryCoverage:
    """The spans of time of one query, as intervals of ISO 8601 (UTC).

    Attributes:
        query: its text.
        complete: spans that were read to the end.
        left: spans that are still to be read.
        failed: spans that cannot be read, with the reason.
        posts: how many posts were returned.
    """

    query: str
    complete: Sequence[str]
    left: Sequence[str]
    failed: Sequence[tuple[str, str]]
    posts: int


@dataclass(frozen=True, slots=True)
class StreamCoverage:
    """What of the live stream was read.

    Attributes:
        complete: spans of time that were read without a hole, as intervals of ISO 8601 (UTC). What lies between them
            the stream did not replay, and was searched.
        posts: how many posts came.
        segments: in how many parts they were stored.
    """

    complete: Sequence[str]
    posts: int
    segments: int


@dataclass(frozen=True, slots=True)
class CountedPosts:
    """What the platform counted before posts were read: before deleted and protected ones were removed.

    Attributes:
        complete: the posts in what is complete.
        left: those in what is still to be read, about.
        returned: how many posts searches returned of what is complete.
    """

    complete: int
    left: int
    returned: int


@dataclass(frozen=True, slots=True)
class HydrationReport:
    """What became of the ids of posts that were imported.

    Attributes:
        ids: how many there are, without those whose posts were forgotten.
        stored: posts that came, and are stored.
        held: ids that were not asked for, as their posts were stored before.
        gone: how many posts did not come, by reason.
        left: ids that are still to be asked for.
        failed: ids for which no usable answer came, however often they were tried; a part of `left`.
        forgotten: ids whose posts were forgotten.
        share: of all ids, the part whose posts are gone, 0 to 1; None: some are left, or were not asked for as their
            posts were stored before. Ids are asked for in the order of the files, so a part of them is no random
            sample.
    """

    ids: int
    stored: int
    held: int
    gone: Mapping[str, int]
    left: int
    failed: int
    forgotten: int
    share: float | None


@dataclass(frozen=True, slots=True)
class CaptureReport:
    """What a capture has read.

    Attributes:
        span: the span of time that it began with; None: it has not begun.
        order: of its parts: newest | oldest | even.
        ongoing: whether it goes on with new posts.
        share: of the span's time, over all queries, the part that is complete, 0 to 1.
        queries: their spans, by searches and the stream together; their posts are those of searches.
        posts: how many posts were returned; one that matches two queries counts twice.
        total: how many the whole span has, where that can be estimated; None where the platform counts them.
        stream: what of the live stream was read; None: none was.
        counts: whether the platform is to count the posts of each query first.
        counted: how many it counted; None: it did not count those of every query.
        hydrated: what became of imported ids of posts; None: none were imported.
        deleted: how many posts and accounts of the database ("post", "user") the platform has deleted, and were erased.
    """

    span: str | None
    order: str
    ongoing: bool
    share: float
    queries: Sequence[QueryCoverage]
    posts: int
    total: VolumeEstimate | None
    counts: bool = False
    stream: StreamCoverage | None = None
    counted: CountedPosts | None = None
    hydrated: HydrationReport | None = None
    deleted: Mapping[str, int] = field(default_factory=dict)


def report_capture(traces: CampaignTraces, campaign: StoredCampaign) -> CaptureReport:
    """Return what a capture has read.

    Raises:
        SettingsError: its settings are not understood.
    """
    settings = load_stored(traces.read_versions(campaign)[-1].settings, f"the campaign {campaign.name!r}")
    texts = read_texts(campaign.identity)
    nodes = [Node(-1 - place) for place in range(len(texts))]
    crawl = Capture(settings.capture.make_rules(), nodes, settings.seed)
    crawl.fold(traces.read_history(campaign, COLUMNS))
    for one in traces.read_open_slices(campaign.id):
        crawl.note_open(one.pick, one.posts, one.oldest)
    coverage = [_read_coverage(crawl, node, text) for node, text in zip(nodes, texts, strict=True)]
    begun = crawl.until is not None
    return CaptureReport(
        write_span(crawl.rules.begin, crawl.until) if crawl.until is not None else None,
        crawl.rules.order,
        crawl.rules.ongoing,
        crawl.share,
        coverage,
        sum(one.posts for one in coverage) + crawl.live.posts,
        estimate_total(crawl) if begun and crawl.rules.order == EVEN else None,
        crawl.rules.counts,
        _read_stream(crawl),
        _count_posts(crawl),
        report_ids(traces.read_id_states(campaign.id), sum(one.end - one.begin for one in crawl.ids.failed)),
        traces.count_deleted(),
    )


def report_ids(states: Mapping[str, int], failed: int) -> HydrationReport | None:
    """Return what became of the ids of a capture; None where there are none.

    Args:
        states: how many ids are in each state, see table `wanted_post`.
        failed: for how many of them no usable answer came.
    """
    if not states:
        return None
    stored, held, left = (states.get(name, 0) for name in (STORED, HELD, WANTED))
    forgotten = states.get(Reason.FORGOTTEN, 0)
    gone = {name: number for name, number in states.items() if name not in (STORED, HELD, WANTED, Reason.FORGOTTEN)}
    asked = stored + sum(gone.values())
    share = sum(gone.values()) / asked if asked and not left and not held else None
    return HydrationReport(asked + held + left, stored, held, gone, left, min(failed, left), forgotten, share)


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Return spans of time in order, those that touch or overlap as one."""
    found: list[Span] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


def subtract_spans(spans: Iterable[Span], known: Iterable[Span]) -> list[Span]:
    """Return the parts of spans of time, in order, that lie in none of the known ones."""
    left = merge_spans(spans)
    for begin, end in merge_spans(known):
        parts = [part for a, b in left for part in ((a, min(b, begin)), (max(a, end), b))]
        left = [(a, b) for a, b in parts if a < b]
    return left


def estimate_total(crawl: Capture) -> VolumeEstimate | None:
    """Return how many posts the span has that it began with; None where that cannot be told."""
    if crawl.failed or crawl.counted is not None:  # parts of equal volume were not measured, and their counts tell more
        return None
    parts, queries = crawl.parts, len(crawl.queries)
    posts, read, left = np.zeros(parts), np.zeros(parts), np.zeros(parts)
    for one in crawl.read:
        if one.whole.part < parts:
            posts[one.whole.part] += one.posts
            read[one.whole.part] += one.end - one.begin
    for slice_ in crawl.pending.values():
        if slice_.part < parts:
            left[slice_.part] += slice_.end - slice_.begin
    begun = np.flatnonzero((read > 0) & (left > 0))
    if len(begun) > 1 or queries == 0:  # with a batch of several slices: which of them were begun is not by chance
        return None
    partial = (0.0, 0.0)
    if len(begun):
        partial = (float(posts[begun[0]]), float(read[begun[0]] / (read[begun[0]] + left[begun[0]])))
    return estimate_volume(posts[(read > 0) & (left == 0)], partial, parts)


def _read_stream(crawl: Capture) -> StreamCoverage | None:
    live = crawl.live
    if not crawl.rules.live and not live.segments:
        return None
    return StreamCoverage([write_span(*span) for span in live.spans], live.posts, live.segments)


def _read_coverage(crawl: Capture, query: Node, text: str) -> QueryCoverage:
    read = [one for one in crawl.read if one.whole.query == query]
    complete = merge_spans([*((one.begin, one.end) for one in read), *crawl.live.spans])
    # Searches of what a stream did not replay overlap what it brought, and reach beyond its end.
    last = max([crawl.until or 0.0, *(end for _, end in crawl.live.spans)])
    left = [(one.begin, min(one.end, last)) for one in crawl.list_left() if one.query == query and one.begin < last]
    failed: dict[str, list[Span]] = {}
    for one, why in crawl.failed:
        if one.query == query:
            failed.setdefault(str(why), []).append((one.begin, one.end))
    return QueryCoverage(
        text,
        [write_span(*span) for span in complete],
        [write_span(*span) for span in subtract_spans(left, complete)],
        sorted((write_span(*span), why) for why, spans in failed.items() for span in merge_spans(spans)),
        sum(one.posts for one in read),
    )


def _count_posts(crawl: Capture) -> CountedPosts | None:
    """Return how many posts of the span that it began with were counted; None where some were not."""
    counted = crawl.counted
    if counted is None or not crawl.queries or counted.counts.keys() != {*crawl.queries}:
        return None
    done = [one for one in crawl.read if one.whole.part < crawl.parts]
    read = sum(
        counted.count(query, *span)
        for query in crawl.queries
        for span in merge_spans((one.begin, one.end) for one in done if one.whole.query == query)
    )
    left = sum(counted.count(one.query, one.begin, one.end) for one in crawl.pending.values())
    return CountedPosts(round(read), round(left), sum(one.posts for one in done))
