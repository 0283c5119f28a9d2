"""The rows of table `standing`: what a campaign that tracks knows of each account."""

from math import isnan

import numpy as np

from socialcrawl.crawls.track.crawl import Track
from socialcrawl.crawls.track.tracked_graph import GONE
from socialcrawl.engine.model import format_time
from socialcrawl.graph.relevance import compute_worth
from socialcrawl.storage.queries.snapshots import StandingRow

DAY = 86_400.0


def collect_standings(crawl: Track) -> list[StandingRow]:
    """Return what a crawl knows of each account, as table `standing` has it, in order of discovery."""
    graph, cash = crawl.graph, crawl.graph.cash
    lists = graph.lists
    rows = np.arange(graph.size)
    importance = crawl.compute_importance(rows).tolist()
    history = (np.zeros(graph.size) if cash is None else cash.get_history(rows)).tolist()
    return [
        StandingRow(
            node,
            int(lists["visits"][row]),
            None if isnan(graph.last_at[row]) else format_time(graph.last_at[row]),
            compute_worth(graph.total[row]),
            graph.total[row],
            lists["indegree"][row],
            lists["outlinks"][row],
            lists["yield"][row] * DAY if lists["visits"][row] > 1 else None,
            lists["link_score"][row] if lists["visits"][row] > 1 else None,
            importance[row],
            history[row],
            crawl.gone.get(node),
        )
        for row, node in enumerate(graph.nodes)
        if graph.state[row] != GONE or node in crawl.gone  # neither another name of somebody nor the forgotten
    ]
