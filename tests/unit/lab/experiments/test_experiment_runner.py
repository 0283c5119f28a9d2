"""One runner for the experiments of all papers: what it refuses before any work, what it keeps, and what it prints."""

import numpy as np
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

from socialcrawl.errors import SettingsError
from socialcrawl.lab.experiments import runner
from socialcrawl.lab.experiments.figures import Bars
from socialcrawl.lab.experiments.gouriten.commands import gouriten_app
from socialcrawl.lab.experiments.kumar.commands import kumar_app
from socialcrawl.lab.experiments.liverank.commands import liverank_app
from socialcrawl.lab.experiments.opic.commands import opic_app
from socialcrawl.lab.experiments.runner import ExperimentRun
from socialcrawl.lab.experiments.sampling.commands import sampling_app
from socialcrawl.lab.process_pool import CrawlJob

COMMANDS = [
    (gouriten_app, "fig1"),
    (gouriten_app, "fig3"),
    (gouriten_app, "scorings"),
    (kumar_app, "fig1a"),
    (kumar_app, "fig2a"),
    (liverank_app, "fig4"),
    (opic_app, "fig2"),
    (opic_app, "cash"),
    (opic_app, "fig4"),
    (opic_app, "lean"),
    (sampling_app, "fig1"),
    (sampling_app, "bias"),
    (sampling_app, "audit"),
    (sampling_app, "ends"),
]


@pytest.mark.parametrize(("app", "name"), COMMANDS, ids=lambda one: one if isinstance(one, str) else one.info.name)
def test_every_paper_refuses_at_once_what_cannot_work(app, name, tmp_path):
    (tmp_path / "file").write_text("mine")
    for words, why in (
        (["--jobs", "0", "--out", str(tmp_path / "new")], "--jobs 0: give 1 or more"),
        (["--out", str(tmp_path / "file")], "name a folder that can be written"),
    ):
        done = CliRunner().invoke(app, [name, *words])
        assert isinstance(done.exception, SettingsError), done.output
        assert why in str(done.exception)
        assert not done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def square(number):
    return {"number": np.array([number]), "square": np.array([number**2])}


def test_a_crawl_that_is_kept_is_not_made_again(tmp_path, monkeypatch):
    run = ExperimentRun(tmp_path, processes=1)
    run.prepare(runner.CRAWLS)
    jobs = [CrawlJob(["square", number], square, (number,)) for number in (3, 1, 2)]
    assert [table["square"].tolist() for table in run.crawl("squares", jobs[:2])] == [[9], [1]]
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "crawls").iterdir()}
    assert [table["square"].tolist() for table in run.crawl("squares", jobs)] == [[9], [1], [4]]
    assert kept.items() < {path: path.stat().st_mtime_ns for path in (tmp_path / "crawls").iterdir()}.items()


def test_a_run_has_consecutive_seeds():
    assert [*ExperimentRun("out", seed=5, repeats=3).seeds] == [5, 6, 7]


def test_a_figure_is_drawn_beside_its_data_and_all_files_are_named(tmp_path, capsys):
    run = ExperimentRun(tmp_path)
    for name in ("fig", "fig-pairs", "figure", "other"):
        run.write_csv(name, {"x": np.arange(2)})
    run.write_parquet("fig", {"x": np.arange(2)})
    run.draw("fig", [Bars("t", "y", ["a"], [("one", [1.0])])], 1, "title")
    written = f"wrote {tmp_path}/fig.png, {tmp_path}/fig.svg; the data: fig-pairs.csv, fig.csv, fig.parquet\n"
    assert capsys.readouterr().out == written
    assert all((tmp_path / name).stat().st_size for name in ("fig.png", "fig.svg"))
    assert parquet.read_table(tmp_path / "fig.parquet").to_pydict() == {"x": [0, 1]}


def test_rows_are_selected_and_formatted():
    rows = [
        {"law": "b", "way": "x", "mean": 2.0, "mean_low": 1.5, "mean_high": 2.5},
        {"law": "a", "way": "x", "mean": 3.0, "mean_low": float("nan"), "mean_high": float("nan")},
        {"law": "b", "way": "y", "mean": 4.0},
    ]
    assert runner.list_values(rows, "law") == ["b", "a"]
    assert runner.select_rows(rows, law="b", way="y") == [rows[2]]
    assert [runner.format_cell(row, "mean", ".2f") for row in rows] == ["2.00 ± 0.50", "3.00", "4.00"]


def test_two_graphs_of_one_name_are_refused():
    runner.require_different_names(["one", "two"], "graphs")
    with pytest.raises(SettingsError, match="two graphs are called one; run them one after the other"):
        runner.require_different_names(["one", "two", "one"], "graphs")
