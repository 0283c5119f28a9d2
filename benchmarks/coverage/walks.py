"""Walks through known graphs: how often what a sample and its audits show holds the truth, at several lengths."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from benchmarks.coverage.table import Shown
from benchmarks.coverage.worlds import Place, near, places
from socialcrawl.collect.seeds import Seeds
from socialcrawl.draws import uniform
from socialcrawl.garbage import uncollected
from socialcrawl.lab.doors import Tape, parts
from socialcrawl.lab.sampling.truths import out_degrees, reached
from socialcrawl.lab.sampling.worlds import Flags, Floats, Ints, sources
from socialcrawl.model import Node, Pick
from socialcrawl.run import run
from socialcrawl.sample import audit as audits
from socialcrawl.sample.crawl import Sample
from socialcrawl.sample.estimates import Estimate
from socialcrawl.sample.evidence import Evidence, evidence
from socialcrawl.sample.how import How
from socialcrawl.sample.lists import UNREAD
from socialcrawl.sample.staying import staying
from socialcrawl.sample.walks import Walks

TITLE = "Samples and audits by walks"
NOTE = """A run is one hard-focused walk of eight walkers (burn-in 10) that begin with accounts near each other. It is
stopped at each length, a number of accounts read; 3,500 steps read all of the smaller topics, and then accounts are
counted, with intervals of no width. The audited collections are what a breadth-first crawl from the same accounts has
when it has 12.9 % and 40 % of the topic. The truth is that of what the walks of the run can reach. Cells: how many of
the intervals shown hold the truth (nominal 95 %), in how many of the runs they were shown, and their median width."""

LENGTHS = (500, 900, 1_800, 3_500)
WALKERS = 8
HELD = (0.129, 0.4)
IDLE = 20_000  # draws without anybody new after which a walk ends: of 100,000, as usual, most would tell nothing


def measure(runs: int) -> list[Shown]:
    """Return what `runs` runs on each graph showed."""
    found: list[Shown] = []
    for place in places():
        for number in range(runs):
            found += shown(place, number)
        print(f"  {place.title}: {runs} runs", flush=True)
    return found


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
    """What a sample tells with at one length, `at`, and the share of `links` that stay on topic; None: withheld."""

    at: str
    seen: Evidence
    links: Estimate | None


def shown(
    place: Place, seed: int, lengths: Sequence[int] = LENGTHS, walkers: int = WALKERS, burn_in: int = 10
) -> Iterator[Shown]:
    """What one run shows at each of its lengths."""
    within = reached(place.world, place.topic, "hard")
    begin = near(place, within, walkers, seed)
    how = How(inward=True, walkers=walkers, burn_in=burn_in, seed=seed, idle=IDLE)
    crawl = Sample(Seeds(names=[Node(one) for one in begin], known=True), how, lengths[0])
    looks = []
    with uncollected():
        for length in lengths:
            crawl.steps = length
            run(parts(crawl, place.source, Tape()), size=walkers, folded=True)
            seen = evidence(crawl.walks)
            looks.append(Look(f"{length:,} steps", seen, linked(crawl.walks, seen)))
        topic = whole(crawl, place)
    asked = questions(place, within, begin[0], seed)
    for look in looks:
        yield from answers(place, look, topic, asked)


def linked(walks: Walks, seen: Evidence) -> Estimate | None:
    """The share of links that stay on topic, as the report shows it; None: withheld."""
    if not seen.verdict.enough:
        return None
    return staying(walks, seen.rows, seen.weight, whole=seen.verdict.whole).staying


def whole(crawl: Sample, place: Place) -> Ints:
    """The nodes of the part of the topic in which walks are, int64, after all of it was read."""
    lists = crawl.walks.lists
    for walker in crawl.walks.walkers:
        walker.why = walker.why or "over"  # only the lists matter from here
    while True:
        on = np.frombuffer(bytes(lists.on), np.bool_)
        owner, codes = lists.entries()
        unread = np.unique(codes[on[owner] & (lists.places(codes >> 1) == UNREAD)] >> 1).tolist()
        if not unread:
            return evidence(crawl.walks).found
        each = enumerate(product(unread, ("walk", "inward")), crawl.picks)
        batch = tuple(Pick(n, Node(node), act) for n, (node, act) in each)
        (talk,) = place.source.talks(batch, {})
        try:
            next(talk)
        except StopIteration as end:
            crawl.absorb(batch, [end.value[pick.n] for pick in batch])


def questions(place: Place, within: Flags, first: int, seed: int) -> Asked:
    """What is asked of a run that begins with `first`."""
    size = place.world.size
    held = {f"{share:.1%}": ball(place, within, first, round(share * int(within.sum())), out=True) for share in HELD}
    linked = {}
    for name, flags in held.items():
        linked[name] = flags.copy()
        for one in np.flatnonzero(flags).tolist():
            linked[name][place.world.graph.out(one)[0]] = True
    around = int(np.random.default_rng(seed).choice(np.flatnonzero(within)))
    corner = ball(place, within, around, round(0.2 * int(within.sum())), out=False)
    return Asked(held, linked, uniform(seed, "part", 0, size) < 1.0 / 3.0, corner)


def ball(place: Place, within: Flags, first: int, count: int, *, out: bool) -> Flags:
    """The first `count` accounts of `within` that a breadth-first crawl from `first` comes to, bool[n].

    Args:
        place: the graph.
        within: bool[n].
        first: where it begins; where it ends early, it begins anew with the first account that it lacks.
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
        others = graph.out(one)[0].tolist()
        if not out:
            others += place.source.back.out(one)[0].tolist()
        line += [other for other in others if within[other] and not found[other]]
    return found


def answers(place: Place, look: Look, topic: Ints, asked: Asked) -> Iterator[Shown]:
    """What a sample and its audits show at one length, beside the truth of the accounts in `topic`, int64."""
    for name in asked.held:
        yield from _audited(place, look, topic, asked, name)
    node, outs = look.seen.rows.node, out_degrees(place.world).astype(np.float64)
    for name, flags in (("a third of the accounts", asked.part), ("a corner of the topic", asked.corner)):
        yield _shown(f"share: {name}", place, look, look.seen.series().share(flags[node]), flags[topic])
    yield _shown("mean: links of an account", place, look, look.seen.series().mean(outs[node]), outs[topic])
    there, on = (_counted(place, flags)[topic] for flags in (place.world.there, place.topic.on & place.world.there))
    low, high = (None, None) if look.links is None else (look.links.low, look.links.high)
    yield Shown("share: links to accounts on topic", place.title, look.at, low, high, float(on.sum() / there.sum()))


def _audited(place: Place, look: Look, topic: Ints, asked: Asked, name: str) -> Iterator[Shown]:
    """What the audit of a collection shows."""
    held, seen = asked.held[name], look.seen
    linked_ = asked.linked[name] & ~held
    largest = int(np.argmax(np.bincount(place.label[topic])))
    truths = {
        f"audit of {name}: share held": held[topic].mean(),
        f"audit of {name}: accounts in the topic": float(len(topic)),
        f"audit of {name}: linked to, not held": linked_[topic].mean(),
        f"audit of {name}: gap of the largest group": ((place.label == largest) & ~held)[topic].mean(),
    }
    if not seen.verdict.enough:
        yield from (Shown(what, place.title, look.at, None, None, float(truth)) for what, truth in truths.items())
        return
    node, mine = seen.rows.node, topic[held[topic]]
    sample = audits.Sample(held[node], linked_[node], seen.weight, seen.rows.walker, group=place.label[node])
    count = len(np.intersect1d(seen.found, mine)) if seen.verdict.whole else len(mine)
    found = audits.audit(sample, count, least=len(seen.found), groups=None, confidence=seen.confidence)
    gap = next((one.lacking for one in found.gaps if one.group == largest), seen.series().share(np.zeros(len(node))))
    for (what, truth), one in zip(truths.items(), (found.share, found.size, found.reach, gap), strict=True):
        yield Shown(what, place.title, look.at, one.low, one.high, float(truth))


def _shown(what: str, place: Place, look: Look, found: Estimate, true: Flags | Floats) -> Shown:
    """What a sample shows, or withholds, of something whose true mean over the topic is that of `true`."""
    low, high = (found.low, found.high) if look.seen.verdict.enough else (None, None)
    return Shown(what, place.title, look.at, low, high, float(true.mean()))


def _counted(place: Place, flags: Flags) -> Floats:
    """How many links of each account lead to such accounts, float64[n]."""
    graph = place.world.graph
    found: Floats = np.bincount(sources(graph), flags[graph.indices], place.world.size).astype(np.float64)
    return found
