"""The page of the laboratory runs block by block in an empty folder; the tables of estimators are the code's."""

import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from commands import COMMAND, ENVIRONMENT, socialcrawl

from socialcrawl.crawls.collect.estimators import NAMES, Linear, Neighbourhood, make_estimator
from socialcrawl.crawls.collect.estimators.regressor import FEATURES
from socialcrawl.crawls.collect.strategies import STRATEGIES
from socialcrawl.lab.grid import read_results

PAGE = (Path(__file__).parents[2] / "docs/how-to/laboratory.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)
CLUSTERS = ("register_ray", "10.0.0.1")  # in what is shown and not run here
OUTPUTS = [code for kind, code in BLOCKS if kind == "text" and not any(word in code for word in CLUSTERS)]
ESTIMATORS = (Path(__file__).parents[2] / "docs/reference/estimators.md").read_text("utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for part in re.findall(r"^\| (?:estimator|name) \|.*?(?=\n\n)", ESTIMATORS, re.MULTILINE | re.DOTALL)
    for line in part.splitlines()
    if line.startswith("| `")
]
TINY = {"20000": "1500", "110000": "6000", "--steps 300": "--steps 40", "--switch-after 100": "--switch-after 15"}


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """The folder after all blocks, and what each printed."""
    folder = tmp_path_factory.mktemp("page")
    programs = folder / ".bin"  # the command of this checkout, wherever it is installed
    programs.mkdir()
    (programs / "socialcrawl").write_text(f'#!/bin/sh\nexec {" ".join(COMMAND)} "$@"\n')
    (programs / "socialcrawl").chmod(0o755)
    around = {**ENVIRONMENT, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    printed = []
    for kind, block in BLOCKS:
        code = block
        for usual, tiny in TINY.items():
            code = code.replace(usual, tiny)
        if kind == "python":
            (folder / "block.py").write_text(code)
        run = {"sh": ["bash", "-euc", code], "python": [sys.executable, "block.py"]}.get(kind)
        if run:
            done = subprocess.run(run, cwd=folder, env=around, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 0, code + done.stderr
            printed.append(done.stdout)
    return folder, printed


def test_the_page_has_commands_and_nothing_that_is_not_run_but_clusters():
    assert [kind for kind, _ in BLOCKS].count("sh") == 10
    assert {kind for kind, _ in BLOCKS} == {"sh", "python", "text"}
    assert len(OUTPUTS) == 7
    assert all(usual in PAGE for usual in TINY)


def test_every_block_runs_as_written(walked):
    folder, printed = walked
    there = {path.name for path in folder.iterdir()}
    assert there >= {
        "G",
        "mentions",
        "friends",
        "mine",
        "simulation",
        "others",
        "strategies",
        "steering",
        "laboratory.png",
    }
    whole = "\n".join(printed)
    shown = [line for output in OUTPUTS for line in output.splitlines()]
    assert [line for line in shown if line.startswith(("wrote", "6 of", "32 of")) and line not in whole] == [
        "wrote G: 20,000 nodes (10.90% with a value), 110,000 links (2.00% with a weight)"  # the test's is smaller
    ]
    assert '"steps": [1, 2]' in whole
    assert "3 of 3" in whole
    assert (folder / "kumar" / "fig2a.png").stat().st_size > 10_000
    assert read_results(folder / "simulation").num_rows == 32
    assert read_results(folder / "strategies").num_rows == 6
    assert read_results(folder / "clustered").num_rows == 3


def test_what_the_page_says_of_results_is_what_there_is(walked):
    listed = re.search(r"has a row per replay: `([^`]*)`", PAGE)[1]
    assert re.split(r",\s*", listed) == read_results(walked[0] / "simulation").column_names


def test_every_option_that_the_page_names_is_there():
    graphs = [["lab", "graph", "edges"], ["lab", "graph", "pages"]]
    commands = [["simulate"], ["lab", "twitter-like"], *graphs, ["lab", "reading"], ["lab", "steering"]]
    texts = [socialcrawl(*words, "--help").stdout for words in commands]
    known = set(re.findall(r"--[a-z-]+", " ".join(texts)))
    named_here = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE.split("## On a cluster")[0]))
    assert named_here <= known
    assert set(re.findall(r"--[a-z-]+", texts[0])) - {"--help", "--quiet", "--verbose"} <= set(
        re.findall(r"--[a-z-]+", PAGE)
    )


def names_of(cell):
    """`nh-n-{sum,avg,max}` written out."""
    parts = [part.strip("{}").split(",") for part in re.split(r"(\{[^}]*\})", cell.strip("`")) if part]
    return ["".join(chosen) for chosen in product(*parts)]


def columns_of(cell):
    return {re.sub(r"(\w+)_sum / links", r"\1_avg", name) for name in re.findall(r"`([^`]+)`", cell)}


def test_the_tables_name_every_estimator_and_strategy_and_the_columns_that_it_reads():
    shown = {name: cells for cells in ROWS for name in names_of(cells[0])}
    assert set(shown) == {*NAMES, *STRATEGIES, "oracle", "sklearn.*", "module:Class"}
    for name in NAMES:
        estimator = make_estimator(name, seed=1)
        if isinstance(estimator, Neighbourhood):
            order = re.findall(r"`([^`]+)`", shown[name][1])
            place = ("sum", "avg", "max").index(name.rsplit("-", 1)[1])
            assert re.sub("_sum / links", "_avg", order[place]) == estimator.feature
        elif isinstance(estimator, Linear):
            assert columns_of(shown[name][1]) == set(estimator.features)
    assert columns_of(shown["sklearn.*"][1]) == set(FEATURES)
    assert columns_of(shown["bfs"][1]) == {"depth"}
    assert columns_of(shown["random"][1]) == columns_of(shown["oracle"][1]) == set()
