"""The texts that a dataset makes of a campaign: its report, why it read an account, its datasheet, and terms."""

from functools import partial
from typing import Any

from socialcrawl.api.frontier import CampaignFrontier
from socialcrawl.api.page_addresses import find_account
from socialcrawl.api.text_report import CampaignPage, TextReport
from socialcrawl.crawls.base import ReportRequest
from socialcrawl.crawls.kept_crawls import KeptCrawls
from socialcrawl.crawls.next_picks import list_next
from socialcrawl.crawls.reporting import explain
from socialcrawl.engine.clock import SystemClock
from socialcrawl.exporters.datasheet import render_page
from socialcrawl.exporters.export import make_datasheet
from socialcrawl.exporters.selection import open_selection
from socialcrawl.platforms.registry import find_platform
from socialcrawl.render.campaign_report import collect_values, read_report, show
from socialcrawl.render.console import Console, render_text
from socialcrawl.render.explanation import collect_explanation, show_explanation
from socialcrawl.render.html_elements import AccountLink, render_fragment
from socialcrawl.render.html_report import list_sections, make_page
from socialcrawl.render.report_values import collect_charts
from socialcrawl.storage.queries.read_session import ReadSession
from socialcrawl.storage.queries.summary import find_campaign, read_first_settings
from socialcrawl.storage.queries.traces import CampaignTraces

NAMING = "These data name people and quote them. Read the platform's terms before you hand them on."


def make_report(session: ReadSession, campaign: str | None, top: int) -> CampaignPage:
    """Return what a campaign found and what it took; see `Dataset.report`."""
    now = SystemClock().now()
    with session.open_reader() as connection:
        found = read_report(connection, campaign, ReportRequest(top, now))

    def render(with_texts: bool) -> str:  # noqa: FBT001 (the page calls it)
        with session.open_reader() as connection:
            return make_page(connection, found, now, with_texts=with_texts)

    def list_parts(link: AccountLink) -> list[tuple[str, str]]:
        with session.open_reader() as connection:
            return list_sections(connection, found, now, link)

    def collect() -> dict[str, Any]:
        with session.open_reader() as connection:
            return collect_charts(found, connection)

    text = render_text(lambda console: show(console, found))
    return CampaignPage(text, collect_values(found), render, list_parts, collect)


def make_explanation(
    session: ReadSession, user: str, campaign: str | None, top: int, crawls: KeptCrawls | None
) -> TextReport:
    """Return why a campaign read an account or did not; see `Dataset.explain`."""
    with session.open_reader() as connection:
        traces = CampaignTraces(connection)
        trace = explain(traces, user, campaign, crawls)
        page = find_account(traces, user, campaign)

    def print_to(console: Console) -> None:
        show_explanation(trace, console, top)

    values = collect_explanation(trace) | {"page": page}
    return TextReport(render_text(print_to), values, partial(render_fragment, print_to))


def make_sheet(session: ReadSession, campaign: str | None) -> TextReport:
    """Return how the data of a campaign came about; see `Dataset.datasheet`."""
    with session.open_reader() as connection, open_selection(connection, campaign) as choice:
        values = make_datasheet(choice, None, SystemClock().now())
    return TextReport(render_page({**values, "files": []}), values)


def read_frontier(session: ReadSession, campaign: str | None, top: int, crawls: KeptCrawls | None) -> CampaignFrontier:
    """Return what a campaign would read next; see `Dataset.frontier`."""
    with session.open_reader() as connection:
        return CampaignFrontier(list_next(CampaignTraces(connection), campaign, top, SystemClock().now(), crawls))


def describe_terms(session: ReadSession, campaign: str | None) -> str:
    """Return what the terms of a campaign's platform let people publish; see `Dataset.describe_terms`."""
    with session.open_reader() as connection:
        platform, _ = read_first_settings(connection, find_campaign(connection, campaign)[0])
    return find_platform(platform).publishing or NAMING
