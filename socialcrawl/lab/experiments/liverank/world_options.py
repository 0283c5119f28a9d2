"""Which worlds the options of `socialcrawl lab liverank` mean.

Webs from files are real web graphs, on which death is planted (see `weblike`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from socialcrawl.crawls.refresh.old_dataset import compress_links
from socialcrawl.errors import SettingsError
from socialcrawl.lab.arrays import read_offsets
from socialcrawl.lab.experiments.liverank import follower_graphs, weblike
from socialcrawl.lab.experiments.liverank.dataset_worlds import DatasetWorld, Ints, require_usable
from socialcrawl.lab.experiments.liverank.dated import SnapshotCut, read_dated_world
from socialcrawl.lab.experiments.liverank.weblike import DeathModel, SitedWeb, plant_death
from socialcrawl.lab.experiments.runner import require_different_names
from socialcrawl.lab.graphs import read
from socialcrawl.text.terminal import write_line

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


WEB, LIVELY, ACCOUNTS = "web-like", "web-like, a year", "twitter-like"
ALIVE = {WEB: 0.0629, LIVELY: 0.3556, ACCOUNTS: 0.1753}  # the paper's uk-2002, uk-2006 and twitter-2010
KINDS = {
    "table1": WEB,
    "fig1": ACCOUNTS,
    "fig2": WEB,
    "fig3": ACCOUNTS,
    **dict.fromkeys(("fig4", "fig5", "fig6"), WEB),
    "fig7": LIVELY,
    "fig8": WEB,
    **dict.fromkeys(("fig9", "fig10", "fig11"), ACCOUNTS),
    "dpr": WEB,
}
"""What each experiment of the paper is about."""


@dataclass(frozen=True)
class DatasetOptions:
    """The worlds: files with timestamps, webs from files on which death is planted, or else a generated one.

    Attributes:
        files: links or posts with timestamps.
        webs: known graphs.
        cut: where the old snapshots of `files` end.
        nodes, degree: of generated worlds; None: as those are by default.
        alive: the share of active nodes where it is planted; None: the paper's.
        bond: how much fame says of activity, of generated accounts.
        planted: what else `DeathModel` has; its seed is that of generated worlds too.
        per_run: whether each crawl of a kind has its own generated world, of consecutive seeds.

    Raises:
        SettingsError: a generated world for each run is asked for, and a file is given.
    """

    files: tuple[Path, ...]
    webs: tuple[Path, ...]
    cut: SnapshotCut
    nodes: int
    degree: float | None
    alive: float | None
    bond: float
    planted: Mapping[str, Any]
    per_run: bool = False

    def __post_init__(self) -> None:
        if self.per_run and (self.files or self.webs):
            raise SettingsError("--graph-per-run is about generated worlds: leave out --file and --web.")

    def iterate_worlds(self, kind: str, number: int = 0) -> Iterator[DatasetWorld]:
        """Yield the worlds of a command about one `kind`, each told in the terminal; of run `number`.

        Raises:
            SocialcrawlError: a file or option cannot be used, or two files have the same name.
        """
        require_different_names([path.stem for path in (*self.files, *self.webs)], "worlds")
        for world in self._make_worlds(kind, number):
            write_line(
                f"{world.name}: {world.size:,} nodes, {world.links:,} links in the old snapshot; {world.alive:,} "
                f"active ({world.alive / world.size:.2%}), n/n_a = {world.size / world.alive:.2f}"
            )
            yield require_usable(world)

    def _make_worlds(self, kind: str, number: int) -> Iterator[DatasetWorld]:
        for path in self.files:
            yield read_dated_world(path, self.cut)
        alive = ALIVE[kind] if self.alive is None else self.alive
        for path in self.webs:
            death = DeathModel(alive, **self.planted)
            yield plant_death(path.stem, read_web(path), death)
        if not (self.files or self.webs):
            yield self._generate_worlds(kind, alive, number)

    def _generate_worlds(self, kind: str, alive: float, number: int) -> DatasetWorld:
        seed = self.planted["seed"] + number
        given = {} if self.degree is None else {"degree": self.degree}
        if kind == ACCOUNTS:
            return follower_graphs.generate_followers(
                kind,
                follower_graphs.FollowerParameters(
                    accounts=self.nodes, alive=alive, bond=self.bond, seed=seed, **given
                ),
            )
        death = DeathModel(alive, **{**self.planted, "seed": seed})
        return plant_death(
            kind, weblike.generate_web(weblike.WebParameters(pages=self.nodes, seed=seed, **given)), death
        )
