"""What a uniform sample says of a dataset: how much of the topic it holds, how large that is, where it lacks."""

from dataclasses import replace
from math import inf, isnan

import numpy as np
import pytest

from socialcrawl.crawls.sample.audit import (
    TopicSample,
    audit,
    count_needed_visits,
    estimate_size,
    find_gaps,
    judge_outlook,
)
from socialcrawl.crawls.sample.audit_report import count_known
from socialcrawl.crawls.sample.estimates import Estimate, estimate_share
from socialcrawl.crawls.sample.holdings import HeldAccounts


def drawn(world, n, seed):
    """A sample of n visits, each independent, of a world of columns."""
    at = np.random.default_rng(seed).integers(0, len(world["held"]), n)
    return TopicSample(
        world["held"][at], world["linked"][at], np.ones(n), np.zeros(n, int), world["searched"][at], world["group"][at]
    )


@pytest.fixture(scope="module")
def world():
    """A topic of 5000: the dataset holds most of group a, little of b and nothing of c; links lead to half of b."""
    rng, group = np.random.default_rng(8), np.repeat(["a", "b", "c"], [3000, 1750, 250])
    held = rng.random(5000) < np.select([group == "a", group == "b"], [0.8, 0.2], 0.0)
    linked = (rng.random(5000) < 0.5) & (group == "b")
    return {"held": held, "linked": linked, "searched": rng.random(5000) < 0.3, "group": group}


def test_the_share_held_and_the_size_of_the_topic_lie_in_their_intervals(world):
    hits = [0, 0, 0]
    for seed in range(100):
        found = audit(drawn(world, 300, seed), int(world["held"].sum()))
        hits[0] += found.share.contains(world["held"].mean())
        hits[1] += found.size.contains(5000)
        hits[2] += found.reach.contains((world["linked"] & ~world["held"]).mean())
        assert found.lacking == pytest.approx(found.size.value - world["held"].sum())
    assert min(hits) >= 90, hits
    assert hits[0] == hits[1]  # the size is the share turned over


def test_the_parts_of_an_audit_add_up(world):
    found = audit(drawn(world, 400, 3), int(world["held"].sum()), groups=None)
    assert found.share.value + found.reach.value + found.beyond.value == pytest.approx(1.0)
    assert sum(gap.lacking.value for gap in found.gaps) == pytest.approx(1.0 - found.share.value)
    assert sum(gap.reach.value for gap in found.gaps) == pytest.approx(found.reach.value)
    assert sum(gap.topic.value for gap in found.gaps) == pytest.approx(1.0)
    for gap in found.gaps:
        assert gap.topic.value * (1.0 - gap.held.value) == pytest.approx(gap.lacking.value)
    search = found.search
    assert search.neither.value + search.only.value + found.share.value == pytest.approx(1.0)


def test_the_gaps_come_widest_first_and_are_those_of_the_world(world):
    found = find_gaps(drawn(world, 2000, 4))
    assert [gap.group for gap in found] == ["b", "a", "c"]
    for gap in found:
        ours = world["group"] == gap.group
        assert gap.held.contains(world["held"][ours].mean()), gap
        assert gap.lacking.contains((ours & ~world["held"]).mean()), gap
        assert gap.reach.contains((ours & world["linked"] & ~world["held"]).mean()), gap
    assert [gap.group for gap in find_gaps(drawn(world, 2000, 4), 1)] == ["b"]
    assert found[2].held.value == 0.0
    assert 0.0 < found[2].held.high < 0.1


def test_the_gap_that_happens_to_be_the_widest_of_many_is_in_its_interval_too():
    """Twenty groups alike: the first in the table is the one that looks widest, and its interval has to know that."""
    size, groups = 5000, 20
    held, hits = np.arange(size) % 2 == 0, 0
    alike = {"held": held, "linked": held, "searched": held, "group": np.arange(size) // 2 % groups}
    for seed in range(200):
        first = find_gaps(drawn(alike, 300, seed))[0]
        hits += first.lacking.contains(0.5 / groups) and first.topic.contains(1.0 / groups)
    assert hits >= 190


def test_what_is_neither_held_nor_linked_to_has_the_interval_that_the_others_leave(world):
    found = audit(drawn(world, 300, 7), int(world["held"].sum()))
    share, reach = found.share, found.reach
    assert found.beyond.low == pytest.approx(max(0.0, 1.0 - share.high - reach.high))
    assert found.beyond.high == pytest.approx(1.0 - share.low - reach.low)
    assert found.beyond.contains((~world["held"] & ~world["linked"]).mean())


def test_a_sample_without_groups_has_no_gaps_to_tell():
    flags = np.array([True, False, True])
    bare = TopicSample(flags, flags, np.ones(3), np.zeros(3, int))
    assert audit(bare, 5).gaps == ()
    assert audit(bare, 5).search is None
    with pytest.raises(ValueError, match="no groups"):
        find_gaps(bare)


def test_what_the_search_covers_is_told_of_the_topic_and_of_the_dataset(world):
    search = audit(drawn(world, 2000, 5), 100).search
    assert search.found.contains(world["searched"].mean())
    assert search.held.contains(world["searched"][world["held"]].mean())
    assert search.only.contains((world["searched"] & ~world["held"]).mean())


def test_what_is_held_counts_as_linked():
    held, linked = np.array([True, True, False, False] * 30), np.array([False, True, True, False] * 30)
    found = audit(TopicSample(held, linked, np.ones(120), np.zeros(120, int)), 10)
    assert (found.share.value, found.reach.value, found.beyond.value) == (0.5, 0.25, 0.25)


def test_visits_off_topic_say_nothing_when_they_weigh_nothing():
    held = np.array([True, False] * 50)
    weights = np.where(np.arange(100) < 60, 1.0, 0.0)
    one = audit(TopicSample(held, held, weights, np.zeros(100, int)), 10)
    other = audit(TopicSample(held & (weights > 0), held & (weights > 0), weights, np.zeros(100, int)), 10)
    assert one == other
    assert one.share.visits == 60


def test_a_topic_of_which_nothing_is_held_may_be_of_any_size():
    none = estimate_share(np.zeros(200), np.ones(200))
    known = estimate_size(none, 40)
    assert known.value == known.high == inf
    assert known.low == pytest.approx(40 / none.high)
    assert isnan(estimate_size(none, 0).value)
    assert (estimate_size(none, 0).low, estimate_size(none, 0).high) == (0.0, inf)
    whole = estimate_size(estimate_share(np.ones(200), np.ones(200)), 40)
    assert (whole.value, whole.low) == (40, 40)


def test_more_budget_pays_where_the_lacking_are_linked_to(world):
    good = judge_outlook(audit(drawn(world, 2000, 6), int(world["held"].sum())), np.ones(100))
    assert good.pays is True
    assert "yes" in good.why
    assert good.reach.contains((world["linked"] & ~world["held"]).sum())
    lost = dict(world, linked=world["held"])
    bad = judge_outlook(audit(drawn(lost, 2000, 6), 10), np.ones(100))
    assert bad.pays is False
    assert "other seeds" in bad.why
    unclear = judge_outlook(audit(drawn(world, 20, 6), 10))
    assert unclear.pays is None
    assert isnan(unclear.rate)
    assert unclear.recent == 0


def test_the_accounts_within_reach_lie_in_the_interval_of_their_number(world):
    held, near = int(world["held"].sum()), int((world["linked"] & ~world["held"]).sum())
    found = [audit(drawn(world, 300, seed), held) for seed in range(100)]
    assert sum(one.near.contains(near) for one in found) >= 90
    for one in found:  # as many as there are to each held one
        assert one.near.value == pytest.approx(held * one.reach.value / one.share.value)
    assert isnan(audit(drawn(world, 300, 1), 0).near.value)
    nobody = dict(world, held=np.zeros(5000, bool))
    assert audit(drawn(nobody, 300, 1), 40).near.high == inf


def test_how_many_of_the_accounts_read_last_were_on_topic_is_counted(world):
    found = judge_outlook(audit(drawn(world, 2000, 6), int(world["held"].sum())), [*[True] * 900, *[True, False] * 100])
    assert (found.recent, found.rate) == (220, 120 / 220)  # the last fifth


def test_a_narrower_interval_needs_visits_by_the_square():
    told = Estimate(0.5, 0.4, 0.6, 100.0, 250)
    assert count_needed_visits(told, 0.05) == pytest.approx(1000.0)
    assert count_needed_visits(told, 0.5) == 250
    assert count_needed_visits(Estimate(float("nan"), 0.0, 1.0, 0.0, 0), 0.05) == inf


def test_an_audit_knows_the_accounts_on_topic_of_the_dataset_and_of_the_sample_and_counts_each_once():
    read, on_topic = np.array([3, 5, 8, 9]), np.array([True, True, False, True])
    dataset = HeldAccounts("mine", read, on_topic)
    assert count_known(dataset, on_topic, np.array([5, 9, 11, 12])) == len({3, 5, 9, 11, 12})
    assert count_known(replace(dataset, unjudged=2), on_topic, np.array([5, 9, 11, 12])) == 4


def test_no_interval_of_an_audit_leaves_room_for_fewer_accounts_than_are_known():
    held = np.arange(100) < 76
    found = audit(TopicSample(held, held, np.ones(100), np.arange(100) % 4), 117, least=171)
    assert found.size.low == 171
    assert found.lacking >= 171 - 117
    assert found.share.high == pytest.approx(117 / 171)
    assert found.share.value <= found.share.high
