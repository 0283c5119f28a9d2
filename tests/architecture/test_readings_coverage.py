"""A small version of `make coverage ONLY=readings`: ranges of `quote --curve` hold what campaigns then find."""

import sys

import pytest
from test_house import ROOT
from x_crawls import TOPIC, posts_file

sys.path.insert(0, str(ROOT))

from benchmarks.coverage import readings
from benchmarks.coverage.table import covered

WORLD = (500, 3, 60.0)  # accounts, seed, posts of each


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(readings, "SPENT", {"search": (3.0,), "match": (7.5,), "timeline": (10.0,)})
    monkeypatch.setattr(readings, "AHEAD", (9.0, 13.0))
    monkeypatch.setattr(readings, "BUDGET", {"search": 9.0, "match": 9.0, "timeline": 13.0})
    return readings.ReadTopic(posts_file(*WORLD), TOPIC)


@pytest.mark.parametrize(("number", "way"), list(enumerate(readings.WAYS)))
def test_ranges_hold_what_a_campaign_then_finds(small, number, way):
    found = list(readings.find_expectations(small, number))
    assert {one.interval for one in found} == {way, f"{way}, posts"}
    mine = covered(one for one in found if one.interval == way)
    assert mine.shown == mine.runs == len({one.at for one in found}) > 0
    assert mine.share == 1.0
    assert all(one.low < one.high for one in found)
