"""`socialcrawl simulate` and the graph commands from end to end: what is printed, kept, refused and gone on with."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pyarrow as pa
import pytest
from commands import COMMAND, ENVIRONMENT, socialcrawl
from known_worlds import referee
from lab_graphs import known, random_world, saved
from pyarrow import parquet
from rich.console import Console
from x_crawls import TOPIC, posts, posts_file

from socialcrawl.cli.commands import simulate
from socialcrawl.cli.commands.simulate import make_comparison
from socialcrawl.cli.main import main
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.graph.relevance import Topic
from socialcrawl.lab.generators.twitterlike import generate_twitter_like
from socialcrawl.lab.graphs import build_edge_graph, build_mention_graph, build_page_graph, read, write
from socialcrawl.lab.grid import read_results
from socialcrawl.lab.simulation import ReplaySetup
from socialcrawl.lab.simulation import simulate as replay

WORLD = random_world(60, 4, 7)
SEEDS = (5, 17, 2)
GIVEN = ("--graph", "G.npz", "--seeds", "seeds.txt")


@pytest.fixture
def folder(tmp_path):
    saved(tmp_path / "G.npz", known(WORLD))
    (tmp_path / "seeds.txt").write_text("# where to begin\n" + "".join(f"{node}\n" for node in SEEDS))
    return tmp_path


def command(folder, *words):
    """The end of one command in this process, which is faster than a child: exit code, stdout, stderr."""
    out, complaint = io.StringIO(), io.StringIO()
    handler = signal.getsignal(signal.SIGTERM)
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(complaint):
        patch.setattr(sys, "argv", ["socialcrawl", *map(str, words)])
        patch.chdir(folder)
        with pytest.raises(SystemExit) as end:
            main()
    signal.signal(signal.SIGTERM, handler)
    return end.value.code or 0, out.getvalue(), complaint.getvalue()


def test_a_hybrid_that_never_learns_is_named_below_the_comparison(folder):
    _, printed, _ = command(folder, "simulate", *GIVEN, "--estimator", "hybrid-sum", "--steps", "5", "--jobs", "1")
    assert "hybrid-sum chooses as nh-ne-sum in all 5 steps, because it switches after 1,000" in printed
    learns = ("--estimator", "hybrid-sum", "--steps", "5", "--switch-after", "4", "--jobs", "1")
    assert "chooses as" not in command(folder, "simulate", *GIVEN, *learns)[1]


def replayed(folder, *words):
    """The only object that the command prints."""
    code, printed, complaint = command(folder, "simulate", *GIVEN, *words, "--json")
    assert (code, complaint) == (0, "")
    assert printed.count("\n") == 1
    return json.loads(printed)


def refused(folder, *words):
    """What is said when nothing is done; without breaks of lines."""
    code, printed, complaint = command(folder, *words)
    assert (code, printed) == (2, "")
    return " ".join(complaint.split())


@pytest.mark.parametrize("name", ["bfs", "random", "nh-ne-sum", "nh-e-max", "lnh-sum", "hybrid-avg"])
def test_a_replay_takes_the_steps_that_a_full_rescan_takes(name, folder):
    told = replayed(folder, "--estimator", name, "--steps", 40, "--switch-after", 12, "--seed", 3)
    expected = referee(WORLD, list(SEEDS), name, 40, seed=3, switch_after=12)
    assert told["steps"] == expected[len(SEEDS) :]
    values = known(WORLD).beta
    total, curve = 0.0, []
    for node in told["steps"]:
        total += values[node]
        curve.append(total)
    assert told["curve"] == pytest.approx(curve, rel=1e-12)
    assert told["seed_score"] == pytest.approx(values[list(SEEDS)].sum())
    where = {"graph", "estimator", "strategy", "refresh_rate", "seed_set"}
    assert set(told) == {"curve", "steps", "seed_score", "seconds", "peak_rss_mb"} | where
    assert sorted(path.name for path in folder.iterdir()) == ["G.npz", "seeds.txt"]  # nothing is kept


def test_a_script_gets_one_object_and_nothing_else_and_an_honest_account_of_time_and_memory(folder):
    words = ("--estimator", "sklearn.linear_model.SGDRegressor", "--steps", 20, "--json")
    child = socialcrawl("simulate", *GIVEN, *words, folder=folder)
    assert (child.returncode, child.stderr) == (0, "")
    told = json.loads(child.stdout)
    assert 0 < told["seconds"] < 20 < told["peak_rss_mb"] < 1000
    assert told["steps"] == replayed(folder, *words[:-1])["steps"]


def test_every_option_reaches_the_replay(folder):
    words = ("--strategy", "altered-greedy", "--refresh-rate", 3, "--switch-after", 9, "--start", "nr", "--q", 0.4)
    words += ("--zeta", 0.7, "--nr-d", 0.2, "--seed", 8, "--objective", "count")
    told = replayed(folder, "--estimator", "hybrid-max", "--steps", 30, *words)
    setup = ReplaySetup("hybrid-max", 30, "altered-greedy", 3, "count", 8, 9, "nr", 0.4, 0.7, 0.2)
    alone = replay(read(folder / "G.npz"), SEEDS, setup)
    assert (told["steps"], told["curve"]) == (alone.steps.tolist(), alone.curve.tolist())
    plain = replayed(folder, "--estimator", "hybrid-max", "--steps", 30)
    assert plain["steps"] != told["steps"]


def test_a_budget_larger_than_the_graph_holds_the_curve(folder):
    told = replayed(folder, "--estimator", "bfs", "--steps", 500)
    reach, queue = set(SEEDS), list(SEEDS)
    while queue:
        for node in WORLD.links[queue.pop()]:
            if node not in reach:
                reach.add(node)
                queue.append(node)
    assert set(told["steps"]) == reach - set(SEEDS)
    assert len(told["curve"]) == 500
    assert told["curve"][len(reach) - len(SEEDS) :] == [told["curve"][len(reach) - len(SEEDS) - 1]] * (
        500 - len(reach) + len(SEEDS)
    )


def test_a_frontier_that_is_empty_from_the_start_gives_no_steps_and_a_curve_of_zeros(tmp_path):
    saved(tmp_path / "G.npz", KnownGraph(*map(np.array, ([0, 0, 1], [0], [1.0], [4.0, 2.0]))))
    (tmp_path / "seeds.txt").write_text("0\n")
    told = replayed(tmp_path, "--estimator", "oracle", "--steps", 3)
    assert (told["steps"], told["curve"], told["seed_score"]) == ([], [0.0, 0.0, 0.0], 4.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("60\n", "row 60 is outside"),
        ("-1\n", "row -1 is outside"),
        ("ann\n", "'ann' is not a row"),
        ("#\n", "names no row"),
    ],
)
def test_seeds_that_are_no_rows_of_the_graph_are_refused(text, message, folder):
    (folder / "seeds.txt").write_text(text)
    words = (*GIVEN, "--estimator", "bfs", "--steps", 3)
    assert message in refused(folder, "simulate", *words)
    assert message in refused(folder, "simulate", *words, "--json")


def test_where_to_begin_is_said_in_one_way(folder):
    words = ("--graph", "G.npz", "--estimator", "bfs", "--steps", 3)
    assert "--seed-sets N" in refused(folder, "simulate", *words)
    assert "--seed-sets N" in refused(folder, "simulate", *words, "--seeds", "seeds.txt", "--seed-sets", 2)
    assert "no file other.txt" in refused(folder, "simulate", *words, "--seeds", "other.txt")
    assert "fewer than the 61 seeds" in refused(folder, "simulate", *words, "--seed-sets", 2, "--seed-size", 61)


@pytest.mark.parametrize(("name", "at"), [("alpha", 3), ("beta", 2)])
@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_weights_and_values_that_are_negative_or_no_numbers_are_refused(name, at, value, folder):
    graph = known(WORLD)
    getattr(graph, name)[at] = value
    saved(folder / "G.npz", graph)
    said = refused(folder, "simulate", *GIVEN, *("--estimator", "bfs", "--steps", 3))
    assert f"G.npz: {name}[{at}] is {value}" in said


def test_names_and_numbers_that_are_not_known_are_refused_before_anything_is_done(folder):
    words = ("simulate", *GIVEN, "--steps", 3)
    assert "Did you mean 'nh-ne-sum'?" in refused(folder, *words, "--estimator", "bfs", "--estimator", "nh-ne-sun")
    assert "Unknown estimator 'nosuch'" in refused(folder, *words, "--estimator", "hybrid-sum", "--start", "nosuch")
    assert "scikit-learn" in refused(folder, *words, "--estimator", "sklearn.linear_model.Nosuch")
    bfs = (*words, "--estimator", "bfs")
    assert "Unknown strategy 'greedyy'. Did you mean 'greedy'? Choose one of: greedy" in refused(
        folder, *bfs, "--strategy", "greedyy"
    )
    assert "probability" in refused(folder, *bfs, "--strategy", "altered-greedy", "--q", 1.5)
    assert "Unknown objective 'avg'" in refused(folder, *bfs, "--objective", "avg")
    assert "--jobs 0" in refused(folder, *bfs, "--jobs", 0)
    assert "d = 2.0" in refused(folder, *words, "--estimator", "nr", "--nr-d", 2)
    assert "nosuch is not there" in refused(folder, *bfs, "--graph", "nosuch")
    assert not (folder / "simulation").exists()


def test_with_json_several_replays_are_a_list_that_says_which_is_which(folder):
    (folder / "more.txt").write_text("0\n1\n2\n")
    words = (
        "--estimator",
        "bfs",
        "--estimator",
        "nr",
        "--refresh-rate",
        1,
        "--refresh-rate",
        2,
        "--steps",
        3,
        "--json",
    )
    printed = replayed(folder, *words, "--seeds", "more.txt")
    assert list(printed) == ["replays"]
    named = {(one["estimator"], one["refresh_rate"], one["seed_set"]): one for one in printed["replays"]}
    assert len(named) == len(printed["replays"]) == 8
    for (estimator, rate, seed_set), one in named.items():
        alone = ("--graph", "G.npz", "--seeds", ("seeds.txt", "more.txt")[seed_set], "--steps", 3)
        code, text, _ = command(folder, "simulate", *alone, "--estimator", estimator, "--refresh-rate", rate, "--json")
        assert code == 0
        assert {**json.loads(text), "seed_set": seed_set, "seconds": 0, "peak_rss_mb": 0} == {
            **one, "seconds": 0, "peak_rss_mb": 0,
        }  # fmt: skip


def test_a_grid_is_kept_compared_and_gone_on_with(folder):
    write(known(random_world(60, 3, 8)), folder / "H")
    (folder / "more.txt").write_text("0\n1\n2\n")
    words = ("simulate", *GIVEN, "--graph", "H", "--seeds", "more.txt", "--steps", 9, "--refresh-rate", 1)
    words += ("--refresh-rate", 4, "--out", "kept", "--estimator", "bfs", "--strategy", "greedy")
    child = socialcrawl(*words, folder=folder)
    assert (child.returncode, child.stderr) == (0, "")
    assert "8 of 8 replays were done now; all are in kept/*.parquet" in child.stdout
    assert "relative" not in child.stdout
    more = ("--estimator", "oracle", "--strategy", "proportional", "--jobs", 1)
    code, printed, _ = command(folder, *words, *more)
    assert code == 0
    assert "24 of 32 replays were done now" in printed
    rows = read_results(folder / "kept").to_pylist()
    assert len(rows) == 32
    assert {tuple(row["seeds"]) for row in rows} == {SEEDS, (0, 1, 2)}
    lines = [line.split() for line in printed.splitlines()]
    assert lines[:2] == [
        ["scores", "relative", "to", "the", "oracle"],
        ["graph", "estimator", "strategy", "r", "mean", "sd", "seed", "sets", "seconds"],
    ]
    shown = {tuple(line[:4]): line[4:7] for line in lines[2:-1]}
    assert len(shown) == 2 * 2 * 2 * 2

    def scores(*names):
        named = [(row, [str(row[name]) for name in ("graph", "estimator", "strategy", "refresh_rate")]) for row in rows]
        return np.array([row["score"] for row, mine in named if mine == list(names)])

    for (graph, estimator, strategy, rate), figures in shown.items():
        shares = scores(graph, estimator, strategy, rate) / scores(graph, "oracle", "greedy", "1")
        assert figures == [f"{np.mean(shares):.3f}", f"{np.std(shares, ddof=1):.3f}", "2"]


def row(estimator, score, seed_set=0, strategy="greedy", rate=1):
    return {"graph": "G", "estimator": estimator, "strategy": strategy, "refresh_rate": rate, "seed_set": seed_set,
            "score": score, "seconds": 2.0}  # fmt: skip


def told(rows):
    console = Console(width=200)
    with console.capture() as kept:
        console.print(make_comparison(rows))
    return [line.split() for line in kept.get().splitlines()]


def test_scores_are_compared_with_the_greedy_oracle_of_the_lowest_rate_or_with_nothing():
    others = [row("oracle", 9.0, rate=1, strategy="proportional"), row("oracle", 5.0, rate=10)]
    title, _, *lines = told([row("bfs", 2.0), row("oracle", 8.0, rate=2), *others])
    assert title == ["scores", "relative", "to", "the", "oracle"]
    assert lines[0] == ["bfs", "greedy", "1", "0.250", "-", "1", "2.00"]
    assert lines[1][3] == "1.000"
    assert lines[2][3] == "1.125"  # an altered one can do better than greedy
    title, _, line = told([row("bfs", 2000.0), row("bfs", 2002.0, 1)])
    assert title == ["scores"]
    assert line == ["bfs", "greedy", "1", "2,001.0", "1.4", "2", "2.00"]


def test_where_the_oracle_found_nothing_nothing_is_compared():
    rows = [row("oracle", 0.0), row("oracle", 4.0, 1), row("bfs", 0.0), row("bfs", 1.0, 1), row("nr", 0.0)]
    lines = told(rows)[2:]
    assert [line[3:6] for line in lines] == [["1.000", "-", "1"], ["0.250", "-", "1"], ["-", "-", "0"]]


def test_on_a_terminal_a_bar_counts_the_replays(folder):
    wanted = simulate.Grid(
        [folder / "G.npz"], ["bfs", "random"], ["greedy"], [1], simulate.Seeding([], 2, 3, 0.0, 1), {"budget": 5}
    )
    console = Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)
    simulate.run(wanted, folder / "out", console, jobs=1, address=None)
    assert "4/4" in console.file.getvalue()
    assert "4 of 4 replays were done now" in console.file.getvalue()


def grid_under_way(folder, *more):
    """A grid of 12 replays with its own group of processes, when at least one of them is done."""
    words = ("simulate", "--graph", "big", "--seed-sets", 12, "--seed-size", 5, "--estimator", "lnh-sum")
    words += ("--steps", 300, "--strategy", "altered-greedy", "--jobs", 2, *more)
    child = subprocess.Popen(
        [*COMMAND, *map(str, words)], cwd=folder, env=ENVIRONMENT, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    out = folder / "simulation"
    while len(list(out.glob("*.parquet"))) < 1:
        assert child.poll() is None, child.stderr.read()
        time.sleep(0.01)
    return child, words, out


@pytest.fixture
def big(folder):
    write(generate_twitter_like(3000, 16_000, seed=1), folder / "big")
    return folder


def wait_for_the_end_of(group):
    """Until no process of that group runs any more."""
    until = time.monotonic() + 300
    while True:
        found = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True, check=True).stdout
        if not any(line.split()[0] == str(group) and line.split()[1][0] != "Z" for line in found.splitlines()):
            return
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_grid_that_is_killed_leaves_no_workers_and_goes_on_with_what_is_missing(big):
    child, words, out = grid_under_way(big)
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()  # its workers hold these pipes until they go
    assert child.returncode == -signal.SIGKILL
    wait_for_the_end_of(child.pid)
    before = {path: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    assert 1 <= len(before) < 12
    code, printed, _ = command(big, *words, "--jobs", 1)
    assert code == 0
    assert f"{12 - len(before)} of 12 replays were done now" in printed
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert sorted(read_results(out)["seed_set"].to_pylist()) == list(range(12))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_with_130_and_says_that_the_same_command_goes_on(number, big):
    child, words, out = grid_under_way(big)
    if number == signal.SIGINT:
        os.killpg(child.pid, number)  # as a terminal does it
    else:
        os.kill(child.pid, number)
    said, complaint = child.communicate()
    assert child.returncode == 130
    assert "interrupted; what is done is in simulation, and the same command again goes on" in complaint
    assert "Traceback" not in complaint + said
    wait_for_the_end_of(child.pid)
    kept = len(list(out.glob("*.parquet")))
    assert f"{12 - kept} of 12 replays were done now" in command(big, *words, "--jobs", 1)[1]


def same(mine, other):
    for name in ("indptr", "indices", "alpha", "beta"):
        assert np.array_equal(getattr(mine, name), getattr(other, name)), name
    assert (None if mine.names is None else list(mine.names)) == (None if other.names is None else list(other.names))


def test_the_graph_commands_write_what_the_functions_make(folder):
    table = {"key": ["a", "b"], "text": ["jazz and b, jazz", "nothing"], "links": [["b"], ["a", "c"]]}
    parquet.write_table(pa.table(table), folder / "pages.parquet")
    (folder / "edges.txt").write_text("a b 2\nb c 1\n")
    (folder / "values.txt").write_text("a 3\nd 1\n")
    made = {
        ("posts", posts_file(), "--keyword", TOPIC): build_mention_graph(posts(), Topic([TOPIC])),
        ("pages", "pages.parquet", "--keyword", "jazz", "--keyword", "nothing"): build_page_graph(
            folder / "pages.parquet", Topic(["jazz", "nothing"])
        ),
        ("edges", "edges.txt"): build_edge_graph(folder / "edges.txt"),
        ("edges", "edges.txt", "--values", "values.txt"): build_edge_graph(folder / "edges.txt", folder / "values.txt"),
        ("npz", "G.npz"): read(folder / "G.npz"),
    }
    for words, graph in made.items():
        code, printed, _ = command(folder, "lab", "graph", *words, "--out", "made")
        assert code == 0
        shares = [100 * (weights > 0).sum() / len(weights) for weights in (graph.beta, graph.alpha)]
        assert printed == (
            f"wrote made: {graph.size:,} nodes ({shares[0]:.2f}% with a value), "
            f"{graph.links:,} links ({shares[1]:.2f}% with a weight)\n"
        )
        same(read(folder / "made"), graph)


def test_the_generator_takes_a_topic_of_the_paper_or_shares(tmp_path):
    words = ("lab", "twitter-like", "--users", 3000, "--links", 9000, "--out", "G")
    for more, arguments in (
        ((), (0.109, None, 0)),
        (("--topic", "jazz", "--seed", 4), (0.0062, 0.00054, 4)),
        (("--topic-share", 0.2, "--link-share", 0.1), (0.2, 0.1, 0)),
    ):
        assert command(tmp_path, *words, *more)[0] == 0
        same(read(tmp_path / "G"), generate_twitter_like(3000, 9000, *arguments))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("twitter-like", "--topic", "rock", "--out", "G"), "Unknown topic 'rock'"),
        (("twitter-like", "--topic", "jazz", "--topic-share", 0.1, "--out", "G"), "both shares"),
        (("twitter-like", "--out", "no/where"), "does not exist"),
        (("twitter-like", "--users", 3, "--out", "G"), "users = 3"),
        (("graph", "npz", "none.npz", "--out", "G"), "none.npz"),
        (("graph", "edges", "none.txt", "--out", "G"), "none.txt"),
        (("graph", "posts", "none.csv", "--keyword", "", "--out", "G"), "keyword"),
    ],
)
def test_graphs_that_cannot_be_made_are_refused(words, message, tmp_path):
    assert message in refused(tmp_path, "lab", *words)
    assert not list(tmp_path.iterdir())
