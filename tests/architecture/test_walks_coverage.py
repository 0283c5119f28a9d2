"""A small version of `make coverage ONLY=templates`: intervals hold the truth at the first look that shows any, too."""

import sys

import numpy as np
import pytest
from test_house import ROOT

sys.path.insert(0, str(ROOT))

from benchmarks.coverage import templates, walks
from benchmarks.coverage.table import covered
from benchmarks.coverage.worlds import twins
from socialcrawl.crawls.sample.section import SampleSection

PLACE = {place.title: place for place in twins()}["degrees with a heavy tail"]
LENGTHS, OFTEN = (250, 700), 50


@pytest.fixture(scope="module")
def told():
    return [one for seed in range(6) for one in templates.find_intervals(PLACE, seed, LENGTHS, OFTEN)]


def test_intervals_hold_the_truth_at_the_first_look_that_shows_any(told):
    for at in (walks.FIRST, "700 steps"):
        found = covered(one for one in told if one.at == at)
        assert found.shown >= 0.5 * found.runs
        assert found.share >= 0.9
    assert not any(one.at == walks.FIRST and one.low is None for one in told if one.interval == "audit: share held")


def test_the_first_look_is_the_first_of_all_looks_that_shows_anything():
    """A crawl that stops at each of these lengths, and is asked each time, first shows the same there."""
    default = SampleSection()
    every = range(OFTEN, LENGTHS[-1] + 1, OFTEN)
    each = [*walks.find_intervals(PLACE, 2, every, default.walkers, default.burn_in)]
    first = next(
        f"{length:,} steps"
        for length in every
        if any(one.at == f"{length:,} steps" and one.low is not None for one in each)
    )
    wanted = [(one.low, one.high, one.truth) for one in each if one.at == first]
    found = [one for one in templates.find_intervals(PLACE, 2, LENGTHS, OFTEN) if one.at == walks.FIRST]
    assert [(one.low, one.high, one.truth) for one in found] == wanted
    assert first != f"{OFTEN:,} steps"


def test_alike_rows_of_both_audits_are_one_row(told):
    names = {one.interval for one in told if one.at == "700 steps" and one.interval.startswith("audit")}
    assert len([one for one in told if one.interval == "audit: a gap, held of it" and one.at == "700 steps"]) == 4 * 6
    assert not any("%" in name for name in names)


def test_bars_of_the_histogram_of_links_are_held_against_the_graph(told):
    """Everybody has links to six accounts off topic at least, or to fewer where two of these are one."""
    outs = np.diff(PLACE.world.graph.indptr)[PLACE.topic.on]
    named = {name: [one for one in told if one.interval == f"share: the {name} bar of the histogram of links"]
             for name in ("first", "second", "third", "highest", "lowest")}  # fmt: skip
    for name in ("first", "second"):
        assert not (outs < 2).any()
        assert {(one.low, one.truth) for one in named[name]} == {(None, 0.0)}
    assert {0.0 < low.truth < high.truth for low, high in zip(named["lowest"], named["highest"], strict=True)} == {True}
    assert covered(named["highest"]).shown > 0
