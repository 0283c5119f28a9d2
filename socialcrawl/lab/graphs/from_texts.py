"""Known graphs from texts: who mentions or links whom, and how much about it is about a topic (Gouriten et al., 2.3).

A graph of posts has their mentions, one of pages their links. The pages are plain text without marks for links, so
that a link is found by what it points to: its title, which is the key with %-signs decoded and underscores as blanks.
Texts and titles are compared folded (without case, see `relevance.fold`), any run of white space being one blank, as
lines of plain text are broken anywhere.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.graph.link_context import find_context, normalize_line, parse_title
from socialcrawl.graph.relevance import Topic, compute_worth
from socialcrawl.lab.graphs.column_files import describe_missing_columns, read_parquet, read_strings
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
        people = dict.fromkeys(map(number_of, posts.list_mentions(row)))
        target += people
        post += [row] * len(people)
    hits = np.array([topic.count(text) for text in posts.texts], np.int64)
    authors, at = np.array(author, np.int64), np.array(post, np.int64)
    size = len(names)
    indptr, indices, sums = gather_links(range(size), size, authors[at], np.array(target, np.int64), hits[at])
    values = np.bincount(authors, weights=hits, minlength=size)
    return KnownGraph(indptr, indices, score_counts(sums, scoring), score_counts(values, scoring), names)


COLUMNS = ("key", "text", "links")


def build_page_graph(
    pages: Path | str | Mapping[str, Sequence[Any]], topic: Topic, scoring: Scoring = compute_worth, window: int = 100
) -> KnownGraph:
    """Return the graph of all pages and all pages they link to.

    beta(u) = f(occurrences in u's text); alpha(u, v) = f(occurrences in a window around the link from u to v): the
    link's text itself and `window // 2` characters either side of it. A word that the window's edge cuts is outside.
    The link's text is the first occurrence of v's title in u's text that begins where a word begins; a link whose title
    does not occur has alpha 0.

    Nodes are the pages in their order, so that a row of the file is a row of the graph, then the pages that are only
    linked to, by first appearance: those have value 0 and no links. `names` are the keys. A node's links stand in the
    order of its list, each once; self-links are left out.

    Args:
        pages: a Parquet file with the columns key (text), text (text) and links (lists of keys), or such columns.
        topic: what is counted.
        scoring: f, any function of a count that is finite, never negative, and 0 for 0.
        window: in characters.

    Raises:
        SettingsError: the file cannot be read or lacks columns, a key is missing or there twice, a negative window, or
            the scoring is none.
    """
    if window < 0:
        raise SettingsError(f"window = {window} is out of range; give a number of characters, 0 or more.")
    keys, texts, links = _read_columns(pages)
    number = _number_pages(keys, links)
    titles = [parse_title(key) for key in number]
    source, target, hits = [], [], []
    for node, (text, named) in enumerate(zip(map(normalize_line, texts), links, strict=True)):
        for to in dict.fromkeys(number[key] for key in named):
            source.append(node)
            target.append(to)
            hits.append(topic.count(find_context(text, titles[to], window)))
    values = np.zeros(len(number), np.int64)
    values[: len(keys)] = [topic.count(text) for text in texts]
    ends = np.array(source, np.int64), np.array(target, np.int64)
    indptr, indices, sums = gather_links(range(len(number)), len(number), *ends, np.array(hits, np.float64))
    return KnownGraph(indptr, indices, score_counts(sums, scoring), score_counts(values, scoring), list(number))


def _read_columns(pages: Path | str | Mapping[str, Sequence[Any]]) -> tuple[list[str], list[str], list[list[str]]]:
    """Return keys, texts and lists of keys; a missing text is empty, a missing list too."""
    if isinstance(pages, Mapping):
        keys, texts, links = (list(pages.get(name, ())) for name in COLUMNS)
    else:
        keys, texts, links = _read(Path(pages))
    if not keys or not len(keys) == len(texts) == len(links):
        lengths = f"{len(keys)}, {len(texts)} and {len(links)}"
        raise SettingsError(f"The columns key, text, links have {lengths} rows; give as many of each, at least one.")
    return keys, [text or "" for text in texts], [[key for key in row or () if key] for row in links]


def _read(path: Path) -> Iterable[list[Any]]:
    table = read_parquet(path)
    if not set(COLUMNS) <= set(table.column_names):
        raise describe_missing_columns(path, table, COLUMNS)
    kind = str(table.schema.field("links").type)
    if not kind.startswith(("list", "large_list")):
        raise SettingsError(f"{path}: links has the type {kind}; give lists of keys.")
    return (
        read_strings(table, "key").to_pylist(),
        read_strings(table, "text").to_pylist(),
        table.column("links").to_pylist(),
    )


def _number_pages(keys: list[str], links: list[list[str]]) -> dict[str, int]:
    number: dict[str, int] = {}
    for row, key in enumerate(keys, 1):
        if not key or key in number:
            wrong = f"the key {key!r} is there twice" if key else "the key is empty"
            raise SettingsError(f"Page {row}: {wrong}; give every page a key of its own.")
        number[key] = len(number)
    for named in links:
        for key in named:
            number.setdefault(key, len(number))
    return number
