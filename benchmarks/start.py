"""Time to import the package and to print the help."""

import statistics
import subprocess
import sys
import time

from benchmarks.figure import Figure, sized

TITLE = "Start of the command, whole process, median of 9"
RUNS = sized(9, 1)


def measure() -> list[Figure]:
    """Wall seconds of `import socialcrawl` and of `socialcrawl --help`."""
    return [
        Figure("import socialcrawl", f"{_median('-c', 'import socialcrawl'):.2f} s", "under 0.5 s"),
        Figure("socialcrawl --help", f"{_median('-m', 'socialcrawl', '--help'):.2f} s", "under 0.5 s"),
    ]


def _median(*arguments: str) -> float:
    times = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)
