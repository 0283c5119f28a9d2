"""Records: how relevant the accounts turned out to be that a fetched node links to, and what that says of others."""

from collections.abc import Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.collect.estimators.base import Floats
from socialcrawl.graph.graph import CrawlGraph, Rows
from socialcrawl.graph.links import grow_array

DOUBT = 3.0  # targets of value mu that a record begins with
GROWN = 1.25  # growth at which a record is updated
KINDS = 2  # of links: those without weight, and those with
SUM, COUNT, TOLD_SUM, TOLD_COUNT = range(4)  # columns of a record
LINKS, FLOW, KNOWN, UNKNOWN = range(4)  # columns of a row, the last one by kind of link: beside each other in memory


class Records:
    """How relevant the targets of each fetched node turned out to be, and what that says of frontier nodes.

    A fetched node has two records: of its links without weight, and of those with (KINDS). So row r, the n-th that was
    fetched, has the records 2 n and 2 n + 1. Arrays by row have at least one place more than there were rows, which
    stays 0: later rows are read from there.

    Attributes:
        lines: float64 by row, with these columns:
            LINKS: how many there are to it.
            FLOW: the sum over mentioners u of value(u) / sqrt(number of links of u).
            KNOWN: the sum over its links of (sum of values) / (number + DOUBT) of the record of the link.
            UNKNOWN: likewise of DOUBT / (number + DOUBT), to be multiplied by mu; for the next kind one further.
        sums, counts: by kind: of the values of all targets that were fetched, once for each link.
        total, fetched: of the values of all fetched nodes.
    """

    def __init__(self) -> None:
        self.lines = np.zeros((1024, UNKNOWN + KINDS))
        self._columns = list(self.lines.T)
        self.sums, self.counts = [0.0] * KINDS, [0] * KINDS
        self.total, self.fetched = 0.0, 0
        self._number = np.full(1024, -1, np.int32)  # of each fetched row
        self._last = np.full(1024, -1, np.int32)  # the last of the links to each row
        self._ends = 0  # links so far
        self._before = np.zeros(1024, np.int32)  # the link to the same row before each link
        self._record = np.zeros(1024, np.int32)  # to which each link belongs
        self._value = np.zeros(1024)  # by number
        self._targets = np.zeros(1024, np.int64)  # of all records, one after the other
        self._ended = 0  # how many there are
        self._span = np.zeros((1024, 2), np.int64)  # by record: where its targets begin, and how many there are
        self._own = np.zeros((1024, TOLD_COUNT + 1))  # by record

    def reserve(self, size: int) -> None:
        """Make room for `size` rows."""
        if (size := size + 1) > len(self.lines):
            self.lines = grow_array(self.lines, size)
            self._columns = list(self.lines.T)  # adding to one is faster than to a column that is looked up
            self._number, self._last = (
                np.concatenate([old, np.full(len(self.lines) - len(old), -1, np.int32)])
                for old in (self._number, self._last)
            )

    def note(self, graph: CrawlGraph, row: int, value: float) -> list[Rows]:
        """Take in a node that was fetched, or read further, with its value.

        Returns:
            Rows whose records change without a new link, in pieces, some repeatedly.
        """
        self.reserve(graph.size)
        number, before = int(self._number[row]), 0.0
        if is_new := number < 0:
            number = self._number[row] = self.fetched
            self.fetched += 1
            self._reserve_records()
        else:
            before = float(self._value[number])
            self._spread(number, -1)
        self._value[number] = value
        self.total += value - before
        self._begin_records(number, split_links(graph, row), is_new=is_new)
        self._spread(number, 1)
        return self._tell_records(row, value - before, is_new=is_new)

    def add_up(self, rows: Rows, means: Sequence[float]) -> tuple[Floats, Floats, Floats]:
        """Return of each of `rows` the flow, the sum of what is known of links to it, and the mean of their records.

        Args:
            rows: any.
            means: mu by kind of link, and of a node without links.
        """
        columns = self.lines.take(rows, axis=0, mode="clip").T
        return columns[FLOW], columns[KNOWN], average_records(columns, means)

    def list_targets(self, record: int) -> Rows:
        """Return the rows to which the links of a record lead."""
        begin, many = self._span[record].tolist()
        return self._targets[begin : begin + many]

    def _put_targets(self, record: int, targets: Rows) -> None:
        """Let the links of a record lead to these rows; arrays that `list_targets` returned stay as they are."""
        self._span[record] = self._ended, len(targets)
        self._add_targets(targets)

    def _add_targets(self, targets: Rows) -> None:
        begin, self._ended = self._ended, self._ended + len(targets)
        if self._ended > len(self._targets):
            self._targets = grow_array(self._targets, self._ended)
        self._targets[begin : self._ended] = targets

    def _begin_records(self, number: int, by_kind: Sequence[Rows], *, is_new: bool) -> None:
        """Let the records of a node begin with these targets, or begin again."""
        records = range(KINDS * number, KINDS * number + KINDS)
        had = [self.list_targets(record) for record in records]
        for kind, (record, found) in enumerate(zip(records, by_kind, strict=True)):
            targets = found
            if is_new:
                self._connect(record, targets)
            else:
                self._connect(record, found[~np.isin(found, np.concatenate(had))])
                self._move(record, found[np.isin(found, had[1 - kind])])
                gone = ~np.isin(had[kind], np.concatenate(by_kind))  # links that it had stay
                targets = np.concatenate([found, had[kind][gone]])
            self._put_targets(record, targets)
            fetched = self._number[targets]
            values = self._value[fetched[fetched >= 0]]
            total = float(np.add.accumulate(values)[-1]) if len(values) else 0.0
            self.sums[kind] += total - float(self._own[record, SUM])
            self.counts[kind] += len(values) - int(self._own[record, COUNT])
            self._own[record] = total, len(values), total, len(values)

    def _move(self, record: int, targets: Rows) -> None:
        """Let links of a node to these rows be of another kind: of this record."""
        for row in targets.tolist():
            link = int(self._last[row])
            while self._record[link] // KINDS != record // KINDS:
                link = int(self._before[link])
            self._record[link] = record

    def _connect(self, record: int, targets: Rows) -> None:
        """Note that links of a record lead to these rows, each of which none of it led to."""
        begin = self._reserve_links(len(targets))
        self._before[begin : self._ends], self._record[begin : self._ends] = self._last[targets], record
        self._last[targets] = np.arange(begin, self._ends)

    def _reserve_links(self, many: int) -> int:
        """Make room for more links; return the number of the first."""
        begin, self._ends = self._ends, self._ends + many
        if self._ends > len(self._before):
            self._before, self._record = grow_array(self._before, self._ends), grow_array(self._record, self._ends)
        return begin

    def _spread(self, number: int, sign: int) -> None:
        """Add what a node and its records say of its targets, or take it back."""
        records = range(KINDS * number, KINDS * number + KINDS)
        share = float(self._value[number]) / sqrt(max(int(self._span[records, 1].sum()), 1))
        for kind, record in enumerate(records):
            if len(targets := self.list_targets(record)):
                _, _, total, count = self._own[record].tolist()
                more = {
                    LINKS: 1.0,
                    FLOW: share,
                    KNOWN: total / (count + DOUBT),
                    UNKNOWN + kind: DOUBT / (count + DOUBT),
                }
                for column, one in more.items():
                    self._columns[column][targets] += sign * one

    def _tell_records(self, row: int, more: float, *, is_new: bool) -> list[Rows]:
        """Let the records of links to a node know its value, or what was added to it; return rows that this changes."""
        found, link = [], int(self._last[row])
        while link >= 0:
            found.append(int(self._record[link]))
            link = int(self._before[link])
        if not found:
            return []
        own = self._own[found]
        own[:, SUM] += more
        own[:, COUNT] += is_new
        tells, known, unknown = update_told(own)
        self._own[found] = own
        for record in found:
            self.sums[record % KINDS] += more
            self.counts[record % KINDS] += is_new
        changed = []
        telling = np.array(found)[tells].tolist()
        for record, more_known, less_unknown in zip(telling, known.tolist(), unknown.tolist(), strict=True):
            changed.append(targets := self.list_targets(record))
            self._columns[KNOWN][targets] += more_known
            self._columns[UNKNOWN + record % KINDS][targets] += less_unknown
        return changed

    def _reserve_records(self) -> None:
        if (size := KINDS * self.fetched) > len(self._own):
            self._own, self._span = grow_array(self._own, size), grow_array(self._span, size)
        if self.fetched > len(self._value):
            self._value = grow_array(self._value, self.fetched)


def average_records(columns: Floats, means: Sequence[float]) -> Floats:
    """Return the mean of the records of links to m rows, shape (m,).

    Args:
        columns: of `Records.lines` of the rows, shape (UNKNOWN + KINDS, m).
        means: as in `Records.add_up`.
    """
    total = columns[KNOWN] + means[0] * columns[UNKNOWN]
    for mean, of_kind in zip(means[1:], columns[UNKNOWN + 1 :], strict=False):
        total += mean * of_kind
    links = columns[LINKS]
    total /= np.maximum(links, 1.0)
    total[links <= 0] = means[-1]
    return np.asarray(total)


def split_links(graph: CrawlGraph, row: int) -> tuple[Rows, Rows]:
    """Return the targets of a node to which it links without weight, and with."""
    targets, alpha = graph.list_links(row)
    return targets[(alpha <= 0) & (targets != row)], targets[(alpha > 0) & (targets != row)]


def update_told(own: Floats) -> tuple[NDArray[np.bool_], Floats, Floats]:
    """Let rows of records that have grown enough tell what they know; return which do, and what they add to both parts.

    Args:
        own: shape (m, 4), by SUM, COUNT, TOLD_SUM, TOLD_COUNT; those that tell are changed.
    """
    tells = own[:, COUNT] + DOUBT >= GROWN * (own[:, TOLD_COUNT] + DOUBT)
    now, told = own[tells, COUNT] + DOUBT, own[tells, TOLD_COUNT] + DOUBT
    known, unknown = own[tells, SUM] / now - own[tells, TOLD_SUM] / told, DOUBT / now - DOUBT / told
    own[tells, TOLD_SUM], own[tells, TOLD_COUNT] = own[tells, SUM], own[tells, COUNT]
    return tells, known, unknown
