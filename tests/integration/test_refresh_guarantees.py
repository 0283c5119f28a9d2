"""docs/explanation/guarantees.md, of campaigns that refresh: killed, sent away to wait, replayed, in both stores."""

import math
from collections import Counter
from contextlib import suppress

import pytest
from postgres import a_place
from refresh_towns import DATASET, Lively, Ticking, bring, opened, refreshing, told
from test_crash import KilledError, Mortal
from tiny_town import K as LIMIT
from tiny_town import close

from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Wait
from socialcrawl.storage.memory_store import MemoryStore

RANKS = {
    "pa": {"rank": "pa", "z": 5, "check": 4, "training": "indegree"},
    "pa+-": {"rank": "pa+-", "z": 4, "neighbours": False},
    "bfs": {"rank": "bfs", "z": 6},
    "ai": {"rank": "ai", "z": 3, "check": 4, "training": "pagerank"},
    "asf": {"rank": "asf", "z": 5},
    "dpr": {"rank": "dpr", "z": 4, "every": 2},
}
AWHILE = 5.0  # seconds that a run waits for a server in trouble, but not for a window
EARLY, TESTS = 12, 9  # of the dataset that is brought at first, and tests before the rest comes


def to_the_end(made, patience=math.inf, size=2):
    """Run until it is done: parts are made anew after every end, as by a process."""
    for _ in range(100):
        parts = made()
        why = run(parts, size=size, patience=patience)
        if isinstance(why, Wait):
            parts.clock.time = max(parts.clock.time, why.until)
            parts.wire.away += 1
        elif why.kind == "done":
            return
        else:
            assert why.kind == "failed"
    raise AssertionError("it never ends")


def live(store, wire, how, moment=-1, *, after=False, patience=math.inf, late=True):
    """One process: an import, tests, a late import, and all other tests. Its number of durable changes."""
    mortal = Mortal(store, moment, after=after)
    with suppress(KilledError):
        if late and imports(store) < 2:
            bring(store, EARLY) if not imports(store) else None
            to_the_end(lambda: refreshing(mortal, wire, how, TESTS), patience)
        bring(store) if imports(store) < 1 + late else None
        to_the_end(lambda: refreshing(mortal, wire, how), patience)
    return mortal.changes


def imports(store):
    return sum(batch[0].act == "import" for batch, _ in store.history())


def wholly(how, **more):
    store, wire = MemoryStore(), Lively(Ticking())
    changes = live(store, wire, how, **more)
    return told(store), changes, wire


def lost(store):
    return sum(reply is None for _, reply in store.ledger())


def sound(wire, whole, gone, restarts=1):
    """No limit was broken, and nothing was asked twice but what was in flight, and look-ups of one kind.

    A look-up by name tells ids. After a restart in the same batch those who have one are looked up by id and the others
    by name, so that who was answered about in the look-up before may be asked about once more, by another one.
    """
    assert all(received <= LIMIT for referee in wire.referees.values() for _, received in referee.windows)
    assert set(whole.calls) <= set(wire.calls)
    known = [asked for _, asked, _ in whole.calls]
    assert len([asked for _, asked, _ in wire.calls if asked not in known]) <= restarts
    fine = Counter(call for n, call in enumerate(wire.calls) if n not in wire.faults)
    assert sum(fine.values()) - len(fine) <= gone


@pytest.fixture(scope="module")
def undisturbed():
    """By rank: what a campaign found that nobody disturbed, its number of changes, and its wire."""
    return {rank: wholly(how) for rank, how in RANKS.items()}


def test_the_town_has_everything_that_can_go_wrong(undisturbed):
    for picks, _, wire in undisturbed.values():
        probes = [row for row in picks if row[2] == "probe"]
        assert {row[-4] for row in probes} == {"", "temporary", "suspended", "protected", "same-as"}
        assert {row[-5 - len(row[5:-5])] for row in probes if row[-4] == ""} == {0.0, 1.0}
        assert len({row[4] for row in probes}) == len(DATASET) - 1  # two names are one account
        assert len([row for row in picks if row[2] == "import"]) > len(DATASET)
        assert wire.faults
    orders = {tuple(row[4] for row in picks if row[2] == "probe") for picks, _, _ in undisturbed.values()}
    assert len(orders) == len(RANKS)


def killed(rank, undisturbed, moments):
    expected, changes, whole = undisturbed[rank]
    for moment in moments(changes):
        for after in (False, True):
            store, wire = MemoryStore(), Lively(Ticking())
            assert live(store, wire, RANKS[rank], moment, after=after) == moment + 1
            live(store, wire, RANKS[rank])
            assert told(store) == expected
            sound(wire, whole, lost(store))


@pytest.mark.parametrize("rank", RANKS)
def test_killed_before_or_after_a_durable_change_it_tests_in_the_same_order(rank, undisturbed):
    killed(rank, undisturbed, lambda changes: range([*RANKS].index(rank), changes, 8))


@pytest.mark.chaos
@pytest.mark.parametrize("rank", RANKS)
def test_killed_before_or_after_any_durable_change_it_tests_in_the_same_order(rank, undisturbed):
    killed(rank, undisturbed, range)


def in_sql(path, wire, rank, *args, **more):
    store = opened(path)
    try:
        changes = live(store, wire, RANKS[rank], *args, **more)
        assert store.unfinished() == () or args
        return told(store), changes, lost(store)
    finally:
        close(store)


def killed_in_sql(kind, rank, undisturbed, moments):
    expected, changes, whole = undisturbed[rank]
    for number, moment in enumerate(moments(changes)):
        wire = Lively(Ticking())
        with a_place(kind) as path:
            assert in_sql(path, wire, rank, moment, after=bool(number % 2))[1] == moment + 1
            found, _, gone = in_sql(path, wire, rank)
        assert found == expected
        sound(wire, whole, gone)


@pytest.mark.parametrize("rank", ["pa", "bfs"])
def test_a_database_says_the_same_as_memory_whoever_is_killed(database, rank, undisturbed):
    killed_in_sql(database, rank, undisturbed, lambda changes: range(7, changes, 19 if database == "sqlite" else 45))


@pytest.mark.chaos
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("rank", RANKS)
def test_a_database_says_the_same_as_memory_whenever_anybody_is_killed(database, rank, undisturbed):
    killed_in_sql(database, rank, undisturbed, range)


@pytest.mark.parametrize("rank", RANKS)
def test_sent_away_to_wait_and_made_anew_it_tests_in_the_same_order(rank, undisturbed):
    expected, _, whole = undisturbed[rank]
    found, _, wire = wholly(RANKS[rank], patience=AWHILE)
    assert found == expected
    assert wire.away > 1
    sound(wire, whole, 0, wire.away)


@pytest.mark.parametrize("rank", RANKS)
def test_replaying_the_stored_history_gives_the_stored_picks(rank, tmp_path):
    store, wire = opened(tmp_path / "a.db"), Lively(Ticking())
    live(store, wire, RANKS[rank])
    early, again = (refreshing(store, wire, RANKS[rank], steps).crawl for steps in (TESTS, None))
    for batch, outcomes in list(store.history()):
        if batch[0].act == "probe":
            chosen = early if again.taken < TESTS else again
            assert chosen.choose(2, 0.0) == batch
        for crawl in (early, again):
            crawl.absorb(batch, outcomes)
    assert again.choose(2, 0.0).kind == "done"
    folded = refreshing(store, wire, RANKS[rank]).crawl
    folded.fold(store.history())
    assert folded.estimate() == again.estimate()
    assert (folded.picks, folded.taken, folded.relevance) == (again.picks, again.taken, again.relevance)
    close(store)
