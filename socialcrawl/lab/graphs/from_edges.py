"""A known graph from a list of edges: text, CSV or Parquet; weights and values where there are any.

Text has an edge a line, `u v` or `u v weight`, parted by blanks, tabs or commas; a line that begins with # is a
comment, and the first line may name the columns. CSV (with a header) and Parquet have columns `source, target` (or
another pair of `header_lines.ENDS`, or `a, b`) and perhaps `weight`; other columns are ignored. Any text is the name of
a node; numbers are names too.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.errors import PostsFileError, SettingsError
from socialcrawl.formats.header_lines import ENDS, WEIGHTS, describe_unknown, is_head, is_number
from socialcrawl.formats.lines import GZIP, UNREADABLE, describe_too_long, open_bytes, read_lines
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.graph.relevance import compute_worth
from socialcrawl.lab.graphs.column_files import (
    READERS,
    describe_missing_columns,
    read_csv,
    read_node_names,
    read_parquet,
    read_strings,
)
from socialcrawl.lab.graphs.csr_links import Scoring, gather_links, score_counts
from socialcrawl.system.bounds import MAX_ROW

PAIRS = (*ENDS[1:], ("a", "b"))
VALUED = ("value", "values", "beta", "score", "relevance", "weight", "count")
"""The columns of values, by which the first line of a file of them is known to name its columns."""
SHOWN = 5  # names that a message lists


@dataclass(frozen=True)
class _Edges:
    """The names at both ends, as places in `names`, which are in order of first appearance; weights, if any."""

    names: list[str]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64] | None


def build_edge_graph(
    path: Path | str,
    values: Path | str | Mapping[str, float] | None = None,
    scoring: Scoring = compute_worth,
    say: Callable[[str], None] = lambda line: None,
) -> KnownGraph:
    """Return the graph of a list of edges, which lead from the first name to the second.

    Parallel edges make one link: alpha(u, v) = the sum of their weights, or, where the list has none, f(their number).
    beta(u) is what `values` says, 0 for a node it does not name; without `values` every node has value 1. Nodes are
    numbered by first appearance, edge after edge: the source, then the target; those that only `values` names come
    after, without links. A node's links stand in order of first appearance too. Self-links are left out.

    Args:
        path: .parquet, .pq or .csv; any other ending is text. CSV and text may be packed (.gz).
        values: name -> value, or a file: text with `name value` lines, parted as edges are, whose first line may name
            the columns; CSV or Parquet with columns `name` (or `node`, ...) and `value`.
        scoring: f, any function of a count that is finite, never negative, and 0 for 0.
        say: told how many names of `values` are in no edge, and the first of them.

    Raises:
        SettingsError: a file cannot be read or has no edges; a line or row lacks a name; a weight or value is no
            number, negative or infinite; a node has two values; a file of values names no node of the edges.
    """
    edges = _read_edges(Path(path))
    names = edges.names
    beta = np.ones(len(names))
    if values is not None:
        given = _read_values(values)
        known = set(names)
        if alone := [name for name in given if name not in known]:
            message = _describe_unlinked(path, values, alone, len(given))
            if len(alone) == len(given) and not isinstance(values, Mapping):
                raise SettingsError(f"{message} Call the nodes as the edges do.")
            say(f"{message} They are nodes without links.")
        names = list(dict.fromkeys((*names, *given)))
        beta = np.array([given.get(name, 0.0) for name in names], np.float64)
    weight = np.ones(len(edges.source)) if edges.weight is None else edges.weight
    indptr, indices, sums = gather_links(range(len(names)), len(names), edges.source, edges.target, weight)
    return KnownGraph(indptr, indices, score_counts(sums, scoring) if edges.weight is None else sums, beta, names)


def _describe_unlinked(path: Path | str, values: Any, names: Sequence[str], of: int) -> str:
    """Return names of values that no edge has."""
    where = "the values" if isinstance(values, Mapping) else values
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    shown = ", ".join(name[:60] for name in names[:SHOWN])
    return f"{len(names):,} of the {of:,} names in {where} are in no edge of {path}: {shown}{more}."


def _read_edges(path: Path) -> _Edges:
    reader = READERS.get(Path(path.name.lower().removesuffix(".gz")).suffix)
    edges = _read_text(path) if reader is None else _read_table(path, reader(path))
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


def _read_text(path: Path) -> _Edges:
    number: dict[str, int] = {}
    ends: list[int] = []
    weights: list[float] = []
    width = 0
    one, two = 0, 1
    for line, words in _iterate_lines(path):
        if not width and (named := _parse_head(f"{path}, line {line}", words)):
            one, two = named
            width = len(words)
            continue
        width = width or len(words)
        if len(words) != width or width not in (2, 3):
            wanted = {2: "2, as the lines before", 3: "3, as the lines before"}.get(width, "2, or 3 with a weight")
            raise SettingsError(f"{path}, line {line} has {len(words)} words; give {wanted}.")
        ends += [number.setdefault(words[one], len(number)), number.setdefault(words[two], len(number))]
        if width == 3:
            weights.append(_parse_number(words[2], f"{path}, line {line}"))
    pairs = np.array(ends, np.int64).reshape(-1, 2)
    return _Edges(list(number), pairs[:, 0], pairs[:, 1], np.array(weights, np.float64) if width == 3 else None)


def _parse_head(place: str, words: Sequence[str]) -> tuple[int, int] | None:
    """Return the places of source and target in the first line of a text, where that names the columns.

    The weight is third.

    Raises:
        SettingsError: it looks so, but the names are not known.
    """
    low = [word.lower() for word in words]
    if any({*low[:2]} == {*pair} for pair in ENDS) and (len(low) == 2 or low[2:] in [[name] for name in WEIGHTS]):
        pair = next(pair for pair in ENDS if {*low[:2]} == {*pair})
        return low.index(pair[0]), low.index(pair[1])
    if is_head(words):
        raise SettingsError(describe_unknown(place, words))
    return None


def _read_table(path: Path, table: Any) -> _Edges:
    table = _lower_names(table)
    ends = next((pair for pair in PAIRS if set(pair) <= set(table.column_names)), None)
    if ends is None:
        raise describe_missing_columns(path, table, PAIRS[0])
    names, source, target = _number_nodes(*(read_node_names(path, table, name) for name in ends))
    weight = next((name for name in WEIGHTS if name in table.column_names), None)
    return _Edges(names, source, target, None if weight is None else _read_weights(path, table, weight))


def _lower_names(table: Any) -> Any:
    """Return a table with the names of its columns in lower case, unless two would then be the same."""
    low = [name.strip().lower() for name in table.column_names]
    return table.rename_columns(low) if len({*low}) == len(low) else table


def _number_nodes(sources: Any, targets: Any) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    import pyarrow as pa  # noqa: PLC0415

    coded = pa.concat_arrays([sources, targets]).dictionary_encode()
    codes = coded.indices.to_numpy().astype(np.int64).reshape(2, -1)
    seen, first = np.unique(codes.T.ravel(), return_index=True)  # edge after edge: source, target
    order = seen[np.argsort(first)]
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return coded.dictionary.take(pa.array(order)).to_pylist(), place[codes[0]], place[codes[1]]


def _read_weights(path: Path, table: Any, name: str) -> NDArray[np.float64]:
    import pyarrow as pa  # noqa: PLC0415

    try:
        column = table.column(name).cast("float64", safe=False)
    except pa.ArrowException as error:
        raise SettingsError(f"{path}: {name} is not a number: {str(error).splitlines()[0]}. Give numbers.") from error
    return np.asarray(column.fill_null(math.nan).to_numpy(), np.float64)


def _read_values(values: Path | str | Mapping[str, float]) -> dict[str, float]:
    """Return the values by name, all of them finite and not negative."""
    given: dict[str, float] = {}
    if isinstance(values, Mapping):
        given = {str(name): float(value) for name, value in values.items()}
    else:
        for place, name, word in _iterate_values(Path(values)):
            if name in given:
                raise SettingsError(f"{place}: {name!r} has a value already; give one a node.")
            given[name] = _parse_number(word, place)
    for name, value in given.items():
        if not 0 <= value < math.inf:
            raise SettingsError(f"The value of {name!r} is {value}; give one from 0 up, finite.")
    return given


def _iterate_values(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the rows of a file of values: (where it is, a name, its value)."""
    ending = Path(path.name.lower().removesuffix(".gz")).suffix
    first = None if ending in (".parquet", ".pq") else next(_iterate_lines(path), (0, []))[1]
    headed = (
        first is not None and not any(map(is_number, first)) and any(_strip_quotes(word) in VALUED for word in first)
    )
    if first is None or (headed and ending == ".csv"):
        yield from _iterate_table_values(path, _lower_names(read_parquet(path) if first is None else read_csv(path)))
        return
    for line, words in _iterate_lines(path):
        place = f"{path}, line {line}"
        if len(words) != 2:
            raise SettingsError(f"{place} has {len(words)} words; give a name and a value.")
        if words == first and not is_number(words[1]):
            if headed and _strip_quotes(words[1]) in VALUED:
                headed = False
                continue
            raise SettingsError(
                f"{place}: {words[1][:60]!r} is not a number; give a number, or, if the line names the columns, call "
                "them name and value."
            )
        yield place, words[0], words[1]


def _strip_quotes(word: str) -> str:
    return word.strip('"').lower()


def _iterate_table_values(path: Path, table: Any) -> Iterator[tuple[str, str, str]]:
    """Yield the same, of a table whose columns have names."""
    value = next((name for name in VALUED if name in table.column_names), None)
    name = next((name for name in table.column_names if name != value), None)
    if value is None or name is None:
        raise describe_missing_columns(path, table, ("name", "value"))
    names, values = read_node_names(path, table, name).to_pylist(), read_strings(table, value).fill_null("").to_pylist()
    for row, (called, word) in enumerate(zip(names, values, strict=True), 1):
        yield f"{path}, row {row}", called, word


def _parse_number(word: str, place: str) -> float:
    try:
        return float(word)
    except ValueError as error:
        raise SettingsError(f"{place}: {word[:60]!r} is not a number; give a number.") from error


def _iterate_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines that are neither blank nor comments, as words, with their numbers."""
    if not path.is_file():
        raise SettingsError(f"There is no file {path}; give the path of a file.")
    try:
        with open_bytes(path, GZIP if path.suffix.lower() == ".gz" else b"") as file:
            for number, line in read_lines(path, file, MAX_ROW):
                if line is None:
                    raise SettingsError(f"{path}, line {number}: {describe_too_long(MAX_ROW)}. Check the file.")
                words = line.decode("utf-8" if number > 1 else "utf-8-sig").replace(",", " ").split()
                if words and not words[0].startswith("#"):
                    yield number, words
    except PostsFileError as error:
        raise SettingsError(str(error)) from error
    except (*UNREADABLE, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read as UTF-8 text: {error}. Check the file.") from error
