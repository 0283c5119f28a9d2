"""A history in pieces that can be absorbed at once, bit for bit as if pick by pick."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from socialcrawl.collect.seeds import SAME
from socialcrawl.links import Additions
from socialcrawl.model import Outcome, Pick
from socialcrawl.protocols import Batch, Columnar, Columns, History

CHUNK = 65_536  # picks that are held in memory together
FEW = 8  # picks that are absorbed as fast one by one
AT_ONCE = ("expand", "import")


def in_columns(history: History, *, features: bool) -> Iterator[Columns]:
    """All of a history as columns, with or without the features as picked."""
    if isinstance(history, Columnar):
        yield from history.columns(features=features, rest=False)
        return
    held: list[tuple[Batch, Sequence[Outcome]]] = []
    for batch, outcomes in history:
        if held and batch[-1].n - held[0][0][0].n >= CHUNK:
            yield _columns(held, features=features)
            held = []
        held.append((batch, outcomes))
    if held:
        yield _columns(held, features=features)


def stretches(columns: Columns) -> Iterator[tuple[int, int, bool]]:
    """Pieces from `begin` to `end`, and whether all their picks only add a node to the graph, or find it missing."""
    regular = np.isin(columns.act, AT_ONCE)
    regular &= ~np.strings.startswith(columns.missing, SAME)
    regular &= (columns.missing != "temporary") | (columns.act != "import")
    edges = np.flatnonzero(regular[1:] != regular[:-1]) + 1
    bounds = [0, *edges.tolist(), len(regular)]
    for begin, end in pairwise(bounds):
        if begin < end:
            yield begin, end, bool(regular[begin])


def additions(columns: Columns, begin: int, end: int) -> Additions:
    """What the picks of a regular stretch bring to the graph."""
    offsets, some = columns.offsets[begin : end + 1], slice(begin, end)
    links = slice(offsets[0], offsets[-1])
    fetched = columns.missing[some] == ""
    return Additions(
        columns.node[some],
        columns.value[some],
        offsets - offsets[0],
        columns.targets[links],
        columns.alpha[links],
        fetched,
        fetched & (columns.act[some] == "import"),
    )


def _columns(held: list[tuple[Batch, Sequence[Outcome]]], *, features: bool) -> Columns:
    picks, outcomes = [pick for batch, _ in held for pick in batch], [outcome for _, some in held for outcome in some]
    counts = [0, *(len(outcome.targets) for outcome in outcomes)]
    return Columns(
        np.array([pick.n for pick in picks], np.int64),
        np.array([batch[0].n for batch, _ in held for _ in batch], np.int64),
        np.array([pick.node for pick in picks], np.int64),
        np.array([pick.act for pick in picks]),
        np.array([outcome.value for outcome in outcomes], np.float64),
        np.array([outcome.missing or "" for outcome in outcomes]),
        np.cumsum(counts),
        np.concatenate([outcome.targets for outcome in outcomes]).astype(np.int64),
        np.concatenate([outcome.alpha for outcome in outcomes]).astype(np.float64),
        _features(picks) if features else None,
    )


def _features(picks: list[Pick]) -> NDArray[np.float64]:
    """The features as picked, a row a pick; NaN where a pick has none."""
    x = np.full((len(picks), max(len(pick.x) for pick in picks)), np.nan)
    for line, pick in zip(x, picks, strict=True):
        line[: len(pick.x)] = pick.x or np.nan
    return x
