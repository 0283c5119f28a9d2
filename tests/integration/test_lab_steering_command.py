"""`socialcrawl lab steering` from end to end: the numbers of its files, what is replayed again, and what is refused."""

import json
import shlex

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from commands import socialcrawl
from html_pages import check_page
from lab_graphs import known, random_world, saved

from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.lab import grid
from socialcrawl.lab.experiments.runner import ExperimentRun
from socialcrawl.lab.experiments.steering.runs import SteeringOptions, compare_estimators
from socialcrawl.lab.graphs import read
from socialcrawl.lab.grid import draw_seed_sets
from socialcrawl.lab.results import compute_digest
from socialcrawl.lab.simulation import ReplaySetup, simulate

NAMES = ["bfs", "nh-ne-sum", "own:MostLinks", "hybrid-sum"]
OWN = "class MostLinks:\n    def score(self, graph, rows, n):\n        return graph.columns(('links',), rows)[0]\n"


@pytest.fixture
def folder(tmp_path):
    """A folder with two graphs of different sizes and a class of one's own."""
    (tmp_path / "graphs").mkdir()
    for name, size in (("small", 60), ("large", 150)):
        saved(tmp_path / "graphs" / f"{name}.npz", known(random_world(size, 4, 1)))
    (tmp_path / "own.py").write_text(OWN, "utf-8")
    return tmp_path


def options(folder, *names, **more):
    return SteeringOptions([folder / "graphs/large.npz", folder / "graphs/small.npz"], names or ["bfs"], **more)


def run(folder, asked, sets=2):
    """What is replayed by one run of the command, in this process."""
    done = []

    def count(graph, seeds, setup):
        done.append((graph.size, setup.estimator))
        return simulate(graph, seeds, setup)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grid, "simulate", count)
        compare_estimators(asked, ExperimentRun(folder / "out", 1, 1, sets))
    return done


def test_the_command_compares_estimators_also_ones_own_and_its_files_have_the_numbers_of_the_replays(folder):
    words = [word for name in NAMES[:3] for word in ("--estimator", name)]
    given = ("--graphs", "graphs", *words, "--seed-sets", 2, "--seed", 3, "--jobs", 2, "--switch-after", 20)
    made = socialcrawl("lab", "steering", *given, folder=folder)
    assert made.returncode == 0, made.stderr
    out = folder / "steering"
    found = json.loads((out / "leaderboard.json").read_text("utf-8"))
    assert (found["seed"], found["seed_sets"], found["baseline"]) == (3, 2, "hybrid-sum")
    assert found["references"] == ["bfs", "nh-ne-sum", "hybrid-sum"]
    means = {}
    for facts in found["graphs"]:
        path = folder / "graphs" / f"{facts['graph']}.npz"
        graph = read(path)
        positive = int((graph.beta > 0).sum())
        assert (facts["positive"], facts["seeds"], facts["steps"]) == (positive, min(30, positive // 4), 200)
        assert (facts["nodes"], facts["links"]) == (graph.size, graph.links)
        assert facts["sha256"] == compute_digest(str(path))
        sets = draw_seed_sets(graph, 2, facts["seeds"], 3)
        for name in ("bfs", "nh-ne-sum", "hybrid-sum"):
            setups = [ReplaySetup(name, 200, seed=3 + place, switch_after=20) for place in range(2)]
            curves = [simulate(graph, seeds, setup).curve for seeds, setup in zip(sets, setups, strict=True)]
            values = {
                "area": np.mean(curves),
                "end": np.mean(curves, axis=0)[-1],
                "first": np.mean(curves, axis=0)[:100],
            }
            means |= {(facts["graph"], name, measure): np.mean(value) for measure, value in values.items()}
    graphs = pyarrow.csv.read_csv(out / "leaderboard-graphs.csv").to_pylist()
    assert len(graphs) == 2 * 4 * 3
    for row in graphs:
        key = row["graph"], row["estimator"], row["measure"]
        best = max(value for (graph, _, measure), value in means.items() if (graph, measure) == (key[0], key[2]))
        if row["estimator"] in found["references"]:
            assert row["mean"] == pytest.approx(means[key])
        assert row["share"] == pytest.approx(row["mean"] / best)
    rows = pyarrow.csv.read_csv(out / "leaderboard.csv").to_pylist()
    for row in rows:
        own = [one["share"] for one in graphs if all(one[by] == row[by] for by in ("estimator", "measure"))]
        assert (row["share"], row["share_least"]) == pytest.approx((np.mean(own), min(own)))
    assert pq.read_table(out / "leaderboard.parquet").num_rows == 2 * 4 * 2
    (mine,) = [one for one in found["estimators"] if one["estimator"] == "own:MostLinks"]
    assert (mine["added"], mine["reference"]) == (True, False)
    check_page((out / "leaderboard.html").read_text("utf-8"))
    for name in NAMES:
        assert [line for line in made.stdout.splitlines() if line.split()[0] == name]
    assert "Fewer than 5 graphs" in made.stdout
    _, *command = shlex.split(found["command"])
    again = socialcrawl(*command, "--out", "again", folder=folder)
    assert again.returncode == 0, again.stderr
    repeated = json.loads((folder / "again/leaderboard.json").read_text("utf-8"))
    assert {**repeated, "made": ""} == {**found, "made": ""}


def test_a_stopped_comparison_goes_on_and_replays_nothing_twice(folder, capsys):
    asked, written = options(folder, *NAMES[:2]), []

    def write_three(path, job, replay):
        if len(written) == 3:
            raise KeyboardInterrupt
        written.append(path)
        keep(path, job, replay)

    keep = grid.write
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grid, "write", write_three)
        with pytest.raises(KeyboardInterrupt):
            run(folder, asked)
    assert not (folder / "out/leaderboard.html").exists()
    assert len(run(folder, asked)) == 2 * 3 * 2 - 3
    first = json.loads((folder / "out/leaderboard.json").read_text("utf-8"))
    assert run(folder, asked) == []
    again = json.loads((folder / "out/leaderboard.json").read_text("utf-8"))
    assert {**again, "made": ""} == {**first, "made": ""}
    assert {name for _, name in run(folder, options(folder, *NAMES[:2], "nh-e-sum"))} == {"nh-e-sum"}
    assert "wrote" in capsys.readouterr().out


def refused(folder, *graphs, **more):
    """Why a comparison of these graphs is refused; nothing is replayed."""
    paths = []
    for number, graph in enumerate(graphs):
        paths.append(saved(folder / f"{number}.npz", graph))
    with pytest.raises(SettingsError) as error:
        run(folder, SteeringOptions(paths, ["bfs"], **more))
    assert not list((folder / "out").rglob("*.parquet"))
    return str(error.value)


def test_graphs_on_which_there_is_nothing_to_compare_are_refused_before_anything_is_replayed(folder):
    usual = known(random_world(60, 4, 1))
    nobody = KnownGraph(np.array([0]), np.empty(0, np.int64), np.empty(0), np.empty(0))
    apart = KnownGraph(np.zeros(9, np.int64), np.empty(0, np.int64), np.empty(0), np.ones(8))
    poor = KnownGraph(usual.indptr, usual.indices, usual.alpha, np.where(np.arange(60) < 3, 1.0, 0.0))
    assert "The graph has no nodes" in refused(folder, usual, nobody)
    assert "the seeds link to nobody else" in refused(folder, usual, apart)
    assert "1.npz has 3 nodes with a value above 0, too few" in refused(folder, usual, poor)
    assert "fewer than the 99 seeds" in refused(folder, usual, seed_size=99)
    assert "0 and 1 are the same graph" in refused(folder, usual, usual)


def test_a_page_that_is_not_ours_is_not_overwritten(folder):
    (folder / "out").mkdir()
    (folder / "out/leaderboard.html").write_text("mine", "utf-8")
    with pytest.raises(StoreError, match="is no report of socialcrawl"):
        run(folder, options(folder))
    assert (folder / "out/leaderboard.html").read_text("utf-8") == "mine"
    assert not list((folder / "out").rglob("*.parquet")), "before anything is replayed"
