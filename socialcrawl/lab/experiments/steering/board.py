"""The leaderboard as values: what its page, its tables and the terminal show."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from socialcrawl.lab.code_checksum import read_versions
from socialcrawl.lab.experiments.runner import Row
from socialcrawl.lab.experiments.steering.standings import ENOUGH, Entrants, Ratio, Standing
from socialcrawl.text.wording import pluralize

LIBRARIES = ("numpy", "scipy", "scikit-learn")
NAMED = 6  # references that a sentence names


@dataclass(frozen=True)
class Leaderboard:
    """A finished comparison.

    Attributes:
        entrants: what was compared.
        standings: one for each estimator, best first, by measure.
        graphs: of each graph its name (graph), nodes, links, positive (nodes with a value), seeds (in each set), steps
            and sha256.
        estimators: of each estimator its name (estimator), whether it is a reference, whether it was added to the
            program (added), by which package, and the checksum of its code.
        seed: of the draws.
        sets: the sets of seeds on each graph.
        switch_after: the steps after which hybrids turn to their linear estimator.
        command: that makes it again.
        late: the graphs on which a hybrid never learned, by its name, as crawls end before it switches.
        at: when it was made, ISO 8601.
    """

    entrants: Entrants
    standings: Mapping[str, Sequence[Standing]]
    graphs: Sequence[Row]
    estimators: Sequence[Row]
    seed: int
    sets: int
    switch_after: int
    command: str
    late: Mapping[str, Sequence[str]]
    at: str

    @property
    def versions(self) -> dict[str, str]:
        """The versions of Python and of the libraries that compute."""
        return read_versions(LIBRARIES)

    @property
    def size(self) -> str:
        """How much was compared."""
        return (
            f"{pluralize(len(self.estimators), 'estimator')} on {pluralize(len(self.graphs), 'graph')}, "
            f"{pluralize(self.sets, 'set')} of seeds on each"
        )

    @property
    def best(self) -> str:
        """What counts as 1, in words."""
        names = self.entrants.references
        listed = ", ".join(names) if len(names) <= NAMED else f"the {len(names)} reference estimators"
        return f"the best of {listed}"

    @property
    def notes(self) -> list[str]:
        """What is not shown, and why: a sentence each."""
        found = [
            f"{name} never left the estimator that it starts with on {pluralize(len(graphs), 'graph')}, where crawls "
            f"have at most the {self.switch_after:,} steps after which it switches: {', '.join(graphs)}."
            for name, graphs in self.late.items()
        ]
        if len(self.graphs) < ENOUGH:
            found.append(f"Fewer than {ENOUGH} graphs: ratios have no intervals and no p-values.")
        if self.sets < ENOUGH:
            found.append(f"Fewer than {ENOUGH} sets of seeds: differences on single graphs are not tested.")
        for measure, standings in self.standings.items():
            shares = dict(zip(self.entrants.graphs, standings[0].shares, strict=True))
            if left := [graph for graph, share in shares.items() if np.isnan(share)]:
                found.append(
                    f"No reference estimator found anything by {measure} on {', '.join(left)}: left out there."
                )
        return found

    def find_least(self, one: Standing) -> str:
        """Return the graph on which an estimator has its least share; "" if it has none."""
        return self.entrants.graphs[int(np.nanargmin(one.shares))] if len(one.known) else ""


def list_standings(board: Leaderboard, measure: str) -> list[Row]:
    """Return a row for each estimator, the largest mean share first; what is not known is NaN, or "" for a name."""
    return [
        {
            "measure": measure,
            "estimator": one.estimator,
            "reference": one.estimator in board.entrants.references,
            "graphs": len(one.known),
            "share": one.share,
            "share_least": one.least,
            "least_graph": board.find_least(one),
            "at_least_1": one.wins,
            "rank": one.rank,
            **_list_ratio(one.against),
        }
        for one in board.standings[measure]
    ]


def _list_ratio(found: Ratio | None) -> Row:
    """Return the cells of a comparison, NaN where there is none."""
    cells = [np.nan] * 5 if found is None else [found.value, found.low, found.high, found.p, float(found.graphs)]
    counts = [None, None] if found is None else [found.above, found.below]
    named = zip(("ratio", "ratio_low", "ratio_high", "p_holm", "graphs_compared"), cells, strict=True)
    shown = zip(("above", "below"), counts, strict=True)
    return dict(named) | {name: np.nan if count is None else float(count) for name, count in shown}


def list_graph_rows(board: Leaderboard) -> Iterator[Row]:
    """Yield a row for each measure, graph and estimator: its mean over the sets of seeds, and its share."""
    for measure, standings in board.standings.items():
        for place, graph in enumerate(board.entrants.graphs):
            for one in standings:
                named = {"measure": measure, "graph": graph, "estimator": one.estimator}
                yield named | {"mean": float(one.means[place]), "share": float(one.shares[place])}


def format_board(board: Leaderboard) -> Iterator[str]:
    """Yield the lines of the leaderboard as the terminal shows it: the area, and the mean shares of the others."""
    yield f"{board.size}; 1 is {board.best}, chosen for each graph afterwards"
    other = [{one.estimator: one for one in board.standings[name]} for name in ("end", "first")]
    against = f"area / {board.entrants.baseline}"
    cells = [["", "area", "least", "at least 1", "rank", "end", "first 100", against]]
    for one in board.standings["area"]:
        shares = [format_number(found[one.estimator].share) for found in other]
        wins = f"{one.wins} of {len(one.known)}"
        first = [
            one.estimator,
            format_number(one.share),
            format_number(one.least),
            wins,
            format_number(one.rank, ".1f"),
        ]
        cells.append([*first, *shares, format_ratio(one.against)])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for name, *rest in cells:
        columns = [f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True)]
        yield "  ".join([f"{name:<{widths[0]}}", *columns])
    yield from board.notes


def format_ratio(found: Ratio | None) -> str:
    """Return a ratio with its interval, where it has one."""
    if found is None or np.isnan(found.value):
        return "-"
    return f"{found.value:.2f}" + ("" if np.isnan(found.low) else f" ({found.low:.2f} to {found.high:.2f})")


def format_number(value: float, form: str = ".2f") -> str:
    """Return a number as text, or a dash for NaN."""
    return "-" if np.isnan(value) else f"{value:{form}}"
