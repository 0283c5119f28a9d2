"""Known graphs, and crawls replayed on them: which estimator suits a topic, before a request is sent."""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from socialcrawl.api.argument_checks import KEYWORDS, PATH, TEXT, ArgumentRule, check_arguments, make_whole_rule
from socialcrawl.api.data_tables import Table, import_library, make_columns
from socialcrawl.crawls.collect.estimators import Estimator
from socialcrawl.crawls.collect.estimators.added import AddedEstimator, find_estimator_fault, make_object
from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.graph.relevance import Topic
from socialcrawl.lab import graphs
from socialcrawl.lab.graphs.csr_links import gather_links
from socialcrawl.lab.grid import draw_seed_sets
from socialcrawl.lab.post_table import read_posts
from socialcrawl.lab.simulation import ReplaySetup
from socialcrawl.lab.simulation import simulate as replay
from socialcrawl.text.wording import pluralize

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes

Location = str | os.PathLike[str]
Values = Location | Mapping[str, float] | None
COMPARED = {
    "estimator": ("text", "name of the estimator"),
    "mean": ("float", "mean score of the sets of seeds after the last step"),
    "sd": ("float", "their standard deviation; missing for a single set"),
    "lowest": ("float", "the lowest of them"),
    "highest": ("float", "the highest of them"),
    "seed_sets": ("int", "number of sets of seeds"),
}
SCORES = {
    "estimator": ("text", "name of the estimator"),
    "seed_set": ("int", "number of the set of seeds, from 0"),
    "step": ("int", "number of accounts read after the seeds"),
    "score": ("float", "relevance of all steps so far, without the seeds"),
}


def _convert_edges(value: Any) -> Any:
    if isinstance(value, bytes | Mapping) or value is None:
        raise TypeError
    if isinstance(value, str | os.PathLike):
        return PATH.convert(value)
    iter(value)  # it is read later, so that its own errors reach the caller
    return value


def _convert_values(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return PATH.convert(value)
    return {str(name): float(number) for name, number in value.items()}


def _convert_networkx_graph(value: Any) -> Any:
    if not isinstance(value, import_library("networkx").Graph):
        raise TypeError
    return value


def _convert_axes(value: Any) -> Any:
    if not hasattr(value, "fill_between"):
        raise TypeError
    return value


def _convert_seeds(value: Any) -> Any:
    if not isinstance(value, str | bytes | Mapping) and hasattr(value, "__iter__") and (sets := list(value)):
        return [KEYWORDS.convert(names) for names in sets]
    return WHOLE.convert(value)


WHOLE = make_whole_rule(1)
SEEDS = ArgumentRule(f'{WHOLE.wanted}, or a list of names for each set, such as [["ann", "ben"]]', _convert_seeds)
NUMBER = ArgumentRule("a number", float)
EDGES = ArgumentRule("a list of (source, target) or (source, target, weight), or a path of a file", _convert_edges)
VALUES = ArgumentRule("a dict of a number for each name, or a path of a file", _convert_values)
NETWORKX_GRAPH = ArgumentRule("a graph of networkx, such as networkx.DiGraph()", _convert_networkx_graph)
AXES = ArgumentRule("axes of matplotlib", _convert_axes)


class Graph:
    """A graph that is known as a whole: accounts with their relevance, links with their weights.

    Make one with `from_posts`, `from_edges`, `from_networkx` or `read`.

    Attributes:
        known: its arrays; see `socialcrawl.graph.known_graph.KnownGraph`.

    Example:
        >>> graph = sc.Graph.from_posts("posts.csv", keywords=["telescope"])
        >>> graph
        <Graph: 8 accounts, 5 of them relevant, 9 links>
        >>> graph.known.names
        ['ann', 'ben', 'cleo', 'dora', 'emil', 'fay', 'gus', 'hana']
    """

    def __init__(self, known: KnownGraph) -> None:
        self.known = known

    @classmethod
    @check_arguments(path=PATH)
    def read(cls, path: Location) -> Self:
        """Return a graph that `socialcrawl lab graph` or `write` wrote.

        Raises:
            SettingsError: it cannot be read.

        Example:
            >>> graph.write("read-example")
            >>> sc.Graph.read("read-example")
            <Graph: 8 accounts, 5 of them relevant, 9 links>
        """
        return cls(graphs.read(Path(path)))

    @classmethod
    @check_arguments(path=PATH, keywords=KEYWORDS)
    def from_posts(cls, path: Location, keywords: Sequence[str]) -> Self:
        """Return the graph of authors and whom they mention (Gouriten et al., section 2.3).

        Args:
            path: Parquet, CSV or JSON lines with author, created_at, text, optionally id, mentions, reply_to, lang.
            keywords: what the topic is about: words, phrases, prefixes (`modul*`), #hashtags, @names, links.

        Raises:
            PostsFileError: the file cannot be read.
            SettingsError: a keyword is not usable.

        Example:
            >>> sc.Graph.from_posts("posts.csv", keywords=["telescope"])
            <Graph: 8 accounts, 5 of them relevant, 9 links>
        """
        made = cls(graphs.build_mention_graph(read_posts(Path(path)), Topic(tuple(keywords))))
        if not made.known.beta.any():
            warnings.warn(
                f"No post in {path} matches {', '.join(map(repr, keywords))}, so no account of the graph is relevant: "
                "use other keywords.",
                stacklevel=3,
            )
        return made

    @classmethod
    @check_arguments(edges=EDGES, values=VALUES)
    def from_edges(cls, edges: Location | Iterable[Sequence[Any]], values: Values = None) -> Self:
        """Return the graph of a list of edges; parallel edges make one link, of the sum of their weights.

        Args:
            edges: (source, target) or (source, target, weight) of each; or a file of them: .parquet or .csv with two
                columns of names, optionally a third of weights, any other file is text.
            values: relevance by name, 0 for others, or a file of it; None: 1 for every account.

        Raises:
            SettingsError: a file cannot be read, or a number is out of range.

        Example:
            >>> sc.Graph.from_edges([("ann", "ben"), ("ben", "cleo", 2.0)], {"ann": 1.0})
            <Graph: 3 accounts, 1 of them relevant, 2 links>
        """
        given = values if values is None or isinstance(values, Mapping) else Path(values)
        if isinstance(edges, str | os.PathLike):
            return cls(graphs.build_edge_graph(Path(edges), given))
        if isinstance(given, Path):
            raise SettingsError("values are a dict where edges are no file.")
        weighted = [_read_edge(number, edge) for number, edge in enumerate(edges, 1)]
        names = list(dict.fromkeys([*(name for edge in weighted for name in edge[:2]), *(given or ())]))
        return cls._from_rows(names, weighted, [1.0 if given is None else given.get(name, 0.0) for name in names])

    @classmethod
    @check_arguments(graph=NETWORKX_GRAPH, value=TEXT, weight=TEXT)
    def from_networkx(cls, graph: "nx.Graph[Any]", value: str = "relevance", weight: str = "alpha") -> Self:
        """Return the graph of a networkx graph; each undirected edge leads both ways.

        Args:
            graph: its nodes may be of any type, and are called by `str`. Links to oneself are left out.
            value: the attribute of nodes with their relevance; a node without it has 0.
            weight: the attribute of edges with their weight; an edge without it has 1.

        Raises:
            SettingsError: a number is negative or not finite, or two nodes have the same name.

        Example:
            >>> import networkx as nx
            >>> sc.Graph.from_networkx(nx.path_graph(4))
            <Graph: 4 accounts, 0 of them relevant, 6 links>
        """
        names = [str(node) for node in graph.nodes]
        if len(set(names)) < len(names):
            raise SettingsError("Two nodes of the graph have the same name: rename them with networkx.relabel_nodes.")
        edges = [(str(a), str(b), data.get(weight, 1.0)) for a, b, data in graph.edges(data=True)]
        if not graph.is_directed():
            edges += [(b, a, alpha) for a, b, alpha in edges]
        return cls._from_rows(names, edges, [data.get(value) or 0.0 for _, data in graph.nodes(data=True)])

    @classmethod
    def _from_rows(cls, names: Sequence[str], edges: Sequence[tuple[str, str, float]], values: Sequence[float]) -> Self:
        place = {name: number for number, name in enumerate(names)}
        ends = [(place[a], place[b], alpha) for a, b, alpha in edges if a != b]
        ends.sort(key=lambda edge: edge[0])  # a stable sort: a node's links stay in their order
        source = np.array([edge[0] for edge in ends], np.int64)
        target = np.array([edge[1] for edge in ends], np.int64)
        alpha = np.array([edge[2] for edge in ends], np.float64)
        indptr, indices, sums = gather_links(range(len(names)), len(names), source, target, alpha)
        return cls(graphs.check_graph(KnownGraph(indptr, indices, sums, np.array(values, np.float64), list(names))))

    @check_arguments(folder=PATH)
    def write(self, folder: Location) -> None:
        """Write the graph into a new folder, as `socialcrawl simulate --graph` reads it.

        Example:
            >>> graph.write("graph")  # then: socialcrawl simulate --graph graph
        """
        graphs.write(self.known, Path(folder))

    def __repr__(self) -> str:
        relevant = int(np.count_nonzero(self.known.beta))
        return f"<Graph: {self.known.size:,} accounts, {relevant:,} of them relevant, {self.known.links:,} links>"


@dataclass(frozen=True, repr=False)
class SimulationResult:
    """The curves of replayed crawls.

    Attributes:
        curves: float64[sets of seeds, steps] by estimator: the score after each step, without the seeds'; where no
            account was left to read, it stays as it was.

    Example:
        >>> result = sc.simulate(graph, ["oracle", "bfs"], steps=3, seeds=2, seeds_per_set=1)
        >>> result
        <SimulationResult, mean score at the end: oracle 2.5, bfs 2.0>
        >>> result.curves["oracle"].shape
        (2, 3)
    """

    curves: Mapping[str, NDArray[np.float64]]

    def __repr__(self) -> str:
        return (
            f"<SimulationResult, mean score at the end: {', '.join(f'{row[0]} {row[1]:.1f}' for row in self._rank())}>"
        )

    def _repr_html_(self) -> str:
        """Return `compare` for a notebook."""
        head = "".join(f"<th>{name}</th>" for name in COMPARED)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(_format_cell(cell))}</td>' for cell in row)}</tr>" for row in self._rank()
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def compare(self) -> Table:
        """Return a table with one row per estimator: mean, standard deviation, lowest and highest score at the end.

        Example:
            >>> result = sc.simulate(graph, ["oracle", "bfs"], steps=3, seeds=2, seeds_per_set=1)
            >>> result.compare().to_pandas()[["estimator", "mean", "seed_sets"]]
              estimator      mean  seed_sets
            0    oracle  2.549306          2
            1       bfs  2.049306          2
        """
        rows = self._rank()
        return Table("comparison", make_columns(COMPARED), lambda size: _slice_rows(rows, size))

    def _rank(self) -> list[tuple[str, float, float | None, float, float, int]]:
        """Return the rows of `compare`, the best estimator first."""
        rows = []
        for name, curves in self.curves.items():
            last = curves[:, -1]
            spread = float(last.std(ddof=1)) if len(last) > 1 else None
            rows.append((name, float(last.mean()), spread, float(last.min()), float(last.max()), len(last)))
        return sorted(rows, key=lambda row: (-row[1], row[0]))

    def scores(self) -> Table:
        """Return a table with one row per estimator, set of seeds and step.

        Example:
            >>> result = sc.simulate(graph, ["oracle"], steps=3, seeds=1, seeds_per_set=1)
            >>> result.scores().to_pandas()
              estimator  seed_set  step  score
            0    oracle         0     1    1.0
            1    oracle         0     2    1.0
            2    oracle         0     3    1.0
        """
        rows = [
            (name, number, step, float(score))
            for name, curves in self.curves.items()
            for number, curve in enumerate(curves)
            for step, score in enumerate(curve, 1)
        ]
        return Table("scores", make_columns(SCORES), lambda size: _slice_rows(rows, size))

    @check_arguments(ax=AXES)
    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the mean curve of each estimator, and the band from the lowest to the highest; return the axes.

        Args:
            ax: matplotlib axes to draw on; None: new ones.

        Example:
            >>> axes = sc.simulate(graph, ["bfs"], steps=3, seeds=2, seeds_per_set=1).plot()
            >>> axes.figure.savefig("curves.png")
        """
        if ax is None:
            ax = import_library("matplotlib.pyplot").subplots()[1]
        for name, curves in self.curves.items():
            steps = np.arange(1, curves.shape[1] + 1)
            (line,) = ax.plot(steps, curves.mean(axis=0), label=name)
            if len(curves) > 1:
                ax.fill_between(
                    steps, curves.min(axis=0), curves.max(axis=0), color=line.get_color(), alpha=0.15, linewidth=0
                )
        ax.set_xlabel("accounts read after the seeds")
        ax.set_ylabel("relevance found")
        ax.legend(frameon=False)
        return ax


@check_arguments(
    steps=make_whole_rule(1),
    seeds=SEEDS,
    seeds_per_set=make_whole_rule(1),
    seed=make_whole_rule(0),
    strategy=TEXT,
    refresh_rate=make_whole_rule(1),
    switch_after=make_whole_rule(0),
    start=TEXT,
    nr_d=NUMBER,
)
def simulate(
    graph: Graph,
    estimators: Sequence[str | Estimator | type[Estimator]],
    *,
    steps: int,
    seeds: int | Sequence[Sequence[str]] = 10,
    seeds_per_set: int = 20,
    seed: int = 1,
    strategy: str = "greedy",
    refresh_rate: int = 1,
    switch_after: int = 1000,
    start: str | None = None,
    nr_d: float = 0.5,
) -> SimulationResult:
    """Replay crawls on a known graph, with the loop and the crawl that run live.

    Args:
        graph: the graph.
        estimators: names (`oracle` knows the truth), classes, or objects, of which each replay gets a copy.
        steps: accounts to read after the seeds, at least 1.
        seeds: the number of sets of seeds, or one list of names for each set; every estimator replays each set.
        seeds_per_set: accounts of a set, drawn among those of relevance above 0.
        seed: of the draws.
        strategy: greedy, altered-greedy or proportional.
        refresh_rate: accounts picked between two estimates (r of Algorithm 1).
        switch_after: steps before a hybrid becomes linear; a warning says where it never does.
        start: first estimator of a hybrid; None: nh-ne of its kind.
        nr_d: weight of an account's own score in Navigational Rank (`nr`), from 0.001 to 1.

    Raises:
        SettingsError: a name is not known, a number is out of range, or the graph has too few relevant accounts.

    Example:
        >>> sc.simulate(graph, ["oracle", "bfs"], steps=3, seeds=2, seeds_per_set=1)
        <SimulationResult, mean score at the end: oracle 2.5, bfs 2.0>
    """
    named = _name_estimators(graph, estimators)
    setup = ReplaySetup("random", steps, strategy, refresh_rate, "sum", seed, switch_after, start, nr_d=nr_d)
    setups = {name: replace(setup, estimator=one) if isinstance(one, str) else setup for name, one in named.items()}
    sets = _find_seed_sets(graph.known, seeds, seeds_per_set, seed)
    for doubt in _explain_doubts(graph.known, sets, setups):
        warnings.warn(doubt, stacklevel=3)
    curves: dict[str, NDArray[np.float64]] = {}
    for name, one in named.items():
        make = None if isinstance(one, str) else _make_maker(name, one, seed)
        curves[name] = np.array([replay(graph.known, chosen, setups[name], make).curve for chosen in sets])
    return SimulationResult(curves)


def _name_estimators(
    graph: Graph, estimators: Sequence[str | Estimator | type[Estimator]]
) -> dict[str, str | Estimator | type[Estimator]]:
    """Return the estimators by name.

    Raises:
        SettingsError: one of them is named twice, or `graph` or `estimators` is something else.
    """
    if not isinstance(graph, Graph):
        raise SettingsError("The first argument is a Graph: make one with Graph.from_posts, from_edges or read.")
    if not isinstance(estimators, Sequence) or not estimators or isinstance(estimators, str):
        raise SettingsError("estimators are a list of names, classes or objects: name at least one.")
    named: dict[str, str | Estimator | type[Estimator]] = {}
    for one in estimators:
        name = one if isinstance(one, str) else _find_name(one)
        if name in named:
            raise SettingsError(f"The estimator {name} is named twice: give each object its own attribute `name`.")
        named[name] = one
    return named


def _find_seed_sets(graph: KnownGraph, seeds: int | Sequence[Sequence[str]], size: int, seed: int) -> list[list[int]]:
    """Return the rows of each set of seeds, drawn or named.

    Raises:
        SettingsError: the graph has too few relevant accounts, or a name is not in it.
    """
    if not isinstance(seeds, int):
        return [
            graphs.find_rows([(f"simulate(seeds), set {number}", name) for name in names], graph)
            for number, names in enumerate(seeds, 1)
        ]
    if (relevant := int(np.count_nonzero(graph.beta))) < size:
        most = f"pass seeds_per_set={relevant} or fewer" if relevant else "check the keywords"
        raise SettingsError(
            f"The graph has {pluralize(relevant, 'relevant account')}, fewer than seeds_per_set={size}: {most}, or "
            'name the seeds of each set, as in seeds=[["ann", "ben"]].'
        )
    return draw_seed_sets(graph, seeds, size, seed)


def _explain_doubts(graph: KnownGraph, sets: list[list[int]], setups: Mapping[str, ReplaySetup]) -> Iterator[str]:
    """Yield what is likely not meant, in sentences."""
    yield from (f"{setup.late_switch}." for setup in setups.values() if setup.late_switch)
    steps, left = next(iter(setups.values())).budget, graph.size - min(map(len, sets))
    if steps > left:
        yield (
            f"steps={steps}: the graph has {pluralize(graph.size, 'account')}, so nothing is left to read after at "
            f"most {pluralize(left, 'step')}, and the curves stay level from there."
        )


def _read_edge(number: int, edge: Any) -> tuple[str, str, float]:
    """Return an edge of a list.

    Raises:
        SettingsError: it is no (source, target) or (source, target, weight).
    """
    try:
        source, target, weight = edge if len(edge) == 3 else (*edge, 1.0)
        if not isinstance(edge, str | bytes | set | frozenset | Mapping):  # a set has no order
            return str(source), str(target), float(weight)
    except (TypeError, ValueError):
        pass
    raise SettingsError(f"from_edges: edge {number}, {edge!r}: give (source, target) or (source, target, weight).")


def _find_name(estimator: Estimator | type[Estimator]) -> str:
    """Return what an estimator of one's own is called: its attribute `name`, or the name of its class."""
    own = estimator if isinstance(estimator, type) else type(estimator)
    return str(getattr(estimator, "name", own.__name__))


def _make_maker(name: str, estimator: Estimator | type[Estimator], seed: int) -> Callable[[], Estimator]:
    """Return what makes a fresh estimator for each replay; what it returns is checked.

    Raises:
        SettingsError: it has no method `score`, or one of its methods takes other arguments.
    """
    fault = find_estimator_fault(name, estimator if isinstance(estimator, type) else type(estimator))
    if fault:
        raise SettingsError(f"{estimator!r} is no estimator: it {fault}.")
    if isinstance(estimator, type):
        return lambda: AddedEstimator(name, make_object(estimator, f"the estimator {name!r}", seed, {}))
    return lambda: AddedEstimator(name, deepcopy(estimator))


def _format_cell(cell: str | float | None) -> str:
    return "" if cell is None else f"{cell:.1f}" if isinstance(cell, float) else str(cell)


def _slice_rows(rows: Sequence[Sequence[Any]], size: int) -> Iterator[Sequence[Sequence[Any]]]:
    for begin in range(0, len(rows), size):
        yield rows[begin : begin + size]
