"""Answers the database has are taken again: the same nodes in the same order, counted anew, unpaid, never younger."""

from dataclasses import replace

import orjson
import pytest
from example_counts import many
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stores import AT, a_store, beside, mentioning, one, profile, reopened, rows, save, timeline, users
from tiny_town import BEGIN, Clock, Wire, close, parts_of, stored, story

from socialcrawl.engine.loop import run
from socialcrawl.engine.model import (
    Answer,
    Grant,
    Mention,
    Node,
    Outcome,
    Page,
    Pick,
    PostRow,
    Request,
    SameAs,
    Who,
    parse_time,
)
from socialcrawl.graph.relevance import Topic
from socialcrawl.ratelimit.policy import Tariff
from socialcrawl.storage.answer_reuse import AnswerReuse
from socialcrawl.storage.memory_store import MemoryStore
from socialcrawl.storage.queries.summary import summarize_campaign
from socialcrawl.storage.sql_store import SqlStore
from socialcrawl.storage.writes import CampaignWriter

HOUR = 3600.0
LATER = AT + HOUR


def suns(text, lang=None, created_at=None, urls=None):
    return text.count("sun")


def moons(text, lang=None, created_at=None, urls=None):
    return text.count("moon")


def again(store, name="again", hits=suns, hours=2.0, *, keep=False):
    """Another campaign of the same database that takes answers of the last hours."""
    return beside(store, name, reuse=AnswerReuse(hours, hits, keep))


def look_up(n=0, **asked):
    ((key, names),) = asked.items()
    return Request(
        (n, 0), "/2/users" if key == "ids" else "/2/users/by", {key: names, "user.fields": "x"}, 100, 100_000
    )


def post(key="1", text="sun", author="900", original=None):
    return PostRow(key, author, None, text, *[None] * 14)._replace(original=original)


def counted(page, count):
    return replace(page, hits=[count(row.text) for row in page.posts])


def in_order(answer):
    """An answer with the order of everything in it."""
    return (answer.posts, answer.hits, list(answer.targets), list(answer.target_hits), list(answer.found.items()),
            sorted(answer.missing.items()))  # fmt: skip


@pytest.fixture
def store(database):
    with a_store(database) as made:
        yield made


IDS = st.sampled_from("123456")
BY_ID = st.one_of(IDS.map(lambda key: Who(key, f"Name{key}")), IDS.map(lambda key: Who(key, None)))
ANYBODY = st.one_of(BY_ID, IDS.map(lambda key: Who(None, f"name{key}")))


@st.composite
def timelines(draw, who):
    """Pages of a few posts, which never change; searches name whom they are about, some bring profiles."""
    kinds = st.sampled_from(["mention", "reply", "repost"])
    written = [
        (post(f"p{i}", draw(st.text("sunmo ", max_size=12)) + draw(st.sampled_from(["", "sun", "moon sun"])),
              draw(IDS)), draw(st.lists(st.tuples(who, kinds), max_size=4)))
        for i in range(draw(st.integers(1, 5)))
    ]  # fmt: skip
    pages = []
    for _ in range(draw(st.integers(1, 4))):
        chosen = draw(st.lists(st.sampled_from(written), max_size=5))
        said = [Mention(place, *pair) for place, (_, whom) in enumerate(chosen) for pair in whom]
        authors = [Who(author, None) for author in dict.fromkeys(row.author for row, _ in chosen)]
        profiles = [profile(key, f"Name{key}") for key in draw(st.sets(IDS, max_size=2))] if chosen else []
        answered = authors if draw(st.booleans()) else []
        pages.append(Page([row for row, _ in chosen], [0] * len(chosen), said, sorted(profiles), answered))
    return pages


@settings(deadline=None, max_examples=many(20), suppress_health_check=[HealthCheck.too_slow])
@given(timelines(BY_ID), st.lists(st.sampled_from(["name1", "name2", "name9"]), max_size=2))
def test_an_answer_that_is_held_is_the_answer_as_it_was_first_saved(database, pages, names):
    with a_store(database) as store:
        store.enlist(names, AT)
        first = [save(store, counted(page, suns), n, AT + n, asked=timeline(n, 1, f"{n}"), cursor=f"c{n}")
                 for n, page in enumerate(pages)]  # fmt: skip
        asking = again(store)
        asking.open(tuple(Pick(n, Node(0), "expand") for n in range(len(pages))))
        held = [asking.held(timeline(n, 1, f"{n}"), LATER) for n in range(len(pages))]
        assert [in_order(reply.answer) for reply in held] == [in_order(reply.answer) for reply in first]
        told = [(reply.kind, reply.at, reply.cursor, reply.cost, reply.status) for reply in held]
        assert told == [("held", LATER, f"c{n}", 0, 0) for n in range(len(pages))]
        assert reopened(asking).replies(asking.unfinished()) == {(n, 1): reply for n, reply in enumerate(held)}


@settings(deadline=None, max_examples=many(20), suppress_health_check=[HealthCheck.too_slow])
@given(timelines(ANYBODY), st.lists(st.sampled_from(["name1", "name2", "name9"]), max_size=2))
def test_held_for_another_topic_it_is_as_if_the_page_had_come_again(database, pages, names):
    with a_store(database) as store:
        store.enlist(names, AT)
        for n, page in enumerate(pages):
            save(store, counted(page, suns), n, AT + n, asked=timeline(n, 1, f"{n}"))
        asking, buying = again(store, hits=moons), beside(store, "buying")
        for n, page in enumerate(pages):
            held = asking.held(timeline(n, 1, f"{n}"), LATER).answer
            bought = save(buying, counted(page, moons), n, LATER, asked=timeline(n, 1, f"{n}")).answer
            assert in_order(held) == in_order(bought)
        hits = "select post, occurrences from hit where campaign = {} order by post"
        assert rows(store, hits.format(asking.campaign)) == rows(store, hits.format(buying.campaign))


def test_a_mention_by_name_of_somebody_who_turned_out_to_be_another_is_of_that_other(store):
    save(store, mentioning(Who("7", None)))
    claim = save(store, mentioning(Who(None, "ann"), post="2"), 1, asked=timeline(1, 1, "5")).answer.targets
    (ann,) = save(store, users(profile("7", "Ann")), 2).answer.found
    assert claim != [ann]
    assert again(store).held(timeline(0, 1, "5"), LATER).answer.targets == [ann]


def test_nothing_is_sent_or_paid_or_counted_for_an_answer_that_is_held(store):
    save(store, Page([post("1"), post("2", "sun sun")], [1, 2]), cost=1000, asked=timeline())
    second = again(store)
    reply = second.held(timeline(3), LATER)
    assert reply.answer == Answer(2, 3, [], [], {}, {})
    assert list(second.ledger()) == []
    found = summarize_campaign(store.connection, "again")
    assert (found.sent, found.posts, found.cost, found.requests, found.billed_posts) == (0, 0, 0, [], [])
    assert (found.reused, found.began) == (1, "2023-11-14T23:13:20.250000Z")
    row = rows(store, "select n, part, endpoint, params, credential, items, most, sent_at, arrived_at, status, posts, "
               "cost, new_posts, new_users, post_ids from request where kind = 'held'")  # fmt: skip
    at = "2023-11-14T23:13:20.250000Z"
    assert row == [(3, 0, "/2/users/:id/tweets", '{"id":"1"}', "", 0, 0, at, at, 0, 2, 0, 0, 0, None)]
    assert summarize_campaign(store.connection, "tiny").reused == 0


def test_what_the_platform_said_then_is_not_dated_anew(store):
    save(store, Page([post("1")], [1]), 0)
    save(store, users(profile("5", "ann", protected=False)), 1, asked=look_up(1, ids="5"))
    second = again(store)
    before = rows(store, "select metrics_at, fetched_at from post"), rows(store, "select * from account order by node")
    assert second.held(timeline(), LATER)
    assert second.held(look_up(1, ids="5"), LATER)
    now = rows(store, "select metrics_at, fetched_at from post"), rows(store, "select * from account order by node")
    assert now == before


def test_an_answer_is_held_for_so_many_hours_and_no_longer(store):
    save(store, Page([post()], [1]))
    hours = again(store, hours=1.5)
    assert hours.held(timeline(1), AT + 1.5 * HOUR + 0.001) is None
    assert hours.held(timeline(2), AT + 1.5 * HOUR).kind == "held"
    assert again(store, hours=float("inf")).held(timeline(3), AT + 1e9).kind == "held"


def test_a_chain_of_held_answers_makes_none_of_them_younger(store):
    save(store, Page([post()], [1]))
    assert again(store, "second").held(timeline(), AT + 1.9 * HOUR).kind == "held"
    assert again(store, "third").held(timeline(), AT + 2.1 * HOUR) is None


def test_the_newest_answer_counts(store):
    for n, keys in enumerate(["12", "3", "45"]):
        posts = [post(key) for key in keys]
        save(store, Page(posts, [1] * len(posts)), n, AT + [5, 20, 10][n], asked=timeline(n), cursor=keys)
    assert again(store).held(timeline(), LATER).cursor == "3"
    save(store, Page(missing=[(Who("1", None), "suspended")]), 3, AT + 30, kind="missing", asked=timeline(3))
    assert again(store, "then").held(timeline(), LATER) is None, "the platform's last word is that it is gone"


@pytest.mark.parametrize("kind", ["window", "broken", "lost", "refused", "invalid"])
def test_a_failure_is_no_answer(store, kind):
    save(store, None, kind=kind, asked=timeline())
    store.reserve(Grant(timeline(1), "main", AT))
    assert again(store).held(timeline(2), LATER) is None


def test_another_question_is_another_question(store):
    save(store, Page([post()], [1]), asked=timeline(key="1"))
    second = again(store)
    assert second.held(timeline(key="2"), LATER) is None
    assert second.held(timeline(key="1", cursor="c"), LATER) is None
    assert second.held(Request((0, 1), "/2/tweets/search/recent", {"id": "1"}), LATER) is None
    turned = Request((0, 1), "/e", {"a": "1", "b": "2"})

    def digest(asked, platform="x", server="https://api.x.com"):
        return CampaignWriter(store.connection, 1, platform, server).make_digest(asked)

    assert digest(turned) == digest(replace(turned, params={"b": "2", "a": "1"}, key=(7, 7), most=3))
    others = (
        digest(turned, platform="bluesky"),
        digest(turned, server="http://127.0.0.1"),
        digest(replace(turned, endpoint="/f")),
    )
    assert len({digest(turned), *others}) == 4


def test_a_page_without_posts_is_an_answer_too(store):
    save(store, Page(), asked=timeline(), cursor="more")
    reply = again(store).held(timeline(), LATER)
    assert (reply.kind, reply.cursor, reply.answer) == ("held", "more", Answer(0, 0, [], [], {}, {}))
    assert rows(store, "select kind, post_ids from request order by id") == [("ok", None), ("held", None)]


def test_an_answer_of_which_a_post_or_an_account_was_erased_is_not_held(store):
    save(store, Page([post("1"), post("2")], [1, 1], [Mention(0, Who("5", "ann"), "mention")]), asked=timeline())
    save(store, Page([post("3")], [1], [Mention(0, Who("6", "bob"), "mention")]), 1, asked=timeline(1, key="2"))
    with store.connection.begin():
        for table, key in (("hit", "post = '2'"), ("post", "id = '2'"), ("mention", "post = '3'")):
            store.connection.exec_driver_sql(f"delete from {table} where {key}")
        store.connection.exec_driver_sql("delete from account where platform_id = '6'")
    second = again(store)
    assert second.held(timeline(), LATER) is None
    assert second.held(timeline(key="2"), LATER) is None


def test_originals_that_are_wanted_have_to_be_there(store):
    save(store, Page([post("1"), post("2", original="{}")], [1, 1]), asked=timeline())
    assert again(store, "plain").held(timeline(), LATER).answer.posts == 2
    assert again(store, "keeping", keep=True).held(timeline(), LATER) is None
    whole = Page([post("1", original='{"id":"1"}'), post("2", original="other")], [1, 1])
    save(store, whole, 1, asked=timeline(1))
    assert again(store, "keeping", keep=True).held(timeline(), LATER).answer.posts == 2
    assert rows(store, "select original from post order by id") == [('{"id":"1"}',), ("{}",)]


def test_a_pick_that_asks_the_same_again_has_to_be_sent(store):
    save(store, Page([post()], [1]))
    second = again(store)
    assert second.held(timeline(4, 1), LATER).kind == "held"
    assert second.held(timeline(4, 2), LATER) is None
    assert second.held(timeline(5, 1), LATER).kind == "held"


def test_an_answer_is_let_go_of_with_its_batch(store):
    save(store, mentioning(Who("5", "ann")))
    second, batch = again(store), (Pick(0, Node(0), "expand"),)
    second.open(batch)
    reply = second.held(timeline(0, 1), LATER)
    assert second.replies(batch) == {(0, 1): reply}
    second.finish(batch, [Outcome(0, Node(0), LATER)])
    assert second.replies(batch) == {}
    assert again(store, "third").held(timeline(), LATER).answer == reply.answer


PROFILES = st.lists(
    st.tuples(st.sampled_from("123456"), st.sampled_from(["ann", "Bob", "eve"]), st.sampled_from([True, False, None])),
    max_size=6,
)


@settings(deadline=None, max_examples=many(25))
@given(PROFILES, st.permutations("1234567"), st.integers(0, 6), st.booleans())
def test_users_are_held_whose_profiles_are_young_enough(database, shown, wanted, young, by_name):
    with a_store(database) as store:
        (typed,) = store.enlist(["eve"], AT - HOUR)
        known = {}
        for n, (key, name, protected) in enumerate(shown):
            save(store, users(profile(key, name, protected=protected)), n, AT + n)
            known.pop(key, None)
            known[key] = (name, protected, n)  # in the order in which they were seen last
        holders = {name.lower(): key for key, (name, _, _) in known.items()}
        fresh = [key for key, (_, protected, n) in known.items() if n >= young and protected is not None]
        if by_name:
            asked = look_up(9, usernames="EVE,nobody,bob,Ann")
            expected = [holders[name] for name in ("eve", "bob", "ann") if holders.get(name) in fresh]
        else:
            asked = look_up(9, ids=",".join(wanted))
            expected = [key for key in wanted if key in fresh]
        reply = again(store, hours=1.0).held(asked, AT + young + HOUR)
        assert (reply is None) == (expected == [])
        if reply:
            answer = reply.answer
            assert (reply.kind, reply.at, list(answer.found.values())) == ("held", AT + young + HOUR, expected)
            hidden = {answer.missing.get(node) for node, key in answer.found.items() if known[key][1]}
            assert hidden <= {"protected"}
            told = {node for node, why in answer.missing.items() if why == "protected"}
            assert told == {node for node, key in answer.found.items() if known[key][1]}
            assert set(answer.missing) <= told | {typed}


def test_users_that_are_held_are_told_of_as_if_they_had_come(store):
    save(store, mentioning(Who("6", None)))
    (bob,) = store.enlist(["bob"], AT)
    page = users(profile("5", "Ann", protected=True), profile("6", "Bob", protected=False))
    page = replace(page, missing=[(Who("5", "Ann"), "protected")])
    for n, asked in enumerate([look_up(usernames="Ann,bob"), look_up(ids="5,6")]):
        first = save(store, page, n, asked=asked)
        reply = again(store, f"again{n}").held(replace(asked, key=(n, 0)), LATER)
        assert in_order(reply.answer) == in_order(first.answer)
        assert reply.answer.missing == {3: "protected", bob: SameAs(1)}
        assert reopened(store).accounts([Node(1), Node(3)]) == {1: Who("6", "Bob"), 3: Who("5", "Ann")}


def test_some_users_are_a_partial_answer_and_none_is_no_answer(store):
    save(store, users(profile("5", "ann", protected=False)))
    save(store, mentioning(Who("6", "bob")), 1)
    second = again(store)
    assert list(second.held(look_up(1, ids="6,5,7"), LATER).answer.found.values()) == ["5"]
    assert second.held(look_up(2, ids="6,7"), LATER) is None
    assert list(second.held(look_up(3, usernames="bob,ANN"), LATER).answer.found.values()) == ["5"]
    assert second.held(look_up(4, usernames="bob"), LATER) is None, "only a mention said that this is bob's name"
    assert second.held(Request((5, 0), "/2/users", {}), LATER) is None


def test_whether_an_account_is_protected_has_to_be_known(store):
    save(store, users(profile("5", "ann")))
    assert again(store).held(look_up(ids="5"), LATER) is None


@pytest.mark.parametrize("reuse", [None, AnswerReuse(0.0, suns), AnswerReuse(-1.0, suns)])
def test_who_wants_nothing_held_pays_nothing_for_it(place, reuse):
    store = beside(stored(place), reuse=reuse)
    save(store, Page([post()], [1]))
    close(store)
    assert store.held(timeline(1), LATER) is None, "no statement reached the closed database"
    memory = MemoryStore()
    save(memory, Page([post()], [1]))
    assert memory.held(timeline(1), LATER) is None


class Spoken(Wire):
    """The town, whose posts say the topic as often as it is counted."""

    def answer(self, endpoint, params, begin):
        page, cursor = super().answer(endpoint, params, begin)
        texts = zip(page.posts, page.hits, strict=True)
        return replace(page, posts=[row._replace(text="sun " * hits) for row, hits in texts]), cursor


def test_a_second_campaign_is_the_same_and_asks_only_for_who_is_missing(place):
    first = beside(stored(place), "first", Tariff(500, 1000))
    bought, wire = Spoken(Clock()), Spoken(Clock(BEGIN + HOUR))
    assert run(parts_of(first, bought)).kind == "done"
    second = beside(first, "second", Tariff(500, 1000), AnswerReuse(24.0, suns))
    assert run(parts_of(second, wire)).kind == "done"
    assert story(second) == story(first)
    kinds = [reply.kind for _, reply in second.ledger()]
    assert len(kinds) == len(wire.calls) < len(bought.calls)
    assert set(kinds) <= {"missing", "ok"}
    assert sum(reply.answer.posts for _, reply in second.ledger()) == 0
    found = summarize_campaign(first.connection, "second")
    assert found.sent == len(wire.calls)
    assert found.reused > found.sent
    assert (found.posts, found.cost) == (0, 0)
    hits = "select post, occurrences from hit where campaign = {} order by post"
    assert rows(first, hits.format(second.campaign)) == rows(first, hits.format(first.campaign)) != []
    close(first)


def test_the_ids_of_a_page_are_kept_in_their_order_and_each_post_counts_once(store):
    save(store, Page([post("b"), post("a"), post("b")], [1, 1, 1]), asked=timeline())
    assert orjson.loads(one(store, "select post_ids from request")) == ["b", "a", "b"]
    assert again(store).held(timeline(), LATER).answer == Answer(3, 2, [], [], {}, {})


def test_a_held_post_is_counted_by_its_language_and_time_as_one_that_came(store):
    posts = [post(str(n), "sun")._replace(lang=lang, created_at=at) for n, (lang, at) in enumerate(
        [("en", "2026-11-20T00:00:00.000Z"), ("de", "2026-11-20T00:00:00.000Z"), (None, None),
         ("en", "2026-11-19T23:59:59.000Z")]
    )]  # fmt: skip
    save(store, Page(posts, [1] * 4), asked=timeline())
    topic = Topic(["sun"], languages=["en"], begin=parse_time("2026-11-20T00:00:00Z"))
    asking = again(store, hits=topic.hits)
    assert asking.held(timeline(), LATER).answer.hits == 2
    found = rows(asking, f"select post, occurrences from hit where campaign = {asking.campaign} order by post")
    assert [tuple(row) for row in found] == [("0", 1), ("2", 1)]


def test_a_talk_whose_list_leads_back_to_itself_is_answered_by_the_platform(store):
    save(store, Page([post("a")], [1]), 7, asked=timeline(7, 2, cursor="c"))
    second = beside(store, "second", reuse=AnswerReuse(24.0, suns))
    assert second.held(timeline(9, 3, cursor="c"), LATER) is not None, "another campaign"
    mine = SqlStore(store.connection, store.campaign, "x", reuse=AnswerReuse(24.0, suns))
    assert mine.held(timeline(7, 3, cursor="c"), LATER) is None, "the same pick, one page on"
    assert mine.held(timeline(8, 3, cursor="c"), LATER) is not None, "another pick"
