"""Stored posts of Bluesky and Mastodon are looked up again on their mocks; what two look-ups miss is deleted."""

import json
import re
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import count, cycle

import httpx
import pytest
from commands import socialcrawl
from killed_campaigns import Reaper, nursery
from recheck_campaigns import FIRST, SECOND, check_on, crawling, list_absent, list_shown, list_stored
from test_mastodon_crawl import FAR, HOME, NEAR, drawn
from test_mock_world import posts_of
from x_crawls import crawl, posts, posts_file, rows

from socialcrawl.campaign import post_recheck
from socialcrawl.campaign.build import build
from socialcrawl.campaign.check_selection import make_check
from socialcrawl.campaign.settings import check_settings
from socialcrawl.engine.model import ReplyKind, Wait
from socialcrawl.errors import SourceError
from socialcrawl.mock import faults
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.render.live_screen import CampaignView

PLATFORMS = ["bluesky", "mastodon"]
SMALL = (100, 1, 5.0)  # people, seed, posts of each
ROOMY = {"bluesky_limit": 100_000, "mastodon_limit": 100_000, "paged_limit": 100_000}
LOOK_UPS = {"bluesky": "/xrpc/app.bsky.feed.getPosts", "mastodon": "/api/v1/statuses/:id"}
KNOWS_NOTHING = {
    "bluesky": faults.Fault("answer", 200, b'{"posts":[]}', "application/json"),
    "mastodon": faults.Fault("answer", 404, b'{"error":"Record not found"}', "application/json"),
}


def delete(mock, *, names=(), share=0.0):
    found = [{"kind": "delete", "account": name} for name in names]
    found += [{"kind": "delete", "share": share}] if share else []
    httpx.post(f"{mock.url}/_mock/faults", json={"fault": found}).raise_for_status()


def crawled(given):
    settings = check_settings(given, "test")
    crawl(settings)
    return settings


@contextmanager
def a_town(platform, folder, fault=None, **more):
    """A mock, and a campaign that has crawled it."""
    with serve_in_thread(posts_file(*SMALL), fault, platforms=(platform,), **ROOMY) as mock:
        yield mock, crawled(crawling(platform, mock.url, folder / "posts.db", **more))


@pytest.fixture(params=PLATFORMS)
def town(request, tmp_path):
    with a_town(request.param, tmp_path) as made:
        yield made


def progress(settings):
    with closing(build(settings, CampaignView())) as campaign:
        parts = campaign.plan, campaign.store, campaign.planner, campaign.wire, campaign.clock.now
        return make_check(*parts).measure()


def test_after_two_look_ups_exactly_those_posts_are_stored_that_are_still_shown(town):
    mock, settings = town
    before = list_stored(settings.database)
    delete(mock, share=0.1)
    shown = list_shown(mock.url, settings.database)
    gone = set(before) - shown
    assert gone
    assert check_on(settings, FIRST) == []
    assert list_stored(settings.database) == before
    assert list_absent(settings.database) == gone
    told = progress(settings)
    assert (told.checked, told.absent, told.unclear, told.unknown, told.left) == (len(before), len(gone), 0, 0, 0)
    reports = check_on(settings, SECOND)
    assert set(list_stored(settings.database)) == shown
    assert sum(report.counts["post"] for report in reports) == len(gone)
    assert list_absent(settings.database) == set()
    raw = settings.database.read_bytes()
    assert [key for key in gone if key.encode() in raw] == []
    reasons = {why for (why,) in rows(settings.database, "select why from tombstone")}
    assert reasons == {"compliance:deleted"}


def test_a_post_that_comes_back_before_its_second_look_up_stays(town):
    mock, settings = town
    here = list_shown(mock.url, settings.database)
    names = sorted(set(posts(*SMALL).authors))[::4]
    delete(mock, names=names)
    hidden = here - list_shown(mock.url, settings.database)
    assert hidden
    check_on(settings, FIRST)
    assert hidden <= list_absent(settings.database)
    back = [{"kind": "restore", "account": name} for name in names]
    httpx.post(f"{mock.url}/_mock/faults", json={"fault": back}).raise_for_status()
    check_on(settings, SECOND)
    assert set(list_stored(settings.database)) == list_shown(mock.url, settings.database) == here
    assert list_absent(settings.database) == set()


@pytest.mark.parametrize("platform", PLATFORMS)
def test_an_answer_without_any_post_is_no_evidence(platform, tmp_path):
    empty = [False]

    def strike(endpoint, nth):
        return KNOWS_NOTHING[platform] if empty[0] and endpoint == LOOK_UPS[platform] else None

    with a_town(platform, tmp_path, strike) as (_, settings):
        before = list_stored(settings.database)
        empty[0] = True
        for apart in (FIRST, SECOND, SECOND):
            assert check_on(settings, apart) == []
            assert list_absent(settings.database) == set()
        assert list_stored(settings.database) == before
        told = progress(settings)
        assert (told.checked, told.unclear) == (0, len(before))


@pytest.mark.parametrize("platform", PLATFORMS)
def test_failures_are_no_evidence_and_the_check_goes_on_after_them(platform, tmp_path):
    left = []

    def strike(endpoint, nth):
        return left.pop() if left and endpoint == LOOK_UPS[platform] else None

    with a_town(platform, tmp_path, strike) as (mock, settings):
        delete(mock, share=0.1)
        gone = set(list_stored(settings.database)) - list_shown(mock.url, settings.database)
        left += [faults.make_html_fault(503), faults.make_cut(), faults.make_html_fault(404)]
        check_on(settings, FIRST)
        assert left == []
        assert list_absent(settings.database) == gone


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_budget_that_ends_early_keeps_what_was_looked_up_oldest_first(platform, tmp_path):
    with a_town(platform, tmp_path) as (mock, settings):
        sent = rows(settings.database, "select count(*) from request")[0][0]
        few = settings.model_copy(update={"budget": settings.budget.model_copy(update={"max_requests": sent + 4})})
        with pytest.raises(SourceError, match="max_requests"):
            check_on(few, FIRST)
        assert rows(settings.database, "select count(*) from request")[0][0] == sent + 4
        told = progress(settings)
        stored = list_stored(settings.database)
        assert told.checked > 0
        assert (told.checked + told.left, told.left > 0) == (len(stored), True)
        looked = "select max(created_at) from post where id in (select post from post_check)"
        others = "select min(created_at) from post where id not in (select post from post_check) and repost_of is null"
        assert rows(settings.database, looked) <= rows(settings.database, others)
        delete(mock, share=0.1)
        check_on(settings, FIRST)
        assert (progress(settings).left, progress(settings).checked) == (0, len(stored))


def in_child(settings, *, again):
    given = settings.model_dump(mode="json")
    return {key: given[key] for key in ("name", "database", "topic", "seeds", "crawl", "source", "limits")} | {
        "again": again
    }


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_process_that_is_killed_before_its_statements_comes_to_the_same_end(platform, tmp_path):
    with a_town(platform, tmp_path) as (mock, settings):
        delete(mock, share=0.1)
        before, shown = list_stored(settings.database), list_shown(mock.url, settings.database)
        for again in (False, True):
            kills = 0
            with nursery(tmp_path / "errors", "recheck_campaigns") as children:
                for statement in count(40, 25 if platform == "bluesky" else 60):
                    code = children.run(in_child(settings, again=again), statement=statement)
                    if code == 0:
                        break
                    assert code == -9, (tmp_path / "errors").read_text()
                    kills += 1
                    assert shown <= set(list_stored(settings.database))
            assert kills > 4
            if not again:
                assert list_stored(settings.database) == before
                assert list_absent(settings.database) == set(before) - shown
        assert set(list_stored(settings.database)) == shown


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_process_that_is_killed_as_its_requests_arrive_comes_to_the_same_end(platform, tmp_path):
    reaper = Reaper()
    with a_town(platform, tmp_path, reaper) as (mock, settings):
        delete(mock, share=0.1)
        shown = list_shown(mock.url, settings.database)
        for again in (False, True):
            kills = 0
            with nursery(tmp_path / "errors", "recheck_campaigns") as children:
                for after in cycle((3, 7) if platform == "bluesky" else (23, 37)):
                    child = children.begin(in_child(settings, again=again))
                    with reaper.kills(child, after):
                        code = children.end()
                    if code == 0:
                        break
                    assert code == -9, (tmp_path / "errors").read_text()
                    kills += 1
            assert kills > 1
        assert set(list_stored(settings.database)) == shown


class Wire:
    """A wire, some of whose hosts are down."""

    def __init__(self, wire, down):
        self.wire, self.down, self.asked = wire, down, []

    def send(self, grant):
        host = grant.request.endpoint.partition("/")[0]
        self.asked.append(host)
        reply = self.wire.send(grant)
        return replace(reply, kind=ReplyKind.BROKEN, rows=None, status=0) if host == self.down else reply


def many_instances(mock, place, **source):
    names = {"usernames": [f"u{n}@{host}" for n, host in enumerate((HOME, NEAR, FAR))], "search": False}
    given = crawling("mastodon", mock.url, place, seeds=names, source=source)
    return {**given, "topic": {"keywords": ["glacier"]}}


def hosts_of(database):
    return {key: key.split("/")[2] for key in list_stored(database)}


@pytest.fixture
def fediverse():
    data = [(author, at, text, named) for author, at, text, named, _ in drawn()]
    with serve_in_thread(posts_of(data), platforms=("mastodon",), **ROOMY) as mock:
        yield mock


def check_once(settings, down=None):
    with closing(build(settings, CampaignView())) as campaign:
        wire = Wire(campaign.wire, down)
        check = make_check(campaign.plan, campaign.store, campaign.planner, wire, campaign.clock.now)
        while isinstance(found := check.advance(check.find_since()), Wait):
            pass
        return found, check.measure(), wire.asked


def test_posts_of_instances_that_are_not_asked_cannot_be_checked_and_are_counted(fediverse, tmp_path, monkeypatch):
    monkeypatch.setattr(post_recheck, "APART", FIRST)
    settings = crawled(many_instances(fediverse, tmp_path / "posts.db"))
    hosts = hosts_of(settings.database)
    foreign = sum(host != HOME for host in hosts.values())
    assert foreign
    _, told, asked = check_once(settings)
    assert set(asked) == {HOME}
    assert (told.checked, told.unknown) == (len(hosts) - foreign, foreign)
    wider = many_instances(fediverse, tmp_path / "posts.db", hosts=[NEAR])
    _, told, asked = check_once(check_settings(wider, "test"))
    assert set(asked) == {HOME, NEAR}
    assert told.unknown == sum(host == FAR for host in hosts.values())


def test_an_instance_that_is_down_is_passed_over_and_nothing_of_it_is_absent(fediverse, tmp_path, monkeypatch):
    settings = crawled(many_instances(fediverse, tmp_path / "posts.db", hosts=["*"]))
    hosts = hosts_of(settings.database)
    delete(fediverse, share=0.2)
    shown = list_shown(fediverse.url, settings.database)
    gone = set(hosts) - shown
    monkeypatch.setattr(post_recheck, "APART", FIRST)
    _, told, asked = check_once(settings, down=FAR)
    assert asked.count(FAR) == 1
    assert list_absent(settings.database) == {key for key in gone if hosts[key] != FAR}
    assert told.unclear == sum(host == FAR for host in hosts.values())
    check_once(settings)
    assert list_absent(settings.database) == gone
    monkeypatch.setattr(post_recheck, "APART", SECOND)
    found, _, asked = check_once(settings, down=FAR)
    assert asked.count(FAR) == 1
    assert set(found.order.posts) == {key for key in gone if hosts[key] != FAR}
    assert list_absent(settings.database) == set(), "the two look-ups have to miss it one after the other"


def test_the_command_says_what_it_did_and_report_when_it_last_ended(tmp_path):
    file = tmp_path / "mine.toml"
    with serve_in_thread(posts_file(*SMALL), platforms=("bluesky",), **ROOMY) as mock:
        settings = crawled(crawling("bluesky", mock.url, tmp_path / "posts.db"))
        file.write_text(
            f'name = "campaign"\ndatabase = "posts.db"\n[topic]\nkeywords = ["{settings.topic.keywords[0]}"]\n'
            '[seeds]\nmost = 10\n[crawl]\nestimator = "bfs"\nsteps = 12\n'
            f'[source]\nplatform = "bluesky"\nbase_url = "{mock.url}"\nopt_outs = false\npages_per_user = 4\n',
            "utf-8",
        )
        delete(mock, share=0.1)
        gone = set(list_stored(settings.database)) - list_shown(mock.url, settings.database)
        done = socialcrawl("compliance", file, "--yes", "--json", folder=tmp_path)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert (told["progress"]["absent"], told["removed"]["posts"], told["until"]) == (len(gone), 0, None)
        assert told["progress"]["again"] is not None
        shown = socialcrawl("compliance", file, "--yes", folder=tmp_path)
        assert f"absent once: {len(gone)}, looked up again from" in shown.stdout
        assert "last checked at" in socialcrawl("report", file, folder=tmp_path).stdout


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_check_lets_others_have_their_turn_and_goes_on(platform, tmp_path, monkeypatch):
    monkeypatch.setattr(post_recheck, "LASTING", 0.0)
    with a_town(platform, tmp_path) as (mock, settings):
        sent = rows(settings.database, "select count(*) from request")[0][0]
        delete(mock, share=0.1)
        gone = set(list_stored(settings.database)) - list_shown(mock.url, settings.database)
        waits = []
        check_on(settings, FIRST, each=lambda: waits.append(1))
        requests = rows(settings.database, "select count(*) from request")[0][0] - sent
        assert 2 * len(waits) >= requests, "after each request for posts that are due"
        assert list_absent(settings.database) == gone


@pytest.mark.parametrize("platform", PLATFORMS)
def test_posts_that_the_server_fails_on_are_left_to_the_next_round_and_all_others_decided(platform, tmp_path):
    poison, asked = set(), [()]

    def strike(endpoint, nth):
        return faults.make_html_fault(500) if endpoint == LOOK_UPS[platform] and poison & {*asked[-1]} else None

    class Noting:
        def __init__(self, wire):
            self.wire = wire

        def send(self, grant):
            params = grant.request.params
            asked.append((params["id"],) if "id" in params else params["uris"].split(","))
            return self.wire.send(grant)

    with a_town(platform, tmp_path, strike) as (mock, settings):
        stored = list_stored(settings.database)
        originals = sorted(key for key, sought in stored.items() if key == sought)
        chosen = originals[:: len(originals) // 2][:2]
        poison |= {key.rpartition("/")[2] if platform == "mastodon" else key for key in chosen}
        delete(mock, share=0.1)
        gone = set(stored) - list_shown(mock.url, settings.database)
        for _ in range(200):  # each in a process of its own
            with closing(build(settings, CampaignView())) as campaign:
                campaign.planner.fold(campaign.store.ledger(), campaign.clock.now())
                parts = campaign.plan, campaign.store, campaign.planner, Noting(campaign.wire), campaign.clock.now
                check = make_check(*parts)
                if not isinstance(check.advance(check.find_since()), Wait):
                    break
        else:
            raise AssertionError("the check does not end")
        told = progress(settings)
        with_reposts = {key for key, sought in stored.items() if sought in chosen}
        assert told.unclear == len(with_reposts)
        assert told.left == 0
        assert list_absent(settings.database) == gone - with_reposts


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_server_that_fails_on_everything_ends_the_check_and_costs_little(platform, tmp_path):
    down = [False]

    def strike(endpoint, nth):
        return faults.make_html_fault(500) if down[0] and endpoint == LOOK_UPS[platform] else None

    with a_town(platform, tmp_path, strike) as (mock, settings):
        before, sent = list_stored(settings.database), rows(settings.database, "select count(*) from request")[0][0]
        down[0] = True
        with pytest.raises(SourceError, match="did not go on"):
            check_on(settings, FIRST)
        assert rows(settings.database, "select count(*) from request")[0][0] - sent < 25
        down[0] = False
        check_on(settings, FIRST)
        assert not list_absent(settings.database) & list_shown(mock.url, settings.database)
        assert progress(settings).left == 0
        assert progress(settings).checked + progress(settings).unclear == len(before)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_where_the_oldest_and_the_newest_posts_are_gone_others_show_that_the_server_answers(platform, tmp_path):
    with a_town(platform, tmp_path) as (mock, settings):
        made = "select p.id, a.username from post p join account a on a.node = p.author order by p.created_at"
        found = rows(settings.database, made)
        ends = {name for _, name in [*found[:9], *found[-5:]]}
        assert len(ends) < len({name for _, name in found})
        named = {re.sub("_", "", name).casefold(): name for name in posts(*SMALL).authors}
        delete(mock, names=[named[re.sub("[.@].*|[_-]", "", name)] for name in sorted(ends)])
        gone = set(list_stored(settings.database)) - list_shown(mock.url, settings.database)
        assert gone
        check_on(settings, FIRST)
        assert list_absent(settings.database) == gone
        check_on(settings, SECOND)
        assert not gone & set(list_stored(settings.database))
