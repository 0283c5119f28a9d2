"""What `socialcrawl lab opic importance` does: the importance of nodes and sites, as CSV and in the terminal."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from socialcrawl.errors import SettingsError
from socialcrawl.importance.site_importance import sum_by_site
from socialcrawl.lab.experiments.opic.importance_errors import measure_errors
from socialcrawl.lab.experiments.opic.importances import (
    DividedResult,
    ImportanceOptions,
    ImportanceResult,
    LinkGraph,
    build_web_graph,
    compute_importance,
    compute_site_flow,
    divide_among_owners,
    group_by_file,
    group_by_host,
    read_known_graph,
)
from socialcrawl.lab.experiments.opic.static_web import StaticWebPlan
from socialcrawl.lab.experiments.runner import ExperimentRun
from socialcrawl.lab.result_tables import write_csv
from socialcrawl.text.terminal import write_line

NAME: Final = 40  # characters of a name in the terminal

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GraphSelection:
    """Where the graph comes from, and what sites its nodes lie on.

    Attributes:
        graph: a known graph, folder or .npz; None: a generated web.
        weighted: whether links count by their weights.
        web: of a generated one.
        sites: a file of names and sites; None: none.
        hosts: whether sites are the hosts of names.

    Raises:
        SettingsError: two sorts of sites are asked for, or weights of a generated web.
    """

    graph: Path | None
    weighted: bool
    web: StaticWebPlan
    sites: Path | None
    hosts: bool

    def __post_init__(self) -> None:
        if self.sites is not None and self.hosts:
            raise SettingsError("--sites and --hosts both say what the sites are: remove one of them.")
        if self.weighted and self.graph is None:
            raise SettingsError("A generated web has no weights: remove --weighted, or give a --graph.")

    def load_graph(self) -> LinkGraph:
        """Return the graph."""
        if self.graph is not None:
            return read_known_graph(self.graph, weighted=self.weighted)
        return build_web_graph(self.web.generate_web(self.web.laws[0], self.web.seeds[0]))

    def find_sites(self, names: Sequence[str]) -> tuple[list[str], NDArray[np.int64]] | None:
        """Return the sites, and which of them each node lies on; None: nobody asked."""
        if self.sites is not None:
            return group_by_file(self.sites, names)
        return group_by_host(names) if self.hosts else None


def compare_importance(place: GraphSelection, asked: ImportanceOptions, most: int, run: ExperimentRun) -> None:
    """Find the importance of all nodes: importance.csv, for sites sites.csv, and the `most` important in the terminal.

    Raises:
        SocialcrawlError: an option cannot be used, or a file not be written.
    """
    run.prepare()
    given = place.load_graph()
    sites = place.find_sites(given.names)
    write_line(f"{len(given.names):,} nodes, {given.links.nnz:,} links; matrix {asked.matrix}, by {asked.by}")
    flow: Floats | None = None
    if sites is not None and asked.by == "opic":
        found, flow = compute_site_flow(given, asked, sites[1], len(sites[0]))
    else:
        found = compute_importance(given, asked)
    columns = {"importance": found.importance}
    if found.fixpoint is not None:
        _print_opic(found, found.fixpoint)
        columns["fixpoint"] = found.fixpoint
    if asked.owners:
        parts = divide_among_owners(given, asked)
        _print_owners(asked, found, parts)
        columns["owners"] = parts.importance
    _write_ranking(run.out / "importance.csv", "name", given.names, columns, most)
    if sites is not None:
        nodes = np.bincount(sites[1], minlength=len(sites[0]))
        sums = {"importance": sum_by_site(sites[1], found.importance, len(sites[0])), "nodes": nodes}
        _write_ranking(run.out / "sites.csv", "site", sites[0], sums if flow is None else {**sums, "flow": flow}, most)


def _print_opic(found: ImportanceResult, fixpoint: Floats) -> None:
    there = found.importance > 0
    off = measure_errors(found.importance[there], fixpoint[there])
    write_line(
        f"G = {found.gained:.2f}; {np.count_nonzero(there):,} nodes found, off the fixpoint by {off.mean:.3g} % in the "
        f"mean ({off.median:.3g} % the median), by {off.top:.3g} % on the top ten per cent"
    )


def _print_owners(asked: ImportanceOptions, found: ImportanceResult, parts: DividedResult) -> None:
    assert found.fixpoint is not None
    off, far = measure_errors(parts.importance, found.importance), measure_errors(parts.importance, found.fixpoint)
    write_line(
        f"{asked.owners} owners: {parts.transfers:,} transfers with {parts.amounts:,} amounts for {parts.payments:,} "
        f"payments; {100 * parts.waiting:.2g} % of all cash waits in buffers\n"
        f"  off the undivided run by {off.mean:.3g} % in the mean, {off.top:.3g} % on the top ten per cent, of which "
        f"{off.missed:.3g} % are others\n"
        f"  off the fixpoint by {far.mean:.3g} % in the mean, {far.top:.3g} % on the top ten per cent"
    )


def _write_ranking(path: Path, first: str, names: Sequence[str], columns: dict[str, Any], most: int) -> None:
    """Write and tell a table, the most important first; ties go to the lower row."""
    order = np.argsort(-columns["importance"], kind="stable")
    ranked = [names[row] for row in order.tolist()]
    sorted_columns = {name: column[order] for name, column in columns.items()}
    write_csv(path, {"rank": np.arange(1, len(ranked) + 1), first: np.array(ranked), **sorted_columns})
    write_line(f"{'':>6}  {first:<{NAME}}" + "".join(f"{name:>12}" for name in columns))
    for number in range(min(most, len(ranked))):
        cells = "".join(f"{column[number]:>12.5g}" for column in sorted_columns.values())
        write_line(f"{number + 1:>6}  {ranked[number][:NAME]:<{NAME}}{cells}")
    write_line(f"wrote {path}")
