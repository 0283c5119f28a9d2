"""Algorithm 1 on graphs that fit into a drawing: by hand, by a full-rescan referee, through the loop."""

import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from known_worlds import Ticking, World, collect, crawl, diamond, outcome, parts, referee, sequence

from socialcrawl.crawls.collect.estimators import NAMES
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Pick, SameAs, Stop
from socialcrawl.graph.relevance import compute_worth
from socialcrawl.storage.memory_store import MemoryStore


def roads() -> World:
    r"""Two roads from 0 and a bridge; occurrences of nodes in brackets, of links on the arrows.

           ,--2--> 1 (4) --1--> 3 (0) --0--> 5 (7) --3--> 8 (2)
    0 (2) <                       |                         |
           `--5--> 2 (0) --9--> 4 (1) <--0--'    7 (1) <--4-'
                                  |---1--> 6 (3) --2--> 7 ,  6 --1--> 0
    """
    return World(
        {0: 2, 1: 4, 2: 0, 3: 0, 4: 1, 5: 7, 6: 3, 7: 1, 8: 2},
        {0: {1: 2, 2: 5}, 1: {3: 1}, 2: {4: 9}, 3: {5: 0, 4: 0}, 4: {6: 1}, 5: {8: 3}, 6: {7: 2, 0: 1}, 8: {7: 4}},
    )


def village() -> World:
    r"""Seeds 0 and 10; 0, 1 and 2 know each other, 3 .. 9 hang on them, 11 hangs on nobody. A self-link at 2.

    0 <----> 1 ----> 3 ----> 6 ----> 9
    |  \   /  \      ^       |
    v   v v    v     |       v
    4    2 --> 5 ----'       7 <---- 10 ----> 8 ----> 2
    """
    return World(
        {0: 3, 1: 2, 2: 6, 3: 0, 4: 1, 5: 8, 6: 2, 7: 0, 8: 5, 9: 4, 10: 1, 11: 99},
        {
            0: {1: 2, 2: 3, 4: 0},
            1: {0: 1, 3: 0, 2: 1, 5: 2},
            2: {2: 6, 5: 4},
            3: {6: 0},
            5: {3: 1},
            6: {7: 1, 9: 2},
            8: {2: 5},
            10: {7: 0, 8: 1},
        },
    )


GRAPHS = {"diamond": (diamond, [0]), "roads": (roads, [0]), "village": (village, [10, 0])}


def test_breadth_first_reads_the_diamond_line_by_line():
    assert sequence(crawl(diamond(), collect("bfs", [0]))[0]) == [0, 1, 2, 3, 4, 5, 6]


def test_the_sum_of_neighbours_goes_where_the_rich_are_worked_out_by_hand():
    # 1 and 2 tie; 1 is worth nothing; 2 is worth 1 + ln 5 and lifts 4 and 5; 4 lifts 6 above 3, whose friend is poor.
    history, end = crawl(diamond(), collect("nh-n-sum", [0]))
    assert sequence(history) == [0, 1, 2, 4, 5, 6, 3]
    assert end.kind == "done"


def test_the_best_link_decides_for_nh_e_max_worked_out_by_hand():
    # 2 by a link of 5; then 4 by 9; 1 by 2 beats 6 by 1 (4 -> 6); 6 was seen before 3; 7 by 2; 3; 5 by nothing; 8.
    assert sequence(crawl(roads(), collect("nh-e-max", [0]))[0]) == [0, 2, 4, 1, 6, 7, 3, 5, 8]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "adaptive"])  # whose referee is in tests/golden
@pytest.mark.parametrize("graph", GRAPHS)
def test_the_crawl_is_the_one_of_a_referee_who_rescans_everything(graph, name):
    make, seeds = GRAPHS[graph]
    history, _ = crawl(make(), collect(name, seeds))
    assert sequence(history) == referee(make(), seeds, name, 99)
    assert len(history) >= 7


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("graph", GRAPHS)
def test_the_loop_gives_the_same_crawl_and_the_stored_history_gives_the_stored_picks(graph, name):
    make, seeds = GRAPHS[graph]
    store, by_hand = MemoryStore(), crawl(make(), collect(name, seeds))[0]
    assert run(parts(make(), collect(name, seeds), store)).kind == "done"
    assert [batch for batch, _ in store.history()] == [batch for batch, _ in by_hand]
    again = collect(name, seeds)
    for batch, outcomes in store.history():
        assert again.choose(1, 0.0) == batch
        again.absorb(batch, outcomes)


def test_an_interrupted_run_goes_on_where_it_was():
    whole = sequence(crawl(village(), collect("hybrid-sum", [10, 0]))[0])
    world, store, ends = village(), MemoryStore(), []
    while not ends or ends[-1].kind == "interrupted":
        ends.append(run(parts(world, collect("hybrid-sum", [10, 0]), store, Ticking(until=4.0))))
    assert len(ends) > 3
    assert sequence(store.history()) == world.asked == whole


def test_seeds_come_first_teach_nothing_and_do_not_count():
    by = collect("lnh-sum", [10, 0])
    history, _ = crawl(village(), by, at_most=2)
    assert [(pick.node, pick.act) for batch, _ in history for pick in batch] == [(10, "seed"), (0, "seed")]
    assert (by.taken, by.relevance, by.estimator.moments.rows) == (0, 0.0, 0)
    assert by.seed_relevance == compute_worth(1) + compute_worth(3)
    history, _ = crawl(village(), by)
    assert by.estimator.moments.rows == by.taken == 9
    assert by.relevance == pytest.approx(sum(compute_worth(x) for x in (2, 6, 0, 1, 8, 2, 0, 5, 4)))


def test_the_budget_counts_the_steps_after_the_seeds_and_the_last_batch_is_what_is_left():
    by = collect("bfs", [10, 0], steps=7)
    history, end = crawl(village(), by, size=3)
    assert [len(batch) for batch, _ in history] == [2, 3, 3, 1]
    assert [pick.n for batch, _ in history for pick in batch] == list(range(9))
    assert (end.kind, by.taken) == ("done", 7)
    assert crawl(village(), collect("bfs", [10], steps=0))[1].kind == "done"


def test_a_batch_is_scored_once_so_a_greater_refresh_rate_may_cost():
    one, three = (sequence(crawl(diamond(), collect("nh-n-sum", [0]), size=size)[0]) for size in (1, 3))
    assert one == [0, 1, 2, 4, 5, 6, 3]
    assert three == [0, 1, 2, 4, 5, 3, 6]


@st.composite
def worlds(draw):
    size = draw(st.integers(2, 14))
    node, hits = st.integers(0, size - 1), st.integers(0, 4)
    links = {u: draw(st.dictionaries(node, hits, max_size=5)) for u in range(size)}
    reason = st.sampled_from([["temporary"], ["temporary", None], ["deleted"], [SameAs(0)]])
    missing = draw(st.dictionaries(node, reason, max_size=3))
    return World({u: draw(hits) for u in range(size)}, links, missing), draw(st.lists(node, min_size=1, unique=True))


@given(worlds(), st.sampled_from(NAMES), st.integers(1, 4), st.integers(0, 20))
@settings(max_examples=many(250), deadline=None)
def test_folding_the_history_is_living_through_it(made, name, size, at_most):
    world, seeds = made
    lived = collect(name, seeds)
    history, _ = crawl(world, lived, size, at_most)
    folded, replayed = collect(name, seeds), collect(name, seeds)
    folded.fold(history)
    assert folded.choose(size, 0.0) == lived.choose(size, 0.0) == lived.choose(size, 99.0)
    assert (folded.relevance, folded.picks) == (lived.relevance, lived.picks)
    for batch, outcomes in history:
        assert replayed.choose(size, 5.0) == batch
        replayed.absorb(batch, outcomes)


class Sealed(World):
    """A world that raises when a node is looked at before it was picked."""

    picked: tuple[Pick, ...] = ()

    def ask(self, node):
        if node not in [pick.node for pick in self.picked]:
            raise AssertionError(f"node {node} was peeked at")
        return super().ask(node)


@pytest.mark.parametrize("name", NAMES)
def test_no_estimator_reads_the_value_of_an_unfetched_node(name):
    truth, by = village(), collect(name, [10, 0])
    sealed = Sealed(truth.hits, truth.links)
    while not isinstance(batch := by.choose(2, 0.0), Stop):
        for node in set(truth.hits) - set(sealed.asked):  # what was not asked yet may be anything: the choice stands
            sealed.hits[node] += 1_000
        assert by.choose(2, 0.0) == batch
        sealed.picked = batch
        by.absorb(batch, [outcome(pick, sealed.ask(pick.node)) for pick in batch])
    assert sorted(sealed.asked) == list(range(11))
    sealed.picked = ()
    with pytest.raises(AssertionError, match="peeked"):
        sealed.ask(11)
