"""A known graph from a list of edges: text, CSV or Parquet; weights and values where there are any.

Text has an edge a line, `u v` or `u v weight`, parted by blanks, tabs or commas; a line that begins with # is a
comment. CSV (with a header) and Parquet have columns `source, target` (or `src, dst`, or `a, b`) and perhaps `weight`;
what other columns hold is not looked at. Nodes are called by any text; numbers are names too.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.bounds import MAX_ROW
from socialcrawl.errors import PostsFileError, SettingsError
from socialcrawl.imports.lines import GZIP, UNREADABLE, lines, opened, too_long
from socialcrawl.lab.graphs.links import Scoring, gathered, scored
from socialcrawl.lab.graphs.tables import csv_table, lacking, parquet_table, strings
from socialcrawl.relevance import worth
from socialcrawl.sources.known import KnownGraph

ENDS = (("source", "target"), ("src", "dst"), ("a", "b"))


@dataclass(frozen=True)
class _Edges:
    """The names at both ends, as places in `names`, which are in order of first appearance; weights, if any."""

    names: list[str]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64] | None


def from_edges(
    path: Path | str, values: Path | str | Mapping[str, float] | None = None, scoring: Scoring = worth
) -> KnownGraph:
    """The graph of a list of edges, which lead from the first name to the second.

    Parallel edges make one link: alpha(u, v) = the sum of their weights, or, where the list has none, f(their number).
    beta(u) is what `values` says, 0 for a node it does not name; without `values` every node has value 1. Nodes are
    numbered by first appearance, edge after edge: the source, then the target; those that only `values` names come
    after, without links. A node's links stand in order of first appearance too. Self-links are left out.

    Args:
        path: .parquet, .pq or .csv; any other ending is text. CSV and text may be packed (.gz).
        values: name -> value, or a text file with `name value` lines, parted as edges are.
        scoring: f, any function of a count that is finite, never negative, and 0 for 0.

    Raises:
        SettingsError: a file cannot be read or has no edges; a line or row lacks a name; a weight or value is no
            number, negative or infinite; a node has two values.
    """
    edges = _read(Path(path))
    names = edges.names
    beta = np.ones(len(names))
    if values is not None:
        given = _values(values)
        names = list(dict.fromkeys((*names, *given)))
        beta = np.array([given.get(name, 0.0) for name in names], np.float64)
    weight = np.ones(len(edges.source)) if edges.weight is None else edges.weight
    indptr, indices, sums = gathered(range(len(names)), len(names), edges.source, edges.target, weight)
    return KnownGraph(indptr, indices, scored(sums, scoring) if edges.weight is None else sums, beta, names)


def _read(path: Path) -> _Edges:
    readers = {".parquet": parquet_table, ".pq": parquet_table, ".csv": csv_table}
    reader = readers.get(Path(path.name.lower().removesuffix(".gz")).suffix)
    edges = _from_text(path) if reader is None else _from_table(path, reader(path))
    if not len(edges.source):
        raise SettingsError(f"{path} has no edges; give a file with at least one.")
    if edges.weight is not None:
        good = np.isfinite(edges.weight) & (edges.weight >= 0)
        if not good.all():
            row = int(np.argmin(good))
            ends = f"{edges.names[edges.source[row]]} -> {edges.names[edges.target[row]]}"
            raise SettingsError(
                f"{path}, edge {row + 1} ({ends}): the weight is {edges.weight[row]}; give one from 0 up, finite."
            )
    return edges


def _from_text(path: Path) -> _Edges:
    number: dict[str, int] = {}
    ends: list[int] = []
    weights: list[float] = []
    width = 0
    for line, words in _lines(path):
        width = width or len(words)
        if len(words) != width or width not in (2, 3):
            wanted = {2: "2, as the lines before", 3: "3, as the lines before"}.get(width, "2, or 3 with a weight")
            raise SettingsError(f"{path}, line {line} has {len(words)} words; give {wanted}.")
        ends += [number.setdefault(words[0], len(number)), number.setdefault(words[1], len(number))]
        if width == 3:
            weights.append(_number(words[2], f"{path}, line {line}"))
    pairs = np.array(ends, np.int64).reshape(-1, 2)
    return _Edges(list(number), pairs[:, 0], pairs[:, 1], np.array(weights, np.float64) if width == 3 else None)


def _from_table(path: Path, table: Any) -> _Edges:
    ends = next((pair for pair in ENDS if set(pair) <= set(table.column_names)), None)
    if ends is None:
        raise lacking(path, table, ENDS[0])
    columns = [strings(table, name) for name in ends]
    for name, column in zip(ends, columns, strict=True):
        named = column.fill_null("").to_numpy(zero_copy_only=False) != ""
        if not named.all():
            row = int(np.argmin(named))
            raise SettingsError(f"{path}, row {row + 1}: {name} is empty; name a node or leave the row out.")
    names, source, target = _numbered(*columns)
    return _Edges(names, source, target, _weights(path, table) if "weight" in table.column_names else None)


def _numbered(sources: Any, targets: Any) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    import pyarrow as pa  # noqa: PLC0415

    coded = pa.concat_arrays([sources, targets]).dictionary_encode()
    codes = coded.indices.to_numpy().astype(np.int64).reshape(2, -1)
    seen, first = np.unique(codes.T.ravel(), return_index=True)  # edge after edge: source, target
    order = seen[np.argsort(first)]
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return coded.dictionary.take(pa.array(order)).to_pylist(), place[codes[0]], place[codes[1]]


def _weights(path: Path, table: Any) -> NDArray[np.float64]:
    import pyarrow as pa  # noqa: PLC0415

    try:
        column = table.column("weight").cast("float64", safe=False)
    except pa.ArrowException as error:
        raise SettingsError(f"{path}: weight is no number: {str(error).splitlines()[0]}. Give numbers.") from error
    return np.asarray(column.fill_null(math.nan).to_numpy(), np.float64)


def _values(values: Path | str | Mapping[str, float]) -> dict[str, float]:
    """The values by name, all of them finite and not negative."""
    given: dict[str, float] = {}
    if isinstance(values, Mapping):
        given = {str(name): float(value) for name, value in values.items()}
    else:
        for line, words in _lines(Path(values)):
            place = f"{values}, line {line}"
            if len(words) != 2:
                raise SettingsError(f"{place} has {len(words)} words; give a name and a value.")
            if words[0] in given:
                raise SettingsError(f"{place}: {words[0]!r} has a value already; give one a node.")
            given[words[0]] = _number(words[1], place)
    for name, value in given.items():
        if not 0 <= value < math.inf:
            raise SettingsError(f"The value of {name!r} is {value}; give one from 0 up, finite.")
    return given


def _number(word: str, place: str) -> float:
    try:
        return float(word)
    except ValueError as error:
        raise SettingsError(f"{place}: {word[:60]!r} is no number; give a number.") from error


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines that are neither blank nor comments, as words, with their numbers."""
    if not path.is_file():
        raise SettingsError(f"There is no file {path}; give the path of a file.")
    try:
        with opened(path, GZIP if path.suffix.lower() == ".gz" else b"") as file:
            for number, line in lines(path, file, MAX_ROW):
                if line is None:
                    raise SettingsError(f"{path}, line {number}: {too_long(MAX_ROW)}. Check the file.")
                words = line.decode("utf-8" if number > 1 else "utf-8-sig").replace(",", " ").split()
                if words and not words[0].startswith("#"):
                    yield number, words
    except PostsFileError as error:
        raise SettingsError(str(error)) from error
    except (*UNREADABLE, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read as UTF-8 text: {error}. Check the file.") from error
