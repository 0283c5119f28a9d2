"""What a campaign that samples a topic knows of it, for people: how good the sample is, how the topic looks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from math import inf, isfinite
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table

from socialcrawl.crawls.sample.estimates import Bar, Estimate
from socialcrawl.crawls.sample.mixing import MixingVerdict
from socialcrawl.crawls.sample.report import MOST, SampleReport
from socialcrawl.crawls.sample.walk_components import WalkComponent
from socialcrawl.crawls.sample.walk_laws import BUILT_IN
from socialcrawl.render.console import Text
from socialcrawl.text.wording import pluralize, round_up

LISTED = 3  # how many parts of a topic that are left out are shown one by one
FOCUS = {
    "none": "anywhere",
    "hard": "on topic only",
    "neighbourhood": "on topic and near it",
    "trial": "on topic, and a few steps off it",
    "ancestor": "on topic and on the wider topic",
}
Rows = Iterable[tuple[str, Estimate]]


def list_parts(found: SampleReport) -> Iterator[RenderableType]:
    """Yield the texts and tables of what a campaign that samples knows."""
    yield Text("\n".join(_describe_quality(found)))
    if found.verdict.enough:
        yield from _make_tables(found)


def build_object(found: SampleReport) -> dict[str, Any]:
    """Return the same as plain values, for scripts; what is not known or without end is null."""
    values: dict[str, Any] = make_finite(asdict(found))
    return values


def make_finite(value: Any) -> Any:
    """Return a value that JSON has: infinity and what is no number as null, at any depth."""
    if isinstance(value, Mapping):
        return {str(name): make_finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [make_finite(one) for one in value]
    if isinstance(value, np.generic):
        return make_finite(value.item())
    return None if isinstance(value, float) and not isfinite(value) else value


def format_percent(share: float) -> str:
    """Return a share as people read it: 8.3%, 57%, 100%."""
    if not isfinite(share):
        return "-"
    return f"{share:.1%}" if 0.0 < share < 0.0995 else f"{share:.0%}"


def format_number(value: float) -> str:
    """Return a number as people read it."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"


def format_count(value: float) -> str:
    """Return a number of accounts as people read it; what has no end, in words."""
    return "any number" if value == inf else f"{value:,.0f}"


def format_estimate(value: float) -> str:
    """Return an estimated number of accounts, of two digits."""
    return format_count(value if value == inf else round_up(value))


def format_interval(one: Estimate, words: Callable[[float], str] = format_percent) -> str:
    """Return an estimate with its interval, as 8.3% (1.2% to 40%); what was counted has none."""
    value = words(one.value) if isfinite(one.value) else "not known"
    return value if one.low == one.high else f"{value} ({words(one.low)} to {words(one.high)})"


def explain_verdict(verdict: MixingVerdict) -> Iterator[str]:
    """Yield whether there is enough data; if not, how much more it takes, and why."""
    if verdict.whole:
        yield "every account on topic that walks can reach was read: the numbers below are counts, not estimates"
    elif verdict.enough:
        yield "enough data: where the walks began no longer matters, as far as their visits tell"
    else:
        more = (
            "and the walks have ended: set length or samples higher"
            if verdict.steps is None
            else f"run about {pluralize(verdict.steps, 'more step')}, and look again"
        )
        yield f"not enough data yet: {more}; no estimate is shown until then"
    yield from verdict.why


def explain_parts(parts: Sequence[WalkComponent]) -> Iterator[str]:
    """Yield what is to be said of the parts of a topic in which walks are: nothing where there is one."""
    if joined := sum(part.counts for part in parts[1:]):
        yield (
            f"the walks are in {joined + 1:,} groups that have not met yet, as too little was read to tell whether "
            "they ever will: they are taken to be in one part of the topic, and weigh by their draws; go on"
        )
    left = [part for part in parts if not part.counts]
    if not left:
        return
    walks, out = sum(part.walks for part in parts), sum(part.walks for part in left)
    yield (
        "all shares and sizes are of one part of the topic, the largest, where "
        f"{pluralize(parts[0].accounts, 'account was', 'accounts were')} read: no link that was read leads from there "
        f"to others; {out:,} of {pluralize(walks, 'walk')} are not in it and are left out"
    )
    yield from (f"left out: {_format_walks(part.walks)} in {_format_part(part)}" for part in left[:LISTED])
    if rest := left[LISTED:]:
        accounts = sum(part.accounts for part in rest)
        left_out = _format_walks(sum(one.walks for one in rest))
        yield f"left out: {left_out} in {len(rest):,} more parts, {_format_read(accounts)}"


def _format_walks(many: int) -> str:
    return pluralize(many, "walk")


def _format_read(accounts: int) -> str:
    return f"{pluralize(accounts, 'account')} read"


def _format_part(part: WalkComponent) -> str:
    if part.whole:
        return f"a part that was read whole, of {pluralize(part.accounts, 'account')}"
    return f"a part that was not read whole, {_format_read(part.accounts)} so far"


def _make_shares_table(title: str, rows: Rows, *, counted: bool) -> Group:
    """Return a table of shares under a title that may be wider; estimates have the ends of their intervals."""
    table = Table(box=None, pad_edge=False)
    table.add_column("", overflow="fold")
    for name in ("share",) if counted else ("estimate", "from", "to"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, one in rows:
        table.add_row(
            Text(name),
            *(format_percent(part) for part in ((one.value,) if counted else (one.value, one.low, one.high))),
        )
    return Group(Text(title, style="italic"), table)


def _describe_quality(found: SampleReport) -> Iterator[str]:
    """Yield how large the sample is and what it is worth, in sentences."""
    yield (
        f"{pluralize(found.read, 'account')} read, {found.on_topic:,} on topic, by "
        f"{pluralize(found.walkers, 'walk that goes', 'walks that go')} {FOCUS[found.focus]}"
    )
    if found.walk != BUILT_IN:
        yield f"the walk is {found.walk}" + (f", after {found.paper}" if found.paper else "")
    yield from explain_parts(found.parts)
    yield from explain_verdict(found.verdict)
    if found.verdict.whole:
        return
    if not found.draws:
        yield (
            f"no draw counts yet: the first {found.burn_in:,} on-topic visits of each walk do not, as they tell where "
            "it began"
        )
        return
    burning = f"; {pluralize(found.burning, 'walk')} in the burn-in, without draws that count" if found.burning else ""
    yield f"{pluralize(found.draws, 'draw counts', 'draws count')}, at {pluralize(found.accounts, 'account')}{burning}"
    worth = pluralize(round(found.effective), "account")
    visits = "" if found.focus == "hard" else f"; {format_percent(found.precision)} of all visits were on topic"
    yield (
        f"they tell as much as about {worth} drawn independently{visits}; {pluralize(found.jumps, 'jump')} out of traps"
    )
    if found.more is not None and found.more >= 1 and found.steps is not None:
        yield (
            f"to know any share of the topic to +- 5 percentage points takes about {format_estimate(found.more)} "
            f"more draws: {format_estimate(found.steps)} more accounts to read, at the rate so far; fewer if all "
            "accounts on topic are read before"
        )
    elif found.more is not None:
        yield "any share of the topic is known to +- 5 percentage points"


def list_shares(found: SampleReport) -> Iterator[tuple[str, Rows]]:
    """Yield the shares that a sample estimates, or counts, in groups with a title."""
    how = "counted" if found.verdict.whole else "with 95 % intervals"
    each = [("of all their links, those to accounts on topic", found.links.staying)]
    each += [("the same, as the mean of each account's own share", found.links.each)]
    if found.links.lost.value > 0.0:
        each += [("of all their links, those to accounts that cannot be read, left out of both", found.links.lost)]
    each += [(f"accounts with a post that was read and has {word}", one) for word, one in found.subtopics.items()]
    yield f"of the accounts on topic that walks can reach, {how}", each
    title = (
        f"accounts by the number of others that they link to, in the mean {format_interval(found.outs, format_number)}"
    )
    yield title, _make_bars(found.degrees, _format_doubling)
    if found.links.bars:
        title = "accounts by the share of their links that lead to accounts on topic"
        yield title, _make_bars(found.links.bars, _format_tenth)
    for title, parts in (("instance or host", found.hosts), ("the language that they write in most", found.languages)):
        if parts:
            most = f", the {MOST} largest" if len(parts) == MOST else ""
            yield f"accounts by {title}{most}", list(parts.items())


def _make_tables(found: SampleReport) -> Iterator[Group]:
    for title, rows in list_shares(found):
        yield _make_shares_table(title, rows, counted=found.verdict.whole)


def _make_bars(bars: Sequence[Bar], name: Callable[[Bar], str]) -> Rows:
    return [(name(bar), bar.share) for bar in bars if bar.share.value > 0.0]


def _format_doubling(bar: Bar) -> str:
    first, last = round(bar.begin), round(bar.end) - 1
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


def _format_tenth(bar: Bar) -> str:
    return format_percent((bar.begin + bar.end) / 2)
