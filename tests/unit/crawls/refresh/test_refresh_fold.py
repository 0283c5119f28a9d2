"""Folding a history is absorbing it: bit for bit, at once or in turn, whatever happened on the way."""

import numpy as np
from example_counts import many
from hypothesis import example, given, settings
from hypothesis import strategies as st
from old_datasets import InColumns, bring, drive, lines_of, refresh, said, web

from socialcrawl.crawls.refresh.liveranks import RANKS
from socialcrawl.engine.model import SameAs, Stop

ODD = [None] * 12 + ["temporary"] * 4 + ["suspended", "forgotten", SameAs(3), SameAs(90), SameAs(17)]


def state_of(crawl):
    view = crawl.view
    return (
        crawl.picks, crawl.taken, crawl.imported, crawl.relevance, dict(crawl.resting), dict(crawl.failures),
        view.state.tobytes(), view.nodes.tolist(), view.size, view.left, crawl.estimate(), crawl.choose(3, 0.0),
        None if view.old.sites is None else view.old.sites.tolist(),
    )  # fmt: skip


@settings(deadline=None, max_examples=many(30))
@example("random", 224, 3, 1, (False, None))
@given(
    st.sampled_from(RANKS),
    st.integers(0, 2**32 - 1),
    st.integers(1, 9),
    st.integers(1, 30),
    st.tuples(st.booleans(), st.sampled_from([None, 0.5, 0.8])),
)
def test_a_folded_history_is_an_absorbed_one_bit_for_bit(rank, seed, size, some, wanted):
    late, fraction = wanted
    rng = np.random.default_rng(seed)
    old, active = web(80, 240, seed)
    lines = lines_of(old)
    how = {"z": 8, "rank": rank, "training": "indegree", "check": 4, "fraction": fraction}
    crawl = refresh(**how)
    history = [bring(crawl, lines[:60] if late else lines)]
    odd = lambda pick: said(pick, missing=why) if (why := ODD[rng.integers(len(ODD))]) else None  # noqa: E731
    truth = np.append(active, np.ones(60))
    history += drive(crawl, truth, size, most=85, odd=odd)
    if late:
        history.append(bring(crawl, lines[55:]))
    history += drive(crawl, truth, size, most=rng.integers(85, 200), odd=odd)
    lived = state_of(crawl)
    for told in (history, InColumns(history, some), InColumns(history, 1000)):
        again = refresh(**how)
        again.fold(told)
        assert state_of(again) == lived
    half = refresh(**how)
    half.fold(InColumns(history[: len(history) // 2], some))
    half.choose(2, 0.0)
    for batch, outcomes in history[len(history) // 2 :]:
        half.absorb(batch, outcomes)
    assert state_of(half) == lived


def test_a_long_history_is_folded_in_bulk():
    crawl = refresh(z=10, width=100)
    old, active = web(4_000, 9_000)
    history = [bring(crawl, lines_of(old, sites=False))]
    history += drive(crawl, active, 50)
    calls = []
    again = refresh(z=10, width=100)
    tell = again.answers.take
    again.answers.take = lambda *given: (calls.append(len(given[1])), tell(*given))
    again.fold(InColumns(history, 10**6))
    assert calls == [4_000]
    assert again.relevance == crawl.relevance == active.sum()
    assert isinstance(again.choose(1, 0.0), Stop)
