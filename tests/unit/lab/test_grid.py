"""Grids of replays: what is computed once, what is computed again, and that it does not matter where."""

import math
import os
from dataclasses import replace

import joblib
import numpy as np
import pyarrow as pa
import pytest
from joblib import parallel_config
from lab_graphs import known, random_world, saved
from pyarrow import parquet

from socialcrawl import __version__
from socialcrawl.errors import SettingsError, SocialcrawlError
from socialcrawl.lab import grid
from socialcrawl.lab.graphs import read, write
from socialcrawl.lab.grid import ReplayJob, connect_scheduler, draw_seed_sets, read_results, replay_all
from socialcrawl.lab.simulation import ReplaySetup, simulate

SETUP = ReplaySetup("nh-ne-sum", 12)
COLUMNS = [
    *("graph", "estimator", "strategy", "q", "zeta", "refresh_rate", "objective", "seed", "switch_after", "start"),
    *("nr_d", "budget", "seed_set", "seeds", "score", "seed_score", "curve", "steps", "seconds", "peak_rss_mb"),
    *("version", "code"),
]


@pytest.fixture
def graph(tmp_path):
    write(known(random_world(40, 4, 1)), tmp_path / "G")
    return str(tmp_path / "G")


def jobs_for(graph, *setups, sets=3):
    return [ReplayJob(graph, i, (i, 10 + i), setup) for setup in setups or (SETUP,) for i in range(sets)]


def files(out):
    return sorted(path.name for path in out.iterdir())


def test_the_key_of_a_job_is_the_same_every_time_and_another_one_for_all_that_decides_the_result(graph, tmp_path):
    job = ReplayJob(graph, 0, (1, 2), SETUP)
    others = [
        replace(job, seed_set=1),
        replace(job, seeds=(2, 1)),
        *(replace(job, setup=replace(SETUP, **{name: value})) for name, value in [
            ("estimator", "nh-e-sum"), ("budget", 13), ("strategy", "proportional"), ("refresh_rate", 2),
            ("objective", "count"), ("seed", 2), ("switch_after", 5), ("start", "bfs"), ("q", 0.5), ("zeta", 0.1),
            ("nr_d", 0.9),
        ]),
    ]  # fmt: skip
    keys = [job.key, *(other.key for other in others)]
    assert len(set(keys)) == len(keys) == 14
    assert job.key == ReplayJob(graph, 0, (1, 2), ReplaySetup("nh-ne-sum", 12)).key
    assert replace(job, seeds=(np.int64(1), np.int64(2))).key == job.key
    saved(tmp_path / "same.npz", read(graph))
    here = ReplayJob(str(tmp_path / "same.npz"), 0, (1, 2), SETUP)
    before = here.key
    saved(tmp_path / "same.npz", read(graph))
    assert here.key == before  # another file of the same content
    changed = replace(read(graph), beta=read(graph).beta + 1)
    saved(tmp_path / "same.npz", changed)
    assert here.key != before


def test_a_set_of_seeds_does_not_depend_on_how_many_there_are_and_holds_valued_nodes_only():
    graph = known(random_world(200, 3, 2))
    five = draw_seed_sets(graph, 5, 7, seed=3)
    assert draw_seed_sets(graph, 2, 7, seed=3) == five[:2]
    assert len({tuple(seeds) for seeds in five}) == 5
    assert draw_seed_sets(graph, 5, 7, seed=4) != five
    for least, sets in ((0.0, five), (1.5, draw_seed_sets(graph, 5, 7, 3, least=1.5))):
        for seeds in sets:
            assert len(set(seeds)) == 7
            assert all(type(node) is int and graph.beta[node] > least for node in seeds)
    everyone = np.flatnonzero(graph.beta > 1.5)
    assert sorted(draw_seed_sets(graph, 1, len(everyone), 1, least=1.5)[0]) == everyone.tolist()
    drawn = np.bincount(np.concatenate(draw_seed_sets(graph, 3000, 5, 1)), minlength=200)[graph.beta > 0]
    share = 3000 * 5 / len(drawn)
    assert abs(drawn - share).max() < 5 * math.sqrt(share)  # each node as often as any other


@pytest.mark.parametrize(("sets", "size"), [(0, 3), (3, 0), (1, 41)])
def test_sets_of_seeds_that_cannot_be_drawn_are_refused(sets, size):
    with pytest.raises(SettingsError, match="seeds"):
        draw_seed_sets(known(random_world(40, 4, 1)), sets, size, 1)


def test_a_grid_gives_what_its_jobs_give_one_by_one_and_a_second_time_does_nothing(graph, tmp_path):
    setups = [
        SETUP,
        ReplaySetup("random", 12, seed=5),
        ReplaySetup("hybrid-max", 90, refresh_rate=7, switch_after=4, start="bfs"),
    ]
    jobs, seen = jobs_for(graph, *setups), []
    out = tmp_path / "deep" / "out"
    assert replay_all([*jobs, jobs[0]], out, n_jobs=2, watch=lambda *now: seen.append(now)) == 9
    assert seen == [(done, 9) for done in range(10)]
    assert files(out) == sorted(f"{job.key}.parquet" for job in jobs)
    table = read_results(out)
    assert table.column_names == COLUMNS
    assert table.schema.field("seeds").type == table.schema.field("steps").type == pa.list_(pa.int64())
    assert table.schema.field("curve").type == pa.list_(pa.float64())
    rows = table.to_pylist()
    order = [(row["estimator"], row["seed_set"]) for row in rows]
    assert order == [(name, i) for name in ("hybrid-max", "nh-ne-sum", "random") for i in range(3)]
    for row in rows:
        setup = next(setup for setup in setups if setup.estimator == row["estimator"])
        alone = simulate(read(graph), row["seeds"], setup)
        assert row["seeds"] == [row["seed_set"], 10 + row["seed_set"]]
        assert (row["steps"], row["curve"]) == (alone.steps.tolist(), alone.curve.tolist())
        assert (row["score"], row["seed_score"]) == (alone.curve[-1], alone.seed_score)
        assert {name: row[name] for name in vars(setup)} == vars(setup)
        assert row["seconds"] > 0 < row["peak_rss_mb"]
        assert (row["graph"], row["version"]) == (graph, __version__)
    stamps = [path.stat().st_mtime_ns for path in sorted(out.iterdir())]
    seen.clear()
    assert replay_all(jobs, out, watch=lambda *now: seen.append(now)) == 0
    assert seen == [(9, 9)]
    assert [path.stat().st_mtime_ns for path in sorted(out.iterdir())] == stamps


def test_only_what_is_missing_is_replayed_and_half_a_file_is_never_a_result(graph, tmp_path, monkeypatch):
    jobs = jobs_for(graph, sets=4)
    replay_all(jobs[:2], tmp_path / "out", n_jobs=1)
    ran = []
    monkeypatch.setattr(grid, "simulate", lambda *given: ran.append(given[1]) or simulate(*given))
    write_table = parquet.write_table

    def fails(table, file):
        file.write(b"PAR1")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parquet, "write_table", fails)
    with pytest.raises(SocialcrawlError, match="No space left"):
        replay_all(jobs, tmp_path / "out", n_jobs=1)
    assert files(tmp_path / "out") == sorted(f"{job.key}.parquet" for job in jobs[:2])
    monkeypatch.setattr(parquet, "write_table", write_table)
    ran.clear()
    assert replay_all(jobs, tmp_path / "out", n_jobs=1) == 2
    assert ran == [(2, 12), (3, 13)]
    assert read_results(tmp_path / "out").num_rows == 4


@pytest.mark.parametrize("backend", ["threading", "sequential"])
def test_other_backends_give_the_same(backend, graph, tmp_path):
    replay_all(jobs_for(graph), tmp_path / "a", n_jobs=1)
    replay_all(jobs_for(graph), tmp_path / "b", n_jobs=2, backend=backend)
    chosen = ["seed_set", "curve", "steps"]
    assert read_results(tmp_path / "a").select(chosen) == read_results(tmp_path / "b").select(chosen)


class ListsOnly(joblib._parallel_backends.ThreadingBackend):
    """As Ray's: results come as a list, when all of them are there."""

    supports_return_generator = False


def test_a_backend_that_gives_lists_only_is_asked_for_a_few_at_a_time(graph, tmp_path, monkeypatch):
    joblib.register_parallel_backend("lists-only", ListsOnly)
    ran, there = [], []
    monkeypatch.setattr(grid, "simulate", lambda *given: ran.append(1) or simulate(*given))
    out = tmp_path / "out"
    with parallel_config(backend="lists-only"):
        replay_all(jobs_for(graph, sets=19), out, n_jobs=2, watch=lambda *_: there.append((len(files(out)), len(ran))))
    assert there == [(kept, -(-kept // 8) * 8 if kept < 17 else 19) for kept in range(20)]


def test_the_ambient_backend_and_its_number_of_workers_are_used(graph, tmp_path):
    used = []

    class Counting(joblib._parallel_backends.ThreadingBackend):
        def configure(self, n_jobs=1, parallel=None, **more):
            used.append(n_jobs)
            return super().configure(n_jobs, parallel, **more)

    joblib.register_parallel_backend("counting", Counting)
    with parallel_config(backend="counting", n_jobs=3):
        replay_all(jobs_for(graph), tmp_path / "a", n_jobs=None)
        replay_all(jobs_for(graph), tmp_path / "b", n_jobs=2)
    assert used == [3, 2]
    with pytest.raises(ValueError, match="nonesuch"):
        replay_all(jobs_for(graph), tmp_path / "c", backend="nonesuch")


def test_a_worker_reads_a_graph_once_and_anew_when_its_files_have_changed(tmp_path, monkeypatch):
    paths = [str(saved(tmp_path / f"{i}.npz", known(random_world(30, 3, i)))) for i in range(2)]
    opened = []
    monkeypatch.setattr(grid, "read", lambda path: opened.append(path) or read(path))
    replay_all([job for path in paths for job in jobs_for(path)], tmp_path / "out", n_jobs=1)
    assert opened == paths
    saved(paths[1], known(random_world(50, 3, 9)))
    replay_all(jobs_for(paths[1]), tmp_path / "out", n_jobs=1)
    assert opened == [*paths, paths[1]]


@pytest.mark.parametrize("seeds", [(), (0, 0), (40,), (-1,)])
def test_a_job_that_is_not_sound_says_so_from_another_process_too(seeds, graph, tmp_path):
    with pytest.raises(SettingsError, match="seed"):
        replay_all([ReplayJob(graph, 0, seeds, SETUP)], tmp_path, n_jobs=2)


def test_a_graph_that_is_not_there_and_a_folder_that_cannot_be_made_are_named(graph, tmp_path):
    with pytest.raises(SettingsError, match=r"nowhere\.npz"):
        replay_all([ReplayJob(str(tmp_path / "nowhere.npz"), 0, (1,), SETUP)], tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="file"):
        replay_all(jobs_for(graph), tmp_path / "file")


def test_a_worker_that_is_killed_is_an_error_that_can_be_mended(graph, tmp_path, monkeypatch):
    monkeypatch.setattr(grid, "_replay", killed)
    with pytest.raises(SocialcrawlError, match="run the same command again to resume"):
        replay_all(jobs_for(graph), tmp_path / "out", n_jobs=2)


def killed(*call):
    os._exit(9)


def test_results_are_read_in_part_and_by_key_and_bad_ones_are_named(graph, tmp_path):
    out, jobs = tmp_path / "out", jobs_for(graph)
    replay_all(jobs, out, n_jobs=1)
    (out / "notes.parquet").write_text("not ours")
    assert read_results(out, ["score"]).column_names == [*grid.read_results(out, []).column_names, "score"]
    some = read_results(out, keys=[jobs[2].key, jobs[0].key])
    assert some["seed_set"].to_pylist() == [0, 2]
    (out / f"{jobs[1].key}.parquet").write_bytes(b"PAR1")
    with pytest.raises(SettingsError, match=jobs[1].key):
        read_results(out)
    forged = parquet.read_table(out / f"{jobs[0].key}.parquet")
    forged = forged.set_column(forged.schema.get_field_index("score"), "score", pa.array([["no", "number"]]))
    parquet.write_table(forged, out / f"{jobs[1].key}.parquet")
    with pytest.raises(SettingsError, match=jobs[1].key):
        read_results(out)
    with pytest.raises(SettingsError, match="no folder"):
        read_results(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    assert read_results(tmp_path / "empty").column_names == COLUMNS


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=True, dashboard_address="127.0.0.1:0", host="127.0.0.1"
    ) as made:
        yield made


def test_a_dask_cluster_that_is_there_serves_by_its_address_and_by_an_ambient_client(cluster, graph, tmp_path):
    from distributed import Client

    seen = []
    with connect_scheduler(cluster.scheduler_address):
        assert replay_all(jobs_for(graph), tmp_path / "a", watch=lambda *now: seen.append(now)) == 3
    assert seen == [(done, 3) for done in range(4)]
    with Client(cluster) as client, parallel_config(backend="dask"):
        before = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)
        assert replay_all(jobs_for(graph, sets=2), tmp_path / "b", n_jobs=None) == 2
        assert client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter) > before
    replay_all(jobs_for(graph), tmp_path / "c", n_jobs=1)
    chosen = ["seed_set", "curve", "steps"]
    here = read_results(tmp_path / "c").select(chosen)
    assert read_results(tmp_path / "a").select(chosen) == here
    assert read_results(tmp_path / "b").select(chosen) == here.slice(0, 2)


def test_the_command_line_takes_the_address_of_a_scheduler(cluster, graph, tmp_path):
    from commands import socialcrawl

    words = ("simulate", "--graph", graph, "--seed-sets", 2, "--seed-size", 2, "--estimator", "bfs", "--steps", 5)
    child = socialcrawl(*words, "--scheduler", cluster.scheduler_address, folder=tmp_path)
    assert child.returncode == 0, child.stderr
    assert read_results(tmp_path / "simulation").num_rows == 2


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense", "foo://there:1"])
def test_a_scheduler_that_is_not_there_is_named(address):
    pytest.importorskip("distributed")
    with pytest.raises(SettingsError, match="No Dask scheduler"), connect_scheduler(address):
        pass
