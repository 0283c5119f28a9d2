"""`make bench`: run every benchmark, or those named, print what was measured and keep it in README.md.

With BENCH_TINY set (`make bench TINY=1`), each runs once at a tiny size, to see that it works: nothing is kept.
Every benchmark named is run; one that fails prints its traceback, and the exit code is 1.
"""

import sys
import time
import traceback
from importlib import import_module

from benchmarks.figure import is_tiny, keep

NAMES = (
    *("demo", "page", "ingest", "limiter", "topical", "generate", "start", "simulate", "restart", "idle"),
    *("mock", "busy", "opic", "pagerank", "kumar", "liverank", "walks", "verify", "stream", "platforms", "search"),
    *("network", "ui", "growth", "fleet", "reservations"),
)


def main() -> None:
    """Run the benchmarks named on the command line, all of them without a name."""
    names = sys.argv[1:] or NAMES
    if unknown := [name for name in names if name not in NAMES]:
        sys.exit(f"Unknown benchmark {unknown[0]!r}. Choose from: {', '.join(NAMES)}.")
    failed = [name for name in names if not _run(name)]
    if failed:
        sys.exit(f"These benchmarks failed: {', '.join(failed)}. Run one alone with: make bench ONLY={failed[0]}")


def _run(name: str) -> bool:
    """Return whether a benchmark worked; print its figures, or the traceback of what went wrong."""
    begin = time.perf_counter()
    try:
        module = import_module(f"benchmarks.{name}")
        figures = module.measure()
    except Exception as error:  # noqa: BLE001 (the others are run all the same)
        traceback.print_exc()
        if answer := getattr(error, "stderr", None):  # of a process that the benchmark started
            print(answer if isinstance(answer, str) else answer.decode(errors="replace"), file=sys.stderr)
        return False
    if is_tiny():
        print(f"{name}: works ({time.perf_counter() - begin:.1f} s at a tiny size)", flush=True)
        return True
    keep(name, module.TITLE, figures)
    print(f"{module.TITLE}")
    for figure in figures:
        print(f"  {figure.what}: {figure.value}" + (f"  (target: {figure.target})" if figure.target else ""))
    return True


if __name__ == "__main__":
    main()
