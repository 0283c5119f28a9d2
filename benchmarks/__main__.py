"""`make bench`: run every benchmark, or those named, print what was measured and keep it in README.md."""

import sys
from importlib import import_module

from benchmarks.figure import keep

NAMES = (
    *("demo", "page", "ingest", "limiter", "topical", "generate", "start", "simulate", "restart", "idle"),
    *("mock", "busy", "opic", "pagerank", "kumar", "liverank", "walks"),
)


def main() -> None:
    """Run the benchmarks named on the command line, all of them without a name."""
    for name in sys.argv[1:] or NAMES:
        if name not in NAMES:
            sys.exit(f"there is no benchmark {name!r}; there are: {', '.join(NAMES)}")
        module = import_module(f"benchmarks.{name}")
        figures = module.measure()
        keep(name, module.TITLE, figures)
        print(f"{module.TITLE}")
        for figure in figures:
            print(f"  {figure.what}: {figure.value}" + (f"  (target: {figure.target})" if figure.target else ""))


if __name__ == "__main__":
    main()
