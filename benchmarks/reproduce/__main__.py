"""`make reproduce`: make every figure and table of the papers, and of our own comparison, and an index of them.

SIZE is tiny, quick (the default), full, or paper, which has some figures only. ONLY=kumar or ONLY=kumar/fig1a makes
these only. GRAPHS=FOLDER adds your graphs to our own comparison. OUT is the folder. What is there already, of the same
commands and source, is kept: the same command resumes after Ctrl-C or kill -9. A figure that fails is shown as failed
and the others are made; the exit code is then 1.
"""

import argparse
import fcntl
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.reproduce.catalog import SIZES, Figure, Paper, read_papers
from benchmarks.reproduce.index_page import format_seconds, write_index
from benchmarks.reproduce.runs import Reproduction, is_done
from socialcrawl.errors import SocialcrawlError
from socialcrawl.lab.experiments.steering.runs import list_graphs


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the figures that the command line names, all of them without a name."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reproduce", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a paper, or a figure such as kumar/fig1a")
    parser.add_argument("--size", choices=SIZES, default="quick")
    parser.add_argument("--graphs", type=Path, help="a folder with graphs, for our own comparison")
    parser.add_argument("--out", type=Path, help="default: reproduction/SIZE")
    asked = parser.parse_args(arguments)
    papers = read_papers(asked.size)
    figures = [figure for paper in papers for figure in paper.figures]
    names = {name for figure in figures for name in (figure.paper, figure.label)}
    if unknown := [name for name in asked.names if name not in names]:
        parser.error(f"unknown figure {unknown[0]!r}. Choose from: {', '.join(sorted(names))}.")
    chosen = [one for one in figures if not asked.names or {one.paper, one.label} & set(asked.names)]
    out = (asked.out or Path("reproduction") / asked.size).absolute()
    try:
        graphs = [graph.absolute() for graph in list_graphs(asked.graphs)] if asked.graphs else []
        out.mkdir(parents=True, exist_ok=True)
    except (SocialcrawlError, OSError) as error:
        parser.error(str(error))
    with _lock(out) as lock:
        failed = _make_all(papers, chosen, Reproduction(out, graphs, lock), asked.size)
    if failed:
        sys.exit(f"These figures failed: {', '.join(failed)}. Run one alone with: make reproduce ONLY={failed[0]}")


def _make_all(papers: Sequence[Paper], chosen: Sequence[Figure], reproduction: Reproduction, size: str) -> list[str]:
    """Make figures, and the index after each of them; return the labels of those that failed."""
    plans = {figure.label: reproduction.plan(figure) for paper in papers for figure in paper.figures}
    failed, begin = [], time.perf_counter()
    for number, figure in enumerate(chosen, 1):
        plan, place = plans[figure.label], f"{number} of {len(chosen)}  {figure.label}"
        if is_done(reproduction.read_record(figure), plan):
            print(f"{place}: there already", flush=True)
            continue
        record = reproduction.run(plan)
        if record["exit_code"]:
            failed.append(figure.label)
        said = f"failed with exit code {record['exit_code']}" if record["exit_code"] else "done"
        print(f"{place}: {said} ({format_seconds(record['seconds'])})", flush=True)
        write_index(papers, plans, reproduction, size)
    index = write_index(papers, plans, reproduction, size)
    print(f"wrote {os.path.relpath(index)} ({format_seconds(time.perf_counter() - begin)})", flush=True)
    return failed


@contextmanager
def _lock(out: Path) -> Iterator[int]:
    """Wait until no other process works in a folder; yield the descriptor of its lock, which commands inherit.

    Where this process is killed with kill -9, its command goes on for a while. The next one waits for that to end.
    """
    with (out / ".lock").open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"An earlier run still works in {os.path.relpath(out)}: waiting for it to end.", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the command that runs ends, too
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("Stopped. The same command resumes.")
