"""Webs from files: a real web graph, on which death is planted (see `death`)."""

from pathlib import Path

import numpy as np

from socialcrawl.crawls.refresh.old_dataset import compress_links
from socialcrawl.lab.arrays import read_offsets
from socialcrawl.lab.experiments.liverank.dataset_worlds import Ints
from socialcrawl.lab.experiments.liverank.weblike import SitedWeb
from socialcrawl.lab.graphs import read

REACH = 1_000  # how far apart two numbers are, at most, for a link to say that they are one site's


def read_web(path: Path) -> SitedWeb:
    """Return the web of a known graph: a folder or .npz as `lab graph` makes them, or an .npz with offsets and targets.

    Sites are blocks of consecutive numbers: see `find_blocks`.

    Raises:
        SettingsError: it cannot be read.
    """
    indptr, targets = _read_links(path)
    size = len(indptr) - 1
    sources = np.repeat(np.arange(size), np.diff(indptr))
    kept = compress_links(sources, targets, size)
    return SitedWeb(*kept, find_blocks(sources, targets, size))


def find_blocks(sources: Ints, targets: Ints, size: int) -> Ints:
    """Return the block of each page, int64[n], from 0: a new one begins where no link of at most `REACH` crosses.

    Crawls published as graphs number pages in the order of their addresses, so that a site's stand side by side. This
    is a guess at the sites, no more.
    """
    short = (np.abs(sources - targets) <= REACH) & (sources != targets)
    low, high = np.minimum(sources, targets)[short], np.maximum(sources, targets)[short]
    crossing = np.cumsum(np.bincount(low, minlength=size) - np.bincount(high, minlength=size))
    return np.concatenate([[0], np.cumsum(crossing[:-1] == 0)]).astype(np.int64)


def _read_links(path: Path) -> tuple[Ints, Ints]:
    if path.suffix.lower() == ".npz" and (found := read_offsets(path, ("offsets", "targets"))):
        return found
    graph = read(path)
    return np.asarray(graph.indptr, np.int64), np.asarray(graph.indices, np.int64)
