"""docs/explanation/guarantees.md, of campaigns that track accounts: real processes, killed at random moments."""

import json

import pytest
from stores import opened
from test_guarantees import FORKED, FOUND, SIZE, find_undisturbed, hold_the_guarantee, settings
from test_guarantees import found as found_by_any

pytestmark = FORKED
STEPS = 60
STANDING = (
    "select coalesce(a.platform_id, a.username), s.visits, s.occurrences, s.indegree, s.outlinks, s.importance, "
    "s.history, s.gone from standing s join account a on a.node = s.node order by 1"
)


def tracking(url, place):
    """No policy that goes by time: who is killed loses some."""
    track = {"target": "importance", "expansion": "opic", "recrawl": "oru", "window": "all", "rest": "0.000001s"}
    crawl = {"steps": STEPS, "refresh_rate": SIZE}
    return settings(url, place) | {"kind": "track", "track": track, "crawl": crawl}


def found(place):
    """The same as of any campaign, but for yields, which rest on time; marks and standings besides."""
    whole = found_by_any(place)
    known = [json.loads(row[5]) if row[5] else {} for row in whole["picks"]]
    timeless = [{name: value for name, value in one.items() if name != "yield"} for one in known]
    whole["picks"] = [(*row[:5], one) for row, one in zip(whole["picks"], timeless, strict=True)]
    with opened(place) as connection, connection.begin():
        more = {"marks": "select p.n, p.since, o.mark from pick p join outcome o using (campaign, n) order by 1",
                "standings": STANDING}  # fmt: skip
        return whole | {name: [tuple(row) for row in connection.exec_driver_sql(sql)] for name, sql in more.items()}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    whole = find_undisturbed(tmp_path_factory.mktemp("whole"), given=tracking, found=found)
    acts = [row[2] for row in whole["picks"]]
    assert acts.count("expand") + acts.count("recrawl") == STEPS
    assert min(acts.count("expand"), acts.count("recrawl")) > 15
    assert sum(since is not None for _, since, _ in whole["marks"]) > 5
    assert set(FOUND) < set(whole)
    assert all(whole.values())
    return whole


def test_a_campaign_that_tracks_is_killed_at_random_moments_and_finds_what_it_would_have_found(
    database, undisturbed, tmp_path
):
    hold_the_guarantee(database, 3, undisturbed, tmp_path, given=tracking, found=found)


@pytest.mark.chaos
@pytest.mark.timeout(1800)
def test_a_campaign_that_tracks_is_killed_two_hundred_times_and_finds_what_it_would_have_found(
    database, undisturbed, tmp_path
):
    hold_the_guarantee(database, 200, undisturbed, tmp_path, given=tracking, found=found)
