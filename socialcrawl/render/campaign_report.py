"""What a campaign found, for people: posts and accounts on topic, whether steering beat chance, curves, requests."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from socialcrawl.campaign.policies import load_policy
from socialcrawl.crawls.base import ReportRequest
from socialcrawl.crawls.collect.explain import list_unread_seeds
from socialcrawl.crawls.collect.searched_time import SearchedTime
from socialcrawl.crawls.collect.steering import Steering, measure_steering
from socialcrawl.crawls.reporting import ANYTHING, report
from socialcrawl.engine.model import MILLS_PER_DOLLAR, STEPS, Act, Reason
from socialcrawl.platforms.facts import find_platform_facts
from socialcrawl.platforms.registry import find_platform
from socialcrawl.ratelimit.policy import parse_host, parse_path
from socialcrawl.render import block_charts, score_curve, steering
from socialcrawl.render.console import Text
from socialcrawl.render.headline import list_headlines
from socialcrawl.render.kind_parts import collect_knowledge, describe_days, find_curve, list_parts, list_unread_spans
from socialcrawl.render.methods_paragraph import CollectionFacts, list_gaps, list_unseen
from socialcrawl.render.sample_report import make_finite
from socialcrawl.storage.database.address import find_address
from socialcrawl.storage.queries.judgement import Judgement, judge_shadows
from socialcrawl.storage.queries.row_values import join_transaction
from socialcrawl.storage.queries.summary import Summary, summarize_campaign
from socialcrawl.storage.queries.traces import CampaignTraces
from socialcrawl.storage.stored_checks import ComplianceSummary, summarize_checks
from socialcrawl.system.loopback import is_loopback
from socialcrawl.text.wording import pluralize

if TYPE_CHECKING:
    from socialcrawl.storage.database.connection import Opened

SERVERS = 10  # servers that are shown one by one
SEEDS = 5  # seeds that are listed
DAYS = 14  # days of the bill that are shown one by one


@dataclass(frozen=True, slots=True)
class CampaignReport:
    """What a campaign found and what it took.

    Attributes:
        found: counts, best accounts, requests.
        billed: whether its server charges for what it returns.
        judgement: which estimator guessed best; None where there are no shadows.
        unread: the seeds that were named and could not be read, with why.
        known: what a campaign knows beside counts; None for one that collects.
        gained: what the estimator of one that collects gained; None elsewhere.
        baselines: float64[steps] by name: what other ways to choose accounts find, simulated where all posts are known.
        page: the name of the page that `demo` wrote beside the database; "" if there is none.
        gaps: what is not in the dataset and how much of it, beside accounts that could not be read; no zeros.
        facts: how the campaign came about; a page shows it.
        cut: accounts of which only the newest posts were read.
        checks: of the database for what the platform no longer shows; None: there were none.
    """

    found: Summary
    billed: bool
    judgement: Judgement | None = None
    unread: Sequence[tuple[str, str]] = ()
    known: Any = None
    gained: Steering | None = None
    baselines: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    page: str = ""
    gaps: Sequence[tuple[str, str]] = ()
    facts: CollectionFacts | None = None
    cut: int = 0
    checks: ComplianceSummary | None = None

    @property
    def searched(self) -> SearchedTime | None:
        """How much of the time of the topic was searched; None: it was not, span by span."""
        return None if self.facts is None else self.facts.searched

    @property
    def is_empty(self) -> bool:
        """Whether a page would show nothing: no step found anything, and a capture no post."""
        return not len(self.found.steps) and not (self.found.on_topic.captured and self.found.on_topic.posts)


ACCOUNT_COLUMNS = ("relevance", "occurrences", "matching", "share", "posts read", "step")
COLUMN_NOTES = (
    "relevance: grows with the occurrences, the first ones most; it is no share",
    "occurrences: of the topic, in the posts read",
    "matching: stored posts of the account that match",
    "share: of all its stored posts, those that match; -: only these were requested",
    "posts read: those that this campaign fetched from the account",
    "step: the step that read it, counted from 1 after the seeds",
)


def read_report(
    connection: "Opened", name: str | None, wanted: ReportRequest = ANYTHING, *, billed: bool | None = None
) -> CampaignReport:
    """Return the report of a campaign, or of the newest.

    Args:
        connection: the database.
        name: the campaign's name; None: the newest.
        wanted: how many accounts to list, and words of sub-topics.
        billed: whether its server charges; None: by the table of prices, unless the server is on this machine.

    Raises:
        StoreError: there is no such campaign.
    """
    found = summarize_campaign(connection, name, wanted.top)
    traces = CampaignTraces(connection)
    if billed is None:
        billed = is_charged(found.platform, found.base_url)
    known, facts = report(traces, found.name, wanted), CollectionFacts(traces, found)
    gaps = list_gaps({**facts.gaps, "missing": {}})
    if known is None:
        gaps = [*list_unseen(facts, found), *gaps]
    with join_transaction(connection):
        checks = summarize_checks(connection)
    return CampaignReport(
        found,
        billed,
        judge_shadows(connection, found.name),
        list_unread_seeds(traces, found.name) if found.missing else [],
        known,
        measure_steering(traces, found.name),
        page=_find_page(connection) if found.invented else "",
        gaps=[(what, count) for what, count in gaps if count != "0"],
        facts=facts,
        cut=facts.gaps["timelines_cut"],
        checks=checks,
    )


def _find_page(connection: "Opened") -> str:
    """Return the name of the page that `demo` wrote beside the database; "" if there is no such file."""
    place = find_address(connection)
    page = name_demo_page(place) if isinstance(place, Path) else None
    return page.name if page is not None and page.is_file() else ""


def name_demo_page(database: Path) -> Path:
    """Return the file of the page that `demo` writes beside a database."""
    return database.with_name(f"{database.stem}-report.html")


def is_charged(platform: str, base_url: str) -> bool:
    """Return whether the server of a stored campaign charges: the platform has prices, and it is not a test server."""
    return load_policy(platform).is_billed and not is_loopback(base_url)


def describe_steering(given: CampaignReport) -> list[str]:
    """Return lines on whether steering beat chance: simulated where baselines are, else by the drawn steps, if any."""
    found, gained = given.found, given.gained
    lines: list[str] = []
    if gained is None:
        return lines
    if given.baselines:
        steps = f", {gained.drawn:,} of {pluralize(len(found.steps), 'step')} drawn" if gained.drawn else ""
        ends = {
            f"{gained.estimator} (this campaign{steps})": found.relevance,
            **{name: float(curve[-1]) for name, curve in given.baselines.items()},
        }
        lines = steering.describe_simulation(len(found.steps), ends, control=gained.control > 0)
    if gained.control or not lines:
        page = "" if found.missing else given.page  # the demo simulates only where all accounts can be read
        lines += steering.describe_steering(gained, given.judgement, demo=found.invented, page=page)
        if gained.control and page and not given.baselines:
            lines.append(f"  simulated by `socialcrawl demo`: see {page}")
    return lines


def collect_values(given: CampaignReport) -> dict[str, Any]:
    """Return the figures of a report as plain values, for scripts."""
    found = given.found
    more = {} if given.judgement is None else {"guesses": asdict(given.judgement)}
    more |= {} if given.gained is None else {"steering": make_finite(asdict(given.gained))}
    return {
        "steps": len(found.steps),
        "relevance": found.relevance,
        "seed_relevance": found.seed_relevance,
        "posts": found.held,
        "posts_read": found.posts,
        "accounts_read": len(found.steps) + len(found.seeds),
        "accounts_asked": len(found.steps) + len(found.seeds),  # the name before "accounts_read"
        "accounts_known": found.known,
        "posts_on_topic": found.on_topic.posts,
        "posts_on_topic_found_only_by_search": found.on_topic.unread_posts,
        "reposts_on_topic": found.on_topic.reposts,
        "accounts_on_topic": found.on_topic.seeds_on_topic + found.on_topic.discovered_on_topic,
        "discovered_on_topic": found.on_topic.discovered_on_topic,
        "first_day": None if found.on_topic.first is None else found.on_topic.first.isoformat(),
        "last_day": None if found.on_topic.last is None else found.on_topic.last.isoformat(),
        "requests": found.sent,
        "reused": found.reused,
        "dollars": found.cost / MILLS_PER_DOLLAR,
        "charged": given.billed,
        "seeds_unread": dict(given.unread),
        **({} if given.checks is None else {"compliance": given.checks._asdict()}),
        "top_seeds": [_collect_account(row) for row in found.top_seeds],
        "top_discovered": [_collect_account(row) for row in found.discovered],
        **more,
        **_collect_captured(found),
        **({} if given.searched is None else {"time_searched": given.searched._asdict()}),
        **({} if found.recall is None else {"search_recall": found.recall._asdict()}),
        **collect_knowledge(given.known),
    }


def _collect_captured(found: Summary) -> dict[str, int]:
    """Return how many authors a capture brought; nothing where none did."""
    if not found.captured:
        return {}
    return {"authors_captured": found.captured, "authors_captured_read": found.captured_read}


def _collect_account(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return one of the most relevant accounts as plain values; `step` is None for a seed."""
    return {
        "account": row["account"],
        "id": row["id"],
        "relevance": row["value"],
        "posts_on_topic": row["matching"],
        "posts_read": row["posts"],
        "occurrences": row["occurrences"],
        "step": row["step"],
    }


def show(console: Console, given: CampaignReport, png: Path | None = None) -> None:
    """Print a report, and draw its curve into the file `png` if one is named."""
    found, billed, known = given.found, given.billed, given.known
    width = min(60, max(20, console.width - 14))
    console.print()
    console.print(_make_headline(given))
    if lines := describe_steering(given):
        console.print(Text("\n".join(["", *lines])))
    if found.on_topic.days:
        console.print()
        console.print(block_charts.draw_days(found.on_topic, width, cut=given.cut))
        if line := describe_days(known):
            console.print(line)
    _show_known(console, given)
    console.print()
    if found.requests:
        console.print(_make_requests(found))
    if billed and found.billed_posts:
        console.print()
        console.print(_make_bill(found))
    if given.judgement is not None:
        console.print()
        console.print(steering.make_estimators_table(given.judgement))
    if lines := [*_describe_gaps(found), *([] if known is not None else _describe_relevance(given))]:
        console.print(Text("\n" + "\n".join(lines)))
    if given.gaps:
        lines = [f"  {what}: {count}" for what, count in given.gaps]
        console.print(Text("\n".join(["not in this dataset:", *lines])))
    if given.unread:
        lines = [f"  {who}: {_explain_reason(why, found.platform)}" for who, why in given.unread]
        console.print(Text("\n".join(["seeds that could not be read:", *lines])))
    if given.checks is not None:
        console.print(Text(f"checks of the database for {given.checks.describe()}"), soft_wrap=True)
    if png is not None and (sentence := draw_picture(given, png)):
        console.print(f"{sentence}: {png}", soft_wrap=True)


def draw_picture(given: CampaignReport, png: Path) -> str:
    """Draw the curve of a report into a file, or posts per day where it has none; return what was drawn.

    "" stands for nothing.
    """
    found = given.found
    if (curve := find_curve(given.known, found)) is not None:
        score_curve.draw_png(png, curve)
        return curve.name
    if not (found.on_topic.captured and found.on_topic.days):
        return ""
    score_curve.draw_days_png(png, found.on_topic, f"{found.name}: matching posts", list_unread_spans(given.known))
    return "matching posts per day"


def _make_headline(given: CampaignReport) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, line in list_headlines(
        given.found, billed=given.billed, focused=given.known is None, searched=given.searched
    ):
        table.add_row(name, Text(line))
    return table


def _explain_reason(why: str, platform: str) -> str:
    """Return why a seed could not be read, and which setting it is that excludes it."""
    if why != Reason.EXCLUDED:
        return why
    if find_platform_facts(platform).pages:
        return f"{why}: it is, or leads to, a host that [source] hosts does not name, or one of this machine's network"
    return f"{why}: [accounts] exclude names it"


def _show_known(console: Console, given: CampaignReport) -> None:
    """Print what a campaign knows beside counts."""
    if given.known is None:
        _show_accounts(console, given)
    publishing = find_platform(given.found.platform).publishing
    for part in list_parts(given.known, billed=given.billed, publishing=publishing):
        console.print()
        console.print(part)


def _show_accounts(console: Console, given: CampaignReport) -> None:
    """Print the curve of a campaign that collects, and its most relevant accounts."""
    found = given.found
    if len(found.steps):
        console.print("\nrelevance found (sum)")
        console.print(block_charts.draw_curve(found.steps, width=min(60, max(20, console.width - 14))))
        if given.baselines:
            console.print()
            console.print(block_charts.make_curves_table("this campaign", found.steps, given.baselines))
    tables = [("most relevant accounts: discovered", found.discovered)]
    if given.searched is None or not given.searched.alone:  # else there are no seeds
        tables.append(("most relevant accounts: seeds", found.top_seeds[:SEEDS]))
    for title, rows in tables:
        console.print()
        console.print(_make_accounts_table(title, rows, pages=find_platform_facts(found.platform).pages))
    console.print("\n".join(COLUMN_NOTES))


def _make_accounts_table(title: str, rows: Sequence[Mapping[str, Any]], *, pages: bool) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("page" if pages else "account", overflow="fold")
    for name in ACCOUNT_COLUMNS:
        table.add_column(name, justify="right", no_wrap=True, min_width=len(name))
    for row in rows:
        name = row["account"].removeprefix("@") if pages else row["account"]
        table.add_row(Text(name), *format_account(row))
    if not rows:
        table.add_row("none yet", *("" for _ in ACCOUNT_COLUMNS))
    return table


def format_account(row: Mapping[str, Any]) -> list[str]:
    """Return the cells of an account in a list of the most relevant ones, by ACCOUNT_COLUMNS."""
    known = row["stored"] and row["act"] != Act.MATCH
    share = f"{100 * row['matching'] / row['stored']:.0f} %" if known else "-"
    step = f"{row['step']:,}" if row["act"] in STEPS else "seed"
    return [
        f"{row['value']:.2f}", f"{row['occurrences']:,}", f"{row['matching']:,}", share, f"{row['posts']:,}", step,
    ]  # fmt: skip


def _make_requests(found: Summary) -> Table:
    table = Table(title="requests by status", title_justify="left", box=None, pad_edge=False)
    table.add_column("endpoint", overflow="fold")
    table.add_column("reply", no_wrap=True)
    table.add_column("status", justify="right", no_wrap=True)
    table.add_column("requests", justify="right", no_wrap=True)
    for (endpoint, kind, status), count in group_requests(found.requests).items():
        table.add_row(endpoint, kind, str(status or "-"), f"{count:,}")
    return table


def group_requests(rows: Sequence[Mapping[str, Any]]) -> Counter[tuple[str, str, int]]:
    """Return the requests by endpoint, kind and status; where there are many servers, those of all of them together."""
    many = len({parse_host(row["endpoint"]) for row in rows}) > SERVERS
    found: Counter[tuple[str, str, int]] = Counter()
    for row in rows:
        endpoint = row["endpoint"]
        found[parse_path(endpoint) if many else endpoint, row["kind"], row["status"]] += row["requests"]
    return found


def _make_bill(found: Summary) -> Table:
    table = Table(title="billed by day (UTC)", title_justify="left", box=None, pad_edge=False)
    table.add_column("day", no_wrap=True)
    table.add_column("posts", justify="right")
    table.add_column("cost at most", justify="right")
    before, shown = found.billed_posts[:-DAYS], found.billed_posts[-DAYS:]
    if before:
        table.add_row("before", f"{sum(row[1] for row in before):,}", f"${sum(row[2] for row in before):,.2f}")
    for day, posts, cost in shown:
        table.add_row(day, f"{posts:,}", f"${cost:,.2f}")
    return table


def _describe_gaps(found: Summary) -> Iterator[str]:
    """Yield what could not be read, what was not requested again, and whom a capture brought."""
    if found.captured:
        yield (
            f"authors brought by a capture: {found.captured:,}, of whom {found.captured_read:,} were read; of the "
            "others only posts that were held are known (partial evidence)"
        )
    if found.recall is not None and found.recall.posts:
        yield found.recall.sentence
    if found.missing:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in found.missing.items())
        yield f"accounts that could not be read: {reasons}"
    if found.reused:
        replies = pluralize(found.reused, "reply was", "replies were")
        yield f"{replies} in the database already and cost nothing"


def _describe_relevance(given: CampaignReport) -> Iterator[str]:
    """Yield what the steps of a campaign that collects found, beside its seeds."""
    found = given.found
    steps, seeds = pluralize(len(found.steps), "step"), pluralize(len(found.seeds), "seed")
    drawn = f" ({given.gained.drawn:,} of them drawn)" if given.gained is not None and given.gained.drawn else ""
    said = f"{steps}{drawn} after {seeds} found relevance {found.relevance:,.1f}"
    yield f"{said}; the seeds have {found.seed_relevance:,.1f}"
