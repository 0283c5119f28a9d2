"""What importance remembers, where cash leans, what a topic gets: against dictionaries; replay; two names; losses."""

import math
from contextlib import closing

import numpy as np
import pytest
from example_counts import many
from hypothesis import given, settings
from hypothesis import strategies as st
from test_track_campaign import LIMIT, crawled, earlier, tracking
from time_graphs import Timed, answer, drive, tell, track
from x_crawls import rows

from socialcrawl.campaign.settings import check_settings
from socialcrawl.crawls.reporting import report as report_of
from socialcrawl.crawls.track.make import make_target
from socialcrawl.crawls.track.report import rebuild_track
from socialcrawl.crawls.track.snapshot import collect_standings
from socialcrawl.crawls.track.target import Target
from socialcrawl.crawls.track.tracked_graph import COLUMNS, CRAWLED, FRONTIER
from socialcrawl.crawls.track.visit_policies import PolicyMixture
from socialcrawl.engine.model import Node, Pick, SameAs
from socialcrawl.errors import SettingsError
from socialcrawl.graph.relevance import compute_worth
from socialcrawl.importance.opic import Cash
from socialcrawl.importance.recent_importance import RecentImportance
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.storage.database.connection import connect
from socialcrawl.storage.queries.traces import CampaignTraces

RICHEST = PolicyMixture("opic", "opic", 0.5, 3)
PAST = 0.0102345678  # what the virtual page of the dictionaries may hold: no sum of fractions lies at it


class Books:
    """The referee: OPIC with a virtual page as the paper tells it, with a dictionary for each account it keeps."""

    def __init__(self, seeds, target):
        self.target, self.small = target, target.small * 4.0**target.lean
        share = 1 / (len(seeds) + 1)
        self.c, self.virtual, self.g, self.h = dict.fromkeys(seeds, share), share, 0.0, dict.fromkeys(seeds, 0.0)
        self.paid = []  # who paid what, and G before that
        self.last = dict.fromkeys(seeds, 0.0)  # G when each paid last, or joined
        self.links, self.read, self.gone = {}, set(), set()
        if not target.lean:
            self.overflow()

    def visit(self, u, links):
        self.join(dict.fromkeys(v for v in (u, *links) if v not in self.c))
        if u in self.gone:  # who is back is a newcomer with a past
            self.join([u])
            self.gone.discard(u)
        own = self.links.setdefault(u, {})
        for v, n in links.items():
            if v != u:
                own[v] = max(own.get(v, 0), n)
        self.read.add(u)
        self.pay(u, {v: n for v, n in own.items() if v not in self.gone and (n or not self.target.topical)})

    def join(self, nodes):
        for v in nodes:
            self.c[v], self.h[v], self.last[v] = 0.0, self.h.get(v, 0.0), self.g

    def lose(self, u):
        if u not in self.gone:
            self.gone.add(u)
            self.pay(u, {})

    def pay(self, u, own):
        amount, self.c[u] = self.c[u], 0.0
        self.paid.append((u, amount, self.g))
        self.h[u] += amount
        self.g += amount
        self.last[u] = self.g
        weights = {v: compute_worth(n) if self.target.topical else 1.0 for v, n in own.items()}
        part = amount * len(own) / (len(own) + self.small)
        got = {v: part * w / sum(weights.values()) for v, w in weights.items()}
        for v, money in got.items():
            self.c[v] += money
        self.virtual += amount - sum(got.values())
        matching = [v for v, n in own.items() if n]
        self.lend(matching, self.target.extra * sum(got[v] for v in matching))
        self.overflow()

    def lend(self, nodes, amount):
        amount = min(amount, self.virtual) if nodes else 0.0
        self.virtual -= amount
        for v in nodes:
            self.c[v] += amount / len(nodes)

    def overflow(self):
        if self.virtual > PAST:
            lean = self.target.lean
            read = [v for v in self.c if v in self.read - self.gone]
            unread = [v for v in self.c if v not in self.read | self.gone]
            self.lend(unread if lean > 0 else read, abs(lean) * 0.5 * self.virtual)
            there = [v for v in self.c if v not in self.gone]
            for v in there:
                self.c[v] += self.virtual / len(there)
            if not there:
                return
            self.g, self.virtual = self.g + self.virtual, 0.0

    def importance(self, v):
        time = min(self.target.memory or self.g, self.g)
        gained = sum(amount for u, amount, g in self.paid if u == v and g >= self.g - time)
        waited = self.g - self.last[v]
        return (gained + self.c[v] * (time / waited if waited > time else 1.0)) / (time + 1)


NODE = st.integers(0, 9)
VISITS = st.lists(st.tuples(NODE, st.none() | st.dictionaries(NODE, st.integers(0, 3), max_size=5)), max_size=25)
TARGETS = st.builds(
    Target,
    st.just("importance"),
    topical=st.booleans(),
    small=st.sampled_from([0.5, 1.0]),
    memory=st.none() | st.sampled_from([0.05, 0.7, 4.0]),
    lean=st.sampled_from([-1.0, 0.0, 0.3, 1.0]),
    extra=st.sampled_from([0.0, 0.5, 3.0]),
)


@settings(deadline=None, max_examples=many(60))
@given(VISITS, TARGETS)
def test_importance_and_cash_are_those_of_the_dictionaries_whatever_is_visited_and_lost(visits, target):
    crawl, books = track(0, 1, target=target, cash=Cash(target.small, threshold=PAST)), Books([0, 1], target)
    tell(crawl, 0, "seed", links=[])
    books.visit(0, {})
    for node, links in visits:
        if links is None and node in books.c:
            tell(crawl, node, missing="suspended")
            books.lose(node)
        elif links is not None:
            tell(crawl, node, links=[(v, compute_worth(n)) for v, n in links.items()])
            books.visit(node, links)
    graph, rows = crawl.graph, np.arange(crawl.graph.size)
    assert list(books.c) == graph.nodes
    assert graph.column("cash") == pytest.approx(list(books.c.values()), abs=1e-12)
    assert crawl.compute_importance(rows) == pytest.approx([books.importance(v) for v in books.c], abs=1e-12)
    assert (graph.cash.paid, graph.cash.virtual) == pytest.approx((books.g, books.virtual), abs=1e-12)
    assert graph.cash.sum_cash() == pytest.approx(1.0, abs=1e-9)
    wanted = {v: books.importance(v) for v in books.c if v not in books.gone}
    assert dict(crawl.rank_nodes()) == pytest.approx(wanted, abs=1e-12)
    assert crawl.compute_importance(rows).sum() <= 1.0 + 1e-12
    told = {row.node: row for row in collect_standings(crawl)}
    assert {v: row.importance for v, row in told.items()} == {
        v: crawl.compute_importance(np.array([graph.row(v)]))[0] for v in told
    }
    assert [told[v].history for v in books.c] == pytest.approx([*books.h.values()], abs=1e-12)


def test_without_memory_lean_and_extra_nothing_but_the_plain_accounts_is_asked():
    crawl, cash = track(target=Target("importance")), Cash(1.0)
    cash.start(np.array([0]))
    tell(crawl, 0, "seed", links=[1, 2])
    tell(crawl, 2, links=[0, 3])
    tell(crawl, 1, links=[])
    for row, targets, size in ((0, [1, 2], 3), (2, [0, 3], 4), (1, [], 4)):
        cash.join(np.arange(size))
        cash.pay(row, np.array(targets, np.int64))
    assert crawl.compute_importance(np.arange(4)).tolist() == cash.estimate(np.arange(4)).tolist()
    assert (crawl.graph.cash.paid, crawl.graph.cash.offset) == (cash.paid, cash.offset)


def test_a_short_memory_sees_who_rose_where_the_whole_history_does_not():
    """Those who linked to account 3 for long come to link to five others, who link to account 4."""

    def weights(memory):
        crawl = track(0, 1, 2, target=Target("importance", memory=memory))
        for turn in range(80):
            links = [3] if turn < 60 else [10, 11, 12, 13, 14]
            for node in (0, 1, 2):
                tell(crawl, node, "expand" if turn + node else "seed", links=links)
            for node in links:
                tell(crawl, node, links=[0, 1, 2] if node == 3 else [4])
            tell(crawl, 3 if turn < 60 else 4, links=[0, 1, 2])
        return dict(crawl.rank_nodes())

    short, whole = weights(1.0), weights(None)
    assert short[4] > 1.5 * short[3]
    assert whole[3] > 1.5 * whole[4]


# -- Replay

LEVERS = [
    {"memory": 4.0},
    {"memory": 0.2, "topical": True},
    {"lean": 1.0},
    {"lean": -0.5, "memory": 1.0},
    {"extra": 2.0},
    {"memory": 1.5, "lean": 0.4, "extra": 1.0, "topical": True},
]


def state_of(crawl):
    rows, cash = np.arange(crawl.graph.size), crawl.graph.cash
    accounts = (cash.cash.tobytes(), cash.history.tobytes(), cash.paid, cash.offset, cash.virtual, cash.size)
    return crawl.compute_importance(rows).tobytes(), accounts, crawl.rank_nodes(), crawl.choose(9, 1e4)


def failing(pick):
    return {6: SameAs(50), 9: "temporary", 15: "suspended", 20: SameAs(3), 31: "forgotten"}.get(pick.n)


@pytest.mark.parametrize("levers", LEVERS)
@pytest.mark.parametrize("size", [1, 4])
def test_folding_is_absorbing_to_the_last_bit_and_looking_changes_nothing(levers, size):
    made = lambda: track(0, 1, choice=RICHEST, target=Target("importance", **levers))  # noqa: E731 (made twice)
    crawl, again, halves = made(), made(), made()
    history = drive(crawl, Timed(30, 300, 1500.0, seed=5), 70, size, failing)
    assert crawl.picks >= 60
    again.fold(history)
    halves.fold(history[: len(history) // 2])
    for _ in range(2):
        halves.rank_nodes()
        halves.choose(3, 0.0)
    halves.fold(history[len(history) // 2 :])
    assert state_of(again) == state_of(crawl) == state_of(halves)


@pytest.mark.parametrize("levers", LEVERS)
def test_the_richest_is_chosen_also_right_after_the_virtual_page_lent(levers):
    crawl = track(choice=RICHEST, target=Target("importance", **levers))
    world = Timed(40, 300, 3000.0, seed=4)
    for picks in range(1, 100):
        drive(crawl, world, picks)
        (pick,) = crawl.choose(1, 20.0 * picks)
        graph, wanted = crawl.graph, FRONTIER if pick.act == "expand" else CRAWLED
        cash = graph.column("cash")
        most = max(cash[row] for row in range(graph.size) if graph.state[row] == wanted)
        assert cash[graph.row(pick.node)] == pytest.approx(most, abs=1e-15)
        assert graph.cash.sum_cash() == pytest.approx(1.0, abs=1e-9)


def test_a_draw_by_cash_sees_what_was_lent():
    crawl = track(choice=PolicyMixture("ai", "opic", 0.5, 3), target=Target("importance", lean=0.7, memory=3.0))
    drive(crawl, Timed(40, 300, 3000.0, seed=4), 60)
    drawn = crawl.graph.make_urn(FRONTIER, "cash").settle()
    wanted = crawl.graph.column("cash")[crawl.graph.rows(FRONTIER)].sum()
    assert drawn[1] == pytest.approx(wanted, abs=1e-12)


def test_leaning_moves_cash_between_those_who_were_read_and_those_who_were_not():
    held = {}
    for lean in (-1.0, -0.5, 0.0, 0.5, 1.0):
        crawl = track(choice=PolicyMixture("opic", "opic", 0.7, 3), target=Target("importance", lean=lean))
        drive(crawl, Timed(300, 1500, 1.0, seed=7), 150)
        graph = crawl.graph
        held[lean] = graph.column("cash")[graph.rows(CRAWLED)].sum()
        assert len(graph.rows(FRONTIER)) > 20
    assert list(held.values()) == sorted(held.values(), reverse=True)
    assert held[1.0] < 0.8 * held[0.0]
    assert held[-1.0] > 1.1 * held[0.0]


def test_accounts_that_links_with_the_topic_go_to_count_more_with_an_extra():
    def importance(extra):
        crawl = track(target=Target("importance", extra=extra))
        g = np.random.default_rng(2)
        for n in range(150):
            links = {int(v): compute_worth(1) if v % 5 == 0 else 0.0 for v in g.choice(40, 4, replace=False)}
            tell(crawl, n % 40, "expand" if n else "seed", links=[*links.items()])
        return sum(weight for node, weight in crawl.rank_nodes() if node % 5 == 0)

    assert importance(2.0) > 1.15 * importance(0.0)


# -- Two names of one account


@settings(deadline=None, max_examples=many(60))
@given(
    st.lists(st.tuples(st.integers(0, 5), st.lists(st.integers(0, 5), unique=True, max_size=4)), max_size=12),
    st.lists(st.tuples(st.integers(0, 3), st.lists(st.integers(0, 3), unique=True, max_size=3)), max_size=6),
)
def test_two_that_were_made_one_have_the_importance_that_both_would_have(before, after):
    """As long as neither is read again; the window reaches back to the beginning, and the virtual page never pays."""
    one, two = (RecentImportance(Cash(1.0, threshold=math.inf), 30.0) for _ in range(2))
    for books in (one, two):
        books.cash.start(np.arange(4))
        books.join(np.array([4, 5]))
        for row, targets in before:
            books.pay(row, np.array(targets, np.int64))
    one.merge(4, 5)
    for row, targets in ((0, [5]), *after):
        for books in (one, two):
            books.pay(row, np.array(targets, np.int64))
    apart = two.compute_importance(np.arange(6))
    assert one.compute_importance(np.arange(6)) == pytest.approx([*apart[:4], 0.0, apart[4] + apart[5]], abs=1e-12)
    assert one.cash.sum_cash() == pytest.approx(1.0, abs=1e-9)
    assert one.cash.size == 5


def test_the_renamed_keep_importance_and_cash_of_both_names_in_a_crawl():
    crawl = track(0, 1, choice=PolicyMixture("gai", "u", 1.0, 1), target=Target("importance", memory=2.0))
    tell(crawl, 0, "seed", links=[1, 7])
    tell(crawl, 1, "seed", links=[7, 8])
    tell(crawl, 7, links=[8])
    rows = np.array([crawl.graph.row(1), crawl.graph.row(8)])
    importance, cash = crawl.compute_importance(rows), crawl.graph.column("cash")[rows]
    tell(crawl, 1, "recrawl", missing=SameAs(8))
    weights = dict(crawl.rank_nodes())
    assert sorted(weights) == [0, 7, 8]
    assert weights[8] == pytest.approx(importance.sum(), abs=1e-15)
    assert crawl.graph.column("cash")[rows[1]] == pytest.approx(cash.sum(), abs=1e-15)
    tell(crawl, 8, "recrawl", links=[0])
    assert crawl.graph.cash.sum_cash() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("memory", [0.7, 4.0])
@pytest.mark.parametrize("choice", [RICHEST, PolicyMixture("ai", "u", 0.3, 3)])
def test_shares_sum_to_one_at_most_after_every_step_and_to_the_plain_ones_while_the_clock_is_young(memory, choice):
    """Also where most of what is known was just discovered."""
    crawl, plain = (track(0, 1, 2, choice=choice, target=Target("importance", memory=one)) for one in (memory, None))
    world, young = Timed(2000, 40_000, 1.0, seed=2), 0
    for picks in range(1, 150):
        for one in (crawl, plain):
            drive(one, world, picks)
        everybody = np.arange(crawl.graph.size)
        assert crawl.compute_importance(everybody).sum() <= 1.0 + 1e-9
        if crawl.graph.accounts.remembers_all:
            young += 1
            assert crawl.compute_importance(everybody).tolist() == plain.compute_importance(everybody).tolist()
    assert crawl.graph.size > 500
    assert young > 0


# -- Losses


def test_who_is_lost_holds_no_cash_and_gets_none_until_it_is_back():
    crawl = track(0, 1, choice=RICHEST, target=Target("importance", memory=3.0))
    tell(crawl, 0, "seed", links=[1, 2])
    tell(crawl, 1, "seed", links=[0, 2])
    tell(crawl, 2, missing="suspended")
    for node in (0, 1, 0, 1):
        tell(crawl, node, "recrawl", links=[2])
        assert crawl.graph.column("cash")[2] == 0.0
        assert crawl.graph.cash.sum_cash() == pytest.approx(1.0, abs=1e-12)
    assert crawl.graph.at(2, "indegree") == 2.0
    assert 2 not in dict(crawl.rank_nodes())
    tell(crawl, 2, "seed", links=[0])
    tell(crawl, 0, "recrawl")
    assert crawl.graph.column("cash")[2] > 0.1
    assert 2 in dict(crawl.rank_nodes())
    assert crawl.graph.cash.sum_cash() == pytest.approx(1.0, abs=1e-12)


def test_who_turns_out_to_be_an_account_that_was_lost_brings_it_cash_only_if_it_is_visited_again():
    for name, back in ((1, True), (3, False)):
        crawl = track(0, 1, target=Target("importance", memory=3.0))
        tell(crawl, 0, "seed", links=[1, 2, 3])
        tell(crawl, 1, "seed", links=[0])
        tell(crawl, 2, missing="suspended")
        tell(crawl, name, "recrawl" if back else "expand", missing=SameAs(2))
        held = crawl.graph.column("cash")[crawl.graph.row(2)]
        assert (held > 0.01, held == 0.0, crawl.graph.is_crawled(2)) == (back, not back, back)
        tell(crawl, 0, "recrawl", links=[2])
        assert (crawl.graph.column("cash")[crawl.graph.row(2)] > held) == back
        assert crawl.graph.cash.sum_cash() == pytest.approx(1.0, abs=1e-12)
        assert crawl.graph.cash.size == crawl.graph.cash.known.sum()


@pytest.mark.parametrize("small", [None, 1.0])
def test_to_leave_is_to_pay_without_links_and_to_be_nobodys_afterwards(small):
    one, two = Cash(small, threshold=math.inf), Cash(small, threshold=math.inf)
    for cash in (one, two):
        cash.start(np.arange(4))
        cash.pay(0, np.array([1, 2]))
    one.leave(1)
    two.pay(1, np.array([], np.int64))
    assert (one.paid, one.virtual, one.sink) == (two.paid, two.virtual, two.sink)
    assert one.get_history(np.arange(4)).tolist() == two.get_history(np.arange(4)).tolist()
    assert (one.size, one.known[:4].tolist()) == (3, [True, False, True, True])
    held = one.get_cash(np.arange(4))
    one.leave(1)  # it left already
    one.leave(5_000)  # and there never was such a row
    assert one.get_cash(np.arange(4)).tolist() == held.tolist()
    one.settle()
    one.join(1)
    assert one.get_cash(np.array([1]))[0] == 0.0
    assert one.sum_cash() == pytest.approx(1.0, abs=1e-12)


def test_the_cash_of_the_start_is_given_out_once_also_where_the_first_import_is_lost():
    crawl = track(target=Target("importance", memory=1.0))
    crawl.seeds.ready.clear()
    for n, (node, missing) in enumerate([(4, "forgotten"), (5, None), (6, None)]):
        pick = Pick(n, Node(node), "import")
        crawl.absorb((pick,), [answer(pick, links=[4, 5, 7], missing=missing)])
        assert crawl.graph.cash.sum_cash() == pytest.approx(1.0, abs=1e-12)
    assert crawl.graph.column("cash")[crawl.graph.row(7)] > 0.1


# -- A campaign


def test_what_a_campaign_stands_at_after_a_stop_is_what_its_whole_history_folds_to_by_its_memory(tmp_path):
    path, levers = tmp_path / "a.db", {"memory": 0.3, "lean": 0.5, "extra": 1.0, "p": 0.5}
    with serve_in_thread(earlier(), limit=LIMIT) as mock:
        for steps in (10, 25):
            crawled(mock.url, path, steps, **levers)
    with closing(connect(path)) as connection:
        traces = CampaignTraces(connection)
        report, whole = report_of(traces), traces.read_campaign(None)
        folded, plain = (rebuild_track(tracking(mock.url, path, 25, **some), traces, whole) for some in (levers, {}))
        for crawl in (folded, plain):
            crawl.fold(traces.read_history(whole, COLUMNS))
    stored = rows(path, "select node, importance, history from standing order by node")
    wanted = sorted((row.node, row.importance, row.history) for row in collect_standings(folded))
    assert stored == wanted
    assert stored != sorted((row.node, row.importance, row.history) for row in collect_standings(plain))
    best = sorted((row.importance for row in collect_standings(folded) if row.gone is None), reverse=True)[:15]
    assert [place.weight for place in report.top] == best
    assert len({round(weight, 9) for weight in best}) > 5


# -- Settings


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, (None, 0.0, 0.0)),
        ({"memory": "all"}, (None, 0.0, 0.0)),
        ({"memory": 4, "lean": -1, "recrawl": "opic"}, (4.0, -1.0, 0.0)),
        ({"memory": 0.5, "lean": 0.25, "extra": 2, "target": "importance"}, (0.5, 0.25, 2.0)),
    ],
)
def test_a_campaign_says_what_is_remembered_and_where_cash_leans(given, wanted):
    settings = {"name": "a", "kind": "track", "topic": {"keywords": ["sky"]}, "track": given}
    target = make_target(check_settings(settings, "a.toml"))
    assert (target.memory, target.lean, target.extra) == wanted
    assert target.cash


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"memory": 0}, "[track] memory = 0: write a number above 0"),
        ({"memory": "7d"}, "[track] memory = '7d': write a number above 0"),
        ({"memory": True}, "write a number above 0"),
        ({"memory": math.inf}, "write a number above 0"),
        ({"lean": 1.5}, "[track] lean = 1.5: write a number, at most 1"),
        ({"lean": "discovery"}, "[track] lean = 'discovery'"),
        ({"extra": -0.1}, "[track] extra = -0.1: write a number, 0 or more"),
        ({"extra": math.inf}, "[track] extra = inf"),
    ],
)
def test_what_cannot_be_remembered_or_leaned_to_is_said(given, said):
    with pytest.raises(SettingsError) as error:
        check_settings({"name": "a", "kind": "track", "topic": {"keywords": ["sky"]}, "track": given}, "a.toml")
    assert said in str(error.value)


@pytest.mark.parametrize(
    "wrong",
    [{"memory": 0.0}, {"memory": math.nan}, {"lean": 1.1}, {"lean": math.nan}, {"extra": -1.0}, {"extra": math.inf}],
)
def test_a_target_out_of_range_is_refused(wrong):
    with pytest.raises(SettingsError, match=f"{next(iter(wrong))} = "):
        Target("importance", **wrong)
