"""The jobs of compliance checks as they are stored: which ids each has, in which order, and what a crash leaves."""

import pytest
from erasure_towns import LATER, crawled, forgotten
from stores import rows
from tiny_town import BEGIN, close

from socialcrawl.engine.model import format_time
from socialcrawl.storage import stored_checks
from socialcrawl.storage.erasure.orders import read_result
from socialcrawl.storage.stored_checks import JobStart

NOW = LATER + 100.0


@pytest.fixture
def town(place):
    store, _ = crawled(place)
    yield store
    close(store)


def begin(store, kind, since, now, most=10_000):
    return stored_checks.begin_job(store.connection, JobStart(store.campaign, kind, since, now, most, f"{kind} {now}"))


def finish(store, job, now):
    values = {"status": "done", "ended_at": now, "removed_posts": 0, "removed_accounts": 0}
    stored_checks.note_job(store.connection, job, **values)


def posts_of(store):
    return sorted(key for (key,) in rows(store, "select id from post"))


def test_jobs_go_through_all_that_is_stored_once_and_begin_again_with_what_was_checked_longest_ago(town):
    seen, now = [], NOW
    while True:
        job = begin(town, "posts", NOW, now, most=20)
        ids = stored_checks.read_ids(town.connection, job)
        assert job.ids == len(ids)
        assert job.last == (len(ids) < 20)
        seen.append(ids)
        finish(town, job, now)
        now += 1.0
        if job.last:
            break
    assert sorted(key for ids in seen for key in ids) == posts_of(town)
    again = begin(town, "posts", now, now, most=20)
    assert stored_checks.read_ids(town.connection, again) == seen[0]


def test_jobs_for_accounts_have_their_ids_on_the_platform(town):
    job = begin(town, "users", NOW, NOW)
    known = rows(town, "select platform_id from account where platform_id is not null")
    assert stored_checks.read_ids(town.connection, job) == sorted(key for (key,) in known)


def test_while_a_job_is_under_way_no_other_of_its_kind_begins(town):
    job = begin(town, "posts", NOW, NOW)
    assert begin(town, "posts", NOW, NOW + 1) is None
    assert begin(town, "users", NOW, NOW) is not None, "even at the same instant"
    finish(town, job, NOW + 2)
    assert begin(town, "posts", NOW + 3, NOW + 3) is not None


def test_what_a_job_was_to_check_that_failed_is_due_again(town):
    job = begin(town, "posts", NOW, NOW, most=20)
    ids = stored_checks.read_ids(town.connection, job)
    stored_checks.note_job(town.connection, job, status="failed", ended_at=NOW + 1)
    other = begin(town, "posts", NOW, NOW + 2, most=20)
    assert stored_checks.read_ids(town.connection, other) == ids


def test_where_nothing_is_left_to_check_a_job_is_done_as_it_begins(town):
    finish(town, begin(town, "posts", NOW, NOW), NOW)
    job = begin(town, "posts", NOW, NOW + 1)
    assert (job.status, job.ids, job.last) == ("done", 0, True)


def test_what_is_forgotten_is_in_no_job_any_more(town):
    job, users = begin(town, "posts", NOW, NOW), begin(town, "users", NOW, NOW)
    before = len(stored_checks.read_ids(town.connection, users))
    forgotten(town, "1003")
    assert stored_checks.read_ids(town.connection, job) == posts_of(town)
    assert rows(town, "select count(*) from post_check") == [(len(posts_of(town)),)]
    assert len(stored_checks.read_ids(town.connection, users)) == before - 1


def test_of_a_result_only_what_is_stored_is_kept(town):
    key = posts_of(town)[0]
    lines = [f'{{"id":"{one}","action":"delete","reason":"deleted"}}' for one in ("1003", "999999999")]
    users = stored_checks.keep_stored(town.connection, read_result("\n".join(lines).encode(), "users"), "x")
    assert users.users == {"1003": "compliance:deleted"}
    elsewhere = stored_checks.keep_stored(town.connection, read_result("\n".join(lines).encode(), "users"), "bluesky")
    assert elsewhere.users == {}
    order = read_result(b"", "posts")
    order.posts = {key: "compliance:deleted", "77": "compliance:deleted"}
    assert stored_checks.keep_stored(town.connection, order, "x").posts == {key: "compliance:deleted"}


def test_a_summary_says_when_the_last_check_ended_and_what_is_under_way(town):
    def summary():
        with town.connection.begin():
            return stored_checks.summarize_checks(town.connection)

    assert summary() is None
    job = begin(town, "posts", NOW, NOW)
    assert summary() == (None, 0, 0, ["posts"])
    assert "not checked yet" in summary().describe()
    at = format_time(BEGIN + 2e6)
    with town.connection.begin():
        stored_checks.note_applied(town.connection, job, 4, 1, at)
    assert summary() == (at, 4, 1, ["posts"])
    stored_checks.note_job(town.connection, job, status="done")
    assert summary() == (at, 4, 1, [])
