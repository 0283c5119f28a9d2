"""docs/explanation/guarantees.md, of campaigns that sample: killed, sent away to wait, replayed, in both stores."""

import math
from collections import Counter
from contextlib import suppress

import pytest
import refresh_towns
from postgres import a_place
from refresh_towns import DEAF, Lively, Ticking, opened, sampling, told
from test_crash import KilledError, Mortal
from test_refresh_guarantees import AWHILE, LIMIT, lost, to_the_end
from tiny_town import close, person
from walk_graphs import METROPOLIS, WalkRules

from socialcrawl.crawls.sample.rules import FOCUSES
from socialcrawl.platforms.x.source import MENTIONS
from socialcrawl.storage.memory_store import MemoryStore

SOME = {"walkers": 3, "length": 60, "inward": True, "burn_in": 3, "b": 3}
HOWS = {
    "none": WalkRules("none", trap="host", trap_window=6, trap_hosts=2, **SOME),
    "hard": WalkRules("hard", trap="host", trap_window=6, **SOME),
    "neighbourhood": WalkRules("neighbourhood", trap="community", trap_window=8, weights="holding", **SOME),
    "trial": WalkRules("trial", k=2, trap="off", mutual="twice", consistency="printed", **SOME),
    "ancestor": WalkRules("ancestor", trap="host", trap_window=6, trap_hosts=2, **SOME),
}


def live(store, wire, how, moment=-1, *, after=False, patience=math.inf, size=4):
    """One process, to the end. Its number of durable changes."""
    mortal = Mortal(store, moment, after=after)
    with suppress(KilledError):
        to_the_end(lambda: sampling(mortal, wire, how), patience, size)
    return mortal.changes


def drawn(store, how):
    """What the walks of a stored campaign have seen, by the names of those visited; and their jumps out of traps."""
    crawl = sampling(store, Lively(Ticking()), how).crawl
    crawl.fold(store.history())
    rows = crawl.list_visits()
    who = store.accounts([*dict.fromkeys(rows.node.tolist())])
    names = [who[node].username for node in rows.node.tolist()]
    return list(
        zip(rows.walker.tolist(), names, rows.weight.tolist(), rows.kept.tolist(), strict=True)
    ), rows.jumps.sum()


def wholly(how, **more):
    store, wire = MemoryStore(), Lively(Ticking())
    changes = live(store, wire, how, **more)
    rows, jumps = drawn(store, how)
    return told(store), rows, changes, wire, jumps


@pytest.fixture(scope="module")
def undisturbed():
    """By focus: what a campaign that nobody disturbed found and drew, its number of changes, and its wire."""
    return {focus: wholly(how) for focus, how in HOWS.items()}


def test_the_town_has_everything_that_can_go_wrong(undisturbed):
    assert {*HOWS} == {*FOCUSES}
    for picks, rows, _, wire, _ in undisturbed.values():
        assert {row[2] for row in picks} == {"search", "resolve", "walk", "inward"}
        walks = [row for row in picks if row[2] == "walk"]
        assert {row[-4] for row in walks} >= {"", "temporary", "suspended", "protected", "same-as"}
        assert {walker for walker, *_ in rows} == {0, 1, 2}
        assert wire.faults
    found = Counter(min(row[-2], refresh_towns.OFTEN) for row in undisturbed["ancestor"][0] if row[2] == "walk")
    assert min(found[0], found[1], found[refresh_towns.OFTEN]) > 1  # on neither topic, on the wider one only, on both
    trapped = {focus: found[4] for focus, found in undisturbed.items()}
    assert min(trapped[focus] for focus in ("none", "hard", "neighbourhood")) > 0 == trapped["trial"]


def sound(wire, whole, gone):
    """No limit was broken, nothing else was asked, and nothing twice but what was in flight or fails."""
    assert all(received <= LIMIT for referee in wire.referees.values() for _, received in referee.windows)
    assert set(wire.calls) == set(whole.calls)
    fails = {call for n, call in enumerate(wire.calls) if n in wire.faults}
    fails |= {call for call in wire.calls if call[:2] == (MENTIONS, str({"id": person(DEAF).id}))}
    more = Counter(call for call in wire.calls if call not in fails) - Counter(whole.calls)
    assert more.total() <= gone


def killed(focus, undisturbed, moments):
    expected, rows, changes, whole, _ = undisturbed[focus]
    for moment in moments(changes):
        for after in (False, True):
            store, wire = MemoryStore(), Lively(Ticking())
            assert live(store, wire, HOWS[focus], moment, after=after) == moment + 1
            live(store, wire, HOWS[focus])
            assert told(store) == expected
            sound(wire, whole, lost(store))
        assert drawn(store, HOWS[focus])[0] == rows


@pytest.mark.parametrize("focus", FOCUSES)
def test_killed_before_or_after_a_durable_change_it_walks_the_same_ways(focus, undisturbed):
    killed(focus, undisturbed, lambda changes: range(FOCUSES.index(focus), changes, 19))


@pytest.mark.chaos
@pytest.mark.parametrize("focus", FOCUSES)
def test_killed_before_or_after_any_durable_change_it_walks_the_same_ways(focus, undisturbed):
    killed(focus, undisturbed, range)


def test_killed_or_sent_away_a_walk_of_another_package_walks_the_same_ways():
    how = WalkRules("hard", walk=METROPOLIS, **SOME)
    expected, rows, changes, whole, _ = wholly(how)
    assert {weight for _, _, weight, _ in rows} == {1.0}
    for moment in range(3, changes, 19):
        store, wire = MemoryStore(), Lively(Ticking())
        assert live(store, wire, how, moment, after=bool(moment % 2)) == moment + 1
        live(store, wire, how)
        assert told(store) == expected
        sound(wire, whole, lost(store))
        assert drawn(store, how)[0] == rows
    away = wholly(how, patience=AWHILE)
    assert away[:2] == (expected, rows)
    assert away[3].away > 1


def in_sql(path, wire, focus, *args, **more):
    store = opened(path)
    try:
        changes = live(store, wire, HOWS[focus], *args, **more)
        assert store.unfinished() == () or args
        return told(store), changes, lost(store), drawn(store, HOWS[focus])[0]
    finally:
        close(store)


def killed_in_sql(kind, focus, undisturbed, moments):
    expected, rows, changes, whole, _ = undisturbed[focus]
    for number, moment in enumerate(moments(changes)):
        wire = Lively(Ticking())
        with a_place(kind) as path:
            assert in_sql(path, wire, focus, moment, after=bool(number % 2))[1] == moment + 1
            found, _, gone, seen = in_sql(path, wire, focus)
        assert found == expected
        assert seen == rows
        sound(wire, whole, gone)


@pytest.mark.parametrize("focus", ["hard", "trial"])
def test_a_database_says_the_same_as_memory_whoever_is_killed(database, focus, undisturbed):
    killed_in_sql(database, focus, undisturbed, lambda changes: range(30, changes, 45 if database == "sqlite" else 150))


@pytest.mark.chaos
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("focus", FOCUSES)
def test_a_database_says_the_same_as_memory_whenever_anybody_is_killed(database, focus, undisturbed):
    killed_in_sql(database, focus, undisturbed, range)


@pytest.mark.parametrize("focus", FOCUSES)
def test_sent_away_to_wait_and_made_anew_it_walks_the_same_ways(focus, undisturbed):
    expected, rows, _, whole, _ = undisturbed[focus]
    found, again, _, wire, _ = wholly(HOWS[focus], patience=AWHILE)
    assert found == expected
    assert again == rows
    assert wire.away > 1
    sound(wire, whole, 0)


@pytest.mark.parametrize("focus", FOCUSES)
@pytest.mark.parametrize("size", [1, 4])
def test_replaying_the_stored_history_gives_the_stored_picks(focus, size, tmp_path):
    how = HOWS[focus]
    store, wire = opened(tmp_path / "a.db"), Lively(Ticking())
    moments = iter(range(9 * size, 10_000, 31))
    while live(store, wire, how, moment := next(moments), after=True, size=size) > moment:  # killed now and then
        pass
    again = sampling(store, wire, how).crawl
    for batch, outcomes in list(store.history()):
        assert again.choose(size, 0.0) == batch
        again.absorb(batch, outcomes)
    assert again.choose(size, 0.0).kind == "done"
    assert not again.needs
    assert {row[-4] for row in told(store) if row[2] == "inward"} >= {"", "temporary"}
    assert all(received <= LIMIT for referee in wire.referees.values() for _, received in referee.windows)
    seen = Counter((endpoint, asked, cursor) for endpoint, asked, cursor in wire.calls if endpoint == MENTIONS)
    twice = [call for call, times in seen.items() if times > 1 and call[1] != str({"id": person(DEAF).id})]
    assert len(twice) <= lost(store)
    close(store)
