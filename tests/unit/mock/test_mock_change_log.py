"""What happens on a platform, in order: deletions come at their second, and a reader misses nothing."""

import numpy as np
from bluesky_mock import START, Row, town
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st

from socialcrawl.mock import change_log
from socialcrawl.mock.bluesky.identifiers import BlueskyNames
from socialcrawl.mock.bluesky.jetstream_events import STEP, JetstreamEvents
from socialcrawl.mock.change_log import ACCOUNT, DELETION, ChangeLog
from socialcrawl.mock.dataset_clock import DatasetClock
from socialcrawl.mock.event_reader import EventReader
from socialcrawl.mock.names import HERE, SUSPENDED
from socialcrawl.mock.world import build_world
from socialcrawl.mock.world_changes import WorldChanges

ROWS = [Row(f"p{i}", f"author{i % 3}", START + 10 * i, f"note {i}") for i in range(20)]
ROWS.append(Row("r", "fan", START + 55, "RT @author1: note 1", ("author1",)))
WORLD = build_world(town(ROWS), 0.0)
TEXTS = WORLD.texts
ORIGINAL, REPOST = TEXTS.index("note 1"), TEXTS.index("RT @author1: note 1")


def begun(second=None):
    return WorldChanges(WORLD, DatasetClock(WORLD, second))


def read_all(reader, most=1_000):
    found = []
    while part := reader.read(most):
        assert len(part) <= most
        found += part
    return found


def test_a_deleted_post_and_what_repeats_it_are_gone_on_their_second():
    changes = begun(START + 20.0)
    changes.delete(np.array([ORIGINAL]), 30.0)  # it appeared at START + 10
    for second, gone in ((39.0, set()), (40.0, {ORIGINAL}), (54.0, {ORIGINAL}), (55.0, {ORIGINAL, REPOST})):
        changes.moment.set(START + second)
        changes.pass_time()
        existing = set(changes.select_existing(np.arange(len(TEXTS))).tolist())
        assert existing == set(range(changes.moment.there)) - gone
        assert [post for post in (ORIGINAL, REPOST) if changes.is_deleted(post)] == sorted(gone)
        assert changes.place(ORIGINAL) == (-1 if ORIGINAL in gone else ORIGINAL)
    told = [(one.kind, one.subject, one.second, one.place) for one in changes.log.read(0, 10)]
    assert told == [(DELETION, ORIGINAL, START + 40.0, 5), (DELETION, REPOST, START + 55.0, REPOST + 1)]


def test_where_all_posts_are_there_they_are_deleted_at_once():
    changes = begun()
    changes.delete(np.array([ORIGINAL]), 1e9)
    assert changes.deleted == 2
    assert {one.second for one in changes.log.read(0, 10)} == {float(WORLD.end)}


@settings(deadline=None, max_examples=many(60))
@given(
    st.lists(st.tuples(st.integers(0, 20), st.sampled_from(["delete", "suspend", "move"])), max_size=12),
    st.integers(1, 7),
)
def test_however_it_is_read_what_happens_comes_once_and_in_its_order(steps, most):
    changes = begun(START - 1.0)
    told, early, second = [], EventReader(changes, 0), START
    for number, kind in [*steps, (20, "move")]:
        if kind == "move":
            second += 10 * number
            changes.moment.set(second)
            changes.pass_time()
        elif kind == "delete":
            changes.delete(np.array([number]), 25.0)
        else:
            changes.become(int(WORLD.author[number]), SUSPENDED if number % 2 else HERE)
        told += read_all(early, most)
    assert told == read_all(EventReader(changes, 0))
    events = JetstreamEvents(WORLD, BlueskyNames(WORLD, changes, "x.example"), changes, offset=12_345)
    numbers = [
        events.number_post(one) if isinstance(one, int) else events.number_change(one.place, one.rank) for one in told
    ]
    assert numbers == sorted(set(numbers))
    assert [one for one in told if isinstance(one, int)] == list(range(changes.moment.there))
    for place, seq in enumerate(numbers):
        assert read_all(EventReader(changes, *events.find_number(seq)), most) == told[place:]
        assert read_all(EventReader(changes, *events.find_number(seq + 1)), most) == told[place + 1 :]
    if numbers:
        assert events.last == numbers[-1]


def test_the_oldest_changes_are_forgotten_where_there_are_too_many(monkeypatch):
    monkeypatch.setattr(change_log, "_MOST", 20)
    log = ChangeLog()
    for i in range(50):
        log.add(ACCOUNT, i, 0, 0.0)
    assert log.end == 50
    assert 18 <= log.end - log.begin <= 20
    assert [one.subject for one in log.read(0, 100)] == list(range(log.begin, 50))
    assert [one.rank for one in log.read(48, 5)] == [48, 49]
    assert STEP > 50
