"""A file as the history of a campaign: the crawl goes on from it as if it had asked everybody itself."""

from random import Random

import numpy as np
import pytest
from erasure_towns import EndError
from import_files import (
    FORMS,
    NOW,
    WORD,
    Written,
    columns,
    drawn,
    everything,
    f,
    files,
    flat,
    name,
    pages,
    read_of,
    table,
    write_lines,
)
from postgres import a_place
from stores import a_database, failing, opened
from test_fold import state
from tiny_town import BEGIN, Clock, Wire, parts_of, person, posts_of

from socialcrawl.campaign.settings import check_settings
from socialcrawl.crawls.collect.crawl import Collect
from socialcrawl.crawls.collect.estimators import make_estimator
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Node, Outcome, Pick, Reply, Stop
from socialcrawl.errors import PostsFileError, SettingsError, StoreError
from socialcrawl.graph.relevance import Topic
from socialcrawl.importers.import_posts import import_history, import_posts
from socialcrawl.platforms.node_reading import Reading
from socialcrawl.platforms.x.parse import parse_posts
from socialcrawl.platforms.x.vocabulary import TWEET
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.database.lease import Lease
from socialcrawl.storage.memory_store import MemoryStore
from socialcrawl.storage.sql_store import SqlStore

BOTH = pytest.mark.parametrize("kind", ["sqlite", "postgres"])


def mine(**more):
    return check_settings({"name": "mine", "topic": {"keywords": [WORD]}, **more}, "test")


def store_of(connection, settings):
    with connection.begin():
        sql = f"select id from campaign where name = '{settings.name}'"
        number = connection.exec_driver_sql(sql).scalar_one()
    return SqlStore(connection, number, "x")


def people_of(store, nodes):
    """The numbers of persons behind nodes."""
    who = store.accounts([Node(int(node)) for node in nodes])
    return [int((who[node].username or f"Person{int(who[node].id) - 100}").removeprefix("Person")) for node in nodes]


@pytest.mark.parametrize("form", FORMS)
@BOTH
def test_every_author_becomes_a_pick_with_the_outcome_of_the_definition(kind, form, tmp_path):
    posts = drawn(seed=4, posts=120)
    path = write_lines(tmp_path / "a", FORMS[form](posts))
    with a_database(kind) as connection:
        brought = import_history(files(path, path), connection, mine(), NOW)  # twice: a post counts once
        store = store_of(connection, mine())
        history = list(store.history())
        found = {}
        for n, (batch, (outcome,)) in enumerate(history):
            (pick,) = batch
            assert (pick.n, pick.act, pick.score, pick.x, outcome.missing, outcome.at) == (
                n,
                "import",
                0,
                (),
                None,
                NOW,
            )
            (who,), targets = people_of(store, [pick.node]), people_of(store, outcome.targets.tolist())
            links = list(zip(targets, outcome.alpha.tolist(), strict=True))
            found[who] = (outcome.posts, outcome.occurrences, outcome.value, links)
        assert store.unfinished() == ()
    wanted = read_of(posts)
    assert list(found.items()) == list(wanted.items())
    assert sum(person in dict(links) for person, (*_, links) in wanted.items()) > 2  # links to oneself stay
    assert brought.authors == len(wanted)


def test_the_outcomes_are_those_that_the_live_source_makes_of_the_same_pages(tmp_path):
    posts = drawn(seed=7, posts=80)
    with a_database("sqlite") as connection:
        import_history(files(write_lines(tmp_path / "a", flat(posts))), connection, mine(), NOW)
        store = store_of(connection, mine())
        imported = {batch[0].node: outcome for batch, (outcome,) in store.history()}
        live = MemoryStore()
        for node, outcome in imported.items():
            (who,) = store.accounts([node]).values()
            own = [line for line in flat(posts) if line["author_id"] == who.id]
            page = parse_posts({"data": own}, TWEET, Topic([WORD]).hits, author=who.id)
            reading = Reading(Pick(outcome.n, node, "expand"))
            reading.take(Reply("ok", NOW, live._keep(page, "2023-01-01T00:00:00.000000Z", frozenset())))
            asked = reading.make_outcome()
            ids = [live.accounts([Node(t)])[Node(t)].id for t in asked.targets.tolist()]
            assert ids == [store.accounts([Node(t)])[Node(t)].id for t in outcome.targets.tolist()]
            assert outcome.alpha.tolist() == asked.alpha.tolist()
            assert (outcome.value, outcome.posts, outcome.occurrences) == (asked.value, asked.posts, asked.occurrences)
    assert len(imported) > 5


@BOTH
def test_a_second_import_changes_nothing_and_more_of_an_author_is_no_second_answer(kind, tmp_path):
    posts = drawn()
    path = write_lines(tmp_path / "a", pages(posts[:40]))
    more = write_lines(tmp_path / "b", pages([*posts, Written("1", 15, 1, "late", [])]))
    with a_database(kind) as connection:
        import_history(files(path), connection, mine(), NOW)
        before = everything(connection)
        again = import_history(files(path), connection, mine(), NOW + 9)
        assert everything(connection) == before
        asked = {post.author for post in posts[:40]}
        assert (again.authors, again.asked) == (0, len(asked))
        import_history(files(more), connection, mine(), NOW + 9)
        after = everything(connection)
        assert set(after["outcome"]) > set(before["outcome"])
        assert len(after["outcome"]) == len({post.author for post in posts} | {15})
        assert len(after["post"]) == len(posts) + 1


def town(people):
    """The posts of some people of the tiny town, as twarc2 would have kept them."""
    for number in people:
        for row, hits, near in posts_of(number):
            text = " ".join([WORD] * hits) or "nothing"
            who = dict(zip(("id", "username"), person(number), strict=True))
            mentions = [{"id": person(other).id, "username": person(other).username} for other in near]
            yield {
                "id": row.id, "author_id": row.author, "text": text, "created_at": "2023-01-01T00:00:00.000Z",
                "entities": {"mentions": mentions}, "author": who,
                "__twarc": {"retrieved_at": "2023-01-02T00:00:00+00:00"},
            }  # fmt: skip


def by_hand(store, n, number):
    """What the town's person says, as an outcome in the nodes of `store`, straight from the definition."""
    keys = {who.id: node for node, who in store.accounts([Node(i) for i in range(60)]).items()}
    near = {}
    posts = posts_of(number)
    for _, hits, mentioned in posts:
        for other in mentioned:
            near[other] = near.get(other, 0) + hits
    targets = np.array([keys[person(other).id] for other in near], np.int64)
    total = sum(hits for _, hits, _ in posts)
    alpha = np.array([f(x) for x in near.values()])
    return Outcome(n, keys[person(number).id], NOW, f(total), targets, alpha, None, len(posts), total)


@pytest.mark.parametrize("estimator", ["nh-ne-sum", "hybrid-sum", "bfs", "lnh-wide"])
@BOTH
def test_a_crawl_goes_on_as_the_one_that_had_absorbed_those_outcomes(kind, estimator, tmp_path):
    people = [number for number in (2, 10, 14, 16) if posts_of(number)]
    settings = mine(crawl={"estimator": estimator})
    with a_database(kind) as connection:
        import_history(files(write_lines(tmp_path / "a", town(people))), connection, settings, NOW)
        store = store_of(connection, settings)
        wire = Wire(Clock())
        parts = parts_of(store, wire, steps=9, estimator=estimator)
        assert run(parts).kind == "done"
        history = list(store.history())
        # The referee has never seen the import: it absorbs the outcomes as the town defines them.
        names = store.enlist(["PERSON0", "person11", "nobody"], BEGIN)
        other = Collect(
            Seeds([Node(-1)], names, 4), make_estimator(estimator, seed=3, switch_after=3), 9, parts.source.width
        )
        for n, number in enumerate(people):
            outcome = by_hand(store, n, number)
            other.absorb((Pick(n, outcome.node, "import"),), [outcome])
        for batch, outcomes in history[len(people) :]:
            assert other.choose(1, 0.0) == batch
            other.absorb(batch, outcomes)
        assert isinstance(other.choose(1, 0.0), Stop)
    asked = [call[1] for call in wire.calls]
    assert not [number for number in people if f"'id': '{person(number).id}'" in "".join(asked)]
    assert sum(batch[0].act == "expand" for batch, _ in history) == 9


@BOTH
def test_a_history_is_all_there_or_not_at_all(kind, tmp_path):
    path = write_lines(tmp_path / "a", pages(drawn()))
    with a_database(kind) as connection:
        import_posts(files(path), connection, mine(), NOW)
        before = everything(connection)
        with failing(connection, "link"), pytest.raises(StoreError):
            import_history(files(path), connection, mine(), NOW)
        assert everything(connection) == before
        assert import_history(files(path), connection, mine(), NOW).authors
    bad = tmp_path / "bad"
    bad.write_bytes(path.read_bytes() + b"oops\n")
    with a_database(kind) as connection, pytest.raises(PostsFileError):
        import_history(files(bad), connection, mine(), NOW)


class Ending(Wire):
    """The town, until the process ends at call number `last`."""

    last = None

    def send(self, grant):
        if len(self.calls) == self.last:
            raise EndError
        return super().send(grant)


def stopped_at(connection, settings, call, estimator):
    """A store of a campaign whose process ended while it fetched accounts, and its wire."""
    ensure_campaign(connection, settings.model_dump(mode="json"), settings.identity([]), NOW)
    store, wire = store_of(connection, settings), Ending(Clock())
    wire.last = call
    with pytest.raises(EndError):
        run(parts_of(store, wire, steps=9, estimator=estimator), size=3)
    wire.last = None
    assert len(store.unfinished()) > 1
    return store, wire


@pytest.mark.parametrize("estimator", ["nh-ne-sum", "hybrid-sum", "opic"])
@pytest.mark.parametrize("call", [5, 9, 15])
@BOTH
def test_what_is_imported_while_a_batch_is_open_comes_after_it(kind, call, estimator, tmp_path):
    """The campaign goes on from it as one that learns its history from the beginning, bit for bit."""
    settings = mine()
    first, second = (write_lines(tmp_path / name, town(people)) for name, people in (("a", (10, 14)), ("b", (16, 17))))
    with a_database(kind) as connection:
        store, wire = stopped_at(connection, settings, call, estimator)
        batch, before = store.unfinished(), list(store.history())
        assert sum(import_history(files(path), connection, settings, NOW).authors for path in (first, second)) > 1
        again = store_of(connection, settings)
        assert again.unfinished() == batch
        assert repr(list(again.history())) == repr(before)
        parts = parts_of(again, wire, steps=9, estimator=estimator)
        assert run(parts, size=3).kind == "done"
        history = list(store_of(connection, settings).history())
        assert [pick.n for one, _ in history for pick in one] == list(range(parts.crawl.picks))
        acts = [one[0].act for one, _ in history]
        assert acts[len(before) : len(before) + 2] == [batch[0].act, "import"]
        folded = parts_of(again, wire, steps=9, estimator=estimator).crawl
        folded.fold(store_of(connection, settings).history())
        assert state(folded) == state(parts.crawl)
        other = parts_of(again, wire, steps=9, estimator=estimator).crawl
        for one, outcomes in history:
            assert one[0].act == "import" or other.choose(3, 0.0) == one
            other.absorb(one, outcomes)
        assert state(other) == state(parts.crawl)


def test_a_run_that_ends_again_in_the_batch_leaves_it_and_what_was_imported_as_they_are(tmp_path):
    settings = mine()
    with a_database("sqlite") as connection:
        _, wire = stopped_at(connection, settings, 9, "nh-ne-sum")
        import_history(files(write_lines(tmp_path / "a", town((10, 14)))), connection, settings, NOW)
        before = everything(connection)
        wire.last = len(wire.calls)
        again = parts_of(store_of(connection, settings), wire, steps=9)
        with pytest.raises(EndError):
            run(again, size=3)
        after = everything(connection)
        for name in ("pick", "outcome", "link"):
            assert after[name] == before[name]
        assert again.crawl.picks == store_of(connection, settings).unfinished()[0].n


def test_a_campaign_that_runs_takes_no_history_and_is_free_afterwards(tmp_path):
    path = write_lines(tmp_path / "a", pages(drawn()))
    with a_place("sqlite") as place, opened(place) as connection, opened(place) as runner:
        lease = Lease(runner, "mine")
        with pytest.raises(StoreError, match="Another process is running"):
            import_history(files(path), connection, mine(), NOW)
        assert not any(everything(connection).values())
        lease.release()
        import_history(files(path), connection, mine(), NOW)
        Lease(runner, "mine").release()


def test_a_campaign_with_another_topic_is_another_campaign(tmp_path):
    path = write_lines(tmp_path / "a", pages(drawn()))
    with a_database("sqlite") as connection:
        import_history(files(path), connection, mine(), NOW)
        with pytest.raises(SettingsError, match="begun in this database with other settings"):
            import_history(files(path), connection, mine(topic={"keywords": ["other"]}), NOW)


def test_many_authors_in_wild_order_are_ranked_by_their_first_post(tmp_path):
    chance = Random(3)
    order = [chance.randrange(2600) for _ in range(5000)]
    posts = [
        Written(str(i), who, 1_600_000_000, WORD if who % 3 else "", [who + 1, who]) for i, who in enumerate(order)
    ]
    with a_database("sqlite") as connection:
        import_history(files(write_lines(tmp_path / "a", columns(posts))), connection, mine(), NOW)
        picked = table(connection, "select a.username from pick p join account a using (node) order by n")
        assert [who for (who,) in picked] == [name(who) for who in dict.fromkeys(order)]
        assert table(connection, "select count(*) from link") == [(2 * len(set(order)),)]
        assert table(connection, "select name from sqlite_temp_master") == []
