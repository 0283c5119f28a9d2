"""Time of the demo, once everything is installed, and what the mock counted."""

import json
import subprocess
import sys
import tempfile
import time

from benchmarks.figure import Figure, sized

TITLE = "The demo on generated posts: 1,200 steps, windows of 300 requests per 3 s, whole process"
STEPS, WINDOW = sized(1_200, 40), sized(3, 1)


def measure() -> list[Figure]:
    """Wall seconds of `socialcrawl demo`, windows filled and 429s by the mock's own count."""
    with tempfile.TemporaryDirectory() as scratch:
        begin = time.perf_counter()
        command = [
            sys.executable,
            "-m",
            "socialcrawl",
            "demo",
            "--json",
            "--steps",
            str(STEPS),
            "--window",
            f"{WINDOW}s",
        ]
        done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=True)
        took = time.perf_counter() - begin
    told = json.loads(done.stdout)
    filled = sum(window["filled"] for window in told["windows"])
    each = told["cpu_seconds"] / told["requests"] * 1e3
    return [
        Figure("wall time", f"{took:.1f} s", "under 40 s"),
        Figure("windows filled", str(filled), "at least 3"),
        Figure("429 answers", str(told["statuses"].get("429", 0)), "0"),
        Figure("processor time of the crawler", f"{told['cpu_seconds']:.1f} s, {each:.1f} ms a request"),
    ]
