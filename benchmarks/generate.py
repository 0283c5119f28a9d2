"""Time to generate and write synthetic posts."""

import resource
import subprocess
import sys
import tempfile
import time

from benchmarks.figure import Figure, sized

TITLE = "Generator of posts (40 posts a user), written as Parquet, whole process"
SIZES = {sized(2_000, 200): "under 2 s", sized(200_000, 300): "under 60 s"}
SCRIPT = """
import sys
from pathlib import Path
from socialcrawl.lab.generators.generate import generate, write
write(Path(sys.argv[2]), generate(int(sys.argv[1]), 1))
"""


def measure() -> list[Figure]:
    """Wall seconds of a fresh process for 2,000 and 200,000 users, and the peak memory of the larger one."""
    figures = []
    with tempfile.TemporaryDirectory() as scratch:
        for users, target in SIZES.items():
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", SCRIPT, str(users), f"{scratch}/posts.parquet"], check=True)
            figures.append(Figure(f"{users:,} users", f"{time.perf_counter() - begin:.1f} s", target))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
    return [*figures, Figure("peak memory", f"{peak:.2f} GB")]
