"""Means over seeds, and their standard errors: curves, and rows at some points of them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from socialcrawl.lab.measures import Floats, Mean, mean
from socialcrawl.lab.tables import Table, table

SPARSE = 8  # points of a curve that a table for reading has


def variants(rows: Table, by: Sequence[str]) -> list[tuple[str, ...]]:
    """The different values of the columns `by`, in order of first appearance."""
    return list(dict.fromkeys(zip(*(rows[name].tolist() for name in by), strict=True)))


def picked(rows: Table, by: Sequence[str], values: Sequence[str]) -> Table:
    """The rows whose columns `by` have `values`."""
    kept = np.ones(len(next(iter(rows.values()))), bool)
    for name, value in zip(by, values, strict=True):
        kept &= rows[name] == value
    return {name: column[kept] for name, column in rows.items()}


def over_seeds(rows: Table, x: str, column: str) -> tuple[NDArray[np.float64], Floats, Floats]:
    """The points x of a curve, means of `column` there, and their standard errors (0 for one seed): float64[p] each.

    Args:
        rows: of one variant: for each seed, the same points.
        x: the column of points.
        column: what is averaged; NaN is left out.
    """
    points = np.unique(rows[x])
    found = [mean(np.asarray(rows[column][rows[x] == point], np.float64)) for point in points]
    errors = np.nan_to_num(np.array([one.error for one in found]))
    return np.asarray(points, np.float64), np.array([one.mean for one in found]), errors


def averaged(rows: Table, column: str) -> tuple[float, float]:
    """The mean over all points of a variant's curves, then over seeds, and the standard error of that (0 for one)."""
    return _known(mean(_by_seed(rows, (column,))[column]))


def summed_up(rows: Table, by: Sequence[str], x: str, columns: Sequence[str]) -> Table:
    """A row a variant and point: the columns `by`, `x`, and each of `columns` with its standard error (`_error`).

    At `SPARSE` evenly spread points, the last included; then, at `x` = NaN, the mean over all points of the curve.
    """
    found = []
    for values in variants(rows, by):
        own = picked(rows, by, values)
        curves = {name: over_seeds(own, x, name) for name in columns}
        points = next(iter(curves.values()))[0]
        named = dict(zip(by, values, strict=True))
        for place in np.unique(np.linspace(0, len(points) - 1, SPARSE + 1).astype(np.int64)[1:]).tolist():
            cells = {name: (y[place], error[place]) for name, (_, y, error) in curves.items()}
            found.append(named | {x: points[place]} | _flat(cells))
        found.append(named | {x: np.nan} | _flat({name: averaged(own, name) for name in columns}))
    return table(found)


def _whole(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan


def _known(found: Mean) -> tuple[float, float]:
    return found.mean, float(np.nan_to_num(found.error))


def _flat(cells: dict[str, tuple[float, float]]) -> dict[str, float]:
    return {key: value for name, (y, error) in cells.items() for key, value in ((name, y), (f"{name}_error", error))}


def pairs(rows: Table, by: Sequence[str], columns: Sequence[str]) -> Table:
    """How far each variant is above each other one of its graph, seed by seed, as means over the whole curve.

    Columns: graph, variant, other (the columns `by` joined by " + "), and each of `columns` with its standard error:
    that of the differences, which is smaller than that of the means where seeds matter more than policies.
    """
    found = []
    for (graph,) in variants(rows, ("graph",)):
        here = picked(rows, ("graph",), (graph,))
        whole = {values: _by_seed(picked(here, by, values), columns) for values in variants(here, by)}
        for one, own in whole.items():
            for other, theirs in whole.items():
                if one != other:
                    named = {"graph": graph, "variant": " + ".join(one), "other": " + ".join(other)}
                    found.append(named | _flat({name: _known(mean(own[name] - theirs[name])) for name in columns}))
    return table(found) if found else {}


def _by_seed(rows: Table, columns: Sequence[str]) -> dict[str, Floats]:
    """The mean over the whole curve, a number a seed, ascending."""
    seeds = np.unique(rows["seed"])
    return {
        name: np.array([_whole(np.asarray(rows[name][rows["seed"] == seed], np.float64)) for seed in seeds])
        for name in columns
    }
