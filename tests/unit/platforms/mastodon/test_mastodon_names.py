"""A keyword `@name@domain` on Mastodon: posts name accounts by their data, and texts show the name alone."""

import orjson
import pytest
from mastodon_posts import account_of, status_of
from sqlalchemy import text
from test_mock_world import START, posts_of
from x_crawls import campaign_of

from socialcrawl.campaign.build import build
from socialcrawl.engine.loop import run
from socialcrawl.formats.lines import LineErrors
from socialcrawl.graph.relevance import Topic
from socialcrawl.importers.post_columns import parse_rows
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.platforms.mastodon.entities import ENTITIES
from socialcrawl.platforms.mastodon.parse import PageParser
from socialcrawl.render.live_screen import CampaignView
from socialcrawl.storage.counting_rule import COUNTING, RULE
from socialcrawl.storage.database.connection import open_database

NASA, OTHER = "nasa@far.example", "nasa@near.example"


def mention_of(acct):
    name, _, domain = acct.partition("@")
    url = f"https://{domain or 'home.example'}/@{name}"
    return {"id": "22", "username": name, "acct": acct, "url": url}


def shown(acct):
    """The link that Mastodon makes of a mention: the name in sight, the domain in the address."""
    one = mention_of(acct)
    return (
        f'<span class="h-card"><a href="{one["url"]}" class="u-url mention">@<span>{one["username"]}</span></a></span>'
    )


def naming(*accts, content=None, **more):
    """A status that mentions some accounts."""
    written = f"<p>hello {' '.join(map(shown, accts))}</p>" if content is None else content
    return status_of(content=written, mentions=[mention_of(acct) for acct in accts], **more)


def hits(keyword, status, domain="home.example"):
    topic = Topic([keyword], entities=ENTITIES)
    page = PageParser(domain, topic.hits).parse_found([status])
    (count,) = page.hits
    return count


KEYWORD = f"@{NASA}"


def test_the_text_of_a_post_shows_the_name_alone():
    (row,) = PageParser("home.example", Topic(["x"]).hits).parse_found([naming(NASA)]).posts
    assert row.text == "hello @nasa"
    assert row.urls is None


@pytest.mark.parametrize(
    ("status", "found"),
    [
        (naming(NASA), 1),
        (naming(OTHER), 0),
        (naming(OTHER, NASA), 1),
        (naming("nasa"), 0),
        (naming("NASA@Far.Example"), 1),
        (naming(NASA, content="<p>no name in sight</p>"), 1),
        (naming(NASA, content="<p>@nasa @nasa</p>"), 1),
        (naming(NASA, content="<p>@nasa@far.example</p>"), 1),
        (naming(NASA, content="<p>@nasa@far.example and @nasa@far.example</p>"), 2),
        (naming(content="<p>@nasa@far.example, without a link</p>"), 1),
        (naming(content="<p>@nasa, without a link</p>"), 0),
        (naming("nasa@far.example.org"), 0),
        (naming("nasax@far.example"), 0),
    ],
)
def test_a_name_with_its_domain_counts_where_a_post_mentions_that_account(status, found):
    assert hits(KEYWORD, status) == found


def test_a_name_without_a_domain_belongs_to_the_instance_that_answers():
    assert hits(KEYWORD, naming("nasa"), domain="far.example") == 1
    assert hits(KEYWORD, naming("nasa"), domain="near.example") == 0


def test_a_name_without_a_domain_as_a_keyword_counts_every_account_of_that_name():
    assert [hits("@nasa", naming(*accts)) for accts in ((NASA,), (OTHER,), ("nasa",), (NASA, OTHER))] == [1, 1, 1, 2]


def test_reposts_and_answers_count_and_quotations_and_own_threads_do_not():
    of_nasa = status_of("5", account_of(NASA, "22"), uri="https://far.example/p/5", content="<p>up we go</p>")
    assert hits(KEYWORD, status_of(content="", reblog=of_nasa)) == 1
    answer = naming(NASA, content="<p>well done</p>", in_reply_to_id="5", in_reply_to_account_id="22")
    assert hits(KEYWORD, answer) == 1
    assert hits(KEYWORD, status_of(content="<p>see</p>", quote={"state": "accepted", "quoted_status": of_nasa})) == 0
    thread = status_of(
        "6", account_of(NASA, "22"), in_reply_to_id="5", in_reply_to_account_id="22", content="<p>on</p>"
    )
    assert hits(KEYWORD, thread) == 0


@pytest.mark.parametrize(
    ("keyword", "acct"),
    [
        ("@nasa@straße.example", "nasa@xn--strae-oqa.example"),
        ("@NASA@Far.Example", NASA),
        ("@nasa@far*", NASA),
        ("@space-x@far.example", "space-x@far.example"),
    ],
)
def test_a_keyword_is_compared_as_mastodon_calls_the_account(keyword, acct):
    assert hits(keyword, naming(acct)) == 1
    assert hits(keyword, naming(OTHER)) == 0


def test_a_name_counts_beside_other_keywords_of_the_same_post():
    topic = Topic([KEYWORD, f"@{OTHER}", "hello"], entities=ENTITIES)
    assert PageParser("home.example", topic.hits).parse_found([naming(NASA, OTHER)]).hits == [3]


WRITTEN = [
    ("ann", "hello @nasa", [NASA]),
    ("ann", "hello @nasa", [OTHER]),
    ("ann", "RT @nasa: up we go", [NASA]),
    ("bob", "fully @nasa@far.example", [NASA]),
    ("bob", "@ann hello", ["ann"]),
    (NASA, "up we go", []),
]
MATCHES = {0: 1, 2: 1, 3: 1}  # by the place in WRITTEN


@pytest.fixture(scope="module")
def mock():
    posts = posts_of([(author, START + 60 * n, said, named) for n, (author, said, named) in enumerate(WRITTEN)])
    with serve_in_thread(posts, limit=100_000) as found:
        yield found


def settings_of(mock, place, *keywords, **more):
    source = {"platform": "mastodon", "token_env": None, "domain": "home.example", "contact": "mailto:me@example.org"}
    seeds = {"search": False, "usernames": ["ann@home.example", "bob@home.example", NASA]}
    return campaign_of(mock.url, place, topic={"keywords": [*keywords]}, seeds=seeds, source=source, **more)


def crawl(settings, *, change=False):
    campaign = build(settings, CampaignView(), change=change)
    try:
        run(campaign.parts, size=campaign.together)
    finally:
        campaign.close()


def ask(place, query, **values):
    with open_database(place) as connection, connection.begin():
        done = connection.execute(text(query), values)
        return [tuple(row) for row in done] if done.returns_rows else []


def matched(place, name="campaign"):
    """The posts that count, by their place in WRITTEN."""
    found = ask(
        place,
        "select post.created_at, hit.occurrences from hit join post on post.id = hit.post "
        "join campaign on campaign.id = hit.campaign where campaign.name = :name",
        name=name,
    )
    minutes = sorted({at for (at,) in ask(place, "select created_at from post")})
    return {minutes.index(at): many for at, many in found}


def values_of(place):
    return ask(place, "select n, value, occurrences from outcome order by n")


def test_a_crawl_its_old_answers_and_a_changed_topic_count_the_same(mock, place):
    crawl(settings_of(mock, place, KEYWORD))
    assert matched(place) == MATCHES
    crawl(settings_of(mock, place, KEYWORD, name="again"))
    assert matched(place, "again") == MATCHES
    assert ask(place, "select count(*) from request where kind = 'held'") > [(0,)]
    crawl(settings_of(mock, place, "up", name="changed"))
    assert matched(place, "changed") == {2: 1, 5: 1}
    crawl(settings_of(mock, place, KEYWORD, name="changed"), change=True)
    assert matched(place, "changed") == MATCHES


def test_a_table_of_posts_counts_the_names_in_its_column_and_not_the_author():
    rows = [
        ("line 1", {"author": "ann@home.example", "created_at": START, "text": "hello @nasa", "mentions": [NASA]}),
        ("line 2", {"author": "ann@home.example", "created_at": START + 1, "text": "hello @nasa", "mentions": [OTHER]}),
        ("line 3", {"author": NASA, "created_at": START + 2, "text": "we", "mentions": [NASA]}),
    ]
    found = parse_rows(rows, Topic([KEYWORD], entities=ENTITIES).hits, LineErrors())
    assert found.page.hits == [1, 0, 0]


def test_a_campaign_of_an_earlier_version_counts_its_posts_anew(mock, place):
    crawl(settings_of(mock, place, KEYWORD))
    right = values_of(place)
    ((held,),) = ask(place, "select identity from campaign")
    told = orjson.loads(held)
    assert told[COUNTING] == RULE
    ask(place, "update campaign set identity = :told", told=orjson.dumps(told | {COUNTING: 2}).decode())
    ask(place, "delete from hit where occurrences > 0")
    ask(place, "update outcome set value = 0, occurrences = 0 where value > 0")
    crawl(settings_of(mock, place, KEYWORD))
    assert matched(place) == MATCHES
    assert values_of(place)[: len(right)] == right
    assert ask(place, "select why from epoch order by number") == [("begun",), ("topic",)]
    crawl(settings_of(mock, place, KEYWORD))
    assert len(ask(place, "select why from epoch")) == 2


@pytest.mark.parametrize("keyword", ["@nasa", "hello", "#tag"])
def test_a_campaign_of_an_earlier_version_without_such_a_name_gets_no_epoch(mock, tmp_path, keyword):
    place = tmp_path / "a.db"
    crawl(settings_of(mock, place, keyword))
    ((held,),) = ask(place, "select identity from campaign")
    ask(place, "update campaign set identity = :told", told=orjson.dumps(orjson.loads(held) | {COUNTING: 2}).decode())
    crawl(settings_of(mock, place, keyword))
    assert ask(place, "select why from epoch order by number") == [("begun",)]
