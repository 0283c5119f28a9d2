"""What a capture has read, for people: complete spans of time, what is left, how many posts there may be."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from socialcrawl.crawls.capture.report import CaptureReport, HydrationReport, QueryCoverage, StreamCoverage
from socialcrawl.engine.model import Reason
from socialcrawl.engine.time_spans import parse_span
from socialcrawl.render.console import Text
from socialcrawl.text.wording import pluralize, round_up

LISTED = 5  # spans that are shown of each kind
LONG = 60  # characters of a query that are shown
WHY: Mapping[str, str] = {
    Reason.PROTECTED: "the server does not let you search. Set a token under [source], see the page Platforms.",
    Reason.TEMPORARY: "no usable answer came, however often it was tried.",
    Reason.UNREACHABLE: "the search does not reach back that far. A new campaign with archive = true under [capture] "
    "reads the full archive.",
}
"""What the reasons of slices that could not be read mean."""


def build_object(found: CaptureReport) -> dict[str, Any]:
    """Return the same as plain values, for scripts."""
    return asdict(found)


def list_parts(found: CaptureReport) -> Iterator[RenderableType]:
    """Yield the texts and tables of what a capture has read."""
    if found.hydrated is not None:
        yield Text("\n".join(_describe_ids(found.hydrated)))
    if found.deleted:
        yield Text(_describe_deleted(found.deleted))
    if found.hydrated is not None and not found.queries:
        return
    yield Text("\n".join(describe(found)))
    if found.span is not None:
        yield from map(_make_table, found.queries)
    if found.stream is not None:
        yield Text("\n".join(_describe_stream(found.stream)))
    reasons = {why for one in found.queries for _, why in one.failed}
    yield from (Text(f"{why}: {WHY[why]}") for why in sorted(reasons & WHY.keys()))


def _describe_deleted(deleted: Mapping[str, int]) -> str:
    """Return what was erased because the platform deleted it."""
    names = {"post": "post", "user": "account"}
    counts = [pluralize(deleted[kind], name) for kind, name in names.items() if kind in deleted]
    return f"Deleted on the platform since they were stored, and erased from this database: {' and '.join(counts)}."


def _describe_ids(found: HydrationReport) -> Iterator[str]:
    """Yield sentences on what became of imported ids."""
    held = f", {found.held:,} were stored before" if found.held else ""
    gone = sum(found.gone.values())
    yield f"Imported ids: {found.ids:,}. Posts: {found.stored:,} came{held}, {gone:,} are gone."
    if gone:
        reasons = sorted(found.gone.items(), key=lambda one: (-one[1], one[0]))
        yield f"Gone: {', '.join(f'{number:,} {why}' for why, number in reasons)}."
    asked = found.stored + gone
    if found.share is not None:
        yield f"Share that is gone: {100 * found.share:.1f}% of the {asked:,} posts asked for (all of them: no sample)."
    elif asked and found.held and not found.left:
        yield (
            f"Share that is gone: not known, because {found.held:,} posts were stored before and not asked for again. "
            f"Of the other {asked:,}, {gone:,} are gone."
        )
    elif found.left:
        yield (
            f"Share that is gone: not known yet. {found.left:,} ids are left, which are asked for in the order of the "
            f"files, so the {asked:,} so far are no random sample."
        )
    if found.failed:
        yield f"For {found.failed:,} ids no usable answer came, however often they were tried."
    if found.forgotten:
        yield f"Forgotten, and not counted: {found.forgotten:,}."


def describe(found: CaptureReport) -> Iterator[str]:
    """Yield lines on which part of the time is complete, and how many posts all of it has."""
    if found.span is None:
        yield "Nothing was read yet."
        return
    begin, end = found.span.split("/")
    what = "Complete" if found.stream is None else "Complete by searches, before the stream began"
    yield f"{what}: {_format_share(found.share)} of the time from {_format_time(begin)} to {_format_time(end)} UTC."
    if found.share >= 1.0:
        return
    if found.counted is not None:
        counted = found.counted
        gone = ": posts that are gone since are counted but not returned" if counted.complete > counted.returned else ""
        yield (
            f"About {round_up(counted.left):,.0f} posts are left, by the platform's own counts. Of what is complete it "
            f"counted {counted.complete:,}, and {counted.returned:,} were returned{gone}."
        )
    elif found.counts:
        yield "How many posts are left is not known: the platform did not count those of every query."
    elif found.total is not None:
        low, high = (round_up(value) for value in (found.total.low, found.total.high))
        yield (
            f"All of it has about {round_up(found.total.value):,.0f} posts ({low:,.0f} to {high:,.0f}, 95% interval); "
            f"{found.posts:,} were returned so far."
        )
    elif found.order == "even":
        yield "How many posts all of it has: not enough data yet, or too little is left to estimate it."
    else:
        yield (
            f'How many posts all of it has is not known: parts are read in the order "{found.order}", so those that '
            'were read are no random sample. order = "even" draws one.'
        )


def _describe_stream(stream: StreamCoverage) -> Iterator[str]:
    parts, posts = pluralize(stream.segments, "segment"), pluralize(stream.posts, "matching post")
    if not stream.segments:
        yield "Stream: nothing of it was read yet."
        return
    if not stream.complete:
        yield f"Stream: {posts} so far, in {parts}."
        return
    begin, end = stream.complete[0].partition("/")[0], stream.complete[-1].partition("/")[2]
    yield f"Stream: {posts} from {_format_time(begin)} to {_format_time(end)} UTC, in {parts}."
    if holes := len(stream.complete) - 1:
        yield (
            f"It did not replay {pluralize(holes, 'span')} in between, which searches read: the table lists what of "
            "that is left."
        )


def describe_days(found: CaptureReport) -> str:
    """Return that a chart of days lacks posts, where the capture is not complete; "" where it is."""
    if found.share >= 1.0 or not found.queries:
        return ""
    return "Not all of the time is read: the days that are not complete are counted too low."


def list_unread_spans(found: CaptureReport) -> list[tuple[float, float]]:
    """Return the spans that are not read, of any query, Unix seconds."""
    spans = [span for one in found.queries for span in (*one.left, *(failed for failed, _ in one.failed))]
    return [parse_span(span) for span in spans]


def _make_table(one: QueryCoverage) -> Table:
    """Return the spans of time of a query, those of each state together."""
    title = f"{_shorten(one.query)}: {pluralize(one.posts, 'post')} returned, by span of time"
    table = Table("state", "from (UTC)", "to (UTC)", title=Text(title), title_justify="left", box=None, pad_edge=False)
    failed = {f"not read: {why}": [span for span, reason in one.failed if reason == why] for _, why in one.failed}
    states: Mapping[str, Sequence[str]] = {"complete": one.complete, "not read yet": one.left, **failed}
    for state, spans in states.items():
        for span in spans[:LISTED]:
            begin, end = span.split("/")
            table.add_row(state, _format_time(begin), _format_time(end))
        if len(spans) > LISTED:
            table.add_row(state, f"and {len(spans) - LISTED:,} more spans", "")
    return table


def _format_time(instant: str) -> str:
    """Return an instant to the minute, or its day where it is midnight."""
    day, at = instant.removesuffix("Z").split("T")
    return day if at == "00:00:00" else f"{day} {at[:5]}"


def _format_share(share: float) -> str:
    return "all" if share >= 1.0 else f"{min(99.9, 100 * share):.1f}%"


def _shorten(query: str) -> str:
    return query if len(query) <= LONG else f"{query[: LONG - 3]}..."
