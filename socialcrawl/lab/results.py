"""The results of replays: a Parquet file each, named by all that decides it."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from socialcrawl import __version__
from socialcrawl.crawls.collect.estimators.registry import check, make_estimator
from socialcrawl.crawls.collect.strategies import ADDED
from socialcrawl.errors import SettingsError, SocialcrawlError
from socialcrawl.lab.code_checksum import compute_code_checksum
from socialcrawl.lab.graphs.graph_folder import ARRAYS
from socialcrawl.lab.process_pool import get_path
from socialcrawl.lab.simulation import Replay, ReplaySetup, simulate
from socialcrawl.system.files import replace_file

ORDER = ("graph", "estimator", "strategy", "refresh_rate", "objective", "budget", "seed", "seed_set")
NAME = "[0-9a-f]" * 32

ESTIMATORS = "socialcrawl.crawls.collect.estimators"

Stamp = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class ReplayJob:
    """One replay of a grid.

    Attributes:
        graph: the path of the graph, a folder or a .npz.
        seed_set: the number of the set of seeds, from 0.
        seeds: its rows, in the order in which they are asked.
        setup: what is replayed.
    """

    graph: str
    seed_set: int
    seeds: tuple[int, ...]
    setup: ReplaySetup

    @property
    def key(self) -> str:
        """The name of its result: 32 hexadecimal digits of all that decides it.

        That is the graph (its name and what is in its files), the seeds, the setup, the version of this program and
        its source: that of the loop and of the estimator.

        Raises:
            SettingsError: the graph cannot be read.
        """
        seeds = [int(node) for node in self.seeds]
        parts = [
            __version__,
            self.code,
            self.graph,
            compute_digest(self.graph),
            self.seed_set,
            seeds,
            asdict(self.setup),
        ]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]

    @property
    def code(self) -> str:
        """A checksum of the source that decides its result."""
        return _compute_code(self.setup.estimator, self.setup.start, self.setup.strategy)


def compute_digest(graph: str) -> str:
    """Return the SHA-256 of the files of a graph, in hexadecimal digits; of 1 GB in one or two seconds, once a process.

    Raises:
        SettingsError: they cannot be read.
    """
    return _compute_digest(graph, read_stamp(graph))


def read_stamp(graph: str) -> Stamp:
    """Return what tells the files of a graph from those that may take their place.

    Raises:
        SettingsError: they are not there.
    """
    try:
        found = [file.stat() for file in _list_files(graph)]
    except OSError as error:
        raise SettingsError(f"The graph {graph} cannot be read: {error}. Give its folder or .npz.") from error
    return tuple((file.st_ino, file.st_size, file.st_mtime_ns) for file in found)


def write(path: Path, job: ReplayJob, replay: Replay) -> None:
    """Keep a result: written beside `path` and renamed, so that it is there as a whole or not at all.

    Raises:
        SocialcrawlError: it cannot be written.
    """
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import parquet  # noqa: PLC0415

    row = {
        "graph": job.graph,
        **asdict(job.setup),
        "seed_set": job.seed_set,
        "seeds": list(job.seeds),
        "score": replay.curve[-1],
        "seed_score": replay.seed_score,
        "curve": replay.curve,
        "steps": replay.steps,
        "seconds": replay.seconds,
        "peak_rss_mb": replay.peak_rss_mb,
        "version": __version__,
        "code": job.code,
    }
    table = pa.Table.from_pylist([row], schema=_make_schema())
    try:
        with replace_file(path) as part, part.open("wb") as file:
            parquet.write_table(table, file)
    except OSError as error:
        raise SocialcrawlError(
            f"{path} cannot be written: {error}. Free space; the same command again goes on."
        ) from error


def read_results(out: Path, columns: Sequence[str] | None = None, keys: Sequence[str] | None = None) -> Any:
    """Return all results of a folder as a pyarrow.Table: a row a job, ordered by `ORDER` (and key), whatever ran when.

    Columns: graph, estimator, strategy, q, zeta, refresh_rate, objective, seed, switch_after, start (null: the usual
    one), nr_d, budget, seed_set, seeds (list<int64>), score (the last of curve), seed_score, curve (list<double>),
    steps (list<int64>), seconds, peak_rss_mb (of the worker, which may have done others before), version, code (a
    checksum of the source of the loop and the estimator; null: an earlier version kept the result, and none of it).

    Args:
        out: the folder.
        columns: the names of those to read besides ORDER; None: all. Curves and steps are long.
        keys: the results to read; None: all that are there.

    Raises:
        SettingsError: there is no such folder, or a result is missing or cannot be read.
    """
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import parquet  # noqa: PLC0415

    if not out.is_dir():
        raise SettingsError(f"There is no folder {out}; give the one that socialcrawl simulate wrote.")
    files = sorted(out.glob(f"{NAME}.parquet")) if keys is None else [get_path(out, key) for key in sorted(set(keys))]
    chosen = None if columns is None else [*ORDER, *(name for name in columns if name not in ORDER)]
    tables = [_make_schema().empty_table().select(chosen or _make_schema().names)]
    for file in files:
        try:
            found = parquet.ParquetFile(file).read(columns=chosen)
            if "code" in tables[0].column_names and "code" not in found.column_names:
                found = found.append_column("code", pa.nulls(len(found), pa.string()))
            tables.append(found.select(tables[0].column_names).cast(tables[0].schema))
        except (pa.ArrowException, OSError, KeyError, ValueError) as error:
            raise SettingsError(f"{file} cannot be read: {error}. Remove it, and simulate again.") from error
    return pa.concat_tables(tables).sort_by([(name, "ascending") for name in ORDER])


@lru_cache(maxsize=256)
def _compute_code(name: str, start: str | None, strategy: str) -> str:
    """Return a checksum of the source of the loop, a strategy and one estimator, with those that it is made of."""
    loop = compute_code_checksum(simulate, check, apart=ESTIMATORS)
    if ADDED.is_added(strategy):
        loop += compute_code_checksum(ADDED.load(strategy))
    if name == "oracle":
        return loop  # it belongs to the laboratory
    return loop + compute_estimator_checksum(name, start)


def compute_estimator_checksum(name: str, start: str | None = None) -> str:
    """Return a checksum of the source of an estimator, with those that it is made of, also of other packages."""
    made = make_estimator(name, seed=1, start=start)
    parts = [part for part in vars(made).values() if hasattr(part, "score")]
    added = [part.made for part in parts if hasattr(part, "made")]
    return compute_code_checksum(made, *parts, *added)


@lru_cache(maxsize=256)
def _compute_digest(graph: str, seen: Stamp) -> str:
    digest = hashlib.sha256()
    for file in _list_files(graph):
        with file.open("rb") as opened:
            digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()


def _list_files(graph: str) -> list[Path]:
    path = Path(graph)
    return [path / f"{name}.npy" for name in ARRAYS] if path.is_dir() else [path]


def _make_schema() -> Any:
    import pyarrow as pa  # noqa: PLC0415

    text, integer, real = pa.string(), pa.int64(), pa.float64()
    kinds = {
        "graph": text,
        "estimator": text,
        "strategy": text,
        "q": real,
        "zeta": real,
        "refresh_rate": integer,
        "objective": text,
        "seed": integer,
        "switch_after": integer,
        "start": text,
        "nr_d": real,
        "budget": integer,
        "seed_set": integer,
        "seeds": pa.list_(integer),
        "score": real,
        "seed_score": real,
        "curve": pa.list_(real),
        "steps": pa.list_(integer),
        "seconds": real,
        "peak_rss_mb": real,
        "version": text,
        "code": text,
    }
    return pa.schema(list(kinds.items()))
