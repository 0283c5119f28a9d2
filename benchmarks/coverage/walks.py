"""Walks through known graphs: how often what a sample and its audits show holds the truth, at several lengths."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from benchmarks.coverage.table import Shown, repeat
from benchmarks.coverage.worlds import Place, near, places
from socialcrawl.crawls.sample import audit as audits
from socialcrawl.crawls.sample.audit import DatasetAudit
from socialcrawl.crawls.sample.audit_report import GROUPS
from socialcrawl.crawls.sample.crawl import Sample
from socialcrawl.crawls.sample.estimates import NOTHING, Estimate, list_doubling_edges, make_histogram
from socialcrawl.crawls.sample.evidence import Evidence, gather_evidence
from socialcrawl.crawls.sample.neighbour_lists import UNREAD
from socialcrawl.crawls.sample.rules import WalkRules
from socialcrawl.crawls.sample.topic_stability import TopicStability, measure_stability
from socialcrawl.crawls.sample.walks import Walks
from socialcrawl.crawls.seeds import Seeds
from socialcrawl.engine.draws import draw_uniform
from socialcrawl.engine.loop import run
from socialcrawl.engine.model import Act, Node, Pick
from socialcrawl.lab.experiments.sampling.truths import count_out_degrees, find_reached
from socialcrawl.lab.experiments.sampling.worlds import Flags, Floats, Ints, list_sources
from socialcrawl.lab.instant import SequenceStore, make_parts
from socialcrawl.system.garbage_collection import pause_garbage_collection

TITLE = "Samples and audits by walks"
NOTE = """Each run is one hard-focused walk of eight walkers (burn-in 10) that start from accounts near each other.
It stops at each length, in accounts read. After 3,500 steps it has read all of the smaller topics: accounts are
counted then, and intervals have no width. The audited collections are a breadth-first crawl from the same accounts
when it holds 12.9 % and 40 % of the topic. The true values are those of the accounts that the walks of the run can
reach. Cells: how many of the intervals shown contain the true value (95 % is the aim), in how many runs they were
shown, and their median width."""

LENGTHS = (500, 900, 1_800, 3_500)
WALKERS = 8
HELD = (0.129, 0.4)
FIRST = "the first look that shows anything"
IDLE = 20_000  # draws without anybody new after which a walk ends: of 100,000, as usual, most would tell nothing


def measure(runs: int) -> list[Shown]:
    """Return what `runs` runs on each graph showed."""
    return repeat(places(), runs, find_intervals)


@dataclass(frozen=True, eq=False)
class Asked:
    """What is asked of a sample.

    Attributes:
        held: collections that are audited, bool[n] each, by name; `linked`: whom these link to, likewise.
        part: bool[n], a third of all accounts, drawn; `corner`: a fifth of the topic, around one account.
    """

    held: dict[str, Flags]
    linked: dict[str, Flags]
    part: Flags
    corner: Flags


@dataclass(frozen=True, eq=False)
class Look:
    """What a sample tells with at one length, `at`, and what it says of `links`; None: withheld."""

    at: str
    seen: Evidence
    links: TopicStability | None


def find_intervals(
    place: Place,
    seed: int,
    lengths: Sequence[int] = LENGTHS,
    walkers: int = WALKERS,
    burn_in: int = 10,
    *,
    often: int = 0,
) -> Iterator[Shown]:
    """Yield what one run shows at each of its lengths; and at the first look that shows anything, at FIRST.

    Args:
        place: the graph.
        seed: of all draws.
        lengths: accounts read, rising.
        walkers: walks that begin near each other.
        burn_in: on-topic visits of each that do not count.
        often: accounts read from one look to the next, of those of which the first counts; 0: there are none.
    """
    within = find_reached(place.world, place.topic, "hard")
    begin = near(place, within, walkers, seed)
    how = WalkRules(inward=True, walkers=walkers, burn_in=burn_in, seed=seed, idle=IDLE)
    crawl = Sample(Seeds(names=[Node(one) for one in begin], known=True), how, lengths[0])
    looks: list[Look] = []
    first: list[Look] = []
    between = set(range(often, lengths[-1] + 1, often)) if often else set()
    with pause_garbage_collection():
        for length in sorted({*lengths, *between}):
            if length not in between and length not in lengths:
                continue
            crawl.steps = length
            run(make_parts(crawl, place.source, SequenceStore()), size=walkers, folded=True)
            seen = gather_evidence(crawl.walks)
            look = Look(f"{length:,} steps", seen, linked(crawl.walks, seen))
            if length in between and (seen.verdict.enough or length == max(between)):
                first.append(replace(look, at=FIRST))
                between = set()
            if length in lengths:
                looks.append(look)
        topic = whole(crawl, place)
    asked = questions(place, within, begin[0], seed)
    for look in looks + first:
        yield from answers(place, look, topic, asked)


def linked(walks: Walks, seen: Evidence) -> TopicStability | None:
    """How many links stay on topic, as the report shows it; None: withheld."""
    if not seen.verdict.enough:
        return None
    return measure_stability(walks, seen.rows, seen.weight, complete=seen.verdict.whole)


def whole(crawl: Sample, place: Place) -> Ints:
    """Return the nodes of the part of the topic in which walks are, int64, after all of it was read."""
    lists = crawl.walks.lists
    for walker in crawl.walks.walkers:
        walker.why = walker.why or "over"  # only the lists matter from here
    while True:
        on = np.frombuffer(bytes(lists.on), np.bool_)
        owner, codes = lists.list_entries()
        unread = np.unique(codes[on[owner] & (lists.find_places(codes >> 1) == UNREAD)] >> 1).tolist()
        if not unread:
            return gather_evidence(crawl.walks).found
        each = enumerate(product(unread, (Act.WALK, Act.INWARD)), crawl.picks)
        batch = tuple(Pick(n, Node(node), act) for n, (node, act) in each)
        (talk,) = place.source.start_conversations(batch, {})
        try:
            next(talk)
        except StopIteration as end:
            crawl.absorb(batch, [end.value[pick.n] for pick in batch])


def questions(place: Place, within: Flags, first: int, seed: int) -> Asked:
    """Return the questions for a run that begins with `first`."""
    size = place.world.size
    held = {f"{share:.1%}": ball(place, within, first, round(share * int(within.sum())), out=True) for share in HELD}
    linked = {}
    for name, flags in held.items():
        linked[name] = flags.copy()
        for one in np.flatnonzero(flags).tolist():
            linked[name][place.world.graph.list_links(one)[0]] = True
    around = int(np.random.default_rng(seed).choice(np.flatnonzero(within)))
    corner = ball(place, within, around, round(0.2 * int(within.sum())), out=False)
    return Asked(held, linked, draw_uniform(seed, "part", 0, size) < 1.0 / 3.0, corner)


def ball(place: Place, within: Flags, first: int, count: int, *, out: bool) -> Flags:
    """Return the first `count` accounts of `within` that a breadth-first crawl from `first` reaches, bool[n].

    Args:
        place: the graph.
        within: bool[n].
        first: where it begins; where it ends early, it begins again with the first account that it lacks.
        count: how many.
        out: whether it follows links only as they point.
    """
    found = np.zeros(place.world.size, bool)
    graph = place.world.graph
    line, rest = [first], iter(np.flatnonzero(within).tolist())
    for _ in range(count):
        one = line.pop(0) if line else next(rest)
        while found[one]:
            one = line.pop(0) if line else next(rest)
        found[one] = True
        others = graph.list_links(one)[0].tolist()
        if not out:
            others += place.source.back.list_links(one)[0].tolist()
        line += [other for other in others if within[other] and not found[other]]
    return found


def answers(place: Place, look: Look, topic: Ints, asked: Asked) -> Iterator[Shown]:
    """Yield what a sample and its audits show at one length, beside the truth of the accounts in `topic`, int64."""
    for name in asked.held:
        yield from _audited(place, look, topic, asked, name)
    node, seen, outs = look.seen.rows.node, look.seen, count_out_degrees(place.world).astype(np.float64)
    for name, flags in (("a third of the accounts", asked.part), ("a corner of the topic", asked.corner)):
        yield _shown(
            f"share: {name}", place, look, seen.make_series().estimate_share(flags[node]), float(flags[topic].mean())
        )
    yield _shown(
        "mean: links of an account",
        place,
        look,
        seen.make_series().estimate_mean(outs[node]),
        float(outs[topic].mean()),
    )
    yield from _bars(place, look, topic, outs)
    yield from _linked(place, look, topic, outs)


def _bars(place: Place, look: Look, topic: Ints, outs: Floats) -> Iterator[Shown]:
    """Yield what a sample shows of some bars of the histogram of links, `outs` of each account, float64[n]."""
    edges = list_doubling_edges(float(outs[topic].max()))
    counts = np.histogram(outs[topic], edges)[0]
    seen, there = look.seen, counts > 0
    told = make_histogram(outs[seen.rows.node], edges, seen.weight, seen.rows.walker, confidence=seen.confidence)
    named = {"highest": int(np.argmax(counts)), "lowest": int(np.flatnonzero(there)[np.argmin(counts[there])])}
    for what, row in (*named.items(), ("first", 0), ("second", 1), ("third", 2)):
        bar = told[row].share
        found = bar if bar.value > 0.0 else None
        yield _shown(f"share: the {what} bar of the histogram of links", place, look, found, counts[row] / len(topic))


def _linked(place: Place, look: Look, topic: Ints, outs: Floats) -> Iterator[Shown]:
    """Yield what a sample shows of where the links of accounts lead, `outs` of each, float64[n]."""
    there, on = (_counted(place, flags)[topic] for flags in (place.world.there, place.topic.on & place.world.there))
    every, some = outs[topic], there > 0.0
    links = look.links or TopicStability(NOTHING, NOTHING, (), NOTHING)
    lost = float((every - there).sum() / every.sum())
    yield _shown("share: links to accounts on topic", place, look, links.staying, float(on.sum() / there.sum()))
    own = float((on[some] / there[some]).mean())
    yield _shown("mean: an account's share of links to accounts on topic", place, look, links.each, own)
    if lost:
        yield _shown("share: links to accounts that cannot be read", place, look, links.lost, lost)


def _audited(place: Place, look: Look, topic: Ints, asked: Asked, name: str) -> Iterator[Shown]:
    """Yield what the audit of a collection shows; of its gaps, the largest group and the one listed first."""
    held, seen, label = asked.held[name], look.seen, place.label
    largest = int(np.argmax(np.bincount(label[topic])))
    found = _audit(place, seen, topic, asked, name) if seen.verdict.enough else None
    gaps = {} if found is None else {one.group: one for one in found.gaps}
    first = largest if found is None else found.gaps[0].group
    near, mine, widest = asked.linked[name] & ~held, label == largest, label == first
    gap, top, search = gaps.get(largest), gaps.get(first), None if found is None else found.search
    every = np.ones(len(held), bool)
    told: list[tuple[str, Flags, Flags, Any, str]] = [
        ("share held", held, every, found, "share"),
        ("linked to, not held", near, every, found, "reach"),
        ("neither held nor linked to", ~(held | near), every, found, "beyond"),
        ("found by the search", asked.corner, every, search, "found"),
        ("of what is held, found by the search", asked.corner, held, search, "held"),
        ("found by the search, not held", asked.corner & ~held, every, search, "only"),
        ("largest group, of the topic", mine, every, gap, "topic"),
        ("largest group, held of it", held, mine, gap, "held"),
        ("largest group, the gap", mine & ~held, every, gap, "lacking"),
        ("largest group, linked to", mine & near, every, gap, "reach"),
        ("gap listed first, of the topic", widest, every, top, "topic"),
        ("gap listed first, held of it", held, widest, top, "held"),
        ("gap listed first, the gap", widest & ~held, every, top, "lacking"),
        ("gap listed first, linked to", widest & near, every, top, "reach"),
    ]
    counts = [("accounts in the topic", len(topic), "size")]
    counts += [("accounts linked to, not held", int(near[topic].sum()), "near")]
    for what, count, part in counts:
        yield _shown(f"audit of {name}: {what}", place, look, getattr(found, part, None), count)
    for what, some, of, whole, part in told:
        truth = float(some[topic[of[topic]]].mean())
        yield _shown(f"audit of {name}: {what}", place, look, getattr(whole, part, None), truth)


def _audit(place: Place, seen: Evidence, topic: Ints, asked: Asked, name: str) -> DatasetAudit:
    """Return the audit of a collection; the platform's search is assumed to find the corner of the topic."""
    node, held = seen.rows.node, asked.held[name]
    linked_, mine = asked.linked[name] & ~held, topic[held[topic]]
    sample = audits.TopicSample(
        held[node], linked_[node], seen.weight, seen.rows.walker, asked.corner[node], place.label[node]
    )
    count = len(np.intersect1d(seen.found, mine)) if seen.verdict.whole else len(mine)
    known = len(seen.found) if seen.verdict.whole else len(np.union1d(seen.found, mine))
    return audits.audit(sample, count, least=known, groups=GROUPS, confidence=seen.confidence)


def _shown(what: str, place: Place, look: Look, found: Estimate | None, truth: float) -> Shown:
    """Return what a sample shows, or withholds, of a quantity."""
    withheld = found is None or not look.seen.verdict.enough
    low, high = (None, None) if found is None or withheld else (found.low, found.high)
    return Shown(what, place.title, look.at, low, high, float(truth))


def _counted(place: Place, flags: Flags) -> Floats:
    """How many links of each account lead to such accounts, float64[n]."""
    graph = place.world.graph
    found: Floats = np.bincount(list_sources(graph), flags[graph.indices], place.world.size).astype(np.float64)
    return found
