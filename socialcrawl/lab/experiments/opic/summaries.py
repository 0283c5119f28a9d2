"""What figures and terminal tell of long tables: means over the last crawls and over the seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

import numpy as np

from socialcrawl.lab.experiments.opic.importance_errors import ImportanceErrors
from socialcrawl.lab.measures import compute_mean
from socialcrawl.lab.result_tables import Table, list_rows, make_table

NAMES: Final = tuple(field.name for field in fields(ImportanceErrors))
LAST: Final = 3  # crawls that are averaged in the figures: poor pages are crawled in waves, an end alone is chance


def summarize_windows(found: Table) -> Table:
    """Return the means over the last crawls and all seeds: a row for each rate and window, in their order.

    Columns: rate, window, runs (seeds), month, measures (at the last crawl), the errors, and for each error NAME
    `NAME_spread`, its standard error over the seeds (0 with one), NAME_low and NAME_high, its 95 % interval (NaN).
    """
    listed = list_rows(found)
    last = max(row["crawl"] for row in listed)
    made = []
    for rate, window in dict.fromkeys((row["rate"], row["window"]) for row in listed):
        here = [row for row in listed if (row["rate"], row["window"]) == (rate, window) and row["crawl"] > last - LAST]
        ends = [row for row in here if row["crawl"] == last]
        first = {"rate": rate, "window": window, "runs": len(ends)}
        made.append(
            {**first, **{name: _compute_mean(ends, name) for name in ("month", "measures")}, **_summarize_errors(here)}
        )
    return make_table(made)


def summarize_ways(found: Table) -> Table:
    """Return the means over all seeds: a row for each law, way, estimate and time, in their order.

    Columns: law, way, estimate, crawls, runs (seeds), the errors and their spreads as of `summarize_windows`.
    """
    listed = list_rows(found)
    keys = ("law", "way", "estimate", "crawls")
    parts: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in listed:
        parts.setdefault(tuple(row[key] for key in keys), []).append(row)
    return make_table(
        [
            {**dict(zip(keys, key, strict=True)), "runs": len(some), **_summarize_errors(some)}
            for key, some in parts.items()
        ]
    )


def _summarize_errors(listed: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the means of all errors over rows, and their spread over the seeds, as of `summarize_windows`."""
    seeds = dict.fromkeys(row["seed"] for row in listed)
    found = {}
    for name in NAMES:
        means = [_compute_mean([row for row in listed if row["seed"] == seed], name) for seed in seeds]
        made = compute_mean(np.array(means))
        found[name], found[f"{name}_spread"] = made.mean, float(np.nan_to_num(made.error))
        found[f"{name}_low"], found[f"{name}_high"] = made.mean - made.half, made.mean + made.half
    return found


def _compute_mean(listed: Sequence[Mapping[str, Any]], name: str) -> float:
    return float(np.mean([row[name] for row in listed]))
