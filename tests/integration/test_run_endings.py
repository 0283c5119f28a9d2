"""How a campaign ended that no daemon ran is stored: `status` and the pages say whether it is done."""

import json
import sqlite3
import time
from contextlib import closing

import pytest
from archive_captures import MANY, capturing, span, stamp
from commands import socialcrawl
from stores import opened
from x_crawls import posts

import socialcrawl as sc
from socialcrawl.engine.model import format_time
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.storage import daemons
from socialcrawl.storage.daemons import CampaignHeartbeat


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), limit=100_000) as one:
        yield one


def settings_of(mock, folder, **more):
    """The sections of a small capture, which has no number of steps that would tell that it is done."""
    begin, end = span()
    until = stamp(begin + (end - begin) // 4)
    return capturing(mock.url, folder / "a.db", limits=MANY, **more, capture={"until": until, "parts": 6})


def make_capture(mock, folder, **more):
    return sc.Campaign(**settings_of(mock, folder, **more))


def find(folder):
    """How the campaign stands: the same for the pages and for `status`."""
    one = sc.open_project(folder / "a.db").find("campaign")
    (told,) = json.loads(socialcrawl("status", "--db", folder / "a.db", "--json").stdout)
    assert (told["state"], told["why"]) == (one.state, one.why)
    return one


def change(folder, statement, *values):
    with closing(sqlite3.connect(folder / "a.db")) as plain, plain:
        plain.execute(statement, values)


def test_a_capture_that_has_read_everything_is_done_until_a_later_run_is_killed(mock, tmp_path):
    before = time.time()
    ending = make_capture(mock, tmp_path).run()
    assert ending.state == "done"
    one = find(tmp_path)
    assert (one.state, one.why, one.alerts, one.watched, one.daemon) == ("done", ending.why, (), False, None)
    assert format_time(before) <= one.since <= format_time(time.time())
    with opened(tmp_path / "a.db") as connection:
        assert daemons.find_live_daemons(connection, time.time()) == [], "no daemon is left to be stopped"
    # as a run leaves it that was killed: it has sent something since
    change(tmp_path, "update request set sent_at = ? where n = 1", format_time(time.time() + 60))
    one = find(tmp_path)
    assert (one.state, one.why, one.since) == ("idle", "nobody runs it now", None)


def test_a_budget_that_ended_a_run_is_said_and_what_to_do(mock, tmp_path):
    make_capture(mock, tmp_path, budget={"max_requests": 2}).run()
    one = find(tmp_path)
    assert (one.state, one.requests) == ("stopped", 2)
    assert one.why.startswith("the budget max_requests = 2 requests is reached")
    assert one.why.endswith("raise it in the campaign file to go on")


def test_a_program_that_goes_on_with_a_campaign_is_running_it_though_it_ended_before(mock, tmp_path):
    make_capture(mock, tmp_path, budget={"max_requests": 2}).run()
    seen = []
    more = make_capture(mock, tmp_path, budget={"max_requests": 4})
    more.run(on_progress=lambda progress: seen.append(sc.open_project(tmp_path / "a.db").find("campaign").state))
    assert set(seen) == {"running"}
    assert find(tmp_path).state == "stopped"


def test_another_file_than_it_ended_with_lets_a_campaign_go_on(mock, tmp_path):
    (tmp_path / "end.toml").write_text(write_toml(settings_of(mock, tmp_path)), "utf-8")
    sc.Campaign.load(tmp_path / "end.toml").run()
    project = sc.open_project(tmp_path)
    assert project.find("campaign").state == "done"
    text = (tmp_path / "end.toml").read_text("utf-8")
    (tmp_path / "end.toml").write_text(f"{text}[schedule]\nevery = '1d'\n", "utf-8")
    assert sc.open_project(tmp_path).find("campaign").state == "done", "a schedule adds nothing to be read"
    (tmp_path / "end.toml").write_text(f"{text}[budget]\nmax_money = 9\n", "utf-8")
    assert sc.open_project(tmp_path).find("campaign").state == "idle"


def write_toml(values):
    """The text of a campaign file with these sections."""
    lines = [f"{name} = {json.dumps(value)}" for name, value in values.items() if not isinstance(value, dict)]
    for name, section in values.items():
        if isinstance(section, dict):
            lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in section.items())]
    return "\n".join([*lines, ""])


def test_the_row_of_a_daemon_that_looks_after_a_campaign_is_left_to_it(mock, tmp_path):
    make_capture(mock, tmp_path, budget={"max_requests": 2}).run()
    now = time.time()
    with opened(tmp_path / "a.db") as connection:
        daemons.enroll_daemon(connection, "d", "elsewhere", 4711, now)
        beat = CampaignHeartbeat("campaign", "waiting", "for its window", None, now, held=True, since=now)
        daemons.write_heartbeat(connection, "d", [beat], now)
        daemons.record_ending(connection, "campaign", "done", "all is read", now)
        (lease,) = daemons.read_leases(connection)
    assert (lease.daemon, lease.state, lease.why) == ("d", "waiting", "for its window")
