"""Records of many nodes that were fetched one after the other, taken in at once: bit for bit as one by one."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.collect.estimators.base import Floats
from socialcrawl.crawls.collect.estimators.records import (
    COUNT,
    DOUBT,
    FLOW,
    KINDS,
    KNOWN,
    LINKS,
    SUM,
    UNKNOWN,
    Records,
    average_records,
    update_told,
)
from socialcrawl.graph.graph import NO_ROWS, CrawlGraph, Rows
from socialcrawl.graph.links import order_stably


class RecordHistory(NamedTuple):
    """What `Records` held of each of m nodes just before it was fetched, and of all just after.

    Attributes:
        columns: of `Records.lines`, float64[UNKNOWN + KINDS, m]: before.
        totals: float64[m]; sums: float64[KINDS, m]; counts: int64[KINDS, m]: after.
    """

    columns: Floats
    totals: Floats
    sums: Floats
    counts: NDArray[np.int64]

    def average(self, places: Rows, means: Sequence[float]) -> tuple[Floats, Floats, Floats]:
        """Return what `Records.add_up` returned of nodes just before they were fetched."""
        columns = self.columns[:, places]
        return columns[FLOW], columns[KNOWN], average_records(columns, means)


class _Events(NamedTuple):
    """What is added to rows, in order.

    Attributes:
        place: of the node whose fetching is the reason.
        row: to which it is added.
        kind: of the link.
        known, unknown: what is added to the state of the row.
    """

    place: NDArray[np.int32]
    row: NDArray[np.int32]
    kind: NDArray[np.int8]
    known: Floats
    unknown: Floats

    def select(self, which: NDArray[Any]) -> "_Events":
        """Return some of them, in this order."""
        place, row, kind, known, unknown = self
        return _Events(place[which], row[which], kind[which], known[which], unknown[which])

    def join(self, more: "_Events") -> "_Events":
        """Return both by place, of equals these first."""
        ordered = order_stably(np.concatenate([self.place, more.place]))
        pairs: Any = zip(self, more, strict=True)
        return _Events(*(np.concatenate(pair)[ordered] for pair in pairs))


def _make_events(place: Rows, row: Rows, kind: Rows, known: Floats, unknown: Floats) -> _Events:
    """Return events; there are many, so that small numbers save memory and time."""
    return _Events(place.astype(np.int32), row.astype(np.int32), kind.astype(np.int8), known, unknown)


class BulkRecords(Records):
    """Records that can take in a history at once."""

    def note_all(self, graph: CrawlGraph, rows: Rows, values: Floats) -> RecordHistory:
        """Take in nodes that were fetched one after the other.

        Args:
            graph: with all of them.
            rows: of the nodes, each for the first time, shape (m,).
            values: of the nodes, shape (m,).
        """
        self.reserve(graph.size)
        many, base = len(rows), self.fetched
        place, link = self._walk_links(rows)
        self._number[rows] = np.arange(base, base + many)
        self.fetched += many
        # From here on, records are counted from the first new one, and so are fetched nodes ("places").
        targets, record = self._list_links(graph, rows, base)
        ends = np.searchsorted(record, np.arange(KINDS * many + 1))
        sizes = np.diff(ends)
        self._reserve_records()
        self._span[KINDS * base : KINDS * self.fetched] = np.stack([self._ended + ends[:-1], sizes], axis=1)
        self._add_targets(targets)
        self._value[base : self.fetched] = values
        source, number = record // KINDS, self._number[targets].astype(np.int64)
        first = self._connect_all(targets, record + KINDS * base)
        fetched = (number >= 0) & (number < base + source)
        total = np.asarray(np.bincount(record[fetched], self._value[number[fetched]], KINDS * many), np.float64)
        count = np.bincount(record[fetched], minlength=KINDS * many).astype(np.int64)
        self._own[KINDS * base : KINDS * self.fetched] = np.stack([total, count, total, count], axis=1)
        later = np.flatnonzero(number > base + source)  # links to who is fetched after who links
        place, link = np.concatenate([place, number[later] - base]), np.concatenate([link, first + later])
        place, from_last = np.divmod(np.sort(place * self._ends + self._ends - 1 - link), self._ends)
        teller = self._record[self._ends - 1 - from_last].astype(np.int64)
        flow = values / np.sqrt(np.maximum(sizes.reshape(many, KINDS).sum(axis=1), 1))
        doubt = count + DOUBT
        known, unknown = total / doubt, np.divide(DOUBT, doubt)
        begun = _make_events(source, targets, record % KINDS, known[record], unknown[record])
        told = self._tell_all(place, teller, values)
        before = self._add_all(rows, begun, begun.join(told), flow[source])
        totals = np.add.accumulate(np.concatenate([[self.total], values]))[1:]
        self.total = float(totals[-1])
        learned = place, teller % KINDS, values[place]
        sums, counts = self._sum_kinds(total.reshape(many, KINDS), count.reshape(many, KINDS), *learned)
        return RecordHistory(before, totals, sums, counts)

    def _list_links(self, graph: CrawlGraph, rows: Rows, base: int) -> tuple[Rows, Rows]:
        """Return the targets of these rows and the record of each link to them, by record."""
        sources, targets, alpha = graph.list_all_links(rows)
        others = sources != targets
        targets = targets[others]
        record = KINDS * (self._number[sources[others]].astype(np.int64) - base) + (alpha[others] > 0)
        by_record = order_stably(record)
        return targets[by_record], record[by_record]

    def _walk_links(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return all links so far to these rows: the place among `rows`, and the link."""
        places, links = [NO_ROWS], [NO_ROWS]
        place, link = np.arange(len(rows)), self._last[rows].astype(np.int64)
        while len(place := place[link >= 0]):
            link = link[link >= 0]
            places.append(place)
            links.append(link)
            link = self._before[link].astype(np.int64)
        return np.concatenate(places), np.concatenate(links)

    def _connect_all(self, targets: Rows, record: Rows) -> int:
        """Note links, in order, with the record of each; return the number of the first."""
        first, ordered = self._reserve_links(len(targets)), order_stably(targets)
        sorted_targets = targets[ordered]
        is_first = np.concatenate([[True], sorted_targets[1:] != sorted_targets[:-1]])[: len(ordered)]
        before = np.concatenate([[0], first + ordered[:-1]])[: len(ordered)]
        before[is_first] = self._last[sorted_targets[is_first]]
        self._before[first + ordered] = before
        self._record[first : first + len(targets)] = record
        is_last = np.concatenate([is_first[1:], [True]])[: len(ordered)]
        self._last[sorted_targets[is_last]] = first + ordered[is_last]
        return first

    def _tell_all(self, place: Rows, teller: Rows, values: Floats) -> _Events:
        """Let records know the values of their targets, in order; return what that changes.

        Args:
            place: of the node that is fetched, ascending.
            teller: the record of a link to it.
            values: of all nodes, by place.
        """
        ordered = order_stably(teller)
        begins = np.flatnonzero(np.diff(teller[ordered], prepend=-1))
        records, sizes = teller[ordered[begins]], np.diff(begins, append=len(teller))
        largest = np.argsort(-sizes, kind="stable")
        records, begins, sizes = records[largest], begins[largest], sizes[largest]
        own = self._own[records]
        pairs, known, unknown = [NO_ROWS], [np.empty(0)], [np.empty(0)]
        for turn in range(int(sizes.max(initial=0))):
            some = int(np.searchsorted(-sizes, -turn))
            pair, mine = ordered[begins[:some] + turn], own[:some]
            mine[:, SUM] += values[place[pair]]
            mine[:, COUNT] += 1
            tells, more_known, less_unknown = update_told(mine)
            pairs.append(pair[tells])
            known.append(more_known)
            unknown.append(less_unknown)
        self._own[records] = own
        telling = np.concatenate(pairs)
        turns = np.argsort(telling)
        telling = telling[turns]
        begins, many = self._span[teller[telling]].T
        last = np.cumsum(many)
        reached = self._targets[np.repeat(begins - last + many, many) + np.arange(many.sum())]
        return _make_events(
            np.repeat(place[telling], many),
            reached,
            np.repeat(teller[telling] % KINDS, many),
            np.repeat(np.concatenate(known)[turns], many),
            np.repeat(np.concatenate(unknown)[turns], many),
        )

    def _add_all(self, rows: Rows, begun: _Events, events: _Events, flow: Floats) -> Floats:
        """Add what new records begin with and what records tell; return columns just before the nodes were fetched.

        Args:
            rows: of the nodes, by place.
            begun: what the records of the nodes begin with.
            events: `begun`, and what records tell.
            flow: what is added to the flow with each of `begun`.
        """
        # What reaches a node before it is fetched comes first: so its own state can be read between.
        early, is_begun_early = self._is_early(rows, events), self._is_early(rows, begun)
        self._add(events.select(early), begun.row[is_begun_early], flow[is_begun_early])
        before = self.lines[rows].T
        self._add(events.select(~early), begun.row[~is_begun_early], flow[~is_begun_early])
        return before

    def _add(self, events: _Events, linked: NDArray[np.int32], flow: Floats) -> None:
        np.add.at(self._columns[KNOWN], events.row, events.known)
        for kind in range(KINDS):
            of_kind = events.kind == kind
            np.add.at(self._columns[UNKNOWN + kind], events.row[of_kind], events.unknown[of_kind])
        np.add.at(self._columns[FLOW], linked, flow)
        np.add.at(self._columns[LINKS], linked, 1.0)

    def _is_early(self, rows: Rows, events: _Events) -> NDArray[np.bool_]:
        """Return whether each event reaches a node before that is fetched, as one of `rows`, or one that is not."""
        age = self._number[events.row].astype(np.int64) - (self.fetched - len(rows))
        return np.asarray((age < 0) | (events.place < age))

    def _sum_kinds(
        self, total: Floats, count: NDArray[np.int64], place: Rows, kind: Rows, value: Floats
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Add to the sums and counts by kind; return both after each place, shape (KINDS, m).

        Args:
            total: of the new records, shape (m, KINDS).
            count: likewise.
            place: of each target that a record comes to know, in order.
            kind: likewise.
            value: likewise.
        """
        places = np.arange(len(total))
        sums, counts = np.empty((KINDS, len(total))), np.empty((KINDS, len(total)), np.int64)
        for which in range(KINDS):
            of_kind = kind == which
            at = np.concatenate([places, place[of_kind]])
            ordered = order_stably(at)
            last = np.searchsorted(at[ordered], places, side="right")
            more = np.concatenate([total[:, which], value[of_kind]])[ordered]
            sums[which] = np.add.accumulate(np.concatenate([[self.sums[which]], more]))[last]
            number = np.concatenate([count[:, which], np.ones(int(of_kind.sum()), np.int64)])[ordered]
            counts[which] = np.cumsum(np.concatenate([[self.counts[which]], number]))[last]
            self.sums[which], self.counts[which] = float(sums[which, -1]), int(counts[which, -1])
        return sums, counts
