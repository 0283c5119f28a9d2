"""A database of an older socialcrawl is brought up to date, and its campaign goes on."""

import sqlite3
from contextlib import closing, contextmanager

import numpy as np
import orjson
import pytest
from alembic import command
from stores import AT, beside, mentioning, one, opened, rows, save, timeline
from tiny_town import BEGIN, SETTINGS

from socialcrawl.engine.model import Answer, Node, Outcome, Pick, Reply, Who, format_time
from socialcrawl.ratelimit.policy import Tariff
from socialcrawl.storage.answer_reuse import AnswerReuse
from socialcrawl.storage.campaigns import ensure_campaign
from socialcrawl.storage.database.connection import make_alembic_config, make_engine
from socialcrawl.storage.queries.summary import summarize_campaign
from socialcrawl.storage.sql_store import SqlStore

KEPT = [1, 2, [1], [2], [], []]  # an answer as the first version packed it: posts, hits, targets, their hits
PARAMS = '{"id":"900"}'
FIRST = {
    "campaign": [(1, "old", "x", 1, orjson.dumps(SETTINGS).decode(), "{}", format_time(BEGIN))],
    "account (node, platform, platform_id, username, handle, first_seen_at)": [
        (0, "x", "900", None, None, format_time(AT)),
        (1, "x", "5", "Ann", "ann", format_time(AT)),
    ],
    "post (id, author, text, metrics_at, fetched_at)": [("1", 0, "sun sun", format_time(AT), format_time(AT))],
    "mention": [("1", 1, "reply")],
    "hit": [(1, "1", 2)],
    "pick": [(1, 0, 0, 0, "seed", 0.0, None), (1, 1, 1, 1, "seed", 0.0, None)],
    "outcome": [(1, 0, 0, format_time(AT), 1.5, 2, 1, None)],
    "link": [(1, 0, 0, 1, 1.5)],
    "request": [
        (1, 1, 0, 1, "/2/users/:id/tweets", PARAMS, "main", 100, 50000, format_time(AT), format_time(AT + 1), "ok", 200,
         1, 500, "c", "[null,[]]", None),
        (2, 1, 1, 1, "/2/users/:id/tweets", PARAMS, "main", 100, 50000, format_time(AT), format_time(AT + 2), "ok", 200,
         1, 500, None, "[null,[]]", orjson.dumps(KEPT).decode()),
        (3, 1, 1, 2, "/2/users/:id/tweets", PARAMS, "main", 100, 50000, format_time(AT + 3), *[None] * 8),
    ],
}  # fmt: skip


@contextmanager
def at_version(path, number):
    """A connection to the database, with the schema of a version."""
    made = make_engine(path)
    config = make_alembic_config()
    with made.connect() as connection:
        config.attributes["connection"] = connection
        with connection.begin():
            going = command.upgrade if number == "head" or not path.stat().st_size else command.downgrade
            going(config, number)
        yield connection
    made.dispose()


@pytest.fixture
def path(tmp_path):
    """A database as the first version left it: a batch finished, one open with a request that never came back."""
    found = tmp_path / "old.db"
    with at_version(found, "0001") as connection, connection.begin():
        for table, values in FIRST.items():
            for row in values:
                connection.exec_driver_sql(f"insert into {table} values ({', '.join('?' * len(row))})", row)
    return found


def long(text, lang, created_at, urls=None):
    """As many hits as a text has letters."""
    return len(text)


def test_a_campaign_of_the_first_version_goes_on(path):
    with opened(path) as connection:
        store = SqlStore(
            connection, ensure_campaign(connection, SETTINGS | {"name": "old"}, {}, BEGIN), "x", Tariff(500, 1000)
        )
        ((grant, reply), (_, second), (lost, nothing)) = store.ledger()
        assert (grant.request.key, grant.at, reply.kind, reply.cost, reply.cursor) == ((0, 1), AT, "ok", 500, "c")
        assert (second.at, second.answer.posts, lost.request.key, nothing) == (AT + 2, 1, (1, 2), None)
        assert store.unfinished() == (Pick(1, Node(1), "seed"),)
        kept = Answer(1, 2, [1], [2], {}, {})
        assert store.replies(store.unfinished()) == {
            (1, 1): Reply("ok", AT + 2, kept, None, 500, 200, None, [], items=100)
        }
        ((batch, (outcome,)),) = store.history()
        assert (batch, outcome.value) == ((Pick(0, Node(0), "seed"),), 1.5)
        assert (outcome.targets.tolist(), outcome.alpha.tolist()) == ([1], [1.5])
        page = mentioning(Who("5", "Ann"))
        assert save(store, page, 1, AT + 9, asked=timeline(1, 2), cost=500, date=AT + 9).cost == 500
        assert save(store, page, 1, AT + 9, asked=timeline(1, 3), cost=500, date=AT + 9).cost == 0
        store.finish(store.unfinished(), [Outcome(1, Node(1), AT, 1.0, np.array([0]), np.array([1.0]))])
        assert [len(outcomes) for _, outcomes in store.history()] == [1, 1]
        found = summarize_campaign(connection)
        assert (found.sent, found.posts, found.cost, found.reused) == (5, 4, 500 + 500 + 50_000 + 500, 0)
        assert found.billed_posts == [("2023-11-14", 3, 0.515)]


def test_what_the_first_version_bought_is_not_held_but_what_came_since_is(path):
    with opened(path) as connection:
        store = SqlStore(connection, 1, "x")
        asking = beside(store, "asking", reuse=AnswerReuse(24.0, long))
        assert asking.held(timeline(0, 1, "900"), AT + 60) is None, "nobody noted in which order it came"
        save(store, mentioning(Who("5", "Ann")), 1, AT + 9, asked=timeline(1, 2, "900"))
        assert asking.held(timeline(0, 1, "900"), AT + 60).answer == Answer(1, 7, [1], [7], {}, {})


def test_going_back_to_the_first_version_takes_what_was_never_sent_out_of_its_ledger(path):
    with opened(path) as connection:
        store = SqlStore(connection, 1, "x", Tariff(500, 1000))
        save(store, mentioning(Who("5", "Ann")), 1, asked=timeline(1, 2), cost=500, date=AT)
        assert beside(store, "asking", reuse=AnswerReuse(24.0, long)).held(timeline(), AT + 60)
        assert one(store, "select count(*) from request") == 5
    with at_version(path, "0001"), closing(sqlite3.connect(path)) as plain:
        assert plain.execute("select id from request order by id").fetchall() == [(1,), (2,), (3,), (4,)]
        assert len(plain.execute("select * from request").fetchone()) == len(FIRST["request"][0])
        assert plain.execute("select name from sqlite_master where name = 'charge'").fetchall() == []
    with opened(path) as connection:
        assert len(list(SqlStore(connection, 1, "x").ledger())) == 4


def test_equal_questions_are_found_by_an_index(path):
    with opened(path) as connection:
        store = SqlStore(connection, 1, "x", reuse=AnswerReuse(1.0, long))
        plan = rows(store, f"explain query plan {store._held._asked.sql}".replace("?", "'[]'"))
        assert "ix_request_digest" in str(plan)
