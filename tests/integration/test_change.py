"""A campaign that goes on with other keywords, seeds or another estimator: its history is that of the new topic."""

from dataclasses import replace
from functools import partial

import numpy as np
import orjson
import pytest
from changed_campaigns import (
    FOUND,
    NAMES,
    File,
    Sky,
    begun,
    crawled,
    derived,
    epochs,
    hits_of,
    parts_of,
    replayed,
    rows,
    told,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from import_files import FORMS, NOW, WORD, drawn, files, write_lines
from stores import a_database, failing, profile, save, timeline, users
from test_fold import chunks_of, state
from tiny_town import BEGIN

from socialcrawl.campaign.settings import check_settings
from socialcrawl.crawls.collect.estimators.leastsquares import Moments
from socialcrawl.crawls.collect.estimators.regressor import FEATURES
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.model import Mention, Node, Outcome, Page, Pick, PostRow, Who, format_time
from socialcrawl.errors import SettingsError, StoreError
from socialcrawl.graph.graph import COLUMNS, CrawlGraph
from socialcrawl.graph.relevance import Topic, compute_worth
from socialcrawl.importers.import_posts import import_history
from socialcrawl.platforms.node_reading import Reading
from socialcrawl.platforms.x.source import SEARCH
from socialcrawl.storage.answer_reuse import AnswerReuse
from socialcrawl.storage.campaigns import TopicChange, ensure_campaign
from socialcrawl.storage.erasure.execution import erase
from socialcrawl.storage.erasure.forgetting import forget
from socialcrawl.storage.erasure.orders import read_order
from socialcrawl.storage.retopic import recount_topic
from socialcrawl.storage.sql_store import SqlStore

LATER = BEGIN + 1e6
STAR, MOON = File("star", estimator="bfs"), File("moon", estimator="bfs")


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("stop", [None, 1, 9, 14, 16])
def test_with_another_topic_everything_is_what_a_crawl_for_it_would_have_stored(database, size, stop):
    """Breadth first asks the same people whatever the topic, so both crawls get the same replies."""
    with a_database(database) as mine, a_database("sqlite") as other:
        oracle, wire = begun(other, MOON), Sky("moon")
        crawled(oracle, wire, MOON, size=size, stop=stop)
        store, town = begun(mine, STAR), Sky("star")
        crawled(store, town, STAR, size=size, stop=stop)
        before = derived(store)
        store = begun(mine, MOON, LATER, change=True)
        after = derived(store)
        assert after == derived(oracle)
        assert after != before or stop == 1
        assert crawled(store, town, MOON, size=size).kind == crawled(oracle, wire, MOON, size=size).kind == "done"
        assert derived(store) == derived(oracle)
        assert sorted(town.calls) == sorted(wire.calls)


def test_answers_that_the_database_had_are_counted_anew_too(database):
    with a_database(database) as connection:
        first = File("sun", "first", estimator="bfs", steps=12)
        crawled(begun(connection, first), Sky("sun"), first)
        hits = {word: hits_of(word) for word in ("star", "moon")}
        makers = {word: File(word, word, estimator="bfs") for word in hits}
        stores = {}
        for word, file in makers.items():
            stores[word] = begun(connection, file, reuse=AnswerReuse(1e6, hits[word]))
            assert crawled(stores[word], Sky(word), file).kind == "done"
        mine = f"where kind = 'held' and campaign = {stores['star'].campaign}"
        held = rows(stores["star"], f"select count(*) from request {mine}")
        assert held[0][0] > 10
        with connection.begin():
            recount_topic(connection, stores["star"].campaign, hits["moon"])
        assert derived(stores["star"]) == derived(stores["moon"])


def test_where_the_ledger_does_not_know_the_posts_they_are_those_of_the_account(database):
    with a_database(database) as mine, a_database("sqlite") as other:
        oracle = begun(other, MOON)
        crawled(oracle, Sky("moon"), MOON)
        store = begun(mine, STAR)
        crawled(store, Sky("star"), STAR)
        with mine.begin():
            mine.exec_driver_sql("update request set nodes = null, post_ids = null where posts > 0 and n > 3")
        begun(mine, MOON, LATER, change=True)
        ours, theirs = derived(store), derived(oracle)
        assert (ours["outcome"], ours["link"]) == (theirs["outcome"], theirs["link"])
        assert set(ours["hit"]) <= set(theirs["hit"])


def test_posts_that_are_held_no_more_count_as_nothing(database):
    with a_database(database) as connection:
        store = begun(connection, STAR)
        crawled(store, Sky("star"), STAR)
        with connection.begin():
            for table in ("mention", "hit"):
                connection.exec_driver_sql(f"delete from {table}")
            connection.exec_driver_sql("delete from post")
        begun(connection, MOON, LATER, change=True)
        found = derived(store)
        assert found["hit"] == []
        assert {row[2] for row in found["outcome"]} == {0.0}
        assert {row[3] for row in found["link"]} == {0.0}
        assert len(found["link"]) > 10


NAMED = st.sampled_from(["ann", "Ann", "bob", "eve", "Old"])
IDS = st.sampled_from(["1", "2", "3", "4"])
WHO = st.one_of(st.builds(Who, IDS, NAMED), st.builds(Who, IDS, st.none()), st.builds(Who, st.none(), NAMED))
TEXT = st.lists(st.sampled_from(["star", "moon", "sun"]), max_size=5).map(" ".join)


@st.composite
def timelines(draw):
    """Pages of picks: (posts of each page as (id, text, lang), mentions, why missing)."""
    made, places = [], st.integers(0, 3)
    for n in range(draw(st.integers(1, 4))):
        pages = []
        for part in range(draw(st.integers(1, 3))):
            posts = [
                (f"{n}.{part}.{i}", draw(TEXT), draw(st.sampled_from(["en", "fr", None]))) for i in range(draw(places))
            ]
            pages.append((posts, [(draw(st.integers(0, 2)), draw(WHO)) for _ in range(draw(st.integers(0, 4)))]))
        made.append((pages, draw(st.sampled_from([None, None, "ann", "eve"]))))
    return made


def counted(word):
    return lambda text, lang, created_at, urls=None: text.split().count(word) if lang != "fr" else 0


def stored(connection, word, made, last):
    """A campaign that read these pages for a topic; its last pick is open if `last` says so."""
    store, count = begun(connection, File(word, word)), counted(word)
    for n, (pages, renamed) in enumerate(made):
        pick = Pick(n, Node(0), "expand", 0.0)
        store.open((pick,))
        reading = Reading(pick)
        if renamed:
            save(store, users(profile(str(1 + n % 4), renamed)), n, asked=part_of(0, n))
        for part, (posts, mentioned) in enumerate(pages):
            rows_ = [PostRow(key, "9", None, text, lang, *[None] * 13) for key, text, lang in posts]
            mentions = [Mention(place, who, "mention") for place, who in mentioned if place < len(posts)]
            hits = [count(row.text, row.lang, None) for row in rows_]
            asked = part_of(part + 1, n)
            reading.take(save(store, Page(rows_, hits, mentions), n, BEGIN + n, asked=asked))
        if not (last and n == len(made) - 1):
            store.finish((pick,), [reading.make_outcome()])
    return store


def part_of(part, n=0):
    return timeline(n, part, str(n))


@settings(deadline=None, max_examples=16, suppress_health_check=[HealthCheck.too_slow])
@given(timelines(), st.booleans(), st.sampled_from(["sqlite"] * 7 + ["postgres"]))
def test_whatever_pages_came_the_new_topic_makes_of_them_what_it_would_have_made_at_once(made, last, kind):
    with a_database(kind) as mine, a_database("sqlite") as other:
        store, oracle = stored(mine, "star", made, last), stored(other, "moon", made, last)
        with mine.begin():
            recount_topic(mine, store.campaign, counted("moon"))
        assert derived(store) == derived(oracle)


ESTIMATORS = ("hybrid-sum", "lnh-sum", "nh-ne-sum", "opic", "sklearn.linear_model.SGDRegressor")


def changed_twice(connection, size, *files):
    """A campaign that goes on with each of some files in turn, two steps longer each time; and its town."""
    wire = Sky()
    for turn, file in enumerate(files):
        store = begun(connection, file, LATER + turn, change=turn > 0)
        assert crawled(store, wire, file, size=size).kind == "done"
    return store, wire


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize(("name", "kind"), [*((name, "sqlite") for name in ESTIMATORS), ("hybrid-sum", "postgres")])
def test_after_a_change_the_picks_are_those_of_a_crawl_that_was_told_the_history(name, kind, size):
    files = (
        File("star", queries=("star",), estimator=name, steps=5),
        File("moon", queries=("moon",), estimator=name, steps=8, usernames=(*NAMES, "Person13")),
        File("moon", queries=("moon",), estimator="lnh-avg", steps=11, usernames=("Person16", *NAMES)),
    )
    with a_database(kind) as connection:
        for many in (2, 3):
            store, wire = changed_twice(connection, size, *(replace(file, name=f"c{many}") for file in files[:many]))
            file, why = replace(files[many - 1], name=f"c{many}"), epochs(store)
            assert [parts for _, parts in why] == ["begun", "topic,seeds", "seeds,crawl"][:many]
            chosen, kept = replayed(store, wire, file, why[-1][0], size=size)
            assert chosen == kept
            assert len([pick for batch in kept for pick in batch if pick.act == "expand"]) >= 3
            assert "resolve" in {pick.act for batch in kept for pick in batch}
            assert state(folded(store, wire, file)) == state(absorbed(store, wire, file))


def folded(store, wire, file):
    crawl = parts_of(store, wire, file).crawl
    with chunks_of(4):
        crawl.fold(store.history())
    return crawl


def absorbed(store, wire, file):
    crawl = parts_of(store, wire, file).crawl
    for batch, outcomes in store.history():
        crawl.absorb(batch, outcomes)
    return crawl


@pytest.mark.parametrize("stop", range(8, 22, 3))
def test_a_batch_that_was_open_when_the_topic_changed_is_finished_under_the_new_one(stop):
    """Its features were made under the old topic: they teach nobody, neither now nor after the next restart."""
    star, moon = (File(word, queries=(word,), estimator="lnh-sum", steps=9) for word in ("star", "moon"))
    with a_database("sqlite") as connection:
        store, wire = begun(connection, star), Sky()
        assert crawled(store, wire, star, size=4, stop=stop) is None
        store = begun(connection, moon, LATER, change=True)
        left = store.unfinished()
        assert all(pick.x == () for pick in left)
        assert crawled(store, wire, moon, size=4).kind == "done"
        chosen, kept = replayed(store, wire, moon, epochs(store)[-1][0], size=4)
        assert chosen == kept
        assert kept


def test_a_learner_learns_from_the_graph_as_it_is_now_what_it_had_seen_under_the_old_topic():
    """The referee builds the graph pick by pick, and looks at each account just before it is added."""
    star, moon = (
        File(word, queries=("both",), estimator="lnh-sum", steps=steps) for word, steps in (("star", 8), ("moon", 9))
    )
    with a_database("sqlite") as connection:
        store, wire = changed_twice(connection, 1, star, moon)
        first = epochs(store)[-1][0]
        graph, x, y = CrawlGraph(), [], []
        for batch, outcomes in store.history():
            for pick, outcome in zip(batch, outcomes, strict=True):
                assert (pick.x == ()) == (pick.act != "expand" or pick.n < first)
                if pick.act == "seed":
                    graph.seed(pick.node)
                if pick.act not in ("seed", "expand") or outcome.missing:
                    continue
                if pick.act == "expand":
                    x.append(graph.features(graph.row(pick.node)))
                    y.append(outcome.value)
                graph.add(pick.node, outcome.value, outcome.targets, outcome.alpha)
        learned, expected = folded(store, wire, moon).estimator.moments, Moments(3)
        expected.add(np.array([[row[COLUMNS.index(name)] for name in FEATURES] for row in x]), np.array(y))
        assert len(y) > 6
        assert (learned.rows, learned.first, learned.second) == (expected.rows, expected.first, expected.second)


def test_new_searches_are_made_new_names_are_looked_up_and_nobody_is_asked_twice(database):
    star = File("star", queries=("star", "both"), usernames=("PERSON0", "Person13"), most=3, steps=6)
    moon = File("moon", queries=("both", "moon"), usernames=("Person16", "person0", "Person2"), most=3, steps=9)
    with a_database(database) as connection:
        store, _ = changed_twice(connection, 1, star, moon)
        sent = rows(store, f"select params from request where endpoint = '{SEARCH}' order by id")
        searched = [orjson.loads(params)["query"] for (params,) in sent]
        assert list(dict.fromkeys(searched)) == ["star", "both", "moon"]
        first = epochs(store)[-1][0]
        picks = rows(
            store, "select p.n, p.act, a.platform_id, p.node from pick p left join account a using (node) order by n"
        )
        acts = [(act, key and int(key) - 1000) for n, act, key, _ in picks if n >= first and act in ("search", "seed")]
        assert acts[0] == ("search", None)
        assert [node for n, act, _, node in picks if act == "search"] == [-1, -2, -3]
        before = {key for n, act, key, _ in picks if n < first and act in ("seed", "expand")}
        new = [number for number in (16, 2, *FOUND["moon"]) if str(1000 + number) not in before]
        assert [number for act, number in acts[1:]] == new[: len(acts) - 1]
        assert len(acts) > 2
        asked = [key for _, act, key, _ in picks if act in ("seed", "expand")]
        assert len(asked) == len(set(asked))


def test_seats_keep_their_order_and_whoever_was_looked_up_stays_as_a_number(database):
    def seats():
        (told,) = rows(store, "select identity from campaign")
        return orjson.loads(told[0])["seeds"]["usernames"]

    with a_database(database) as connection:
        one = File(usernames=("Person1", "Person2", "Person3"))
        store, wire = begun(connection, one), Sky()
        two = replace(one, usernames=("Person4", "Person3", "person1"))
        begun(connection, two, change=True)
        assert seats() == ["Person1", "Person3", "Person4"], "nobody was looked up: who is left out is gone"
        crawled(store, wire, two)
        node = rows(store, "select node from account where handle = 'person3'")[0][0]
        three = replace(one, usernames=("Person5", "person1", "Person4"))
        store = begun(connection, three, change=True)
        assert seats() == ["Person1", node, "Person4", "Person5"]
        assert begun(connection, three).campaign == store.campaign, "it is the same now, in whatever order"
        assert begun(connection, replace(three, usernames=three.usernames[::-1])).campaign == store.campaign
        four = replace(one, usernames=("Person3", *three.usernames))
        store = begun(connection, four, change=True)
        assert seats() == ["Person1", node, "Person4", "Person5", "Person3"]
        nodes = store.enlist(list(four.usernames), LATER)
        assert nodes[1] == nodes[4] == node
        with pytest.raises(SettingsError, match=r"\[seeds\] usernames was"):
            begun(connection, one)


def test_what_may_not_change_is_refused_and_nothing_is_written(database):
    with a_database(database) as connection:
        store = begun(connection, STAR)
        crawled(store, Sky(), STAR)
        before = derived(store), told(store), epochs(store), rows(store, "select identity from campaign")
        for file, words in (
            (replace(MOON, seed=9), "another seed: seed was 3"),
            (replace(MOON, pages=1), r"another source.pages_per_user: \[source\] pages_per_user was 9"),
        ):
            with pytest.raises(SettingsError, match=f"'tiny' cannot continue with {words}. Restore it to continue it"):
                begun(connection, file, change=True)
        with pytest.raises(SettingsError, match=r"\[topic\] keywords was \['star'\].*`socialcrawl run --change`"):
            begun(connection, MOON)
        with pytest.raises(SettingsError, match=r"seed was 3.*for a new campaign\.$"):
            begun(connection, replace(STAR, seed=9))
        assert (derived(store), told(store), epochs(store), rows(store, "select identity from campaign")) == before


def test_a_change_is_one_transaction(database):
    with a_database(database) as connection:
        store = begun(connection, STAR)
        crawled(store, Sky(), STAR)
        before = derived(store), told(store), epochs(store), rows(store, "select identity from campaign")
        with failing(connection, "version"), pytest.raises(StoreError):
            begun(connection, MOON, change=True)
        assert (derived(store), told(store), epochs(store), rows(store, "select identity from campaign")) == before
        begun(connection, MOON, change=True)
        assert derived(store) != before[0]


def test_what_was_imported_is_counted_anew_as_an_import_would_have_counted_it(database, tmp_path):
    def mine(word):
        return check_settings({"name": "mine", "topic": {"keywords": [word]}}, "test")

    def kept(connection):
        return SqlStore(connection, 1, "x")

    posts = [replace(post, text=f"{post.text} {'comet ' * (post.at % 3)}") for post in drawn(seed=4, posts=120)]
    path = write_lines(tmp_path / "a", FORMS["flat"](posts))
    with a_database(database) as connection, a_database("sqlite") as other:
        import_history(files(path), connection, mine(WORD), NOW)
        import_history(files(path), other, mine("comet"), NOW)
        before = derived(kept(connection))
        new = mine("comet")
        change = TopicChange(Topic(["comet"]).hits, ["comet"])
        ensure_campaign(connection, new.model_dump(mode="json"), new.identity([]), NOW, change=change)
        assert derived(kept(connection)) == derived(kept(other)) != before
        assert len(before["outcome"]) > 5


@pytest.mark.parametrize("first", [True, False])
def test_who_was_forgotten_stays_so_and_the_new_topic_counts_what_is_left(database, first):
    """Whether somebody is forgotten before the change or after it: what is left is the same, of the new topic."""

    def forgetting(connection):
        order = read_order(["1000", "1007"], ["3-1"], None, None)
        erase(connection, partial(forget, order=order, now=format_time(LATER)))

    with a_database(database) as connection, a_database("sqlite") as other:
        oracle, store = begun(other, MOON), begun(connection, STAR)
        crawled(oracle, Sky("moon"), MOON, size=4, stop=17)
        crawled(store, Sky(), STAR, size=4, stop=17)
        forgetting(other)
        if first:
            forgetting(connection)
        begun(connection, MOON, LATER, change=True)
        if not first:
            forgetting(connection)
        assert derived(store) == derived(oracle)
        why = [part for _, part in epochs(store)]
        assert why == (["begun", "forget", "topic"] if first else ["begun", "topic", "forget"])


def test_an_account_that_a_held_answer_calls_by_another_number_keeps_its_weight():
    """A mention by name, of somebody who turned out to be another before the answer was taken again."""
    row = PostRow("1", "5", None, "moon moon star", "en", *[None] * 13)
    page = Page([row], [1], [Mention(0, Who(None, "ann"), "mention"), Mention(0, Who("8", None), "mention")])
    with a_database("sqlite") as connection:
        first = begun(connection, File(name="first"))
        save(
            first, Page([row._replace(id="0")], [1], [Mention(0, Who("7", None), "mention")]), asked=timeline(0, 1, "9")
        )
        claim, _ = save(first, page, 1, asked=timeline(1, 1, "5")).answer.targets
        (ann,) = save(first, users(profile("7", "Ann")), 2).answer.found
        store = begun(connection, File(name="second"), reuse=AnswerReuse(1e6, counted("star")))
        store.open((Pick(0, Node(3), "expand"),))
        reading = Reading(Pick(0, Node(3), "expand"))
        reading.take(store.held(timeline(0, 1, "5"), BEGIN))
        outcome = reading.make_outcome()
        assert claim != outcome.targets[0] == ann
        store.finish((Pick(0, Node(3), "expand"),), [outcome])
        with connection.begin():
            recount_topic(connection, store.campaign, counted("moon"))
        assert [alpha for *_, alpha in derived(store)["link"]] == [compute_worth(2), compute_worth(2)]


def test_fewer_authors_than_were_taken_before_take_no_names_out_of_line():
    with a_database("sqlite") as connection:
        many = File(queries=("star",), usernames=("Person1",), most=3, steps=3)
        few = replace(many, usernames=("Person1", "Person16", "Person2"), most=1, steps=6)
        store, _ = changed_twice(connection, 1, many, few)
        first = epochs(store)[-1][0]
        named = "select lower(username) from pick join account using (node)"
        assert rows(store, f"{named} where act = 'resolve' and n >= {first} order by n") == [
            ("person16",),
            ("person2",),
        ]
        more = replace(few, most=3)
        store = begun(connection, more, LATER, change=True)
        assert parts_of(store, Sky(), more).crawl.seeds.unresolved


@given(st.data())
@settings(deadline=None, max_examples=30)
def test_the_number_of_authors_counts_anew_with_each_topic(data):
    """The referee keeps a count for each topic."""
    topics = sorted(data.draw(st.sets(st.integers(1, 8), max_size=3)))
    most = data.draw(st.integers(1, 4))
    found = data.draw(st.lists(st.lists(st.integers(0, 30), unique=True, max_size=4), min_size=1, max_size=9))
    line, taken, counts = Seeds([Node(-1)], [Node(99)], most, topics=topics), [], {}
    for n, authors in enumerate(found):
        pick = Pick(n, Node(-1 - n % 4), "search")
        line.absorb(pick, Outcome(n, pick.node, 0.0, targets=np.array(authors, np.int64)))
        topic = sum(first <= n for first in topics)
        for author in authors:
            if counts.get(topic, 0) < most and author not in taken:
                taken.append(author)
                counts[topic] = counts.get(topic, 0) + 1
    assert line.unresolved == [99, *taken]
