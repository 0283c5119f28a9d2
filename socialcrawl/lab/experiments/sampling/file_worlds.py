"""Worlds from files: pages with texts and categories, posts that mention each other, plain web graphs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from socialcrawl.errors import SettingsError
from socialcrawl.lab.arrays import read_offsets
from socialcrawl.lab.experiments.sampling.worlds import Ints, PageTopic, PageWorld, link_pages, make_word_topic
from socialcrawl.lab.graphs.column_files import describe_missing_columns, read_parquet, read_strings
from socialcrawl.lab.post_table import read_posts

BLOCK = 1_000  # neighbouring pages of a web graph that stand for a host: it has addresses in order, but not the names
RANGES = 10  # equal parts of a web graph, in the order of addresses, that are topics; a tenth of one is a domain


@dataclass(frozen=True)
class TopicRequest:
    """A topic as it was asked for: by a word, or by a category ("category:Geography").

    Attributes:
        name: a word or phrase, or `category:` and the beginning of a category.
        parts: words of sub-topics.
    """

    name: str
    parts: Sequence[str] = ()


def read_page_world(path: Path, asked: Sequence[TopicRequest]) -> PageWorld:
    """Return the world of a Parquet file of pages: key, text, links (lists of keys), and categories (lists), if any.

    A page's domain is its first category (of `subject.Science.Biology` Science), its host that with the next word
    below it. Links to pages that the file has not are left out.

    Raises:
        SettingsError: the file cannot be read or lacks columns, or nothing is on a topic.
    """
    table = read_parquet(path)
    if not {"key", "text", "links"} <= set(table.column_names):
        raise describe_missing_columns(path, table, ("key", "text", "links"))
    keys, texts = (
        read_strings(table, "key").to_pylist(),
        [text or "" for text in read_strings(table, "text").to_pylist()],
    )
    number = {key: row for row, key in enumerate(keys)}
    links = [[number[key] for key in row or () if key in number] for row in table.column("links").to_pylist()]
    source = np.repeat(np.arange(len(keys)), [len(row) for row in links])
    graph = link_pages(source, np.array([to for row in links for to in row], np.int64), len(keys))
    known = "categories" in table.column_names
    categories = table.column("categories").to_pylist() if known else [None] * len(keys)
    named = [[category.split(".")[1:] for category in row or ()] for row in categories]
    hosts = [".".join(row[0][:2]) if row else "" for row in named]
    domain, domains = _number_labels([row[0][0] if row and row[0] else "none" for row in named])
    belongs = [[".".join(words) for words in row] for row in named]
    topics = {one.name: _make_topic(one, texts, belongs) for one in asked}
    about = {name: topic.on for name, topic in topics.items() if ":" in name}
    return _require_topics(
        PageWorld(path.stem, graph, hosts, domain, domains, topics, np.ones(len(keys), bool), texts, about)
    )


def _make_topic(one: TopicRequest, texts: Sequence[str], belongs: Sequence[Sequence[str]]) -> PageTopic:
    plain = one.name.removeprefix("category:")
    if plain == one.name:
        return make_word_topic(texts, one.name, [one.name], one.parts)
    parts = make_word_topic(texts, one.name, [plain], one.parts).parts
    on = [any(f"{name}.".startswith(f"{plain}.") for name in row) for row in belongs]
    return PageTopic(one.name, np.array(on, bool), parts)


def read_post_world(path: Path, asked: Sequence[TopicRequest]) -> PageWorld:
    """Return the world of a file of posts: who mentions whom; an account's text are all its posts.

    Its domain is the year of its first post. Who is only mentioned is not there; nobody has a host.

    Raises:
        PostsFileError: the file cannot be read.
        SettingsError: nobody is on a topic.
    """
    found = read_posts(path)
    size, source, target = found.number_accounts()
    authors = len(np.unique(source))
    written: list[list[str]] = [[] for _ in range(authors)]
    first = np.full(authors, np.iinfo(np.int64).max)
    np.minimum.at(first, source, found.created_at)
    for row, text in zip(source.tolist(), found.texts, strict=True):
        written[row].append(text)
    there = np.arange(size) < authors
    graph = link_pages(np.repeat(source, np.diff(found.mention_offsets)), target, size)
    texts = ["\n".join(some) for some in written] + [""] * (size - authors)
    years = [str(datetime.fromtimestamp(at, UTC).year) for at in first.tolist()] + ["unknown"] * (size - authors)
    topics = {one.name: make_word_topic(texts, one.name, [one.name], one.parts) for one in asked}
    domain, domains = _number_labels(years)
    return _require_topics(PageWorld(path.stem, graph, [""] * size, domain, domains, topics, there, texts))


def read_web_world(path: Path) -> PageWorld:
    """Return the world of a web graph without texts: a .npz with `offsets` and `targets`, or `indptr` and `indices`.

    Pages are taken to be numbered in the order of their addresses, so that a range of numbers is what a pattern of
    addresses selects: each tenth of them is a topic.

    Raises:
        SettingsError: the file cannot be read, or is no graph.
    """
    if not path.is_file():
        raise SettingsError(f"There is no file {path}; give the path of a .npz.")
    found = read_offsets(path, ("offsets", "targets"), ("indptr", "indices"))
    if found is None:
        raise SettingsError(f"{path} needs the arrays offsets and targets, or indptr and indices.")
    indptr, indices = found
    size = len(indptr) - 1
    if size < RANGES:
        raise SettingsError(f"{path} has {size} pages; give a web graph of at least {RANGES}.")
    graph = link_pages(np.repeat(np.arange(size), np.diff(indptr)), indices, size)
    domain = np.arange(size) * RANGES * RANGES // size
    domains = [f"{place // RANGES}.{place % RANGES}" for place in range(RANGES * RANGES)]
    named = [f"range {place}" for place in range(RANGES)]
    topics = {name: _make_range(name, domain, place * RANGES) for place, name in enumerate(named)}
    hosts = [f"block {page // BLOCK}" for page in range(size)]
    return PageWorld(path.stem, graph, hosts, domain, domains, topics, np.ones(size, bool))


def _make_range(name: str, domain: Ints, first: int) -> PageTopic:
    """Return a tenth of a web graph; its part is the first half of that."""
    half = (first <= domain) & (domain < first + RANGES // 2)
    return PageTopic(name, (first <= domain) & (domain < first + RANGES), {"first half": half})


def _number_labels(names: Sequence[str]) -> tuple[Ints, list[str]]:
    """Return places in the list of different names, which is in order of frequency, then by name."""
    found, place, counts = np.unique(np.array(names), return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(len(found), np.int64)
    rank[order] = np.arange(len(found))
    return rank[place], found[order].tolist()


def _require_topics(world: PageWorld) -> PageWorld:
    for topic in world.topics.values():
        if not (topic.on & world.there).any():
            raise SettingsError(f"{world.name}: nothing there is on topic {topic.name!r}. Ask for another.")
    return world
