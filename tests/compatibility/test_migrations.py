"""Schemas go up and down again on both databases, and every row is what it was."""

import json
from dataclasses import replace

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import insert, inspect, select, update
from stores import AT, beside, opened, save, timeline
from tiny_town import Clock, Wire, close, page_of, parts_of, person, posts_of, stored

from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Limit, Page, Received, Request, format_time
from socialcrawl.errors import StoreError
from socialcrawl.ratelimit.policy import Tariff
from socialcrawl.storage.answer_reuse import AnswerReuse
from socialcrawl.storage.database.connection import connect, make_alembic_config, make_engine
from socialcrawl.storage.erasure.forgetting import forget
from socialcrawl.storage.erasure.orders import read_order
from socialcrawl.storage.post_search.index import list_tables, update_index
from socialcrawl.storage.post_search.reading import PostFilter, find_posts
from socialcrawl.storage.schema.tables import (
    account_check,
    campaign,
    compliance_job,
    daemon,
    lease,
    mention,
    metadata,
    outcome,
    pick,
    post,
    post_check,
    request,
    sampled,
    shadow,
    standing,
    wanted_post,
)
from socialcrawl.text.post_query import parse_query

VERSIONS = ["0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0010", "0011", "0012", "0014"]


def at(connection, version):
    """Bring the schema to a version, up or down."""
    config = make_alembic_config()
    config.attributes["connection"] = connection
    with connection.begin():
        going = command.downgrade if version < "0021" else command.upgrade
        going(config, version)


def up(connection):
    config = make_alembic_config()
    config.attributes["connection"] = connection
    with connection.begin():
        command.upgrade(config, "head")


def contents(connection):
    """Every row of every table, in order."""
    with connection.begin():
        return {
            name: sorted(map(tuple, connection.execute(select(table))), key=repr)
            for name, table in metadata.tables.items()
        }


def watched(connection):
    """A campaign that a daemon has, that was paused, and on which an estimator looked."""
    for table, row in (
        (shadow, {"campaign": 1, "n": 8, "estimator": "bfs", "score": 0.5}),
        (daemon, {"id": "here 1", "host": "here", "pid": 1, "began_at": format_time(AT),
                  "beat_at": format_time(AT + 1), "weight": 2.5, "campaigns": "[1, 2]"}),
        (lease, {"campaign": 1, "daemon": "here 1", "taken_at": format_time(AT), "beat_at": format_time(AT + 1),
                 "state": "paused", "why": "somebody said so", "until": format_time(AT + 9), "since": format_time(AT),
                 "file": "/campaigns/one.toml"}),
        (standing, {"campaign": 1, "node": 3, "visits": 2, "visited_at": format_time(AT), "relevance": 1.5,
                    "occurrences": 2, "indegree": 3.0, "outlinks": 4.0, "yield": 0.5, "link_score": 7.0,
                    "importance": 0.125, "history": 0.25}),
        (wanted_post, {"campaign": 1, "position": 0, "id": "17", "post": None, "state": "deleted"}),
        (sampled, {"campaign": 1, "node": 3, "visits": 2, "weight": 0.25, "degree": 7}),
        (compliance_job, {"id": 1, "campaign": 1, "kind": "posts", "name": "ours", "job": "77", "status": "uploaded",
                          "ids": 2, "last": True, "since": format_time(AT), "began_at": format_time(AT),
                          "uploaded_at": format_time(AT + 1), "looked_at": format_time(AT + 2)}),
        (account_check, {"node": 3, "checked_at": format_time(AT)}),
    ):  # fmt: skip
        connection.execute(insert(table).values(row))
    key = connection.execute(select(post.c.id).order_by(post.c.id).limit(1)).scalar_one()
    connection.execute(insert(post_check).values(post=key, checked_at=format_time(AT)))
    paused = {"paused_at": format_time(AT), "paused_by": "backup"}
    connection.execute(update(campaign).where(campaign.c.id == 1).values(refresh_rate=3, **paused))
    connection.execute(update(request).where(request.c.campaign == 1, request.c.n > 5).values(clock=AT, opens="[0]"))
    connection.execute(update(pick).where(pick.c.campaign == 1, pick.c.n > 5).values(since="a mark"))
    connection.execute(update(outcome).where(outcome.c.campaign == 1, outcome.c.n > 3).values(mark="another"))


@pytest.fixture
def filled(place):
    """A database with rows in every table: a crawl, an open batch, a reuse, kept answers, something forgotten."""
    store = beside(stored(place), "first", Tariff(500, 1000))
    run(parts_of(store, Wire(Clock())))
    second = beside(
        store, "second", Tariff(500, 1000), AnswerReuse(1e6, lambda text, lang, created_at, urls=None: len(text))
    )
    run(parts_of(second, Wire(Clock())))
    received = Received("https://example.org/2/users", [("Date", "now")], b"{}")
    limits = [Limit(1, 2, AT + 9, daily=True)]
    asked = Request((8, 1000), "/2/users/:id/following", {"id": "1003"})
    save(second, Page(follows=[person(1), person(4)]), asked=asked)
    save(
        second, replace(page_of(posts_of(3)), mark="77"), 900, asked=timeline(900, 1), received=received, limits=limits
    )
    with store.connection.begin():
        forget(store.connection, read_order(["1007"], [], None, None), format_time(AT))
        watched(store.connection)
        store.connection.execute(update(mention).values(spans="[[0,4]]"))
    save(second, replace(page_of(posts_of(3)), mark="77"), 901, asked=timeline(901, 1))
    save(second, Page(active=[(person(1), format_time(AT))]), 902, asked=Request((902, 0), "/2/users", {"ids": "1001"}))
    close(store)
    return place


def test_an_older_program_finds_no_marks_in_answers_and_pages(filled):
    def marked(name, place):
        texts = connection.exec_driver_sql(f"select {name} from request where {name} is not null").scalars()
        return [text for text in texts if len(json.loads(text)) > place]

    with opened(filled) as connection:
        with connection.begin():
            assert marked("answer", 7)
            assert marked("nodes", 4)
            assert marked("answer", 8)
        at(connection, "0007")
        with connection.begin():
            assert marked("answer", 7)
            assert not marked("answer", 8)
        at(connection, "0006")
        with connection.begin():
            assert not marked("answer", 7)
            assert not marked("nodes", 4)
            assert connection.execute(select(request.c.id).where(request.c.nodes.is_not(None))).all()


def test_every_table_has_rows_to_be_lost(filled):
    with opened(filled) as connection:
        assert not [name for name, rows in contents(connection).items() if not rows]
        emptied = select(request.c.id).where(request.c.digest.is_(None), request.c.new_users > 0)
        with connection.begin():
            assert connection.execute(emptied).all()


@pytest.mark.parametrize("version", VERSIONS)
def test_going_down_and_up_again_changes_no_row(filled, version):
    with opened(filled) as connection:
        before = contents(connection)
        at(connection, version)
        up(connection)
        assert contents(connection) == before
        with connection.begin():
            assert not [name for name in inspect(connection).get_table_names() if name.startswith("kept_")]


@pytest.mark.parametrize("version", VERSIONS)
def test_however_the_newest_schema_was_reached_it_is_that_of_the_code(filled, version):
    with opened(filled) as connection:
        at(connection, version)
        up(connection)
        with connection.begin():
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            assert compare_metadata(context, metadata) == []


def test_a_newer_schema_is_refused_on_every_database_and_nothing_is_changed(filled):
    with opened(filled) as connection:
        before = contents(connection)
        with connection.begin():
            connection.exec_driver_sql("update alembic_version set version_num = '9999'")
    with pytest.raises(StoreError, match=r"schema 9999, which is newer than this socialcrawl.*Nothing was changed"):
        connect(filled)
    made = make_engine(filled)
    with made.connect() as connection:
        assert contents(connection) == before
    made.dispose()


def test_a_database_of_another_program_is_refused_on_every_database(place):
    made = make_engine(place)
    with made.connect() as connection, connection.begin():
        connection.exec_driver_sql("create table bookmark (url text)")
    with pytest.raises(StoreError, match=r"belongs to another program.*Nothing was changed"):
        connect(place)
    with made.connect() as connection, connection.begin():
        assert inspect(connection).get_table_names() == ["bookmark"]
    made.dispose()


def test_going_down_drops_the_search_index_which_the_next_search_makes_anew(filled):
    with opened(filled) as connection:
        before = contents(connection)
        assert list(update_index(connection))[-1] > 20
        assert list_tables(connection)
        at(connection, "0018")
        with connection.begin():
            assert not [name for name in inspect(connection).get_table_names() if name.startswith("search_")]
        key = next(iter(before["post"]))[0]
        with connection.begin():
            connection.execute(update(post).where(post.c.id == key).values(text="changed by an older program"))
        up(connection)
        assert list_tables(connection) == []
        assert [found.id for found in find_posts(connection, parse_query('"older program"'), PostFilter())] == [key]
        list(update_index(connection))
        assert [found.id for found in find_posts(connection, parse_query('"older program"'), PostFilter())] == [key]
        assert {name: len(rows) for name, rows in contents(connection).items()} == {
            name: len(rows) for name, rows in before.items()
        }
