"""What a capture has read, for people: complete spans of time, what is left, how many posts there may be."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from socialcrawl.crawls.capture.report import CaptureReport, HydrationReport, QueryCoverage
from socialcrawl.engine.model import Reason
from socialcrawl.render.console import Text
from socialcrawl.text.wording import round_up

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
    if found.hydrated is not None and not found.queries:
        return
    yield Text("\n".join(_describe(found)))
    table = Table("query", "posts returned", "complete (UTC)", "not read yet", title="Spans of time")
    for one in found.queries:
        table.add_row(_shorten(one.query), f"{one.posts:,}", _list_spans(one.complete), _describe_rest(one))
    if found.span is not None:
        yield table
    reasons = {why for one in found.queries for _, why in one.failed}
    yield from (Text(f"{why}: {WHY[why]}") for why in sorted(reasons & WHY.keys()))


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
    elif found.left:
        yield (
            f"Share that is gone: not known yet. {found.left:,} ids are left, which are asked for in the order of the "
            f"files, so the {asked:,} so far are no random sample."
        )
    if found.failed:
        yield f"For {found.failed:,} ids no usable answer came, however often they were tried."
    if found.forgotten:
        yield f"Forgotten, and not counted: {found.forgotten:,}."


def _describe(found: CaptureReport) -> Iterator[str]:
    if found.span is None:
        yield "Nothing was read yet."
        return
    begin, end = found.span.split("/")
    yield f"Complete: {_format_share(found.share)} of the time from {_format_time(begin)} to {_format_time(end)} UTC."
    if found.share >= 1.0:
        return
    if found.total is not None:
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


def _describe_rest(one: QueryCoverage) -> str:
    failed = [f"{span} ({why})" for span, why in one.failed]
    return _list_spans([*one.left, *failed]) or "none"


def _list_spans(spans: Sequence[str]) -> str:
    shown = [_format_span(span) for span in spans[:LISTED]]
    more = [f"and {len(spans) - LISTED:,} more"] if len(spans) > LISTED else []
    return "\n".join([*shown, *more])


def _format_span(text: str) -> str:
    span, _, why = text.partition(" ")
    begin, end = span.split("/")
    return f"{_format_time(begin)} to {_format_time(end)}{f' {why}' if why else ''}"


def _format_time(instant: str) -> str:
    """Return an instant to the minute, or its day where it is midnight."""
    day, at = instant.removesuffix("Z").split("T")
    return day if at == "00:00:00" else f"{day} {at[:5]}"


def _format_share(share: float) -> str:
    return "all" if share >= 1.0 else f"{min(99.9, 100 * share):.1f}%"


def _shorten(query: str) -> str:
    return query if len(query) <= LONG else f"{query[: LONG - 3]}..."
