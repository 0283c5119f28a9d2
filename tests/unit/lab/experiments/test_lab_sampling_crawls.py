"""Walks in known worlds and what is made of them: against counts from the visits, all eigenvalues, and the truth."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from pyarrow import csv
from typer.testing import CliRunner

from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments.sampling import audit_coverage, frozen_lists, measured, truths, walk_ends
from socialcrawl.lab.experiments.sampling.commands import COMMANDS, sampling_app
from socialcrawl.lab.experiments.sampling.generated_webs import TopicWebParameters, generate_web
from socialcrawl.lab.experiments.sampling.known_walks import (
    HITS,
    METHODS,
    PAPER,
    WalkSetup,
    choose_starts,
    join_runs,
    list_jobs,
    list_methods,
    walk_method,
)
from socialcrawl.lab.experiments.sampling.run_setup import TITLES, WorldOptions
from socialcrawl.lab.experiments.sampling.worlds import COMPLETE, InlinkSearch, PageTopic

SHORT = WalkSetup(length=300, burn_in=20, walkers=3, runs=2, search=COMPLETE)
TINY = ["--size", 300, "--length", 120, "--burn-in", 5, "--walkers", 2, "--runs", 2, "--jobs", 1]


@pytest.fixture(scope="module")
def world():
    return generate_web(TopicWebParameters(400, trap=0.0, seed=5))


@pytest.fixture(scope="module")
def uk(world):
    return world.find_topic("uk")


def seen(world, topic, method, setup=SHORT):
    return [job.crawl(*job.given) for job in list_jobs(world, topic, method, setup)]


def neighbours(world):
    links = {(u, int(v)) for u in range(world.size) for v in world.graph.list_links(u)[0]}
    return links | {(v, u) for u, v in links}


# --- crawls


@pytest.mark.parametrize("method", METHODS)
def test_a_walk_goes_from_neighbour_to_neighbour_and_counts_what_is_on_topic_after_the_burn_in(world, uk, method):
    links, (visits, _) = neighbours(world), seen(world, uk, method)
    for walk in range(3):
        own = visits["walk"] == walk
        nodes, weights, on = visits["node"][own].tolist(), visits["weight"][own], visits["on"][own]
        assert 0 < len(nodes) <= 300
        if not method.startswith("trial"):  # that goes back to where it was on topic
            assert all(u == v or (u, v) in links for u, v in pairwise(nodes))
        assert on.tolist() == uk.on[nodes].tolist()
        assert (weights[~on] == 0).all()
        arrivals = [0, *(i for i in range(1, len(nodes)) if nodes[i] != nodes[i - 1])]
        burnt = [i for i in arrivals if on[i]][: SHORT.burn_in]
        assert (weights[burnt] == 0).all()
    if method != "none":  # of its few visits on topic the burn-in may take all
        assert (visits["weight"] > 0).any()
    if method.startswith("hard"):
        assert visits["precision"][0] == 1.0


def test_crawls_of_a_kind_differ_by_their_draws_and_are_the_same_again(world, uk):
    first, second = seen(world, uk, "hard")
    again = seen(world, uk, "hard")[0]
    assert {name: column.tolist() for name, column in first.items()} == {
        name: column.tolist() for name, column in again.items()}  # fmt: skip
    assert first["node"].tolist() != second["node"].tolist()
    keys = [job.key for method in METHODS for job in list_jobs(world, uk, method, SHORT)]
    assert len(set(keys)) == len(keys)


def test_samples_of_several_crawls_keep_their_walks_apart(world, uk):
    runs = seen(world, uk, "hard")
    whole = join_runs(runs)
    assert len(set(zip(whole["run"].tolist(), whole["walk"].tolist(), strict=True))) == 6
    assert len(set(whole["walk"].tolist())) == 6
    assert whole["node"].tolist() == [*runs[0]["node"].tolist(), *runs[1]["node"].tolist()]


def test_walks_begin_with_famous_pages_of_the_topic_that_are_within_reach(world, uk):
    within = truths.find_reached(world, uk, "hard")
    known = Counter(world.graph.indices.tolist())
    famous = sorted(np.flatnonzero(within).tolist(), key=lambda page: (-known[page], page))[:HITS]
    drawn = {tuple(choose_starts(world, uk, 3, seed)) for seed in range(20)}
    assert {page for some in drawn for page in some} <= set(famous)
    assert len(drawn) > 10


def test_a_search_that_has_nothing_is_not_asked(world, uk):
    unseen = replace(SHORT, runs=1, search=InlinkSearch(0.0))
    assert seen(world, uk, "none", unseen)[0]["asked"][0] == 0
    known = seen(world, uk, "none", replace(SHORT, runs=1))[0]
    assert known["asked"][0] == known["fetches"][0] > 0


def test_a_method_that_is_unknown_is_refused():
    with pytest.raises(SettingsError, match="Unknown method 'soft'"):
        SHORT.make_rules("soft", 0)


# --- statistics


def test_estimates_are_weighed_shares_of_the_visits(world, uk):
    visits = join_runs(seen(world, uk, "hard"))
    quantity = measured.count_degrees(world)
    found = measured.compare_shares(visits, quantity, world, uk, "hard")
    out = np.diff(world.graph.indptr)
    for row in found:
        low, _, high = row["bin"].partition("-")
        first, last = int(low.rstrip("+")), 10**9 if "+" in low else int(high or low)
        inside = (first <= out) & (out <= last)
        assert row["truth"] == pytest.approx(inside[uk.on].mean())
        assert row["share"] == pytest.approx(visits["weight"] @ inside[visits["node"]] / visits["weight"].sum())
        assert row["low"] <= row["share"] <= row["high"]
    assert sum(row["share"] for row in found) == pytest.approx(1)


def test_domains_of_a_topic_are_those_that_its_pages_have(world, uk):
    quantity = measured.count_domains(world, uk)
    assert set(quantity.bins) == {host.split(".", 1)[1] for host, on in zip(world.hosts, uk.on, strict=True) if on}
    true = dict(zip(quantity.bins, measured.compute_truth(quantity, uk.on), strict=True))
    counted = Counter(host.split(".", 1)[1] for host, on in zip(world.hosts, uk.on, strict=True) if on)
    assert true == pytest.approx({name: count / uk.on.sum() for name, count in counted.items()})


def test_camps_are_one_part_the_other_both_or_neither(world):
    topic = world.find_topic("abortion")
    quantity = measured.count_camps(topic)
    for page in np.flatnonzero(topic.on).tolist():
        words = world.texts[page].split()
        told = tuple(name for name in ("pro-choice", "pro-life") if name in words)
        alone = {(): "neither", ("pro-choice",): "pro-choice only", ("pro-life",): "pro-life only"}
        assert quantity.bins[quantity.place[page]] == alone.get(told, "both")


# --- audits


def test_a_collected_dataset_has_its_share_of_what_is_within_reach_and_prefers_the_famous(world, uk):
    held, within = audit_coverage.draw_dataset(world, uk, 0.3, 1), truths.find_reached(world, uk, "hard")
    assert held.sum() == round(0.3 * within.sum())
    assert not (held & ~within).any()
    known = np.bincount(world.graph.indices, minlength=world.size)
    assert known[held].mean() > known[within].mean()


def test_a_dataset_goes_on_where_links_have_ended():
    world = generate_web(TopicWebParameters(300, seed=1))
    assert audit_coverage.draw_dataset(world, world.find_topic("hiv"), 0.99, 1).sum() > 10


def test_an_audit_answers_with_the_share_held_and_the_size_of_the_topic(world, uk):
    held = audit_coverage.draw_dataset(world, uk, 0.4, 1)
    (job, _) = audit_coverage.list_jobs(world, uk, "hard", SHORT, held)
    rows = job.crawl(*job.given)
    visits = seen(world, uk, "hard")[0]
    share = visits["weight"] @ held[visits["node"]] / visits["weight"].sum()
    place = {name: i for i, name in enumerate(rows["question"].tolist())}
    within = truths.find_reached(world, uk, "hard")
    assert rows["value"][place["held"]] == pytest.approx(share)
    assert rows["value"][place["size"]] == pytest.approx(held.sum() / share)
    assert rows["truth"][place["size"]] == within.sum()
    assert rows["all"][place["size"]] == uk.on.sum()
    assert rows["truth"][place["held"]] == pytest.approx(held[within].mean())
    famous = audit_coverage.find_popular(world)
    assert famous.sum() == round(0.3 * world.size)
    assert rows["truth"][place["popular"]] == pytest.approx(famous[within].mean())


def test_coverage_counts_the_intervals_that_have_the_truth():
    runs = {
        "enough": np.array([True, True, True, False]),
        "low": np.array([0.1, 0.5, 0.2, 0.2]),
        "high": np.array([0.3, np.inf, 0.4, 0.3]),
        "value": np.array([0.2, np.nan, 0.3, 0.25]),
        "truth": np.full(4, 0.25),
        "all": np.full(4, 0.35),
        **{name: np.array([1.0, 2.0, 6.0, 3.0]) for name in ("effective", "visits", "fetches", "precision", "jumps")},
    }
    found = audit_coverage.measure_coverage(runs)
    assert (found["inside"], found["inside_all"], found["shown"], found["runs"], found["fetches"]) == (2, 1, 3, 4, 3)
    assert found["width"] == pytest.approx(0.2)
    assert found["mean"] == pytest.approx(0.25)


# --- ends of walks


def test_ends_are_the_last_visits_and_one_walk_reads_as_many_pages_without_its_first_ones(world, uk):
    setup = replace(SHORT, length=40, burn_in=0, walkers=8, runs=1)
    jobs = walk_ends.list_jobs(world, uk, "hard", setup)
    assert [job.given[1].walkers for job in jobs] == [2, 4, 8]  # an eighth of 8 is no comparison
    job = jobs[-1]
    rows = job.crawl(*job.given)
    world, how, search, begin, asking = job.given
    several = walk_method(world, uk, how, search, begin)
    one = walk_method(world, uk, replace(how, walkers=1, length=None), search, begin[:1], most=several["fetches"][0])
    assert one["fetches"][0] == several["fetches"][0] == rows["read"][0]
    own = [np.flatnonzero(several["walk"] == walk) for walk in range(8)]
    first = sum(map(len, own)) // 8
    chosen = {
        "ends": (several, [places[-1] for places in own]),
        "last nodes": (one, list(range(first, len(one["walk"])))),
        "second halves": (several, [place for places in own for place in places[len(places) - len(places) // 2 :]]),
    }
    within = truths.find_reached(world, uk, "hard")
    for scheme, visits, error in zip(rows["scheme"], rows["visits"], rows["error"], strict=True):
        table, places = chosen[scheme]
        assert abs(visits - len(places)) <= (8 if scheme == "second halves" else 0)  # of odd walks the middle one
        if scheme == "second halves":
            continue
        weight, nodes = table["weight"][places], table["node"][places]
        off = [
            100 * abs(weight @ flags[nodes] / weight.sum() - flags[within].mean()) / flags[within].mean()
            for flags in asking.asked.values()
            if flags[within].any()
        ]
        assert error == pytest.approx(np.mean(off))


def test_ends_are_compared_in_a_world_for_each_run(tmp_path):
    words = ["ends", "--size", 300, "--length", 20, "--walkers", 4, "--topic", "uk", "--jobs", 1]
    said = done(*words, "--runs", 2, "--graph-per-run", "--out", tmp_path / "each")
    assert "walks of 20 steps; means over 2 runs" in said
    assert (tmp_path / "each/ends.png").stat().st_size > 5_000
    each = csv.read_csv(tmp_path / "each/ends.csv").to_pylist()
    done(*words, "--runs", 1, "--seed", 2, "--world-seed", 2, "--out", tmp_path / "second")
    second = csv.read_csv(tmp_path / "second/ends.csv").to_pylist()
    assert [row for row in each if row["seed"] == 2] == second
    assert {row["scheme"] for row in second} == set(walk_ends.SCHEMES)


# --- experiments


def test_symmetric_lists_make_an_even_law_and_printed_ones_do_not(monkeypatch):
    monkeypatch.setattr(frozen_lists, "GONE_ROUND", 40)
    world = generate_web(TopicWebParameters(200, seed=3))
    rows = list(frozen_lists.measure_biases(world, world.find_topic("uk"), replace(SHORT, runs=1)))
    assert len(rows) == 6
    for row in rows:
        assert row["pages"] > 150
        if row["consistency"] == "symmetric":
            assert row["largest"] == pytest.approx(1)
            assert row["least"] == pytest.approx(1)
        elif row["search"] != "all, 100":
            assert row["misplaced"] > 0.05
            assert row["walked"] > 0.6  # the walk is where the law says


def test_gaps_are_those_of_all_eigenvalues(world):
    topic = world.find_topic("uk")
    whole = np.zeros((world.size, world.size))
    for u, v in neighbours(world):
        whole[u, v] = 1
    for row in frozen_lists.measure_mixing(world, topic):
        rows = np.flatnonzero(truths.find_walkable(world, topic, row["graph"]))
        links = whole[np.ix_(rows, rows)]
        most = links.sum(axis=1).max()
        chain = links / most + np.diag(1 - links.sum(axis=1) / most)
        sizes = np.sort(np.abs(np.linalg.eigvalsh(chain)))
        assert row["gap"] == pytest.approx(sizes[-1] - sizes[-2], abs=1e-9)
        assert row["pages"] == len(rows)
        assert row["steps"] == pytest.approx(np.log(len(rows)) / row["gap"])


def test_a_tree_tells_a_topic_by_other_words_than_the_one_it_was_searched_by():
    world = generate_web(TopicWebParameters(800, seed=2))
    topic = world.find_topic("abortion")
    told = frozen_lists.classify_by_tree(world, topic, 1)
    precision, recall = frozen_lists.measure_quality(told.on, world.about["abortion"])
    assert precision > 0.7
    assert recall > 0.6
    assert told.on.tolist() != topic.on.tolist()
    assert told.parts is topic.parts


def test_precision_and_recall_are_counted():
    on, about = np.array([1, 1, 0, 0, 1], bool), np.array([1, 0, 1, 0, 1], bool)
    assert frozen_lists.measure_quality(on, about) == (pytest.approx(2 / 3), pytest.approx(2 / 3))


def test_what_cannot_be_computed_is_refused(world):
    large = generate_web(TopicWebParameters(frozen_lists.SMALL + 1))
    with pytest.raises(SettingsError, match="this is computed for 5,000"):
        next(frozen_lists.measure_mixing(large, large.find_topic("uk")))
    with pytest.raises(SettingsError, match="no texts"):
        frozen_lists.classify_by_tree(replace(world, texts=None), world.find_topic("uk"), 1)
    nobody = PageTopic("nobody", np.zeros(world.size, bool))
    with pytest.raises(SettingsError, match="no page is on topic"):
        truths.find_reached(world, nobody, "hard")


# --- commands


def done(*words):
    """What a command says."""
    run = CliRunner().invoke(sampling_app, [str(word) for word in words], catch_exceptions=False)
    assert run.exit_code == 0
    return run.stdout


def test_every_command_has_a_title_and_an_entry():
    assert set(COMMANDS) == set(TITLES)
    assert all(name in done("--help") for name in COMMANDS)


def test_a_figure_is_drawn_and_its_data_have_estimates_beside_the_truth(tmp_path):
    said = done("fig2", *TINY, "--topic", "uk", "--out", tmp_path)
    assert "chi-square" in said
    rows = csv.read_csv(tmp_path / "fig2.csv").to_pylist()
    world = generate_web(TopicWebParameters(300))
    on = [host.split(".", 1)[1] for host, of in zip(world.hosts, world.find_topic("uk").on, strict=True) if of]
    for row in rows:
        assert row["truth"] == pytest.approx(Counter(on)[row["bin"]] / len(on))
    assert {row["method"] for row in rows} == set(PAPER)
    assert (tmp_path / "fig2.png").stat().st_size > 5_000
    assert (tmp_path / "fig2.svg").exists()
    assert done("fig2", *TINY, "--topic", "uk", "--out", tmp_path).splitlines()[1:-1] == said.splitlines()[1:-1]


@pytest.mark.parametrize(
    ("words", "intervals"),
    [
        (("fig1", *TINY), "intervals from the visits of each method"),
        (("bias", "--size", 200, *TINY[2:-4], "--runs", 2), "intervals over 2 runs"),
        (("bias", "--size", 200, *TINY[2:-4], "--runs", 1), "one run, so no intervals"),
    ],
)
def test_the_title_of_a_figure_says_what_its_intervals_are_of(words, intervals, tmp_path, monkeypatch):
    titles = []
    monkeypatch.setattr(
        "socialcrawl.lab.experiments.runner.draw",
        lambda stem, frames, across, title, **_: titles.append(title) or [],
    )
    done(*words, "--topic", "uk", "--out", tmp_path)
    assert [intervals in title for title in titles] == [True]


def test_a_law_that_is_even_everywhere_has_no_correlation_to_print(tmp_path, monkeypatch):
    monkeypatch.setattr(frozen_lists, "GONE_ROUND", 1)
    said = done("bias", "--size", 200, *TINY[2:-4], "--runs", 1, "--topic", "uk", "--out", tmp_path)
    even = [line for line in said.splitlines() if " symmetric " in line]
    assert len(even) == 3
    assert all(line.endswith("correlation with visits -") for line in even)
    assert "nan" not in said


def test_an_audit_says_in_how_many_intervals_the_truth_is(tmp_path):
    said = done("audit", *TINY, "--topic", "uk", "--method", "hard", "--out", tmp_path)
    assert "uk, hard: 2 crawls" in said
    rows = csv.read_csv(tmp_path / "audit.csv").to_pylist()
    assert [row["question"] for row in rows] == ["held", "size", "popular", "largest domain", "cycling"]
    assert all(row["runs"] == 2 and row["inside"] in (0, 1, 2) for row in rows)
    told = [line for line in said.splitlines() if " truth " in line]
    assert len(told) == 5
    assert all("no interval shown; mean" in line for line in told), "two walks of 120 steps are not enough data"


def test_an_audit_can_have_a_world_for_each_crawl(tmp_path):
    words = ["--topic", "uk", "--method", "hard", "--out", tmp_path]
    said = done("audit", *TINY, *words, "--graph-per-run")
    assert said.count("300 pages") == 2
    each = [generate_web(TopicWebParameters(300, seed=seed)) for seed in (1, 2)]
    sizes = [truths.find_reached(world, world.find_topic("uk"), "hard").sum() for world in each]
    (row,) = [row for row in csv.read_csv(tmp_path / "audit.csv").to_pylist() if row["question"] == "size"]
    assert (row["runs"], row["truth"]) == (2, np.mean(sizes))
    with pytest.raises(SettingsError, match="--graph-per-run is for audit and ends: fig1 has one world"):
        done("fig1", *TINY, "--graph-per-run", *words)
    with pytest.raises(SettingsError, match="leave out --pages, --posts and --web"):
        done("audit", *TINY, *words, "--graph-per-run", "--posts", tmp_path / "posts.csv")


def test_walks_on_a_wider_topic_of_ones_own_stay_on_it(tmp_path, world):
    words = ["--topic", "hiv", "--wider", "abortion", "--method", "ancestor"]
    assert "hiv, ancestor: 2 crawls" in done("audit", *TINY, *words, "--out", tmp_path)
    wanted = WorldOptions(None, None, None, ("hiv",), 400, 0.0, 5, ("abortion", "uk")).make_world()
    (hiv,) = wanted.topics.values()
    assert hiv.wider.tolist() == (world.find_topic("abortion").on | world.find_topic("uk").on).tolist()
    for visits in seen(wanted, hiv, "ancestor"):
        assert hiv.above[visits["node"]].all()
        assert 0.0 < visits["precision"][0] < 1.0
    keys = {job.key for topic in (hiv, world.find_topic("hiv")) for job in list_jobs(wanted, topic, "ancestor", SHORT)}
    assert len(keys) == 4  # another wider topic, other crawls


def test_a_topic_of_which_no_wider_one_is_known_is_audited_by_all_other_methods(world, uk):
    alone = replace(uk, wider=None)
    assert {*METHODS} - {*list_methods(alone)} == {"ancestor"}
    assert list_methods(uk) == tuple(METHODS)
    with pytest.raises(SettingsError, match="give --wider NAME"):
        list_jobs(world, alone, "ancestor", SHORT)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["fig1", "--size", "300", "--wider", "dogs"], "Unknown topic 'dogs'"),
        (["fig1", "--pages", "a.parquet", "--web", "b.npz"], "Give one of"),
        (["fig1", "--posts", "a.csv"], "--topic WORD"),
        (["fig1", "--size", "300", "--topic", "dogs"], "Unknown topic 'dogs'"),
        (["fig1", "--size", "300", "--method", "soft"], "Unknown method 'soft'"),
        (["fig1", "--size", "300", "--avoid", "dogs"], "Unknown --avoid"),
        (["bias", "--size", "6000"], "this is computed for"),
        (["fig3", "--web", "none.npz"], "There is no file"),
    ],
)
def test_what_cannot_be_done_is_said(tmp_path, words, why):
    with pytest.raises(SettingsError, match=why):
        CliRunner().invoke(sampling_app, [*words, "--out", str(tmp_path)], catch_exceptions=False)
