"""What becomes of nodes, and of which ones: Table 1 and Figures 1 to 3 of Huynh, Mathieu and Viennot."""

import numpy as np

from socialcrawl.lab.experiments.liverank.dataset_worlds import DatasetWorld, Flags, Floats
from socialcrawl.lab.experiments.liverank.weblike import MOVED, SOFT, THERE, WORDS
from socialcrawl.lab.result_tables import Table, join_tables

POINTS = 200  # of a distribution function, at most
WHOSE = ("active", "not active", "all")


def count_statuses(world: DatasetWorld) -> Table:
    """Return table 1: columns graph, status, nodes, share; the last row is all.

    Of a web, two rows are no parts of the whole: the targets of redirections, each once (those of a site that moved
    lead to one new page), and all that is answered by 200, there or not.
    """
    table = world.count_statuses()
    if tuple(world.words) == WORDS and world.sites is not None:
        moved = len(np.unique(world.sites[world.status == MOVED]))
        found = int(np.isin(world.status, (SOFT, THERE)).sum())
        nodes = np.array([moved, found])
        extra = {
            "status": np.array(["targets of redirections", "answered by 200"]),
            "nodes": nodes,
            "share": nodes / world.size,
        }
        table = join_tables([table, extra])
    return {"graph": np.full(len(table["nodes"]), world.name)} | dict(table)


def compute_distribution(values: Floats, chosen: Flags) -> tuple[Floats, Floats]:
    """Return the distribution function of some values: at most `POINTS` of them, and the share that is no larger."""
    own = np.sort(values[chosen])
    if not len(own):
        return np.empty(0), np.empty(0)
    points = np.unique(own[np.unique(np.linspace(0, len(own) - 1, POINTS).astype(np.int64))])
    return points, np.searchsorted(own, points, side="right") / len(own)


def compute_distributions(world: DatasetWorld, values: Floats, measure: str) -> Table:
    """Return figures 2 and 3: the distribution of a measure among the active, the others and all.

    Columns: graph, measure, whose, x, share (of those, whose value is at most x).
    """
    parts = []
    for whose, chosen in zip(WHOSE, (world.active, ~world.active, np.ones(world.size, np.bool_)), strict=True):
        x, share = compute_distribution(values, chosen)
        named = {"graph": world.name, "measure": measure, "whose": whose}
        parts.append({key: np.full(len(x), value) for key, value in named.items()} | {"x": x, "share": share})
    return join_tables(parts)


def compute_ages(world: DatasetWorld) -> Table:
    """Return figure 1: days, and which share of those who ever acted did so in that number of last days."""
    known = ~np.isnan(world.age)
    x, share = compute_distribution(world.age, known)
    return {"graph": np.full(len(x), world.name), "days": x, "share": share}


def measure_links_of_active(world: DatasetWorld) -> tuple[float, float]:
    """Return the share of links that lead to an active node: of those of active nodes, and of those of the others.

    Where the first is larger, activity or death goes along links; NaN where there are no such links.
    """
    by_active = np.repeat(world.active, np.diff(world.indptr))
    there = world.active[world.indices]
    shares = [there[chosen].mean() if chosen.any() else np.nan for chosen in (by_active, ~by_active)]
    return float(shares[0]), float(shares[1])


def compute_advantage(values: Floats, active: Flags) -> float:
    """Return the chance that an active node has a larger value than another one, ties half (0.5: it says nothing)."""
    order = np.argsort(values, kind="stable")
    ranks = np.empty(len(values))
    _, first, count = np.unique(values[order], return_index=True, return_counts=True)
    ranks[order] = np.repeat(first + (count + 1) / 2, count)
    alive = int(active.sum())
    dead = len(values) - alive
    return float((ranks[active].sum() - alive * (alive + 1) / 2) / (alive * dead)) if alive and dead else 0.5
