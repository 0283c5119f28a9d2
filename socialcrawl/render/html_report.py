"""A campaign's report as one HTML page that needs no script, no network and no other file."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, singledispatch
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import numpy as np
from rich.console import RenderableType

from socialcrawl import __version__
from socialcrawl.crawls.capture.report import CaptureReport
from socialcrawl.crawls.refresh.report import RefreshReport
from socialcrawl.crawls.sample.report import SampleReport
from socialcrawl.crawls.track.report import RankedAccount, TrackReport
from socialcrawl.engine.model import format_time
from socialcrawl.errors import StoreError
from socialcrawl.platforms.facts import find_platform_facts
from socialcrawl.platforms.registry import find_platform
from socialcrawl.render import report_charts, steering
from socialcrawl.render.block_charts import choose_points, describe_cut, describe_left_out
from socialcrawl.render.campaign_report import (
    ACCOUNT_COLUMNS,
    COLUMN_NOTES,
    CampaignReport,
    describe_steering,
    format_account,
    group_requests,
)
from socialcrawl.render.console import AccountText
from socialcrawl.render.headline import list_headlines
from socialcrawl.render.html_elements import (
    AccountLink,
    Child,
    convert_cell,
    convert_renderable,
    is_document,
    make_details,
    make_element,
    make_table,
    mark_code,
    quote_text,
    write_document,
)
from socialcrawl.render.kind_charts import CAPTIONS, collect_kind_charts
from socialcrawl.render.kind_parts import collect_knowledge, describe_days, find_curve, list_parts, list_unread_spans
from socialcrawl.render.methods_paragraph import CollectionFacts, list_gaps, list_unseen, write_methods
from socialcrawl.render.score_curve import SPANS, name_span
from socialcrawl.storage.database.connection import Opened
from socialcrawl.storage.queries.row_values import join_transaction
from socialcrawl.storage.queries.summary import find_campaign
from socialcrawl.storage.queries.top_network import TopNetwork, read_top_network
from socialcrawl.storage.queries.topic_counts import TopicText, read_texts
from socialcrawl.system.files import replace_file
from socialcrawl.system.loopback import is_loopback
from socialcrawl.text.wording import pluralize

NODES = 150  # accounts of the network
TEXTS = 30  # posts whose texts are shown
ROWS = 25  # rows of the table of a curve
NO_ID = "(no id known)"
STYLE = Path(__file__).with_name("html_report.css")


class PageSource(NamedTuple):
    """What a page shows.

    Attributes:
        report: what the campaign found.
        facts: how it came about.
        network: who of its most relevant accounts mentions whom.
        texts: of posts on topic; none where names and texts are left out.
        at: when the page is made, ISO 8601.
        with_texts: whether names of accounts and texts are shown.
        is_drawn: whether charts are drawn; else there is a place for each.
        link: returns the address of a page on an account, by its name and id; None: names are no links.
    """

    report: CampaignReport
    facts: CollectionFacts
    network: TopNetwork
    texts: Sequence[TopicText]
    at: str
    with_texts: bool
    is_drawn: bool = True
    link: AccountLink = None


def check_page_file(path: Path) -> None:
    """Check that a page can be written to a file: there is none of that name, or an earlier page.

    Raises:
        StoreError: it has another suffix than .html, holds something else than such a page, or cannot be read.
    """
    if path.suffix.lower() not in (".html", ".htm"):
        raise StoreError(f"{path} is no name of a page: end it in .html.")
    try:
        if path.exists() and not is_document(path):
            raise StoreError(f"{path} exists and is no report of socialcrawl: name another file, or delete it first.")
    except OSError as error:
        raise StoreError(f"The page {path} cannot be written ({error.strerror}): name another file.") from error


def write_page(path: Path, page: str) -> None:
    """Write a page; an earlier page in the file is replaced.

    Raises:
        StoreError: it cannot be written, has another suffix than .html, or holds something else than such a page.
    """
    check_page_file(path)
    try:
        with replace_file(path) as part:
            part.write_text(page, "utf-8")
    except OSError as error:
        raise StoreError(f"The page {path} cannot be written ({error.strerror}): name another file.") from error


def make_page(connection: Opened, report: CampaignReport, now: float, *, with_texts: bool = False) -> str:
    """Return the report of a campaign as an HTML page.

    Args:
        connection: the database.
        report: what the campaign found.
        now: Unix seconds.
        with_texts: whether names of accounts and texts of posts are shown; else ids and counts only.
    """
    number, name = find_campaign(connection, report.found.name)
    assert report.facts is not None, "read_report reads them"
    with join_transaction(connection):
        network = read_top_network(connection, number, NODES)
        texts = read_texts(connection, number, TEXTS) if with_texts else []
    source = PageSource(report, report.facts, network, texts, format_time(now), with_texts)
    body = [section for _, section in make_sections(source)]
    return write_document(f"Report: {name}", STYLE.read_text("utf-8"), make_element("main", *body))


def list_sections(connection: Opened, report: CampaignReport, now: float, link: AccountLink) -> list[tuple[str, str]]:
    """Return the parts of a report as (id, HTML), with names of accounts, without texts of posts and without charts.

    Args:
        connection: the database.
        report: what the campaign found.
        now: Unix seconds.
        link: see `PageSource`.
    """
    number, _ = find_campaign(connection, report.found.name)
    assert report.facts is not None, "read_report reads them"
    with join_transaction(connection):
        network = read_top_network(connection, number, 0)
    source = PageSource(report, report.facts, network, [], format_time(now), True, is_drawn=False, link=link)
    return [(name, ET.tostring(section, encoding="unicode", method="html")) for name, section in make_sections(source)]


def make_sections(page: PageSource) -> Iterator[tuple[str, ET.Element]]:
    """Yield the sections of a page, as (its id, element)."""
    report, found = page.report, page.report.found
    if page.is_drawn:
        heading = make_element("h1", "Report: ", quote_text(found.name))
        yield "top", make_element("header", heading, *_make_headline(page))
    else:
        yield _make_section("top", "Found so far", *_make_headline(page))
    if describe_steering(report):
        yield _make_section("steering", "Did steering beat chance?", *_make_steering(page))
    if found.on_topic.days:
        yield _make_section("days", "Matching posts over time", *_make_days(page))
    if (curve := find_curve(report.known, found)) is not None and len(curve.values):
        title = "Relevance found" if report.known is None else curve.name.capitalize()
        yield _make_section("curve", title, *_make_curve(page))
    if page.network.edges:
        yield _make_section("network", "Who mentions whom", *_make_network(page))
    if report.known is not None:
        parts = list_parts(report.known if page.with_texts else hide_names(report.known), billed=report.billed)
        charts = () if page.is_drawn else map(_make_place, collect_kind_charts(report.known))
        yield _make_section(
            "kind",
            "What this campaign knows",
            *charts,
            *(one for part in parts for one in convert_renderable(part, "", partial(_convert_cell, page))),
        )
    elif found.discovered or found.top_seeds:
        yield _make_section("accounts", "Most relevant accounts", *_make_accounts(page))
    if page.texts:
        yield _make_section("posts", "Matching posts", *_make_posts(page))
    yield _make_section("requests", "Requests and cost", *_make_requests(page))
    yield _make_section("gaps", "What is missing", *_make_gaps(page))
    yield _make_section("methods", "How it was collected", *_make_methods(page))
    yield _make_section("publishing", "What you may publish", *_make_publishing(page))


USED_BY = {"q": "altered-greedy", "zeta": "altered-greedy", "nr_d": "nr"}
"""Settings of [crawl] that only one strategy or estimator reads."""


@singledispatch
def hide_names(details: object) -> object:
    """Return what a campaign knows beside counts without names of accounts.

    Of kinds that other packages add, numbers are left.
    """
    values = collect_knowledge(details)["report"]
    pairs = values.items() if isinstance(values, Mapping) else [("report", values)]
    return {name: value for name, value in pairs if value is None or isinstance(value, bool | int | float)}


@hide_names.register(SampleReport)
@hide_names.register(RefreshReport)
@hide_names.register(CaptureReport)
def _(details: object) -> object:
    return details


@hide_names.register
def _(details: TrackReport) -> object:
    def hide(places: Sequence[RankedAccount]) -> list[RankedAccount]:
        return [replace(place, account=place.id or NO_ID) for place in places]

    return replace(details, top=hide(details.top), rose=hide(details.rose), fell=hide(details.fell))


def _make_section(name: str, title: str, *children: Child) -> tuple[str, ET.Element]:
    return name, make_element("section", make_element("h2", title), *children, id=name)


def _make_figure(
    page: PageSource, name: str, draw: Callable[[], ET.Element], caption: str, details: ET.Element
) -> ET.Element:
    """Return a chart with its caption and its numbers; where pages draw it themselves, a place for it."""
    chart = draw() if page.is_drawn else make_element("div", class_="chart", data_chart=name)
    return make_element("figure", chart, make_element("figcaption", caption), details)


def _make_place(name: str) -> ET.Element:
    """Return a place for a chart of a kind of campaign, whose tables have its numbers."""
    chart = make_element("div", class_="chart", data_chart=name)
    return make_element("figure", chart, make_element("figcaption", CAPTIONS[name]))


def _make_headline(page: PageSource) -> Iterator[ET.Element]:
    report = page.report
    lines = list_headlines(report.found, billed=report.billed, focused=report.known is None, searched=report.searched)
    rows = [make_element("div", make_element("dt", name), make_element("dd", quote_text(line))) for name, line in lines]
    yield make_element("dl", *rows, class_="headline")
    yield make_element("p", f"Made {page.at[:16].replace('T', ' ')} UTC by socialcrawl {__version__}.", class_="quiet")


def _make_steering(page: PageSource) -> Iterator[ET.Element]:
    lines = describe_steering(page.report)
    heads = [line for line in lines if not line.startswith(" ")]
    for place, line in enumerate(heads):  # the first one follows the title, which asks the question
        said = line if place else line.removeprefix(steering.QUESTION).strip()
        yield make_element("p", *mark_code(f"{said[0].upper()}{said[1:]}"), class_="verdict")
    others = [line.strip() for line in lines if line.startswith(" ")]
    yield make_element("ul", *(make_element("li", *mark_code(line)) for line in others))
    if page.report.judgement is not None:
        yield from convert_renderable(steering.make_estimators_table(page.report.judgement))


def _make_days(page: PageSource) -> Iterator[ET.Element]:
    counts = page.report.found.on_topic
    length, spans = counts.fill_days(SPANS)
    each = name_span(length)
    rows = [(str(day), f"{posts:,}") for day, posts in spans]
    head = "day (UTC)" if length == 1 else "first day (UTC)"
    table = make_table([head, "matching posts"], rows, caption=f"matching posts per {each}", numbers=[1])
    said = [f"Matching posts{counts.source}, by the day on which they were written (UTC), per {each}."]
    if left_out := describe_left_out(counts):
        said.append(f"{left_out}: a search returns the newest posts, which would make the last days look busy.")
    said += filter(None, [describe_cut(page.facts.gaps["timelines_cut"]), describe_days(page.report.known)])

    def draw() -> ET.Element:
        return report_charts.draw_days(counts, list_unread_spans(page.report.known))

    yield _make_figure(page, "days", draw, " ".join(said), make_details("The numbers", table))


def _make_curve(page: PageSource) -> Iterator[ET.Element]:
    report = page.report
    curve = find_curve(report.known, report.found)
    assert curve is not None
    own = np.add.accumulate(curve.values)
    rows = [
        (f"{place:,}", *(f"{values[place - 1]:,.2f}" for values in (own, *report.baselines.values())))
        for place in choose_points(len(own), ROWS)
    ]
    x, y = curve.axes
    head = [x, "this campaign", *report.baselines]
    table = make_table(head, rows, caption=y, numbers=range(len(head)))
    said = f"The steeper the line, the more each step finds: {y}, against {x}."
    if report.baselines:
        said += " The other curves were simulated on all posts of the demo from the same seeds, one run each."

    def draw() -> ET.Element:
        return report_charts.draw_curves(curve, report.baselines)

    yield _make_figure(page, "curve", draw, said, make_details("The numbers", table))


def _make_network(page: PageSource) -> Iterator[ET.Element]:
    network, counts = page.network, page.report.found.on_topic
    total = max(len(network.nodes), counts.seeds_on_topic + counts.discovered_on_topic)
    matching = sum(weight > 0 for _, _, weight in network.edges)
    said = (
        f"Mentions between {len(network.nodes):,} of the {total:,} accounts on topic that were read, the most relevant "
        f"first. {_describe_left_out(network, total)}Squares are seeds. A line joins two accounts of which one "
        "mentions the other in any of its posts; its direction is not drawn. There are "
        f"{_count_pairs(network)}; in matching posts, {matching:,} of them. Numbers are those of the tables below. A "
        "force layout placed the dots: distances are no measure."
    )
    out, into = ([0] * len(network.nodes) for _ in range(2))
    for a, b, _ in network.edges:
        out[a] += 1
        into[b] += 1
    rows = [
        (f"{place:,}", _name(page, node.name, node.id), f"{node.value:.2f}", f"{into[place - 1]:,}",
         f"{out[place - 1]:,}", "seed" if node.is_seed else "discovered")
        for place, node in enumerate(network.nodes, 1)
    ]  # fmt: skip
    head = ["no.", "account", "relevance", "mentioned by (of these)", "mentions (of these)", "read as"]
    table = make_table(head, rows, caption="accounts of the network", numbers=[0, 2, 3, 4])

    def draw() -> ET.Element:
        return report_charts.draw_network(network)

    yield _make_figure(page, "network", draw, said, make_details("The accounts", table))


def _describe_left_out(network: TopNetwork, total: int) -> str:
    """Return how many of `total` accounts on topic a network leaves out, as a sentence; "" for none."""
    less = total - len(network.nodes) - network.alone
    parts = [
        *([f"{less:,} less relevant (of equally relevant ones, those read first stay)"] if less > 0 else []),
        *([f"{network.alone:,} that no mention joins to the others"] if network.alone else []),
    ]
    return f"Left out: {', and '.join(parts)}. " if parts else ""


def _count_pairs(network: TopNetwork) -> str:
    """Return how many ordered pairs a network draws."""
    pairs = f"{len(network.edges):,} ordered pairs (A mentions B, and B mentions A, are two)"
    return f"more than {pairs}; those with the largest link weight are drawn" if network.cut else pairs


def _make_accounts(page: PageSource) -> Iterator[ET.Element]:
    found = page.report.found
    places = {(node.name, node.id): f"{place:,}" for place, node in enumerate(page.network.nodes, 1)}
    for title, rows in (("discovered by the crawl", found.discovered), ("seeds", found.top_seeds)):
        cells: list[list[Child]] = [
            [places.get((row["account"], row["id"]), "-"), _name(page, row["account"], row["id"]), *format_account(row)]
            for row in rows
        ]
        head = ["no.", "account", *ACCOUNT_COLUMNS]
        if not page.is_drawn:  # there is no picture that the numbers would refer to
            head, cells = head[1:], [row[1:] for row in cells]
        numbers = [place for place, name in enumerate(head) if name != "account"]
        yield make_table(head, cells, caption=title, numbers=numbers)
    if places:
        yield make_element("p", "no.: the number in the network above; - where it is not in it", class_="quiet")
    yield make_element("ul", *(make_element("li", note) for note in COLUMN_NOTES), class_="quiet")


def _make_posts(page: PageSource) -> Iterator[ET.Element]:
    for one in page.texts:
        about = f", {(one.at or '?')[:10]}, {pluralize(one.occurrences, 'occurrence')}"
        footer = make_element("footer", quote_text(one.account or "?"), about)
        yield make_element("blockquote", make_element("p", quote_text(one.text or "")), footer)


def _make_requests(page: PageSource) -> Iterator[ET.Element]:
    found = page.report.found
    rows = [
        (quote_text(endpoint), kind, str(status or "-"), f"{count:,}")
        for (endpoint, kind, status), count in group_requests(found.requests).items()
    ]
    head = ["endpoint", "reply", "status", "requests"]
    if rows:
        yield make_table(head, rows, caption="requests by status", numbers=[2, 3])
    if page.report.billed and found.billed_posts:
        bill = [(day, f"{posts:,}", f"${cost:,.2f}") for day, posts, cost in found.billed_posts]
        table = make_table(["day (UTC)", "posts", "cost at most"], bill, caption="billed by day", numbers=[1, 2])
        yield make_details("Cost by day", table)


def _make_gaps(page: PageSource) -> Iterator[ET.Element]:
    rows = [*list_gaps(page.facts.gaps)]
    if page.report.known is None:
        rows = [*list_unseen(page.facts, page.report.found), *rows]
    yield make_table(["what", "count"], rows, caption="gaps", numbers=[1])
    reasons: dict[str, int] = {}
    for _, why in page.report.unread:
        reasons[why] = reasons.get(why, 0) + 1
    if reasons:
        said = ", ".join(f"{count:,} {why}" for why, count in reasons.items())
        yield make_element("p", "Seeds that could not be read: ", quote_text(said))


def _make_methods(page: PageSource) -> Iterator[ET.Element]:
    methods = write_methods(page.facts, page.report.found, __version__)
    yield make_element("p", make_element("bdi", methods), class_="methods")  # a longer text is not cut: it is copied
    crawl = page.facts.settings.get("crawl", {})
    chosen = [crawl.get(key) for key in ("strategy", "estimator", "start")]
    unused = {("crawl", name) for name, user in USED_BY.items() if user not in chosen}
    rows = [
        (f"[{section}] {name}", quote_text(_format_setting(value)))
        for section, values in page.facts.settings.items()
        for name, value in _list_settings(values)
        if (section, name) not in unused
    ]
    yield make_details("Settings", make_table(["setting", "value"], rows, caption="settings that may be published"))


def _list_settings(values: Any) -> list[tuple[str, Any]]:
    """Return the settings of a section that have a value."""
    pairs = sorted(values.items()) if isinstance(values, Mapping) else [("", values)]
    return [(name, value) for name, value in pairs if value is not None and value not in ([], {})]


def _format_setting(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _make_publishing(page: PageSource) -> Iterator[ET.Element]:
    platform = page.report.found.platform
    if page.with_texts:
        yield make_element(
            "p", "This page names accounts and quotes posts. Read the platform's terms before you share it."
        )
    else:
        ids = "" if find_platform_facts(platform).numeric_ids else " On this platform, ids tell the names of accounts."
        yield make_element(
            "p",
            "This page shows counts and ids: names of accounts and texts of posts are left out. Ids lead to persons, "
            f"so a page with ids is not anonymous.{ids} Counts, charts of days and the curve name nobody.",
        )
    if restricted := find_platform(platform).publishing:
        yield make_element("p", restricted)


def _convert_cell(page: PageSource, cell: RenderableType) -> ET.Element:
    """Return a cell of a kind's table; an account is called as everywhere on a page."""
    return _name(page, cell.account, cell.account_id) if isinstance(cell, AccountText) else convert_cell(cell)


def _name(page: PageSource, name: str, known_id: str | None) -> ET.Element:
    """Return how an account is called on a page."""
    if not page.with_texts:
        return quote_text(known_id or NO_ID)
    facts = find_platform_facts(page.report.found.platform)
    shown = quote_text(name.removeprefix("@") if facts.pages else name)
    if page.link is None:
        return shown
    plain = name.removeprefix("@")
    made = make_element("span", make_element("a", shown, href=page.link(plain, known_id)), class_="account")
    outside = facts.find_account_page(None if plain == known_id else plain, known_id)
    if outside and not is_loopback(page.report.found.base_url):  # who is invented is nobody's page
        said = f"{plain} on {facts.title}"
        made.append(
            make_element("a", "\u2197", href=outside, rel="noreferrer noopener", class_="outside", aria_label=said)
        )
    return made
