"""A small version of `make coverage ONLY=mocks`: campaigns against mock servers, and what is true of their towns."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.coverage import mocks
from benchmarks.coverage.towns import WORD, Town, make_town
from benchmarks.virtual_runs import LATENCY
from socialcrawl.lab.post_table import Posts
from socialcrawl.mock.names import DELETED, HERE
from socialcrawl.mock.world import build_world

EVERY = pytest.mark.parametrize("place", [mocks.X, mocks.BLUESKY], ids=lambda place: place.source["platform"])


def shown(place, intervals, users, missing=0.1, **size):
    """What campaigns in a small town show, by interval and time."""
    place = replace(place, size=mocks.Size(users, **size))
    with mocks.serve(place, make_town(place.source["platform"], 1, users, missing), 1) as desk:
        desk.run(desk.collecting(place.size.collect[0]))
        return {(one.interval, one.at): one for one in intervals(desk)}


@EVERY
def test_a_topic_that_was_read_whole_is_counted_as_the_posts_say(place):
    found = shown(place, mocks.sample, 40, collect=(10,), sample=(40, 90), length=1_000)
    late = {what: one for (what, at), one in found.items() if at == mocks.LATE}
    assert len(late) == len(found) / 2 == 6
    assert late.pop("audit: gap in `en`").low is None, "so few all write one language"
    for one in late.values():
        assert one.low == one.high == pytest.approx(one.truth), one


def test_quotes_are_held_against_what_the_server_counts_and_bills_and_the_clock_shows():
    found = shown(mocks.X, mocks.collect, 220, collect=(105, 110, 125))
    for at in (mocks.EARLY, mocks.LATE):
        requests, posts, cost, time = (found[f"quote: {what}", at] for what in ("requests", "posts", "cost", "time"))
        assert requests.holds
        assert time.truth >= LATENCY * requests.truth
        assert (posts.low, cost.low) == (None, None), "200 steps are needed"
        assert cost.truth == pytest.approx(0.005 * posts.truth)
        assert requests.truth >= {mocks.EARLY: 5, mocks.LATE: 15}[at]
    assert found["run: time to the end", mocks.LATE].low is None


def test_refreshes_are_held_against_the_accounts_of_the_dataset_that_are_there():
    found = shown(mocks.X, mocks.refresh, 150, 2 / 3, collect=(1,), random=60)
    assert len(found) == 4
    assert found["report: active in all", mocks.EARLY].truth == found["report: active in all", mocks.LATE].truth
    for one in found.values():
        assert one.holds, one


def a_town(platform, gone=(), more=()):
    """Ann and Bob write the word to each other, Cy to Bob, Dan repeats Cy, Eve writes to Ann about something else."""
    rows = [
        ("ann", f"{WORD}, @bob", ["bob"]),
        ("bob", f"@ann {WORD}", ["ann"]),
        ("cy", f"@bob {WORD}", ["bob"]),
        ("dan", f"RT @cy: @bob {WORD}", ["cy"]),
        ("eve", "@ann good morning", ["ann"]),
        ("fay", f"my {WORD}", []),
        *more,
    ]
    authors, texts, mentions = zip(*rows, strict=True)
    posts = Posts(
        list(authors),
        1_700_000_000 + 60 * np.arange(len(rows)),
        list(texts),
        [name for names in mentions for name in names],
        np.cumsum([0, *map(len, mentions)]),
        lang=["de" if name in ("bob", "eve") else "en" for name in authors],
    )
    world = build_world(posts)
    fates = np.array([DELETED if key in gone else HERE for key in world.accounts.keys], np.int8)
    return Town(posts, replace(world, accounts=replace(world.accounts, fates=fates)), 0.0, platform)


def named(town, rows):
    return {town.world.accounts.keys[row] for row in rows}


def test_walks_reach_who_names_each_other_on_topic_and_bluesky_finds_nobody_by_a_repost():
    town = a_town("x")
    assert named(town, town.on_topic) == {"ann", "bob", "cy", "dan", "fay"}
    assert named(town, town.reached) == {"ann", "bob", "cy", "dan"}
    assert named(town, town.speakers("de")) == {"bob", "eve"}
    assert named(a_town("bluesky"), a_town("bluesky").reached) == {"ann", "bob", "cy"}


def test_accounts_that_are_gone_are_not_in_the_topic_nor_on_bluesky_who_only_repeats_them():
    on_x, on_bluesky = (a_town(platform, {"cy"}) for platform in ("x", "bluesky"))
    assert named(on_x, on_x.on_topic) == {"ann", "bob", "dan", "fay"}
    assert named(on_x, on_x.reached) == {"ann", "bob"}
    assert named(on_bluesky, on_bluesky.on_topic) == {"ann", "bob", "fay"}
    assert named(on_x, on_x.former[on_x.world.accounts.keys.index("dan")]) == {"cy"}


def test_the_share_of_links_on_topic_leaves_out_links_to_accounts_that_are_gone():
    greeting = [("bob", "@eve hello", ["eve"])]
    assert a_town("x").staying == 1.0
    assert a_town("x", more=greeting).staying == pytest.approx(4 / 5)
    assert a_town("x", {"eve"}, greeting).staying == 1.0
