"""The daemon looks stored posts of Bluesky up again by the interval of the campaign file, on a virtual clock."""

import httpx
from recheck_campaigns import list_absent, list_shown, list_stored
from test_daemon import World
from virtual_weeks import BEGIN, TOPICS, Virtual, a_mock
from x_crawls import posts_file

from socialcrawl.daemon.campaign_state import STOPPED
from socialcrawl.engine.model import parse_time

HOUR = 3600.0


def write(world):
    (world.folder / "sky.toml").write_text(
        f'name = "sky"\ndatabase = "week.db"\n[topic]\nkeywords = ["{TOPICS[0]}"]\n[seeds]\nmost = 10\n'
        '[crawl]\nestimator = "bfs"\n[budget]\nmax_nodes = 6\n[source]\nplatform = "bluesky"\nopt_outs = false\n'
        f'base_url = "{world.mock.url}"\n[compliance]\nevery = "1d"\n',
        "utf-8",
    )


def test_what_two_look_ups_a_day_apart_miss_is_gone_and_the_rounds_come_once_a_day(tmp_path):
    time, seen = Virtual(), {}
    with a_mock(posts_file(100, 1, 5.0), time, platforms=("bluesky",), bluesky_limit=100_000) as mock:
        world = World(tmp_path, time, mock)
        place = tmp_path / "week.db"

        def delete():
            seen["before"] = list_stored(place)
            faults = [{"kind": "delete", "share": 0.1}]
            httpx.post(f"{mock.url}/_mock/faults", json={"fault": faults}).raise_for_status()
            seen["gone"] = set(seen["before"]) - list_shown(mock.url, place)

        def look(name):
            seen[name] = list_stored(place), list_absent(place)

        write(world)
        world.at(12, delete)
        world.at(36, lambda: look("once"))
        world.live(60, look=600.0)
        assert seen["gone"]
        stored, absent = seen["once"]
        assert (stored, absent >= seen["gone"]) == (seen["before"], True)
        assert set(list_stored(place)) == list_shown(mock.url, place)
        assert world.states("sky").count(STOPPED) == 1, "a check is no news"
        rounds = world.sql("select since from compliance_job where name like 'round-%' order by id")
        assert [round((parse_time(since) - BEGIN) / HOUR) for (since,) in rounds] == [0, 24, 48]
