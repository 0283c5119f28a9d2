"""The curves of an experiment, read from its rows: by graph and variant, over sets of seeds."""

import numpy as np
from numpy.typing import NDArray

from socialcrawl.lab.measures import Floats, choose_round_steps, compare_groups, compute_mean, make_cells
from socialcrawl.lab.result_tables import Table, make_table


class Curves:
    """Rows with the columns graph, variant, set, step and some more, as `crawls` gives them."""

    def __init__(self, rows: Table) -> None:
        self.rows = rows
        self._at: dict[tuple[str, str], slice] = {}
        names = list(zip(rows["graph"].tolist(), rows["variant"].tolist(), strict=True))
        for place, name in enumerate(names):  # the rows of a variant stand together
            begin = self._at[name].start if name in self._at else place
            self._at[name] = slice(begin, place + 1)

    @property
    def graphs(self) -> list[str]:
        """The graphs, in the order of the rows."""
        return list(dict.fromkeys(graph for graph, _ in self._at))

    def variants(self, graph: str) -> list[str]:
        """Return the variants on a graph, in the order of the rows."""
        return [variant for where, variant in self._at if where == graph]

    def of(self, graph: str, variant: str, column: str) -> Floats:
        """Return one column, shape (sets, points)."""
        here = self._at[graph, variant]
        sets = int(self.rows["set"][here][-1]) + 1
        return np.asarray(self.rows[column][here]).reshape(sets, -1)

    def steps(self, graph: str) -> NDArray[np.int64]:
        """Return the steps of the points on a graph, shape (points,)."""
        return np.asarray(self.of(graph, self.variants(graph)[0], "step")[0], np.int64)

    def at(self, graph: str, variant: str, column: str, step: int) -> Floats:
        """Return one column at a step that is a point, shape (sets,)."""
        return self.of(graph, variant, column)[:, int(np.searchsorted(self.steps(graph), step))]


def summarize_curves(curves: Curves) -> Table:
    """Return the means over the sets of seeds at the round steps: a row for each graph, variant and step.

    Columns: graph, variant, step, sets, score and relative, each with its standard error over the sets and the ends of
    its 95 % interval (NAME_error, NAME_low, NAME_high), seconds (the mean of a whole crawl).
    """
    return make_table(
        [
            _make_row(curves, graph, variant, int(step))
            for graph in curves.graphs
            for variant in curves.variants(graph)
            for step in choose_round_steps(int(curves.steps(graph)[-1]))
        ]
    )


def compare_pairs(curves: Curves) -> Table:
    """Return what each variant is above each later one, compared set by set at the round steps.

    Columns: graph, step, sets, one, other, difference (of the shares of the reference's score), difference_error,
    difference_low and difference_high (its 95 % interval), difference_p, difference_holm (as of
    `compare_groups`, over all pairs of a graph and step).
    """
    listed = []
    for graph in curves.graphs:
        for step in choose_round_steps(int(curves.steps(graph)[-1])).tolist():
            shares = {variant: curves.at(graph, variant, "relative", step) for variant in curves.variants(graph)}
            sets = len(next(iter(shares.values())))
            for (one, other), found in compare_groups("difference", shares).items():
                listed.append({"graph": graph, "step": step, "sets": sets, "one": one, "other": other, **found})
    return make_table(listed)


def _make_row(curves: Curves, graph: str, variant: str, step: int) -> dict[str, str | int | float]:
    score = curves.at(graph, variant, "score", step)
    return {
        "graph": graph,
        "variant": variant,
        "step": step,
        "sets": len(score),
        **make_cells("score", compute_mean(score)),
        **make_cells("relative", compute_mean(curves.at(graph, variant, "relative", step))),
        "seconds": float(curves.at(graph, variant, "seconds", step).mean()),
    }


def summarize_shortfalls(curves: Curves) -> Table:
    """Return the means over the sets of what `measure_precision` found.

    Columns: graph, variant, step, sets, difference with its standard error and interval, as of `summarize_curves`.
    """
    listed = []
    for graph in curves.graphs:
        for variant in curves.variants(graph):
            for step in curves.steps(graph).tolist():
                short = curves.at(graph, variant, "difference", step)
                names = {"graph": graph, "variant": variant, "step": step, "sets": len(short)}
                listed.append({**names, **make_cells("difference", compute_mean(short))})
    return make_table(listed)
