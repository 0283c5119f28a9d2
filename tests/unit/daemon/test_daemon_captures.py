"""A daemon with a capture and a campaign that follows it, in one database, on a virtual clock."""

import json

from archive_captures import span, stamp, write_policy
from commands import socialcrawl
from virtual_weeks import BEGIN, TOPICS, WINDOW, K, Virtual, Week, a_mock
from x_crawls import TOKEN_ENV, posts_file, rows

from socialcrawl.daemon.campaign_state import BROKEN, DONE

HOURS = 3


def campaign(name, url, more):
    return (
        f'name = "{name}"\ndatabase = "week.db"\n{more}\n[topic]\nkeywords = ["{TOPICS[0]}"]\n'
        f'[source]\nbase_url = "{url}"\ntoken_env = "{TOKEN_ENV}"\npolicy = {json.dumps(write_policy())}\n'
        f"[limits]\nk = {K}\nd = {WINDOW:.0f}\n"
    )


def test_a_campaign_follows_a_capture_that_is_still_running_whichever_begins_first(tmp_path):
    begin, end = span()
    capture = f'kind = "capture"\n[capture]\nfrom = "{stamp(begin)}"\nuntil = "{stamp(end)}"\nparts = 40\npages = 1'
    people = '[seeds]\nsearch = false\ncapture = "posts"\n[crawl]\nsteps = 60'
    time = Virtual()
    with a_mock(posts_file(), time) as mock:
        (tmp_path / "people.toml").write_text(campaign("people", mock.url, people), "utf-8")
        (tmp_path / "posts.toml").write_text(campaign("posts", mock.url, capture), "utf-8")
        week = Week(tmp_path, time, BEGIN + HOURS * 3600.0, look=60.0)
        assert not week.run()
        assert mock.report()["over"] == 0
    states = {name: [(state, why) for _, its, state, why in week.states if its == name] for name in ("people", "posts")}
    waited = [why for state, why in states["people"] if state == BROKEN]
    assert waited, "it began before the capture did"
    assert all("has no campaign 'posts'" in why for why in waited)
    assert states["posts"][-1][0] == DONE
    database = tmp_path / "week.db"
    numbers = dict(rows(database, "select name, id from campaign"))
    authors = "select count(distinct author) from post p join hit h on h.post = p.id where h.campaign = ?"
    brought = "select count(distinct node), count(distinct batch) from pick where act = 'captured' and campaign = ?"
    ((people_brought, arrivals),) = rows(database, brought, numbers["people"])
    assert arrivals > 2, "they came while the capture went on"
    assert people_brought <= rows(database, authors, numbers["posts"])[0][0]
    missed = (
        "select count(distinct author) from post p join hit h on h.post = p.id where h.campaign = ? and author not in "
        "(select node from pick where campaign = ? and act in ('captured', 'expand'))"
    )
    assert rows(database, missed, numbers["posts"], numbers["people"]) == [(0,)]
    interleaved = "select count(*) from pick where campaign = ? and act = 'captured' and n > "
    interleaved += "(select min(n) from pick where campaign = ? and act = 'expand')"
    assert rows(database, interleaved, numbers["people"], numbers["people"])[0][0] > 0
    child = socialcrawl("verify", database)
    assert (child.returncode, "Everything that can be checked agrees." in child.stdout) == (0, True), child.stdout
