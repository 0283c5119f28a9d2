"""`make reproduce`: its list names what exists, a run resumes after kill -9, and the index holds every figure."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from hashlib import sha256

import pytest
import typer
from test_house import ROOT

sys.path.insert(0, str(ROOT))

from benchmarks.reproduce import __main__ as reproduce
from benchmarks.reproduce.catalog import SIZES, read_papers
from benchmarks.reproduce.commands import compute_checksums, parse_command
from benchmarks.reproduce.index_page import format_seconds
from benchmarks.reproduce.runs import Reproduction
from socialcrawl.cli.main import app
from socialcrawl.render.html_elements import is_document

PAPERS = read_papers("tiny")
FIGURES = [figure for paper in PAPERS for figure in paper.figures]
STUDIES = ("gouriten", "kumar", "opic", "liverank", "sampling")
PAGE = (ROOT / "docs/how-to/reproduce.md").read_text("utf-8")


def start(out, *names):
    command = [sys.executable, "-m", "benchmarks.reproduce", "--size", "tiny", "--out", str(out), *names]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def read_record(out, label):
    return json.loads((out / label / "run.json").read_text("utf-8"))


def choose(monkeypatch, **runs):
    """Let the list be one paper with these figures, each of one command."""
    made = [
        replace(FIGURES[0], name=name, title=f"The figure {name}", commands=(tuple(line.split()),))
        for name, line in runs.items()
    ]
    papers = [replace(PAPERS[0], figures=tuple(made))]
    monkeypatch.setattr(reproduce, "read_papers", lambda _: papers)


@pytest.mark.parametrize("size", SIZES)
def test_the_list_names_commands_and_options_that_exist(size):
    for paper in read_papers(size):
        for figure in paper.figures:
            assert [parse_command(words).function for words in figure.commands], figure.label


def test_graphs_as_large_as_the_papers_are_made_for_the_figures_that_were_drawn_of_them():
    figures = {figure.label: figure for paper in read_papers("paper") for figure in paper.figures}
    assert {"gouriten/fig3", "gouriten/fig4", "liverank/fig4"} <= set(figures) < {figure.label for figure in FIGURES}
    said = " ".join(figures["gouriten/fig4"].commands[0])
    assert "--users 17000000 --links 93000000" in said
    assert "--seed-sets 10 --seed-size 50 --steps 100000" in said


def test_a_command_or_option_that_does_not_exist_is_found():
    with pytest.raises(ValueError, match="no such command: socialcrawl lab kumar fig9"):
        parse_command(("lab", "kumar", "fig9"))
    with pytest.raises(Exception, match="No such option: --speed"):
        parse_command(("lab", "kumar", "fig1a", "--speed", "9"))


def test_every_experiment_of_every_paper_is_in_the_list():
    lab = typer.main.get_command(app).commands["lab"].commands
    there = {(study, name) for study in STUDIES for name in lab[study].commands if name != "all"}
    assert {words[1:3] for figure in FIGURES for words in figure.commands if words[1] in STUDIES} == there
    assert ("lab", "steering") in {figure.commands[-1][:2] for figure in FIGURES}


def test_every_figure_has_its_own_name_and_findings_that_are_on_the_page_of_its_paper():
    assert len({figure.label for figure in FIGURES}) == len(FIGURES)
    for paper in PAPERS:
        headings = set(re.findall(r"^#+ (.*)$", (ROOT / paper.page).read_text("utf-8"), re.MULTILINE))
        assert {heading for figure in paper.figures for heading in figure.findings} <= headings


def test_ci_makes_all_of_them_at_the_tiny_size_and_the_page_names_every_size():
    assert re.search(r"^make .*\breproduce\b.* SIZE=tiny", (ROOT / ".ci/run").read_text("utf-8"), re.MULTILINE)
    assert all(f"SIZE={size}" in PAGE for size in SIZES if size != "quick")


def test_seeds_and_files_that_are_read_are_taken_from_the_command_line():
    parsed = parse_command(("lab", "gouriten", "fig4", "--seed", "5", "--graph", "a", "--graph", "b"))
    assert parsed.seeds == {"seed": 5, "graph_seed": 1}
    assert [str(path) for path in parsed.inputs] == ["a", "b"]


def test_another_command_or_another_graph_is_another_run_and_the_same_is_not(tmp_path):
    (tmp_path / "g.npz").write_bytes(b"one")
    steering = FIGURES[-1]

    def key(figure=steering):
        return Reproduction(tmp_path / "out", [tmp_path / "g.npz"]).plan(figure).key

    first = key()
    assert key() == first
    assert key(replace(steering, commands=(*steering.commands[:-1], (*steering.commands[-1], "--seed", "2")))) != first
    (tmp_path / "g.npz").write_bytes(b"two")
    assert key() != first


def test_graphs_of_the_user_are_given_to_our_own_comparison_only(tmp_path):
    plans = [Reproduction(tmp_path, [tmp_path]).plan(figure) for figure in FIGURES]
    added = [plan.figure.label for plan in plans if str(tmp_path) in plan.commands[-1]]
    assert added == ["steering/leaderboard"]


def test_times_are_written_in_the_units_that_people_use():
    assert [format_seconds(one) for one in (4.21, 190.0, 7_500.0)] == ["4.2 s", "3 min 10 s", "2 h 5 min"]


def test_a_figure_that_fails_is_shown_as_failed_the_others_are_made_and_it_is_tried_again(
    monkeypatch, tmp_path, capsys
):
    choose(
        monkeypatch,
        good="lab liverank table1 --nodes 500",
        bad="lab kumar fig1a --file gone.csv",
        other="lab opic importance --nodes 50 --crawls 1 --top 3",
    )
    with pytest.raises(SystemExit, match="These figures failed: gouriten/bad"):
        reproduce.main(["--out", str(tmp_path)])
    assert [read_record(tmp_path, f"gouriten/{name}")["exit_code"] for name in ("good", "bad", "other")] == [0, 2, 0]
    page = (tmp_path / "index.html").read_text("utf-8")
    assert is_document(tmp_path / "index.html")
    assert "2 done; 1 failed" in page
    assert "There is no file" in page
    capsys.readouterr()
    with pytest.raises(SystemExit):
        reproduce.main(["--out", str(tmp_path)])
    said = capsys.readouterr().out
    assert said.count("there already") == 2
    assert "gouriten/bad: failed with exit code 2" in said


def test_a_record_names_command_code_seeds_versions_and_checksums_of_what_was_read_and_written(monkeypatch, tmp_path):
    choose(monkeypatch, one="lab opic importance --graph graphs/g --crawls 1 --top 3")
    figure = reproduce.read_papers("tiny")[0].figures[0]
    made = ("lab", "twitter-like", "--users", "60", "--links", "200", "--out", "graphs/g")
    figure = replace(figure, commands=(made, *figure.commands))
    monkeypatch.setattr(reproduce, "read_papers", lambda _: [replace(PAPERS[0], figures=(figure,))])
    reproduce.main(["--out", str(tmp_path)])
    record = read_record(tmp_path, "gouriten/one")
    assert [one["command"] for one in record["commands"]] == [f"socialcrawl {' '.join(one)}" for one in figure.commands]
    assert record["commands"][0]["seeds"] == {"seed": 0}
    assert record["versions"]["numpy"]
    assert len(record["code"]) == 2
    folder = tmp_path / "gouriten/one"
    written = {name: sha256((folder / name).read_bytes()).hexdigest() for name in record["outputs"]}
    assert record["outputs"] == written
    assert "importance.csv" in written
    graph = tmp_path / "work/gouriten/graphs/g"
    assert record["inputs"] == {
        f"graphs/g/{one.name}": sha256(one.read_bytes()).hexdigest() for one in sorted(graph.iterdir())
    }


def test_a_run_that_is_killed_goes_on_and_does_nothing_twice(tmp_path):
    names = ("kumar/fig1a", "kumar/fig1b", "kumar/fig2a")
    first = start(tmp_path, *names)
    while not (tmp_path / "kumar/fig1a/run.json").exists():
        assert first.poll() is None
        time.sleep(0.01)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    before = read_record(tmp_path, "kumar/fig1a")
    crawls = {path.name: path.stat().st_ino for path in (tmp_path / "work/kumar/crawls").iterdir()}
    second = start(tmp_path, *names)
    said, _ = second.communicate(timeout=300)
    assert second.returncode == 0, said
    assert "1 of 3  kumar/fig1a: there already" in said
    assert read_record(tmp_path, "kumar/fig1a") == before
    after = {path.name: path.stat().st_ino for path in (tmp_path / "work/kumar/crawls").iterdir()}
    assert crawls.items() <= after.items()
    assert [read_record(tmp_path, name)["exit_code"] for name in names] == [0, 0, 0]
    page = (tmp_path / "index.html").read_text("utf-8")
    assert f"3 done; {len(FIGURES) - 3} not run yet" in page
    assert all(figure.title.replace("&", "&amp;") in page for figure in FIGURES)
    assert page.count("data:image/png;base64,") == 3
    assert not re.findall(r'(?:src|href)="(?:https?:|//)', page)
    links = set(re.findall(r'href="([^"#]+)"', page))
    assert links
    assert all((tmp_path / link).exists() for link in links)


def test_a_file_that_was_changed_has_another_checksum(tmp_path):
    (tmp_path / "a").write_text("1")
    assert compute_checksums(tmp_path) == {str(tmp_path / "a"): sha256(b"1").hexdigest()}
