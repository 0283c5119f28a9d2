"""Compliance checks on the mock: a crawl, accounts that go, the job, and that what is gone is gone from everywhere."""

import json
import logging
from contextlib import closing
from itertools import count, cycle
from pathlib import Path

import pytest
import requests
from commands import campaign_file, socialcrawl
from deletion_checks import NOW, authors, crawled, go, run_check
from killed_campaigns import Reaper, nursery
from x_crawls import TOKEN, campaign_of, posts_file, rows

from socialcrawl.campaign import compliance_check
from socialcrawl.campaign.build import build
from socialcrawl.campaign.check_selection import make_check
from socialcrawl.engine.model import Grant, Wait
from socialcrawl.errors import SourceError
from socialcrawl.mock import faults
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.render.live_screen import CampaignView
from socialcrawl.storage.database.connection import open_database

SIGNED = ("X-Goog", "submission", "delivery")
STEPS = {"crawl": {"steps": 12}}
DONE = "select count(*) from compliance_job where status = 'done'"


@pytest.fixture
def at_once(monkeypatch):
    for name, value in NOW.items():
        monkeypatch.setattr(compliance_check, name, value)


@pytest.fixture
def mock():
    with serve_in_thread(posts_file(), platforms=("x",)) as mock:
        yield mock


def dump(database):
    """All that is in a database, as text."""
    with open_database(database, create=False) as connection, connection.begin():
        names = connection.exec_driver_sql("select name from sqlite_master where type = 'table'").scalars().all()
        return {name: repr(connection.exec_driver_sql(f"select * from {name}").all()) for name in names}


def leave(mock, settings):
    """Let three accounts with posts go; what is stored of them: (username, id, ids of posts)."""
    found = authors(settings.database)
    names = sorted(found, key=lambda name: (-len(found[name]), name))[1:4]
    ids = dict(rows(settings.database, "select username, platform_id from account"))
    go(mock, delete=names[:1], suspend=names[1:2], protect=names[2:])
    return [(name, ids[name], found[name]) for name in names]


def state(settings):
    """What is left of posts and accounts."""
    posts = {key for (key,) in rows(settings.database, "select id from post")}
    return posts, {key for (key,) in rows(settings.database, "select platform_id from account") if key is not None}


def expected(before, gone, settings):
    """What is to be left: all but the posts of who is gone, and reposts of them, and those accounts."""
    reposts = dict(rows(settings.database, "select id, repost_of from post"))
    mentioned = rows(
        settings.database,
        "select m.post from mention m join account a on a.node = m.node where m.kind = 'repost' and a.platform_id in "
        f"({','.join(repr(key) for _, key, _ in gone)})",
    )
    lost = {key for _, _, posts in gone for key in posts} | {key for (key,) in mentioned}
    while more := {key for key, of in reposts.items() if of in lost} - lost:
        lost |= more
    posts, accounts = before
    return posts - lost, accounts - {key for _, key, _ in gone}


def test_what_the_result_names_is_gone_from_every_table_and_export_and_nothing_else(tmp_path, mock, at_once):
    settings = crawled(campaign_of(mock.url, tmp_path / "x.db", **STEPS))
    gone, before = leave(mock, settings), state(settings)
    left = expected(before, gone, settings)
    reports = run_check(settings)
    assert state(settings) == left
    assert sum(report.counts["account"] for report in reports) == 3
    assert sum(report.counts["post"] for report in reports) == len(before[0]) - len(left[0])
    done = socialcrawl("export", settings.database, "--out", tmp_path / "out", "--format", "csv")
    assert done.returncode == 0, done.stderr
    texts = {**dump(settings.database)}
    texts |= {str(path): path.read_text("utf-8") for path in (tmp_path / "out").rglob("*") if path.is_file()}
    raw = settings.database.read_bytes()
    for name, key, posts in gone:
        assert f"@{name}".lower().encode() not in raw.lower()
        for word in (key, *posts):
            assert word.encode() not in raw
            assert [place for place, text in texts.items() if word in text] == []
    sheet = json.loads((tmp_path / "out" / "datasheet.json").read_text("utf-8"))
    assert {row["why"] for row in sheet["tombstones"]} == {
        "compliance:deleted",
        "compliance:suspended",
        "compliance:protected",
    }


def test_each_post_and_account_is_checked_once_in_jobs_of_a_few(tmp_path, mock, at_once):
    settings = crawled(campaign_of(mock.url, tmp_path / "x.db", **STEPS))
    gone, before = leave(mock, settings), state(settings)
    left = expected(before, gone, settings)
    run_check(settings, most=60)
    assert state(settings) == left
    jobs = rows(settings.database, "select kind, ids, last, status from compliance_job order by id")
    assert {status for *_, status in jobs} == {"done"}
    assert sum(last for _, _, last, _ in jobs) == 2
    assert sum(ids for kind, ids, _, _ in jobs if kind == "users") >= len(left[1])
    assert all(ids == 60 for _, ids, last, _ in jobs if not last)
    assert rows(settings.database, "select count(*) from post_check") == [(len(left[0]),)]


def test_no_token_and_no_signed_address_is_stored_or_logged(tmp_path, mock, at_once, caplog):
    settings = campaign_of(mock.url, tmp_path / "x.db", **STEPS, source={"keep_answers": True, "keep_original": True})
    leave(mock, crawled(settings))
    with caplog.at_level(logging.DEBUG):
        run_check(settings)
    found = repr(dump(settings.database)) + caplog.text
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    for word in (*SIGNED, TOKEN):
        assert word not in found
        assert word.encode() not in files


def in_child(settings):
    """The settings as a child gets them; in the place of the seed the number of ids of a job."""
    given = settings.model_dump(mode="json")
    return {key: given[key] for key in ("name", "database", "topic", "seeds", "crawl", "source", "limits", "seed")}


def all_is_done(settings, before, left):
    assert state(settings) == left
    jobs = rows(settings.database, "select kind, status, removed_posts, removed_accounts from compliance_job")
    assert [job[:2] for job in jobs] == [("posts", "done"), ("users", "done")]
    assert sum(job[2] for job in jobs) == len(before[0]) - len(left[0])
    assert sum(job[3] for job in jobs) == len(before[1]) - len(left[1])


def test_a_process_that_is_killed_before_its_statements_goes_on_to_the_same_end(tmp_path, mock):
    settings = crawled(campaign_of(mock.url, tmp_path / "x.db", **STEPS, seed=100_000))
    gone, before = leave(mock, settings), state(settings)
    left, kills = expected(before, gone, settings), 0
    with nursery(tmp_path / "errors", "deletion_checks") as children:
        for statement in count(25, 7):
            code = children.run(in_child(settings), statement=statement)
            if code == 0 or rows(settings.database, DONE) == [(2,)]:  # who dies with all done would check all again
                break
            assert code == -9, (tmp_path / "errors").read_text()
            kills += 1
    assert kills > 10
    all_is_done(settings, before, left)


def test_a_process_that_is_killed_as_its_requests_arrive_makes_no_second_job(tmp_path):
    reaper, kills = Reaper(), 0
    with serve_in_thread(posts_file(), reaper, platforms=("x",)) as mock:
        settings = crawled(campaign_of(mock.url, tmp_path / "x.db", **STEPS, seed=100_000))
        gone, before = leave(mock, settings), state(settings)
        left = expected(before, gone, settings)
        with nursery(tmp_path / "errors", "deletion_checks") as children:
            for after in cycle((2, 3)):
                child = children.begin(in_child(settings))
                with reaper.kills(child, after):
                    code = children.end()
                if code == 0:
                    break
                assert code == -9, (tmp_path / "errors").read_text()
                kills += 1
        assert kills > 4
        all_is_done(settings, before, left)
        with closing(build(settings, CampaignView())) as campaign:
            listed = [campaign.plan.platform.make_compliance_jobs().make_list_request((-1, n), kind)
                      for n, kind in enumerate(("posts", "users"))]  # fmt: skip
            bodies = [campaign.wire.ask(Grant(asked, "main", 0.0))[1] for asked in listed]
        assert [len(body["data"]) for body in bodies] == [1, 1]


@pytest.mark.parametrize("place", ["/2/compliance/jobs", "/2/compliance/jobs/:id", "/compliance/:id/submission"])
@pytest.mark.parametrize("fault", [faults.make_cut(), faults.make_html_fault(503)])
def test_a_request_without_an_answer_is_sent_again_and_no_second_job_is_made(tmp_path, place, fault, at_once):
    struck = []

    def strike(endpoint, nth):
        if endpoint != place or len(struck) == 3:
            return None
        struck.append(nth)
        return fault

    with serve_in_thread(posts_file(), strike, platforms=("x",)) as mock:
        settings = crawled(campaign_of(mock.url, tmp_path / "x.db", **STEPS))
        gone, before = leave(mock, settings), state(settings)
        left = expected(before, gone, settings)
        run_check(settings)
        assert len(struck) == 3
        assert state(settings) == left
        names = rows(settings.database, "select name from compliance_job")
        assert len(names) == 2


def test_a_job_of_another_program_is_waited_for(tmp_path, mock):
    settings = crawled(campaign_of(mock.url, tmp_path / "x.db", **STEPS))
    headers = {"Authorization": f"Bearer {TOKEN}"}
    requests.post(f"{mock.url}/2/compliance/jobs", json={"type": "tweets"}, headers=headers, timeout=10)
    with closing(build(settings, CampaignView())) as campaign:
        campaign.planner.fold(campaign.store.ledger(), campaign.clock.now())
        parts = campaign.plan, campaign.store, campaign.planner, campaign.wire, campaign.clock.now
        check = make_check(*parts)
        found = check._advance_kind("posts", campaign.clock.now(), campaign.clock.now())
    assert isinstance(found, Wait)
    assert "another job for posts" in found.why


def test_a_result_that_is_none_erases_nothing(tmp_path, at_once):
    broken = faults.Fault("answer", 200, b'{"id": "12", "action": "delete", "reason": "deleted"}\n[12]\n', "text/plain")
    with serve_in_thread(
        posts_file(), lambda place, nth: broken if place.endswith("delivery") else None, platforms=("x",)
    ) as mock:
        settings = crawled(campaign_of(mock.url, tmp_path / "x.db", **STEPS))
        before = state(settings)
        with pytest.raises(SourceError, match="line 2 of the result"):
            run_check(settings)
        assert state(settings) == before


def test_ids_that_are_not_stored_get_no_tombstone(tmp_path, at_once):
    foreign = faults.Fault("answer", 200, b'{"id": "12", "action": "delete", "reason": "deleted"}\n', "text/plain")
    with serve_in_thread(
        posts_file(), lambda place, nth: foreign if place.endswith("delivery") else None, platforms=("x",)
    ) as mock:
        settings = crawled(campaign_of(mock.url, tmp_path / "x.db", **STEPS))
        assert run_check(settings) == []
        assert rows(settings.database, "select count(*) from tombstone") == [(0,)]


def test_the_command_asks_before_it_deletes_and_goes_on_where_it_was(tmp_path, mock):
    file = campaign_file(tmp_path, mock.url)
    early = socialcrawl("compliance", file, "--yes", folder=tmp_path)
    assert (early.returncode, "has not begun" in early.stderr) == (1, True)
    assert socialcrawl("run", file, folder=tmp_path).returncode == 0
    database = Path(tmp_path / "mine.db")
    unasked = socialcrawl("compliance", file, folder=tmp_path)
    assert (unasked.returncode, "--yes" in unasked.stderr) == (2, True)
    assert rows(database, "select count(*) from compliance_job") == [(0,)]
    found = authors(database)
    name = max(found, key=lambda one: len(found[one]))
    go(mock, delete=[name])
    begun = socialcrawl("compliance", file, "--yes", "--no-wait", "--json", folder=tmp_path)
    assert begun.returncode == 3, begun.stderr
    assert json.loads(begun.stdout)["until"] is not None
    assert name in authors(database)
    done = socialcrawl("compliance", file, "--yes", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "removed that the platform no longer shows" in done.stdout
    assert name not in authors(database)
    assert all(word not in done.stdout + done.stderr for word in SIGNED)
