"""What makes a link: kinds of mentions and their weights, whom an account follows, parts of posts."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stores import AT, a_store, one, rows, save, timeline
from tiny_town import BEGIN, SETTINGS, close, stored

from socialcrawl.campaign.settings import check_settings
from socialcrawl.engine.model import Mention, Node, Page, Pick, PostRow, Request, Who, format_time
from socialcrawl.errors import SettingsError
from socialcrawl.graph.relevance import Links, compute_worth, count_within
from socialcrawl.platforms.node_reading import Reading
from socialcrawl.storage.answer_reuse import AnswerReuse
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.erasure.forgetting import forget
from socialcrawl.storage.erasure.orders import read_order
from socialcrawl.storage.retopic import recount_topic
from socialcrawl.storage.sql_store import SqlStore

ANN, BOB, EVE, DAN = (Who(str(i), name) for i, name in enumerate(["ann", "bob", "eve", "dan"], 1))
TALKS = {"mentions": 1, "replies": 3, "reposts": 0}
FOLLOWING = "/2/users/:id/following"


def suns(text, lang, created_at, urls=None):
    return text.count("sun")


def moons(text, lang, created_at, urls=None):
    return text.count("moon")


TEXTS = ["sun sun moon", "moon", "sun moon moon moon", "nothing", "sun"]
SAID = [
    (0, ANN, "mention"),
    (0, BOB, "reply"),
    (1, BOB, "mention"),
    (2, EVE, "repost"),
    (3, ANN, "quote"),
    (4, DAN, "reply"),
]


def a_page(hits=suns, mentions=tuple(SAID), author="900"):
    posts = [PostRow(f"{author}-{i}", author, None, text, *[None] * 14) for i, text in enumerate(TEXTS)]
    return Page(posts, [hits(text, None, None) for text in TEXTS], [Mention(*told) for told in mentions])


def referee(links, hits, follows=()):
    """The occurrences that count for each account, written down once more."""
    named = {"reply": "replies", "repost": "reposts", "quote": "quotes", "mention": "mentions"}
    found = {}
    for place, who, kind in SAID:
        weight = links.get(named[kind], links.get("mentions", 0))
        if weight:
            found[who.username] = found.get(who.username, 0) + weight * hits(TEXTS[place], None, None)
    for who in follows:
        found[who.username] = found.get(who.username, 0) + links.get("follows", 0)
    return found


def shown(store, targets, hits):
    who = store.accounts([Node(node) for node in targets])
    return {who[node].username: many for node, many in zip(targets, hits, strict=True)}


def a_campaign(store, links, name="weighed", **more):
    told = SETTINGS | {"name": name, "crawl": {"links": links}}
    number = ensure_campaign(store.connection, told, {}, BEGIN)
    return SqlStore(store.connection, number, "x", links=Links.of(links), **more)


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
@pytest.mark.parametrize(
    "links", [{"mentions": 1}, TALKS, {"replies": 1}, {"reposts": 2, "quotes": 5}, {"mentions": 2}]
)
def test_an_answer_counts_each_kind_of_mention_by_its_weight(kind, links):
    with a_store(kind) as store:
        store.links = Links.of(links)
        kept = save(store, a_page()).answer
        assert shown(store, kept.targets, kept.target_hits) == referee(links, suns)


def test_kinds_that_nothing_is_said_of_count_as_mentions():
    assert [Links.of(TALKS).get_weight(kind) for kind in ("mention", "reply", "repost", "quote")] == [1, 3, 0, 1]
    assert Links.of({}).plain
    assert Links.of({"mentions": 1, "follows": 4}).plain
    assert not Links.of({"mentions": 2}).plain


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
def test_whom_an_account_follows_is_told_once_and_counts_as_so_many_occurrences(kind):
    with a_store(kind) as store:
        pick = Pick(0, Node(0), "expand")
        store.open((pick,))
        reading = Reading(pick, follow=2)
        reading.take(save(store, a_page(), asked=timeline(0, 1)))
        followed = save(store, Page(follows=[DAN, EVE, DAN]), asked=Request((0, 1000), FOLLOWING, {"id": "1"}))
        reading.take(followed)
        assert len(followed.answer.follows) == 2
        links = {"mentions": 1, "follows": 2}
        expected = {name: compute_worth(many) for name, many in referee(links, suns, [DAN, EVE]).items()}
        outcome = reading.make_outcome()
        assert shown(store, outcome.targets.tolist(), outcome.alpha.tolist()) == expected
        assert expected["dan"] == 1 + math.log(3)
        replayed = Reading(pick, follow=2)
        for _, reply in sorted(store.replies((pick,)).items()):
            replayed.take(reply)
        assert replayed.targets == reading.targets
        if kind != "memory":
            told = rows(store, "select node, followed, seen_at from follow order by followed")
            assert [(node, at) for node, _, at in told] == [(0, format_time(AT))] * 2
            assert [node for _, node, _ in told] == sorted(followed.answer.follows)


def test_a_held_answer_counts_for_the_links_of_whoever_asks(database, place):
    first = stored(place)
    whole = SqlStore(first.connection, first.campaign, "x")
    whole.open((Pick(0, Node(0), "expand"),))
    save(whole, a_page(), asked=timeline(0, 1))
    save(whole, Page(follows=[DAN]), asked=Request((0, 1000), FOLLOWING, {"id": "1"}))
    second = a_campaign(whole, TALKS, reuse=AnswerReuse(1e6, moons, links=Links.of(TALKS)))
    held = second.held(timeline(7, 1), AT)
    assert shown(second, held.answer.targets, held.answer.target_hits) == referee(TALKS, moons)
    again = second.held(Request((7, 1000), FOLLOWING, {"id": "1"}), AT)
    assert [second.accounts([Node(node)])[node].username for node in again.answer.follows] == ["dan"]
    close(first)


def crawled(store, links, hits):
    """One account read and finished, as a run does it; the next one still open."""
    for n in (0, 1):
        pick = Pick(n, Node(n), "expand")
        store.open((pick,))
        reading = Reading(pick, follow=links.get("follows", 0))
        reading.take(save(store, a_page(hits, author=f"90{n}"), n, asked=timeline(n, 1, key=f"90{n}")))
        asked = Request((n, 1000), FOLLOWING, {"id": f"90{n}"})
        reading.take(save(store, Page(follows=[EVE, Who("77", "zoe")]), n, asked=asked))
        if n == 0:
            store.finish((pick,), [reading.make_outcome()])
    return store


def links_of(store):
    return rows(
        store, f"select n, position, node, alpha from link where campaign = {store.campaign} order by n, position"
    )


@pytest.mark.parametrize("links", [TALKS, {"mentions": 1, "follows": 2}, {"replies": 2, "follows": 1}])
def test_another_topic_weighs_links_anew_as_if_it_had_been_the_topic_from_the_start(database, place, links):
    made = stored(place)
    base = SqlStore(made.connection, made.campaign, "x")
    changed = crawled(a_campaign(base, links, "changed"), links, suns)
    oracle = crawled(a_campaign(base, links, "oracle"), links, moons)
    assert links_of(changed) != links_of(oracle)
    with made.connection.begin():
        recount_topic(made.connection, changed.campaign, moons)
    assert links_of(changed) == links_of(oracle)
    still = Pick(1, Node(1), "expand")
    mine, theirs = ({key: one.answer for key, one in store.replies((still,)).items()} for store in (changed, oracle))
    assert mine == theirs
    assert len(mine) == 2
    close(made)


@pytest.mark.parametrize("links", [TALKS, {"mentions": 1, "follows": 2}])
def test_links_are_what_is_left_of_them_when_posts_and_people_are_forgotten(database, place, links):
    made = stored(place)
    store = crawled(a_campaign(SqlStore(made.connection, made.campaign, "x"), links), links, suns)
    before = {(n, node): alpha for n, _, node, alpha in links_of(store)}
    with made.connection.begin():
        forget(made.connection, read_order(["77"], ["900-0"], None, None), format_time(AT))
    found = {store.accounts([Node(node)])[node].username: alpha for _, _, node, alpha in links_of(store)}
    left = {"mentions": 1, "replies": links.get("replies", 1), "reposts": links.get("reposts", 1)}
    expected = {
        "bob": left["mentions"] * suns(TEXTS[1], None, None),
        "ann": suns(TEXTS[3], None, None),
        "dan": left["replies"],
    }
    eve = left["reposts"] * suns(TEXTS[2], None, None) + links.get("follows", 0)
    expected |= {"eve": eve} if eve or left["reposts"] else {}
    expected |= {"eve": 0} if "follows" not in links and not left["reposts"] else {}
    assert before
    assert found == {name: compute_worth(many) for name, many in expected.items() if name in found}
    assert set(found) >= {"ann", "bob", "dan"}
    assert (
        one(
            store,
            "select count(*) from follow where followed not in (select node from account where username is not null)",
        )
        == 0
    )
    close(made)


@given(st.text("ab ", max_size=30), st.lists(st.tuples(st.integers(-3, 33), st.integers(-3, 33)), max_size=5))
def test_an_occurrence_in_several_parts_counts_once(text, spans):
    covered = [any(begin <= i < end for begin, end in spans) for i in range(len(text))]
    assert count_within(text, spans, lambda part: part.count("a")) == sum(
        letter == "a" and inside for letter, inside in zip(text, covered, strict=True)
    )


def test_the_part_of_a_post_that_counts_for_a_link_is_kept_and_counted_again_for_another_topic(database, place):
    made = stored(place)
    number = ensure_campaign(made.connection, SETTINGS | {"name": "pages", "source": {"platform": "web"}}, {}, BEGIN)
    store = SqlStore(made.connection, number, "web")
    text = "sun moon moon " + "." * 40 + " sun"
    post = PostRow("https://a.example/", "https://a.example/", None, text, *[None] * 14)
    target = Who("https://b.example/", "https://b.example/")
    parts = ((0, 8), (50, 60))
    hits = count_within(text, parts, lambda part: part.count("sun"))
    page = Page([post], [text.count("sun")], [Mention(0, target, "mention", parts, hits)])
    pick = Pick(0, Node(0), "expand")
    store.open((pick,))
    reading = Reading(pick)
    reading.take(save(store, page, asked=Request((0, 1), "a.example/*", {"url": "https://a.example/"})))
    store.finish((pick,), [reading.make_outcome()])
    assert [alpha for *_, alpha in links_of(store)] == [compute_worth(2)]
    assert one(store, "select spans from mention") == "[[0,8],[50,60]]"
    with made.connection.begin():
        recount_topic(made.connection, number, moons)
    assert [alpha for *_, alpha in links_of(store)] == [compute_worth(1)]
    close(made)


@pytest.mark.parametrize(
    ("links", "meant"),
    [
        ("follows", {"follows": 1}),
        (["replies", "mentions"], {"mentions": 1, "replies": 1}),
        ({"quotes": 7}, {"quotes": 7}),
    ],
)
def test_links_are_written_as_a_name_a_list_or_weights(links, meant):
    assert a_file(links).crawl.links == meant


@pytest.mark.parametrize(
    "links", [["likes"], {"mentions": -1}, {"mentions": 0}, {"mentions": 1.5}, [], 3, {"mentions": True}]
)
def test_links_that_cannot_be_are_refused_with_what_can(links):
    with pytest.raises(SettingsError, match=r"\[crawl\] links"):
        a_file(links)


def test_links_cannot_change_under_a_campaign_that_goes_on(place, database):
    made = stored(place)
    identities = [a_file(links).identity([]) for links in (["mentions"], ["replies"])]
    assert "links" not in identities[0]["crawl"]
    ensure_campaign(made.connection, SETTINGS | {"name": "fixed"}, identities[0], BEGIN)
    with pytest.raises(SettingsError, match=r"links was .*choose another name"):
        ensure_campaign(made.connection, SETTINGS | {"name": "fixed"}, identities[1], BEGIN)
    close(made)


def a_file(links):
    return check_settings({"name": "a", "topic": {"keywords": ["sun"]}, "crawl": {"links": links}}, "a.toml")


def test_a_page_that_was_written_anew_counts_as_it_is_now(database, place):
    made = stored(place)
    number = ensure_campaign(made.connection, SETTINGS | {"name": "pages", "source": {"platform": "web"}}, {}, BEGIN)
    store = SqlStore(made.connection, number, "web")
    targets = [Who(f"https://{name}.example/", f"https://{name}.example/") for name in "bc"]
    for n, (text, whom) in enumerate([("sun sun moon sun", targets), ("moon sun", targets[:1])]):
        post = PostRow("https://a.example/", "https://a.example/", None, text, *[None] * 14)
        page = Page([post], [text.count("sun")], [Mention(0, who, "mention", ((0, 4),), 1) for who in whom])
        pick = Pick(n, Node(0), "expand")
        store.open((pick,))
        reading = Reading(pick)
        reading.take(save(store, page, n, asked=Request((n, 1), "a.example/*", {"url": "https://a.example/"})))
        store.finish((pick,), [reading.make_outcome()])
    assert rows(store, "select text, (select count(*) from mention) from post") == [("moon sun", 1)]
    with made.connection.begin():
        recount_topic(made.connection, number, moons)
    assert [(n, alpha) for n, _, _, alpha in links_of(store)] == [
        (0, compute_worth(1)),
        (0, 0.0),
        (1, compute_worth(1)),
    ]
    close(made)
