"""What daemons write down and are told through the database, on both databases."""

import psycopg
import pytest
from postgres import a_server_database
from stores import AT, opened
from tiny_town import BEGIN, SETTINGS

from socialcrawl.daemon.daemon_records import SOUND, DaemonRecords
from socialcrawl.errors import StoreError
from socialcrawl.storage import daemons
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.daemons import EXPIRY, CampaignHeartbeat
from socialcrawl.storage.database.connection import name_process


@pytest.fixture
def two(place):
    """A database with the campaigns one and two."""
    with opened(place) as connection:
        for name in ("one", "two"):
            ensure_campaign(connection, SETTINGS | {"name": name}, {}, BEGIN)
        yield connection


def told(campaign="one", state="running", **more):
    given = {"why": "it asks", "until": None, "moved": None, "held": True} | more
    return CampaignHeartbeat(campaign, state, **given)


def state_of(connection, name="one"):
    return next(one for one in daemons.read_leases(connection) if one.campaign == name)


def test_a_campaign_that_no_daemon_ever_ran_has_no_state(two):
    one = state_of(two)
    assert (one.daemon, one.state, one.paused, one.is_alive(AT)) == (None, "", None, False)


def test_a_heartbeat_says_who_has_a_campaign_and_how_it_goes(two):
    daemons.enroll_daemon(two, "a:1:x", "a", 1, AT)
    daemons.write_heartbeat(two, "a:1:x", [told(until=AT + 9, moved=AT - 1), told("two", "waiting")], AT)
    one = state_of(two)
    assert (one.daemon, one.host, one.pid, one.state, one.why) == ("a:1:x", "a", 1, "running", "it asks")
    assert (one.until, one.moved, one.beat, one.released) == (AT + 9, AT - 1, AT, None)
    assert one.is_alive(AT + EXPIRY - 1)
    assert not one.is_alive(AT + EXPIRY)


def test_a_campaign_that_has_not_begun_gets_no_row(two):
    daemons.enroll_daemon(two, "a:1:x", "a", 1, AT)
    daemons.write_heartbeat(two, "a:1:x", [told("nobody")], AT)
    assert [one.campaign for one in daemons.read_leases(two)] == ["one", "two"]


def test_a_daemon_that_has_let_go_leaves_its_last_word(two):
    daemons.enroll_daemon(two, "a:1:x", "a", 1, AT)
    daemons.write_heartbeat(two, "a:1:x", [told()], AT)
    daemons.write_heartbeat(two, "a:1:x", [told(state="paused", held=False)], AT + 5)
    daemons.write_heartbeat(two, "a:1:x", [told(state="paused", held=False)], AT + 15)
    one = state_of(two)
    assert (one.state, one.released, one.beat, one.is_alive(AT + 15)) == ("paused", AT + 5, AT + 15, False)


def test_only_who_has_a_campaign_takes_over_the_row_of_another_daemon(two):
    for name in ("a", "b"):
        daemons.enroll_daemon(two, name, name, 1, AT)
    daemons.write_heartbeat(two, "a", [told()], AT)
    daemons.write_heartbeat(two, "b", [told(state="elsewhere", held=False)], AT + 1)
    assert state_of(two).daemon == "a"
    daemons.write_heartbeat(two, "b", [told(state="running")], AT + 2)
    assert state_of(two).daemon == "b"
    daemons.write_heartbeat(two, "a", [told(state="elsewhere", held=False)], AT + 3)
    assert (state_of(two).daemon, state_of(two).state) == ("b", "running")


def test_a_campaign_that_another_daemon_has_let_go_is_written_by_the_one_under_which_it_moved(two):
    daemons.enroll_daemon(two, "a:1:x", "a", 1, AT)
    daemons.enroll_daemon(two, "b:2:y", "b", 2, AT)
    daemons.write_heartbeat(two, "a:1:x", [told(state="done", why="all 2 steps are done", moved=AT, held=False)], AT)
    daemons.write_heartbeat(two, "b:2:y", [told(state="done", why="it stood so", moved=AT, held=False)], AT + 1)
    assert (state_of(two).daemon, state_of(two).why) == ("a:1:x", "all 2 steps are done")
    daemons.write_heartbeat(
        two, "b:2:y", [told(state="done", why="all 6 steps are done", moved=AT + 2, held=False)], AT + 3
    )
    daemons.write_heartbeat(
        two, "a:1:x", [told(state="done", why="all 2 steps are done", moved=AT, held=False)], AT + 4
    )
    one = state_of(two)
    assert (one.daemon, one.why, one.moved, one.released) == ("b:2:y", "all 6 steps are done", AT + 2, AT + 3)


def test_the_instant_at_which_it_was_taken_stays_until_it_is_taken_again(two):
    def taken():
        with two.begin():
            return two.exec_driver_sql("select taken_at from lease").scalar()

    daemons.enroll_daemon(two, "a", "a", 1, AT)
    daemons.write_heartbeat(two, "a", [told()], AT)
    first = taken()
    daemons.write_heartbeat(two, "a", [told()], AT + 5)
    daemons.write_heartbeat(two, "a", [told(held=False)], AT + 6)
    assert taken() == first
    daemons.write_heartbeat(two, "a", [told()], AT + 7)
    assert taken() > first


def test_a_daemon_that_leaves_lets_go_of_all(two):
    daemons.enroll_daemon(two, "a", "a", 1, AT)
    daemons.write_heartbeat(two, "a", [told(), told("two")], AT)
    daemons.sign_off(two, "a", AT + 1)
    assert [one.released for one in daemons.read_leases(two)] == [AT + 1, AT + 1]
    assert daemons.find_live_daemons(two, AT + 1) == []


def test_the_living_are_those_that_were_heard_of_a_short_while_ago(two):
    for name, at in (("old", AT - EXPIRY - 1), ("young", AT)):
        daemons.enroll_daemon(two, name, "here", 1, at)
    assert [one.id for one in daemons.find_live_daemons(two, AT)] == ["young"]
    daemons.write_heartbeat(two, "old", [], AT)
    assert [one.id for one in daemons.find_live_daemons(two, AT)] == ["old", "young"]


def test_whoever_is_asked_to_stop_is_told_once(two):
    daemons.enroll_daemon(two, "a", "a", 1, AT)
    daemons.enroll_daemon(two, "a", "a", 1, AT + 1)  # it may begin its rows again
    assert not daemons.is_stop_requested(two, "a")
    assert [one.id for one in daemons.request_stop(two, AT)] == ["a"]
    assert daemons.is_stop_requested(two, "a")
    assert [(one.id, one.asked) for one in daemons.request_stop(two, AT + 1)] == [("a", True)]
    assert not daemons.is_stop_requested(two, "nobody")


def test_pausing_and_resuming_name_what_they_changed(two):
    assert daemons.pause_campaigns(two, ["two", "nobody"], AT) == ["two"]
    assert daemons.pause_campaigns(two, ["one", "two"], AT) == ["one"]
    assert [one.paused for one in daemons.read_leases(two)] == [AT, AT]
    assert daemons.resume_campaigns(two, ["two"]) == ["two"]
    assert [one.paused for one in daemons.read_leases(two)] == [AT, None]


def test_books_know_the_other_daemon_that_has_a_campaign(two, place):
    books = DaemonRecords("me", "here", 7, lambda where, trouble: None)
    daemons.enroll_daemon(two, "they", "there", 5, AT)
    daemons.write_heartbeat(two, "they", [told()], daemons.read_clock(two, AT))
    stop, held = books.read_orders(place, AT)
    assert (stop, set(held)) == (False, {"one", "two"})
    assert books.find_other(place, "one", AT, lambda pid: False).daemon == "they"
    assert books.find_other(place, "one", AT + EXPIRY, lambda pid: True) is None
    assert books.find_other(place, "two", AT, lambda pid: True) is None
    books.leave(place, [], AT)


def test_machines_whose_clocks_differ_agree_on_who_is_silent():
    """Heartbeats are told by the clock of the server; on a file all daemons have the same clock."""
    with a_server_database() as place, opened(place) as connection:
        ensure_campaign(connection, SETTINGS | {"name": "one"}, {}, BEGIN)
        one, two = (DaemonRecords(name, name, 7, lambda where, trouble: None) for name in ("slow", "fast"))
        slow, fast = AT - 3600.0, AT + 3600.0
        one.write_states(place, [told()], slow)
        one.write_share(place, 2.0, ["one"], slow)
        two.write_states(place, [], fast)
        two.read_orders(place, fast)
        assert two.find_other(place, "one", fast, lambda pid: True).daemon == "slow"
        assert two.find_other(place, "one", fast + EXPIRY, lambda pid: True) is None
        assert [(each.id, each.weight, each.campaigns) for each in two.list_living(place)] == [
            ("slow", 2.0, {"one"}),
            ("fast", 1.0, set()),
        ]
        one.leave(place, [], slow)
        two.leave(place, [], fast)


def test_that_another_process_runs_a_campaign_is_only_written_by_who_had_it_last(two):
    for name in ("a", "b"):
        daemons.enroll_daemon(two, name, name, 1, AT)
    daemons.write_heartbeat(two, "b", [told(state="elsewhere", held=False)], AT)
    assert state_of(two).daemon is None
    daemons.write_heartbeat(two, "a", [told(moved=AT)], AT)
    late = AT + 2 * EXPIRY
    daemons.write_heartbeat(two, "b", [told(state="elsewhere", held=False)], late)
    assert (state_of(two).daemon, state_of(two).moved) == ("a", AT), "who takes it over reads there how to go on"
    daemons.write_heartbeat(two, "a", [told(state="elsewhere", held=False)], late)
    assert (state_of(two).daemon, state_of(two).state) == ("a", "elsewhere")


def test_of_this_machine_only_processes_that_live_have_a_campaign(two, place):
    books = DaemonRecords("me", "here", 7, lambda where, trouble: None)
    daemons.enroll_daemon(two, "before", "here", 5, AT)
    daemons.write_heartbeat(two, "before", [told()], daemons.read_clock(two, AT))
    books.read_orders(place, AT)
    assert books.find_other(place, "one", AT, lambda pid: pid == 5).daemon == "before"
    assert books.find_other(place, "one", AT, lambda pid: False) is None
    books.leave(place, [], AT)


def test_a_database_that_is_away_is_complained_of_once_and_again_when_it_is_back(tmp_path):
    said = []
    books = DaemonRecords("me", "here", 7, lambda where, trouble: said.append(bool(trouble)))
    path = tmp_path / "a.db"
    assert books.read_orders(path, AT) == (False, {})
    path.rename(tmp_path / "aside")
    assert books.read_orders(path, AT) is None
    assert books.read_orders(path, AT) is None
    books.write_states(path, [], AT)
    assert not path.exists(), "no other database is begun in its place"
    (tmp_path / "aside").rename(path)
    assert books.read_orders(path, AT) == (False, {})
    assert said == [True, False]
    books.leave(path, [], AT)


def test_a_database_that_can_be_read_and_not_written_is_complained_of_once_until_it_can(tmp_path, monkeypatch):
    """As on a disk that is full: to look at it works all the time."""
    said, path = [], tmp_path / "a.db"
    books = DaemonRecords("me", "here", 7, lambda where, trouble: said.append(trouble))
    books.read_orders(path, AT)

    def full(*given):
        raise StoreError("The disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(daemons, "write_heartbeat", full)
        for _ in range(5):
            books.write_states(path, [], AT)
            assert books.read_orders(path, AT) == (False, {})
    assert said == ["The disk is full"]
    for later, told in ((0, 1), (SOUND - 1, 1), (SOUND, 2)):
        books.write_states(path, [], AT + later)
        assert said == ["The disk is full", ""][:told]
    books.leave(path, [], AT)


def test_a_stop_is_no_pause_and_either_is_ended_by_resuming(two):
    assert daemons.stop_campaigns(two, ["one"], AT) == ["one"]
    assert (state_of(two).paused, state_of(two).stopped, state_of(two, "two").stopped) == (AT, True, False)
    assert daemons.pause_campaigns(two, ["one"], AT + 1) == ["one"]
    assert (state_of(two).paused, state_of(two).stopped) == (AT + 1, False)
    assert daemons.stop_campaigns(two, ["one"], AT + 2) == ["one"]
    assert daemons.resume_campaigns(two, ["one"]) == ["one"]
    assert (state_of(two).paused, state_of(two).stopped) == (None, False)


def test_a_campaign_that_a_command_has_paused_is_not_stopped(two):
    by = daemons.Pauser("forget", 12, "a")
    daemons.pause_campaigns(two, ["one"], AT, by)
    assert daemons.stop_campaigns(two, ["one"], AT + 1) == []
    assert state_of(two).paused_by == by


def test_connections_of_a_process_are_ended_once_all_of_them_are_silent(monkeypatch):
    with a_server_database() as place, opened(place) as connection:
        its = [psycopg.connect(place.url, application_name=name_process(77, "elsewhere")) for _ in range(2)]
        assert daemons.end_silent_sessions(connection, "elsewhere", 78) is None, "another process"
        assert daemons.end_silent_sessions(connection, "elsewhere", 77) is False, "they began a moment ago"
        its[0].execute("select 1")
        monkeypatch.setattr(daemons, "EXPIRY", 0.0)
        assert daemons.end_silent_sessions(connection, "elsewhere", 77) is True
        for one in its:
            with pytest.raises(psycopg.OperationalError):
                one.execute("select 1")
            one.close()
