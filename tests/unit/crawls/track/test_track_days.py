"""Days of a campaign that tracks accounts, in seconds: a daemon on a virtual clock, a mock whose posts come with it."""

import json

import numpy as np
from virtual_weeks import BEGIN, DAY, TOPICS, WINDOW, K, Virtual, Week, a_mock, in_windows
from x_crawls import TOKEN_ENV, posts_file, rows

from socialcrawl.engine.model import parse_time
from socialcrawl.lab.post_table import read_posts
from socialcrawl.mock.world import build_world

USERS, DAYS, REST = 150, 1.0, 3 * 3600.0


def text(url):
    return (
        f'name = "stay"\nkind = "track"\ndatabase = "days.db"\n[topic]\nkeywords = ["{TOPICS[0]}"]\n'
        "[seeds]\nmost = 10\n"
        '[track]\ntarget = "importance"\nrecrawl = "yru"\nwindow = "all"\nrest = "3h"\n'
        f'[source]\nbase_url = "{url}"\ntoken_env = "{TOKEN_ENV}"\npages_per_user = 32\n'
        f"[limits]\nk = {K}\nd = {WINDOW:.0f}\n"
    )


def test_a_day_of_returns_brings_every_post_once_as_it_is_written_and_no_429(tmp_path):
    file = posts_file(USERS, posts_per_user=20.0)
    world = build_world(read_posts(file))
    times = np.sort(world.created_at)
    begin = float(times[len(times) // 2])
    time = Virtual()
    with a_mock(file, time, moment=begin, speed=1.0) as mock:
        (tmp_path / "stay.toml").write_text(text(mock.url), "utf-8")
        week = Week(tmp_path, time, BEGIN + DAYS * DAY)
        assert not week.run()
        report = mock.report()
    database = tmp_path / "days.db"
    windows = in_windows(report)
    assert report["over"] == 0
    assert max(window["requests"] for window in windows) <= K
    assert not rows(database, "select 1 from request where status = 429")
    # Everybody rests between two visits, and what a return asks for begins where the visit before ended.
    visits = rows(
        database,
        "select o.node, p.since, o.mark, o.at, o.posts from outcome o join pick p using (campaign, n) "
        "where p.act in ('seed', 'expand', 'recrawl') and o.missing is null order by o.n",
    )
    last, marks, brought, returns = {}, {}, {}, 0
    for node, since, mark, arrived, posts in visits:
        at = parse_time(arrived)
        if node in last:
            assert at - last[node] >= REST - 1
            assert since == marks[node]
            returns += 1
        last[node], marks[node], brought[node] = at, mark, brought.get(node, 0) + posts
    assert returns > 100
    # An account's posts are all those that it had written when it was last read, each once.
    names = dict(rows(database, "select node, handle from account where handle is not null"))
    for node, posts in brought.items():
        written = world.created_at[world.timelines.of(world.accounts.by_username[names[node]])]
        moment = begin + last[node] - BEGIN
        assert abs(posts - int((written <= moment).sum())) <= int((abs(written - moment) < 2).sum())
    assert rows(database, "select count(*) - count(distinct id) from post") == [(0,)]
    new = rows(database, "select sum(o.posts) from outcome o join pick p using (campaign, n) where p.act = 'recrawl'")
    assert new[0][0] > 50
    assert {state for _, _, state, _ in week.states} <= {"waiting", "running", "stopped"}
    told = rows(database, "select count(*), sum(visits), max(visits) from standing")[0]
    assert told[1] == len(visits)
    assert told[2] > 3
    assert json.loads(rows(database, "select features from pick where act = 'recrawl' limit 1")[0][0])["visits"] >= 1
