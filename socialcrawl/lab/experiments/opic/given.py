"""Graphs whose importance is asked for, known ones and generated webs; and the sites that their nodes lie on."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from socialcrawl.errors import SettingsError
from socialcrawl.formats.documents import read_text
from socialcrawl.importance.link_matrix import MATRICES, make_out_links, normalize_rows
from socialcrawl.lab.experiments.opic.webs import GeneratedWeb
from socialcrawl.lab.graphs import read
from socialcrawl.text.wording import explain_unknown

Rows = NDArray[np.int64]

KLEINBERG = 200_000_000  # entries that L'L may have at most before doubles are added up: some 3 GB


@dataclass(frozen=True, eq=False)
class LinkGraph:
    """A graph of n nodes as it is asked about.

    Attributes:
        links: a scipy sparse array, n x n, as `link_matrix.make_out_links` makes it.
        names: what the n nodes are called; their numbers where they have no names.
    """

    links: Any
    names: Sequence[str]

    def matrix(self, name: str, *, walk: bool = False) -> Any:
        """Return the link matrix called `name` (`MATRICES`); as a random walk, its rows divided by their sums.

        Raises:
            SettingsError: there is none, or L'L would not fit.
        """
        if name not in MATRICES:
            raise SettingsError(explain_unknown("link matrix", name, MATRICES))
        entries = int((np.diff(self.links.indptr).astype(np.int64) ** 2).sum())
        if name == "kleinberg" and entries > KLEINBERG:
            raise SettingsError(
                f"Kleinberg's matrix of this graph has up to {entries:,} entries, as a node of k links brings k times "
                "k; take another matrix, or a graph without nodes with that many links."
            )
        made = MATRICES[name](self.links)
        return normalize_rows(made) if walk else made


def read_known_graph(path: Path, *, weighted: bool = False) -> LinkGraph:
    """Return the graph of a folder or .npz (`lab.graphs`): every link counts 1, or its weight.

    Raises:
        SettingsError: there is no such graph, or no link of it has a weight.
    """
    graph = read(path)
    sources = np.repeat(np.arange(graph.size, dtype=np.int64), np.diff(graph.indptr))
    weights = np.asarray(graph.alpha, np.float64) if weighted else None
    links = make_out_links(sources, np.asarray(graph.indices, np.int64), graph.size, weights)
    if weighted and not links.nnz:
        raise SettingsError(f"No link of {path} has a weight above 0; remove --weighted.")
    return LinkGraph(links, graph.names or _list_numbers(graph.size))


def build_web_graph(web: GeneratedWeb) -> LinkGraph:
    """Return a generated web; its pages are called by their numbers."""
    indptr, targets = web.links()
    sources = np.repeat(np.arange(web.size, dtype=np.int64), np.diff(indptr))
    return LinkGraph(make_out_links(sources, targets, web.size), _list_numbers(web.size))


def find_host(name: str) -> str:
    """Return the server a name lies on: of an address its host, of user@server the server, else the name itself."""
    if "://" in name:
        try:
            return (urlsplit(name).hostname or name).lower()
        except ValueError:  # what looks like an address and is none
            return name
    _, at, server = name.rpartition("@")
    return server.lower() if at and server else name


def group_by_host(names: Sequence[str]) -> tuple[list[str], Rows]:
    """Return the hosts of `names` in order of first appearance, and which of them each is on, int64[n]."""
    return _number_sites([find_host(name) for name in names])


def group_by_file(path: Path, names: Sequence[str]) -> tuple[list[str], Rows]:
    """Return the sites of `names` by a text file with a name and its site a line, parted by a tab or else by blanks.

    Lines that are blank or begin with # are comments; names of no node are passed over.

    Raises:
        SettingsError: the file cannot be read, a line is not of this kind, or a node has no site or two.
    """
    try:
        text = read_text(path, "utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"--sites {path} cannot be read as UTF-8 text: {error}. Check the file.") from error
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = [word.strip() for word in line.split("\t")] if "\t" in line else line.split()
        if len(words) != 2 or not all(words):
            raise SettingsError(f"{path}, line {number}: give a name and its site, parted by a tab or a blank.")
        if found.setdefault(words[0], words[1]) != words[1]:
            raise SettingsError(f"{path}, line {number}: {words[0]} has a site already; give one a node.")
    without = [name for name in names if name not in found]
    if without:
        raise SettingsError(f"{path} names no site of {len(without):,} nodes, as {without[0]}; give one for each.")
    return _number_sites([found[name] for name in names])


def _list_numbers(size: int) -> list[str]:
    return [str(row) for row in range(size)]


def _number_sites(sites: Sequence[str]) -> tuple[list[str], Rows]:
    place = {site: number for number, site in enumerate(dict.fromkeys(sites))}
    return list(place), np.array([place[site] for site in sites], np.int64)
