"""One dynamic experiment of Kumar et al., whole: all pairs of policies on a generated time graph."""

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figure import Figure, is_tiny
from socialcrawl.lab.experiments.kumar.dynamic import (
    EXPANSIONS,
    RECRAWLS,
    TrackingSettings,
    list_jobs,
    make_world,
    track_targets,
)
from socialcrawl.lab.experiments.kumar.timegraphs import BurstyGraphParameters, generate_time_graph
from socialcrawl.lab.process_pool import crawl_missing

TITLE = "Tracking in a time graph: 340,000 links, 18 pairs of policies, 24 days, a fetch every 20 s"
TINY = BurstyGraphParameters(nodes=200, links=1_000, days=1.0), TrackingSettings(every=3_600.0, k=10, points=4)


def measure() -> list[Figure]:
    """Seconds of making the graph and of all crawls, as many processes as processors; processor time beside it."""
    shape, setting = TINY if is_tiny() else (BurstyGraphParameters(), TrackingSettings())
    begin = time.perf_counter()
    graph = generate_time_graph(shape)
    made = time.perf_counter() - begin
    begin = time.perf_counter()
    there = make_world("generated", graph, setting)
    aimed = time.perf_counter() - begin
    planned = [replace(job, crawl=_timed) for job in list_jobs(there, EXPANSIONS, RECRAWLS, [1])]
    with tempfile.TemporaryDirectory() as scratch:
        begin = time.perf_counter()
        tables = crawl_missing(planned, Path(scratch), -1)
        whole = time.perf_counter() - begin
    fetches = sum(int(np.max(table["fetches"])) for table in tables)
    used = sum(float(table["processor"][0]) for table in tables)
    return [
        Figure("generating the time graph", f"{made:.1f} s"),
        Figure(f"targets K_t at {len(there.looks)} instants", f"{aimed:.2f} s"),
        Figure(f"{len(tables)} crawls of {fetches // len(tables):,} fetches", f"{whole:.0f} s", "under 4 min"),
        Figure("processor time of these crawls, all processes", f"{used:.0f} s"),
        Figure("processor time of a fetch, loop and measures included", f"{used / fetches * 1e6:.0f} us"),
    ]


def _timed(*given: Any) -> Any:
    begin = time.process_time()
    table = track_targets(*given)
    return {**table, "processor": np.full(len(table["fetches"]), time.process_time() - begin)}
