"""Worlds from what has timestamps: the links up to a moment are the old snapshot, later acts say who is active.

A node is active that acted (is the source of a link, or the author of a post) in the last days of the data: the paper
says six months (Huynh et al., section 3.2).
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from socialcrawl.crawls.refresh.old_dataset import compress_links
from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments.kumar.timegraphs import DAY
from socialcrawl.lab.experiments.liverank.dataset_worlds import DatasetWorld, Flags, Floats, Ints, require_usable
from socialcrawl.lab.graphs.column_files import READERS, describe_missing_columns
from socialcrawl.lab.graphs.timed_links import COLUMNS, find_timed_links

NEVER, ONCE, LATELY = range(3)
WORDS = ("never acted", "acted, but not lately", "active")


@dataclass(frozen=True)
class SnapshotCut:
    """Where the old snapshot ends and the present begins.

    Attributes:
        snapshot: the share of the data's span after which the snapshot was taken, above 0, below 1.
        recent: days before the present in which who acted is active.
        present: the share of the data's span after which it is now, up to 1; what came later is not looked at.
        actors: whether only who had acted himself is a node; else who was named, too.
    """

    snapshot: float = 0.5
    recent: float = 182.0
    present: float = 1.0
    actors: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.snapshot < self.present <= 1:
            raise SettingsError(
                f"--snapshot {self.snapshot:g} --present {self.present:g}: give shares of the data's time, the first "
                "above 0 and below the second, that one at most 1."
            )
        if not 0 < self.recent < np.inf:
            raise SettingsError(f"--recent {self.recent:g}: give some days.")


@dataclass(frozen=True, eq=False)
class TimedActs:
    """What nodes 0 to n - 1 did, and when.

    Attributes:
        size: n.
        actors: int64[p], who acted.
        times: float64[p], seconds.
        sources: int64[m], who linked.
        targets: int64[m], to whom; perhaps to himself.
        since: float64[m], when.
    """

    size: int
    actors: Ints
    times: Floats
    sources: Ints
    targets: Ints
    since: Floats


def read_dated_world(path: Path, cut: SnapshotCut) -> DatasetWorld:
    """Return the world of a file: links with times (see `timed_links`), or posts (see `post_table`).

    Nodes are those
    of a link (or post) up to the snapshot, numbered by their names' first appearance.

    Raises:
        SettingsError: the file cannot be used, or the snapshot does not end before the present begins.
        PostsFileError: a file of posts cannot be read.
    """
    return require_usable(build_world(path.stem, _read(path), cut))


def build_world(name: str, acts: TimedActs, cut: SnapshotCut) -> DatasetWorld:
    """Return the old snapshot of some acts, and who of it is active at their end.

    Raises:
        SettingsError: nothing was done, or the snapshot does not end before the present begins.
    """
    if not len(acts.times):
        raise SettingsError(f"{name}: nothing was ever done there; give a file with some rows.")
    begin, span = float(acts.times.min()), float(np.ptp(acts.times))
    taken, end = begin + cut.snapshot * span, begin + cut.present * span
    lately = end - cut.recent * DAY
    if lately < taken:
        raise SettingsError(
            f"{name} spans {span / DAY:,.1f} days: the {cut.recent:g} before {cut.present:.0%} of that begin before "
            f"{cut.snapshot:.0%} are over; give --recent fewer days, or --snapshot an earlier moment."
        )
    nodes, numbers = _find_nodes(acts, taken, only=cut.actors)
    kept = (acts.since <= taken) & (numbers[acts.sources] >= 0) & (numbers[acts.targets] >= 0)
    indptr, indices = compress_links(numbers[acts.sources[kept]], numbers[acts.targets[kept]], len(nodes))
    last = np.full(acts.size, -np.inf)
    known = acts.times <= end
    np.maximum.at(last, acts.actors[known], acts.times[known])
    status = np.where(last >= lately, LATELY, np.where(last > -np.inf, ONCE, NEVER))[nodes]
    age = np.where(last > -np.inf, (end - last) / DAY, np.nan)[nodes]
    return DatasetWorld(name, indptr, indices, status == LATELY, None, status, WORDS, age)


def _find_nodes(acts: TimedActs, taken: float, *, only: bool) -> tuple[Ints, Ints]:
    """Return the nodes of the snapshot, ascending, and for each node its number among them or -1."""
    here: Flags = np.zeros(acts.size, np.bool_)
    here[acts.actors[acts.times <= taken]] = True
    old = acts.since <= taken
    if not only:
        here[acts.targets[old]] = True
    nodes = np.flatnonzero(here)
    numbers = np.full(acts.size, -1, np.int64)
    numbers[nodes] = np.arange(len(nodes))
    return nodes, numbers


def _read(path: Path) -> TimedActs:
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        return _read_posts(path)
    table = reader(path)
    links = find_timed_links(path, table)
    if links is not None:
        return TimedActs(links.size, links.sources, links.times, links.sources, links.targets, links.times)
    if not {"author", "created_at"} <= set(table.column_names):
        raise describe_missing_columns(path, table, COLUMNS[-1])
    return _read_posts(path)


def _read_posts(path: Path) -> TimedActs:
    from socialcrawl.lab.post_table import read_posts  # noqa: PLC0415  (only where there are posts)

    posts = read_posts(path)
    size, writers, named = posts.number_accounts()
    each = np.diff(posts.mention_offsets)
    times = posts.created_at.astype(np.float64)
    return TimedActs(size, writers, times, np.repeat(writers, each), named, np.repeat(times, each))
