"""The laboratory on a Dask cluster: the same results as here, also where workers die, come late, or share a graph."""

import csv
import os
import signal
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from commands import socialcrawl
from lab_graphs import known, random_world

from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.lab.graphs import read, write
from socialcrawl.lab.grid import ReplayJob, connect_scheduler, draw_seed_sets, read_results, replay_all
from socialcrawl.lab.simulation import ReplaySetup

distributed = pytest.importorskip("distributed")

COMPARED = ["seed_set", "curve", "steps"]
EXPERIMENTS = {  # one of each way in which experiments crawl
    "gouriten fig3": "--topic jazz --users 800 --links 4000 --seed-sets 2 --seed-size 5 --steps 10 --variant bfs",
    "kumar fig1a": "--nodes 500 --links 3000 --k 20 --steps 60 --runs 2",
}


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", host="127.0.0.1"
    ) as made:
        yield made


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graphs") / "G"
    write(known(random_world(400, 4, 1)), folder)
    return str(folder)


def jobs_for(graph, sets=4, steps=60):
    drawn = draw_seed_sets(read(graph), sets, 3, 5)
    return [ReplayJob(graph, i, tuple(seeds), ReplaySetup("nh-ne-sum", budget=steps)) for i, seeds in enumerate(drawn)]


def count_finished_tasks(cluster):
    """How many tasks the scheduler has seen done in all its life."""
    with distributed.Client(cluster) as client:
        return client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)


def numbers_of(folder):
    """The rows of all tables that an experiment wrote, without how long it took."""
    tables = {}
    for file in sorted(folder.glob("*.csv")):
        with file.open(newline="") as rows:
            tables[file.name] = [
                {name: value for name, value in row.items() if "seconds" not in name} for row in csv.DictReader(rows)
            ]
    return tables


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_an_experiment_on_a_cluster_has_the_numbers_that_it_has_here(experiment, cluster, tmp_path):
    given = (*experiment.split(), *EXPERIMENTS[experiment].split(), "--out")
    before = count_finished_tasks(cluster)
    there = socialcrawl("lab", "--scheduler", cluster.scheduler_address, *given, "there", folder=tmp_path)
    assert there.returncode == 0, there.stderr
    assert count_finished_tasks(cluster) > before
    here = socialcrawl("lab", *given, "here", "--jobs", 1, folder=tmp_path)
    assert here.returncode == 0, here.stderr
    assert numbers_of(tmp_path / "here")
    assert numbers_of(tmp_path / "there") == numbers_of(tmp_path / "here")


def test_replays_of_a_worker_that_is_killed_are_made_by_another(graph, tmp_path):
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", host="127.0.0.1"
    ) as cluster:
        killed = []

        def kill_one_after_the_second(done, _):
            if done == 2:
                child = cluster.workers[0].pid
                os.kill(child, signal.SIGKILL)
                killed.append(child)

        with connect_scheduler(cluster.scheduler_address):
            assert replay_all(jobs_for(graph, 12), tmp_path / "a", watch=kill_one_after_the_second) == 12
        assert len(killed) == 1
    replay_all(jobs_for(graph, 12), tmp_path / "b", n_jobs=1)
    assert read_results(tmp_path / "a").select(COMPARED) == read_results(tmp_path / "b").select(COMPARED)


def test_a_cluster_without_workers_begins_when_the_first_comes(graph, tmp_path):
    with ExitStack() as opened:
        cluster = opened.enter_context(
            distributed.LocalCluster(n_workers=0, processes=True, dashboard_address="127.0.0.1:0", host="127.0.0.1")
        )
        cluster.adapt(minimum=0, maximum=2, interval="100ms")
        opened.enter_context(connect_scheduler(cluster.scheduler_address))
        assert replay_all(jobs_for(graph), tmp_path) == 4
    assert read_results(tmp_path).num_rows == 4


def read_memory(worker, name):
    """Bytes of the process of a worker, as Linux counts them."""
    rows = Path(f"/proc/{worker}/smaps_rollup").read_text("ascii").splitlines()
    return next(int(row.split()[1]) * 1024 for row in rows if row.startswith(f"{name}:"))


def test_workers_of_one_machine_share_one_copy_of_a_graph(cluster, tmp_path):
    nodes, degree = 200_000, 60
    links = np.random.default_rng(1).integers(0, nodes, nodes * degree).astype(np.int32)
    ones = np.ones(len(links))
    write(KnownGraph(np.arange(0, len(links) + 1, degree), links, ones, np.ones(nodes)), tmp_path / "G")
    size = sum(file.stat().st_size for file in (tmp_path / "G").iterdir())
    workers = [worker.pid for worker in cluster.workers.values()]
    before = [read_memory(worker, "Private_Dirty") for worker in workers]
    with connect_scheduler(cluster.scheduler_address):
        assert replay_all(jobs_for(str(tmp_path / "G"), 8, 200), tmp_path / "out") == 8
    more = [read_memory(worker, "Private_Dirty") - old for worker, old in zip(workers, before, strict=True)]
    assert max(more) < size / 3
