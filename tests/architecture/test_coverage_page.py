"""`make coverage`: what counts as held, and how the page is written."""

import sys
from dataclasses import replace

from test_house import ROOT

sys.path.insert(0, str(ROOT))

from benchmarks.coverage.table import Shown, covered, keep


def a_run(low, high, truth=0.5, at="900 steps"):
    return Shown("share held", "a town", at, low, high, truth)


def test_an_interval_holds_the_truth_at_its_ends_too_and_a_withheld_one_does_not_count():
    runs = [a_run(0.5, 0.6), a_run(0.4, 0.5), a_run(0.1, 0.2), a_run(None, None), a_run(0.5, 0.5 - 1e-12)]
    found = covered(runs)
    assert (found.runs, found.shown, found.holding) == (5, 4, 3)
    assert found.share == 0.75
    assert abs(found.width - 0.1) < 1e-9
    assert not runs[3].holds
    assert covered([runs[3]]).share == 1.0


def test_a_section_of_the_page_is_written_and_then_replaced_and_others_stay(tmp_path):
    page = tmp_path / "coverage.md"
    page.write_text("# How often\n\nWords.\n\n<!-- other -->\n## Other\n<!-- /other -->\n", "utf-8")
    keep(
        "walks",
        "Walks",
        "What a run is.",
        [a_run(0.4, 0.6), a_run(0.6, 0.7), a_run(None, None, at="1,800 steps")],
        page,
    )
    once = page.read_text("utf-8")
    assert once.startswith("# How often\n\nWords.\n\n<!-- other -->")
    assert "| interval | 900 steps | 1,800 steps |" in once
    assert "| share held | **50%** of 2 shown in 2; width 0.15 | 0 of 1 shown |" in once
    assert "All graphs" not in once
    keep("walks", "Walks", "What a run is.", [a_run(0.0, 1_234.0), replace(a_run(0.0, 0.1), graph="a city")], page)
    again = page.read_text("utf-8")
    assert again.count("<!-- walks -->") == again.count("<!-- other -->") == 1
    assert "**100%** of 1 shown in 1; width 1,234" in again
    assert (
        "### All graphs together\n\n| interval | 900 steps |\n|---|---|\n| share held | **50%** of 2 shown in 2 |"
        in again
    )
    assert "1,800 steps" not in again


def test_a_section_may_have_the_table_of_all_graphs_only(tmp_path):
    page = tmp_path / "coverage.md"
    runs = [a_run(0.4, 0.6), replace(a_run(0.6, 0.7), graph="a city")]
    keep("templates", "Templates", "What a run is.", runs, page, apart=False)
    assert [line for line in page.read_text("utf-8").splitlines() if line.startswith("###")] == [
        "### All graphs together"
    ]
    keep("templates", "Templates", "What a run is.", runs[:1], page, apart=False)
    assert "### a town" in page.read_text("utf-8")
