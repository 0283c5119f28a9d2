"""No post of who does not want to be collected is stored, in any kind of campaign on Bluesky: against the mock."""

import random
from itertools import pairwise
from types import SimpleNamespace

import httpx
import pytest
from crawling import crawl, rows
from reviving import brought, written
from storing import opened
from test_mock_world import START, posts_of

from socialcrawl.mock.names import chosen
from socialcrawl.mock.server import running
from socialcrawl.optouts import declines
from socialcrawl.settings import checked
from socialcrawl.sources.bluesky.parse import HIDES, hides

PEOPLE = [f"person{n}" for n in range(60)]
SHARE = 0.3
SAYS_NOBOT = {name for name in PEOPLE if chosen(name, SHARE, b"nobot")}
LABELLED = {name for name in PEOPLE if chosen(name, SHARE, b"noindex")}
OPEN = [name for name in PEOPLE if name not in SAYS_NOBOT | LABELLED]
SOURCE = {"platform": "bluesky", "timeout": 10.0}
SECRET = "a sentence that nobody may keep"


def drawn():
    """Rows of a town in which everybody mentions everybody; those who opted out write what nobody may keep."""
    draw, made = random.Random(3), []
    for place in range(1500):
        author = PEOPLE[place % len(PEOPLE)]
        other = draw.choice([name for name in PEOPLE if name != author])
        own = SECRET if author in SAYS_NOBOT | LABELLED else "a glacier"
        text = f"glacier: {own} @{other} {place}"
        made.append((author, START + 60 * place, text, (other,)))
        if author in LABELLED:
            again = draw.choice(OPEN[:10])
            made.append((again, START + 60 * place + 1, f"RT @{author}: {text}", (author, other)))
    return made


@pytest.fixture(scope="module")
def mock():
    with running(posts_of(drawn()), nobot=SHARE, noindex=SHARE, bluesky_limit=100_000) as made:
        with httpx.Client() as web:
            called = {name: web.get(f"{made.url}/_mock/accounts?name={name}").json() for name in PEOPLE}
        dids = {called[name]["did"]: name for name in PEOPLE}
        handles = {name: called[name]["bluesky"] for name in PEOPLE}
        yield SimpleNamespace(url=made.url, dids=dids, handles=handles)


def campaign(mock, database, **sections):
    given = {
        "name": "quiet",
        "database": database,
        "topic": {"keywords": ["glacier"]},
        "seeds": {"search_pages": 3},
        "crawl": {"steps": 80},
    }
    for name, values in sections.items():
        given[name] = {**given.get(name, {}), **values} if isinstance(values, dict) else values
    given["source"] = {**SOURCE, "base_url": mock.url, **given.get("source", {})}
    return checked(given, "test")


def authors(mock, database):
    """The names of the file of all authors whose posts are stored."""
    asked = "select distinct a.platform_id from post p join account a on a.node = p.author"
    return {mock.dids[did] for (did,) in rows(database, asked)}


def everything(database):
    """All texts of a database, wherever they stand."""
    tables = [name for (name,) in rows(database, "select name from sqlite_master where type = 'table'")]
    return "\n".join(repr(row) for name in tables for row in rows(database, f"select * from {name}"))


KINDS = {
    "collect": {},
    "track": {"kind": "track", "track": {"window": "all", "rest": "1s", "p": 0.3}},
    "sample": {"kind": "sample", "sample": {"walkers": 8, "focus": "trial", "k": 2, "samples": 40, "inward": True}},
    "named": {"seeds": {"search": False, "usernames": [f"{name}.mock.social" for name in OPEN[:2]]}},
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_post_of_who_opted_out_is_stored(kind, mock, tmp_path):
    database = tmp_path / "a.db"
    crawl(campaign(mock, database, **KINDS[kind]))
    found = authors(mock, database)
    assert len(found) > 20
    assert not found & (SAYS_NOBOT | LABELLED)
    ended = rows(database, "select distinct missing from outcome where missing is not null")
    assert ("opted-out",) in ended
    assert SECRET not in everything(database)


def test_nothing_of_theirs_is_kept_beside_the_posts(mock, tmp_path):
    database = tmp_path / "a.db"
    crawl(campaign(mock, database, source={"keep_original": True, "keep_answers": True}))
    assert rows(database, "select count(*) from response")[0][0] > 0
    assert not authors(mock, database) & (SAYS_NOBOT | LABELLED)
    assert not [text for (text,) in rows(database, "select description from account") if declines(text)]
    assert not [one for (one,) in rows(database, "select original from post") if SECRET in str(one)]


def test_an_old_dataset_loses_who_opted_out(mock, tmp_path):
    database = tmp_path / "a.db"
    given = {
        "name": "old",
        "database": database,
        "kind": "refresh",
        "refresh": {"rank": "pa", "z": 20, "active": "exists"},
    }
    settings = checked({**given, "source": {**SOURCE, "base_url": mock.url}}, "test")
    edges = "".join(f"{mock.handles[a]},{mock.handles[b]}\n" for a, b in pairwise(PEOPLE))
    with opened(database) as connection:
        brought(connection, written(tmp_path / "old.csv", f"source,target\n{edges}"), settings=settings)
    crawl(settings)
    told = dict(rows(database, "select lower(account), status from liveness"))
    silent = {name for name in PEOPLE if told[mock.handles[name]] == "opted-out"}
    assert silent == SAYS_NOBOT | LABELLED
    assert rows(database, "select count(*) from post") == [(0,)]


def test_labels_are_honoured_and_descriptions_not_where_the_file_says_so(mock, tmp_path):
    database = tmp_path / "a.db"
    crawl(campaign(mock, database, source={"opt_outs": False}))
    found = authors(mock, database)
    assert found >= SAYS_NOBOT - LABELLED
    assert not found & LABELLED
    assert rows(database, "select count(*) from request where endpoint like '%getProfiles'") == [(0,)]


def test_profiles_are_looked_up_25_at_a_time_and_not_again(mock, tmp_path):
    database = tmp_path / "a.db"
    crawl(campaign(mock, database, crawl={"refresh_rate": 1}, **KINDS["named"]))
    asked = "select count(*) from request where endpoint like '%{}' and kind != 'held'"
    ((looked_up,),) = rows(database, asked.format("getProfiles"))
    ((feeds,),) = rows(database, asked.format("getAuthorFeed"))
    assert feeds >= 25
    assert looked_up <= feeds / 2
    crawl(campaign(mock, database, name="again", crawl={"refresh_rate": 1}, **KINDS["named"]))
    asked += " and campaign = (select id from campaign where name = 'again')"
    ((again,),) = rows(database, asked.format("getProfiles"))
    assert again <= looked_up / 2 + 5


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("#nobot", True),
        ("Cats. #NoBots please", True),
        ("(#noindex)", True),
        ("#nosearch #noarchive", True),
        ("#noscrape", True),
        ("#nobotany", False),
        ("nobot", False),
        ("##nobot", False),
        ("https://example.org/a#nobot", False),
        ("", False),
        (None, False),
    ],
)
def test_a_hashtag_in_a_description_says_no(text, says):
    assert declines(text) is says


def test_a_label_that_was_taken_back_says_nothing_and_one_in_a_record_counts():
    label = {"src": "did:plc:a", "val": HIDES}
    assert hides({"labels": [label]})
    assert not hides({"labels": [{**label, "neg": True}, {**label, "val": "!warn"}]})
    assert hides({"labels": {"values": [{"val": HIDES}]}})
    assert not hides({"labels": None})
