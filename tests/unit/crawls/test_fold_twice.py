"""Folding twice changes nothing: a contract of every part that folds."""

import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from old_datasets import InColumns, bring, lines_of, refresh, web
from old_datasets import drive as probes_of
from test_daemon_process import a_mock, campaign_file, daemon
from test_fold import crawl, events, following, history_in, history_of, sensible, state
from test_planner import POLICY, STEPS, live, planner
from test_planner import state as window_state
from test_refresh_fold import state_of as refreshed
from test_sample_crawl import GRAPH, HOWS, SEEDS, Remembering
from test_sample_crawl import state as sampled
from test_track import SETUPS, failing, track
from test_track import state_of as tracked
from time_graphs import Timed, drive
from walk_graphs import walk
from x_crawls import rows

from socialcrawl.crawls.node_limit import NodeLimit
from socialcrawl.crawls.sample.crawl import Sample
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.crawls.track.visit_policies import PolicyMixture
from socialcrawl.engine.model import Credential
from socialcrawl.ratelimit.budget import Caps
from socialcrawl.ratelimit.planner import WindowPlanner
from socialcrawl.ratelimit.shared_windows import SharedWindows


@settings(deadline=None, max_examples=many(60))
@given(events(), st.sampled_from(["hybrid-sum", "opic", "nh-ne-sum"]), st.sampled_from(["list", "memory", "sqlite"]))
def test_a_collection_that_folds_twice_has_learned_it_once(made, name, kind):
    history = history_of(made)
    if (lived := sensible(name, history)) is None:
        return
    with history_in(kind, history) as told:
        folded = crawl(name)
        for _ in range(2):
            folded.fold(told)
            assert state(folded) == state(lived)
    assert following(folded) == following(lived)


@settings(deadline=None, max_examples=many(60))
@given(events(), st.integers(0, 45), st.sampled_from(["list", "sqlite"]))
def test_what_came_since_the_last_fold_is_all_that_is_taken_in(made, first, kind):
    history = history_of(made)
    if (lived := sensible("hybrid-sum", history)) is None:
        return
    folded = crawl("hybrid-sum")
    for some in (history[:first], history):
        with history_in(kind, some) as told:
            folded.fold(told)
    assert state(folded) == state(lived)


@pytest.mark.parametrize(("expansion", "recrawl", "target", "rest"), SETUPS)
def test_tracking_that_folds_twice_has_learned_it_once(expansion, recrawl, target, rest):
    def made():
        choice = PolicyMixture(expansion, recrawl, 0.5, 3)
        return track(0, 1, choice=choice, mark=repr, window=400.0, target=target, rest=rest)

    lived, world = made(), Timed(30, 200, 2000.0, seed=1, window=400.0)
    history = drive(lived, world, 50, 3, failing)
    folded = made()
    for _ in range(2):
        folded.fold(history)
        assert folded.choose(5, 2000.0) == lived.choose(5, 2000.0)
        assert repr(tracked(folded)) == repr(tracked(lived))


@pytest.mark.parametrize("columns", [False, True])
def test_refreshing_that_folds_twice_has_learned_it_once(columns):
    old, active = web(80, 240, 5)
    lived = refresh(z=8, rank="pa", check=4)
    history = [bring(lived, lines_of(old)), *probes_of(lived, active, 5, most=60)]
    folded = refresh(z=8, rank="pa", check=4)
    for _ in range(2):
        folded.fold(InColumns(history, 7) if columns else history)
        assert refreshed(folded) == refreshed(lived)


@settings(deadline=None, max_examples=many(30))
@given(HOWS, st.integers(1, 6))
def test_a_sample_that_folds_twice_has_learned_it_once(how, size):
    store = Remembering()
    lived, _ = walk(GRAPH, how, 25, seeds=SEEDS, size=size, store=store)
    folded = Sample(Seeds(names=SEEDS, known=True), how, 25)
    for _ in range(2):
        folded.fold(store.batches)
        assert sampled(folded) == sampled(lived)


@settings(deadline=None, max_examples=many(40))
@given(events(), st.sampled_from(["list", "sqlite"]))
def test_a_budget_of_nodes_that_folds_twice_counts_each_node_once(made, kind):
    history = history_of(made)
    if (lived := sensible("bfs", history)) is None:
        return
    free = sum(pick.act in ("search", "resolve", "import", "captured") for batch, _ in history for pick in batch)
    folded = NodeLimit(crawl("bfs"), 1000)
    with history_in(kind, history) as told:
        for _ in range(2):
            folded.fold(told)
            assert folded.asked == sum(len(batch) for batch, _ in history) - free
    assert state(folded.inner) == state(lived)


def spent_and_free(by, ledger, now):
    """What a planner has counted, and what it lets through from now on."""
    sets = [
        by.window_sets.get("main", endpoint) for endpoint in sorted({grant.request.endpoint for grant, _ in ledger})
    ]
    room = [(lane.count_slots(now, now), lane.count_slots(now, now + 900.0), lane.find_slot(now)) for lane in sets]
    return by.budget, vars(by.cycle), room


@settings(deadline=None, max_examples=many(100))
@given(STEPS, st.integers(1, 4), st.booleans())
def test_a_planner_that_folds_twice_has_spent_it_once(steps, in_flight, shared):
    ledger, now = live(planner(), [step for step in steps if step[1] != "lost"], in_flight)

    def made():
        member = SharedWindows().join("a", 1.0, "https://h", {"main": "token"}) if shared else None
        return WindowPlanner(POLICY, [Credential("main")], Caps(), shared=member)

    once, twice = made(), made()
    once.fold(ledger, now)
    for _ in range(2):
        twice.fold(ledger, now)
    assert spent_and_free(twice, ledger, now) == spent_and_free(once, ledger, now)
    assert twice.budget.requests == len(ledger)
    if not shared:
        for grant, _ in ledger:
            mine, other = (by.window_sets.get("main", grant.request.endpoint).windows for by in (twice, once))
            assert [window_state(one) for one in mine] == [window_state(one) for one in other]


def test_a_daemon_that_was_stopped_and_started_again_spends_the_rest_of_its_budget(tmp_path):
    folder = tmp_path / "campaigns"
    folder.mkdir()
    count = "select count(*) from request where kind <> 'held'"
    with a_mock() as mock:
        campaign_file(folder, mock.url, more="[budget]\nmax_requests = 40\n")
        with daemon(folder) as one:
            one.until(lambda: (folder / "one.db").exists() and sum(mock.report()["received"].values()) >= 25)
            assert one.end()[0] == 0
        assert sum(mock.report()["received"].values()) < 40
        with daemon(folder) as two:
            (stopped,) = two.until(lambda: two.said("stopped"))
            assert two.end()[0] == 0
    assert "40 were sent" in stopped["why"]
    assert rows(folder / "one.db", count) == [(40,)]
