"""The laboratory of LiveRank: orders of the crawl and taken straight, cost curves, commands and their figures."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pyarrow import csv, parquet
from scipy import stats
from typer.testing import CliRunner

from socialcrawl.crawls.refresh.liveranks import DYNAMIC, RANKS, STATIC, LiveRanks
from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments import figures, runner
from socialcrawl.lab.experiments.liverank import cost_curves, follower_graphs, runs, weblike, world_options
from socialcrawl.lab.experiments.liverank.commands import COMMANDS, liverank_app
from socialcrawl.lab.experiments.liverank.dated import SnapshotCut
from socialcrawl.lab.experiments.liverank.probe_orders import (
    FRAMES,
    LETTERS,
    ProbeTerms,
    Way,
    compute_pagerank,
    find_probe_order,
    probe_by_crawl,
    probe_in_order,
)
from socialcrawl.lab.experiments.liverank.weblike import DeathModel, plant_death
from socialcrawl.lab.experiments.liverank.world_options import KINDS, DatasetOptions

TINY = ["--nodes", "400", "--z", "20", "--runs", "2", "--jobs", "1"]
KINDS_IN_ORDER = ["table1", *(f"fig{n}" for n in range(1, 12)), "dpr"]


@pytest.fixture(scope="module")
def world():
    web = weblike.generate_web(weblike.WebParameters(pages=400, degree=6, a_site=20, seed=2))
    return plant_death("w", web, DeathModel(0.2))


@pytest.fixture
def undrawn(monkeypatch):
    """Figures are not drawn: that is most of the time a small command takes."""
    monkeypatch.setattr(runner, "draw", lambda *_, **__: [])


def done(*words):
    """What a command says."""
    run = CliRunner().invoke(liverank_app, [str(word) for word in words], catch_exceptions=False)
    assert run.exit_code == 0
    return run.stdout


def out_of(world, node):
    return world.indices[world.indptr[node] : world.indptr[node + 1]].tolist()


# --- orders


@pytest.mark.parametrize("rank", [rank for rank in RANKS if rank not in DYNAMIC])
@pytest.mark.parametrize("training", ["random", "indegree", "pagerank"])
@pytest.mark.parametrize("neighbours", [True, False])
def test_an_order_taken_straight_is_that_of_the_crawl(world, rank, training, neighbours):
    way, terms = Way(rank, training, neighbours), ProbeTerms(30, 5)
    order = find_probe_order(world, way, terms)
    assert sorted(order.tolist()) == list(range(400))
    assert order.tolist() == probe_by_crawl(world, way, terms).tolist()
    if rank not in STATIC:
        assert (
            order[:30].tolist()
            == LiveRanks(world.make_old_dataset(), 5).choose_training(training, 30, neighbours=neighbours).tolist()
        )


def test_breadth_first_follows_active_nodes_in_the_order_in_which_they_were_found(world):
    order = find_probe_order(world, Way("bfs", "pagerank"), ProbeTerms(10, 1)).tolist()
    by_rank = probe_in_order(world, Way("pagerank"), ProbeTerms(0, 1)).tolist()
    queue, seen, tested = by_rank[:10], set(by_rank[:10]), []
    while len(tested) < 400:
        node = queue.pop(0) if queue else next(node for node in by_rank if node not in seen)
        seen.add(node)
        tested.append(node)
        if world.active[node]:
            new = [v for v in out_of(world, node) if v not in seen]
            seen.update(new)
            queue += new
    # The training set is tested before what it leads to is queued; that is what a queue does anyway.
    assert order == tested


@pytest.mark.parametrize("batch", [1, 7])
def test_active_indegree_takes_whom_most_active_nodes_link_to_as_known_before_the_batch(world, batch):
    order = find_probe_order(world, Way("ai", "pagerank"), ProbeTerms(10, 1, batch)).tolist()
    by_rank = probe_in_order(world, Way("pagerank"), ProbeTerms(0, 1)).tolist()
    place = {node: i for i, node in enumerate(by_rank)}
    tested = by_rank[:10]
    while len(tested) < 400:
        score = dict.fromkeys(range(400), 0)
        for node in tested:
            for v in out_of(world, node) if world.active[node] else ():
                score[v] += 1
        left = sorted(set(range(400)) - set(tested), key=lambda v: (-score[v], place[v]))
        tested += left[:batch]
    assert order == tested


def test_dynamic_pagerank_tests_everybody_once(world):
    order = find_probe_order(world, Way("dpr", "random"), ProbeTerms(30, 1, 10)).tolist()
    assert sorted(order) == list(range(400))
    assert order[:30] == LiveRanks(world.make_old_dataset(), 1).choose_training("random", 30).tolist()


def test_pagerank_is_that_of_the_equation(world):
    walk = np.zeros((400, 400))
    for node in range(400):
        for v in out_of(world, node):
            walk[node, v] = 1 / len(out_of(world, node))
    exact = np.linalg.solve(np.eye(400) - 0.85 * walk.T, np.full(400, 0.15 / 400))
    assert compute_pagerank(world) == pytest.approx(exact, rel=1e-5)


# --- curves


def test_a_cost_curve_is_the_definitions(world):
    order = probe_in_order(world, Way("pa", "random"), ProbeTerms(30, 5))
    found = np.cumsum(world.active[order])
    least = [np.flatnonzero(found >= alpha * world.alive - 1e-9)[0] + 1 for alpha in cost_curves.ALPHAS]
    table = cost_curves.compute_curve(world, "f", Way("pa", "random"), ProbeTerms(30, 5))
    assert table["cost"] == pytest.approx(np.array(least) / (cost_curves.ALPHAS * world.alive))
    assert {key: set(table[key].tolist()) for key in ("graph", "frame", "way", "seed", "z")} == {
        "graph": {"w"},
        "frame": {"f"},
        "way": {"Pa"},
        "seed": {5},
        "z": {30},
    }


def test_only_what_draws_decide_is_crawled_more_than_once(world):
    frame = FRAMES["fig4"][0]
    assert [job.given[2].rank for job in cost_curves.list_jobs(world, frame, [1, 2], 20, 1)] == [
        *("random", "random"),
        *("indegree", "pagerank", "pa", "pa+-"),
    ]
    assert all(Way(rank, "random").is_random() == (rank not in ("indegree", "pagerank")) for rank in RANKS)
    assert [rank for rank in RANKS if Way(rank, "pagerank").is_random()] == ["random", "asf"]


def test_a_curve_has_a_name_of_its_own_whatever_of_it_is_another(world):
    frame = FRAMES["fig6"][0]
    dead = np.zeros(400, bool)
    dead[0] = True
    worlds = [world, replace(world, name="v"), replace(world, active=dead), replace(world, sites=world.sites + 1)]
    keys = [job.key for one in worlds for job in cost_curves.list_jobs(one, frame, [1, 2], 20, 1)]
    keys += [
        job.key for z, batch in ((21, 1), (20, 2)) for job in cost_curves.list_jobs(world, frame, [1, 2], z, batch)
    ]
    keys += [job.key for job in cost_curves.list_jobs(world, replace(frame, title="other"), [1, 2], 20, 1)]
    assert len(set(keys)) == len(keys)


def test_means_are_read_at_some_alphas_with_their_usual_errors(world):
    parts = [cost_curves.compute_curve(world, "f", Way("random"), ProbeTerms(0, seed)) for seed in (1, 2, 3)]
    means = cost_curves.summarize_curves({key: np.concatenate([part[key] for part in parts]) for key in parts[0]})
    at = means["alpha"].tolist().index(0.4)
    own = [part["cost"][39] for part in parts]
    assert means["cost"][at] == pytest.approx(np.mean(own))
    assert means["cost_error"][at] == pytest.approx(stats.sem(own))
    assert means["cost"][-1] == pytest.approx(400 / 80, abs=0.3)


# --- what each figure compares


def test_every_figure_of_the_paper_is_a_command_about_the_right_kind_of_world():
    assert set(COMMANDS) == {*KINDS, "all"}
    assert set(KINDS) == set(runs.TITLES) == set(KINDS_IN_ORDER)
    assert {name for name, kind in KINDS.items() if kind == "twitter-like"} == {f"fig{n}" for n in (1, 3, 9, 10, 11)}
    assert set(FRAMES) == {*(f"fig{n}" for n in range(4, 12)), "dpr"}
    assert set(LETTERS) == set(RANKS)


@pytest.mark.parametrize("name", FRAMES)
def test_curves_of_a_frame_have_names_of_their_own(name):
    for frame in FRAMES[name]:
        labels = [way.label(frame.count_training(20_000, way)) for way in frame.ways]
        assert len(set(labels)) == len(labels)
        assert all(way.rank in RANKS for way in frame.ways)


def test_training_sets_are_the_papers_shares_of_all_but_never_next_to_nothing():
    sizes = {
        name: [frame.count_training(41_652_230, way) for way in frame.ways] for name, (frame, *_) in FRAMES.items()
    }
    assert sizes["fig9"][-1] == pytest.approx(100_000, rel=0.01)
    assert sizes["fig10"] == pytest.approx([200_000, 400_000, 700_000, 1_000_000], rel=0.01)
    assert FRAMES["fig4"][0].count_training(18_520_486, Way("pa")) == pytest.approx(100_000, rel=0.01)
    assert FRAMES["fig7"][0].count_training(31_316_403, Way("pa")) == pytest.approx(200_000, rel=0.01)
    assert max(FRAMES["fig5"][0].count_training(18_520_486, way) for way in FRAMES["fig5"][0].ways) == pytest.approx(
        500_000, rel=0.01
    )
    assert FRAMES["fig4"][0].count_training(5_000, Way("pa")) == 100
    assert FRAMES["fig4"][0].count_training(50, Way("pa")) == 50
    assert FRAMES["fig4"][0].count_training(5_000, Way("pa", times=2), 30) == 60


# --- commands


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("name", ["fig4", "fig6", "fig9"])
def test_a_command_leaves_its_data_and_says_what_it_found(tmp_path, name):
    said = done(name, *TINY, "--batch", 20, "--out", tmp_path)
    kind = KINDS[name]
    assert f"{kind}: 400 nodes" in said
    means = csv.read_csv(tmp_path / f"{name}.csv").to_pydict()
    wanted = [(frame.title, way.label(20)) for frame in FRAMES[name] for way in frame.ways]
    rows = list(dict.fromkeys(zip(means["frame"], means["way"], strict=True)))
    assert rows == wanted
    found = parquet.read_table(tmp_path / f"{name}.parquet").to_pydict()
    assert min(found["cost"]) >= 1
    shown = re.search(rf"^  {re.escape(wanted[-1][1])} +([\d.]+)", said, re.MULTILINE)[1]
    at = len(means["way"]) - len(cost_curves.READ) + cost_curves.READ.index(0.1)
    assert float(shown) == pytest.approx(means["cost"][at], abs=0.005)


def test_a_figure_of_costs_shows_them_from_the_ideal_one_up(tmp_path, monkeypatch):
    saved = []
    save = figures._save
    monkeypatch.setattr(figures, "_save", lambda figure, path, kind: saved.append(figure) or save(figure, path, kind))
    done("fig8", *TINY, "--runs", 1, "--out", tmp_path)
    assert (tmp_path / "fig8.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "fig8.svg").exists()
    found = parquet.read_table(tmp_path / "fig8.parquet").to_pydict()
    ideal, *lines = saved[-1].axes[0].lines
    assert set(ideal.get_ydata()) == {1.0}
    assert [line.get_label() for line in lines] == ["R", "Pa+/\N{MINUS SIGN}", "ASF"]
    assert np.concatenate([line.get_ydata() for line in lines]) == pytest.approx(found["cost"])
    assert saved[-1].axes[0].get_xlim() == (0, 1)


@pytest.mark.usefixtures("undrawn")
def test_a_command_that_was_stopped_goes_on(tmp_path, monkeypatch):
    done("fig8", *TINY, "--out", tmp_path)
    monkeypatch.setattr(cost_curves, "find_probe_order", None)
    done("fig8", *TINY, "--out", tmp_path)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("name", ["table1", "fig1"])
def test_shares_are_told_and_drawn(tmp_path, name):
    said = done(name, *TINY, "--out", tmp_path)
    rows = csv.read_csv(tmp_path / f"{name}.csv").to_pydict()
    last = {"table1": "really there (200)", "fig1": "active"}[name]
    alive = round(400 * {"table1": 0.0629, "fig1": 0.1753}[name])
    assert dict(zip(rows["status"], rows["nodes"], strict=True))[last] == alive
    assert re.search(rf"{re.escape(last)} +{alive} +{alive / 400:.2%}", said)
    assert (tmp_path / "fig1-twitter-like-ages.csv").exists() == (name == "fig1")


@pytest.mark.parametrize("name", ["fig2", "fig3"])
def test_distributions_begin_where_the_smallest_value_is(tmp_path, monkeypatch, name):
    saved = []
    monkeypatch.setattr(figures, "_save", lambda figure, path, _kind: saved.append(figure) or path)
    said = done(name, *TINY, "--out", tmp_path)
    frames = saved[-1].axes
    rows = csv.read_csv(tmp_path / f"{name}.csv").to_pydict()
    for axes, measure in zip(frames, ("in-degree", "PageRank times n"), strict=True):
        own = [x for x, what in zip(rows["x"], rows["measure"], strict=True) if what == measure]
        assert axes.get_xlim()[0] == pytest.approx(min(own))
        assert axes.get_xlim()[1] >= max(own)
    assert len(re.findall(r"an active node has more than another one with chance 0\.\d", said)) == 2
    assert re.search(r"links of active nodes lead to active ones with chance 0\.\d{3}, those of others 0\.\d{3}", said)


@pytest.mark.usefixtures("undrawn")
def test_files_and_webs_are_worlds_of_any_command(tmp_path):
    rng = np.random.default_rng(1)
    lines = [f"{a},{b},{t}" for a, b, t in zip(*rng.integers(0, 50, (2, 900)), np.sort(rng.random(900)), strict=True)]
    (tmp_path / "acts.csv").write_text("a,b,ts\n" + "\n".join(lines))
    made = weblike.generate_web(weblike.WebParameters(pages=300, degree=4, a_site=30))
    np.savez(tmp_path / "net.npz", offsets=made.indptr, targets=made.indices)
    files = ["--file", tmp_path / "acts.csv", "--recent", 1e-6, "--web", tmp_path / "net.npz", "--alive", 0.5]
    said = done("fig9", *files, "--z", 10, "--jobs", 1, "--out", tmp_path)
    assert re.search(r"^acts: \d+ nodes", said, re.MULTILINE)
    assert re.search(
        r"^net: 300 nodes, [\d,]+ links in the old snapshot; 150 active \(50.00%\), n/n_a = 2.00", said, re.MULTILINE
    )
    with pytest.raises(SettingsError, match="two worlds are called acts"):
        done("fig9", "--file", tmp_path / "acts.csv", "--web", tmp_path / "acts.npz", "--out", tmp_path)


def test_active_sites_first_needs_sites(tmp_path, monkeypatch):
    (tmp_path / "acts.csv").write_text("a,b,ts\nx,y,0\nx,z,9")
    given = ["--file", tmp_path / "acts.csv", "--recent", 1e-6, "--out", tmp_path]
    with pytest.raises(SettingsError, match=r"acts has no sites.*remove --file"):
        done("fig8", *given)
    run = []
    for name in ("_run_costs", "_run_distributions", "_run_statuses"):
        monkeypatch.setattr(runs, name, lambda one, *_: run.append(one))
    assert "fig8 is left out: acts has no sites" in done("all", *given)
    assert run == [name for name in KINDS_IN_ORDER if name != "fig8"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--jobs", 0, "--nodes", 100], "--jobs 0: give 1 or more"),
        (["--alive", 2], "--alive 2: give the share"),
        (["--nodes", 3], "a generated web has at least 10 pages"),
        (["--snapshot", 1.5], "--snapshot 1.5"),
        (["--file", "missing.parquet"], "missing.parquet"),
    ],
)
def test_options_that_cannot_be_are_refused(tmp_path, words, said):
    with pytest.raises(SettingsError, match=re.escape(said)):
        done("fig4", *words, "--out", tmp_path)


@pytest.fixture
def asked(monkeypatch):
    """What a command hands on, for words."""
    given = []
    monkeypatch.setattr(runs, "run_experiment", lambda *some: given.append(some))
    return lambda *words: (done(*words), given[-1])[1]


@pytest.mark.parametrize("name", COMMANDS)
def test_without_options_all_is_as_the_page_has_it(asked, name):
    title, wanted, options, run = asked(name)
    assert title == name
    planted = {"spread": 1.0, "by_site": 1.5, "resist": 0.4, "seed": 1}
    assert wanted == DatasetOptions(
        (), (), SnapshotCut(0.5, 182.0, 1.0, actors=False), 200_000, None, None, 1.0, planted
    )
    assert options == runs.ProbeOptions(z=None, batch=100)
    assert run == runner.ExperimentRun(Path("liverank"), processes=-1, seed=1, repeats=3)
    assert planted == {key: getattr(DeathModel(), key) for key in planted}
    assert (
        weblike.WebParameters().pages,
        follower_graphs.FollowerParameters().accounts,
        follower_graphs.FollowerParameters().bond,
    ) == (
        200_000,
        200_000,
        1.0,
    )


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["--snapshot", 0.25], ("cut", SnapshotCut(0.25))),
        (["--present", 0.75], ("cut", SnapshotCut(present=0.75))),
        (["--recent", 30], ("cut", SnapshotCut(recent=30))),
        (["--actors"], ("cut", SnapshotCut(actors=True))),
        (["--nodes", 77], ("nodes", 77)),
        (["--degree", 3], ("degree", 3.0)),
        (["--alive", 0.5], ("alive", 0.5)),
        (["--bond", 2], ("bond", 2.0)),
        (["--spread", 3], ("planted", {"spread": 3.0, "by_site": 1.5, "resist": 0.4, "seed": 1})),
        (["--by-site", 3], ("planted", {"spread": 1.0, "by_site": 3.0, "resist": 0.4, "seed": 1})),
        (["--resist", 3], ("planted", {"spread": 1.0, "by_site": 1.5, "resist": 3.0, "seed": 1})),
        (["--world-seed", 3], ("planted", {"spread": 1.0, "by_site": 1.5, "resist": 0.4, "seed": 3})),
    ],
)
def test_every_option_of_a_world_is_heard(asked, words, meant):
    usual, given = asked("fig4")[1], asked("fig4", *words)[1]
    assert given == replace(usual, **dict([meant]))
    assert given != usual


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["--z", 7], ("z", 7)),
        (["--batch", 7], ("batch", 7)),
        (["--runs", 2], ("seeds", range(1, 3))),
        (["--seed", 5], ("seeds", range(5, 8))),
        (["--jobs", 2], ("processes", 2)),
    ],
)
def test_every_option_of_a_crawl_is_heard(asked, words, meant):
    def read(*words):
        *_, options, run = asked("fig4", *words)
        return {"z": options.z, "batch": options.batch, "seeds": run.seeds, "processes": run.processes}

    assert read(*words) == read() | dict([meant]) != read()


def test_worlds_are_as_dead_as_those_of_the_paper():
    wanted = DatasetOptions((), (), SnapshotCut(), 500, None, None, 1.0, {"seed": 1})
    for kind, alive in (("web-like", 0.0629), ("web-like, a year", 0.3556), ("twitter-like", 0.1753)):
        (world,) = wanted.iterate_worlds(kind)
        assert (world.name, world.alive) == (kind, round(500 * alive))
    assert world_options.ALIVE == {"web-like": 0.0629, "web-like, a year": 0.3556, "twitter-like": 0.1753}
    assert next(replace(wanted, alive=0.5).iterate_worlds("web-like")).alive == 250


def test_all_runs_every_experiment(tmp_path, monkeypatch):
    run = []
    for name in ("_run_costs", "_run_distributions", "_run_statuses"):
        monkeypatch.setattr(runs, name, lambda one, *_: run.append(one))
    done("all", *TINY, "--out", tmp_path)
    assert run == KINDS_IN_ORDER


def test_the_commands_of_the_page_are_commands(asked):
    page = (Path(__file__).parents[4] / "docs/explanation/liverank.md").read_text("utf-8")
    code = "".join(re.findall(r"```sh\n(.*?)```", page, re.DOTALL))
    lines = [line.partition("#")[0].split() for line in code.replace("\\\n", " ").splitlines()]
    assert len(lines) >= 5
    for line in filter(None, lines):
        assert line[:3] == ["socialcrawl", "lab", "liverank"]
        assert asked(*line[3:])[0] == line[3]
    named = set(re.findall(r"`(--[a-z-]+)", page))
    assert named <= set(re.findall(r"--[a-z-]+", done("fig4", "--help")))


def test_each_run_can_have_its_own_generated_world(tmp_path):
    words = ["fig4", "--nodes", 600, "--jobs", 1]
    each = done(*words, "--runs", 2, "--graph-per-run", "--out", tmp_path / "each")
    assert each.count("600 nodes") == 2
    done(*words, "--runs", 1, "--seed", 2, "--world-seed", 2, "--out", tmp_path / "second")
    found, second = (parquet.read_table(tmp_path / name / "fig4.parquet").to_pylist() for name in ("each", "second"))
    assert [row for row in found if row["seed"] == 2] == second
    ways = {row["way"] for row in second}
    assert {(row["way"], row["seed"]) for row in found} == {(way, seed) for way in ways for seed in (1, 2)}
    with pytest.raises(SettingsError, match="leave out --file and --web"):
        done(*words, "--graph-per-run", "--web", tmp_path / "web.npz", "--out", tmp_path)
