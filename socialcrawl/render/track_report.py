"""What a campaign that tracks accounts knows, for people: who counts, who rose and fell, yields, freshness."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from rich.console import Console, RenderableType
from rich.table import Table

from socialcrawl.crawls.track.rank_changes import OUTSIDE
from socialcrawl.crawls.track.report import RankedAccount, TrackReport, Visit, VisitHistory
from socialcrawl.engine.model import Act
from socialcrawl.render.console import AccountText, Text
from socialcrawl.render.score_curve import ScoreCurve
from socialcrawl.text.wording import format_span, pluralize

TITLES = {
    "indegree": "accounts that most others link to",
    "importance": "most important accounts",
    "relevance": "accounts that the most relevant ones link to",
}
WIDEST = 1000  # columns: more than any table here has
SHOWN = ("visits", "indegree", "yield", "cash")
WORDS = ("act", "answered (UTC)", "asked")  # columns that are read from the left
MAYBE = ", so that some of those above may be chance"
ACTS = {"expand": "first visits", "recrawl": "returns"}


def list_parts(found: TrackReport) -> Iterator[RenderableType]:
    """Yield the texts and tables of what a campaign that tracks accounts knows."""
    past = format_span(found.now - found.then).removesuffix(" 0 h")
    yield _make_places_table(TITLES[found.target], found.top, found, past)
    for title, some in (("rose", found.rose), ("fell", found.fell)):
        if some:
            yield _make_places_table(f"{title} further than chance in {past}", some, found, past, moved=True)
    yield Text(_describe_comparison(found))
    yield _make_yields_table(found)
    yield Text("\n".join(_make_totals(found)))


def make_curve(found: TrackReport, name: str) -> ScoreCurve:
    """Return the posts that visits brought."""
    values = np.array(found.posts, np.float64)
    return ScoreCurve("posts that visits brought", values, f"{name}: what visits brought", ("visits", "posts (sum)"))


def show_visits(console: Console, history: VisitHistory) -> None:
    """Print when and why a campaign visited an account."""
    stands = history.place
    where = "it has no place" if stands is None else f"place {stands.place:,}, {history.target} {stands.weight:.6g}"
    console.print(Text(f"{history.account} in the campaign {history.campaign}, which tracks accounts: {where}"))
    if any(one.act == Act.CAPTURED for one in history.visits):
        capture = history.capture or "that the campaign followed"
        console.print(f"captured: brought by the capture {capture}, with the posts that were held (partial evidence)")
    if not history.visits:
        console.print("it was not visited yet: accounts that were read link to it")
        return
    parts = [_make_visits_table(history.visits, {**BROUGHT, **WHY})]
    wide = console.options.update(max_width=WIDEST)
    if console.measure(parts[0], options=wide).maximum > console.width:  # rather than cut, below each other
        parts = [
            _make_visits_table(history.visits, BROUGHT),
            _make_visits_table(history.visits, {**NUMBER, **WHY}, "what won, and what was known before"),
        ]
    for table in parts:
        console.print()
        console.print(table)


def _make_visits_table(
    history: Sequence[Visit], columns: Mapping[str, Callable[[Visit], str]], title: str | None = None
) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in columns:
        table.add_column(name, justify="left" if name in WORDS else "right", no_wrap=True)
    for one in history:
        table.add_row(*(cell(one) for cell in columns.values()))
    return table


def _format_visit(one: Visit) -> str:
    if one.act == Act.CAPTURED:
        return "nothing"
    if not one.since:
        return "everything"
    return "what is new" if one.act == Act.RECRAWL else "the window"


def _format_count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _format_feature(name: str) -> Callable[[Visit], str]:
    return lambda one: f"{one.features[name]:.6g}" if one.features else "-"


NUMBER: dict[str, Callable[[Visit], str]] = {"decision": lambda one: f"{one.n:,}"}
BROUGHT: dict[str, Callable[[Visit], str]] = {
    **NUMBER,
    "act": lambda one: one.act,
    "answered (UTC)": lambda one: one.at[:16].replace("T", " ") if one.at else "not yet",
    "asked": _format_visit,
    "posts": lambda one: one.missing or _format_count(one.posts),
    "occurrences": lambda one: "" if one.missing else _format_count(one.occurrences),
}
WHY: dict[str, Callable[[Visit], str]] = {
    "score": lambda one: f"{one.score:.6g}",
    **{name: _format_feature(name) for name in SHOWN},
}
"""What is told of a visit, by the head of its column: what it brought; what won, and what was known before."""


def _make_places_table(
    title: str, places: Sequence[RankedAccount], found: TrackReport, past: str, *, moved: bool = False
) -> Table:
    """Return a table of accounts in their order; of those that `moved`, with what chance alone would give."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, collapse_padding=True)
    table.add_column("place", justify="right", no_wrap=True)
    table.add_column("account", overflow="fold")
    for name in (found.target, _stack_words(f"{past} before"), "by\nchance" if moved else "visits", "last read\n(ago)"):
        table.add_column(name, justify="right", no_wrap=True)
    for place in places:
        weight = f"{place.weight:.2%}" if found.target == "importance" else f"{place.weight:,.6g}"
        before = "new" if place.before is None else f"{place.before:,}"
        read = "never" if place.visited_at is None else format_span(max(0.0, found.seen - place.visited_at))
        low, high = place.chance or (0, 0)
        cell = f"{low:,}-{high:,}" if moved else f"{place.visits:,}"
        table.add_row(f"{place.place:,}", AccountText(place.account, place.id), weight, before, cell, read)
    if not places:
        table.add_row("", "none yet", "", "", "", "")
    return table


def _describe_comparison(found: TrackReport) -> str:
    """Return what "by chance" says, and how many moves chance alone would show."""
    expected = round(found.compared * OUTSIDE)
    if not found.compared:
        return "places cannot be compared yet: no account was known before that others link to"
    many = f"{found.moved:,}" if found.moved else "none"
    legend = "by chance: the places of 19 in 20 accounts whose rate of links has not changed\n" if found.moved else ""
    return (
        f"{legend}rises and falls: {many} of {pluralize(found.compared, 'account')} left the places where chance alone "
        f"keeps 19 in 20;\nabout {expected:,} would leave them by chance{MAYBE if found.moved and expected else ''}"
    )


def _stack_words(words: str) -> str:
    """Return a head that takes little room: two words a line, as 23 h, 59 min, before."""
    each = words.split()
    return "\n".join(" ".join(each[i : i + 2]) for i in range(0, len(each), 2))


def _make_yields_table(found: TrackReport) -> Table:
    table = Table(title="what visits brought", title_justify="left", box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for name in ("visits", "requests", "new links", "posts", "links per\nrequest", "posts per\nrequest"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in found.yields:
        each = [f"{many / one.requests:,.2f}" if one.requests else "-" for many in (one.links, one.posts)]
        counts = [f"{many:,}" for many in (one.visits, one.requests, one.links, one.posts)]
        table.add_row(ACTS[one.act], *counts, *each)
    return table


def _make_totals(found: TrackReport) -> Iterator[str]:
    if found.target == "importance":
        yield (
            "importance: the share of all that OPIC has paid so far, along the links that were read; the rest went to "
            "accounts that are not listed and to OPIC's virtual page"
        )
    if found.young is not None:
        memory, clock = found.young
        yield (
            f"importance counts the whole history so far: memory = {memory:g} looks back further than OPIC's clock has "
            f"run ({clock:.2f})"
        )
    if found.plain_age is not None:
        own = f" ({format_span(found.age)} weighted by importance)" if found.age is not None else ""
        yield f"mean age of what is stored of an account: {format_span(found.plain_age)}{own}"
    if found.gone:
        gone = ", ".join(f"{count:,} {why}" for why, count in sorted(found.gone.items()))
        yield f"could not be read at the last attempt: {gone}"
