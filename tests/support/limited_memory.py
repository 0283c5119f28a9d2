"""Commands in processes that may take some megabytes more than the modules they imported: a bomb kills no machine.

One process imports everything and forks for each command, so that a command starts in no time.
"""

import atexit
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

MORE = 200_000_000  # bytes of address space beyond what the modules took

SERVER = """
import json, os, resource, sys, traceback
from pathlib import Path
import pyarrow.compute, pyarrow.csv, pyarrow.json, pyarrow.parquet, sqlalchemy.dialects.sqlite, alembic.command
import socialcrawl.importers.import_posts, socialcrawl.importers.import_dataset, socialcrawl.lab.graphs
import socialcrawl.lab.post_table, socialcrawl.lab.graphs.from_edges, socialcrawl.storage.database.connection
import socialcrawl.mock.scenario, socialcrawl.crawls.sample.labels
from socialcrawl.cli.main import app, main
pyarrow.set_cpu_count(1)
pyarrow.set_io_thread_count(1)

def run(given):
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + given["more"],) * 2)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(given[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.argv = ["socialcrawl", *given["words"]]
    code = 70
    try:
        exec(given["code"]) if given["code"] else main()
        code = 0
    except SystemExit as error:
        code = error.code or 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush(); sys.stderr.flush()
    os._exit(code)

for line in sys.stdin:
    child = os.fork()
    if not child:
        run(json.loads(line))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@dataclass
class Done:
    """How a command ended: its exit status (negative: the signal that killed it) and what it said."""

    code: int
    out: str
    err: str


@lru_cache
def _server():
    folder = TemporaryDirectory(prefix="socialcrawl-limited-")
    env = {
        **os.environ,
        "MALLOC_ARENA_MAX": "1",
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    made = subprocess.Popen([sys.executable, "-c", SERVER], env=env, **pipes)

    def end():
        made.stdin.close()
        made.wait(10)
        made.stdout.close()
        folder.cleanup()

    atexit.register(end)
    return made, folder.name


def limited(*words, more=MORE, code=""):
    """What came of `socialcrawl WORDS`, or of some code, with `more` bytes of memory."""
    made, folder = _server()
    given = {"words": [str(word) for word in words], "more": more, "code": code}
    given |= {"out": f"{folder}/out", "err": f"{folder}/err"}
    made.stdin.write(json.dumps(given) + "\n")
    made.stdin.flush()
    status = int(made.stdout.readline())
    texts = []
    for name in ("out", "err"):
        with Path(given[name]).open(encoding="utf-8", errors="replace") as file:
            texts.append(file.read())
    return Done(status, *texts)
