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

from socialcrawl.campaign.plan import make_topic
from socialcrawl.campaign.settings import Settings, read
from socialcrawl.crawls.facts import BUILT_IN
from socialcrawl.crawls.registry import find_kind, kind_of
from socialcrawl.crawls.sample.audit import GroupGap
from socialcrawl.crawls.sample.audit_report import GROUPS, AuditedDataset, AuditReport, audit_datasets
from socialcrawl.crawls.sample.estimates import Estimate
from socialcrawl.crawls.sample.holdings import AccountList
from socialcrawl.errors import PostsFileError, SettingsError
from socialcrawl.formats.lines import LineErrors
from socialcrawl.graph.relevance import Hits
from socialcrawl.importers.account_cells import CellAccounts
from socialcrawl.importers.dataset_files import count_by_author, describe_members, read_datasets
from socialcrawl.platforms.registry import platform_of
from socialcrawl.render.console import Text
from socialcrawl.render.progress import show_progress
from socialcrawl.render.sample_report import (
    explain_parts,
    explain_verdict,
    format_count,
    format_estimate,
    format_interval,
    make_finite,
)
from socialcrawl.storage.database.address import DatabaseAddress
from socialcrawl.storage.database.filetypes import (
    CAMPAIGN,
    DATABASE,
    EXPORT,
    OTHER,
    describe_wrong_campaign,
    find_campaigns,
    read_campaign,
    recognize,
)
from socialcrawl.storage.database.health import open_readable
from socialcrawl.storage.queries.traces import CampaignTraces
from socialcrawl.text.terminal import write_error, write_json
from socialcrawl.text.wording import pluralize

HALF = "to +- 5 percentage points"
WIDEST = 10_000  # a width that every table of gaps fits into
UNSETTLED = "It is not settled whether the share held and the size of a topic are such metrics: you decide."
NEEDS = 'An audit needs a campaign of kind = "sample" on the same topic that has run: see docs/how-to/audit.md.'
REACH = ("reach", "near", "beyond")  # what nobody knows of a list of accounts


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """What is asked for.

    Attributes:
        campaign: the file of the campaign that samples.
        of: names of campaigns to audit; none: all of the database.
        database: where those are; None: where the sample is.
        held: files with lists of accounts to audit; `on_topic`: whether all of these are said to be on topic.
    """

    campaign: Path
    of: Sequence[str] = ()
    database: DatabaseAddress | None = None
    held: Sequence[Path] = ()
    on_topic: bool = False


def audit(wanted: AuditOptions, console: Console, *, as_json: bool) -> None:
    """Say what a sample tells of datasets: as tables, or one JSON object to stdout.

    Raises:
        SettingsError: the campaign samples nothing, has no sample yet, or is of another platform.
        StoreError: a database cannot be read, or has nothing to audit.
        PostsFileError: a list of accounts cannot be read.
    """
    if (wrong := describe_wrong_campaign(wanted.campaign)) is not None:
        raise SettingsError(f"{wrong} {NEEDS}")
    settings = read(wanted.campaign)
    if not kind_of(settings).sample:
        raise SettingsError(_explain_no_sample(wanted.campaign, settings))
    if wanted.on_topic and not wanted.held:
        raise SettingsError("--on-topic says it of a file of accounts: name one with --held.")
    hits = make_topic(settings).hits if wanted.held else None
    with ExitStack() as ends, show_progress("reading lists") as watch:
        given = {str(path): read_accounts(path, settings.source.platform, hits) for path in wanted.held}
        held = {name: replace(one, on_topic=wanted.on_topic) for name, one in given.items()}
        watch("auditing")
        traces = CampaignTraces(ends.enter_context(open_readable(settings.database)))
        others = None if wanted.database in (None, settings.database) else wanted.database
        there = None if others is None else CampaignTraces(ends.enter_context(open_readable(others)))
        found = audit_datasets(traces, settings, there, wanted.of, held)
    if as_json:
        write_json(json.dumps(build_object(found), ensure_ascii=False, allow_nan=False))
        return
    show(console, found)
    if restricted := platform_of(settings).publishing:
        write_error(f"{restricted} {UNSETTLED}")


def _explain_no_sample(file: Path, settings: Settings) -> str:
    """Return that a campaign file is of another kind, and which to give."""
    near = [one for one in find_campaigns(file.parent) if one.kind in BUILT_IN]
    samples = [str(one.path) for one in near if find_kind(one.kind).sample]
    which = f", such as {' or '.join(samples)}" if samples else ""
    return (
        f"{file} is a campaign of kind {settings.kind}, but an audit needs a sample: give the file of a campaign of "
        f'kind = "sample"{which}, and --of {settings.name} to audit this one{"" if samples else f". {NEEDS[:-1]}"}.'
    )


def read_accounts(path: Path, platform: str, hits: Hits | None = None) -> AccountList:
    """Return the accounts that a file lists: ids or names; or the ends of links, or who wrote posts, and about what.

    Args:
        path: the file.
        platform: whose accounts they are.
        hits: occurrences of the topic in a post, by its text, its language and when it was written; None: not asked.

    Raises:
        PostsFileError: it cannot be read, or has lines that name nobody.
        SettingsError: it is a database, a campaign file or an export.
    """
    if (wrong := _explain_no_list(path)) is not None:
        raise SettingsError(wrong)
    trouble = LineErrors()
    naming = CellAccounts(platform)
    found = read_datasets([path], naming, trouble)
    trouble.refuse("Fix the file, or take such lines out.")
    members = [who for who, member in zip(found.whos, found.member.tolist(), strict=True) if member]
    if not members:
        raise PostsFileError(f"{path} names no account: give ids or usernames, one per line.")
    occurrences = {} if hits is None else count_by_author(path, naming, hits)
    return AccountList(members, occurrences, members=describe_members(path, naming))


def _explain_no_list(path: Path) -> str | None:
    """Return what to give instead of a database, a campaign file or an export with --held; None for other files."""
    kind = recognize(path) if path.exists() else OTHER
    campaign = read_campaign(path) if kind == CAMPAIGN else None
    place = path if kind == DATABASE else campaign.database if campaign is not None else None
    if kind == EXPORT:
        what = f"give one of its files, such as {path / 'accounts'}.csv or .parquet"
    elif place is not None:
        what = f"remove --held, and audit the campaigns of that database with --db {place}"
    else:
        return None
    return f"{path} is {kind}, not a list of accounts or posts: {what}."


def build_object(found: AuditReport) -> dict[str, Any]:
    """Return the audit as plain values; what is not known, or without end, is null."""
    values: dict[str, Any] = make_finite(asdict(found))
    for one, dataset in zip(values["datasets"], found.datasets, strict=True):
        one["found"]["lacking"] = make_finite(dataset.found.lacking)
        if dataset.outlook is None:
            one["found"] |= dict.fromkeys(REACH)
            for gap in (*one["found"]["gaps"], *one["languages"]):
                gap["reach"] = None
    return values


def show(console: Console, found: AuditReport) -> None:
    """Print what a sample says of datasets."""
    console.print(Text("\n".join(_format_sample(found))))
    if len(found.datasets) > 1 and found.verdict.enough:
        console.print()
        console.print(_make_overview(found))
    for one in found.datasets:
        console.print()
        console.print(
            Text(f"{one.name}: {pluralize(one.read, 'account')} read, {one.found.on_topic:,} of them on topic")
        )
        if found.verdict.enough:
            console.print(
                Text(f"of the accounts on topic that walks can reach, {_describe_numbers(found)}", style="italic")
            )
            console.print(_make_facts(one))
        for by, gaps in ((found.by, one.found.gaps), ("language", one.languages)):
            if gaps:
                console.print()
                title = _make_title(by, gaps, counted=found.verdict.whole)
                console.print(_fit_gaps_table(console, title, gaps, linked=one.outlook is not None))
        words = [*(_describe_gap(one) if found.verdict.enough else ()), *(f"note: {note}" for note in one.notes)]
        console.print(Text("\n".join(["", *words]) if words else ""))


def _format_sample(found: AuditReport) -> Iterator[str]:
    accounts = pluralize(found.accounts, "on-topic account")
    draws = f"{pluralize(found.draws, 'draw')} at {accounts}"
    worth = f"{draws}, which tell as much as about {found.effective:,.0f} accounts drawn independently"
    yield f"the sample {found.sample} of {found.topic}: {accounts if found.verdict.whole else worth}"
    yield from explain_parts(found.parts)
    yield from explain_verdict(found.verdict)
    if found.more is not None and found.more >= 1:
        draws = (
            f"about {format_estimate(found.more)} more draws would narrow the interval of any share of the topic {HALF}"
        )
        yield f"{draws}; fewer if all accounts on topic are read before"


def _describe_numbers(found: AuditReport) -> str:
    """Return what numbers are: counts, or estimates."""
    return "counted" if found.verdict.whole else "with 95 % intervals"


def _make_overview(found: AuditReport) -> Table:
    title = f"what is held of the topic, {_describe_numbers(found)}"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("", overflow="fold")
    for name in ("on topic", "share of the topic", "accounts in the topic"):
        table.add_column(name, justify="right")
    for one in found.datasets:
        topic = one.found
        sizes = format_interval(topic.size, format_count)
        table.add_row(Text(one.name), f"{topic.on_topic:,}", format_interval(topic.share), sizes)
    return table


def _make_facts(one: AuditedDataset) -> Table:
    found, search = one.found, one.found.search
    rows = [
        ("accounts in the topic", format_interval(found.size, format_count)),
        ("share held", format_interval(found.share)),
    ]
    if one.outlook is not None:
        rows += [("not held, but linked to from what is held", format_interval(found.reach))]
        rows += [("neither held nor linked to", format_interval(found.beyond))]
    if search is not None:
        rows += [
            ("found by the platform's search so far", format_interval(search.found)),
            ("found by it and not held", format_interval(search.only)),
            ("found by it, as a share of what is held", format_interval(search.held)),
        ]
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column("")
    table.add_column("", no_wrap=True)
    for words, value in rows:
        table.add_row(words, value)
    return table


def _fit_gaps_table(console: Console, title: str, gaps: Sequence[GroupGap], *, linked: bool) -> Table:
    """Return the table of gaps; where it is wider than the console, intervals are below their estimates."""
    table = _make_gaps_table(title, gaps, " ", linked=linked)
    fits = console.measure(table, options=console.options.update_width(WIDEST)).maximum <= console.width
    return table if fits else _make_gaps_table(title, gaps, "\n", linked=linked)


def _make_title(by: str, gaps: Sequence[GroupGap], *, counted: bool) -> str:
    drawn = " (groups of the sample's accounts that mention each other)" if by == "community" else ""
    widest = f", the {GROUPS} widest" if len(gaps) == GROUPS else ""
    sure = "" if counted else f", 95 % for the {len(gaps)} together" if len(gaps) > 1 else ", 95 % intervals"
    return f"gaps by {by}{drawn}{widest}{sure}"


def _make_gaps_table(title: str, gaps: Sequence[GroupGap], between: str, *, linked: bool) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("", overflow="fold")
    for name in ("of the topic", "held of it", "the gap", *(["linked to"] if linked else [])):
        table.add_column(name, justify="right", no_wrap=True)
    for gap in gaps:
        cells = [gap.topic, gap.held, gap.lacking, *([gap.reach] if linked else [])]
        table.add_row(Text(str(gap.group)), *(format_interval(one).replace(" ", between, 1) for one in cells))
    return table


def _describe_gap(one: AuditedDataset) -> Iterator[str]:
    found, outlook = one.found, one.outlook
    if not found.on_topic:
        yield "it holds no account on topic: how large the topic is cannot be estimated"
    elif found.share.value == 0.0:
        yield "none of the sample are held: the topic is larger than can be said, or is another one"
    elif isnan(found.size.value):
        yield f"how many accounts the topic has is not known, only that they are {_format_ends(found.size)}"
    elif isfinite(found.lacking):
        lacking = _subtract_known(found.size, found.on_topic)
        yield f"on-topic accounts that are not held: {format_interval(lacking, format_count)}"
    if outlook is not None:
        yield f"would more budget pay? {outlook.why}"
        if isfinite(outlook.reach.value):
            yield f"on-topic accounts that are not held and linked to: {format_interval(outlook.reach, format_count)}"
        if outlook.recent:
            hits = round(outlook.rate * outlook.recent)
            yield (
                f"{hits:,} of the {outlook.recent:,} that it read last are on topic; that is not a forecast, as each "
                "one found leaves fewer within reach"
            )
    if 1 <= one.more < inf:
        yield f"about {format_estimate(one.more)} more draws would narrow the interval of the share held {HALF}"


def _subtract_known(size: Estimate, known: int) -> Estimate:
    """Return how many are left of a number of accounts without those that are known."""
    low, value, high = (max(0.0, one - known) for one in (size.low, size.value, size.high))
    return replace(size, low=low, value=value, high=high)


def _format_ends(size: Estimate) -> str:
    """Return the ends of an interval of a number of accounts."""
    return f"{format_count(size.low)} at least" + (f", {format_count(size.high)} at most" if size.high < inf else "")
