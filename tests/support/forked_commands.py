"""Commands in children of a process that has imported all of the package: as `python -m socialcrawl`, for less.

`killed_campaigns.nursery` forks one for each command. Its folder, variables, files and exit code are its own.
"""

import atexit
import importlib
import os
import pkgutil
import runpy
import sys
import threading
from pathlib import Path

import socialcrawl

TESTS = Path(__file__).parents[1]
OURS = (one.name for one in pkgutil.walk_packages(socialcrawl.__path__, "socialcrawl.") if one.name[-8:] != "__main__")
for name in (*OURS, "matplotlib.figure", "pyarrow.parquet"):
    importlib.import_module(name)


def work(words, folder, variables, streams):
    """Run one command in this process, which has stdin, stdout and stderr from files; its exit code."""
    for number, name in enumerate(streams):
        file = os.open(name, os.O_RDWR)
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    added = filter(None, variables.get("PYTHONPATH", "").split(os.pathsep))
    # Processes that the command starts are given these paths, and import the package from its checkout.
    sys.path[:] = [folder, *added, *(path for path in sys.path if not Path(path).is_relative_to(TESTS))]
    sys.argv[1:] = words
    code = 0
    try:
        runpy.run_module("socialcrawl", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
    except BaseException:  # noqa: BLE001 (Python shows whatever it was, and ends)
        sys.excepthook(*sys.exc_info())
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code
