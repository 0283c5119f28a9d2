"""The platform keeps the contract of socialcrawl, and reads a forum as it is."""

import sqlite3

import pytest
from json_forum import forum
from json_forum.mock_server import serve_forum

from socialcrawl.contracts.platforms import SettingsError
from socialcrawl.testing import PLATFORM_CHECKS, PlatformCase, check_resuming

POSTS = {
    "ann": ["morning tea for @bea", "no more tea, says @Cid"],
    "bea": [*["coffee with @ann"] * 30, "tea later, @eve?"],  # two pages
    "cid": ["so quiet here"],
    "dan": ["tea, tea and tea", "@bea likes it"],
    "fay": ["nobody mentions me"],
}
CASE = PlatformCase(forum, ["@Ann", "dan"], sections={"source": {"pages_per_user": 5}})


@pytest.mark.parametrize("check", PLATFORM_CHECKS, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check):
    check(CASE)


def crawl(tmp_path, refuse=0):
    with serve_forum(POSTS) as server:
        server.refuse = refuse
        settings = CASE.make_settings(server.url)
        limits = settings.limits.model_copy(update={"pause": 0.01, "k": 1000, "d": 1.0})
        check_resuming(settings.model_copy(update={"limits": limits}), tmp_path)
        return server.requests


def read(tmp_path, query):
    connection = sqlite3.connect(tmp_path / "whole.db")
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def test_a_crawl_reads_every_member_in_reach_and_resumes_after_any_request(tmp_path):
    crawl(tmp_path)
    members = "select username, o.occurrences, o.posts, o.missing from outcome o join account using (node) order by 1"
    assert read(tmp_path, members) == [
        ("ann", 2, 2, None), ("bea", 1, 31, None), ("cid", 0, 1, None), ("dan", 3, 2, None), ("eve", 0, 0, "deleted"),
    ]  # fmt: skip
    links = (
        "select a.username, b.username from link join outcome using (campaign, n) "
        "join account a on a.node = outcome.node join account b on b.node = link.node order by 1, 2"
    )
    assert read(tmp_path, links) == [
        ("ann", "bea"), ("ann", "cid"), ("bea", "ann"), ("bea", "eve"), ("dan", "bea"),
    ]  # fmt: skip


def test_a_forum_that_asks_for_a_pause_gets_it_and_no_post_is_lost(tmp_path):
    crawl(tmp_path, refuse=2)
    kinds = dict(read(tmp_path, "select kind, count(*) from request group by kind"))
    assert kinds["backoff"] == 2
    assert read(tmp_path, "select count(*) from post") == [(36,)]


def test_a_search_finds_the_authors_of_posts():
    with serve_forum(POSTS) as server:
        plan = CASE.make_plan(server.url)
        status, found = server.answer("/search?q=Tea&page=1")
        assert (status, {post["by"] for post in found["posts"]}) == (200, {"ann", "bea", "dan"})
        assert forum.list_queries(plan.settings.model_copy(update={"seeds": plan.settings.seeds.model_copy(
            update={"search": True})}), plan.topic) == ["tea"]  # fmt: skip


def test_a_word_that_is_no_name_is_refused_with_what_to_write():
    with pytest.raises(SettingsError, match="'Ann!' is no member of the forum: use letters, digits and _"):
        forum.parse_names(["Ann!"])
