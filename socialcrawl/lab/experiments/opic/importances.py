"""The importance of the nodes, sites and owners' nodes of a given graph (Abiteboul et al., sections 1, 3 and 4).

By OPIC itself, beside the fixpoint that it tends to; by the fixpoint of a link matrix alone; or by PageRank.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from socialcrawl.errors import SettingsError
from socialcrawl.formats.documents import read_text
from socialcrawl.importance.adaptive_opic import RECENT
from socialcrawl.importance.distributed_opic import BUFFER, VIRTUAL, Owner, Owners
from socialcrawl.importance.link_matrix import (
    MATRICES,
    compute_reference,
    find_fixpoint,
    make_out_links,
    normalize_rows,
)
from socialcrawl.importance.opic import Cash
from socialcrawl.importance.pagerank import DAMPING, DANGLING, compute_pagerank
from socialcrawl.importance.site_importance import SiteFlow
from socialcrawl.importance.static_opic import StaticGraph, make_visit_order
from socialcrawl.lab.experiments.opic.static_web import check_terms
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

    def make_matrix(self, name: str, *, walk: bool = False) -> Any:
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
    indptr, targets = web.get_links()
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


Floats = NDArray[np.float64]
Seen = Callable[[int, Rows], object]
"""Called with (row, targets) of each visit."""

WAYS: Final = ("opic", "fixpoint", "pagerank")
MOST: Final = 5_000  # steps to a fixpoint
TOLERANCE: Final = 1e-12  # of a step, in the sum of all changes


@dataclass(frozen=True)
class ImportanceOptions:
    """What is asked of a graph.

    Attributes:
        matrix: one of `MATRICES`: who says what for whom.
        by: one of `WAYS`.
        crawls: of OPIC, a crawl being n greedy fetches.
        small: of OPIC, the weight of the small edges to the virtual page, a link having 1.
        first: of OPIC, how many nodes are known at first, in the graph's order; 0: all. Others join when linked to.
        history: of OPIC, whether those who join get a default history: the importance of the last newcomers.
        eps: of the fixpoint, what is added to all n x n entries.
        walk: of the fixpoint, whether rows are divided by their sums.
        damping, dangling: of PageRank, as of `compute_pagerank`.
        owners: among how many OPIC is divided, besides; 0: it is not.
        buffer: of owners, the names in a buffer that make it leave.

    Raises:
        SettingsError: a name is unknown or a number out of range.
    """

    matrix: str = "out"
    by: str = "opic"
    crawls: int = 10
    small: float = 1.0
    first: int = 0
    history: bool = False
    eps: float = 0.0
    walk: bool = False
    damping: float = DAMPING
    dangling: str = "zap"
    owners: int = 0
    buffer: int = BUFFER

    def __post_init__(self) -> None:
        check_terms(self.crawls, self.small)
        named = {"--matrix": (self.matrix, MATRICES), "--by": (self.by, WAYS), "--dangling": (self.dangling, DANGLING)}
        for option, (name, known) in named.items():
            if name not in known:
                raise SettingsError(explain_unknown(option, name, known))
        if not 0 <= self.eps < float("inf"):
            raise SettingsError(f"--eps {self.eps:g} is not a weight; give 0 or more.")
        if not 0 <= self.damping < 1:
            raise SettingsError(f"--damping {self.damping:g}: the part handed on must be at least 0 and less than 1.")
        if min(self.first, self.owners) < 0 or self.buffer < 1:
            raise SettingsError("--first and --owners are counts, 0 or more, and --buffer is 1 or more.")
        if self.owners and self.by != "opic":
            raise SettingsError(f"Only OPIC can be divided among owners, {self.by} cannot: remove --owners.")
        if self.owners and self.first:
            raise SettingsError("Owners begin with all nodes: leave --first or --owners out.")


@dataclass(frozen=True, eq=False)
class ImportanceResult:
    """The importance of n nodes.

    Attributes:
        importance: float64[n]; 0 where OPIC has not found a node.
        fixpoint: what OPIC tends to, float64[n], virtual page included; None for other ways.
        gained: G of OPIC, 0 for other ways.
    """

    importance: Floats
    fixpoint: Floats | None = None
    gained: float = 0.0


@dataclass(frozen=True, eq=False)
class DividedResult:
    """What owners found, at a moment like any other: buffers are not emptied first.

    Attributes:
        importance: float64[n], each node's as its owner sees it.
        transfers: how many arrived.
        amounts: how many amounts were in these, a node's each.
        payments: how many amounts were paid over links to nodes.
        waiting: the share of all cash in buffers.
    """

    importance: Floats
    transfers: int
    amounts: int
    payments: int
    waiting: float


def compute_importance(given: LinkGraph, asked: ImportanceOptions, seen: Seen | None = None) -> ImportanceResult:
    """Return the importance of all nodes; `seen` looks on while OPIC visits.

    Raises:
        SettingsError: there are no nodes, the matrix does not fit, or no fixpoint was found.
    """
    if not given.names:
        raise SettingsError("The graph has no nodes; give one that has.")
    if asked.by == "pagerank":
        return ImportanceResult(
            compute_pagerank(given.make_matrix(asked.matrix), damping=asked.damping, dangling=asked.dangling)
        )
    if asked.by == "fixpoint":
        matrix = given.make_matrix(asked.matrix, walk=asked.walk)
        return ImportanceResult(_compute_fixpoint(matrix, asked.eps))
    matrix = given.make_matrix(asked.matrix)
    cash = _run_opic(matrix, asked, seen)
    every = np.arange(matrix.shape[0])
    return ImportanceResult(cash.estimate(every), _compute_reference(matrix, asked.small), cash.paid)


def compute_site_flow(
    given: LinkGraph, asked: ImportanceOptions, sites: Rows, count: int
) -> tuple[ImportanceResult, Floats]:
    """Return the importance of all nodes by OPIC, and that of `count` sites by cash along the links between them.

    Args:
        given: the graph.
        asked: as of `compute_importance`; a site pays whenever a node of it is visited.
        sites: int64[n], the site of each node.
        count: how many sites there are.
    """
    flow = SiteFlow(asked.small)
    flow.start(np.arange(count))
    found = compute_importance(given, asked, lambda row, to: flow.record_crawl(row, int(sites[row]), sites[to]))
    return found, flow.compute_importance(np.arange(count))


def divide_among_owners(given: LinkGraph, asked: ImportanceOptions) -> DividedResult:
    """Return the importance of all nodes by owners who visit in turn, each its own richest node.

    Raises:
        SettingsError: two nodes have one name, or one has none: owners know nodes by their names.
    """
    names = list(given.names)
    if len(set(names)) < len(names) or VIRTUAL in names:
        raise SettingsError("Owners know nodes by their names: give a graph whose names are all different, none empty.")
    graph = StaticGraph(given.make_matrix(asked.matrix))
    several = Owners(asked.owners, lambda number, of: Owner(number, of, small=asked.small, buffer=asked.buffer))
    queues = [make_visit_order("greedy", part.cash) for part in several.parts]
    several.start(names)
    working = [(list(part.rows), queue) for part, queue in zip(several.parts, queues, strict=True) if part.rows]
    place = {name: row for row, name in enumerate(names)}
    transfers = amounts = payments = 0
    for step in range(asked.crawls * graph.size):
        called, queue = working[step % len(working)]
        name = called[queue.choose_next()]
        begin, end = graph.starts[place[name]], graph.starts[place[name] + 1]
        shares = None if graph.weights is None else graph.weights[begin:end].tolist()
        several.pay(name, [names[to] for to in graph.targets[begin:end].tolist()], shares)
        payments += end - begin
        while several.way:
            transfer = several.way.popleft()
            transfers, amounts = transfers + 1, amounts + len(transfer.amounts)
            several.arrive(transfer)
    waiting = several.sum_cash() - sum(part.cash.sum_cash() + part.virtual for part in several.parts)
    return DividedResult(several.compute_importance(names), transfers, amounts, payments, waiting)


def _run_opic(matrix: Any, asked: ImportanceOptions, seen: Seen | None) -> Cash:
    """Return the accounts after all visits."""
    graph = StaticGraph(matrix)
    cash = Cash(asked.small)
    order = make_visit_order("greedy", cash)
    cash.start(np.arange(min(asked.first or graph.size, graph.size)))
    cash.get_cash(np.array([graph.size - 1]))  # a place for all
    newcomers: deque[int] = deque(maxlen=RECENT)
    for _ in range(asked.crawls * graph.size):
        row = order.choose_next()
        begin, end = graph.starts[row], graph.starts[row + 1]
        targets = graph.targets[begin:end]
        if asked.history and cash.size < graph.size:
            _introduce(cash, targets[~cash.known[targets]], newcomers)
        if seen is not None:
            seen(row, targets)
        cash.pay(row, targets, None if graph.weights is None else graph.weights[begin:end])
    return cash


def _introduce(cash: Cash, rows: Rows, newcomers: deque[int]) -> None:
    """Let `rows` join with the importance of the last newcomers: H is that times what H + C is divided by."""
    if len(rows):
        recent = np.fromiter(newcomers, np.int64) if newcomers else np.flatnonzero(cash.known)
        usual = float(cash.estimate(recent).mean())
        cash.join(rows, usual * (cash.paid + cash.granted + 1.0))
        newcomers.extend(rows.tolist())


def _compute_fixpoint(matrix: Any, eps: float) -> Floats:
    try:
        return find_fixpoint(matrix, eps=eps, tolerance=TOLERANCE, most=MOST)
    except ValueError as error:
        raise SettingsError(
            f"The matrix has no fixpoint that is found in {MOST:,} steps, as where links lead nowhere in the end, or "
            "parts hardly know of each other. Patch it: give a larger --eps (0.001 is a beginning)."
        ) from error


def _compute_reference(matrix: Any, small: float) -> Floats:
    """Return what OPIC tends to, without the virtual page's."""
    try:
        return compute_reference(matrix, small, TOLERANCE)[:-1]
    except ValueError as error:
        raise SettingsError(
            f"What OPIC tends to was not found: the nodes hardly reach each other. Give small edges more weight than "
            f"{small:g} (--small)."
        ) from error
