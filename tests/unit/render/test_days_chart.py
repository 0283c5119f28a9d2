"""The chart of matching posts per day: days that are not complete are hatched, and nothing else is."""

from datetime import UTC, date, datetime, timedelta

import pytest
from matplotlib.figure import Figure

from socialcrawl.crawls.capture.report import CaptureReport, QueryCoverage
from socialcrawl.render.capture_report import list_unread_spans
from socialcrawl.render.report_charts import draw_days
from socialcrawl.render.score_curve import plot_days
from socialcrawl.storage.queries.topic_counts import TopicCounts

FIRST = date(2025, 12, 15)
DAY = 86_400.0
BEGIN = datetime(2025, 12, 15, tzinfo=UTC).timestamp()


def counts_of(days):
    """A post on each of so many days but the third and the fourth."""
    return TopicCounts(days=[(FIRST + timedelta(n), 1) for n in range(days) if n not in (2, 3)], captured=True)


@pytest.mark.parametrize(
    ("days", "gaps", "hatched"),
    [
        (8, [], []),
        (8, [(2.0, 4.0)], [2, 3]),
        (8, [(1.5, 1.6), (7.0, 9.0)], [1, 7]),
        (8, [(8.0, 9.0), (-1.0, 0.0)], []),
        (180, [(2.0, 3.0)], [1]),  # bars of two days
    ],
)
def test_days_that_are_not_complete_are_hatched(days, gaps, hatched):
    axes = Figure().subplots()
    plot_days(axes, counts_of(days), "b", [(BEGIN + DAY * first, BEGIN + DAY * end) for first, end in gaps])
    assert [round(patch.get_x() + 0.5) for patch in axes.patches if patch.get_hatch()] == hatched
    legend = axes.get_legend()
    said = [] if legend is None else [text.get_text() for text in legend.get_texts()]
    assert said == (["not complete: counted too low"] if hatched else [])


def test_the_alternative_text_says_so():
    gaps = [(BEGIN, BEGIN + DAY)]
    for given, said in ((gaps, True), ((), False)):
        text = "".join(draw_days(counts_of(8), given).itertext())
        assert ("Days that are not complete are hatched." in text) == said


def test_what_a_capture_has_not_read_of_any_query_is_not_complete():
    one = QueryCoverage("a", [], ["2025-12-15T00:00:00Z/2025-12-16T00:00:00Z"], [], 0)
    two = QueryCoverage("b", [], [], [("2025-12-20T00:00:00Z/2025-12-21T00:00:00Z", "unreachable")], 0)
    found = CaptureReport(None, "newest", False, 0.5, [one, two], 0, None)
    assert list_unread_spans(found) == [(BEGIN, BEGIN + DAY), (BEGIN + 5 * DAY, BEGIN + 6 * DAY)]
