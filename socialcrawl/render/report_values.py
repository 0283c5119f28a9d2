"""What the charts of a report show, as plain values for programs that draw them."""

from typing import TYPE_CHECKING, Any

import numpy as np

from socialcrawl.engine.model import MILLS_PER_DOLLAR
from socialcrawl.render.block_charts import choose_points
from socialcrawl.render.campaign_report import CampaignReport
from socialcrawl.render.kind_charts import collect_kind_charts, find_goal
from socialcrawl.render.kind_parts import find_curve
from socialcrawl.render.report_charts import POINTS
from socialcrawl.render.score_curve import SPANS
from socialcrawl.storage.queries.over_time import read_hours, read_spent
from socialcrawl.storage.queries.row_values import join_transaction
from socialcrawl.storage.queries.summary import find_campaign

if TYPE_CHECKING:
    from socialcrawl.storage.database.connection import Opened

SHORT = 10  # days up to which posts are shown by the hour
CHARTS = ("curve", "days", "hours", "spending", "moves", "shares", "coverage")


def collect_charts(given: CampaignReport, connection: "Opened") -> dict[str, Any]:
    """Return what the charts of a report show, by name; None where it has none.

    - `curve`: its name, axes and points [step, sum so far]; `references` are lines from 0 whose slopes are what a step
      found that was drawn for comparison, by name; `baselines` other curves, by name; `goal` what its end is estimated
      to be, with the ends of the interval.
    - `days`: the days of a bar, and [first day, matching posts] of each bar; `hours`: [hour, matching posts] of each
      hour, where there are no more than ten days.
    - `spending`: the seconds of a bar, and [begin, requests, dollars] of each.
    - `moves`: of one that tracks, places of accounts that rose or fell beyond chance, then and now.
    - `shares`: of one that samples, [name, share, low, high] in groups, once there is enough data.
    - `coverage`: of one that captures, [begin, end, complete | left | failed] by query.
    """
    with join_transaction(connection):
        number, _ = find_campaign(connection, given.found.name)
        found = {
            "curve": _collect_curve(given),
            "days": _collect_days(given),
            "hours": _collect_hours(given, connection, number),
            "spending": _collect_spending(connection, number),
        }
    return dict.fromkeys(CHARTS) | found | collect_kind_charts(given.known)


def _collect_curve(given: CampaignReport) -> dict[str, Any] | None:
    curve = find_curve(given.known, given.found)
    if curve is None or not len(curve.values):
        return None
    own = np.add.accumulate(curve.values)
    places = choose_points(len(own), POINTS)
    gained = given.gained
    drawn = {} if gained is None else {"drawn by chance": gained.chance, "drawn breadth-first": gained.breadth}
    references = {name: one.mean for name, one in drawn.items() if one is not None and one.steps}
    return {
        "name": curve.name,
        "x": curve.axes[0],
        "y": curve.axes[1],
        "points": [[0, 0.0], *([int(place), float(own[place - 1])] for place in places)],
        "references": {name: [[0, 0.0], [len(own), mean * len(own)]] for name, mean in references.items()},
        "baselines": {
            name: [[0, 0.0], *([int(place), float(values[place - 1])] for place in places)]
            for name, values in given.baselines.items()
        },
        "goal": find_goal(given.known),
    }


def _collect_days(given: CampaignReport) -> dict[str, Any] | None:
    counts = given.found.on_topic
    if not counts.days:
        return None
    length, spans = counts.fill_days(SPANS)
    return {"length": length, "bars": [[str(day), posts] for day, posts in spans]}


def _collect_hours(given: CampaignReport, connection: "Opened", campaign: int) -> dict[str, Any] | None:
    counts = given.found.on_topic
    if not counts.days or (counts.days[-1][0] - counts.days[0][0]).days >= SHORT:
        return None
    return {"bars": [list(bar) for bar in read_hours(connection, campaign, captured=counts.captured)]}


def _collect_spending(connection: "Opened", campaign: int) -> dict[str, Any] | None:
    length, bars = read_spent(connection, campaign, SPANS)
    if not bars:
        return None
    return {"length": length, "bars": [[bar.begin, bar.requests, bar.mills / MILLS_PER_DOLLAR] for bar in bars]}
