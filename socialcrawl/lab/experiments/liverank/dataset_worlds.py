"""Worlds to refresh: an old snapshot of a graph, and what has become of its nodes (Huynh et al., sections 2 and 3)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.refresh.old_dataset import OldDataset
from socialcrawl.errors import SettingsError
from socialcrawl.lab.result_tables import Table

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class DatasetWorld:
    """n nodes of an old snapshot, their links then, and who is active now: the truth.

    Attributes:
        name: what tables and figures call it.
        indptr: int64[n + 1]; the out-links of node u are places `indptr[u]` to `indptr[u + 1]`.
        indices: int32[m], where they go: each pair of nodes once, none to itself.
        active: bool[n], a: whether the node is alive, or has acted lately.
        sites: int64[n], the site of each page, numbered from 0; None where there is no such thing.
        status: int64[n], what a test of each node would say, as places of `words`.
        words: what they are called.
        age: float64[n], days from a node's last act to the present; NaN where it has none that is known.
    """

    name: str
    indptr: Ints
    indices: NDArray[np.int32]
    active: Flags
    sites: Ints | None
    status: Ints
    words: Sequence[str]
    age: Floats

    @property
    def size(self) -> int:
        """The number of nodes, n."""
        return len(self.active)

    @property
    def links(self) -> int:
        """The number of links, m."""
        return len(self.indices)

    @property
    def alive(self) -> int:
        """The number of active nodes, n_a."""
        return int(np.count_nonzero(self.active))

    def count_indegrees(self) -> Ints:
        """Return how many links lead to each node, int64[n]."""
        return np.bincount(self.indices, minlength=self.size)

    def make_old_dataset(self) -> OldDataset:
        """Return the snapshot as what is to be refreshed."""
        return OldDataset(self.indptr, self.indices, sites=self.sites)

    def count_statuses(self) -> Table:
        """Return how many nodes have each status: the columns status, nodes and share of all; last, all."""
        nodes = np.bincount(self.status, minlength=len(self.words))
        names = np.array([*self.words, "all"])
        return {"status": names, "nodes": np.append(nodes, self.size), "share": np.append(nodes / self.size, 1.0)}


def require_usable(world: DatasetWorld) -> DatasetWorld:
    """Return the same world.

    Raises:
        SettingsError: nobody is active in it, or it has no links: there is nothing to rank.
    """
    if not world.alive:
        raise SettingsError(
            f"{world.name}: none of {world.size:,} nodes is active now; give --recent more days, or --snapshot a later "
            "moment."
        )
    if not world.links:
        raise SettingsError(f"{world.name}: the old snapshot has no links; give --snapshot a later moment.")
    return world
