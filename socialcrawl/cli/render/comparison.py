"""The scores of replays side by side."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

GROUPED = ("graph", "estimator", "strategy", "refresh_rate")


def make_comparison(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the table of mean scores over the sets of seeds, with their standard deviation.

    Where the oracle was replayed, a score is divided by that of the oracle with the same graph and seeds: the greedy
    one, where there is one, with the lowest refresh rate.
    """
    oracle = _find_oracle(rows)
    several = len({row["graph"] for row in rows}) > 1
    table = Table(title=f"scores{' relative to the oracle' if oracle else ''}", title_justify="left", box=None)
    for name in ("graph",) * several + ("estimator", "strategy"):
        table.add_column(name, overflow="fold")
    for name in ("r", "mean", "sd", "seed sets", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in GROUPED), []).append(row)
    for (graph, *names, rate), group in groups.items():
        scores = [score for row in group if (score := _compute_relative(row, oracle)) is not None]
        spread = statistics.stdev(scores) if len(scores) > 1 else None
        mean = statistics.fmean(scores) if scores else None
        seconds = statistics.fmean(row["seconds"] for row in group)
        figures = (_format_figure(mean, oracle), _format_figure(spread, oracle), str(len(scores)), f"{seconds:.2f}")
        table.add_row(*[graph] * several, *names, str(rate), *figures)
    return table


def _find_oracle(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, int], float]:
    """Return the oracle's score by graph and set of seeds."""
    known = [row for row in rows if row["estimator"] == "oracle"]
    known.sort(key=lambda row: (row["strategy"] != "greedy", row["strategy"], row["refresh_rate"]), reverse=True)
    return {(row["graph"], row["seed_set"]): row["score"] for row in known}


def _compute_relative(row: Mapping[str, Any], oracle: Mapping[tuple[str, int], float]) -> float | None:
    """Return a score as it is compared; None where the oracle found nothing."""
    if not oracle:
        return float(row["score"])
    best = oracle[row["graph"], row["seed_set"]]
    return row["score"] / best if best else None


def _format_figure(value: float | None, oracle: Mapping[tuple[str, int], float]) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if oracle else f"{value:,.1f}"
