"""Retention in small transactions: the same database as in one, whatever a crawl writes meanwhile."""

import threading
from functools import partial

import pytest
from erasure_towns import LATER, Town, aged, crawled, derived, read_of, stored
from postgres import a_place
from sqlalchemy import event
from stores import rows
from tiny_town import BEGIN, Clock, close

from socialcrawl.engine.model import format_time
from socialcrawl.graph.relevance import compute_worth
from socialcrawl.storage.erasure import retention
from socialcrawl.storage.erasure.retention import retain_while_running

BOTH = pytest.mark.parametrize("kind", ["sqlite", "postgres"])
CONTENT = (
    "select id, author, text, reply_to from post order by id",
    "select post, node, kind from mention order by post, node",
    "select campaign, post, occurrences from hit order by campaign, post",
    "select campaign, n, value, occurrences, posts, missing, mark from outcome order by campaign, n",
    "select campaign, n, position, node, alpha from link order by campaign, n, position",
    "select id, params, digest, cursor, post_ids, nodes, answer from request order by id",
    "select node, username, description, profile_at from account order by node",
    "select digest, kind, why from tombstone order by digest",
)


def retained(store, before, rest=lambda seconds: None, now=LATER):
    return retain_while_running(store.connection, format_time(before), format_time(now), rest)


def content_of(store):
    return [rows(store, sql) for sql in CONTENT]


def crawled_twice(place):
    """A store of a crawl with a long rest in it, and an instant in that rest."""
    store, wire = crawled(place, steps=5)
    wire.clock.time += 5000.0
    middle = wire.clock.time - 100.0
    return *crawled(None, wire, store=store, steps=10), middle


@pytest.fixture
def small(monkeypatch):
    """Batches of a page, and of two rows."""
    for name, most in (("PAGES", 1), ("ROWS", 2), ("LOOKED", 3)):
        monkeypatch.setattr(retention, name, most)


@BOTH
@pytest.mark.usefixtures("small")
def test_small_transactions_leave_the_database_that_one_transaction_leaves(kind):
    with a_place(kind) as one, a_place(kind) as other:
        (first, _, middle), (second, _, same) = crawled_twice(one), crawled_twice(other)
        assert middle == same
        assert content_of(first) == content_of(second)
        for store in (first, second):  # of a post that no request brought, as an import leaves it
            newest = _newest(store)
            with store.connection.begin():
                columns = "author, text, metrics_at, fetched_at"
                old = f"select '77', author, 'imported', metrics_at, '2001' from post where id = '{newest}'"
                store.connection.exec_driver_sql(f"insert into post (id, {columns}) {old}")
        whole, steps = aged(first, middle), retained(second, middle)
        assert content_of(first) == content_of(second)
        assert steps.counts["post"] == whole.counts["post"] > 5
        assert retained(second, middle).is_empty
        close(first)
        close(second)


def _newest(store):
    return rows(store, "select id from post order by fetched_at desc, id limit 1")[0][0]


class GatedTown(Town):
    """A town that answers a request when it is let through."""

    def __init__(self, clock):
        super().__init__(clock)
        self.arrived, self.may_go, self.is_open = threading.Semaphore(0), threading.Semaphore(0), False

    def send(self, grant):
        self.arrived.release()
        if not self.is_open:
            assert self.may_go.acquire(timeout=60)
        return super().send(grant)

    def let_one_through(self, seconds):
        """Answer one request, and return when what it brought is stored and the next one is there."""
        if not self.is_open:
            self.may_go.release()
            assert self.arrived.acquire(timeout=60)

    def open(self):
        self.is_open = True
        self.may_go.release()


@BOTH
@pytest.mark.usefixtures("small")
def test_a_crawl_goes_on_between_the_transactions_each_of_which_changes_few_rows(kind):
    with a_place(kind) as place:
        store, wire = crawled(place, steps=6)
        gated = GatedTown(Clock(wire.clock.time + 5000.0))
        middle, before = gated.clock.time - 100.0, len(rows(store, "select 1 from request"))
        old = {key for (key,) in rows(store, "select id from post")}
        assert old
        widest = rows(store, "select max(posts) from request")[0][0]
        done, changed = [], [0]

        def crawl():
            other = stored(place)
            done.append(crawled(None, gated, store=other, steps=14))
            close(other)
            gated.arrived.release()

        thread = threading.Thread(target=crawl)
        thread.start()
        assert gated.arrived.acquire(timeout=60)
        watch = partial(count_changes, changed)
        event.listen(store.connection.engine, "after_cursor_execute", watch)
        event.listen(store.connection.engine, "commit", lambda _: changed.append(0))
        requests = []

        def rest(seconds):
            if thread.is_alive() and len(requests) < 8:
                gated.let_one_through(seconds)
                requests.append(1)

        retained(store, middle, rest)
        gated.open()
        thread.join(60)
        assert done
        assert len(requests) == 8
        assert len(rows(store, "select 1 from request")) > before + 8
        assert len([number for number in changed if number]) > 8
        # A page of 3 or 4 posts: these, their mentions (2 each), hits and tombstones, and what their picks found.
        assert max(changed) <= 25 * widest
        assert rows(store, f"select 1 from post where fetched_at < '{format_time(middle)}'") == []
        kept = {key for (key,) in rows(store, "select id from post")}
        assert kept
        assert not kept & old
        for number, value, count, posts, missing, links in derived(store):
            if missing is None:
                hits, left, targets = read_of(number, (), old)
                assert (value, count, posts) == (compute_worth(hits), hits, left)
                assert dict(links) == {to: compute_worth(many) for to, many in targets.items()}
        close(store)


def count_changes(changed, _connection, cursor, statement, _parameters, _context, _many):
    """Add the rows that a statement changed to the number of its transaction; those of lists of keys do not count."""
    words = statement.split(maxsplit=3)
    if words[0].lower() in ("insert", "update", "delete") and not any("gone_" in word for word in words[:3]):
        changed[-1] += max(cursor.rowcount, 0)


@pytest.mark.usefixtures("small")
def test_a_retention_that_is_cut_short_is_completed_by_the_next_one(tmp_path):
    store, _, middle = crawled_twice(tmp_path / "a.db")
    other, _, _ = crawled_twice(tmp_path / "b.db")
    aged(other, middle)
    left = iter(range(3))

    class CutError(Exception):
        pass

    def cut(seconds):
        if next(left, None) is None:
            raise CutError

    with pytest.raises(CutError):
        retained(store, middle, cut)
    assert content_of(store) != content_of(other)
    retained(store, middle)
    assert content_of(store) == content_of(other)
    close(store)
    close(other)


def test_where_everything_is_young_nothing_goes(tmp_path):
    store, _, _ = crawled_twice(tmp_path / "a.db")
    before = content_of(store)
    assert retained(store, BEGIN - 1.0).is_empty
    assert content_of(store) == before
    close(store)
