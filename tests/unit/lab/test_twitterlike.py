import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats

from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.graph.relevance import compute_worth
from socialcrawl.lab.generators.twitterlike import TOPICS, estimate_link_share, generate_twitter_like
from socialcrawl.lab.generators.twitterlike.people import MOST_LINKS

USERS, LINKS = 20_000, 110_000


@pytest.fixture(scope="module")
def graph() -> KnownGraph:
    return generate_twitter_like(USERS, LINKS, seed=3)


@pytest.fixture(scope="module")
def large() -> KnownGraph:
    """A hundredth of the paper's size."""
    return generate_twitter_like(170_000, 930_000, seed=4)


def source(graph: KnownGraph) -> np.ndarray:
    return np.repeat(np.arange(graph.size), np.diff(graph.indptr))


def matrix(graph: KnownGraph, weight: np.ndarray | None = None) -> sparse.csr_array:
    data = np.ones(graph.links) if weight is None else weight
    return sparse.csr_array((data, graph.indices, graph.indptr), shape=(graph.size, graph.size))


def digest(graph: KnownGraph) -> str:
    arrays = (graph.indptr, graph.indices, graph.alpha, graph.beta)
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


def counts(worths: np.ndarray) -> np.ndarray:
    """The occurrences that have those worths; each has to be the worth of a whole number."""
    whole = np.where(worths > 0, np.rint(np.exp(worths - 1)), 0).astype(np.int64)
    assert [compute_worth(count) for count in whole.tolist()] == worths.tolist()
    return whole


def both(graph: KnownGraph, targets: np.ndarray) -> int:
    """The number of links, led to those targets, between two nodes of positive value."""
    return int(((graph.beta[source(graph)] > 0) & (graph.beta[targets] > 0)).sum())


def hill(degrees: np.ndarray, least: int) -> float:
    """The power of a density that falls as a power law from `least` on (Clauset et al., for whole numbers)."""
    return float(1 + 1 / np.log(degrees[degrees >= least] / (least - 0.5)).mean())


def check_sound(graph: KnownGraph, users: int, links: int) -> None:
    """Links are distinct, lead to others, and are as many as asked for; arrays have the types of a known graph."""
    assert (graph.size, graph.links, len(graph.indptr), len(graph.alpha)) == (users, links, users + 1, links)
    kinds = [str(array.dtype) for array in (graph.indptr, graph.indices, graph.alpha, graph.beta)]
    assert kinds == ["int64", "int32", "float64", "float64"]
    assert (graph.indptr[0], graph.indptr[-1]) == (0, links)
    pairs = set(zip(source(graph).tolist(), graph.indices.tolist(), strict=True))
    assert len(pairs) == links
    assert all(u != v and 0 <= v < users for u, v in pairs)


def test_the_same_arguments_give_the_same_arrays_in_another_process_on_one_core_too(graph):
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}) if hasattr(os, 'sched_setaffinity') else 0;"
        "from test_twitterlike import digest; from socialcrawl.lab.generators.twitterlike import generate_twitter_like;"
        f"print(digest(generate_twitter_like({USERS}, {LINKS}, seed=3)))"
    )
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    env = {"PYTHONHASHSEED": "77", "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    answer = subprocess.run([sys.executable, "-c", code], check=True, env=env, capture_output=True, text=True)
    assert answer.stdout.strip() == digest(graph) == digest(generate_twitter_like(USERS, LINKS, seed=3))


def test_another_seed_gives_another_graph(graph):
    other = generate_twitter_like(USERS, LINKS, seed=5)
    assert (other.indptr != graph.indptr).mean() > 0.5
    assert ((other.beta > 0) & (graph.beta > 0)).mean() < 0.03  # two independent draws of 0.109 meet in 0.012


def test_the_links_are_as_many_as_asked_for_distinct_and_lead_to_others(graph):
    check_sound(graph, USERS, LINKS)


@pytest.mark.parametrize(("topic_share", "link_share"), [*TOPICS.values(), (0.5, 0.1)])
def test_the_shares_of_the_topic_are_met_to_the_nearest_node_and_link(topic_share, link_share):
    graph = generate_twitter_like(USERS, LINKS, topic_share, link_share, seed=1)
    assert np.count_nonzero(graph.beta) == round(topic_share * USERS)
    assert np.count_nonzero(graph.alpha) == round(link_share * LINKS)


def test_the_usual_share_of_links_goes_through_the_papers_topics_and_is_straight_between_and_beyond():
    for nodes, links in TOPICS.values():
        assert estimate_link_share(nodes) == pytest.approx(links)
    happy, weird, jazz = TOPICS["happy"], TOPICS["weird"], TOPICS["jazz"]
    for (x0, y0), (x1, y1), at in [(weird, happy, 0.06), (weird, happy, 0.5), (jazz, weird, 0.01), (jazz, weird, 5e-4)]:
        power = np.log(y1 / y0) / np.log(x1 / x0)
        assert estimate_link_share(at) == pytest.approx(y0 * (at / x0) ** power)
    assert 0 < estimate_link_share(1) < 1
    graph = generate_twitter_like(USERS, LINKS, topic_share=0.06, seed=1)
    assert np.count_nonzero(graph.alpha) == round(estimate_link_share(0.06) * LINKS)


def test_degrees_are_heavy_tailed_with_hubs_and_many_who_mention_nobody(large):
    out, into = np.diff(large.indptr), np.bincount(large.indices, minlength=large.size)
    top = large.size // 100
    assert np.sort(into)[-top:].sum() > 0.2 * large.links  # a Poisson law of that mean gives 0.02
    assert np.sort(out)[-top:].sum() > 0.4 * large.links
    assert 2.0 < hill(into, 10) < 2.4
    assert 1.9 < hill(out, 10) < 2.3
    assert into.max() > 200 * into.mean()
    assert 500 < out.max() <= MOST_LINKS
    assert 0.3 < (out == 0).mean() < 0.6
    assert 0.6 < (into > 0).mean() < 0.9


def test_the_number_of_a_node_says_nothing_about_it(large):
    number = np.arange(large.size)
    for of_node in (large.beta, np.diff(large.indptr), np.bincount(large.indices, minlength=large.size)):
        assert abs(stats.spearmanr(number, of_node).statistic) < 4 / np.sqrt(large.size)


def test_the_order_of_a_nodes_links_says_nothing(large):
    """First and last link compared: over many nodes, number, fame and value of the targets are alike."""
    many = np.flatnonzero(np.diff(large.indptr) >= 4)
    first, last = large.indices[large.indptr[many]], large.indices[large.indptr[many + 1] - 1]
    for of_node in (np.arange(large.size), np.bincount(large.indices, minlength=large.size), large.beta):
        sign = np.sign(of_node[first].astype(float) - of_node[last])
        assert abs(sign.mean()) < 4 / np.sqrt(len(many))


@pytest.mark.parametrize(("topic", "times"), [("happy", 1.1), ("weird", 1.3), ("jazz", 1.8)])
def test_like_mentions_like_more_than_if_targets_are_shuffled_among_all_links(topic, times):
    """The null keeps all degrees, so that only who meets whom counts; by numbers of nodes alone it is far more."""
    graph = generate_twitter_like(60_000, 330_000, *TOPICS[topic], seed=2)
    shuffled = np.random.default_rng(0).permutation(graph.indices)
    assert both(graph, graph.indices) > times * both(graph, shuffled)
    assert both(graph, graph.indices) > 15 * (graph.beta > 0).mean() ** 2 * graph.links


def test_there_are_communities_more_triangles_than_if_targets_are_shuffled(graph):
    def triangles(targets):
        links = sparse.coo_array((np.ones(LINKS), (source(graph), targets)), shape=(USERS, USERS)).tocsr()
        links = ((links + links.T) > 0).astype(float)
        low = np.flatnonzero(links.sum(axis=1) <= 50)  # hubs make triangles by their size alone
        links = links[low][:, low]
        return (links @ links).multiply(links).sum() / 6

    shuffled = np.random.default_rng(0).permutation(graph.indices)
    assert triangles(graph.indices) > 3 * triangles(shuffled)


def test_values_and_weights_are_worths_of_heavy_tailed_counts(graph):
    for worths, ones in ((graph.beta, (0.45, 0.8)), (graph.alpha, (0.7, 0.99))):
        count = counts(worths)
        count = count[count > 0]
        assert ones[0] < (count == 1).mean() < ones[1]
        assert count.max() > 5 * np.median(count)
    assert counts(graph.beta).max() > 100


def test_no_link_carries_the_word_more_often_than_its_node_says_it(graph):
    said, carried = counts(graph.beta), counts(graph.alpha)
    assert (carried <= said[source(graph)]).all()
    assert ((carried > 0) & (carried == said[source(graph)])).any()  # the bound is met, not kept far from


def test_weights_are_likelier_from_and_towards_high_values(graph):
    """Among the links of those who use the word, too; there, as on real posts, who says it more does so elsewhere."""
    of, to = graph.beta[source(graph)], graph.beta[graph.indices]
    talks = of > 0
    assert stats.pearsonr(graph.alpha, of).statistic > 0.03
    assert stats.pearsonr(graph.alpha, to).statistic > 0.05
    assert stats.pearsonr(graph.alpha[graph.alpha > 0], of[graph.alpha > 0]).statistic > 0.1
    assert stats.pearsonr(graph.alpha[talks], to[talks]).statistic > 0.05
    rate = [(graph.alpha[talks & side] > 0).mean() for side in (to > 0, to == 0)]
    assert rate[0] > 2 * rate[1]
    assert (graph.beta[graph.indices[graph.alpha > 0]] > 0).mean() < 0.95  # a hint, no proof


def test_value_goes_with_the_features_of_the_paper(large):
    """Table 2's manner: in-features .12 to .40, sums of out-features .57 to .83, there; small graphs have more."""
    weight = np.repeat(large.beta, np.diff(large.indptr)) * large.alpha
    sums_in = [matrix(large).T @ large.beta, matrix(large, large.alpha).sum(axis=0), matrix(large, weight).sum(axis=0)]
    sums_out = [matrix(large, large.alpha).sum(axis=1), matrix(large, large.alpha) @ large.beta]
    assert all(0.12 < stats.pearsonr(large.beta, each).statistic < 0.6 for each in sums_in)
    assert all(0.5 < stats.pearsonr(large.beta, each).statistic < 0.83 for each in sums_out)


def test_the_best_nodes_reach_far(large):
    """A hundredth of: the 100,000 best of 17 M have 200 links each, which lead to 5 M nodes."""
    best = np.argsort(-large.beta, kind="stable")[:1_000]
    targets = np.concatenate([large.list_links(node)[0] for node in best])
    assert len(targets) >= 200_000
    assert len(np.unique(targets)) >= 50_000


def crawl(graph: KnownGraph, steps: int) -> tuple[np.ndarray, int, int]:
    """The score of each pick, the links touched, the frontier's size: `nh-ne-sum`, greedy, by full rescans."""
    score, discovered = np.zeros(graph.size), np.full(graph.size, np.inf)
    fetched = np.zeros(graph.size, bool)
    seeds = np.random.default_rng(0).choice(np.flatnonzero(graph.beta), 20, replace=False)
    picked, touched = [], 0
    for step in range(-len(seeds), steps):
        if step < 0:
            node = seeds[step]
        else:
            open_ = np.where(fetched | np.isinf(discovered), -1.0, score)
            best = np.flatnonzero(open_ == open_.max())
            node = best[np.argmin(discovered[best])]
            picked.append(score[node])
        fetched[node] = True
        targets, alpha = graph.list_links(node)
        score[targets] += alpha * graph.beta[node]
        discovered[targets] = np.minimum(discovered[targets], step)
        touched += len(targets)
    return np.array(picked), touched, int((~fetched & np.isfinite(discovered)).sum())


def test_a_greedy_crawl_touches_many_links_and_has_a_wide_frontier(large):
    """A hundredth of: 100,000 steps on 17 M nodes touch 20 M links and end with 5 M nodes on the frontier."""
    scores, touched, frontier = crawl(large, 1_000)
    assert touched >= 200_000
    assert frontier >= 50_000
    assert (scores > 0).all()


def test_with_the_shares_of_jazz_a_crawl_runs_out_of_positive_scores_while_its_frontier_is_wide():
    graph = generate_twitter_like(170_000, 930_000, *TOPICS["jazz"], seed=4)
    scores, _, frontier = crawl(graph, 1_000)
    assert (scores == 0).mean() > 0.5
    assert scores[-1] == 0
    assert frontier >= 30_000


@given(
    users=st.integers(10, 300),
    fill=st.floats(0, 1),
    topic_share=st.floats(0, 1, exclude_min=True),
    link_share=st.none() | st.floats(0, 1, exclude_min=True),
    seed=st.integers(0, 2**63),
)
@settings(deadline=None)
def test_any_small_graph_is_sound_or_its_share_of_links_is_refused(users, fill, topic_share, link_share, seed):
    links = max(1, int(fill * (users * (users - 1) // 2)))
    try:
        graph = generate_twitter_like(users, links, topic_share, link_share, seed)
    except SettingsError as error:
        assert "those who use the word have" in str(error)  # noqa: PT017 - either end is right
        return
    check_sound(graph, users, links)
    assert np.count_nonzero(graph.beta) == max(1, round(topic_share * users))
    share = estimate_link_share(topic_share) if link_share is None else link_share
    assert np.count_nonzero(graph.alpha) == max(1, round(share * links))
    assert (counts(graph.alpha) <= counts(graph.beta)[source(graph)]).all()


def test_a_share_of_links_that_is_too_large_is_refused_and_the_largest_that_is_named_works():
    with pytest.raises(
        SettingsError, match=r"link_share = 1 asks for 110,000 links .* have [\d,]+: give a link_share up"
    ):
        generate_twitter_like(USERS, LINKS, 0.1, 1.0)
    everyone = generate_twitter_like(USERS, LINKS, 1.0, 1.0)
    assert (everyone.alpha > 0).all()
    assert (everyone.beta > 0).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"users": 9}, "users = 9 is out of range; give a whole number from 10 to"),
        ({"users": 2**31}, "users = 2147483648 is out of range"),
        ({"users": 1e6}, "users = 1000000.0 is out of range; give a whole number"),
        ({"users": True}, "users = True is out of range"),
        ({"links": 0}, "links = 0 is out of range; give a whole number from 1 to 1,999,000 for 2,000 users"),
        ({"links": 2_000_000}, "links = 2000000 is out of range"),
        ({"topic_share": 0}, "topic_share = 0 is out of range; give a number above 0, up to 1"),
        ({"topic_share": 1.01}, "topic_share = 1.01 is out of range"),
        ({"topic_share": float("nan")}, "topic_share = nan is out of range"),
        ({"link_share": 0.0}, "link_share = 0.0 is out of range"),
        ({"link_share": 2}, "link_share = 2 is out of range"),
        ({"seed": -1}, "seed = -1 is out of range"),
    ],
)
def test_what_cannot_be_made_is_refused_with_the_range(wrong, message):
    with pytest.raises(SettingsError) as error:
        generate_twitter_like(**{"users": 2_000, "links": 9_000, **wrong})
    assert message in str(error.value)
