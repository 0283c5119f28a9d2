"""A small version of `make bench ONLY=platforms`: campaigns on the mock of each platform, beside replays."""

import numpy as np
import pytest

from benchmarks import platforms
from benchmarks.platforms import AREA, END, ESTIMATORS, Comparison, Curve, Place
from socialcrawl.lab.generators.generate import choose_topics, generate, write
from socialcrawl.lab.post_table import Posts

TOPIC, WORD = next(iter(choose_topics().items()))


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """The same posts as accounts and as pages, by platform."""
    path = tmp_path_factory.mktemp("posts") / "town.parquet"
    write(path, generate(200, 1, posts_per_user=12.0, weeks=2, only=[TOPIC]))
    return {platform: place for place in platforms.show_everywhere(path, WORD) for platform in place.platforms}


@pytest.fixture
def short(monkeypatch):
    for name, value in {"STEPS": 25, "SETS": 1, "SEEDS": 4, "SWITCH": 10}.items():
        monkeypatch.setattr(platforms, name, value)


@pytest.mark.parametrize("platform", platforms.SOURCES)
def test_a_campaign_finds_what_a_replay_finds_step_by_step(platform, places, short):
    place = places[platform]
    with platforms.serve(place, platform) as desk:
        crawls = {name: desk.crawl(name, 0) for name in ("adaptive", "bfs")}
    for name, crawl in crawls.items():
        assert crawl.found.tolist() == platforms.replay(place, name, 0).found.tolist()
        assert len(crawl.sent) == 25
        assert (np.diff(crawl.sent) >= 1).all(), "no account is read without a request"
    assert crawls["adaptive"].found[-1] > 0


def posts_of(*rows):
    authors, times, texts, mentions = zip(*rows, strict=True)
    names = [name for one in mentions for name in one]
    return Posts(list(authors), np.array(times), list(texts), names, np.cumsum([0, *map(len, mentions)]))


TOWN = posts_of(
    ("Ann", 30, "late @bo_b", ["bo_b"]),
    ("ann", 10, "early @cy", ["cy"]),
    ("cy", 20, "@ann and @ann", ["ann", "ann"]),
    ("ANN", 20, "between", []),
)


def test_the_newest_posts_of_each_account_are_served_in_the_order_of_time():
    kept = platforms.take_newest(TOWN, 2)
    assert list(zip(kept.authors, kept.texts, strict=True)) == [
        ("cy", "@ann and @ann"),
        ("ANN", "between"),
        ("Ann", "late @bo_b"),
    ]
    assert [kept.list_mentions(row) for row in range(3)] == [["ann", "ann"], [], ["bo_b"]]


def test_a_page_has_the_posts_of_an_account_and_links_to_those_whom_it_mentions():
    pages = platforms.write_pages(platforms.take_newest(TOWN, 9))
    shown = {key: (text, links) for key, text, links in zip(*pages.values(), strict=True)}
    assert shown == {
        "ann": ("late @bo b between early @cy", ["bo_b", "cy"]),
        "bo_b": ("", []),
        "cy": ("@ann and @ann", ["ann", "ann"]),
    }
    graph = Place("pages", "late", ("web",), pages=pages).graph
    assert graph.alpha[graph.indptr[0] : graph.indptr[1]].tolist() == [1.0, 1.0], "both links are near the word"


def test_an_area_counts_what_was_found_when_each_request_was_sent():
    one, other = Curve(np.array([1.0, 5.0]), np.array([2, 4])), Curve(np.array([2.0, 3.0]), np.array([1, 3]))
    assert one.list_found(5).tolist() == [0, 1, 1, 5, 5]
    found = platforms.compare([dict.fromkeys(ESTIMATORS[1:], one) | {ESTIMATORS[0]: other}])
    assert found.values[END].tolist() == [[3, 5, 5, 5]]
    assert found.values[AREA].tolist() == [[7 / 3, 2 / 3, 2 / 3, 2 / 3]], "the first three requests, which both sent"


def compared(*rows):
    """A comparison of sets of seeds, each with what adaptive, hybrid-sum, nh-ne-sum and bfs found."""
    return Comparison({END: np.array(rows, float)})


def test_orders_are_the_same_unless_a_pair_that_is_shown_to_differ_changes_places():
    known = compared((9, 8, 4, 2), (10, 8, 5, 2), (11, 9, 4, 2))
    assert known.order(END) == ["adaptive", "hybrid-sum", "nh-ne-sum", "bfs"]
    assert known.find_swaps(known) == []
    assert compared((9, 8, 2, 4), (10, 8, 2, 5), (11, 9, 2, 4)).find_swaps(known) == [f"nh-ne-sum and bfs ({END})"]
    near = compared((9, 8, 3, 4), (10, 8, 6, 3), (11, 9, 2, 5))
    alike = compared((9, 8, 4, 3), (10, 8, 3, 6), (11, 9, 5, 2))
    assert near.order(END) != alike.order(END)
    assert near.find_swaps(alike) == []


def test_a_row_of_the_table_names_the_best_first_and_the_paired_ratios():
    (row,) = compared((8, 4, 8, 2), (8, 4, 16, 2), (8, 4, 9, 2)).show("town, x")
    assert row.what == f"town, x: {END}"
    words = row.value.split(", ")
    assert [word.split(" ")[0] for word in words] == ["nh-ne-sum", "adaptive", "hybrid-sum", "bfs"]
    assert words[1:3] == ["adaptive 8", "hybrid-sum 4 (2.00: 2.00 to 2.00)"]
    logs = np.log([8 / 8, 8 / 16, 8 / 9])
    half = 4.302653 * logs.std(ddof=1) / 3**0.5  # Student's quantile for two degrees of freedom
    low, middle, high = np.exp([logs.mean() - half, logs.mean(), logs.mean() + half])
    assert words[0] == f"nh-ne-sum 11 ({middle:.2f}: {low:.2f} to {high:.2f})"
