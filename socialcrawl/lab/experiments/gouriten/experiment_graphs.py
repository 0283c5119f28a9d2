"""The graphs of the experiments (Gouriten et al., section 2.3): made once, and kept as folders that open at once."""

import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.graph.relevance import Topic
from socialcrawl.lab.experiments.runner import require_different_names
from socialcrawl.lab.generators.twitterlike import TOPICS, generate_twitter_like
from socialcrawl.lab.graphs import build_mention_graph, build_page_graph, read, write
from socialcrawl.lab.post_table import read_posts
from socialcrawl.text.wording import explain_unknown

MENTIONS, PAGES = "mentions", "pages"


@dataclass(frozen=True)
class StoredGraph:
    """One graph of an experiment.

    Attributes:
        name: what tables and figures call it.
        kind: mentions (as Twitter), pages (as Wikipedia), or "" where a folder does not tell.
        folder: where it lies.
    """

    name: str
    kind: str
    folder: Path

    def open(self) -> KnownGraph:
        """Return the graph, memory-mapped."""
        return read(self.folder)


@dataclass(frozen=True)
class GraphOptions:
    """What the user asked for; without files and folders the generated graphs of the paper's three topics.

    Attributes:
        posts: files of posts.
        pages: files of pages with links.
        keywords: a graph is made of each file for each of them.
        graphs: graphs that are there already, as folders or .npz.
        topics: of the generated graphs, names of `TOPICS`; they are made where this names any.
        users: of a generated graph.
        links: of a generated graph.
        seed: of a generated graph.
        per_set: whether each set of seeds has its own generated graph, so that intervals hold the spread of
            graphs, too: set i that of `seed` + i.
    """

    posts: Sequence[Path] = ()
    pages: Sequence[Path] = ()
    keywords: Sequence[str] = ()
    graphs: Sequence[Path] = ()
    topics: Sequence[str] = ()
    users: int = 170_000
    links: int = 930_000
    seed: int = 1
    per_set: bool = False

    @property
    def unit(self) -> str:
        """What intervals are over: sets of seeds, or graphs with one set each."""
        return "graph" if self.per_set else "set"


def make_graphs(wanted: GraphOptions, out: Path) -> list[StoredGraph]:
    """Return the graphs that are wanted; those that `out` has not yet are made.

    A file's graph is made again when the file has changed. Graphs that were given are left where they are.

    Raises:
        SettingsError: a file, folder or number cannot be used; files without a keyword, or keywords without a file;
            an unknown topic.
    """
    _check(wanted)
    out = out.absolute()  # a worker of a cluster is in another folder
    found = [StoredGraph(path.stem, "", path.absolute()) for path in wanted.graphs]
    found += [_make_from_file(path, MENTIONS, word, out) for path in wanted.posts for word in wanted.keywords]
    found += [_make_from_file(path, PAGES, word, out) for path in wanted.pages for word in wanted.keywords]
    topics = wanted.topics or ([] if found else list(TOPICS))
    found += [_make_generated(topic, wanted, out) for topic in topics]
    require_different_names([world.name for world in found], "graphs")
    return found


def rescore_graph(graph: KnownGraph, scoring: Callable[[NDArray[np.int64]], NDArray[np.float64]]) -> KnownGraph:
    """Return the graph with another function of the counts than f(x) = 1 + ln x, which its values and weights are of.

    Args:
        graph: its values and weights are f of whole numbers.
        scoring: counts, 0 or more, to values, 0 for 0; same shape.

    Raises:
        SettingsError: a value or weight is not f of a whole number.
    """
    return KnownGraph(
        graph.indptr, graph.indices, scoring(_find_counts(graph.alpha)), scoring(_find_counts(graph.beta)), graph.names
    )


def _find_counts(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the occurrences x of which `values` are f(x)."""
    counts = np.where(values > 0, np.exp(values - 1.0), 0.0)
    integers = np.rint(counts)
    off = np.abs(counts - integers) > 1e-6 * np.maximum(integers, 1.0)
    if off.any():
        worst = values[int(np.argmax(off))]
        raise SettingsError(
            f"{worst} is not 1 + ln x of a whole x: other scorings need a graph whose counts are known."
        )
    return np.asarray(integers, np.int64)


def _check(wanted: GraphOptions) -> None:
    files = [*wanted.posts, *wanted.pages]
    if wanted.per_set and (files or wanted.graphs):
        raise SettingsError("--graph-per-set is about generated graphs: leave out --posts, --pages and --graph.")
    if bool(files) != bool(wanted.keywords):
        lacking = "--keyword" if files else "--posts or --pages"
        raise SettingsError(f"a graph is made of a file and a keyword: {lacking} is missing.")
    if unknown := [topic for topic in wanted.topics if topic not in TOPICS]:
        raise SettingsError(explain_unknown("topic", unknown[0], TOPICS))
    if missing := [path for path in (*files, *wanted.graphs) if not path.exists()]:
        raise SettingsError(f"{missing[0]} is not there; give the path of a file or folder.")


def _make_from_file(path: Path, kind: str, keyword: str, out: Path) -> StoredGraph:
    stat = path.stat()
    origin: list[str | int] = [str(path.resolve()), stat.st_size, stat.st_mtime_ns]
    name = f"{path.stem}-{keyword}"

    def make() -> KnownGraph:
        topic = Topic([keyword])
        return build_mention_graph(read_posts(path), topic) if kind == MENTIONS else build_page_graph(path, topic)

    return _make_missing(StoredGraph(name, kind, out / _make_folder_name(name)), origin, make)


def _make_generated(topic: str, wanted: GraphOptions, out: Path) -> StoredGraph:
    origin: list[str | int] = [topic, wanted.users, wanted.links, wanted.seed]
    folder = out / "-".join(map(str, origin))
    shares = TOPICS[topic]
    return _make_missing(
        StoredGraph(topic, MENTIONS, folder),
        origin,
        lambda: generate_twitter_like(wanted.users, wanted.links, *shares, wanted.seed),
    )


def _make_missing(world: StoredGraph, origin: list[str | int], make: Callable[[], KnownGraph]) -> StoredGraph:
    """Return the world, whose graph was made now if it was not there, or is there but of another origin."""
    note = world.folder.with_name(f"{world.folder.name}.json")
    text = json.dumps(origin) + "\n"
    if not (world.folder.is_dir() and note.is_file() and note.read_text("utf-8") == text):
        world.folder.parent.mkdir(parents=True, exist_ok=True)
        note.unlink(missing_ok=True)
        write(make(), world.folder)
        note.write_text(text, "utf-8")
    return world


def _make_folder_name(name: str) -> str:
    """Return a name for a folder: letters, digits, - and _ stay; a checksum tells apart what would be the same."""
    kept = "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "-" for char in name)
    return kept if kept == name else f"{kept}-{zlib.crc32(name.encode()):08x}"
