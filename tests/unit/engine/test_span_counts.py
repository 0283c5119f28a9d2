"""Counts of spans come back from their mark, keep every post when merged, and are shared out by time."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialcrawl.engine.span_counts import SpanCount, count_between, merge_counts, parse_counts, write_counts

COUNTS = st.lists(
    st.builds(SpanCount, st.integers(0, 2**34).map(float), st.integers(0, 1_000)), unique_by=lambda one: one.begin
)


@given(COUNTS)
def test_counts_come_back_from_their_mark(counts):
    assert parse_counts(write_counts(counts)) == counts


@given(COUNTS, st.integers(1, 2_000))
def test_merged_counts_have_every_post_and_no_two_neighbours_fit_together(counts, size):
    merged = merge_counts(counts, size)
    assert sum(one.posts for one in merged) == sum(one.posts for one in counts)
    assert {one.begin for one in merged} <= {one.begin for one in counts}
    assert min(merged, default=None) == (merged[0] if counts else None)
    assert [one.begin for one in merged] == sorted(one.begin for one in merged)
    assert all(one.posts + other.posts > size for one, other in pairwise(merged))
    assert merged[:1] == [] or merged[0].begin == min(one.begin for one in counts)


def test_posts_of_a_part_are_shared_out_evenly():
    counts = [SpanCount(0.0, 100), SpanCount(10.0, 0), SpanCount(30.0, 40)]
    assert count_between(counts, 50.0, 0.0, 50.0) == 140
    assert count_between(counts, 50.0, 5.0, 35.0) == 60
    assert count_between(counts, 50.0, 50.0, 90.0) == 0
    assert count_between([], 50.0, 0.0, 50.0) == 0


@pytest.mark.parametrize("mark", ["5", "a:b", "1:2:3", "1:x"])
def test_a_mark_of_another_kind_is_refused(mark):
    with pytest.raises(ValueError, match=r"."):
        parse_counts(mark)
