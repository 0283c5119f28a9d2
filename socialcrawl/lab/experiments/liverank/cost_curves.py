"""Cost curves: how many nodes a way tests for each active one it finds, over the share of them found (figures 4-11).

    cost(L, alpha) = i / (alpha * n_a)

where i is the least number of tests after which alpha * n_a of the n_a active nodes are found; the training set's own
tests come first, and count (Huynh et al., section 2.1).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from socialcrawl.crawls.refresh.cost import ALPHAS, compute_cost
from socialcrawl.lab.experiments.liverank.dataset_worlds import DatasetWorld
from socialcrawl.lab.experiments.liverank.probe_orders import Frame, ProbeTerms, Way, find_probe_order
from socialcrawl.lab.experiments.seed_means import average_over_seeds, list_variants, make_spread_cells, select_variant
from socialcrawl.lab.process_pool import CrawlJob, compute_fingerprint
from socialcrawl.lab.result_tables import Table, make_table

READ = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0)  # the rows of a table for reading
BY = ("graph", "frame", "way")


def list_jobs(world: DatasetWorld, frame: Frame, seeds: Sequence[int], given: int | None, batch: int) -> list[CrawlJob]:
    """Return a crawl for each way and seed; one only where no draw decides.

    Args:
        world: what is tested.
        frame: the ways.
        seeds: of the draws.
        given: how many nodes are tested first; None: the frame's share of all.
        batch: after how many tests dynamic ranks look again.
    """
    mark = compute_fingerprint(
        world.indptr, world.indices, world.active, *([] if world.sites is None else [world.sites])
    )
    found = []
    for way in frame.ways:
        z = frame.count_training(world.size, way, given)
        for seed in seeds if way.is_random() else seeds[:1]:
            terms = ProbeTerms(z, seed, batch)
            tested = [way.rank, way.training, way.neighbours, *terms]
            said = ["liverank", mark, world.name, frame.title, way.by, *tested]
            found.append(CrawlJob(said, compute_curve, (world, frame.title, way, terms)))
    return found


def compute_curve(world: DatasetWorld, frame: str, way: Way, terms: ProbeTerms) -> Table:
    """Return one cost curve: columns graph, frame, way, seed, z, alpha and cost, a row for each of `ALPHAS`."""
    costs = compute_cost(find_probe_order(world, way, terms), world.active)
    named = {"graph": world.name, "frame": frame, "way": way.label(terms.z), "seed": terms.seed, "z": terms.z}
    return {key: np.full(len(ALPHAS), value) for key, value in named.items()} | {"alpha": ALPHAS, "cost": costs}


def summarize_curves(curves: Table) -> Table:
    """Return the means over the seeds at some alphas.

    Columns: graph, frame, way, z, alpha, seeds, cost, cost_error (the standard error, 0 for one seed), cost_low and
    cost_high (the 95 % interval, NaN for one).
    """
    found: list[dict[str, Any]] = []
    for values in list_variants(curves, BY):
        own = select_variant(curves, BY, values)
        points, means = average_over_seeds(own, "alpha", "cost")
        named = dict(zip(BY, values, strict=True)) | {"z": int(own["z"][0])}
        for alpha in READ:
            place = int(np.argmin(np.abs(points - alpha)))
            found.append(named | {"alpha": alpha, "seeds": means[place].n} | make_spread_cells({"cost": means[place]}))
    return make_table(found)
