"""Posts and accounts on topic are counted as plain Python counts them, and days without posts are shown as such."""

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st
from tiny_town import Clock, Wire, close, parts_of, stored

from socialcrawl.engine.loop import run
from socialcrawl.storage.queries.summary import summarize_campaign
from socialcrawl.storage.queries.topic_counts import TopicCounts

DAY = st.dates(date(1990, 1, 1), date(2030, 1, 1))


@given(st.dictionaries(DAY, st.integers(1, 1000), min_size=1), st.integers(1, 80))
def test_spans_of_days_are_equal_cover_all_days_and_keep_every_post(posts, most):
    counts = TopicCounts(days=sorted(posts.items()))
    length, spans = counts.fill_days(most)
    assert 1 <= len(spans) <= most
    begins = [begin for begin, _ in spans]
    assert begins == [min(posts) + timedelta(days=length * place) for place in range(len(spans))]
    assert begins[-1] <= max(posts) < begins[-1] + timedelta(days=length)
    for begin, many in spans:
        assert many == sum(n for day, n in posts.items() if begin <= day < begin + timedelta(days=length))


def test_without_posts_there_are_no_days():
    assert (TopicCounts().fill_days(60), TopicCounts().first) == ((1, []), None)


def test_seeds_and_discovered_accounts_are_counted_apart(place):
    store = stored(place)
    run(parts_of(store, Wire(Clock())))
    pairs = [(p, o) for batch, row in store.history() for p, o in zip(batch, row, strict=True) if p.node >= 0]
    found = summarize_campaign(store.connection)
    for acts, read, on_topic, rows in (
        (("seed",), found.on_topic.seeds, found.on_topic.seeds_on_topic, found.top_seeds),
        (("expand",), found.on_topic.discovered, found.on_topic.discovered_on_topic, found.discovered),
    ):
        mine = [o for p, o in pairs if p.act in acts and o.missing is None]
        assert (read, on_topic) == (len(mine), sum(o.value > 0 for o in mine))
        assert [row["value"] for row in rows] == sorted((o.value for o in mine if o.value > 0), reverse=True)[:15]
        assert all(row["act"] in acts for row in rows)
    close(store)
