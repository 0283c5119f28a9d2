"""Results that are kept belong to the code that made them: edits of the code make them anew, edits of prose do not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lab_graphs import known, random_world

import socialcrawl
from socialcrawl.lab import code_checksum
from socialcrawl.lab.code_checksum import compute_code_checksum
from socialcrawl.lab.graphs import write
from socialcrawl.lab.results import read_results

PACKAGE = Path(socialcrawl.__file__).parent
WORDS = "simulate --estimator nh-ne-sum --estimator bfs --seed-sets 1 --seed-size 3 --steps 25 --jobs 1 --out out"
KUMAR = """
import json, sys
import numpy as np
from pathlib import Path
from socialcrawl.lab.experiments.kumar.fixed_graphs import list_jobs, make_world
from socialcrawl.lab.graphs import read
from socialcrawl.lab.process_pool import crawl_missing
seen = []
jobs = list_jobs(make_world("g", read(Path("G")), 5, 20), ["ai"], [1])
crawl_missing(jobs, Path("kumar"), watch=lambda *now: seen.append(now))
print(seen[0][0], "of", seen[0][1], "were kept")
"""


@pytest.fixture
def here(tmp_path):
    """A folder with a copy of the program, which may be edited, and a graph."""
    shutil.copytree(PACKAGE, tmp_path / "socialcrawl", ignore=shutil.ignore_patterns("__pycache__"))
    write(known(random_world(200, 4, 1)), tmp_path / "G")
    return tmp_path


def run(here, *words):
    """What Python prints, with the copy of the program."""
    env = {**os.environ, "PYTHONPATH": str(here), "PYTHONDONTWRITEBYTECODE": "1"}
    ended = subprocess.run([sys.executable, *words], cwd=here, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def simulated(here):
    """What is simulated: the scores by estimator that are shown, and the replays that were done for it."""
    lines = run(here, "-m", "socialcrawl", *WORDS.split(), "--graph", "G").splitlines()
    scores = {name: line.split() for line in lines for name in ("nh-ne-sum", "bfs") if name in line.split()}
    return scores, int(lines[-1].split()[0])


def edit(here, file, old, new):
    path = here / "socialcrawl" / file
    source = path.read_text("utf-8")
    assert old in source
    path.write_text(source.replace(old, new, 1), "utf-8")


def test_an_edited_estimator_is_replayed_and_an_edited_docstring_is_not(here):
    first, done = simulated(here)
    assert done == 2
    assert simulated(here) == (first, 0)
    edit(here, "crawls/collect/estimators/neighbourhood.py", '"""', '"""Something else is said here. ')
    edit(here, "engine/loop.py", "\n\n\n", "\n\n\n# A comment.\n")
    assert simulated(here) == (first, 0)
    edit(here, "crawls/collect/estimators/neighbourhood.py", 'f"{of}_{h}"', '"depth"')
    second, done = simulated(here)
    assert done == 1, "that which was not edited is kept"
    assert second["bfs"] == first["bfs"]
    assert second["nh-ne-sum"] != first["nh-ne-sum"]
    codes = read_results(here / "out", ["code"]).to_pylist()
    assert len({row["code"] for row in codes if row["estimator"] == "nh-ne-sum"}) == 2
    edit(here, "crawls/collect/crawl.py", "self.taken = 0", "self.taken = int(0)")
    assert simulated(here)[1] == 2, "the loop is part of every replay"


def test_crawls_of_experiments_are_made_again_where_their_code_was_edited(here):
    assert run(here, "-c", KUMAR) == "0 of 1 were kept\n"
    edit(here, "crawls/track/visit_policies.py", '"""', '"""Something else is said here. ')
    edit(here, "mock/server.py", "import ", "import sys\nimport ")
    assert run(here, "-c", KUMAR) == "1 of 1 were kept\n"
    edit(here, "crawls/track/visit_policies.py", "\n\n\n", "\n\nNEW = 1\n\n\n")
    assert run(here, "-c", KUMAR) == "0 of 1 were kept\n"


CODE = """
import plugin
from socialcrawl.lab.code_checksum import compute_code_checksum
print(compute_code_checksum(plugin.Mine()))
"""


def test_your_own_class_has_the_code_of_its_file_and_of_the_classes_that_it_inherits_from(tmp_path):
    (tmp_path / "socialcrawl").symlink_to(PACKAGE)

    def told(*sources):
        for name, source in zip(("plugin.py", "base.py"), sources, strict=True):
            (tmp_path / name).write_text(source, "utf-8")
        return run(tmp_path, "-c", CODE)

    mine, base = "from base import Base\nclass Mine(Base):\n    x = 1\n", "class Base:\n    y = 1\n"
    first = told(mine, base)
    assert told(mine + "# a comment\n", base) == first
    assert told(mine.replace("1", "2"), base) != first
    assert told(mine, base.replace("1", "2")) != first
    assert told(mine, base) == first


def test_the_release_of_a_library_counts(monkeypatch):
    import sklearn
    from sklearn.linear_model import SGDRegressor

    first = compute_code_checksum(SGDRegressor())
    code_checksum._compute_checksum.cache_clear()
    monkeypatch.setattr(sklearn, "__version__", "0.1")
    assert compute_code_checksum(SGDRegressor()) != first
    code_checksum._compute_checksum.cache_clear()


OWN = "from .weights import weigh\n\n\nclass Mine:\n    def score(self, graph, rows, n):\n        return weigh(rows)\n"


def test_an_edit_of_what_an_estimator_or_strategy_of_ones_own_imports_replays_it(here):
    """A package `own` with a chain of relative imports, and a loose file `pick.py` that imports one beside it."""
    (here / "own").mkdir()
    files = {
        "own/__init__.py": "from own.model import Mine\n",
        "own/model.py": OWN,
        "own/weights.py": "from .factor import FACTOR\n\n\ndef weigh(rows):\n    return rows * FACTOR\n",
        "own/factor.py": "FACTOR = 1.0\n",
        "unused.py": "VALUE = 1\n",
        "pick.py": (
            "from helper import turn\n\n\nclass Last:\n    def pick(self, frontier, size, n):\n"
            "        rows, scores = frontier.list_all(n)\n        return turn(rows)[:size], turn(scores)[:size]\n"
        ),
        "helper.py": "def turn(given):\n    return given[::-1]\n",
    }
    for name, source in files.items():
        (here / name).write_text(source, "utf-8")
    words = "simulate --estimator own:Mine --strategy pick:Last --seed-sets 1 --seed-size 3 --steps 25 --out out"

    def count_replays():
        return run(here, "-m", "socialcrawl", *words.split(), "--jobs", "1", "--graph", "G").splitlines()[-1].split()[0]

    assert (count_replays(), count_replays()) == ("1", "0")
    for name, old, new, replays in (
        ("own/factor.py", "1.0", "-1.0", "1"),
        ("helper.py", "given[::-1]", "given[:]", "1"),
        ("unused.py", "1", "2", "0"),
    ):
        (here / name).write_text(files[name].replace(old, new), "utf-8")
        assert count_replays() == replays, name
