"""Whole campaigns against the mock: languages, a span of time and excluded accounts change what they promise."""

from datetime import UTC, datetime

import pytest
from x_crawls import campaign_of, crawl, posts, rows, sequence

from socialcrawl.mock.server import serve_in_thread

TIMELINES = "endpoint = '/2/users/:id/tweets' and kind = 'ok'"

PICKS = "outcome join pick using (campaign, n) join account using (node)"


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts(), limit=100_000) as found:
        yield found


@pytest.fixture(scope="module")
def plain(mock, tmp_path_factory):
    """A campaign without any of it."""
    database = tmp_path_factory.mktemp("plain") / "a.db"
    crawl(campaign_of(mock.url, database))
    return database


def asked(database):
    """The usernames whose timelines were read, in lower case."""
    found = rows(database, f"select lower(username) from {PICKS} where act <> 'resolve' and missing is null")
    return {name for (name,) in found}


def test_accounts_that_are_excluded_are_gone_around_and_cost_nothing(mock, plain, tmp_path):
    out = sorted(asked(plain))[:5]
    database = tmp_path / "a.db"
    reason, _ = crawl(campaign_of(mock.url, database, accounts={"exclude": [f"@{name.upper()}" for name in out]}))
    assert reason.kind == "done"
    assert not asked(database) & set(out)
    assert len(asked(database)) > 20
    met = rows(database, f"select lower(username), act from {PICKS} where missing = 'excluded'")
    assert {name for name, _ in met} & set(out)
    ids = rows(database, "select platform_id from account where lower(username) in (?, ?, ?, ?, ?)", *out)
    for (key,) in ids:
        assert rows(database, f"select count(*) from request where {TIMELINES} and params like ?", f'%"{key}"%') == [
            (0,)
        ]


def test_a_span_of_time_is_read_and_paid_for_and_nothing_else(mock, plain, tmp_path):
    times = sorted(posts().created_at.tolist())
    begin, end = (datetime.fromtimestamp(times[len(times) * part // 4], UTC) for part in (1, 3))
    database = tmp_path / "a.db"
    topic = {"from": begin, "until": end.isoformat()}
    crawl(campaign_of(mock.url, database, topic=topic))
    whole, part = (
        rows(file, f"select sum(posts), sum(cost) from request where {TIMELINES}")[0] for file in (plain, database)
    )
    assert 0 < part[0] < whole[0]
    assert part[1] < whole[1]
    counted = rows(database, "select min(created_at), max(created_at) from hit join post on post.id = hit.post")[0]
    assert begin.isoformat()[:19] <= counted[0][:19] <= counted[1][:19] < end.isoformat()[:19]
    searches = rows(database, "select params from request where endpoint like '%search%'")
    assert searches
    assert not [params for (params,) in searches if "_time" in params]


def test_another_language_than_that_of_the_posts_counts_for_nothing(mock, plain, tmp_path):
    seeds = {"search": False, "usernames": sorted(asked(plain))[:5]}
    found = {}
    for language in ("en", "de"):
        database = tmp_path / f"{language}.db"
        crawl(campaign_of(mock.url, database, topic={"languages": [language]}, seeds=seeds))
        found[language] = rows(database, "select sum(occurrences), sum(posts) from outcome")[0]
    assert found["en"][0] > 0
    assert (found["de"][0], found["de"][1] > 0) == (0, True)


def test_a_campaign_that_names_the_language_of_all_posts_takes_the_same_course(mock, plain, tmp_path):
    database = tmp_path / "a.db"
    crawl(campaign_of(mock.url, database, topic={"languages": ["en"]}))
    assert sequence(database) == sequence(plain)
    (query,) = rows(database, "select distinct params from request where endpoint like '%search%'")
    assert "lang:en" in query[0]


def test_a_file_without_the_new_keys_asks_what_it_always_asked(mock, plain, tmp_path):
    database = tmp_path / "a.db"
    more = {"schedule": {"every": "6h"}, "notify": {"on": ["ended"]}, "crawl": {"shadows": ["bfs"]}}
    crawl(campaign_of(mock.url, database, **more, limits={"weight": 3.0}, accounts={"exclude": ["no_such_*"]}))
    requests = "select n, part, endpoint, params from request order by id"
    assert rows(database, requests) == rows(plain, requests)
    assert sequence(database) == sequence(plain)
    assert not [params for _, _, _, params in rows(plain, requests) if "lang:" in params or "_time" in params]
