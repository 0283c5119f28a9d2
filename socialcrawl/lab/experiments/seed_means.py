"""Means over seeds, and their intervals: curves, and rows at some points of them."""

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from socialcrawl.lab.measures import Floats, Mean, compare_groups, compute_mean, make_cells
from socialcrawl.lab.result_tables import Table, make_table

SPARSE = 8  # points of a curve that a table for reading has


def list_variants(rows: Table, by: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the different values of the columns `by`, in order of first appearance."""
    return list(dict.fromkeys(zip(*(rows[name].tolist() for name in by), strict=True)))


def select_variant(rows: Table, by: Sequence[str], values: Sequence[str]) -> Table:
    """Return the rows whose columns `by` have `values`."""
    kept = np.ones(len(next(iter(rows.values()))), bool)
    for name, value in zip(by, values, strict=True):
        kept &= rows[name] == value
    return {name: column[kept] for name, column in rows.items()}


def average_over_seeds(rows: Table, x: str, column: str) -> tuple[Floats, list[Mean]]:
    """Return the points x of a curve, float64[p], and the mean of `column` over the seeds at each of them.

    Args:
        rows: of one variant: for each seed, the same points.
        x: the column of points.
        column: what is averaged; NaN is left out.
    """
    points = np.unique(rows[x])
    found = [compute_mean(np.asarray(rows[column][rows[x] == point], np.float64)) for point in points]
    return np.asarray(points, np.float64), found


def average_for_figure(rows: Table, x: str, column: str) -> tuple[Floats, Floats, Floats]:
    """Return a curve as a figure draws it: the points, the means, and half of their 95 % intervals, float64[p] each."""
    points, found = average_over_seeds(rows, x, column)
    return points, np.array([one.mean for one in found]), np.array([one.half for one in found])


def average_curve(rows: Table, column: str) -> Mean:
    """Return the mean over all points of a variant's curves, then over seeds."""
    return compute_mean(_average_by_seed(rows, (column,))[column])


def summarize_means(rows: Table, by: Sequence[str], x: str, columns: Sequence[str]) -> Table:
    """Return a row for each variant and point: the columns `by`, `x`, and the cells (`make_spread_cells`) of `columns`.

    At `SPARSE` evenly spread points, the last included; then, at `x` = NaN, the mean over all points of the curve.
    """
    found = []
    for values in list_variants(rows, by):
        own = select_variant(rows, by, values)
        curves = {name: average_over_seeds(own, x, name) for name in columns}
        points, first = next(iter(curves.values()))
        named = dict(zip(by, values, strict=True))
        places = np.unique(np.linspace(0, len(first) - 1, SPARSE + 1).astype(np.int64)[1:]).tolist()
        found += [
            named | {x: points[at]} | make_spread_cells({name: means[at] for name, (_, means) in curves.items()})
            for at in places
        ]
        found.append(named | {x: np.nan} | make_spread_cells({name: average_curve(own, name) for name in columns}))
    return make_table(found)


def _average_known(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan


def make_spread_cells(found: Mapping[str, Mean]) -> dict[str, float]:
    """Return the cells of means: NAME, NAME_error (0 for one seed), NAME_low and NAME_high (95 % interval)."""
    flat: dict[str, float] = {}
    for name, one in found.items():
        flat |= make_cells(name, one)
        flat[f"{name}_error"] = float(np.nan_to_num(one.error))
    return flat


def compare_pairs(rows: Table, by: Sequence[str], columns: Sequence[str]) -> Table:
    """Return how far each variant is above each other one of its graph, seed by seed, as means over the whole curve.

    Columns: graph, variant, other (the columns `by` joined by " + "), seeds, and each of `columns` with the standard
    error (0 for one seed) and the interval of the difference, smaller than those of the means where seeds matter more
    than policies, its p, and that corrected for all pairs of the graph (as of `measures.compare_groups`).
    """
    found = []
    for (graph,) in list_variants(rows, ("graph",)):
        here = select_variant(rows, ("graph",), (graph,))
        means = {
            " + ".join(own): _average_by_seed(select_variant(here, by, own), columns) for own in list_variants(here, by)
        }
        seeds = len(np.unique(here["seed"]))
        apart = [compare_groups(name, {variant: own[name] for variant, own in means.items()}) for name in columns]
        for one, other in permutations(means, 2):
            named: dict[str, Any] = {"graph": graph, "variant": one, "other": other, "seeds": seeds}
            for name, pairs_ in zip(columns, apart, strict=True):
                named |= pairs_[one, other] if (one, other) in pairs_ else _reverse_difference(name, pairs_[other, one])
                named[f"{name}_error"] = float(np.nan_to_num(named[f"{name}_error"]))
            found.append(named)
    return make_table(found) if found else {}


def _reverse_difference(name: str, found: Mapping[str, float]) -> dict[str, float]:
    """Return the cells of a difference the other way round."""
    ends = {
        name: 0.0 - found[name],
        f"{name}_low": 0.0 - found[f"{name}_high"],
        f"{name}_high": 0.0 - found[f"{name}_low"],
    }
    return {**found, **ends}


def _average_by_seed(rows: Table, columns: Sequence[str]) -> dict[str, Floats]:
    """Return the mean over the whole curve, a number a seed, ascending."""
    seeds = np.unique(rows["seed"])
    return {
        name: np.array([_average_known(np.asarray(rows[name][rows["seed"] == seed], np.float64)) for seed in seeds])
        for name in columns
    }
