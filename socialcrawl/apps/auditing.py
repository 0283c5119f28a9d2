"""`socialcrawl audit`: what a sample says of a dataset that was collected, as tables or JSON."""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from math import inf, isfinite, isnan
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from socialcrawl.apps.console import Text
from socialcrawl.apps.progress import show_progress
from socialcrawl.apps.sample_report import apart, count, finite, interval, judged, percent
from socialcrawl.errors import PostsFileError, SettingsError
from socialcrawl.imports.datasets import gathered, spoken
from socialcrawl.imports.naming import Naming
from socialcrawl.imports.trouble import Trouble
from socialcrawl.plan import about
from socialcrawl.platforms import known
from socialcrawl.relevance import Hits
from socialcrawl.reports.audited import Audited, Audits, audited
from socialcrawl.reports.holdings import Listing
from socialcrawl.sample.audit import Gap, Outlook
from socialcrawl.sample.estimates import Estimate
from socialcrawl.settings import read
from socialcrawl.store.address import where
from socialcrawl.store.health import readable
from socialcrawl.store.traces import Traces
from socialcrawl.terminal import write_error, write_json
from socialcrawl.words import pluralize

REACH = ("reach", "beyond")  # what nobody knows of a list of accounts


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for.

    Attributes:
        campaign: the file of the campaign that samples.
        of: names of campaigns to audit; none: all of the database.
        database: where those are; None: where the sample is.
        held: files with lists of accounts to audit; `on_topic`: whether all of these are said to be on topic.
    """

    campaign: Path
    of: Sequence[str] = ()
    database: str | None = None
    held: Sequence[Path] = ()
    on_topic: bool = False


def audit(wanted: Wanted, console: Console, *, as_json: bool) -> None:
    """Say what a sample tells of datasets: as tables, or one JSON object to stdout.

    Raises:
        SettingsError: the campaign samples nothing, has no sample yet, or is of another platform.
        StoreError: a database cannot be read, or has nothing to audit.
        PostsFileError: a list of accounts cannot be read.
    """
    settings = read(wanted.campaign)
    if wanted.on_topic and not wanted.held:
        raise SettingsError("--on-topic says it of a file of accounts: name one with --held.")
    hits = about(settings).hits if wanted.held else None
    with ExitStack() as ends, show_progress("reading lists") as watch:
        given = {str(path): accounts(path, settings.source.platform, hits) for path in wanted.held}
        held = {name: replace(one, on_topic=wanted.on_topic) for name, one in given.items()}
        watch("auditing")
        traces = Traces(ends.enter_context(readable(settings.database)))
        place = None if wanted.database is None else where(wanted.database)
        others = None if place in (None, settings.database) else place
        there = None if others is None else Traces(ends.enter_context(readable(others)))
        found = audited(traces, settings, there, wanted.of, held)
    if as_json:
        write_json(json.dumps(as_object(found), ensure_ascii=False, allow_nan=False))
        return
    show(console, found)
    if restricted := known.of(settings).publishing:
        write_error(restricted)


def accounts(path: Path, platform: str, hits: Hits | None = None) -> Listing:
    """The accounts that a file lists: ids or names; or the ends of links, or who wrote posts, and about what.

    Args:
        path: the file.
        platform: whose accounts they are.
        hits: occurrences of the topic in a post, by its text, its language and when it was written; None: not asked.

    Raises:
        PostsFileError: it cannot be read, or has lines that name nobody.
    """
    trouble = Trouble()
    naming = Naming(platform)
    found = gathered([path], naming, trouble)
    trouble.refuse("Fix the file, or take such lines out.")
    told = [who for who, member in zip(found.whos, found.member.tolist(), strict=True) if member]
    if not told:
        raise PostsFileError(f"{path} names no account: give ids or usernames, one a line.")
    return Listing(told, {} if hits is None else spoken(path, naming, hits))


def as_object(found: Audits) -> dict[str, Any]:
    """The audit as plain values; what is not known, or without end, is null."""
    told: dict[str, Any] = finite(asdict(found))
    for one, dataset in zip(told["datasets"], found.datasets, strict=True):
        one["found"]["lacking"] = finite(dataset.found.lacking)
        if dataset.outlook is None:
            one["found"] |= dict.fromkeys(REACH)
            for gap in (*one["found"]["gaps"], *one["languages"]):
                gap["reach"] = None
    return told


def show(console: Console, found: Audits) -> None:
    """Print what a sample says of datasets."""
    console.print(Text("\n".join(_sample(found))))
    if len(found.datasets) > 1 and found.verdict.enough:
        console.print()
        console.print(_overview(found.datasets))
    for one in found.datasets:
        console.print()
        console.print(
            Text(f"{one.name}: {pluralize(one.read, 'account')} read, {one.found.on_topic:,} of them on topic")
        )
        if found.verdict.enough:
            console.print(_facts(one))
        for title, gaps in ((f"gaps by {found.by}", one.found.gaps), ("gaps by language", one.languages)):
            if gaps:
                console.print()
                console.print(_gaps(title, gaps, linked=one.outlook is not None))
        words = [*(_words(one) if found.verdict.enough else ()), *(f"note: {note}" for note in one.notes)]
        console.print(Text("\n".join(["", *words]) if words else ""))


def _sample(found: Audits) -> Iterator[str]:
    accounts = pluralize(found.accounts, "on-topic account")
    worth = f"{pluralize(found.draws, 'draw')} at {accounts}, worth about {found.effective:,.0f} drawn one by one"
    yield f"the sample {found.sample} of {found.topic}: {accounts if found.verdict.whole else worth}"
    yield from apart(found.parts)
    yield from judged(found.verdict)
    if found.more is not None and found.more >= 1:
        yield f"about {count(found.more)} more draws would make any share below known to +- 5 points"


def _overview(datasets: Sequence[Audited]) -> Table:
    table = Table(
        title="what is held of the topic, with 95 % intervals", title_justify="left", box=None, pad_edge=False
    )
    table.add_column("", overflow="fold")
    for name in ("on topic", "share of the topic", "accounts in the topic"):
        table.add_column(name, justify="right")
    for one in datasets:
        told = one.found
        sizes = interval(told.size, count)
        table.add_row(Text(one.name), f"{told.on_topic:,}", interval(told.share), sizes)
    return table


def _facts(one: Audited) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column("")
    table.add_column("", no_wrap=True)
    found, search = one.found, one.found.search
    rows = [("the topic has so many accounts", interval(found.size, count)), ("share held", interval(found.share))]
    if one.outlook is not None:
        rows += [("not held, but linked to from what is held", interval(found.reach))]
        rows += [("neither held nor linked to", interval(found.beyond))]
    if search is not None:
        rows += [
            ("the platform's search has found", interval(search.found)),
            ("of what is held, it has found", interval(search.held)),
            ("found by it and not held", interval(search.only)),
        ]
    for words, told in rows:
        table.add_row(words, told)
    return table


def _gaps(title: str, gaps: Sequence[Gap], *, linked: bool) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("", overflow="fold")
    for name in ("of the topic", "held of it", "the gap", *(["linked to"] if linked else [])):
        table.add_column(name, justify="right", no_wrap=True)
    for gap in gaps:
        told = [percent(gap.topic.value), interval(gap.held), interval(gap.lacking)]
        table.add_row(Text(str(gap.group)), *told, *([percent(gap.reach.value)] if linked else []))
    return table


def _words(one: Audited) -> Iterator[str]:
    found, outlook = one.found, one.outlook
    if not found.on_topic:
        yield "it holds nobody on topic: how large the topic is cannot be said"
    elif found.share.value == 0.0:
        yield "none of the sample is held: the topic is larger than can be said, or is another one"
    elif isnan(found.size.value):
        yield f"how many accounts the topic has is not known, only that they are {_ends(found.size)}"
    elif isfinite(found.lacking):
        yield f"about {count(found.lacking)} on-topic accounts are not held"
    if outlook is not None:
        yield f"would more budget pay? {outlook.why}"
        yield from _steps(outlook)
    if one.more >= 1:
        yield f"about {count(one.more)} more draws would make the share held known to +- 5 points"


def _ends(size: Estimate) -> str:
    """The ends of an interval of a number of accounts."""
    return f"{count(size.low)} at least" + (f", {count(size.high)} at most" if size.high < inf else "")


def _steps(outlook: Outlook) -> Iterator[str]:
    """What so many more steps would bring, if they go on as the last ones."""
    if not outlook.rate > 0.0 or not outlook.reach.value > 0.0:
        return
    half = outlook.steps(outlook.reach.value / 2.0)
    yield (
        f"lately a step found {outlook.rate:.2g} on-topic accounts; at that rate 1,000 more find about "
        f"{count(outlook.gain(1000.0))}" + (f", and {count(half)} find half of those linked to" if half < inf else "")
    )
