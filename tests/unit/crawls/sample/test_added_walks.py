"""Walks of other packages: their laws, what they cost, which settings they have, and what is said if they fail."""

from dataclasses import replace

import numpy as np
import pytest
from walk_graphs import METROPOLIS, WalkRules, both, known, law, moves, rows, seen, tangle, walk

from socialcrawl.campaign.settings import check_settings
from socialcrawl.crawls.registry import find_kind
from socialcrawl.crawls.sample.evidence import gather_evidence
from socialcrawl.crawls.sample.mixing import _WalkedParts
from socialcrawl.crawls.sample.walk_components import find_walk_components
from socialcrawl.errors import PluginError, SettingsError

SIZE = 14
GRAPH = both(tangle(SIZE, 16, 1))
TOPIC = frozenset(range(9))
STEPS = 40_000
LONG = WalkRules("none", length=STEPS, idle=10**9, walk=METROPOLIS)
NEAR = 0.015  # what chance leaves after so many steps


class Root:
    """A walk that is at nodes in proportion to the square root of their degree."""

    def accept(self, degree, proposed):
        return min(1.0, (degree / proposed) ** 0.5)

    def weigh(self, degree):
        return degree**-0.5


class Wild:
    """A walk that says what a test wants it to say."""

    says = (1.0, 1.0)

    def accept(self, degree, proposed):
        return self.says[0]

    def weigh(self, degree):
        if self.says[1] == "raise":
            raise ZeroDivisionError("no weight today")
        return self.says[1]


class NoWeight:
    def accept(self, degree, proposed):
        return 1.0


HERE = __name__


def chain(crawl, within=range(SIZE)):
    """The transition matrix of a Metropolis walk on the lists of a crawl, written down entry by entry."""
    links = moves(rows(crawl.walks.lists), SIZE)
    degree = links.sum(axis=1)
    chances = np.zeros((SIZE, SIZE))
    for u in within:
        for v in within:
            if links[u, v]:
                chances[u, v] = links[u, v] / degree[u] * min(1.0, degree[u] / degree[v])
        chances[u, u] = 1.0 - chances[u].sum()
    return chances


@pytest.mark.parametrize("mutual", ["once", "twice"])
def test_a_metropolis_walk_is_uniform_without_weights(mutual):
    crawl, _ = walk(known(SIZE, GRAPH, TOPIC), replace(LONG, mutual=mutual))
    assert law(chain(crawl)) == pytest.approx(np.full(SIZE, 1 / SIZE))
    assert np.abs(np.bincount(crawl.list_visits().node, minlength=SIZE) / STEPS - 1 / SIZE).max() < NEAR
    assert set(crawl.list_visits().weight.tolist()) == {1.0}


def test_it_takes_links_as_often_as_its_matrix_says():
    crawl, _ = walk(known(SIZE, GRAPH, TOPIC), LONG)
    node = crawl.list_visits().node
    seen_moves = np.zeros((SIZE, SIZE))
    np.add.at(seen_moves, (node[:-1], node[1:]), 1.0)
    expected = chain(crawl) / SIZE
    assert np.abs(seen_moves / len(node) - expected).max() < 0.005
    assert expected.max() > 0.02


def test_with_hard_focus_it_is_uniform_on_the_topic_in_reach():
    crawl, _ = walk(known(SIZE, GRAPH, TOPIC), replace(LONG, focus="hard"))
    visited = sorted(set(crawl.list_visits().node.tolist()))
    assert set(visited) <= TOPIC
    uniform = np.isin(np.arange(SIZE), visited) / len(visited)
    assert uniform @ chain(crawl, visited) == pytest.approx(uniform)
    assert np.abs(seen(crawl, SIZE) - uniform).max() < NEAR


def test_another_law_is_weighed_as_it_says():
    crawl, _ = walk(known(SIZE, GRAPH, TOPIC), replace(LONG, walk=f"{HERE}:Root"))
    degree = moves(rows(crawl.walks.lists), SIZE).sum(axis=1)
    share = np.bincount(crawl.list_visits().node, minlength=SIZE) / STEPS
    assert np.abs(share - degree**0.5 / (degree**0.5).sum()).max() < NEAR < np.abs(share - 1 / SIZE).max()
    assert np.abs(seen(crawl, SIZE) - 1 / SIZE).max() < NEAR
    assert crawl.list_visits().weight.mean() == pytest.approx(1.0)


def test_an_account_that_was_drawn_and_not_accepted_was_read_nevertheless():
    hub = both([(0, leaf) for leaf in range(1, 60)])  # a star: from a leaf to its middle with a chance of 1/59
    crawl, ending = walk(known(60, hub, range(60)), replace(LONG, length=10), seeds=(1,))
    assert ending.kind == "done"
    visits = crawl.list_visits()
    assert set(visits.node.tolist()) == {1}  # (58/59)^10 = 0.84: the seed decides
    assert visits.proposal.tolist() == [0] * 10
    assert crawl.taken == 2
    assert visits.came.tolist() == [True] + [False] * 9


def test_how_long_it_remembers_is_read_off_its_own_matrix():
    for how in (LONG, replace(LONG, walk=f"{HERE}:Root")):
        crawl, _ = walk(known(SIZE, GRAPH, TOPIC), replace(how, length=2_000))
        visits = crawl.list_visits()
        found = _WalkedParts(crawl.walks, visits, find_walk_components(crawl.walks, visits)).memory
        links = moves(rows(crawl.walks.lists), SIZE)
        degree = links.sum(axis=1)
        power = 1.0 if how is LONG else 0.5
        chances = links / degree[:, None] * np.minimum(1.0, (degree[:, None] / degree) ** power)
        chances += np.diag(1.0 - chances.sum(axis=1))
        second = np.sort(np.linalg.eigvals(chances).real)[-2]
        assert found == pytest.approx(1.0 / (1.0 - second))


def test_a_walk_ends_the_same_however_many_accounts_are_read_at_once():
    graph = known(SIZE, GRAPH, TOPIC)
    crawls = [walk(graph, replace(LONG, length=200, walkers=3), seeds=(0, 5, 3), size=size)[0] for size in (1, 4)]
    assert all(gather_evidence(crawl.walks).verdict.whole for crawl in crawls)
    assert crawls[0].taken == crawls[1].taken == SIZE


@pytest.mark.parametrize(
    ("says", "message"),
    [
        ((0.0, 1.0), "returned from accept 0.0, where a chance above 0 and at most 1 is needed."),
        ((1.5, 1.0), "returned from accept 1.5, where"),
        (("often", 1.0), "returned from accept 'often', where"),
        ((float("nan"), 1.0), "returned from accept nan, where"),
        ((1.0, None), "returned from weigh None, where a number above 0 is needed."),
        ((1.0, -2.0), "returned from weigh -2.0, where"),
        ((1.0, float("inf")), "returned from weigh inf, where"),
        ((1.0, "raise"), "failed in weigh: ZeroDivisionError: no weight today (test_added_walks.py, line"),
    ],
)
def test_what_a_walk_returns_is_checked(monkeypatch, says, message):
    monkeypatch.setattr(Wild, "says", says)
    with pytest.raises(PluginError) as error:
        walk(known(SIZE, GRAPH, ()), replace(LONG, length=20, walk=f"{HERE}:Wild"))[0].list_visits()
    assert str(error.value).startswith(f"the walk '{HERE}:Wild' {message}")


def settle(**sample):
    given = {"name": "a", "database": "a.db", "kind": "sample", "topic": {"keywords": ["telescope"]}, "sample": sample}
    return check_settings({**given, "source": {"platform": "x", "token_env": "A"}}, "test")


def test_the_walk_of_a_campaign_is_named_in_its_settings_and_in_its_identity():
    settings = settle(walk=METROPOLIS)
    assert settings.identity([])["sample"]["walk"] == METROPOLIS
    assert "walk" not in settle().identity([])["sample"]
    kind = find_kind("sample")
    assert "4 walks (walk_graphs:Metropolis) with focus hard" in kind.describe(settings)
    section = settings.sample.model_dump(mode="json")
    (said,) = kind.tell_method(section)
    assert said == "The walk was walk_graphs:Metropolis (our own code: add its source; Hastings (1970))."
    sheet = " ".join(kind.tell_choice(section, "x"))
    assert "Hastings (1970)" in sheet
    assert "number of its neighbours" not in sheet
    assert "number of its neighbours" in " ".join(kind.tell_choice(settle().sample.model_dump(mode="json"), "x"))
    assert list(kind.tell_method(settle().sample.model_dump(mode="json"))) == []


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"focus": "trial"}, 'focus = "trial" is for walk = "max-degree" only'),
        ({"exact": True}, 'exact is for walk = "max-degree" only: remove it'),
        ({"focus": "neighbourhood", "crude": True}, "crude is for walk"),
        ({"weights": "holding"}, "weights is for walk"),
        ({"consistency": "printed"}, "consistency is for walk"),
        ({"walk": "max-degre"}, "unknown walk 'max-degre'. Did you mean 'max-degree'?"),
    ],
)
def test_settings_of_the_built_in_walk_and_unknown_names_are_refused(more, message):
    with pytest.raises(SettingsError) as error:
        settle(**{"walk": METROPOLIS, **more})
    assert message in str(error.value)


def test_a_class_that_is_no_walk_is_refused_before_anything_is_read():
    with pytest.raises(SettingsError, match=r"has no method weigh\(degree\)"):
        find_kind("sample").check(settle(walk=f"{HERE}:NoWeight"))
