"""The daemon checks what the platform no longer shows, by the interval of the campaign file, on a virtual clock."""

import pytest
from deletion_checks import authors, go
from test_daemon import World
from virtual_weeks import BEGIN, TOPICS, Virtual, a_mock
from x_crawls import posts_file

from socialcrawl.daemon.campaign_state import PAUSED, RESTING, STOPPED
from socialcrawl.engine.model import parse_time

HOUR = 3600.0
CHECKED = '[compliance]\nevery = "2h"\n'
FEW = "[budget]\nmax_nodes = 12\n"


@pytest.fixture
def world(tmp_path):
    time = Virtual()
    with a_mock(posts_file(), time, job_seconds=300.0) as mock:
        yield World(tmp_path, time, mock)
        assert mock.report()["over"] == 0


def jobs(world):
    """Hours after the begin at which each check of a kind began, and what it removed."""
    found = world.sql("select kind, since, removed_posts, removed_accounts from compliance_job order by id")
    return [(kind, round((parse_time(since) - BEGIN) / HOUR), *removed) for kind, since, *removed in found]


def busiest(world):
    found = authors(world.folder / "week.db")
    return max(found, key=lambda name: len(found[name])), found


def test_a_campaign_that_has_stopped_is_still_checked_by_its_interval(world):
    gone = {}

    def delete():
        name, found = busiest(world)
        gone[name] = len(found[name])
        go(world.mock, delete=[name])

    world.write("alone", FEW + CHECKED)
    world.at(3, delete)
    world.live(7)
    assert "max_nodes" in world.why("alone", STOPPED)[0]
    assert world.states("alone").count(STOPPED) == 1, "a check is no news"
    ((name, count),) = gone.items()
    assert count > 5
    assert name not in busiest(world)[1]
    checks = jobs(world)
    assert [check[:2] for check in checks if check[0] == "posts"] == [("posts", hour) for hour in (0, 2, 4, 6)]
    removed = [check[2] for check in checks if check[0] == "posts"]
    assert (removed[:2], removed[2] >= count, removed[3]) == ([0, 0], True, 0)
    assert [check[3] for check in checks if check[0] == "users"] == [0, 0, 1, 0]


def test_a_check_waits_for_no_turn_of_the_schedule(world):
    world.write("resting", f'{CHECKED}[schedule]\nevery = "7d"\nlasting = "1m"\n')
    world.live(5)
    assert world.states("resting")[-2:] == [RESTING, STOPPED], "until the daemon is stopped"
    assert [check[1] for check in jobs(world) if check[0] == "users"] == [0, 2, 4]


def test_other_campaigns_of_the_database_are_paused_while_something_is_removed_and_then_go_on(world):
    name = {}

    def delete():
        name.update(gone=busiest(world)[0])
        go(world.mock, delete=[name["gone"]])

    world.write("alone", FEW + CHECKED)
    world.write("other", keyword=TOPICS[1])
    world.at(1, delete)
    world.live(3, look=20.0)
    assert name["gone"] not in busiest(world)[1]
    assert sum(check[2] for check in jobs(world)) > 5
    paused = [line["why"] for line in world.week.logged if (line["event"], line.get("campaign")) == (PAUSED, "other")]
    assert paused
    assert all("compliance" in why for why in paused)
    assert world.sql("select count(*) from campaign where paused_at is not null") == [(0,)]


def test_a_campaign_without_the_section_is_not_checked(world):
    world.write("alone", FEW)
    world.live(3)
    assert jobs(world) == []
