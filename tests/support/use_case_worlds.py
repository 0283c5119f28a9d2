"""Worlds of the use cases, generated, and a referee who rescans a world that is known as a whole."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np

from examples.acquaintances import Acquaintances, PeopleWire, Person
from examples.form import Form, FormWire
from examples.peers import Gossip, Peer, PeersWire, summary
from examples.web import Web, WebWire
from socialcrawl.engine.model import Grant, Node, Pick, Request, Who
from socialcrawl.graph.link_context import WebPage
from socialcrawl.graph.relevance import Topic
from socialcrawl.storage.memory_store import MemoryStore

JAZZ = Topic(["jazz"]).count


@dataclass
class Recording:
    """A wire that notes what it was asked and what it showed, and breaks down at request number `breaks`."""

    wire: object
    breaks: int | None = None
    asked: list[dict[str, str]] = field(default_factory=list)
    shown: list[tuple[str, str]] = field(default_factory=list)

    def send(self, grant):
        if len(self.asked) == self.breaks:
            raise KeyboardInterrupt
        self.asked.append(dict(grant.request.params))
        reply = self.wire.send(grant)
        self.shown += [(post.id, post.text) for post in (reply.rows.posts if reply.rows else ()) if post.text]
        return reply


def ask(source, wire, key):
    """The outcome of one node, its targets by name (a dictionary name -> alpha), and the requests it took."""
    store, pick = MemoryStore(), Pick(0, Node(0), "expand")
    (talk,) = source.start_conversations((pick,), {Node(0): Who(key, None)})
    requests = []
    try:
        request = next(talk)
        while True:
            assert isinstance(request, Request)
            requests.append(dict(request.params))
            grant = Grant(request, "main", 0.0)
            store.reserve(grant)
            reply = wire.send(grant)
            request = talk.send(store.save(grant, reply))
    except StopIteration as end:
        outcome = end.value[0]
    names = store.accounts([Node(int(target)) for target in outcome.targets])
    links = {names[node].id: alpha for node, alpha in zip(names, outcome.alpha.tolist(), strict=True)}
    assert len(links) == len(outcome.targets)
    return outcome, links, requests


def rescanned(beta, links, seeds, steps, *, of="e"):
    """The greedy sequence of nh-n-sum, nh-e-sum or nh-ne-sum, all scores computed anew at every step."""
    done, seen = list(seeds), {}
    for key in seeds:
        seen |= dict.fromkeys([*links.get(key, {})])
    for _ in range(steps):
        frontier = [v for v in seen if v not in done]
        if not frontier:
            break
        scores = []
        for v in frontier:
            into = [(beta.get(u, 0.0), links[u][v]) for u in done if v in links.get(u, {}) and u != v]
            scores.append(sum({"n": w, "e": a, "ne": w * a}[of] for w, a in into))
        best = frontier[scores.index(max(scores))]
        done.append(best)
        seen |= dict.fromkeys(links.get(best, {}))
    return [(key, beta.get(key, 0.0)) for key in done[len(seeds) :]]


def full_text(path, records):
    """An SQLite file with the records in the full-text table `record`."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE VIRTUAL TABLE record USING fts5(title, body)")
        database.executemany("INSERT INTO record VALUES (?, ?)", records)
    return path


def friends(size, seed, degree=8, share=0.15, homophily=0.7):
    """(expert?, links): experts know experts with probability `homophily`, everybody else knows anybody."""
    rng = np.random.default_rng([seed, size])
    expert = rng.random(size) < share
    experts = np.flatnonzero(expert)
    links = []
    for node in range(size):
        near = rng.choice(experts, degree)
        anybody = rng.integers(0, size, degree)
        drawn = np.where((rng.random(degree) < homophily) & expert[node], near, anybody)
        links.append([int(other) for other in dict.fromkeys(drawn.tolist()) if other != node])
    return expert, links


def a_web(size, seed):
    """Pages that name their links; those to pages on jazz mostly say so."""
    expert, links = friends(size, seed)
    rng = np.random.default_rng([seed, size, 1])
    pages = {}
    for node, targets in enumerate(links):
        said = ["jazz " * int(expert[to] and rng.random() < 0.8) + f"page {to} x" + " filler" * 20 for to in targets]
        own = "jazz and " * int(rng.integers(1, 9) if expert[node] else 0)
        pages[f"Page_{node}"] = WebPage(own + "\n".join(said), [f"Page_{to}" for to in targets])
    return Web(), WebWire(pages, JAZZ), [f"Page_{node}" for node in np.flatnonzero(expert)[:3]]


def an_overlay(size, seed):
    """Peers with old summaries of their neighbours' documents."""
    expert, links = friends(size, seed)
    rng = np.random.default_rng([seed, size, 2])
    documents = [["jazz tune"] * int(rng.integers(1, 9) if expert[node] else 0) + ["noise"] for node in range(size)]
    peers = {}
    for node, targets in enumerate(links):
        cache = {f"peer{to}": summary(documents[to][: int(rng.integers(0, 4))]) for to in targets}
        peers[f"peer{node}"] = Peer(documents[node], [f"peer{to}" for to in targets], cache)
    return Gossip(), PeersWire(peers, JAZZ), [f"peer{np.flatnonzero(expert)[0]}"]


def a_village(size, seed):
    """People who judge each other with some error."""
    expert, links = friends(size, seed)
    rng = np.random.default_rng([seed, size, 3])
    points = np.where(expert, rng.integers(3, 10, size), rng.integers(0, 2, size))
    seen = [{f"p{to}": max(0, int(points[to] + rng.integers(-2, 3))) for to in targets} for targets in links]
    people = {f"p{node}": Person(int(points[node]), seen[node]) for node in range(size)}
    return Acquaintances(), PeopleWire(people), [f"p{np.flatnonzero(expert)[0]}"]


def a_library(path, size, seed, limit=10, pages=5):
    """Records of Zipf's words behind a form."""
    rng = np.random.default_rng([seed, size, 4])
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = [f"w{letters[i // 26 % 26]}{letters[i % 26]}{letters[i // 676]}" for i in range(600)]
    chance = 1 / np.arange(1, 601)
    drawn = [rng.choice(vocabulary, 6, p=chance / chance.sum()) for _ in range(size)]
    full_text(path, [(words[0], " ".join(words[1:])) for words in drawn])
    return Form(pages), FormWire(path, "record", limit), [vocabulary[300], str(drawn[0][0])]
