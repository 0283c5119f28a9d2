"""What each kind of campaign shows beside what all have: its texts and tables, its curve, its figures for scripts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from functools import singledispatch
from typing import Any

from rich.console import RenderableType

from socialcrawl.crawls.capture.report import CaptureReport
from socialcrawl.crawls.refresh.report import RefreshReport
from socialcrawl.crawls.sample.report import SampleReport
from socialcrawl.crawls.track.report import TrackReport
from socialcrawl.render import capture_report, refresh_report, sample_report, track_report
from socialcrawl.render.console import Text
from socialcrawl.render.score_curve import RELEVANCE, ScoreCurve, Span
from socialcrawl.storage.queries.summary import Summary


@singledispatch
def collect_knowledge(details: object) -> dict[str, Any]:
    """Return what a campaign knows beside counts as plain values, for scripts, under a name; {} of none."""
    if details is None:
        return {}
    return {"report": asdict(details) if is_dataclass(details) else details}  # type: ignore[arg-type]


@collect_knowledge.register
def _(details: SampleReport) -> dict[str, Any]:
    return {"sampled": sample_report.build_object(details)}


@collect_knowledge.register
def _(details: RefreshReport) -> dict[str, Any]:
    return {"refreshed": sample_report.make_finite({**asdict(details), "found": int(details.found.sum())})}


@collect_knowledge.register
def _(details: TrackReport) -> dict[str, Any]:
    return {"tracked": {name: value for name, value in asdict(details).items() if name != "posts"}}


@collect_knowledge.register
def _(details: CaptureReport) -> dict[str, Any]:
    return {"captured": capture_report.build_object(details)}


@singledispatch
def list_parts(details: object, *, billed: bool, publishing: str = "") -> Iterator[RenderableType]:
    """Yield the texts and tables of what a campaign knows beside counts; none of one that collects.

    Kinds that other packages add have a line for each value.

    Args:
        details: what it knows.
        billed: whether its server charges.
        publishing: what the platform lets you publish, to be said where numbers are shown that it restricts.
    """
    del billed, publishing
    if details is not None:
        values = collect_knowledge(details)["report"]
        pairs = values.items() if isinstance(values, Mapping) else [("report", values)]
        yield Text("\n".join(f"{name}: {value}" for name, value in pairs))


@list_parts.register
def _(details: TrackReport, *, billed: bool, publishing: str = "") -> Iterator[RenderableType]:
    del billed, publishing
    yield from track_report.list_parts(details)


@list_parts.register
def _(details: RefreshReport, *, billed: bool, publishing: str = "") -> Iterator[RenderableType]:
    yield from refresh_report.list_parts(details, billed=billed)
    if publishing:
        yield Text(publishing)


@list_parts.register
def _(details: SampleReport, *, billed: bool, publishing: str = "") -> Iterator[RenderableType]:
    del billed, publishing
    yield from sample_report.list_parts(details)


@list_parts.register
def _(details: CaptureReport, *, billed: bool, publishing: str = "") -> Iterator[RenderableType]:
    del billed, publishing
    yield from capture_report.list_parts(details)


@singledispatch
def describe_days(details: object) -> str:
    """Return which days a chart of posts per day counts too low, as a sentence; "" for none."""
    del details
    return ""


@describe_days.register
def _(details: CaptureReport) -> str:
    return capture_report.describe_days(details)


@singledispatch
def list_unread_spans(details: object) -> Sequence[Span]:
    """Return the spans of time that are not complete, Unix seconds, where a kind knows them."""
    del details
    return ()


@list_unread_spans.register
def _(details: CaptureReport) -> Sequence[Span]:
    return capture_report.list_unread_spans(details)


@singledispatch
def find_curve(details: object, found: Summary) -> ScoreCurve | None:
    """Return the curve of a campaign: of one that collects, the relevance found; None where there is none."""
    if details is not None or not len(found.steps):
        return None
    return ScoreCurve("relevance found", found.steps, f"{found.name}: relevance found", RELEVANCE)


@find_curve.register
def _(details: TrackReport, found: Summary) -> ScoreCurve | None:
    return track_report.make_curve(details, found.name)


@find_curve.register
def _(details: RefreshReport, found: Summary) -> ScoreCurve | None:
    return refresh_report.make_curve(details, found.name) if len(details.found) else None


@find_curve.register
def _(details: SampleReport, found: Summary) -> ScoreCurve | None:
    del details
    axes = ("accounts read", "accounts on topic (sum)")
    return (
        ScoreCurve("accounts on topic", found.steps, f"{found.name}: who is on topic", axes)
        if len(found.steps)
        else None
    )
