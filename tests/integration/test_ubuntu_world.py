"""Whole crawls on real posts (and on made ones, which are always there) against a full-rescan referee."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from known_worlds import World, collect, crawl, sequence
from shared_data import needed
from sklearn.linear_model import LinearRegression

from socialcrawl.engine.draws import make_generator
from socialcrawl.graph.relevance import Topic, compute_worth
from socialcrawl.lab.generators.generate import choose_topics, generate

SEEDS, SWITCH, STEPS = 50, 50, 300


def world_of(table, keyword) -> World:
    """The known graph of a table of posts: names without case, numbered by first appearance, authors first."""
    count, number, world = Topic([keyword]).count, {}, World({})
    authors = [name.lower() for name in table["author"].to_pylist()]
    mentions = [[name.lower() for name in row] for row in table["mentions"].to_pylist()]
    for name in (*authors, *(name for row in mentions for name in row)):
        number.setdefault(name, len(number))
    world.hits = dict.fromkeys(number.values(), 0)
    for author, text, named in zip(authors, table["text"].to_pylist(), mentions, strict=True):
        u, hits = number[author], count(text)
        world.hits[u] += hits
        to = world.links.setdefault(u, {})
        for name in dict.fromkeys(named):
            to[number[name]] = to.get(number[name], 0) + hits
    return world


def seeds_of(world: World) -> list[int]:
    """50 authors with positive value, drawn once."""
    matching = np.array([u for u, hits in world.hits.items() if hits > 0])
    return make_generator(3, "seeds of the test", 0).choice(matching, SEEDS, replace=False).tolist()


class Referee:
    """Everything is computed anew from all known links at every step."""

    def __init__(self, world: World, seeds: list[int]) -> None:
        self.size = len(world.hits)
        beta = np.array([compute_worth(world.hits[u]) for u in range(self.size)])
        links = [(u, v, compute_worth(x)) for u, to in world.links.items() for v, x in to.items() if u != v]
        self.beta, self.seeds = beta, seeds
        self.start, self.end, self.alpha = (np.array(column) for column in zip(*links, strict=True))
        order, first = np.argsort(self.start, kind="stable"), np.arange(1, self.size)
        self.out = np.split(order, np.searchsorted(self.start[order], first))

    def crawl(self, name: str) -> list[int]:
        done, rows = list(self.seeds), []
        for _ in range(STEPS):
            known = np.concatenate([self.out[u] for u in done])
            u, v, alpha = self.start[known], self.end[known], self.alpha[known]
            place = np.full(self.size, 10**9)  # when each node was discovered: itself, then its links
            named = np.concatenate([np.concatenate([[node], self.end[self.out[node]]]) for node in done])
            np.minimum.at(place, named, np.arange(len(named)))
            place[done] = 10**9
            frontier = np.argsort(place)[: (place < 10**9).sum()]
            if name == "bfs":
                scores = 1.0 / (self.depth(u, v)[frontier] + 1.0)
            else:
                w = self.beta[u]
                x = np.stack([np.bincount(v, part, self.size)[frontier] for part in (w, alpha, w * alpha)], axis=1)
                scores = x[:, 2] if len(rows) < SWITCH else self.fitted(rows, done[SEEDS:]).predict(x)
            best = int(np.argmax(scores))
            if name != "bfs":
                rows.append(x[best])
            done.append(int(frontier[best]))
        return done

    def fitted(self, rows, picked) -> LinearRegression:
        return LinearRegression().fit(np.array(rows), self.beta[picked])

    def depth(self, u, v):
        far = np.full(self.size, np.inf)
        far[self.seeds], reached = 0.0, -1
        while np.isfinite(far).sum() != reached:
            reached = np.isfinite(far).sum()
            level = far[far < np.inf].max()
            near = v[far[u] == level]
            far[near] = np.minimum(far[near], level + 1.0)
        return far


def check(world: World) -> None:
    seeds, found = seeds_of(world), {}
    referee = Referee(world, seeds)
    for name in ("hybrid-sum", "bfs"):
        by = collect(name, seeds, STEPS, switch_after=SWITCH)
        history, _ = crawl(world, by)
        assert sequence(history) == referee.crawl(name)
        assert by.relevance == pytest.approx(sum(referee.beta[u] for u in sequence(history)[SEEDS:]), rel=1e-12)
        found[name] = by.relevance
    assert found["hybrid-sum"] > 1.2 * found["bfs"] > 0.0


def test_on_ubuntu_irc_the_crawl_is_the_referees_and_the_hybrid_finds_more_than_breadth_first():
    table = pq.read_table(needed("data/ubuntu_irc.parquet"), columns=["author", "text", "mentions"])
    world = world_of(table, "kernel")
    assert len(world.links) == 17_526  # authors without case, as the README beside the data counts them
    check(world)


def test_on_made_posts_the_crawl_is_the_referees_and_the_hybrid_finds_more_than_breadth_first():
    keyword = next(iter(choose_topics().values()))
    check(world_of(generate(2_000, seed=4).make_table(), keyword))
