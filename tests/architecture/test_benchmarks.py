"""Benchmarks run: each once at a tiny size in CI, and a benchmark that fails there fails CI."""

import os
import re
import subprocess
import sys

import pytest
from test_house import ROOT

sys.path.insert(0, str(ROOT))

from benchmarks import __main__ as bench

FOLDER = ROOT / "benchmarks"


def tiny(*names):
    command = [sys.executable, "-m", "benchmarks", *names]
    env = {**os.environ, "BENCH_TINY": "1"}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def test_ci_runs_every_benchmark_once_at_a_tiny_size():
    assert re.search(r"^make .*\bbench\b.* TINY=1", (ROOT / ".ci/run").read_text("utf-8"), re.MULTILINE)
    measuring = {path.stem for path in FOLDER.glob("*.py") if "\ndef measure(" in path.read_text("utf-8")}
    assert measuring == set(bench.NAMES)


def test_every_benchmark_has_a_tiny_size():
    sizes = {name: (FOLDER / f"{name}.py").read_text("utf-8") for name in bench.NAMES}
    assert not [name for name, text in sizes.items() if "sized(" not in text and "is_tiny()" not in text]


def test_the_benchmark_of_the_restart_keeps_up_with_the_schema_and_writes_no_figures_at_a_tiny_size():
    page = (FOLDER / "README.md").read_bytes()
    done = tiny("restart")
    assert done.returncode == 0, done.stderr
    assert "restart: works" in done.stdout
    assert (FOLDER / "README.md").read_bytes() == page


def test_a_benchmark_that_fails_fails_the_command_and_the_others_are_run(monkeypatch, capsys):
    class Benchmark:
        def __init__(self, name):
            self.name = name

        def measure(self):
            if self.name.endswith(".page"):
                raise RuntimeError("no such column")
            return []

    monkeypatch.setenv("BENCH_TINY", "1")
    monkeypatch.setattr(bench, "import_module", Benchmark)
    monkeypatch.setattr(sys, "argv", ["bench", "page", "start"])
    with pytest.raises(SystemExit, match="These benchmarks failed: page"):
        bench.main()
    told = capsys.readouterr()
    assert "no such column" in told.err
    assert "start: works" in told.out
