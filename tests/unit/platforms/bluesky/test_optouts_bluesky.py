"""No post of who does not want to be collected is stored, in any kind of campaign on Bluesky: against the mock."""

import random
import zlib
from itertools import pairwise
from types import SimpleNamespace

import httpx
import pytest
from bluesky_posts import did, post, repost
from refresh_campaigns import brought, written
from stores import opened
from test_bluesky_wire import send
from test_mock_world import START, posts_of
from x_crawls import crawl, rows

from socialcrawl.campaign.policies import load_policy
from socialcrawl.campaign.settings import check_settings
from socialcrawl.engine.model import PUT_OFF, Answer, Node, Pick, Reply, Request, Who
from socialcrawl.mock.names import is_chosen
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.platforms.bluesky.opt_outs import HIDES, is_hidden
from socialcrawl.platforms.bluesky.source import FEED, PROFILES, BlueskySource
from socialcrawl.text.entities import has_opt_out

PEOPLE = [f"person{n}" for n in range(60)]
SHARE = 0.3
SAYS_NOBOT = {name for name in PEOPLE if is_chosen(name, SHARE, b"nobot")}
LABELLED = {name for name in PEOPLE if is_chosen(name, SHARE, b"noindex")}
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
        if author in LABELLED | SAYS_NOBOT | set(OPEN[20:]):
            again = draw.choice(OPEN[10:14] if author in OPEN else OPEN[:10])
            made.append((again, START + 60 * place + 1, f"RT @{author}: {text}", (author, other)))
    return made


@pytest.fixture(scope="module")
def mock():
    with serve_in_thread(posts_of(drawn()), nobot=SHARE, noindex=SHARE, bluesky_limit=100_000) as made:
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
    return check_settings(given, "test")


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
    assert not [text for (text,) in rows(database, "select description from account") if has_opt_out(text)]
    assert not [one for (one,) in rows(database, "select original from post") if SECRET in str(one)]
    bodies = [zlib.decompress(body).decode() for (body,) in rows(database, "select body from response")]
    assert not [body for body in bodies if SECRET in body]
    assert any("#reasonRepost" in body for body in bodies), "reposts of others are kept"


def test_an_old_dataset_loses_who_opted_out(mock, tmp_path):
    database = tmp_path / "a.db"
    given = {
        "name": "old",
        "database": database,
        "kind": "refresh",
        "refresh": {"rank": "pa", "z": 20, "active": "exists"},
    }
    settings = check_settings({**given, "source": {**SOURCE, "base_url": mock.url}}, "test")
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
    assert has_opt_out(text) is says


def test_a_label_that_was_taken_back_says_nothing_and_one_in_a_record_counts():
    label = {"src": "did:plc:a", "val": HIDES}
    assert is_hidden({"labels": [label]})
    assert not is_hidden({"labels": [{**label, "neg": True}, {**label, "val": "!warn"}]})
    assert is_hidden({"labels": {"values": [{"val": HIDES}]}})
    assert not is_hidden({"labels": None})


ANN, BOB, CAT = map(did, ("ann", "bob", "cat"))
VISIT = Pick(7, Node(3), "expand")


def visit(*replies, pages=1):
    """What a talk about ann asks for after her profile, when it is sent these replies; and what it finds."""
    (talk,) = BlueskySource(load_policy("bluesky"), [], pages).start_conversations(
        (VISIT,), {Node(3): Who(ANN, "ann.test")}
    )
    next(talk)
    asked = []
    try:
        for reply in (told(found={3: ANN}), *replies):
            asked += [talk.send(reply)]
    except StopIteration as end:
        assert len(asked) == len(replies), "the talk ended before all replies were sent"
        return asked, end.value[7]
    raise AssertionError(f"the talk goes on with {asked[-1]}")


def told(kind="ok", cursor=None, items=0, **answer):
    return Reply(kind, 5.0, rows=Answer(**answer), cursor=cursor, items=items)


def test_a_page_of_a_feed_without_reposts_of_others_comes_at_once():
    asked, outcome = visit(told(cursor="c", posts=9, found={3: ANN}), told(posts=2, found={3: ANN}), pages=2)
    assert [(one.endpoint, one.key, one.params["show"]) for one in asked] == [
        (FEED, (7, 1), "authors"),
        (FEED, (7, 2), "authors"),
    ]
    assert (outcome.posts, outcome.missing) == (11, None)


def test_those_whose_posts_are_reposted_are_looked_up_before_the_page_is_asked_for_again():
    looked_up = told(found={4: BOB}, missing={5: "opted-out"})
    page = told(posts=9, cursor="d", targets=[4], target_hits=[1])
    last = told(posts=2, found={3: ANN})
    asked, outcome = visit(told(found={4: BOB, 5: CAT}, cursor="c"), looked_up, page, last, pages=2)
    assert [one.endpoint for one in asked] == [FEED, PROFILES, FEED, FEED]
    assert (asked[1].params["ids"], asked[1].items) == (f"{BOB},{CAT}", 2)
    plain = {name: value for name, value in asked[0].params.items() if name != "show"}
    assert dict(asked[2].params) == {**plain, "ids": BOB}
    assert (asked[2].items, asked[3].params["cursor"]) == (100, "d")
    assert len({one.key for one in asked}) == 4
    assert (outcome.posts, outcome.targets.tolist()) == (11, [4])


def test_a_page_whose_reposts_are_all_of_those_who_mind_is_read_without_their_texts():
    asked, outcome = visit(told(found={4: BOB}), told(missing={4: "opted-out"}), told(posts=3))
    assert (asked[2].endpoint, asked[2].params["ids"]) == (FEED, "")
    assert outcome.posts == 3


def test_a_page_that_the_budget_made_smaller_is_asked_for_again_in_that_size():
    asked, _ = visit(
        told(found={4: BOB}, items=30, cursor="c"),
        told(found={4: BOB}),
        told(posts=30, items=30, cursor="d"),
        told(posts=70, items=70),
    )
    assert [(one.items, one.params.get("limit")) for one in asked] == [(100, "100"), (1, None), (30, "30"), (70, "70")]


@pytest.mark.parametrize("kind", PUT_OFF)
def test_no_page_is_read_while_those_whose_posts_it_has_cannot_be_looked_up(kind):
    asked, outcome = visit(told(found={4: BOB}), told(kind))
    assert (len(asked), outcome.missing) == (2, "temporary")


def reposts():
    """A feed of ann: posts of herself, cat and bob that she reposted one after the other, after a post of hers."""
    days = [f"2025-11-2{day}T12:00:00.000Z" for day in range(4)]
    shown = [
        {"post": post(name, f"by {name}"), "reason": repost("ann", at, name)}
        for name, at in zip(("bob", "cat", "ann"), days[1:], strict=True)
    ]
    return {"feed": [*reversed(shown), {"post": post("ann", "own", at=days[0])}], "cursor": "c"}


def read(body, **params):
    """The reply to a request for ann's feed, and what its server was asked."""
    request = Request((0, 1), FEED, {"id": ANN, "limit": "100", **params}, 100)
    reply, sky = send((200, {}, body), request, keep=True, whole=True)
    assert sky.asked[0][1] == [("actor", ANN), ("limit", "100")], "a server is asked for nothing else"
    return reply


def test_of_a_feed_with_reposts_of_others_only_these_are_told_at_first():
    reply = read(reposts(), show="authors")
    assert [one.id for one in reply.rows.answered] == [CAT, BOB]
    assert (list(reply.rows.posts), reply.received, reply.rows.mark) == ([], None, "")
    after = read(reposts(), show="authors", after="2025-11-21T12:00:00.000Z")
    assert [one.id for one in after.rows.answered] == [CAT], "bob's was seen before"


def test_a_feed_without_reposts_of_others_is_told_at_once():
    body = {"feed": [one for one in reposts()["feed"] if one["post"]["author"]["did"] == ANN]}
    reply = read(body, show="authors")
    assert [row.text for row in reply.rows.posts] == ["RT @ann.test: by ann", "own"]
    assert [one.id for one in reply.rows.answered] == [ANN]
    assert reply.received is not None


def test_a_repost_of_somebody_with_the_label_is_told_at_once_without_its_text():
    body = reposts()
    for one in body["feed"]:
        if one["post"]["author"]["did"] != ANN:
            one["post"]["author"]["labels"] = [{"val": HIDES}]
    reply = read(body, show="authors")
    assert [row.text for row in reply.rows.posts][1:3] == ["RT @cat.test: ", "RT @bob.test: "]


@pytest.mark.parametrize(("ids", "kept"), [(f"{BOB},{CAT}", {"bob", "cat"}), (BOB, {"bob"}), ("", set())])
def test_the_texts_of_reposts_are_those_of_who_was_asked_for(ids, kept):
    reply = read(reposts(), ids=ids)
    rows = {row.text.partition("@")[2].partition(".")[0] or row.text: row for row in reply.rows.posts}
    assert list(rows) == ["ann", "cat", "bob", "own"]
    for name in ("bob", "cat"):
        assert rows[name].text == f"RT @{name}.test: {f'by {name}' if name in kept else ''}"
        assert (rows[name].original is not None) == (name in kept)
    assert (rows["ann"].text, rows["ann"].original is not None) == ("RT @ann.test: by ann", True)
    assert [mention.who.id for mention in reply.rows.mentions] == [ANN, CAT, BOB], "who was reposted is known"
    assert (reply.received is not None) == (kept == {"bob", "cat"})
    assert reply.cursor == "c"


def test_where_descriptions_do_not_count_nobody_is_looked_up_and_all_is_kept():
    (talk,) = BlueskySource(load_policy("bluesky"), [], opt_outs=False).start_conversations(
        (VISIT,), {Node(3): Who(ANN, "ann.test")}
    )
    request = next(talk)
    assert (request.endpoint, request.params.keys() & {"show", "ids"}) == (FEED, set())
    reply = read(reposts(), opt_outs="no")
    assert len(reply.rows.posts) == 4
    assert reply.received is not None


@pytest.mark.parametrize("params", [{"latest": "post"}, {}])
def test_a_page_that_shows_reposts_of_whom_nobody_looked_up_is_not_kept_as_it_came(params):
    assert read(reposts(), **params).received is None
