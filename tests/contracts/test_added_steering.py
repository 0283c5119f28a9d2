"""An estimator and a strategy of another package, and a class beside the user: whole campaigns with them."""

import json

import pytest
from added_packages import install_package
from commands import campaign_file, socialcrawl
from lab_graphs import known, random_world, saved
from x_crawls import posts_file, rows

from socialcrawl.mock.server import serve_in_thread

PLUGIN = """
class Late:
    def __init__(self, seed, sign=1.0):
        self.sign, self.seen = sign, 0

    def score(self, graph, rows, n):
        return rows * self.sign - self.seen

    def learn(self, x, y):
        self.seen += len(y)


class Last:
    def pick(self, frontier, size, n):
        rows, scores = frontier.list_all(n)
        return rows[::-1][:size], scores[::-1][:size]


class Fails(Late):
    def score(self, graph, rows, n):
        if n >= 3:
            raise ZeroDivisionError("no such number")
        return super().score(graph, rows, n)
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The path of child processes for which a package with estimators and a strategy is installed."""
    groups = {
        "estimators": ["late = lateness:Late", "fails = lateness:Fails"], "strategies": ["last = lateness:Last"]
    }  # fmt: skip
    return install_package(tmp_path_factory.mktemp("package"), "lateness", groups, lateness=PLUGIN)


def steered(folder, url, crawl):
    """A campaign file with these lines under [crawl]."""
    file = campaign_file(folder, url)
    file.write_text(file.read_text("utf-8").replace('estimator = "bfs"\n', crawl), "utf-8")
    return file


def telling(folder, path):
    """What runs a command in `folder` and returns what it printed."""

    def told(*words):
        child = socialcrawl(*words, folder=folder, PYTHONPATH=path)
        assert child.returncode == 0, child.stdout + child.stderr
        return " ".join((child.stdout + child.stderr).split())

    return told


def test_a_campaign_of_an_added_estimator_and_strategy_runs_reports_explains_verifies_and_exports(package, tmp_path):
    told = telling(tmp_path, package)
    crawl = (
        'estimator = "late"\nestimator_options = { sign = -1.0 }\nstrategy = "last"\n'
        'shadows = ["bfs", "lateness:Late"]\n'
    )
    with serve_in_thread(posts_file(), limit=100_000) as mock:
        file = steered(tmp_path, mock.url, crawl)
        assert "steps with late" in told("check", file)
        told("run", file, "--yes", "--steps", "3")
        told("run", file, "--yes")
    scores = [
        score for (score,) in rows(tmp_path / "mine.db", "select score from pick where act = 'expand' order by n")
    ]
    assert len(scores) == 8
    assert scores == sorted(scores, reverse=True)  # each of a newer row, and after one more lesson
    shadows = dict(rows(tmp_path / "mine.db", "select estimator, count(*) from shadow group by estimator"))
    assert shadows == {"bfs": 8, "lateness:Late": 8}
    assert "lateness:Late" in told("report", "--db", "mine.db")
    query = "select username from account join pick using (node) where act = 'expand' order by n"
    (name, *_) = [name for (name,) in rows(tmp_path / "mine.db", query)]
    assert "late is not a sum of features" in told("explain", name, "--db", "mine.db")
    assert "mine (collect, x;" in told("verify", "mine.db")
    told("export", "--out", "out", "--db", "mine.db", "--campaign", "mine")
    assert "late" in (tmp_path / "out" / "datasheet.md").read_text("utf-8")
    assert "proved" in told("verify", "out")


def test_a_class_beside_the_campaign_file_steers_and_is_named_in_its_identity(tmp_path):
    (tmp_path / "beside.py").write_text(PLUGIN, "utf-8")
    with serve_in_thread(posts_file(), limit=100_000) as mock:
        file = steered(tmp_path, mock.url, 'estimator = "beside:Late"\nstrategy = "beside:Last"\n')
        child = socialcrawl("run", file, "--yes", "--json", folder=tmp_path)
        assert child.returncode == 0, child.stdout + child.stderr
        changed = steered(tmp_path, mock.url, 'estimator = "bfs"\n')
        child = socialcrawl("run", changed, "--yes", folder=tmp_path)
    assert child.returncode == 2
    assert "beside:Late" in child.stderr


def test_an_estimator_that_raises_stops_the_run_with_a_sentence_and_all_that_was_stored(package, tmp_path):
    with serve_in_thread(posts_file(), limit=100_000) as mock:
        file = steered(tmp_path, mock.url, 'estimator = "fails"\n')
        child = socialcrawl("run", file, "--yes", folder=tmp_path, PYTHONPATH=package)
    assert child.returncode == 1
    said = " ".join(child.stderr.split())
    assert "error: the estimator 'fails' failed in score: ZeroDivisionError: no such number (lateness.py, line" in said
    assert rows(tmp_path / "mine.db", "select count(*) from outcome join pick using (n) where act = 'expand'") == [(3,)]


def test_without_its_package_a_campaign_of_an_added_estimator_is_refused_with_the_nearest_name(tmp_path):
    file = steered(tmp_path, "http://127.0.0.1:1", 'estimator = "hybrid-sun"\n')
    child = socialcrawl("check", file, folder=tmp_path)
    assert child.returncode == 2
    assert "unknown estimator 'hybrid-sun'. Did you mean 'hybrid-sum'?" in " ".join(child.stdout.split())
    file = steered(tmp_path, "http://127.0.0.1:1", 'estimator = "late"\nstrategy = "last"\n')
    child = socialcrawl("check", file, folder=tmp_path)
    assert child.returncode == 2
    assert "unknown estimator 'late'." in " ".join(child.stdout.split())


def test_simulate_takes_added_estimators_and_strategies_also_in_other_processes(package, tmp_path):
    graph = saved(tmp_path / "graph.npz", known(random_world(30, 4, 1)))
    given = ("simulate", "--graph", graph, "--seed-sets", "2", "--seed-size", "2", "--steps", "12", "--out", "results")
    told = telling(tmp_path, package)("run", "--help")
    assert told
    table = telling(tmp_path, package)(
        *given, "--estimator", "late", "--estimator", "lateness:Late", "--strategy", "last", "--jobs", "2"
    )
    assert "4 of 4 replays were done now" in table
    child = socialcrawl(*given, "--estimator", "fails", folder=tmp_path, PYTHONPATH=package)
    assert child.returncode == 1
    said = " ".join(child.stderr.split())
    assert "the estimator 'fails' failed in score: ZeroDivisionError: no such number (lateness.py, line" in said
    child = socialcrawl(
        "simulate", "--graph", graph, "--seed-sets", "1", "--seed-size", "2", "--steps", "12", "--estimator",
        "late", "--json", folder=tmp_path, PYTHONPATH=package,
    )  # fmt: skip
    assert len(json.loads(child.stdout)["steps"]) == 12
