"""`lab opic importance`: all ways of asking for importance, by dense eigenvectors, networkx and the parts alone."""

import csv

import networkx as nx
import numpy as np
import pytest
from typer.testing import CliRunner

from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.lab.experiments.opic import importances as asking
from socialcrawl.lab.experiments.opic import importances as givens
from socialcrawl.lab.experiments.opic.commands import opic_app
from socialcrawl.lab.experiments.opic.importances import (
    ImportanceOptions,
    compute_importance,
    compute_site_flow,
    divide_among_owners,
    find_host,
    group_by_file,
    group_by_host,
)
from socialcrawl.lab.experiments.opic.webs import LAWS, generate_web
from socialcrawl.lab.graphs import write

SIZE = 40


def drawn(seed=3):
    """A ring with chords, weights 1 to 4, called user@server, five servers."""
    rng = np.random.default_rng(seed)
    dense = np.zeros((SIZE, SIZE))
    for row in range(SIZE):
        targets = rng.choice(SIZE // 2, rng.integers(1, 6), replace=False)
        dense[row, targets] = rng.integers(1, 5, len(targets))
        dense[row, (row + 1) % SIZE] = 1
    np.fill_diagonal(dense, 0)
    sources, targets = np.nonzero(dense)
    names = [f"u{row}@{'vwxyz'[row % 5]}.org" for row in range(SIZE)]
    indptr = np.searchsorted(sources, np.arange(SIZE + 1)).astype(np.int64)
    return KnownGraph(indptr, targets.astype(np.int64), dense[sources, targets], np.ones(SIZE), names), dense


@pytest.fixture
def graph(tmp_path):
    made, dense = drawn()
    write(made, tmp_path / "G")
    return tmp_path / "G", dense


def asked(tmp_path, *words):
    """What the command says, and the rows that it leaves."""
    done = CliRunner().invoke(opic_app, ["importance", *map(str, words), "--out", str(tmp_path / "found")])
    if done.exception:
        raise done.exception
    with (tmp_path / "found" / "importance.csv").open() as file:
        return done.output, list(csv.DictReader(file))


def by_name(rows, column="importance"):
    return np.array([float(next(r[column] for r in rows if r["name"].startswith(f"u{row}@"))) for row in range(SIZE)])


def dominant(dense):
    """The eigenvector of the largest eigenvalue of the transposed matrix, of sum 1."""
    values, vectors = np.linalg.eig(dense.T)
    vector = np.abs(vectors[:, values.real.argmax()].real)
    return vector / vector.sum()


def virtual(dense, small=1.0):
    """The stationary walk with a virtual page, which k links leave k / (k + small) of what a row has."""
    n = len(dense)
    walk = np.zeros((n + 1, n + 1))
    links = (dense > 0).sum(axis=1)
    sums = np.maximum(dense.sum(axis=1), 1e-300)
    walk[:n, :n] = dense / sums[:, None] * (links / (links + small))[:, None]
    walk[:n, n] = 1 - walk[:n, :n].sum(axis=1)
    walk[n, :n] = 1 / n
    return dominant(walk)[:n]


MATRIX = {
    "out": lambda dense: dense,
    "in": lambda dense: dense.T,
    "both": lambda dense: np.maximum(dense, dense.T),
    "kleinberg": lambda dense: dense.T @ dense,
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("matrix", MATRIX)
def test_the_fixpoint_of_each_matrix_is_its_dominant_eigenvector_plain_patched_and_as_a_walk(
    tmp_path, graph, matrix, weighted
):
    path, dense = graph
    dense = MATRIX[matrix](dense if weighted else (dense > 0).astype(float))
    words = ["--graph", path, "--matrix", matrix, "--by", "fixpoint", *["--weighted"][: int(weighted)]]
    walk = dense / dense.sum(axis=1, keepdims=True)
    for more, referee in (([], dense), (["--eps", 0.3], dense + 0.3), (["--walk"], walk)):
        _, rows = asked(tmp_path, *words, *more)
        assert by_name(rows) == pytest.approx(dominant(referee), abs=1e-9)


@pytest.mark.parametrize("matrix", MATRIX)
def test_opic_comes_to_the_walk_with_the_virtual_page_on_each_matrix(tmp_path, graph, matrix):
    path, dense = graph
    wanted = virtual(MATRIX[matrix](dense), 2.0)
    output, rows = asked(
        tmp_path, "--graph", path, "--matrix", matrix, "--weighted", "--small", 2, "--crawls", 150, "--top", 2
    )
    assert by_name(rows, "fixpoint") == pytest.approx(wanted, abs=1e-9)
    off = 100 * np.abs(by_name(rows) / wanted - 1)
    assert off.mean() < 1.5
    assert f"off the fixpoint by {off.mean():.3g} % in the mean" in output
    ranked = [float(row["importance"]) for row in rows]
    assert ranked == sorted(ranked, reverse=True)
    assert [row["rank"] for row in rows] == [str(number) for number in range(1, SIZE + 1)]
    assert sum(line.split()[:1] in (["1"], ["2"], ["3"]) for line in output.splitlines()) == 2  # --top


@pytest.mark.parametrize("damping", [0.85, 0.4])
def test_pagerank_is_that_of_networkx(tmp_path, graph, damping):
    path, dense = graph
    wanted = nx.pagerank(nx.from_numpy_array(dense, create_using=nx.DiGraph), damping, tol=1e-15, max_iter=1000)
    _, rows = asked(tmp_path, "--graph", path, "--by", "pagerank", "--weighted", "--damping", damping)
    assert by_name(rows) == pytest.approx([wanted[row] for row in range(SIZE)], abs=1e-8)


def test_sites_are_sums_of_their_nodes_and_cash_along_the_links_between_them(tmp_path, graph):
    path, dense = graph
    _, rows = asked(tmp_path, "--graph", path, "--hosts", "--crawls", 150)
    with (tmp_path / "found" / "sites.csv").open() as file:
        sites = {row["site"]: row for row in csv.DictReader(file)}
    site = np.arange(SIZE) % 5
    between = np.array([[(dense > 0)[np.ix_(site == a, site == b)].sum() for b in range(5)] for a in range(5)], float)
    np.fill_diagonal(between, 0)
    wanted = virtual(between)
    for number, letter in enumerate("vwxyz"):
        found = sites[f"{letter}.org"]
        assert float(found["importance"]) == pytest.approx(by_name(rows)[site == number].sum())
        assert float(found["flow"]) == pytest.approx(wanted[number], rel=0.02)
        assert found["nodes"] == "8"


def test_a_file_of_sites_says_the_same_as_the_hosts_of_names(tmp_path, graph):
    path, _ = graph
    names = drawn()[0].names
    (tmp_path / "sites.txt").write_text("# sites\n\n" + "".join(f"{n}\t{n.split('@')[1]}\n" for n in names))
    tables = []
    for sites in (["--hosts"], ["--sites", tmp_path / "sites.txt"]):
        asked(tmp_path, "--graph", path, "--by", "pagerank", *sites)
        tables.append((tmp_path / "found" / "sites.csv").read_text())
    assert tables[0] == tables[1]
    assert tables[0].splitlines()[0] == '"rank","site","importance","nodes"'
    assert group_by_file(tmp_path / "sites.txt", names)[0] == group_by_host(names)[0]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("https://User@Example.ORG:80/a?b@c", "example.org"),
        ("ann@Social.example", "social.example"),
        ("@ann@social.example", "social.example"),
        ("ann", "ann"),
        ("@ann", "ann"),
        ("http://[bad", "http://[bad"),
    ],
)
def test_the_host_of_a_name_is_its_server(name, wanted):
    assert find_host(name) == wanted


def test_owners_find_nearly_what_one_alone_finds_and_the_difference_is_told(tmp_path, graph):
    path, dense = graph
    words = ["--graph", path, "--weighted", "--crawls", 60, "--owners", 3]
    output, rows = asked(tmp_path, *words, "--buffer", 5)
    alone, several = by_name(rows), by_name(rows, "owners")
    off = 100 * np.abs(several / alone - 1)
    assert 0.0 < off.mean() < 5.0
    assert f"off the undivided run by {off.mean():.3g} % in the mean" in output
    assert several == pytest.approx(virtual(dense), rel=0.1)


def test_a_larger_buffer_means_fewer_transfers_with_fewer_amounts_and_more_cash_that_waits():
    web = givens.build_web_graph(generate_web(LAWS["power"], 400, 2))
    one, two = (divide_among_owners(web, ImportanceOptions(crawls=3, owners=3, buffer=size)) for size in (1, 20))
    assert one.transfers > 2 * two.transfers
    assert one.amounts > two.amounts  # what waits for one node becomes one amount
    assert one.waiting == 0.0 < two.waiting < 0.05
    assert 0.9 < two.payments / (3 * web.links.nnz) < 2.0


def test_a_single_owner_is_the_undivided_run(tmp_path, graph):
    _, rows = asked(tmp_path, "--graph", graph[0], "--owners", 1)
    assert by_name(rows, "owners") == pytest.approx(by_name(rows), rel=1e-9)


def test_nodes_that_nobody_links_to_are_not_found_from_one_and_are_none_of_the_errors(tmp_path):
    indptr = np.array([0, 1, 2, 3])
    write(KnownGraph(indptr, np.array([1, 0, 0]), np.ones(3), np.ones(3), ["a", "b", "c"]), tmp_path / "H")
    output, rows = asked(tmp_path, "--graph", tmp_path / "H", "--first", 1)
    assert "2 nodes found" in output
    assert {row["name"]: float(row["importance"]) > 0 for row in rows} == {"a": True, "b": True, "c": False}


def test_who_joins_with_a_history_begins_with_the_mean_importance_of_the_newcomers_before(graph):
    given = givens.read_known_graph(graph[0])
    log = []
    real = asking.Cash.join

    def join(cash, rows, history=0.0):
        real(cash, rows, history)
        if history:
            log.append((cash.estimate(np.asarray(rows)), history / (cash.paid + 1 + cash.granted)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking.Cash, "join", join)
        compute_importance(given, ImportanceOptions(first=SIZE - 3, history=True, crawls=20))
    assert sum(len(estimates) for estimates, _ in log) == 3
    assert log[0][1] == pytest.approx(1 / SIZE, rel=0.2)
    assert all(estimates == pytest.approx(share) for estimates, share in log)
    plain, with_history = (
        compute_importance(given, ImportanceOptions(first=SIZE - 3, history=says, crawls=20)) for says in (False, True)
    )
    assert (plain.importance != with_history.importance).any()


def test_a_generated_web_needs_no_file_and_gives_the_same_bytes_again(tmp_path):
    words = ["--nodes", 200, "--law", "poisson", "--mean", 3, "--owners", 2]
    output, rows = asked(tmp_path, *words)
    first = (tmp_path / "found" / "importance.csv").read_bytes()
    assert len(rows) == 200
    assert (output, rows) == asked(tmp_path, *words)
    assert (tmp_path / "found" / "importance.csv").read_bytes() == first


def test_flow_looks_on_and_does_not_steer(graph):
    given = givens.read_known_graph(graph[0])
    found, _ = compute_site_flow(given, ImportanceOptions(crawls=3), np.arange(SIZE) % 5, 5)
    assert (found.importance == compute_importance(given, ImportanceOptions(crawls=3)).importance).all()


def test_a_matrix_that_would_not_fit_or_has_no_fixpoint_is_refused(tmp_path, graph, monkeypatch):
    chain = KnownGraph(np.array([0, 1, 2, 2]), np.array([1, 2]), np.ones(2), np.ones(3), ["a", "b", "c"])
    write(chain, tmp_path / "C")
    with pytest.raises(SettingsError, match=r"no fixpoint that is found in 5,000 steps.*--eps"):
        asked(tmp_path, "--graph", tmp_path / "C", "--by", "fixpoint")
    _, rows = asked(tmp_path, "--graph", tmp_path / "C", "--by", "fixpoint", "--eps", 0.01)
    assert rows[0]["name"] == "c"
    monkeypatch.setattr(givens, "KLEINBERG", 10)
    with pytest.raises(SettingsError, match="take another matrix"):
        asked(tmp_path, "--graph", graph[0], "--matrix", "kleinberg")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--by", "best"], "Unknown --by 'best'. Choose one of: opic, fixpoint, pagerank"),
        (["--matrix", "up"], "Choose one of: out, in, both, kleinberg"),
        (["--eps", "-1"], "0 or more"),
        (["--damping", "1"], "at least 0"),
        (["--owners", "-1"], "0 or more"),
        (["--owners", "2", "--by", "pagerank"], "remove --owners"),
        (["--owners", "2", "--first", "3"], "leave --first or --owners out"),
        (["--hosts", "--sites", "x"], "remove one of them"),
        (["--sites", "nowhere.txt"], "cannot be read"),
        (["--weighted"], "has no weights"),
        (["--graph", "nowhere"], "is not there"),
    ],
)
def test_what_cannot_be_asked_is_told_in_a_sentence(tmp_path, monkeypatch, words, why):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=why):
        asked(tmp_path, "--nodes", 50, *words)


@pytest.mark.parametrize(
    ("text", "why"),
    [("u0 a b\n", "line 1"), ("u0 a\nu0 b\n", "a site already"), ("u0 a\n", "no site of 1 nodes, as u1")],
)
def test_a_file_of_sites_gives_each_node_one_site(tmp_path, text, why):
    (tmp_path / "sites.txt").write_text(text)
    with pytest.raises(SettingsError, match=why):
        group_by_file(tmp_path / "sites.txt", ["u0", "u1"])


def test_owners_need_names_that_differ():
    made, _ = drawn()
    twice = givens.LinkGraph(givens.make_out_links(np.array([0]), np.array([1]), SIZE), ["a"] * SIZE)
    with pytest.raises(SettingsError, match="all different"):
        divide_among_owners(twice, ImportanceOptions(owners=2))
    assert len(made.names) == SIZE
