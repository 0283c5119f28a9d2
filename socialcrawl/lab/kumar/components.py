"""The largest strongly connected component of a graph (Tarjan 1972), without recursion."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def largest_component(indptr: Ints, indices: Ints) -> Ints:
    """The rows of the largest strongly connected component, ascending; of equally large ones, that of the least row.

    Args:
        indptr: int64[n + 1]; the links of node u are places `indptr[u]` to `indptr[u + 1]`.
        indices: int64[m], the targets.
    """
    label = components(indptr, indices)
    sizes = np.bincount(label)
    _, first = np.unique(label, return_index=True)
    largest = min(np.flatnonzero(sizes == sizes.max()).tolist(), key=lambda one: int(first[one]))
    return np.flatnonzero(label == largest)


def components(indptr: Ints, indices: Ints) -> Ints:
    """A number for each node, int64[n]: the same exactly for nodes that can reach each other."""
    size = len(indptr) - 1
    ends, targets = indptr.tolist(), indices.tolist()
    number, low, label = [-1] * size, [0] * size, [-1] * size
    waiting: list[int] = []  # visited, component not yet known
    seen = found = 0
    for root in range(size):
        path = [(root, iter(targets[ends[root] : ends[root + 1]]))] if number[root] < 0 else []
        while path:
            node, links = path[-1]
            if number[node] < 0:
                number[node] = low[node] = seen
                seen += 1
                waiting.append(node)
            deeper = _step(node, links, number, low, label)
            if deeper >= 0:
                path.append((deeper, iter(targets[ends[deeper] : ends[deeper + 1]])))
                continue
            path.pop()
            if path:
                low[path[-1][0]] = min(low[path[-1][0]], low[node])
            if low[node] == number[node]:
                while label[node] < 0:
                    label[waiting.pop()] = found
                found += 1
    return np.array(label, np.int64)


def _step(node: int, links: Iterator[int], number: list[int], low: list[int], label: list[int]) -> int:
    """The next node that `node` links to and nobody visited, or -1 when its links are done."""
    for target in links:
        if number[target] < 0:
            return target
        if label[target] < 0:
            low[node] = min(low[node], number[target])
    return -1
