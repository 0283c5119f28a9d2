"""`make coverage`: run samples, refreshes and crawls on known graphs, and count which intervals contain the true value.

A measure is a module of this folder with TITLE, NOTE and `measure(runs)`, which returns what every run showed. Name
some with ONLY=..., set the number of runs with RUNS=... . With fewer than KEPT runs README.md is not changed. A measure
whose runs take long has its own RUNS and KEPT. APART = False leaves out the tables of single graphs.
"""

import argparse
from importlib import import_module

from benchmarks.coverage.table import covered, keep

NAMES = ("walks", "templates", "refresh", "costs", "steering", "looks", "mocks", "captures", "readings")
RUNS = 200
KEPT = 100  # runs with which figures are worth keeping


def main(arguments: list[str] | None = None) -> None:
    """Measure what the command line names, everything without a name; print what is below 90 %."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *NAMES], metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--runs", type=int, help=f"{RUNS} unless a measure has its own number")
    asked = parser.parse_args(arguments)
    for name in asked.names or NAMES:
        module = import_module(f"benchmarks.coverage.{name}")
        runs = asked.runs or getattr(module, "RUNS", RUNS)
        found = module.measure(runs)
        if runs >= getattr(module, "KEPT", KEPT):
            keep(name, module.TITLE, module.NOTE, found, apart=getattr(module, "APART", True))
        for key in dict.fromkeys((one.graph, one.interval, one.at) for one in found):
            cell = covered(one for one in found if (one.graph, one.interval, one.at) == key)
            low = "  <-- below 90 %" if cell.share < 0.9 else ""
            words = f"{cell.holding} of {cell.shown} shown hold the truth, {cell.runs} runs, width {cell.width:.3g}"
            print(f"{', '.join(key)}: {words}{low}", flush=True)


if __name__ == "__main__":
    main()
