"""Crawls side by side in processes, each kept in a file as soon as it is done; what has its file is done."""

import hashlib
import json
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from socialcrawl.errors import SocialcrawlError
from socialcrawl.lab.code_checksum import code_of
from socialcrawl.lab.result_tables import Table, write_parquet
from socialcrawl.system.files import replace_whole

Watch = Callable[[int, int], object]
Crawl = Callable[[Sequence["Job"]], list[Table]]
"""What makes crawls: it returns their tables, in their order."""


@dataclass(frozen=True, eq=False)
class Job:
    """One crawl.

    Attributes:
        said: what decides its result, in words that JSON can write.
        crawl: what does it, called in a process of its own, with `given`; its result is a table.
        given: arguments.
    """

    said: Sequence[Any]
    crawl: Callable[..., Table]
    given: Sequence[Any] = field(repr=False)

    @property
    def key(self) -> str:
        """A name for its file: the same crawl by the same source has the same one."""
        return hashlib.sha256(json.dumps([code_of(self.crawl), *self.said]).encode()).hexdigest()[:24]


def fingerprint(*arrays: Any) -> str:
    """Return a checksum of arrays: the same for the same numbers."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()[:24]


def crawl_here(jobs: Sequence[Job]) -> list[Table]:
    """Return the tables of all jobs, in their order, made one after the other in this process; none is kept."""
    return [job.crawl(*job.given) for job in jobs]


def crawled(jobs: Sequence[Job], out: Path, n_jobs: int | None = 1, watch: Watch | None = None) -> list[Table]:
    """Return the tables of all jobs, in their order.

    Those that `out` (a folder) has not yet are made now and kept there.

    Args:
        jobs: what is to be crawled.
        out: a folder, made where it is missing.
        n_jobs: processes at once; -1: as many as there are processors; None: as an ambient `joblib.parallel_config`
            says.
        watch: called with (jobs done, all jobs), first for those that were there already.

    Raises:
        SocialcrawlError: a file cannot be written, or a process was killed.
    """
    wanted = {job.key: job for job in jobs}
    left = [key for key in wanted if not _place(out, key).exists()]
    look = watch or (lambda _done, _total: None)
    done = len(wanted) - len(left)
    look(done, len(wanted))
    for key, table in _finished([(key, wanted[key]) for key in left], n_jobs):
        _keep(_place(out, key), table)
        done += 1
        look(done, len(wanted))
    return [_read(_place(out, job.key)) for job in jobs]


def _finished(calls: Sequence[tuple[str, Job]], n_jobs: int | None) -> Iterator[tuple[str, Table]]:
    from joblib import Parallel, delayed, parallel_config  # noqa: PLC0415

    deaf = {} if n_jobs is None else {"backend": "loky", "initializer": _deaf}
    try:
        with parallel_config(**deaf):
            # One task at a time: a batch would be handed over as a whole, and lost as a whole.
            parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
            yield from parallel(delayed(_done)(key, job) for key, job in calls)
    except BrokenExecutor as error:
        raise SocialcrawlError(
            "A process was killed, perhaps for want of memory: take fewer at once (--jobs 1). What is done is kept; "
            "the same command again goes on."
        ) from error


def _deaf() -> None:
    """Ctrl-C reaches all processes: the first one decides."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _done(key: str, job: Job) -> tuple[str, Table]:
    return key, job.crawl(*job.given)


def _place(out: Path, key: str) -> Path:
    return out / f"{key}.parquet"


def _keep(path: Path, table: Table) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replace_whole(path) as part:
            write_parquet(part, table)
    except OSError as error:
        raise SocialcrawlError(f"{path} cannot be written: {error}. Free space or give another place.") from error


def _read(path: Path) -> Table:
    from pyarrow import parquet  # noqa: PLC0415

    found = parquet.read_table(path)
    return {name: found.column(name).to_numpy() for name in found.column_names}
