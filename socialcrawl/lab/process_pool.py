"""Crawls side by side in processes, each kept in a file as soon as it is done; what has its file is done."""

import hashlib
import json
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from socialcrawl.errors import SocialcrawlError
from socialcrawl.lab.code_checksum import compute_code_checksum
from socialcrawl.lab.result_tables import Table, write_parquet
from socialcrawl.system.files import replace_file

ROUND = 4  # results a process between two looks, where a backend hands over lists only

Watch = Callable[[int, int], object]
Crawl = Callable[[Sequence["CrawlJob"]], list[Table]]
"""What makes crawls: it returns their tables, in their order."""


@dataclass(frozen=True, eq=False)
class CrawlJob:
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
        return hashlib.sha256(json.dumps([compute_code_checksum(self.crawl), *self.said]).encode()).hexdigest()[:24]


def compute_fingerprint(*arrays: Any) -> str:
    """Return a checksum of arrays: the same for the same numbers."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()[:24]


def crawl_here(jobs: Sequence[CrawlJob]) -> list[Table]:
    """Return the tables of all jobs, in their order, made one after the other in this process; none is kept."""
    return [job.crawl(*job.given) for job in jobs]


def crawl_missing(
    jobs: Sequence[CrawlJob], out: Path, n_jobs: int | None = 1, watch: Watch | None = None
) -> list[Table]:
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
    calls = {job.key: (job.crawl, job.given) for job in jobs}
    run_missing(calls, out, lambda key, table: _keep(get_path(out, key), table), n_jobs=n_jobs, watch=watch)
    return [_read(get_path(out, job.key)) for job in jobs]


def run_missing(
    calls: Mapping[str, tuple[Callable[..., Any], Sequence[Any]]],
    out: Path,
    keep: Callable[[str, Any], object],
    *,
    n_jobs: int | None = 1,
    watch: Watch | None = None,
) -> int:
    """Return how many results were made now: all whose files `out` had not yet, each kept as soon as it is done.

    Args:
        calls: what makes each result, by the name of its file: a function, called in another process, and its
            arguments.
        out: a folder; see `get_path`.
        keep: called with the name of a file and its result, which it writes.
        n_jobs: processes at once; -1: as many as there are processors; None: as an ambient `joblib.parallel_config`
            says.
        watch: called with (results there, all results), first for those that were there already.

    Raises:
        SocialcrawlError: a process was killed.
    """
    left = {key: call for key, call in calls.items() if not get_path(out, key).exists()}
    done = len(calls) - len(left)
    look = watch or (lambda _done, _total: None)
    look(done, len(calls))
    try:
        with closing(_run_parallel(left, n_jobs)) as finished:
            for key, result in finished:
                keep(key, result)
                done += 1
                look(done, len(calls))
    except BrokenExecutor as error:
        raise SocialcrawlError(
            "A process was killed, perhaps for want of memory: run fewer at once (--jobs 1), or give graphs as folders "
            "(see socialcrawl lab graph npz). What is done is kept; run the same command again to resume."
        ) from error
    return len(left)


def get_path(out: Path, key: str) -> Path:
    """Return where the result of that key lies."""
    return out / f"{key}.parquet"


def _run_parallel(
    calls: Mapping[str, tuple[Callable[..., Any], Sequence[Any]]], n_jobs: int | None
) -> Generator[tuple[str, Any], None, None]:
    """Yield the results as they are done; in rounds where the backend cannot hand over one by one."""
    from joblib import Parallel, delayed, effective_n_jobs  # noqa: PLC0415

    tasks = [delayed(_call)(key, *call) for key, call in calls.items()]
    try:
        # One task at a time: a batch would be handed over as a whole, and lost as a whole.
        parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
    except ValueError:  # multiprocessing, and Ray's pool, which is built on it
        parallel = Parallel(n_jobs=n_jobs, batch_size=1)
        size = ROUND * effective_n_jobs(-1 if n_jobs is None else n_jobs)
        for begin in range(0, len(tasks), size):
            yield from parallel(tasks[begin : begin + size])
        return
    with _shield_children():
        finished = parallel(tasks)
    yield from finished


def _call(key: str, function: Callable[..., Any], given: Sequence[Any]) -> tuple[str, Any]:
    return key, function(*given)


@contextmanager
def _shield_children() -> Iterator[None]:
    """Start processes that do not hear Ctrl-C, which reaches the whole group: the parent decides."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _keep(path: Path, table: Table) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(path) as part:
            write_parquet(part, table)
    except OSError as error:
        raise SocialcrawlError(f"{path} cannot be written: {error}. Free space or give another place.") from error


def _read(path: Path) -> Table:
    from pyarrow import parquet  # noqa: PLC0415

    found = parquet.read_table(path)
    return {name: found.column(name).to_numpy() for name in found.column_names}
