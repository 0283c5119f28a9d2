"""What breadth-first and chance would have found in the demo: replayed on its generated posts, which are all known."""

from collections.abc import Mapping, Sequence
from math import isclose
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from socialcrawl.exporters.datasheet_facts import find_seeds
from socialcrawl.graph.relevance import Topic
from socialcrawl.lab.graphs import build_mention_graph
from socialcrawl.lab.post_table import fold_name, read_posts
from socialcrawl.lab.simulation import ReplaySetup, simulate
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.queries.row_values import join_transaction
from socialcrawl.storage.queries.summary import find_campaign

ESTIMATORS = {"breadth-first": "bfs", "chance": "random"}


def list_seeds(connection: Opened, campaign: str) -> list[str]:
    """Return the names of the seeds that a campaign read, in order."""
    number, _ = find_campaign(connection, campaign)
    with join_transaction(connection):
        return [fold_name(one.username) for one in find_seeds(connection, number) if one.username]


def simulate_baselines(
    posts: Path,
    keyword: str,
    seeds: Sequence[str],
    *,
    relevance: float,
    steps: int,
    estimators: Mapping[str, str] = ESTIMATORS,
) -> dict[str, NDArray[np.float64]]:
    """Return the relevance that other estimators find after each step from the same seeds, float64[steps] by name.

    Nothing is returned where the seeds are not those of these posts: somebody went on with an earlier demo.

    Args:
        posts: the file of all posts.
        keyword: the topic.
        seeds: names of the accounts that are read first.
        relevance: of the seeds together, as the crawl found it.
        steps: the number of accounts that are read after them, at least 1.
        estimators: by what they are called.
    """
    graph = build_mention_graph(read_posts(posts), Topic([keyword]))
    row = {fold_name(name): number for number, name in enumerate(graph.names or ())}
    known = [row[name] for name in seeds if name in row]
    if len(known) < len(seeds) or not isclose(float(graph.beta[known].sum()), relevance, abs_tol=1e-6):
        return {}
    return {name: simulate(graph, known, ReplaySetup(estimator, steps)).curve for name, estimator in estimators.items()}
