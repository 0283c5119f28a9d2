"""`make coverage`: what counts as held, how the tables are written, and that the page in docs agrees with them."""

import re
import sys
from dataclasses import replace

import pytest
from test_house import ROOT

sys.path.insert(0, str(ROOT))

from benchmarks.coverage.table import ALL, PAGE, Shown, covered, keep


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


def read_tables(page):
    """Yield the cells of a page's tables: section, graph, row, column and the cell."""
    section, graph, head = "", "", None
    for line in page.read_text("utf-8").splitlines():
        if line.startswith("#"):
            section, graph = (section, line[4:]) if line.startswith("### ") else (line[3:], "")
        elif line.startswith("| "):
            row, *cells = line.removeprefix("| ").removesuffix(" |").split(" | ")
            head = head or cells
            if cells is not head:
                yield from ((section, graph, row, *pair) for pair in zip(head, cells, strict=True))
        elif not line.startswith("|"):
            head = None


def read_counts(section, graph, start, at):
    """Return the percent (None: never shown), the runs that showed it and all runs, of intervals named so."""
    found = []
    for title, where, interval, when, cell in read_tables(PAGE):
        if (title, where) == (section, graph) and interval.startswith(start) and at in ("", when) and cell != "-":
            numbers = re.match(r"(?:\*\*(\d+)%\*\* of )?(\d+)(?: shown in| of) (\d+)", cell).groups()
            found.append(tuple(None if number is None else int(number) for number in numbers))
    return found


def span(numbers):
    low, high = min(numbers), max(numbers)
    return f"{low} %" if low == high else f"{low} to {high} %"


def say_walks(graph, at):
    counts = read_counts(WALKS, ALL if graph == "all graphs together" else graph, "", at)
    _, shown, runs = counts[0]
    percents = [percent for percent, *_ in counts if percent is not None]
    return f"{shown / runs:.0%}".replace("%", " %") + (f": {span(percents)}" if percents else "")


def say_templates(row, at):
    _, shown, runs = read_counts(TEMPLATES, ALL, "audit: share held", at)[0]
    lowest = min(percent for percent, *_ in read_counts(TEMPLATES, ALL, "", at) if percent is not None)
    return f"{lowest} %" if row.startswith("lowest") else f"{round(100 * shown / runs)} %"


def say_refresh(dataset, at):
    percents = {percent for percent, *_ in read_counts(REFRESH, dataset, "", at)}
    return f"{percents.pop()} %" if len(percents) == 1 else "the two intervals differ"


def say_costs(graph, column):
    counts = read_counts(COSTS, graph, column, "")
    if max(shown for _, shown, _ in counts) <= 4:
        return "withheld"
    return f"{span([percent for percent, *_ in counts])} ({span([round(100 * a / b) for _, a, b in counts])})"


def say_steering(interval, at):
    ((percent, shown, _),) = read_counts(STEERING, ALL, interval, at)
    return f"{percent} % of {shown}"


def say_captures(row, at):
    """The coverage, unless too few intervals were shown, and the share of captures that showed one."""
    alone = row in {graph for section, graph, *_ in read_tables(PAGE) if section == CAPTURES}
    percent, shown, runs = read_counts(CAPTURES, row if alone else ALL, "all runs" if alone else row, at)[0]
    return (f"{percent} % " if shown >= 20 else "") + f"({round(100 * shown / runs)} %)"


def say_readings(way, at):
    counts = read_counts(READINGS, ALL, way, at)
    return f"{counts[0][0]} % of {counts[0][1]}" if counts else "-"


WALKS, TEMPLATES, REFRESH, COSTS, STEERING, CAPTURES, READINGS = SECTIONS = (
    "Samples and audits by walks",
    "Samples and audits with the settings of `init`, and repeated looks",
    "Refreshes of old datasets",
    "Requests and posts that the rest of a crawl takes",
    "What steering gains",
    "Volumes of captures",
    "Relevance that a way of reading finds for more money",
)
SAYING = dict(
    zip(
        SECTIONS,
        (say_walks, say_templates, say_refresh, say_costs, say_steering, say_captures, say_readings),
        strict=True,
    )
)


@pytest.mark.parametrize("section", SECTIONS)
def test_the_page_in_docs_agrees_with_what_was_measured(section):
    page = [cell for cell in read_tables(ROOT / "docs/explanation/coverage.md") if cell[0] == section]
    assert len(page) > 5
    wrong = [
        (row, column, cell, measured)
        for _, _, row, column, cell in page
        if cell != (measured := SAYING[section](row, column))
    ]
    assert not wrong
