"""The sample crawl: it asks for what its walks need, each node once, and ends with a sentence."""

from dataclasses import fields, replace

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from walk_graphs import Searching, WalkRules, both, known, rows, tangle, walk

from socialcrawl.crawls.sample.crawl import REST, Sample
from socialcrawl.crawls.sample.rules import FOCUSES
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.draws import draw_chance, draw_numbers, start_stream
from socialcrawl.engine.model import Outcome, Pick, SameAs
from socialcrawl.lab.instant import SequenceStore

SIZE = 40
GRAPH = known(SIZE, tangle(SIZE, 90, 2), range(0, SIZE, 2))
GRAPH.beta[1::4] = 0.5  # on the wider topic only
SEEDS = (0, 6, 12)


class Remembering(SequenceStore):
    """A store that keeps all batches, and can be read as a history."""

    def __init__(self):
        super().__init__()
        self.batches = []

    def finish(self, batch, outcomes):
        super().finish(batch, outcomes)
        self.batches.append((batch, outcomes))


class Failing(Searching):
    """A platform with trouble: by node, what is wrong when it is asked the first time, the second, ..."""

    troubles: dict[int, list[str | None]] = {}  # noqa: RUF012 - each test gives its own

    def __init__(self, graph):
        super().__init__(graph)
        self.asked = {}

    def _read_node(self, pick):
        found = yield from super()._read_node(pick)
        times = self.asked[pick.node] = self.asked.get(pick.node, 0) + 1
        troubles = self.troubles.get(pick.node, [])
        missing = troubles[min(times, len(troubles)) - 1] if troubles else None
        return found if missing is None else {pick.n: Outcome(pick.n, pick.node, 0.0, missing=missing)}


def troubled(troubles):
    return type("Troubled", (Failing,), {"troubles": troubles})


def state(crawl):
    """All that a crawl knows, as values."""
    lists, visits = crawl.walks.lists, crawl.list_visits()
    return (
        [getattr(visits, field.name).tolist() for field in fields(visits)],
        [
            lists.nodes.tolist(),
            lists.codes.tolist(),
            lists.begins.tolist(),
            bytes(lists.on),
            bytes(lists.wide),
            lists.outs.tolist(),
        ],
        [lists.group.tolist(), lists.marks, lists.other, lists.known_count, crawl.walks.near.hits],
        [crawl.picks, crawl.taken, crawl.relevance, crawl.starts, crawl.failures, crawl.resting, crawl.missing],
        [crawl.needs, crawl.begun, crawl.graph.size, crawl.graph.left, [one.why for one in crawl.walks.walkers]],
        [list(crawl.seeds.ready), crawl.choose(3, 0.0)],
    )


HOWS = st.builds(
    WalkRules,
    focus=st.sampled_from(FOCUSES),
    k=st.integers(1, 2),
    b=st.just(2),
    walkers=st.integers(1, 5),
    inward=st.booleans(),
    mutual=st.sampled_from(["once", "twice"]),
    consistency=st.sampled_from(["symmetric", "printed"]),
    trap=st.sampled_from(["off", "community"]),
    trap_window=st.just(6),
    length=st.just(40),
    samples=st.sampled_from([None, 30]),
    seed=st.integers(0, 5),
)
TROUBLES = st.dictionaries(
    st.integers(0, SIZE - 1),
    st.lists(
        st.sampled_from([None, "temporary", "deleted", SameAs(4), SameAs(7), "forgotten"]), min_size=1, max_size=3
    ),
    max_size=8,
)


@settings(deadline=None, max_examples=many(60))
@given(HOWS, TROUBLES, st.integers(1, 6))
def test_folding_the_history_is_absorbing_it_bit_for_bit_and_choosing_changes_nothing(how, troubles, size):
    store = Remembering()
    lived, _ = walk(GRAPH, how, 25, seeds=SEEDS, size=size, source=troubled(troubles), store=store)
    folded = Sample(Seeds(names=SEEDS, known=True), how, 25)
    folded.fold(store.batches)
    assert state(folded) == state(lived) == state(lived)
    half = Sample(Seeds(names=SEEDS, known=True), how, 25)
    half.fold(store.batches[: len(store.batches) // 2])
    for batch, outcomes in store.batches[len(store.batches) // 2 :]:
        assert half.choose(size, 0.0) == batch
        half.absorb(batch, outcomes)
    assert state(half) == state(lived)


@settings(deadline=None, max_examples=many(40))
@given(HOWS, TROUBLES, st.integers(1, 6))
def test_no_node_is_asked_again_but_after_a_failure_and_every_pick_is_numbered(how, troubles, size):
    store = Remembering()
    crawl, stop = walk(GRAPH, how, 30, seeds=SEEDS, size=size, source=troubled(troubles), store=store)
    asked = [
        (pick, outcome) for batch, outcomes in store.batches for pick, outcome in zip(batch, outcomes, strict=True)
    ]
    assert [pick.n for pick, _ in asked] == list(range(len(asked)))
    final = [(pick.node, pick.act) for pick, outcome in asked if outcome.missing != "temporary"]
    assert len(final) == len(set(final))
    assert crawl.taken == sum(pick.act == "walk" for pick, _ in asked) <= 30
    assert {pick.act for pick, _ in asked} <= ({"walk", "inward"} if how.inward else {"walk"})
    assert stop.kind in ("done", "failed")
    assert stop.why


def test_a_walk_goes_along_its_lists_from_node_to_node() -> None:
    crawl, _ = walk(GRAPH, WalkRules("none", walkers=3, length=200, trap="off"), seeds=SEEDS)
    visits, lists = crawl.list_visits(), crawl.walks.lists
    for i in range(len(visits.node) - 1):
        place = lists.place(int(visits.node[i]))
        assert visits.proposal[i] in [code >> 1 for code in lists.codes[lists.begins[place] : lists.begins[place + 1]]]
        if visits.walker[i] == visits.walker[i + 1]:
            assert visits.node[i + 1] == visits.proposal[i]
    assert visits.proposal_linked.tolist() == [
        bool(v in GRAPH.list_links(u)[0]) for u, v in zip(visits.node.tolist(), visits.proposal.tolist(), strict=True)
    ]


def test_hard_focus_stays_where_the_neighbour_drawn_is_off_topic_and_that_is_one_visit() -> None:
    crawl, _ = walk(
        known(SIZE, both(tangle(SIZE, 90, 2)), range(0, SIZE, 2)), WalkRules("hard", length=300), seeds=SEEDS
    )
    visits = crawl.list_visits()
    gone = visits.proposal_on_topic[:-1] == 1
    assert (visits.node[1:][gone] == visits.proposal[:-1][gone]).all()
    assert (visits.node[1:][~gone] == visits.node[:-1][~gone]).all()
    assert (visits.came[1:] == gone).all()
    assert (np.diff(visits.visit) == gone).all()
    assert visits.on_topic.all()


def test_the_samples_asked_for_are_visits_on_topic_after_the_burn_in_of_each_walk() -> None:
    how = WalkRules("trial", k=2, walkers=3, burn_in=7, samples=50)
    crawl, stop = walk(known(SIZE, both(tangle(SIZE, 90, 2)), range(0, SIZE, 2)), how, seeds=SEEDS)
    visits = crawl.list_visits()
    counted = visits.kept & visits.came & visits.on_topic
    assert [counted[visits.walker == walker].sum() for walker in range(3)] == [17, 17, 16]
    dropped = ~visits.kept & visits.came & visits.on_topic
    assert [dropped[visits.walker == walker].sum() for walker in range(3)] == [7, 7, 7]
    assert stop.why == "all 50 samples are drawn"


def test_the_shortest_walks_are_served_first_and_a_node_that_two_need_is_asked_once() -> None:
    star = known(5, both([(0, 1), (0, 2), (0, 3), (0, 4)]), range(5))
    crawl = Sample(Seeds(names=(0,), known=True), WalkRules("none", walkers=6), None)
    assert [pick.node for pick in crawl.choose(3, 0.0)] == [0]
    crawl.absorb((Pick(0, 0, "walk"),), [Outcome(0, 0, 0.0, 1.0, star.list_links(0)[0], star.list_links(0)[1])])
    batch = crawl.choose(10, 0.0)
    wanted = [walker.codes[-1] >> 1 for walker in crawl.walks.walkers]
    assert [pick.node for pick in batch] == list(dict.fromkeys(wanted))
    assert crawl.graph.left == len(batch) < 6
    assert crawl.graph.size == 5


def test_who_links_there_is_asked_with_the_node_at_its_first_visit_and_only_then() -> None:
    store = Remembering()
    crawl, _ = walk(GRAPH, WalkRules("none", inward=True, length=300, trap="off"), seeds=(3,), store=store)
    picks = [(pick.node, pick.act) for batch, _ in store.batches for pick in batch]
    assert picks == [(node, act) for node, _ in picks[::2] for act in ("walk", "inward")]
    assert len(picks) == 2 * crawl.taken == len(set(picks))


def test_a_search_that_cannot_be_asked_leaves_the_links_that_are_known() -> None:
    class Deaf(Searching):
        def _found(self, pick):
            yield from ()
            return {pick.n: Outcome(pick.n, pick.node, 0.0, missing="protected")}

    how = WalkRules("none", length=200)
    deaf, _ = walk(GRAPH, replace(how, inward=True), seeds=(3,), source=Deaf)
    plain, _ = walk(GRAPH, how, seeds=(3,))
    assert deaf.list_visits().node.tolist() == plain.list_visits().node.tolist()
    assert deaf.missing == {}


def test_who_fails_for_a_while_rests_for_twenty_picks_and_is_lost_the_third_time() -> None:
    troubles = {3: ["temporary", "temporary", None], 5: ["temporary"]}
    store = Remembering()
    graph = known(60, both([(i, i + 1) for i in range(59)]), range(60))
    crawl, _ = walk(
        graph, WalkRules("none", walkers=2, length=4_000), seeds=(0, 30), source=troubled(troubles), store=store
    )
    times = [pick.n for batch, _ in store.batches for pick in batch if pick.node == 3]
    assert len(times) == 3
    assert times[1] - times[0] >= REST
    lost = [pick.n for batch, _ in store.batches for pick in batch if pick.node == 5]
    assert len(lost) == 3
    assert crawl.missing == {5: "temporary"}
    assert set(crawl.list_visits().node[crawl.list_visits().walker == 0].tolist()) <= set(range(5))


def test_a_start_that_is_off_topic_or_missing_gives_way_to_the_next_seed_and_few_starts_go_round() -> None:
    crawl, _ = walk(
        GRAPH, WalkRules("hard", walkers=5, length=30), seeds=(1, 2, 3, 4, 6), source=troubled({2: ["deleted"]})
    )
    assert [crawl.walks.lists.nodes[place] for place in crawl.starts] == [4, 6]
    assert [crawl.walks.lists.nodes[walker.places[0]] for walker in crawl.walks.walkers] == [4, 6, 4, 6, 4]
    assert crawl.missing == {1: "off topic", 2: "deleted", 3: "off topic"}


def test_no_more_seeds_are_asked_than_there_are_walks() -> None:
    store = Remembering()
    walk(GRAPH, WalkRules("none", walkers=2, length=1), 50, seeds=range(20), size=9, store=store)
    assert [pick.node for pick in store.batches[0][0]] == [0, 1]
    assert len(store.batches) < 4


def test_without_a_start_the_crawl_says_what_to_do() -> None:
    _, stop = walk(GRAPH, WalkRules("hard"), seeds=(1, 2), source=troubled({2: ["suspended"]}))
    assert stop.kind == "failed"
    assert stop.why == (
        "none of the seeds can be a start (1 off topic, 1 suspended): name seeds that can be read and are on topic"
    )
    _, stop = walk(GRAPH, WalkRules("hard"), seeds=())
    assert stop.kind == "failed"
    assert "search" in stop.why


def test_searches_and_lookups_come_first_and_their_authors_are_starts() -> None:
    crawl = Sample(Seeds(queries=(-1,), names=(8,)), WalkRules("none", walkers=2), None)
    assert crawl.choose(2, 0.0) == (Pick(0, -1, "search"),)
    crawl.absorb((Pick(0, -1, "search"),), [Outcome(0, -1, 0.0, targets=np.array([9]))])
    assert crawl.choose(2, 0.0) == (Pick(1, 8, "resolve"), Pick(2, 9, "resolve"))
    crawl.absorb(crawl.choose(2, 0.0), [Outcome(1, 8, 0.0), Outcome(2, 9, 0.0, missing=SameAs(11))])
    assert crawl.choose(2, 0.0) == (Pick(3, 8, "walk"), Pick(4, 11, "walk"))


@pytest.mark.parametrize(
    ("links", "how", "words"),
    [
        (
            [(0, 1), (1, 2)],
            WalkRules("none", idle=50),
            "nobody new in 50 steps: what is in reach of their starts has 3 accounts",
        ),
        ([(1, 2)], WalkRules("none"), "without neighbours to go to"),
        ([(0, 1), (1, 2)], WalkRules("hard", exact=True, idle=9), "without neighbours to go to"),
        ([(0, 1), (1, 2)], WalkRules("none", length=7), "all 7 steps of each walk are done"),
    ],
)
def test_a_part_of_the_graph_that_is_too_small_ends_the_walk_with_a_sentence(links, how, words) -> None:
    crawl, stop = walk(known(4, both(links), [0]), how)
    assert stop.kind == "done"
    assert words in stop.why
    assert crawl.choose(5, 0.0) == stop


def test_the_budget_counts_nodes_and_is_kept() -> None:
    crawl, stop = walk(GRAPH, WalkRules("none", walkers=4), 11, seeds=SEEDS, size=4)
    assert (stop.kind, stop.why) == ("done", "the limit of 11 steps is reached")
    assert crawl.taken == 11
    assert crawl.relevance == crawl.list_read().on_topic.sum()


def test_what_was_read_is_told_as_columns() -> None:
    crawl, _ = walk(GRAPH, WalkRules("none", length=400), seeds=(3,))
    held = crawl.list_read()
    for node, on, outs, degree in zip(held.node, held.on_topic, held.outs, held.degree, strict=True):
        assert on == (node % 2 == 0)
        assert outs == len({*GRAPH.list_links(node)[0].tolist()} - {node})
        assert degree == len(rows(crawl.walks.lists)[node])
    visits = crawl.list_visits()
    assert (held.node[visits.place] == visits.node).all()
    assert visits.precision == pytest.approx(np.mean(visits.node % 2 == 0))
    assert visits.weight[visits.kept].mean() == pytest.approx(1.0)
    assert visits.weight * visits.degree == pytest.approx(np.full(len(visits.node), (visits.weight * visits.degree)[0]))


def test_draws_in_blocks_are_those_that_are_drawn_one_by_one() -> None:
    expected = [draw_chance(7, "walk 3", n) for n in range(100)]
    assert draw_numbers(start_stream(7, "walk 3"), 0, 100).tolist() == expected
    assert draw_numbers(start_stream(7, "walk 3"), 64, 36).tolist() == expected[64:]
    assert draw_numbers(start_stream(-1, "near"), 2**62, 2).tolist() == [
        draw_chance(-1, "near", 2**62),
        draw_chance(-1, "near", 2**62 + 1),
    ]


def test_before_the_first_step_there_are_no_rows() -> None:
    crawl = Sample(Seeds(names=SEEDS, known=True), WalkRules("hard", walkers=2), None)
    visits = crawl.list_visits()
    assert len(visits.node) == len(crawl.list_read().node) == 0
    assert np.isnan(visits.precision)
    assert visits.jumps.tolist() == [0, 0]
