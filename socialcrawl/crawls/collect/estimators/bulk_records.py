"""Records of many nodes that were fetched one after the other, taken in at once: bit for bit as one by one."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from socialcrawl.crawls.collect.estimators.records import (
    COUNT,
    DOUBT,
    KINDS,
    SUM,
    Floats,
    Records,
    average_records,
    split_links,
    update_told,
)
from socialcrawl.graph.graph import NO_ROWS, CrawlGraph, Rows


class RecordHistory(NamedTuple):
    """What `Records` held of each of m nodes just before it was fetched, and of all just after.

    Attributes:
        flow, known: float64[m]; unknown: float64[KINDS, m]; links: int32[m]: before.
        totals: float64[m]; sums: float64[KINDS, m]; counts: int64[KINDS, m]: after.
    """

    flow: Floats
    known: Floats
    unknown: Floats
    links: NDArray[np.int32]
    totals: Floats
    sums: Floats
    counts: NDArray[np.int64]

    def average(self, places: Rows, means: Sequence[float]) -> tuple[Floats, Floats, Floats]:
        """Return what `Records.add_up` returned of nodes just before they were fetched."""
        flow, known, links = self.flow[places], self.known[places], self.links[places]
        return flow, known, average_records(known, self.unknown[:, places], links, means)


class _Events(NamedTuple):
    """What is added to rows, in order: the place of the node that is fetched, the row, the kind of link, both parts."""

    place: Rows
    row: Rows
    kind: Rows
    known: Floats
    unknown: Floats


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
        by_record = [targets for row in rows.tolist() for targets in split_links(graph, row)]
        self._targets += by_record
        self._reserve_records()
        self._value[base : self.fetched] = values
        # From here on, records are counted from the first new one, and so are fetched nodes ("places").
        sizes = np.array([len(targets) for targets in by_record])
        targets, record = np.concatenate([NO_ROWS, *by_record]), np.repeat(np.arange(KINDS * many), sizes)
        source, number = record // KINDS, self._number[targets].astype(np.int64)
        first = self._connect_all(targets, record + KINDS * base)
        fetched = (number >= 0) & (number < base + source)
        total = np.bincount(record[fetched], self._value[number[fetched]], KINDS * many)
        count = np.bincount(record[fetched], minlength=KINDS * many)
        self._own[KINDS * base : KINDS * self.fetched] = np.stack([total, count, total, count], axis=1)
        later = np.flatnonzero(number > base + source)  # links to who is fetched after who links
        place, link = np.concatenate([place, number[later] - base]), np.concatenate([link, first + later])
        ordered = np.lexsort((-link, place))
        place, teller = place[ordered], self._record[link[ordered]]
        flow = values / np.sqrt(np.maximum(sizes.reshape(many, KINDS).sum(axis=1), 1))
        begun = _Events(
            source, targets, record % KINDS, (total / (count + DOUBT))[record], (DOUBT / (count + DOUBT))[record]
        )
        told = self._tell_all(place, teller, values)
        before = self._add_all(rows, base, begun, told, flow[source])
        totals = np.add.accumulate(np.concatenate([[self.total], values]))[1:]
        self.total = float(totals[-1])
        initial = total.reshape(many, KINDS).T, count.reshape(many, KINDS).T
        return RecordHistory(*before, totals, *self._sum_kinds(*initial, place, teller % KINDS, values[place]))

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
        first, ordered = self._reserve_links(len(targets)), np.argsort(targets, kind="stable")
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
        ordered = np.argsort(teller, kind="stable")
        records, begins, sizes = np.unique(teller[ordered], return_index=True, return_counts=True)
        largest = np.argsort(-sizes, kind="stable")
        records, begins, sizes = records[largest], begins[largest], sizes[largest]
        own, found = self._own[records], []
        for turn in range(int(sizes.max(initial=0))):
            some = int(np.searchsorted(-sizes, -turn))
            pairs, mine = ordered[begins[:some] + turn], own[:some]
            mine[:, SUM] += values[place[pairs]]
            mine[:, COUNT] += 1
            tells, known, unknown = update_told(mine)
            found.append((pairs[tells], known, unknown))
        self._own[records] = own
        pairs, known, unknown = (
            np.concatenate([NO_ROWS.astype(kind), *parts])
            for kind, parts in zip((np.int64, float, float), list(zip(*found, strict=True)) or [()] * 3, strict=True)
        )
        turns = np.argsort(pairs)
        pairs, known, unknown = pairs[turns], known[turns], unknown[turns]
        reached = [self._targets[record] for record in teller[pairs].tolist()]
        many = [len(rows) for rows in reached]
        at, kind = place[pairs], teller[pairs].astype(np.int64) % KINDS
        rows = np.concatenate([NO_ROWS, *reached])
        return _Events(np.repeat(at, many), rows, *(np.repeat(one, many) for one in (kind, known, unknown)))

    def _add_all(
        self, rows: Rows, base: int, begun: _Events, told: _Events, flow: Floats
    ) -> tuple[Floats, Floats, Floats, NDArray[np.int32]]:
        """Add what new records begin with and what records tell; return what `rows` had just before they were fetched.

        Args:
            rows: of the nodes, by place.
            base: how many were fetched before.
            begun: what the records of the nodes begin with.
            told: what records tell.
            flow: what is added to the flow with each of `begun`.
        """
        joined = _Events(*map(np.concatenate, zip(begun, told, strict=True)))
        ordered = np.argsort(joined.place, kind="stable")
        events = _Events(*(one[ordered] for one in joined))
        # What reaches a node before it is fetched comes first: so its own state can be read between.
        early, begun_early = (self._is_early(one, base) for one in (events, begun))
        before = []
        for now, now_begun in ((early, begun_early), (~early, ~begun_early)):
            np.add.at(self.known, events.row[now], events.known[now])
            for kind, unknown in enumerate(self.unknown):
                some = now & (events.kind == kind)
                np.add.at(unknown, events.row[some], events.unknown[some])
            np.add.at(self.flow, begun.row[now_begun], flow[now_begun])
            np.add.at(self.links, begun.row[now_begun], 1)
            before.append((self.flow[rows], self.known[rows], self.unknown[:, rows], self.links[rows]))
        return before[0]

    def _is_early(self, events: _Events, base: int) -> NDArray[np.bool_]:
        """Return whether each row is not fetched before the event, or was before all."""
        number = self._number[events.row].astype(np.int64)
        return (number < base) | (events.place < number - base)

    def _sum_kinds(
        self, total: Floats, count: NDArray[np.int64], place: Rows, kind: Rows, value: Floats
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Add to the sums and counts by kind; return both after each place, shape (KINDS, m).

        Args:
            total, count: of the new records, shape (KINDS, m).
            place, kind, value: of each target that a record comes to know, in order.
        """
        places = np.arange(total.shape[1])
        sums, counts = [], []
        for which in range(KINDS):
            some = kind == which
            at = np.concatenate([places, place[some]])
            ordered = np.argsort(at, kind="stable")
            last = np.searchsorted(at[ordered], places, side="right")
            more = np.concatenate([total[which], value[some]])[ordered]
            sums.append(np.add.accumulate(np.concatenate([[self.sums[which]], more]))[last])
            number = np.concatenate([count[which], np.ones(int(some.sum()), np.int64)])[ordered]
            counts.append(np.cumsum(np.concatenate([[self.counts[which]], number]))[last])
            self.sums[which], self.counts[which] = float(sums[-1][-1]), int(counts[-1][-1])
        return np.stack(sums), np.stack(counts)
