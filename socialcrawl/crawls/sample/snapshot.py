"""The rows of table `sampled`: whom the walks of a campaign drew."""

import numpy as np

from socialcrawl.crawls.sample.crawl import Sample
from socialcrawl.crawls.sample.evidence import gather_evidence
from socialcrawl.storage.queries.snapshots import SampledRow


def collect_draws(crawl: Sample) -> list[SampledRow]:
    """Return what the walks of a crawl drew on topic after their burn-in, as table `sampled` has it, in order read.

    Draws in parts of the topic that statistics leave out are not in it (crawls/sample/walk_components.py). Where
    everything that walks can reach was read, all draws have the same weight.
    """
    held, rows = crawl.list_read(), crawl.list_visits()
    seen = gather_evidence(crawl.walks, rows)
    size = len(held.node)
    weight = np.bincount(seen.rows.place, seen.weight, minlength=size)
    visits = np.bincount(rows.place[rows.kept & rows.on_topic & rows.came], minlength=size)
    total = float(weight.sum())
    return [
        SampledRow(int(held.node[place]), int(visits[place]), weight[place] / total,
                int(held.degree[place]))
        for place in np.flatnonzero(weight > 0).tolist()
    ]  # fmt: skip
