"""What the charts of a kind of campaign show, as plain values: places that moved, shares with intervals, spans read."""

from collections.abc import Iterator, Mapping
from functools import singledispatch
from math import isfinite
from typing import Any

from socialcrawl.crawls.capture.report import CaptureReport, QueryCoverage
from socialcrawl.crawls.refresh.report import RefreshReport
from socialcrawl.crawls.sample.report import SampleReport
from socialcrawl.crawls.track.report import TrackReport
from socialcrawl.render.sample_report import list_shares

MOST_SPANS = 1_000  # of a query, which are drawn
CAPTIONS: Mapping[str, str] = {
    "moves": "Accounts that rose or fell further than chance. A ring is the place before, a dot the place now; the bar "
    "is where 19 in 20 accounts are whose rate of links has not changed. Place 1 is at the left.",
    "shares": "Shares of the accounts on topic. The dot is the estimate, the line its 95 % interval; where every "
    "account was read, shares are counts and have no interval.",
    "coverage": "Which spans of time are complete, by query (UTC).",
}
"""What each chart says to those who look at it."""


@singledispatch
def collect_kind_charts(details: object) -> dict[str, Any]:
    """Return the charts of what a campaign knows beside counts, by name; {} where it has none."""
    del details
    return {}


@collect_kind_charts.register
def _(details: TrackReport) -> dict[str, Any]:
    moves = [
        {"account": one.account, "before": one.before, "place": one.place, "low": one.chance[0], "high": one.chance[1]}
        for one in (*details.rose, *details.fell)
        if one.chance is not None and one.before is not None
    ]
    return {"moves": {"compared": details.compared, "moved": details.moved, "accounts": moves}} if moves else {}


@collect_kind_charts.register
def _(details: SampleReport) -> dict[str, Any]:
    groups = [
        {"title": title, "bars": [[name, *map(_make_finite, (one.value, one.low, one.high))] for name, one in rows]}
        for title, rows in list_shares(details)
        if rows
    ]
    return {"shares": {"counted": details.verdict.whole, "groups": groups}} if details.verdict.enough else {}


@collect_kind_charts.register
def _(details: CaptureReport) -> dict[str, Any]:
    lanes = [{"query": one.query, "spans": [*_list_spans(one)][:MOST_SPANS]} for one in details.queries]
    return {"coverage": {"queries": lanes}} if any(lane["spans"] for lane in lanes) else {}


@singledispatch
def find_goal(details: object) -> dict[str, float | None] | None:
    """Return what a curve leads to: the estimate of its end with its interval; None where nothing estimates it."""
    del details
    return None


@find_goal.register
def _(details: RefreshReport) -> dict[str, float | None] | None:
    known = details.known
    return None if not known.nodes else {"value": known.value, "low": known.low, "high": known.high}


def _list_spans(one: QueryCoverage) -> Iterator[list[str]]:
    """Yield the spans of a query: [begin, end, complete | left | failed], those that are not complete first."""
    for state, spans in (("failed", [span for span, _ in one.failed]), ("left", one.left), ("complete", one.complete)):
        for span in spans:
            begin, end = span.split("/")
            yield [begin, end, state]


def _make_finite(value: float) -> float | None:
    return value if isfinite(value) else None
