"""A known graph from posts: who mentions whom, and how much of it is about a topic (Gouriten et al., section 2.3)."""

import numpy as np

from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.graph.relevance import Topic, compute_worth
from socialcrawl.lab.graphs.csr_links import Scoring, gather_links, score_counts
from socialcrawl.lab.post_table import Posts, fold_name


def build_mention_graph(posts: Posts, topic: Topic, scoring: Scoring = compute_worth) -> KnownGraph:
    """Return the graph of all authors and all names they mention.

    beta(u) = f(occurrences in u's posts); alpha(u, v) = f(occurrences in u's posts that mention v), a post counted once
    for each name it mentions. Nodes are numbered by first appearance, post after post: the author, then the mentions in
    their order; a node's links stand in the same order. Names are compared without case, `names` has the spelling seen
    first. Self-links are left out. Who wrote no post has value 0 and no links.

    Args:
        posts: the posts, in the order of their file.
        topic: what is counted in the texts.
        scoring: f, any function of a count that is finite, never negative, and 0 for 0.

    Raises:
        SettingsError: the scoring is none.
    """
    number: dict[str, int] = {}
    names: list[str] = []

    def number_of(name: str) -> int:
        node = number.setdefault(fold_name(name), len(names))
        if node == len(names):
            names.append(name)
        return node

    author: list[int] = []
    post: list[int] = []
    target: list[int] = []
    for row, name in enumerate(posts.authors):
        author.append(number_of(name))
        people = dict.fromkeys(map(number_of, posts.mentions_of(row)))
        target += people
        post += [row] * len(people)
    hits = np.array([topic.count(text) for text in posts.texts], np.int64)
    authors, at = np.array(author, np.int64), np.array(post, np.int64)
    size = len(names)
    indptr, indices, sums = gather_links(range(size), size, authors[at], np.array(target, np.int64), hits[at])
    values = np.bincount(authors, weights=hits, minlength=size)
    return KnownGraph(indptr, indices, score_counts(sums, scoring), score_counts(values, scoring), names)
