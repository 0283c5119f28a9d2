"""What the charts of a report show, as plain values for programs that draw them."""

from typing import Any

import numpy as np

from socialcrawl.render.block_charts import choose_points
from socialcrawl.render.campaign_report import CampaignReport
from socialcrawl.render.kind_parts import find_curve
from socialcrawl.render.report_charts import POINTS
from socialcrawl.render.score_curve import SPANS


def collect_charts(given: CampaignReport) -> dict[str, Any]:
    """Return `curve` and `days` of a report; None where it has none.

    `curve` has its name, axes and points [step, sum so far]; `references` are lines from 0 whose slopes are what a step
    found that was drawn for comparison, by name; `baselines` other curves, by name. `days` has the days of a bar, and
    [first day, matching posts] of each bar.
    """
    return {"curve": _collect_curve(given), "days": _collect_days(given)}


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
    }


def _collect_days(given: CampaignReport) -> dict[str, Any] | None:
    counts = given.found.on_topic
    if not counts.days:
        return None
    length, spans = counts.fill_days(SPANS)
    return {"length": length, "bars": [[str(day), posts] for day, posts in spans]}
