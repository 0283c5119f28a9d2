"""Folding a history is absorbing it: bit for bit, at once or in turn, whatever happened on the way."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from refreshing import InColumns, bring, drive, lines_of, refresh, said, web
from wild import many

from socialcrawl.model import Stop
from socialcrawl.refresh.estimate import estimate, wilson
from socialcrawl.refresh.ranks import RANKS

ODD = [None] * 12 + ["temporary"] * 4 + ["suspended", "forgotten", "same-as:3", "same-as:90", "same-as:17"]


def state_of(crawl):
    view = crawl.view
    return (
        crawl.picks, crawl.taken, crawl.imported, crawl.relevance, dict(crawl.resting), dict(crawl.failures),
        view.state.tobytes(), view.nodes.tolist(), view.size, view.left, crawl.estimate(), crawl.choose(3, 0.0),
        None if view.old.sites is None else view.old.sites.tolist(),
    )  # fmt: skip


@settings(deadline=None, max_examples=many(30))
@example("random", 224, 3, 1, False)
@given(st.sampled_from(RANKS), st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 30), st.booleans())
def test_a_folded_history_is_an_absorbed_one_bit_for_bit(rank, seed, size, some, late):
    rng = np.random.default_rng(seed)
    old, active = web(80, 240, seed)
    lines = lines_of(old)
    crawl = refresh(z=8, rank=rank, training="indegree", check=4)
    history = [bring(crawl, lines[:60] if late else lines)]
    odd = lambda pick: said(pick, missing=why) if (why := ODD[rng.integers(len(ODD))]) else None  # noqa: E731
    truth = np.append(active, np.ones(60))
    history += drive(crawl, truth, size, most=85, odd=odd)
    if late:
        history.append(bring(crawl, lines[55:]))
    history += drive(crawl, truth, size, most=rng.integers(85, 200), odd=odd)
    wanted = state_of(crawl)
    for told in (history, InColumns(history, some), InColumns(history, 1000)):
        again = refresh(z=8, rank=rank, training="indegree", check=4)
        again.fold(told)
        assert state_of(again) == wanted
    half = refresh(z=8, rank=rank, training="indegree", check=4)
    half.fold(InColumns(history[: len(history) // 2], some))
    half.choose(2, 0.0)
    for batch, outcomes in history[len(history) // 2 :]:
        half.absorb(batch, outcomes)
    assert state_of(half) == wanted


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


@pytest.mark.parametrize(("hits", "size", "whole"), [(0, 10, 100), (10, 10, 100), (3, 50, 60), (1, 1, 2), (5, 9, 9)])
def test_the_interval_holds_the_share_and_only_what_is_possible(hits, size, whole):
    low, high = wilson(hits, size, whole)
    assert 0 <= low <= hits / size <= high <= 1
    assert (low == high) == (size == whole)


def test_the_interval_holds_the_truth_in_95_of_100_samples():
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(1000):
        hits = rng.hypergeometric(60, 240, 80)
        known = estimate(300, tested=80, found=int(hits), left=220, sampled=80, sample_active=int(hits))
        inside += known.low <= 60 <= known.high
    assert 930 <= inside <= 975


def test_an_estimate_keeps_to_what_the_tests_leave_possible():
    known = estimate(100, tested=90, found=50, left=10, sampled=20, sample_active=2)
    assert (known.value, known.low, known.high, known.share) == (10.0, 50.0, 50.0, 1.0)
    without = estimate(100, tested=30, found=12, left=70, sampled=0, sample_active=0)
    assert (without.value, without.share, without.low, without.high) == (None, None, 12.0, 82.0)
