"""The commands of the laboratory of Kumar: what is kept under which name, defaults, figures, what is refused."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from scipy import stats
from typer.testing import CliRunner

from socialcrawl.errors import SettingsError, SocialcrawlError
from socialcrawl.lab.experiments import figures, runner
from socialcrawl.lab.experiments.kumar import dynamic, fixed_graphs, runs
from socialcrawl.lab.experiments.kumar.commands import DYNAMIC, STATIC, kumar_app
from socialcrawl.lab.experiments.kumar.runs import FIGURES, SHOWN, TITLES
from socialcrawl.lab.experiments.kumar.timegraphs import (
    DAY,
    BurstyGraphParameters,
    build_plain_graph,
    generate_time_graph,
)
from socialcrawl.lab.experiments.seed_means import (
    average_curve,
    average_for_figure,
    average_over_seeds,
    compare_pairs,
    summarize_means,
)
from socialcrawl.lab.process_pool import CrawlJob, crawl_missing

TINY = ["--nodes", "200", "--links", "1500", "--runs", "2", "--jobs", "1"]


@pytest.fixture(scope="module")
def graph():
    return generate_time_graph(BurstyGraphParameters(200, 1500, days=3.0, seed=2))


def done(*words):
    """What a command says."""
    run = CliRunner().invoke(kumar_app, [str(word) for word in words], catch_exceptions=False)
    assert run.exit_code == 0
    return run.stdout


# --- files


def test_a_crawl_that_was_kept_is_not_made_again(tmp_path):
    calls = []

    def crawl(number):
        calls.append(number)
        return {"number": np.array([number]), "name": np.array(["x"])}

    jobs = [CrawlJob(["test", number], crawl, (number,)) for number in (1, 2, 1)]
    seen = []
    tables = crawl_missing(jobs, tmp_path, 1, lambda done, total: seen.append((done, total)))
    assert [table["number"].tolist() for table in tables] == [[1], [2], [1]]
    assert seen == [(0, 2), (1, 2), (2, 2)]
    assert crawl_missing(jobs[:2], tmp_path)[1]["name"].tolist() == ["x"]
    assert calls == [1, 2]


def test_what_cannot_be_kept_is_said(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(SocialcrawlError, match="cannot be written"):
        crawl_missing([CrawlJob(["test"], lambda: {"x": np.array([1])}, ())], tmp_path / "taken")


def test_means_over_seeds_have_the_usual_errors():
    rows = {
        "graph": np.array(["g"] * 6),
        "seed": np.array([1, 1, 2, 2, 3, 3]),
        "day": np.array([0.0, 1.0] * 3),
        "crawl": np.array([0.1, 0.2, 0.3, 0.4, np.nan, 0.9]),
    }
    points, means = average_over_seeds(rows, "day", "crawl")
    assert points.tolist() == [0.0, 1.0]
    assert [one.mean for one in means] == pytest.approx([0.2, 0.5])
    assert [one.error for one in means] == pytest.approx([stats.sem([0.1, 0.3]), stats.sem([0.2, 0.4, 0.9])])
    assert [one.n for one in means] == [2, 3]
    averages = [0.15, 0.35, 0.9]
    assert average_curve(rows, "crawl") == pytest.approx((np.mean(averages), stats.sem(averages), 3))
    _, _, halves = average_for_figure(rows, "day", "crawl")
    low, high = stats.t.interval(0.95, 2, loc=0.5, scale=stats.sem([0.2, 0.4, 0.9]))
    assert 0.5 - halves[1] == pytest.approx(low)
    assert 0.5 + halves[1] == pytest.approx(high)
    summary = summarize_means(rows, ("graph",), "day", ("crawl",))
    assert summary["crawl"] == pytest.approx([0.2, 0.5, np.mean([0.15, 0.35, 0.9])])
    assert summary["day"].tolist()[:-1] == [0.0, 1.0]
    assert np.isnan(summary["day"][-1])


def test_every_command_has_its_figure():
    assert set(FIGURES) == set(TITLES) == {*STATIC, *DYNAMIC}
    shown = {column for columns in FIGURES.values() for column in columns}
    assert shown == {*fixed_graphs.COLUMNS, *dynamic.COLUMNS} == set(SHOWN)


def test_differences_of_policies_are_taken_seed_by_seed():
    one, other = np.array([0.1, 0.3, 0.8]), np.array([0.0, 0.25, 0.65])
    rows = {
        "graph": np.array(["g"] * 12),
        "expansion": np.array(["gai"] * 6 + ["ai"] * 6),
        "seed": np.repeat([1, 2, 3, 1, 2, 3], 2),
        "day": np.array([0.0, 1.0] * 6),
        "crawl": np.repeat(np.concatenate([one, other]), 2) + np.array([-0.01, 0.01] * 6),
    }
    found = compare_pairs(rows, ("expansion",), ("crawl",))
    assert list(zip(found["variant"], found["other"], strict=True)) == [("gai", "ai"), ("ai", "gai")]
    assert found["crawl"] == pytest.approx([(one - other).mean(), (other - one).mean()])
    assert found["crawl_error"] == pytest.approx([stats.sem(one - other)] * 2)
    ends = stats.t.interval(0.95, 2, loc=(one - other).mean(), scale=stats.sem(one - other))
    assert [found["crawl_low"][0], found["crawl_high"][0]] == pytest.approx(ends)
    assert [-found["crawl_high"][1], -found["crawl_low"][1]] == pytest.approx(ends)
    assert found["crawl_p"] == pytest.approx([stats.ttest_rel(one, other).pvalue] * 2)
    assert found["crawl_holm"] == pytest.approx(found["crawl_p"]), "there is one pair"
    assert found["seeds"].tolist() == [3, 3]


SHORT = {
    "fig1b": ["--expansion", "gai", "--expansion", "sample-i", "--steps", "100"],
    "fig2a": ["--expansion", "gai", "--recrawl", "or", "--recrawl", "u", "--span", "2", "--every", "900"],
}


@pytest.mark.parametrize("name", SHORT)
def test_a_command_leaves_figure_and_data_and_says_what_it_found(tmp_path, name):
    more = [*TINY, *SHORT[name], "--k", "20", "--out", str(tmp_path)]
    done = CliRunner().invoke(kumar_app, [name, *more], catch_exceptions=False)
    assert done.exit_code == 0
    assert "gai" in done.stdout
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / f"{name}.svg").exists()
    curves = parquet.read_table(tmp_path / f"{name}.parquet").to_pydict()
    assert set(curves["seed"]) == {1, 2}
    means = csv.read_csv(tmp_path / f"{name}.csv").to_pydict()
    assert len(means["graph"]) == 2 * 9  # two policies, at eight points and on average
    assert all(0 <= value <= 1 for value in means["crawl"])
    differences = csv.read_csv(tmp_path / f"{name}-pairs.csv").to_pydict()
    assert differences["crawl"][0] == pytest.approx(-differences["crawl"][1])


def test_a_policy_that_does_not_exist_is_refused_with_those_that_do(tmp_path):
    with pytest.raises(SettingsError, match="Choose one of: u, or"):
        CliRunner().invoke(kumar_app, ["fig2a", "--recrawl", "best", "--out", str(tmp_path)], catch_exceptions=False)


# --- what is kept under which name


def test_a_crawl_of_a_time_graph_has_a_name_of_its_own_whatever_of_it_is_another(graph):
    usual = dynamic.TrackingSettings(every=9000.0)
    changed = [
        *({"window": DAY}, {"every": 8000.0}, {"k": 7}, {"p": 0.4}, {"begin": DAY}, {"length": DAY}),
        *({"per_time": True}, {"any_source": True}, {"points": 5}),
    ]
    assert {name for one in changed for name in one} == set(usual.__dataclass_fields__)
    worlds = [dynamic.make_world("g", graph, replace(usual, **one)) for one in ({}, *changed)]
    worlds += [
        dynamic.make_world("h", graph, usual),
        dynamic.make_world("g", generate_time_graph(BurstyGraphParameters(200, 1500, seed=3)), usual),
    ]
    keys = [job.key for there in worlds for job in dynamic.list_jobs(there, ["ai", "gai"], ["u", "or"], [1, 2])]
    assert len(set(keys)) == len(keys) == 12 * 8
    assert keys[:8] == [job.key for job in dynamic.list_jobs(worlds[0], ["ai", "gai"], ["u", "or"], [1, 2])]


def test_a_crawl_of_a_fixed_graph_has_a_name_of_its_own_whatever_of_it_is_another(graph):
    known, other = (
        build_plain_graph(graph),
        build_plain_graph(generate_time_graph(BurstyGraphParameters(200, 1500, seed=3))),
    )
    theres = [fixed_graphs.make_world(*one) for one in (("g", known, 9, 50), ("h", known, 9, 50), ("g", other, 9, 50))]
    theres += [
        fixed_graphs.make_world(*one) for one in (("g", known, 8, 50), ("g", known, 9, 40), ("g", known, 9, 50, 7))
    ]
    keys = [job.key for there in theres for job in fixed_graphs.list_jobs(there, ["ai", "gai"], [1, 2])]
    assert len(set(keys)) == len(keys) == 6 * 4


@pytest.mark.parametrize("name", ["fig1a", "fig2a"])
def test_two_copies_of_a_file_are_two_graphs(tmp_path, monkeypatch, name):
    monkeypatch.setattr(runner, "draw", lambda *_, **__: [])
    made = generate_time_graph(BurstyGraphParameters(60, 400, days=2.0))
    links = pa.table({"a": made.sources(), "b": made.targets, "ts": made.times})
    for copy in ("one", "two"):
        parquet.write_table(links, tmp_path / f"{copy}.parquet")
    files = ["--file", tmp_path / "one.parquet", "--file", tmp_path / "two.parquet"]
    only = ["--recrawl", "u", "--every", 9000] if name == "fig2a" else ["--steps", 20]
    done(name, *files, *only, "--expansion", "gai", "--k", 9, "--runs", 1, "--jobs", 1, "--out", tmp_path)
    curves = parquet.read_table(tmp_path / f"{name}.parquet").to_pydict()
    half = len(curves["graph"]) // 2
    assert curves["graph"] == ["one"] * half + ["two"] * half
    assert curves["crawl"][:half] == curves["crawl"][half:]


# --- what the options of a command mean


@pytest.fixture
def asked(monkeypatch):
    """What a command hands on, for words: (its arguments, its named arguments)."""
    given = []
    for name in ("discover", "track"):
        monkeypatch.setattr(runs, name, lambda *some, **named: given.append((some, named)))
    return lambda *words: (done(*words), given[-1])[1]


SHAPES = {
    "fig1a": BurstyGraphParameters(343_743, 2_000_000, 37.0, 0.3, 0.2, 1),
    "fig2a": BurstyGraphParameters(100_000, 340_000, 24.0, 0.3, 0.2, 1),
}
USUAL = {"window": 7 * 86_400, "every": 20, "k": 500, "p": 0.5, "begin": 0, "length": None}
SWITCHES = {"per_time": False, "any_source": False, "points": 96}


@pytest.mark.parametrize("name", ["fig2a", "fig2b"])
def test_without_options_tracking_is_as_the_page_has_it(asked, name):
    (title, wanted, *policies, run), named = asked(name)
    assert (title, policies, [*named]) == (name, [(), ()], ["setting"])
    assert vars(named["setting"]) == vars(dynamic.TrackingSettings()) == USUAL | SWITCHES
    assert wanted == runs.TimeGraphOptions((), (), SHAPES["fig2a"])
    assert run == runner.ExperimentRun(Path("kumar"), processes=-1, seed=1, repeats=3)


@pytest.mark.parametrize("name", ["fig1a", "fig1b"])
def test_without_options_discovery_is_as_the_page_has_it(asked, name):
    (title, wanted, expansions, run), named = asked(name)
    assert (title, expansions, named) == (name, (), {"k": 2000, "steps": 20_000})
    assert wanted == runs.TimeGraphOptions((), (), SHAPES["fig1a"])
    assert run == runner.ExperimentRun(Path("kumar"), processes=-1, seed=1, repeats=3)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["--link-days", 30], {"window": 30 * 86_400}),
        (["--every", 200], {"every": 200}),
        (["--k", 50], {"k": 50}),
        (["--p", 0.25], {"p": 0.25}),
        (["--begin", 2.5], {"begin": 216_000}),
        (["--days", 3], {"length": 259_200}),
        (["--per-time"], {"per_time": True}),
        (["--any-source"], {"any_source": True}),
    ],
)
def test_days_are_days_and_every_option_of_tracking_is_heard(asked, words, meant):
    _, named = asked("fig2a", *words)
    assert vars(named["setting"]) == USUAL | SWITCHES | meant


def test_policies_that_a_command_offers_are_those_that_it_takes():
    for names, known in ((STATIC, fixed_graphs.EXPANSIONS), (DYNAMIC, dynamic.EXPANSIONS)):
        for name in names:
            text = " ".join(done(name, "--help").split()).replace("- ", "-")
            offered = re.search(r"--expansion TEXT Compare only these: ([^.]+)\.", text)[1]
            assert sorted(offered.split(", ")) == sorted(known)


# --- what is drawn


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("fig1a", {"crawl": "targets crawled"}),
        ("fig1b", {"rank": "targets ranked first"}),
        ("fig2a", {"crawl": "targets crawled", "discovery": "targets known"}),
        ("fig2b", {"lift": "crawled: times likelier a target", "lift_known": "known: times likelier a target"}),
    ],
)
def test_a_figure_shows_its_measures_a_row_each(tmp_path, monkeypatch, name, drawn):
    shown = []
    monkeypatch.setattr(runner, "draw", lambda *given, **named: shown.append((given, named)) or [])
    only = ["--steps", 20] if name in STATIC else ["--recrawl", "u", "--recrawl", "or", "--every", 9000, "--span", 4]
    done(name, *TINY, *only, "--expansion", "gai", "--expansion", "sample-u", "--k", 20, "--out", tmp_path)
    ((_, panels, across, _), named) = shown[0]
    frames = [()] if name in STATIC else [("gai",), ("sample-u",)]
    assert (across, named) == (len(frames), {"even": True})
    assert [panel.axis for panel in panels] == [axis for axis in drawn.values() for _ in frames]
    curves = {
        key: np.array(column) for key, column in parquet.read_table(tmp_path / f"{name}.parquet").to_pydict().items()
    }
    x, curve = ("step", "expansion") if name in STATIC else ("day", "recrawl")
    places = [(column, frame) for column in drawn for frame in frames]
    for (column, frame), panel in zip(places, panels, strict=True):
        assert panel.title == " · ".join(("generated", *frame))
        assert panel.along == {"step": "nodes crawled", "day": "days"}[x]
        assert [line.label for line in panel.lines] == (["gai", "sample-u"] if name in STATIC else ["u", "or"])
        for line in panel.lines:
            own = (curves[curve] == line.label) & np.isin(curves["expansion"], frame or [line.label])
            one, two = (own & (curves["seed"] == seed) for seed in (1, 2))
            assert line.x.tolist() == curves[x][one].tolist()
            assert line.y == pytest.approx((curves[column][one] + curves[column][two]) / 2)


def test_frames_of_a_row_can_have_the_same_heights(tmp_path, monkeypatch):
    saved = []
    monkeypatch.setattr(figures, "_save", lambda figure, path, _kind: saved.append(figure) or path)
    x = np.arange(3.0)
    panels = [figures.Panel("t", "y", [figures.Curve("u", x, top * x / 2, 0 * x)]) for top in (1, 0.06, 9)]
    for even, ends in ((True, [1.05, 1.05, 9.45]), (False, [1.05, 0.063, 9.45])):
        figures.draw(tmp_path / "x", panels, 2, "", even=even)
        assert [axes.get_ylim()[1] for axes in saved[-1].axes[:3]] == pytest.approx(ends)


# --- what is told, and what is refused before the first crawl


def test_links_of_nodes_to_themselves_are_counted_aloud(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "draw", lambda *_, **__: [])
    made = generate_time_graph(BurstyGraphParameters(60, 400, days=2.0))
    sources = np.concatenate([made.sources(), np.arange(7)])
    targets = np.concatenate([made.targets, np.arange(7)])
    path = tmp_path / "links.csv"
    csv.write_csv(pa.table({"a": sources, "b": targets, "ts": np.concatenate([made.times, np.ones(7)])}), path)
    for name, only in (("fig1a", ["--steps", 5]), ("fig2a", ["--recrawl", "u", "--every", 9000])):
        said = done(name, "--file", path, *only, "--expansion", "gai", "--runs", 1, "--jobs", 1, "--out", tmp_path)
        assert "links: 7 of 407 links go from a node to itself; they are left out" in said


@pytest.mark.parametrize("name", ["fig1a", "fig2a"])
@pytest.mark.parametrize("out", ["taken", "taken/under", "kept"])
def test_a_place_where_nothing_can_be_kept_is_refused_at_once(tmp_path, monkeypatch, name, out):
    monkeypatch.setattr(runs, "generate_time_graph", None)  # not even a graph is made
    (tmp_path / "taken").write_text("mine")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "crawls").write_text("mine")
    with pytest.raises(SettingsError, match=r"--out .*name a folder that can be written\.$"):
        done(name, "--out", tmp_path / out)


@pytest.mark.parametrize("name", ["fig1a", "fig2a"])
def test_no_jobs_are_refused_at_once(tmp_path, name):
    with pytest.raises(SettingsError, match="--jobs 0: give 1 or more"):
        done(name, "--jobs", 0, "--out", tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(("every", "length"), [(1e-9, None), (20.0, 1e12), (1e-320, None), (20.0, np.inf)])
def test_more_fetches_than_anybody_can_mean_are_refused(graph, every, length):
    with pytest.raises(SettingsError, match=r"more than 100,000,000 fetches; .*--every"):
        dynamic.make_world("g", graph, dynamic.TrackingSettings(every=every, length=length))


@pytest.mark.parametrize("name", ["fig1a", "fig2a"])
def test_each_run_can_have_its_own_generated_graph(tmp_path, name):
    shape = ["--nodes", 300, "--links", 1500, "--span", 3, "--k", 20, "--jobs", 1, "--expansion", "gai"]
    more = ["--steps", 50] if name == "fig1a" else ["--every", 3000, "--days", 2.5, "--recrawl", "u"]
    each = done(name, *shape, *more, "--runs", 2, "--graph-per-run", "--out", tmp_path / "each")
    assert each.count("300 nodes") == 2
    done(name, *shape, *more, "--runs", 1, "--seed", 2, "--graph-seed", 2, "--out", tmp_path / "second")
    found, second = (parquet.read_table(tmp_path / one / f"{name}.parquet").to_pylist() for one in ("each", "second"))
    assert str([row for row in found if row["seed"] == 2]) == str(second)  # NaN is NaN
    with pytest.raises(SettingsError, match="leave out --file and --graph"):
        done(name, *shape, "--graph-per-run", "--file", tmp_path / "links.csv", "--out", tmp_path)


def test_crawls_of_different_graphs_are_looked_at_on_the_same_days(tmp_path):
    words = ["fig2a", "--nodes", 300, "--links", 1500, "--span", 3, "--k", 20, "--every", 600, "--jobs", 1]
    done(*words, "--expansion", "gai", "--recrawl", "u", "--runs", 3, "--graph-per-run", "--out", tmp_path)
    rows = parquet.read_table(tmp_path / "fig2a.parquet").to_pylist()
    days = [[row["day"] for row in rows if row["seed"] == seed] for seed in (1, 2, 3)]
    assert days[0] == days[1] == days[2]
