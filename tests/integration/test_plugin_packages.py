"""The example packages as their users have them: installed by pip, tested by their own tests, used by a campaign."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import campaign_file, socialcrawl
from x_crawls import posts_file, rows

from socialcrawl.lab.experiments.sampling.worlds import link_pages
from socialcrawl.mock.server import serve_in_thread

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "river-estimator": "test_socialcrawl_river.py",
    "modern-baselines": "test_socialcrawl_baselines.py",
    "json-forum": "test_json_forum.py",
}
BASELINES = ("boosted-trees", "d3ts", "nol", "sleeping-bandit")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder into which pip has installed the packages, without a network."""
    folder = tmp_path_factory.mktemp("installed")
    copies = tmp_path_factory.mktemp("sources")
    for name in PACKAGES:
        shutil.copytree(ROOT / "examples/plugins" / name, copies / name)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    child = subprocess.run(
        [*command, "--disable-pip-version-check", "--target", str(folder), *(str(copies / name) for name in PACKAGES)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(tmp_path_factory.mktemp("building"))},
    )
    assert child.returncode == 0, child.stdout + child.stderr
    return folder


def path_of(installed):
    return os.pathsep.join([str(installed), str(ROOT), os.environ.get("PYTHONPATH", "")])


def telling(folder, installed):
    """What runs a command in `folder` and returns what it printed."""

    def told(*words):
        child = socialcrawl(*words, folder=folder, PYTHONPATH=path_of(installed))
        assert child.returncode == 0, child.stdout + child.stderr
        return " ".join(child.stdout.split())

    return told


@pytest.mark.parametrize("name", PACKAGES)
def test_the_tests_of_each_example_package_pass_where_it_is_installed(name, installed, tmp_path):
    shutil.copy(ROOT / "examples/plugins" / name / PACKAGES[name], tmp_path)
    child = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", ".", "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path_of(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stdout + child.stderr
    assert " passed" in child.stdout


def test_all_packages_are_listed_with_their_versions_and_load(installed, tmp_path):
    listed = json.loads(telling(tmp_path, installed)("plugins", "--json"))["plugins"]
    assert {(row["group"], row["name"], row["package"], row["version"], row["problem"]) for row in listed} >= {
        ("socialcrawl.estimators", "river-tree", "socialcrawl-river", "1.0", ""),
        *(("socialcrawl.estimators", name, "socialcrawl-baselines", "1.0", "") for name in BASELINES),
        ("socialcrawl.walks", "metropolis-hastings", "socialcrawl-baselines", "1.0", ""),
        ("socialcrawl.platforms", "forum", "socialcrawl-json-forum", "1.0", ""),
    }


def test_a_campaign_is_steered_by_the_estimator_of_a_package_and_verified(installed, tmp_path):
    told = telling(tmp_path, installed)
    with serve_in_thread(posts_file(), limit=100_000) as mock:
        file = campaign_file(tmp_path, mock.url, steps=20)
        text = file.read_text("utf-8")
        file.write_text(
            text.replace(
                'estimator = "bfs"',
                'estimator = "river-tree"\nestimator_options = { grace_period = 2 }\nshadows = ["bfs"]',
            ),
            "utf-8",
        )
        told("run", file, "--yes", "--steps", "7")
        told("run", file, "--yes")
    scores = {score for (score,) in rows(tmp_path / "mine.db", "select score from pick where act = 'expand'")}
    assert len(scores) > 3  # it has learned
    assert "mine (collect, x;" in told("verify", "mine.db")


def test_walks_are_compared_on_the_largest_part_of_a_graph_and_are_alike_where_all_have_as_many_neighbours(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples/plugins/modern-baselines"))
    import compare_walks

    ring = [(u, (u + step) % 40) for u in range(40) for step in (1, 2, 3)]
    links = np.array([*ring, (40, 41), (41, 42)])
    whole = link_pages(links[:, 0], links[:, 1], 43)
    graph, on = compare_walks.undirect(whole, np.arange(43) % 4 == 0)
    assert (graph.size, graph.links, int(on.sum())) == (40, 240, 10)
    assert set(np.diff(graph.indptr).tolist()) == {6}
    assert int(compare_walks.collect_breadth_first(graph).sum()) == 12  # HELD of them
    found = compare_walks.compare(graph, on, runs=3, budget=30)
    one, other = found.values()
    for measure in (*compare_walks.MEASURES, "draws"):  # every neighbour that is drawn is accepted
        assert [row[measure] for row in one] == pytest.approx([row[measure] for row in other])
    assert len({row["share on topic"] for row in one}) > 1
    assert [row["mean number of neighbours"] for row in one] == pytest.approx([0.0] * 3)
    assert {row["unvisited"] for row in one} <= {0.0, 1 / 30, 2 / 30, 3 / 30, 4 / 30}  # where a walk goes next, at most


def test_a_campaign_reads_a_forum_by_the_platform_of_a_package(installed, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(installed))
    from json_forum.mock_server import serve_forum

    told = telling(tmp_path, installed)
    told("init", "tea.toml", "--platform", "forum", "--keyword", "tea")
    file = tmp_path / "tea.toml"
    with serve_forum({"ann": ["tea with @bea"], "bea": ["tea", "@cid!"], "cid": ["coffee"]}) as forum:
        text = file.read_text("utf-8").replace("https://forum.example", forum.url)
        file.write_text(text.replace("campaign.db", "tea.db"), "utf-8")
        assert "$0" in told("quote", "tea.toml")
        told("run", "tea.toml", "--yes")
    read = "select username, o.posts from outcome o join account using (node) order by username"
    assert rows(tmp_path / "tea.db", read) == [("ann", 1), ("bea", 2), ("cid", 1)]
    assert "forum;" in told("verify", "tea.db")
