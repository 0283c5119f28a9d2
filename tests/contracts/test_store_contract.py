"""What every store promises, in memory and in SQL: the same answers, the same history, the same crawl."""

from dataclasses import replace

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import AT, a_store, mentioning, one, reopened, rows, save, timeline
from tiny_town import Clock, Wire, close, page_of, parts_of, person, posts_of, stored, story

from socialcrawl.engine.loop import run
from socialcrawl.engine.model import (
    OWN_PART,
    READ_BEFORE,
    Answer,
    Grant,
    Limit,
    Mention,
    Node,
    Outcome,
    Page,
    Pick,
    PostRow,
    Request,
    RequestPart,
    Who,
)
from socialcrawl.graph.graph import COLUMNS
from socialcrawl.storage.memory_store import MemoryStore


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request):
    with a_store(request.param) as made:
        yield made


def test_useful_replies_of_an_open_batch_are_kept_until_it_is_finished(store):
    batch = (Pick(0, Node(0), "expand"), Pick(1, Node(1), "expand"), Pick(2, Node(2), "expand"))
    store.enlist(["ann", "bob"], AT)
    assert store.replies(()) == {}
    store.open(batch)
    assert reopened(store).unfinished() == batch
    limits = [Limit(14, 15, AT + 900.0), Limit(3, 25, AT + 9000.0, daily=True)]
    first = save(store, mentioning(Who("5", "x")), 0, cursor="c", cost=500, status=200, date=AT - 2, limits=limits)
    save(store, None, 1, kind="broken")
    save(store, None, 2, kind="broken")
    save(store, None, 1, kind="window", status=429)
    gone = save(store, Page(missing=[(Who(None, "bob"), "protected")]), 1, kind="missing", status=200, limits=[])
    assert reopened(store).replies(batch) == {(0, 0): first, (1, 0): gone}
    store.finish(
        batch, [Outcome(0, Node(0), AT), Outcome(1, Node(1), AT, missing="protected"), Outcome(2, Node(2), AT)]
    )
    assert reopened(store).unfinished() == ()
    assert reopened(store).replies(batch) == {} or isinstance(store, MemoryStore)


FLOATS = st.floats(0.0, allow_nan=False, allow_infinity=False)


@settings(deadline=None, max_examples=many(40))
@given(st.lists(st.tuples(st.lists(FLOATS, min_size=len(COLUMNS) - 1, max_size=len(COLUMNS) - 1), FLOATS, FLOATS,
                          st.lists(FLOATS, max_size=4)), min_size=1, max_size=6), st.integers(1, 3))  # fmt: skip
def test_history_comes_back_bit_for_bit(database, rows, size):
    with a_store("memory") as memory, a_store(database) as sql:
        for store in (memory, sql):
            comes_back(store, rows, size)


def comes_back(store, rows, size):
    given_ = []
    for first in range(0, len(rows), size):
        batch, outcomes = [], []
        for n, (x, score, value, alpha) in enumerate(rows[first : first + size], first):
            depth = float("inf") if n % 2 else 1.0
            batch.append(Pick(n, Node(n), "expand", score, (depth, *x)))
            targets = np.arange(len(alpha), dtype=np.int64)[::-1] + 7
            outcomes.append(Outcome(n, Node(n), AT, value, targets, np.array(alpha), None, 3, 2))
        store.open(tuple(batch))
        store.finish(tuple(batch), outcomes)
        given_.append((tuple(batch), outcomes))
    kept = list(reopened(store).history())
    assert [batch for batch, _ in kept] == [batch for batch, _ in given_]
    for (_, before), (_, after) in zip(given_, kept, strict=True):
        for a, b in zip(before, after, strict=True):
            assert (a.targets.tobytes(), a.alpha.tobytes()) == (b.targets.tobytes(), b.alpha.tobytes())
            assert (a.targets.dtype, a.alpha.dtype) == (b.targets.dtype, b.alpha.dtype)
            assert replace(a, targets=None, alpha=None) == replace(b, targets=None, alpha=None)


def test_the_ledger_comes_back_with_all_that_a_planner_learns_from(store):
    limits = [Limit(0, 15, AT + 900.0)]
    save(store, page_of(posts_of(1)[:2]), 0, at=AT + 0.123456, cost=1000, status=200, date=AT, limits=limits)
    save(store, None, 1, kind="window", status=429, limits=limits)
    store.reserve(Grant(Request((2, 1), "/2/users", {}, 7, 7000), "other", AT + 9))
    (first, ok), (_, refused), (lost, nothing) = reopened(store).ledger()
    assert (first.request.key, first.request.items, first.request.most, first.at) == (
        (0, 0),
        100,
        50_000,
        AT - 0.376544,
    )
    assert (ok.kind, ok.at, ok.rows.posts, ok.cost, ok.date, list(ok.limits)) == (
        "ok",
        AT + 0.123456,
        2,
        1000,
        AT,
        limits,
    )
    assert (refused.kind, refused.status, list(refused.limits)) == ("window", 429, limits)
    assert (lost.request.key, lost.request.endpoint, lost.credential, lost.at) == ((2, 1), "/2/users", "other", AT + 9)
    assert nothing is None


@pytest.mark.parametrize("size", [1, 3])
def test_the_same_campaign_is_the_same_on_both_stores(place, size):
    memory, sql = MemoryStore(), stored(place)
    for store in (memory, sql):
        assert run(parts_of(store, Wire(Clock())), size=size).kind == "done"
    assert story(memory) == story(sql)
    assert [reply.kind for _, reply in memory.ledger()] == [reply.kind for _, reply in sql.ledger()]
    close(sql)


def test_a_post_seen_again_keeps_its_text_and_renews_its_counts(place):
    store = stored(place)
    row = PostRow("1", "900", "2026", "first", *[None] * 7, 3, *[None] * 6)
    mentions = [Mention(0, person(1), "reply"), Mention(0, person(1), "mention"), Mention(0, person(2), "mention")]
    for n, (text, likes) in enumerate([("first", 3), ("second", 9)]):
        answer = save(store, Page([row._replace(text=text, likes=likes)], [2], mentions), n, AT + n).rows
        assert answer == Answer(1, 2, answer.targets, [2, 2], {}, {})
    seen = "select text, likes, substr(fetched_at, 18), substr(metrics_at, 18) from post"
    assert rows(store, seen) == [("first", 9, "20.250000Z", "21.250000Z")]
    assert rows(store, "select post, kind from mention order by node") == [("1", "reply"), ("1", "mention")]
    assert rows(store, "select campaign, post, occurrences from hit") == [(1, "1", 2)]
    close(store)


def test_a_post_without_the_topic_is_no_hit(place):
    store = stored(place)
    save(store, replace(mentioning(), hits=[0]))
    assert one(store, "select count(*) from hit") == 0
    close(store)


MATCHES = "/2/tweets/search/all"


def shared(n, part):
    return Request((n, RequestPart.MATCHED + part), MATCHES, {"query": "x"}, 100, 50_000)


def test_each_pick_has_its_own_part_of_pages_that_several_share_and_later_what_was_read_before(store):
    ann, bob = store.enlist(["Person1", "Person2"], AT)
    found = save(store, Page(answered=[person(1), person(2)]), 0, asked=Request((0, 0), "/2/tweets/search/recent", {}))
    assert list(found.rows.found) == [ann, bob]
    batch = (Pick(1, ann, "match"), Pick(2, bob, "match"))
    store.open(batch)
    by_ann, by_bob = posts_of(1), posts_of(2)
    assert len(by_ann) > 3 < len(by_bob)
    save(store, page_of([by_ann[0], *by_bob[:2]]), 1, asked=shared(1, 0), cursor="more")
    save(store, page_of([*by_ann[1:3], by_bob[1]]), 1, asked=shared(1, 1))
    outcomes = []
    for n, node, posts in ((1, ann, by_ann[:3]), (2, bob, by_bob[:2])):
        part = store.held(Request((n, 1), MATCHES + OWN_PART, {"of": "1"}), AT + n)
        assert (part.kind, part.answer.posts) == ("held", len(posts))
        assert part.answer.hits == sum(hits for _, hits, _ in posts)
        weights = {}
        for _, hits, named in posts:
            for who in named:
                weights[who] = weights.get(who, 0) + hits
        assert sorted(part.answer.target_hits) == sorted(weights.values())
        assert store.replies(batch)[n, 1].answer == part.answer
        outcomes.append(Outcome(n, node, AT, posts=part.answer.posts, occurrences=part.answer.hits))
    store.finish(batch, outcomes)
    store.open((Pick(3, ann, "page"),))
    before = store.held(Request((3, 0), "/2/users/:id/tweets" + READ_BEFORE, {}), AT + 3)
    assert (before.answer.posts, before.answer.hits) == (3, sum(hits for _, hits, _ in by_ann[:3]))
    page = save(store, page_of(by_ann[2:]), 3, asked=timeline(3, 1))
    assert page.rows.hits == sum(hits for _, hits, _ in by_ann[3:]), "a post counts once"


def test_an_account_is_read_from_what_searches_of_spans_returned_and_each_post_counts_once(store):
    (ann,) = store.enlist(["Person1"], AT)
    save(store, Page(answered=[person(1), person(2)]), 9, asked=Request((9, 0), "/2/users/by", {}))
    by_ann, by_bob = posts_of(1), posts_of(2)
    for n, pages in ((0, ([*by_ann[:2], by_bob[0]], by_ann[1:3])), (1, ([by_ann[2], *by_ann[3:]],))):
        batch = (Pick(n, Node(-1), "search", since="2026-01-01T00:00:00Z/2026-02-01T00:00:00Z"),)
        store.open(batch)
        for part, page in enumerate(pages, 1):
            save(store, page_of(page), n, asked=Request((n, part), MATCHES, {"query": "x"}, 100, 50_000))
        store.finish(batch, [Outcome(n, Node(-1), AT)])
    for n, act, search, total in ((2, "match", 0, by_ann[:3]), (3, "page", 1, by_ann)):
        store.open((Pick(n, ann, act, since=f"search:{search}"),))
        hits = sum(hits for _, hits, _ in total)
        if act == "page":
            before = store.held(Request((n, 0), MATCHES + READ_BEFORE, {}), AT + n).answer
            assert (before.posts, before.hits) == (3, sum(hits for _, hits, _ in by_ann[:3]))
            hits -= before.hits
        part = store.held(Request((n, 1), MATCHES + OWN_PART, {"searched": str(search)}), AT + n).answer
        assert part.hits == hits
        assert part.posts == (len(by_ann) - 2 if act == "page" else 3)
        store.finish(store.unfinished(), [Outcome(n, ann, AT, posts=len(total))])
