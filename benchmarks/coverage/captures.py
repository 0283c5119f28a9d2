"""Captures that a budget ends: how often the interval of the posts in all holds them, over words of real posts."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.coverage.table import Shown, covered, repeat
from benchmarks.coverage.worlds import SHARED
from socialcrawl.crawls.capture.crawl import Capture
from socialcrawl.crawls.capture.report import estimate_total
from socialcrawl.crawls.capture.rules import EVEN, CaptureRules
from socialcrawl.engine.model import Node, Outcome, Pick, format_time
from socialcrawl.engine.protocols import Batch
from socialcrawl.engine.time_spans import parse_span
from socialcrawl.lab.post_table import read_posts

Times = NDArray[np.float64]

TITLE = "Volumes of captures"
NOTE = """Each run is a capture with `order = "even"` of a word, or in every fourth run of two or three words, each a
query. The words are drawn, a third of each size, from the words of a corpus that are in 20 posts or more; the generated
corpus has volumes that are even, with a trend, periodic and in bursts. Pages have 100 or 500 posts. A budget in posts
ends the capture anywhere in a part, and the report estimates how many posts all 64 parts have. Columns: the budget, as
a share of these. Intervals are divided by the true number, so their width is relative to it. Bursty: the standard
deviation of the posts of a part is larger than their mean. The last rows are the words whose intervals miss most often.

Designs that were tried, on another draw of words (9 of the 160 are the same) and of generated volumes: 1,600 captures
of each corpus, budgets of 20 to 90 % in steps of 5. The constants of the estimate were chosen there. "All runs" has 45
cells of a corpus and a budget, "rows" the 249 cells with 60 intervals or more.

| design | all runs: lowest, highest, mean | rows below 90 % | median width |
|---|---|---|---|
| Student's t | 49%, 96%, 92% | 34 | 0.36 |
| t, 1.2 times as wide | 67%, 98%, 95% | 15 | 0.43 |
| the same from 24 parts on, not 16 | 42%, 98%, 94% | 19 of 211 | 0.37 |
| t, 1.4 times as wide | 78%, 100%, 97% | 13 | 0.50 |
| t with the degrees of freedom of the effective number of parts, 1.2 times as wide | 72%, 99%, 96% | 15 | 0.45 |
| bootstrap-t, 300 resamples | 68%, 95%, 92% | 38 | 0.37 |
| the same, 1.2 times as wide | 80%, 98%, 96% | 10 | 0.45 |
| t, wider near both limits of what is shown | 79%, 98%, 96% | 15 | 0.44 |
| t, upper end on a logarithmic scale | 69%, 97%, 95% | 17 | 0.41 |
| the same, 1.2 times as wide | 87%, 99%, 98% | 2 | 0.50 |
| the same, wider near both limits, withheld where vague: the one in use | 92%, 99%, 98% | 4, at least 89% | 0.52 |

The limits matter as much as the distribution. With a budget of 20 % of the posts, 16 parts of 64 are read only where
these have few posts, so the intervals shown are those of unlucky runs. More parts move that to larger budgets. With a
budget of 15 %, the design in use showed an interval in 34 of these 4,800 captures; 23 of them hold the truth."""
RUNS = 1_280
KEPT = 1_000
BUDGETS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # of all posts
PAGES, SMALLEST = (100, 500), 10  # posts of a page, and of the smallest that is worth a request
WORDS, LEAST = 80, 20  # words of a corpus, and posts of a word
SIZES = ((LEAST, 200), (200, 2_000), (2_000, 10**9))
PARTS = (32, 256)  # of further captures of the same words
WORST = 3
KINDS, GENERATED = ("even", "trend", "periodic", "bursts"), (40, 150, 600, 2_500, 10_000)
BEGIN, DAYS = 1_767_225_600.0, 200.0


@dataclass(frozen=True, eq=False)
class Word:
    """A word, and when the posts with it were written: float64[n], Unix seconds, in order."""

    name: str
    times: Times


@dataclass(frozen=True, eq=False)
class Corpus:
    """Posts of a span of time (Unix seconds), by the words that are captured."""

    title: str
    words: Sequence[Word]
    begin: float
    end: float


@dataclass(frozen=True)
class Read:
    """What a pick brought: the batch, its outcomes, and when its posts were written, in order."""

    batch: Batch
    outcome: Outcome
    times: Times


def measure(runs: int) -> list[Shown]:
    """Return what `runs` captures of each corpus showed, and the words whose intervals miss most often."""
    found = repeat(corpora(), runs, find_volumes)
    return [one for one in found if not one.interval.startswith("`")] + list_worst(found)


def find_volumes(corpus: Corpus, number: int) -> Iterator[Shown]:
    """Yield the intervals that captures of some words show, in shares of the truth, once for each row."""
    words = choose_words(corpus, number)
    page = PAGES[number // len(corpus.words) // 4 % len(PAGES)]
    for at, low, high in capture(corpus, words, number, page):
        for row in list_rows(words, corpus):
            yield Shown(row, corpus.title, at, low, high, 1.0)
    for parts in PARTS:
        for at, low, high in capture(corpus, words, number, page, parts):
            yield Shown(f"all runs, {parts} parts", corpus.title, at, low, high, 1.0)


def capture(
    corpus: Corpus, words: Sequence[Word], seed: int, page: int, parts: int = 64
) -> Iterator[tuple[str, float | None, float | None]]:
    """Yield the interval at each budget, in shares of the truth: the budget and the ends; None: withheld."""
    rules = CaptureRules(corpus.begin, corpus.end, EVEN, parts)
    nodes = [Node(-1 - place) for place in range(len(words))]
    posts = {node: word.times for node, word in zip(nodes, words, strict=True)}
    history = read_all(Capture(rules, nodes, seed), posts, page, corpus.end)
    truth = sum(len(times) for times in posts.values())
    for budget in BUDGETS:
        crawl = Capture(rules, nodes, seed)
        stop(crawl, history, round(budget * truth), page)
        total = estimate_total(crawl)
        yield f"{budget:.0%}", *((None, None) if total is None else (total.low / truth, total.high / truth))


def choose_words(corpus: Corpus, number: int) -> list[Word]:
    """Return the words of a run, each a query: one in turn, in every fourth run with one or two others."""
    size = len(corpus.words)
    first = number % size
    if number // size % 4 != 3:
        return [corpus.words[first]]
    rng = np.random.default_rng(number)
    others = [one for one in rng.permutation(size).tolist() if one != first]
    return [corpus.words[one] for one in (first, *others[: 1 + number % 2])]


def list_rows(words: Sequence[Word], corpus: Corpus) -> Iterator[str]:
    """Yield the rows of the table that a run with these words counts in."""
    yield "all runs"
    if len(words) > 1:
        yield "two or three queries"
        return
    (word,) = words
    for low, high in SIZES:
        if low <= len(word.times) < high:
            yield f"{low:,} to {high - 1:,} posts" if high < 10**9 else f"{low:,} posts or more"
    counts = np.histogram(word.times, 64, (corpus.begin, corpus.end))[0]
    if counts.std() > counts.mean():
        yield "bursty words"
    yield f"`{word.name}`, {len(word.times):,} posts"


def list_worst(found: Sequence[Shown]) -> list[Shown]:
    """Return what was shown of the words whose intervals hold the truth least often, in each corpus."""
    words: dict[tuple[str, str], list[Shown]] = {}
    for one in found:
        if one.interval.startswith("`"):
            words.setdefault((one.graph, one.interval), []).append(one)
    worst: list[Shown] = []
    for graph in dict.fromkeys(graph for graph, _ in words):
        mine = {key: covered(some) for key, some in words.items() if key[0] == graph}
        often = sorted((key for key in mine if 2 * mine[key].shown >= mine[key].runs), key=lambda key: mine[key].share)
        worst += [one for key in often[:WORST] for one in words[key]]
    return worst


def read_all(crawl: Capture, posts: dict[Node, Times], page: int, end: float) -> list[Read]:
    """Return the history of a capture that reads every post."""
    history: list[Read] = []
    while isinstance(batch := crawl.choose(1, end + 86_400.0), tuple):
        outcome, times = read_slice(batch[0], posts[batch[0].node], page * crawl.rules.pages)
        crawl.absorb(batch, [outcome])
        history.append(Read(batch, outcome, times))
    return history


def read_slice(pick: Pick, posts: Times, most: int) -> tuple[Outcome, Times]:
    """Return the outcome of a slice and the times of its posts: the newest `most`, and all of one second at least."""
    begin, end = parse_span(pick.since)
    first, last = np.searchsorted(posts, (begin, end)).tolist()
    start, mark = first, ""
    if last - first > most:
        start = last - most
        while start > first and ceil(posts[start]) >= end:
            start = max(first, start - most)
        rest = float(ceil(posts[start]))
        start, mark = (first, "") if rest <= begin or start == first else (start, format_time(rest))
    return Outcome(pick.n, pick.node, end, posts=last - start, mark=mark), posts[start:last]


def stop(crawl: Capture, history: Sequence[Read], budget: int, page: int) -> None:
    """Let a crawl learn what a budget in posts pays, as the report of its campaign does.

    The last page is as large as the budget allows, but not smaller than SMALLEST.
    """
    for one in history:
        posts = one.outcome.posts
        if budget < posts or budget - posts // page * page < SMALLEST:
            rest = budget % page
            count = min(posts, budget - rest + (rest if rest >= SMALLEST else 0))
            if count:
                crawl.note_open(one.batch[0], count, float(one.times[-count]))
            return
        crawl.absorb(one.batch, [one.outcome])
        budget -= posts


def corpora() -> Iterator[Corpus]:
    """Yield the corpora to measure on; those whose data is not on this machine are left out."""
    for name in ("ubuntu_irc", "congress2015_last12m"):
        path = SHARED / f"{name}.parquet"
        if path.exists():
            yield read_corpus(path)
        else:
            print(f"not measured: {path} is missing (set SOCIALCRAWL_SHARED)", flush=True)
    yield generate_corpus()


def read_corpus(path: Path, seed: int = 1) -> Corpus:
    """Return the posts of a file by words of which each is in LEAST posts or more; drawn alike from each size."""
    posts, rng = read_posts(path), np.random.default_rng(seed)
    rows: dict[str, list[int]] = {}
    for row, text in enumerate(posts.texts):
        for word in set(re.findall(r"[^\W\d_]{3,}", text.lower())):
            rows.setdefault(word, []).append(row)
    at = posts.created_at + rng.uniform(0.001, 0.999, len(posts))  # files have whole seconds, platforms have not
    words = []
    for place, (low, high) in enumerate(SIZES):
        some = sorted(word for word, mine in rows.items() if low <= len(mine) < high)
        count = (WORDS * (place + 1)) // len(SIZES) - (WORDS * place) // len(SIZES)
        drawn = sorted(rng.choice(some, min(count, len(some)), replace=False).tolist())
        words += [Word(word, np.sort(at[rows[word]])) for word in drawn]
    return Corpus(path.stem, words, float(posts.created_at.min()), float(posts.created_at.max() + 1))


def generate_corpus(copies: int = 4, seed: int = 1) -> Corpus:
    """Return volumes that are even, in bursts, with a trend and periodic, of several sizes; needs no data."""
    rng, end = np.random.default_rng(seed), DAYS * 86_400.0
    words = []
    for copy in range(copies):
        for kind in KINDS:
            for size in GENERATED:
                at = _draw_days(kind, int(rng.poisson(size)), rng) * 86_400.0
                words.append(Word(f"{kind} {size:,} ({copy + 1})", BEGIN + np.sort(at[(at >= 0) & (at < end)])))
    return Corpus("generated", words, BEGIN, BEGIN + end)


def _draw_days(kind: str, size: int, rng: np.random.Generator) -> Times:
    """Return when `size` posts were written, in days: float64[size]."""
    even = rng.uniform(0.0, DAYS, size)
    if kind == "trend":  # twenty times as many at the end as at the beginning
        return np.asarray(DAYS * np.log1p(19.0 * even / DAYS) / np.log(20.0))
    if kind == "periodic":  # of a month, with hours of the day: thinned
        every = rng.uniform(0.0, DAYS, 8 * size)
        weight = (1 + 0.9 * np.sin(2 * np.pi * every / 30.0)) * (1 + 0.9 * np.sin(2 * np.pi * every))
        return np.asarray(every[rng.random(8 * size) * 3.61 < weight][:size])
    if kind == "bursts":  # half of the posts in bursts, of very different sizes
        bursts = max(3, round(size**0.5))
        weight = rng.lognormal(0.0, 1.0, bursts)
        burst = rng.choice(bursts, size, p=weight / weight.sum())
        after = rng.uniform(0.0, DAYS, bursts)[burst] + rng.exponential(1.5, size)
        return np.asarray(np.where(rng.random(size) < 0.5, after, even))
    return even
