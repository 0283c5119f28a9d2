"""Known graphs for walks: five to measure on, of which four are real, and small generated ones with bottlenecks."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from socialcrawl.lab.experiments.sampling import file_worlds
from socialcrawl.lab.experiments.sampling.generated_webs import TopicWebParameters, generate_web
from socialcrawl.lab.experiments.sampling.worlds import (
    Flags,
    InlinkSearch,
    Ints,
    PageTopic,
    PageWorld,
    WalkedSource,
    find_mentions,
    link_pages,
    list_sources,
)
from socialcrawl.lab.graphs.column_files import read_parquet
from socialcrawl.lab.post_table import fold_name, read_posts

SHARED = Path(os.environ.get("SOCIALCRAWL_SHARED") or "../shared") / "data"
NEWEST = 100  # posts of a timeline, and posts that mention an account, which a platform shows
JANUARY = 1_293_840_000, 1_296_432_000  # of 2011, 30 days


@dataclass(frozen=True, eq=False)
class Place:
    """A graph that walks are sent through.

    Attributes:
        title: what tables call it.
        world: the graph; `topic`: who is on topic in it.
        label: int64[n], a group of each account: a camp, a year, a category.
        source: what a walk is shown of it.
    """

    title: str
    world: PageWorld
    topic: PageTopic
    label: Ints
    source: WalkedSource


def places() -> Iterator[Place]:
    """Yield the graphs to measure on; those whose data is not on this machine are left out."""
    made: Mapping[str, Sequence[Callable[[], Place]]] = {
        "ubuntu_irc.parquet": (_kernel, _wireless),
        "wikispeedia_6k.parquet": (_species,),
        "mathoverflow_activity.parquet": (_mathoverflow,),
    }
    for name, makers in made.items():
        if not (SHARED / name).exists():
            print(f"not measured: {SHARED / name} is missing (set SOCIALCRAWL_SHARED)", flush=True)
            continue
        for make in makers:
            yield make()
    yield _abortion()


def twins() -> Iterator[Place]:
    """Small generated graphs: two communities with few links, a ring of clusters, degrees with a heavy tail."""
    rng = np.random.default_rng(1)
    half = 90
    camp = np.arange(2 * half) // half
    yield _generated("two communities", camp, rng, lambda a, b: np.where(a == b, 0.10, 0.0015))
    ring = np.arange(240) // 24
    yield _generated("a ring of clusters", ring, rng, lambda a, b: np.where(a == b, 0.3, 0.004 * (abs(a - b) % 8 == 1)))
    size = 300
    fame = (1.0 + np.arange(size)) ** -0.8
    pairs = rng.choice(size, (5 * size, 2), p=fame / fame.sum())
    yield _place("degrees with a heavy tail", pairs, np.arange(size) % 3, rng)


def _generated(title: str, label: Ints, rng: np.random.Generator, chance: Callable[[Ints, Ints], Ints]) -> Place:
    """Generate a graph in which the groups of two accounts set the probability of a link."""
    links = rng.random((len(label), len(label))) < np.triu(chance(label[:, None], label[None, :]), 1)
    return _place(title, np.argwhere(links), label, rng)


def _place(title: str, pairs: Ints, label: Ints, rng: np.random.Generator) -> Place:
    """Make a topic of these links, in which each account also has six links to accounts off topic."""
    size = len(label)
    off = np.column_stack([np.repeat(np.arange(size), 6), size + rng.integers(0, 4 * size, 6 * size)])
    ends = np.concatenate([pairs, off]).astype(np.int64)
    graph = link_pages(ends[:, 0], ends[:, 1], 5 * size)
    topic = PageTopic(title, np.arange(5 * size) < size)
    world = PageWorld(
        title, graph, [""] * 5 * size, np.zeros(5 * size, np.int64), [""], {title: topic}, topic.on | True
    )
    return Place(title, world, topic, np.append(label, np.zeros(4 * size, np.int64)), WalkedSource(world, topic.on))


def _kernel() -> Place:
    """Accounts of an IRC channel with "kernel" in one of their newest posts, as a platform would show them."""
    posts = read_posts(SHARED / "ubuntu_irc.parquet")
    number: dict[str, int] = {}
    authors = np.array([number.setdefault(fold_name(name), len(number)) for name in posts.authors])
    there = len(number)
    named = np.array([number.setdefault(fold_name(name), len(number)) for name in posts.mentioned])
    order = np.argsort(-posts.created_at, kind="stable")
    newest = _firsts(authors[order])
    shown = np.zeros(len(authors), bool)
    shown[order] = newest < NEWEST
    post = np.repeat(np.arange(len(authors)), np.diff(posts.mention_offsets))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    line = np.argsort(rank[post], kind="stable")
    back = np.zeros(len(post), bool)
    back[line] = _firsts(named[line]) < NEWEST
    size = len(number)
    on = np.zeros(size, bool)
    seen = np.flatnonzero(shown)
    on[authors[seen[find_mentions([posts.texts[row] for row in seen.tolist()], "kernel")]]] = True
    graph = link_pages(authors[post[shown[post]]], named[shown[post]], size)
    topic = PageTopic("kernel", on)
    known = np.arange(size) < there
    world = PageWorld("ubuntu_irc", graph, [""] * size, np.zeros(size, np.int64), [""], {"kernel": topic}, known)
    source = WalkedSource(world, on, back=link_pages(named[back], authors[post[back]], size))
    year = np.zeros(size, np.int64)
    np.maximum.at(year, authors, posts.created_at // (365 * 86_400))
    return Place("ubuntu_irc, `kernel`, the newest 100 posts of each account", world, topic, year, source)


def _firsts(values: Ints) -> Ints:
    """How often the value of each row was there before, int64[n]."""
    order = np.argsort(values, kind="stable")
    begins = np.flatnonzero(np.append(True, np.diff(values[order]) > 0))
    lengths = np.diff(np.append(begins, len(values)))
    found = np.empty(len(values), np.int64)
    found[order] = np.arange(len(values)) - np.repeat(begins, lengths)
    return found


def _wireless() -> Place:
    """Return the same channel with all posts, about something rarer: one of twelve neighbours is on topic."""
    world = file_worlds.read_post_world(SHARED / "ubuntu_irc.parquet", [file_worlds.TopicRequest("wireless")])
    return _told("ubuntu_irc, `wireless`, all posts", world, "wireless")


def _species() -> Place:
    """Pages of an encyclopaedia."""
    world = file_worlds.read_page_world(SHARED / "wikispeedia_6k.parquet", [file_worlds.TopicRequest("species")])
    return _told("wikispeedia, `species`", world, "species")


def _told(title: str, world: PageWorld, name: str) -> Place:
    topic = world.find_topic(name)
    return Place(title, world, topic, world.domain, WalkedSource(world, topic.on, InlinkSearch(1.0, NEWEST)))


def _mathoverflow() -> Place:
    """Who asked or answered somebody in January 2011, among all who ever did."""
    table = read_parquet(SHARED / "mathoverflow_activity.parquet")
    one, other, at = (table.column(name).to_numpy().astype(np.int64) for name in ("a", "b", "ts"))
    size = int(max(one.max(), other.max())) + 1
    on = np.zeros(size, bool)
    on[one[(at >= JANUARY[0]) & (at < JANUARY[1])]] = True
    there = np.zeros(size, bool)
    there[one], there[other] = True, True
    topic = PageTopic("January 2011", on)
    graph = link_pages(one, other, size)
    world = PageWorld("mathoverflow", graph, [""] * size, np.zeros(size, np.int64), [""], {topic.name: topic}, there)
    year = np.full(size, 99, np.int64)
    np.minimum.at(year, one, (at - at.min()) // (365 * 86_400))
    return Place(
        "mathoverflow, active in January 2011", world, topic, year, WalkedSource(world, on, InlinkSearch(1.0, NEWEST))
    )


def _abortion() -> Place:
    """Two camps of a generated web that hardly link to each other."""
    world = generate_web(TopicWebParameters(pages=20_000))
    found = _told("generated, 20,000 pages, `abortion`: two camps", world, "abortion")
    one, other = (np.asarray(part, np.int64) for part in found.topic.parts.values())
    return Place(found.title, world, found.topic, one + 2 * other, found.source)


def near(place: Place, within: Flags, count: int, seed: int) -> list[int]:
    """Accounts for walks to begin with: one of `within`, drawn, and those nearest to it by links in there.

    A search shows accounts that talk with each other now; walks that begin far apart have it easier.
    """
    rng = np.random.default_rng(seed)
    begin, end = list_sources(place.world.graph), np.asarray(place.world.graph.indices, np.int64)
    inside = within[begin] & within[end]
    begin, end = np.append(begin[inside], end[inside]), np.append(end[inside], begin[inside])
    order = np.argsort(begin, kind="stable")
    places_ = np.searchsorted(begin[order], np.arange(len(within) + 1))
    line = [int(rng.choice(np.flatnonzero(within)))]
    for one in line:
        others = np.unique(end[order[places_[one] : places_[one + 1]]])
        line += [other for other in rng.permutation(others).tolist() if other not in line]
        if len(line) >= count:
            break
    return line[:count]
