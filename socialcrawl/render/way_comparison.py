"""What ways of reading accounts find for a budget, for people and for scripts."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table

from socialcrawl.campaign.sections.access import MATCH, SEARCH, TIMELINE
from socialcrawl.forecast.reading_curve import (
    EVERYTHING,
    GROWTHS,
    IF_ENOUGH,
    MEASURED,
    Expectation,
    ReadingCurve,
    ReadingRecord,
    explain_lack,
)
from socialcrawl.render.console import Text
from socialcrawl.text.wording import pluralize

WAYS = (SEARCH, MATCH, TIMELINE)
UNKNOWN, IF_MARK = "-", "*"
GUIDE = "docs/how-to/match.md"


def show_curve(console: Console, curve: ReadingCurve) -> None:
    """Print a table of budgets and ways, what it rests on, and which way to choose."""
    ways = [way for way in WAYS if way in curve.records]
    if ways:
        table = Table(
            title="Relevance found, by budget", title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0)
        )
        table.add_column("budget", no_wrap=True)
        for way in ways:
            table.add_column(way, justify="right", no_wrap=True)
        for place, budget in enumerate(curve.budgets):
            table.add_row(_format_dollars(budget), *(_format_cell(curve.expected[way][place]) for way in ways))
        console.print(table)
        console.print()
    for line in _list_sentences(curve):
        console.print(Text(line))


def build_curve(curve: ReadingCurve) -> dict[str, Any]:
    """Return the same as plain values; money is in dollars, and what nobody knows is None."""
    return {
        "budget": curve.budget,
        "matching_posts": curve.matching,
        "ways": [
            {
                "read": way,
                "campaign": record.campaign,
                "dollars": record.dollars,
                "relevance": record.found,
                "lacking": explain_lack(record) or None,
                "expected": [
                    {"dollars": budget} | ({"relevance": None} if one is None else _build_expectation(one))
                    for budget, one in zip(curve.budgets, curve.expected[way], strict=True)
                ],
            }
            for way, record in curve.records.items()
        ],
        "recommendation": recommend_way(curve),
    }


def recommend_way(curve: ReadingCurve) -> str:
    """Return which way finds most for the campaign's budget, as sentences; or how to find out."""
    known, budget = curve.rank_ways(), _format_dollars(curve.budget)
    if not known:
        return _advise_trial(curve)
    (way, best), *others = known
    untried = [name for name in WAYS if name not in curve.records]
    if not others:
        compare = f"; to compare, run a campaign with read = {_join_ways(untried)} in the same database" * bool(untried)
        found = "finds" if best.basis in {EVERYTHING, MEASURED} else "is expected to find"
        return f'For {budget}, read = "{way}" {found} {_format_value(best)}. No other way can be forecast{compare}.'
    searched = dict(known).get(SEARCH)
    rivals = [one for name, one in known if name != SEARCH]
    if searched is not None and searched.basis == EVERYTHING and max(one.low for one in rivals) <= searched.high:
        return (
            f'For {budget}, read = "{SEARCH}" finds all that X\'s search returns: {_format_value(searched)}. Other '
            "ways can add only what reposts show."
        )
    high = max(one.high for _, one in others)
    if best.low > high:
        second, next_best = others[0]
        times = f", {best.value / next_best.value:,.1f} times as much as" if next_best.value > 0 else ", more than"
        return (
            f'For {budget}, read = "{way}" finds most: {_format_value(best)}{times} read = "{second}" '
            f"({_format_value(next_best)})."
        )
    close = [f'"{name}" ({_format_value(one)})' for name, one in known if one.high >= best.low]
    return f"For {budget}, read = {' and '.join(close)} may find as much: their ranges overlap."


def _advise_trial(curve: ReadingCurve) -> str:
    """Return how to learn what searches find."""
    search = curve.records.get(SEARCH)
    if search is not None:
        return (
            f"To compare, raise max_money of the campaign {search.campaign!r} and run it on: {_explain_lack(search)}."
        )
    return (
        'To compare, search the topic for $5 first: a campaign with read = "search" and max_money = 5. Nothing of '
        f"this is lost, as it goes on when you raise max_money. On the topics measured in {GUIDE}, searches found most."
    )


def _explain_lack(record: ReadingRecord) -> str:
    lacking = explain_lack(record)
    return f"it needs {lacking}" if lacking else "its forecasts do not reach that far yet"


def _list_sentences(curve: ReadingCurve) -> Iterator[str]:
    for way in WAYS:
        record = curve.records.get(way)
        if record is None:
            continue
        lack = f" Not enough data yet: {_explain_lack(record)}." if explain_lack(record) else ""
        ended = " It has read everything in reach." if record.is_complete else ""
        yield (
            f"{way}: campaign {record.campaign!r} found a relevance of {record.found:,.0f} for "
            f"${record.dollars:,.2f}.{ended}{lack}"
        )
    untried = [way for way in WAYS if way not in curve.records]
    if untried:
        yield f"Nothing was found on this topic in this database by: {', '.join(untried)}."
    if curve.records:
        yield from _list_notes(curve)
    yield recommend_way(curve)


def _list_notes(curve: ReadingCurve) -> Iterator[str]:
    """Yield what the marks of the table mean."""
    yield "Values without a range were measured; the others have 95 % ranges. Seeds cost money, but do not count."
    searches, others = (f"{GROWTHS[way].reach:g} times" for way in (SEARCH, MATCH))
    yield (
        f"{UNKNOWN}: not enough data, or too far ahead: forecasts reach {searches} (search) or {others} (others) as "
        f"far as a campaign got, and up to ${GROWTHS[SEARCH].most:g} and ${GROWTHS[MATCH].most:g}."
    )
    yield "Each campaign is priced as if it was alone: posts that another one paid for are counted at their price."
    search = curve.records.get(SEARCH)
    if search is not None and any(one is not None and one.basis == IF_ENOUGH for one in curve.expected[SEARCH]):
        yield (
            f"{IF_MARK}: if enough posts match. How many do is not known, so the range begins at what was found. "
            f"--counts with the file of {search.campaign!r} has X count them."
        )
    elif curve.matching is not None:
        yield f"{pluralize(curve.matching, 'post matches', 'posts match')}, as X counts them: no search finds more."


def _build_expectation(one: Expectation) -> dict[str, Any]:
    return {"relevance": one.value, "low": one.low, "high": one.high, "basis": one.basis}


def _format_cell(one: Expectation | None) -> str:
    if one is None:
        return UNKNOWN
    return f"{one.value:,.0f}{IF_MARK * (one.basis == IF_ENOUGH)}{_format_range(one)}"


def _format_value(one: Expectation) -> str:
    ends = _format_range(one)
    return f"{'up to ' * (one.basis == IF_ENOUGH)}{'about ' if ends else ''}{one.value:,.0f}{ends}"


def _format_range(one: Expectation) -> str:
    return f" ({one.low:,.0f} to {one.high:,.0f})" if one.low < one.high else ""


def _format_dollars(budget: float) -> str:
    return f"${budget:,.12g}"


def _join_ways(ways: list[str]) -> str:
    return " or ".join(f'"{way}"' for way in ways)
