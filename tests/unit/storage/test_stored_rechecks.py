"""Checks by look-ups as they are stored: posts move between rounds, rows of absent posts, and what is gone."""

import pytest
from erasure_towns import LATER, crawled
from stores import rows
from tiny_town import close

from socialcrawl.engine.model import format_time
from socialcrawl.storage import stored_checks, stored_rechecks
from socialcrawl.storage.stored_rechecks import ABSENT, GONE, ROUND, UNANSWERED, RowStart

NOW = LATER + 100.0


@pytest.fixture
def town(place):
    store, _ = crawled(place)
    yield store
    close(store)


def begin(store, role, since=NOW, now=NOW):
    return stored_rechecks.begin_row(store.connection, RowStart(store.campaign, role, since, now))


def posts_of(store):
    return sorted(key for (key,) in rows(store, "select id from post"))


def test_posts_move_from_a_round_to_the_absent_and_back_and_each_row_counts_them(town):
    found = begin(town, ROUND)
    absent, vain = begin(town, ABSENT), begin(town, UNANSWERED)
    a, b, c, *_ = posts_of(town)
    moves = [(found, [a]), (absent, [b, "never stored"]), (vain, [c])]
    stored_rechecks.move_posts(town.connection, moves, found)
    checked = {one.id: one.checked for one in stored_rechecks.read_posts(town.connection, "x")}
    assert {key: checked[key] for key in (a, b, c)} == {
        a: format_time(found.began),
        b: format_time(absent.began),
        c: format_time(vain.began),
    }
    assert {checked[key] for key in posts_of(town)[3:]} == {None}
    assert [row.id for row in stored_rechecks.list_rows(town.connection, "x", ABSENT)] == [absent.id]
    stored_rechecks.end_empty_rows(town.connection, "x", NOW + 1)
    assert [row.id for row in stored_rechecks.list_rows(town.connection, "x", ABSENT)] == [absent.id]
    gone = begin(town, GONE)
    stored_rechecks.move_posts(town.connection, [(gone, [b])], found)
    stored_rechecks.end_empty_rows(town.connection, "x", NOW + 2)
    assert stored_rechecks.list_rows(town.connection, "x", ABSENT) == []
    assert [one.id for one in stored_rechecks.read_row_posts(town.connection, gone)] == [b]
    counts = dict(rows(town, "select substr(name, 1, 5), ids from compliance_job"))
    assert counts == {"round": 3, "absen": 1, "unans": 1, "gone-": 1}
    assert stored_rechecks.count_unanswered(town.connection, "x", NOW) == 1


def test_rounds_belong_to_a_campaign_and_rows_of_other_platforms_are_not_read(town):
    name = rows(town, "select name from campaign")[0][0]
    assert stored_rechecks.find_round(town.connection, "x", name) is None
    found = begin(town, ROUND)
    assert stored_rechecks.find_round(town.connection, "x", name).id == found.id
    assert stored_rechecks.find_round(town.connection, "x", "another") is None
    assert stored_rechecks.find_round(town.connection, "bluesky", name) is None
    assert [row.id for row in stored_rechecks.list_rounds(town.connection, "x")] == [found.id]
    assert stored_rechecks.list_rounds(town.connection, "bluesky") == []
    stored_rechecks.end_round(town.connection, found, NOW + 5)
    over = stored_rechecks.find_round(town.connection, "x", name)
    assert (over.is_over, over.last) == (True, True)
    with town.connection.begin():
        summary = stored_checks.summarize_checks(town.connection)
    assert (summary.ended, summary.running) == (format_time(NOW + 5), [])
