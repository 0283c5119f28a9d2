"""A grid of replays: graphs x setups x sets of seeds, in parallel, each kept in a file as soon as it is done.

A grid that is stopped, however rudely, goes on where it stopped: what has its file is not replayed again. The work is
joblib's, so that whatever backend surrounds it serves: processes of this machine, or a Dask or Ray cluster.
"""

import os
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from socialcrawl.engine.draws import make_generator
from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.lab.graphs import read
from socialcrawl.lab.process_pool import Watch, get_path, run_missing
from socialcrawl.lab.results import ReplayJob, Stamp, read_results, read_stamp, write
from socialcrawl.lab.simulation import Replay, ReplaySetup, simulate

__all__ = ["ReplayJob", "connect_scheduler", "draw_seed_sets", "read_results", "replay_all"]

CONNECT = 10.0  # seconds
ORPHANED = 1.0  # seconds between looks at whether the parent is still there

_one_at_a_time = threading.Lock()  # a Dask worker may have several threads
_last: list[tuple[tuple[str, Stamp], KnownGraph]] = []  # the graph that this process opened last


def draw_seed_sets(graph: KnownGraph, sets: int, size: int, seed: int, least: float = 0.0) -> list[list[int]]:
    """Return random sets of seeds, drawn without replacement among the nodes of value above `least` (paper, 6.2).

    Set i depends on the graph, `size`, `seed`, `least` and i alone: more sets begin with the same ones.

    Args:
        graph: the graph.
        sets: how many, at least 1.
        size: the rows in each, at least 1.
        seed: any integer >= 0.
        least: the paper draws among nodes of value above 0, for its figures 1 and 2 above 1.5.

    Raises:
        SettingsError: a number is out of range, or there are fewer such nodes than a set needs.
    """
    if sets < 1 or size < 1 or seed < 0:
        raise SettingsError(
            f"{sets} sets of {size} seeds (seed {seed}): give at least one set, one seed, and seed >= 0."
        )
    nodes = np.flatnonzero(graph.beta > least)
    if len(nodes) < size:
        raise SettingsError(
            f"{len(nodes):,} nodes have a value above {least:g}, fewer than the {size:,} seeds of a set; ask for fewer."
        )
    return [make_generator(seed, "seed set", i).choice(nodes, size, replace=False).tolist() for i in range(sets)]


def replay_all(
    jobs: Sequence[ReplayJob],
    out: Path,
    *,
    n_jobs: int | None = -1,
    backend: str | None = None,
    watch: Watch | None = None,
) -> int:
    """Return the number of jobs replayed now: all that had no result in `out` yet.

    Each result is there as soon as it is done.

    Args:
        jobs: in an order that keeps those of one graph together, as a worker holds on to the graph it opened last.
        out: a folder; `out/<key>.parquet` is written under another name and renamed.
        n_jobs: workers at once; -1: as many as there are processors; None: what an ambient `joblib.parallel_config`
            says. A cluster uses all its workers, whatever is said here.
        backend: of joblib; None: that of an ambient `parallel_config`, or processes of this machine.
        watch: called with (jobs done, all jobs), first for those that were there already.

    Raises:
        SettingsError: a graph or `out` cannot be used, or a job's seeds or setup are not sound.
        SocialcrawlError: a worker was killed.
    """
    from joblib import parallel_config  # noqa: PLC0415

    _create_folder(out)
    wanted = {job.key: job for job in jobs}
    calls = {
        key: (_replay, (str(Path(job.graph).absolute()), job.seeds, job.setup, os.getpid()))
        for key, job in wanted.items()
    }
    with nullcontext() if backend is None else parallel_config(backend=backend):
        return run_missing(
            calls, out, lambda key, replay: write(get_path(out, key), wanted[key], replay), n_jobs=n_jobs, watch=watch
        )


@contextmanager
def connect_scheduler(address: str) -> Iterator[None]:
    """Connect to a Dask cluster that replays grids: that of the scheduler at `address`, as tcp://10.0.0.1:8786.

    Raises:
        SettingsError: Dask is not installed here, or no scheduler answers there.
    """
    from joblib import parallel_config  # noqa: PLC0415

    try:
        from distributed import Client  # noqa: PLC0415
        from distributed.comm.addressing import get_address_host_port  # noqa: PLC0415
    except ImportError as error:
        raise SettingsError("A scheduler needs Dask: pip install 'socialcrawl[cluster]'.") from error
    try:
        # A client that was never connected hangs on its way out: look first whether somebody is there.
        socket.create_connection(get_address_host_port(address, strict=True), CONNECT).close()
        connect: Any = Client  # has no types of its own
        client = connect(address, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise SettingsError(f"No Dask scheduler answers at {address}: {error}. Look up its address.") from error
    with client, parallel_config(backend="dask", client=client):
        yield


def _open_graph(graph: str) -> KnownGraph:
    wanted = graph, read_stamp(graph)
    with _one_at_a_time:
        if not _last or _last[0][0] != wanted:
            _last.clear()  # two big ones may not fit
            _last.append((wanted, read(graph)))
        return _last[0][1]


@lru_cache(maxsize=1)
def _follow_parent(parent: int) -> None:
    """End this process when its parent ends, even if that was killed."""

    def watch() -> None:
        while os.getppid() == parent:
            threading.Event().wait(ORPHANED)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _replay(graph: str, seeds: tuple[int, ...], setup: ReplaySetup, parent: int) -> Replay:
    """Return what a worker does."""
    if os.getppid() == parent:
        _follow_parent(parent)
    return simulate(_open_graph(graph), seeds, setup)


def _create_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"{out} cannot be made: {error}. Give another folder for the results.") from error
