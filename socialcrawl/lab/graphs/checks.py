"""What a known graph has to be, and what is made of self-links and duplicate links."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.errors import SettingsError
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.lab.graphs.csr_links import Rows, compute_offsets, gather_links, shrink_indices

LEAST, MOST = 1e-20, 1e20  # so that sums of products, and their squares, stay numbers that can be told apart
CHUNK = 2**20  # links looked at at a time: some tens of MB, whatever the graph


def check_graph(graph: KnownGraph) -> KnownGraph:
    """Return the graph, found sound: its arrays of the types that `KnownGraph` names, each link once, none to itself.

    Self-links are left out. Duplicate links u -> v are merged: their weights are added, at the first one's place among
    u's links. Arrays that need no change are not copied; the links are looked at in chunks.

    Args:
        graph: its arrays may be of any integer or floating type that holds what they mean.

    Raises:
        SettingsError: shapes that do not fit, targets outside the graph, or weights or values that are negative,
            infinite or NaN, or neither 0 nor from LEAST to MOST; the message names the first bad place.
    """
    indptr = _convert_type("indptr", graph.indptr, integral=True).astype(np.int64, copy=False)
    alpha = _convert_type("alpha", graph.alpha).astype(np.float64, copy=False)
    beta = _convert_type("beta", graph.beta).astype(np.float64, copy=False)
    indices = _convert_type("indices", graph.indices, integral=True)
    _check_shapes(indptr, indices, alpha, beta)
    if graph.names is not None and len(graph.names) != len(beta):
        raise SettingsError(
            f"names has {len(graph.names):,} entries for {len(beta):,} nodes; give one a node, or none."
        )
    _check_weights("beta", beta)
    _check_weights("alpha", alpha)
    _check_targets(indptr, indices, len(beta))
    if indices.dtype not in (np.int32, np.int64):
        indices = shrink_indices(indices, len(beta))
    return KnownGraph(*_simplify(indptr, indices, alpha, len(beta)), beta, graph.names)


def check_links(graph: KnownGraph) -> None:
    """Refuse a graph whose arrays have the right types, but whose links lead outside it or whose numbers are none.

    Raises:
        SettingsError: it is one; the message names the first bad place.
    """
    size = len(graph.beta)
    _check_shapes(graph.indptr, graph.indices, graph.alpha, graph.beta)
    _check_weights("beta", graph.beta)
    _check_weights("alpha", graph.alpha)
    _check_targets(graph.indptr, graph.indices, size)


def _convert_type(name: str, values: NDArray[Any], *, integral: bool = False) -> NDArray[Any]:
    array = np.asarray(values)
    if integral and not array.size and array.dtype.kind == "f":
        array = array.astype(np.int64)  # an empty list has no type of its own
    if array.ndim != 1:
        raise SettingsError(f"{name} has {array.ndim} dimensions; give a plain array with one.")
    if array.dtype.kind not in ("iu" if integral else "iuf"):
        wanted = "integers" if integral else "numbers"
        raise SettingsError(f"{name} has the type {array.dtype}; give an array of {wanted}.")
    return array


def _check_shapes(indptr: NDArray[Any], indices: NDArray[Any], alpha: NDArray[Any], beta: NDArray[Any]) -> None:
    if not len(beta):
        raise SettingsError("The graph has no nodes: beta is empty. Give a graph with at least one.")
    if len(indptr) != len(beta) + 1:
        raise SettingsError(
            f"indptr has {len(indptr):,} entries and beta {len(beta):,}; indptr needs one more than there are nodes."
        )
    if indptr[0] != 0:
        raise SettingsError(f"indptr[0] is {indptr[0]}; indptr has to start at 0.")
    falls = indptr[1:] < indptr[:-1]
    if falls.any():
        at = int(np.argmax(falls)) + 1
        raise SettingsError(
            f"indptr[{at}] = {indptr[at]} is less than indptr[{at - 1}] = {indptr[at - 1]}; indptr must not decrease."
        )
    for name, array in (("indices", indices), ("alpha", alpha)):
        if len(array) != indptr[-1]:
            raise SettingsError(
                f"{name} has {len(array):,} entries, but indptr ends at {indptr[-1]:,}; give one entry a link."
            )


def _check_weights(name: str, values: NDArray[np.float64]) -> None:
    for begin in range(0, len(values), CHUNK):
        part = values[begin : begin + CHUNK]
        sound = (part == 0) | ((part >= LEAST) & (part <= MOST))  # NaN makes all three false
        if sound.all():
            continue
        at = begin + int(np.argmin(sound))
        what = "values" if name == "beta" else "weights"
        raise SettingsError(
            f"{name}[{at}] is {values[at]}; {what} are finite and not negative (0, or from {LEAST} to {MOST}): "
            "fix that one, or scale all."
        )


def _check_targets(indptr: NDArray[np.int64], indices: NDArray[Any], size: int) -> None:
    for begin in range(0, len(indices), CHUNK):
        part = indices[begin : begin + CHUNK]
        if part.min() >= 0 and part.max() < size:
            continue
        at = begin + int(np.argmin((part >= 0) & (part < size)))
        node = int(np.searchsorted(indptr, at, side="right")) - 1
        raise SettingsError(
            f"indices[{at}], a link of node {node}, is {indices[at]}, outside the graph; "
            f"targets are rows from 0 to {size - 1}."
        )


def _simplify(indptr: NDArray[np.int64], indices: NDArray[Any], alpha: NDArray[np.float64], size: int) -> Rows:
    """Return the links, each once and none to its own node; the same arrays where they are so already."""
    clean, parts = True, []
    for rows in _iterate_chunks(indptr):
        links = slice(int(indptr[rows.start]), int(indptr[rows.stop]))
        lengths, target = np.diff(indptr[rows.start : rows.stop + 1]), indices[links]
        source = np.repeat(np.arange(rows.start, rows.stop), lengths)
        if _is_simple(rows, size, source, target):
            parts.append((lengths, target, alpha[links]))
            continue
        clean = False
        begins, kept, sums = gather_links(rows, size, source, target, alpha[links])
        parts.append((np.diff(begins), kept.astype(target.dtype), sums))
    if clean:
        return indptr, indices, alpha
    lengths, targets, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
    return compute_offsets(lengths), targets, weights


def _iterate_chunks(indptr: NDArray[np.int64]) -> Iterator[range]:
    """Yield consecutive rows with at most `CHUNK` links and rows, or a single row with more links."""
    begin, size = 0, len(indptr) - 1
    while begin < size:
        full = int(np.searchsorted(indptr, indptr[begin] + CHUNK, side="right")) - 1
        end = min(max(full, begin + 1), begin + CHUNK, size)
        yield range(begin, end)
        begin = end


def _is_simple(rows: range, size: int, source: NDArray[np.int64], target: NDArray[Any]) -> bool:
    if (source == target).any():
        return False
    links = (source - rows.start) * size + target
    if (links[1:] > links[:-1]).all():  # sorted rows, as most formats have them
        return True
    links.sort()
    return bool((links[1:] != links[:-1]).all())
