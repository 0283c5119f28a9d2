"""The money part of reports: what relevance costs, what was billed on which day, and X's own count beside ours."""

import io
from dataclasses import replace

import numpy as np
import pytest
from commands import campaign_file, socialcrawl
from rich.console import Console
from stores import opened
from x_crawls import TOKEN, campaign_of, crawl, posts, rows

from socialcrawl.campaign.plan import make_plan
from socialcrawl.cli.commands import usage
from socialcrawl.engine.clock import SystemClock
from socialcrawl.engine.model import format_time
from socialcrawl.errors import SettingsError, SourceError, StoreError
from socialcrawl.mock import faults
from socialcrawl.mock.server import serve_in_thread
from socialcrawl.render.campaign_report import CampaignReport, show
from socialcrawl.storage.queries.statistics import sum_spending
from socialcrawl.storage.queries.summary import summarize_campaign

DAY = 86_400.0


def console(width=80):
    return Console(file=io.StringIO(), width=width, markup=False, emoji=False, highlight=False)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The settings of a campaign that is over, and what it left: its database, the mock's bill."""
    database = tmp_path_factory.mktemp("ran") / "a.db"
    with serve_in_thread(posts(), limit=100_000, missing=0.1, cap=9_000, cap_reset_day=17) as mock:
        settings = campaign_of(mock.url, database)
        crawl(settings)
        yield settings


def reported(settings, width=80, *, billed=True):
    with opened(settings.database) as connection:
        found = summarize_campaign(connection, settings.name)
    by = console(width)
    show(by, CampaignReport(found, billed))
    return by.file.getvalue()


def line_of(text, begin):
    (line,) = (line for line in text.splitlines() if line.startswith(begin))
    return line


def test_what_a_campaign_spent_is_told_by_what_it_was_for(ran):
    with opened(ran.database) as connection:
        told = sum_spending(connection, ran.name)
        assert sum_spending(connection, "nobody's") == {}
    assert set(told) == {"search", "resolve", "seed", "expand"}
    assert told["search"][0] == 1
    assert told["resolve"][0] == 1
    sums = rows(ran.database, "select count(*), sum(cost) from request")[0]
    assert tuple(map(sum, zip(*told.values(), strict=True))) == sums


def test_the_bill_is_told_by_day(ran):
    today = format_time(SystemClock().now())[:10]
    billed, cost = rows(ran.database, "select sum(new_posts), sum(cost) from request")[0]
    assert line_of(reported(ran), today).split() == [today, f"{billed:,}", f"${cost / 100_000:,.2f}"]
    assert "billed by day" not in reported(ran, billed=False)


def test_a_long_bill_is_told_by_its_last_days_and_the_sum_of_those_before(ran):
    with opened(ran.database) as connection:
        found = summarize_campaign(connection, ran.name)
    days = [(f"2026-10-{day:02}", day, day / 10) for day in range(1, 31)]
    by = console()
    show(by, CampaignReport(replace(found, billed_posts=days, reused=1_234), billed=True))
    text = by.file.getvalue()
    assert line_of(text, "before").split() == ["before", f"{sum(range(1, 17)):,}", f"${sum(range(1, 17)) / 10:,.2f}"]
    assert sum(line.startswith("2026-10-") for line in text.splitlines()) == 14
    assert "1,234 replies were in the database already and cost nothing" in text


def test_a_campaign_that_has_found_nothing_divides_by_nothing(ran):
    with opened(ran.database) as connection:
        found = summarize_campaign(connection, ran.name)
    none = {"requests": [], "billed_posts": [], "top_seeds": [], "discovered": []}
    nothing = replace(found, steps=np.zeros(0), seeds=np.zeros(0), sent=0, cost=0, **none)
    by = console()
    show(by, CampaignReport(nothing, billed=True))
    assert "0 steps after 0 seeds found relevance 0.0" in by.file.getvalue()


@pytest.mark.parametrize("width", [80, 120])
def test_a_report_fits_the_terminal(ran, width):
    assert max(map(len, reported(ran, width).splitlines())) <= width


def compared(settings, width=80):
    by = console(width)
    usage.compare(make_plan(settings), by)
    text = by.file.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert TOKEN not in text
    return text


@pytest.mark.parametrize("width", [80, 120])
def test_our_ledger_stands_beside_the_count_of_x(ran, width):
    text, today = compared(ran, width), format_time(SystemClock().now())[:10]
    billed = rows(ran.database, "select sum(new_posts) from request")[0][0]
    assert line_of(text, today).split() == [today, f"{billed:,}", f"{billed:,}", "0"]
    assert line_of(text, "in all").split() == ["in", "all", f"{billed:,}", f"{billed:,}", "0"]
    assert f"this billing cycle: {billed:,} of 9,000 posts; the next cycle begins on day 17" in " ".join(text.split())
    assert "They may differ" not in text


def test_a_difference_is_shown_and_explained(tmp_path):
    with serve_in_thread(posts(), limit=100_000) as mock:
        settings = campaign_of(mock.url, tmp_path / "a.db", crawl={"steps": 5})
        crawl(settings)
        crawl(campaign_of(mock.url, tmp_path / "b.db", crawl={"steps": 30}, source={"pages_per_user": 3}))
        billed = sum(day["posts"] for day in mock.report()["billed"].values())
        text = compared(settings, 200)
    ours = rows(tmp_path / "a.db", "select sum(new_posts) from request")[0][0]
    assert 0 < ours < billed
    assert line_of(text, "in all").split()[2:] == [f"{ours:,}", f"{billed:,}", f"+{billed - ours:,}"]
    assert "They may differ: X counts all apps of the project" in text


def test_the_days_are_those_of_the_campaign_and_ninety_at_most(ran, monkeypatch):
    asked = []
    told = usage._ask

    def ask(meant, days, clock):
        asked.append(days)
        return told(meant, days, clock)

    monkeypatch.setattr(usage, "_ask", ask)
    now = SystemClock().now()
    for back in (0, 1, 6, 89, 200):
        began = format_time(now - back * DAY)[:10]

        def older(*given, before=((began, 5, 0.1),) * (back > 0)):
            found = summarize_campaign(*given)
            return replace(found, billed_posts=[*before, *found.billed_posts])

        monkeypatch.setattr(usage, "summarize_campaign", older)
        text = compared(ran)
        assert (f"\n{began} " in text) == (back < 90)
    assert asked == [1, 2, 7, 90, 90]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (faults.make_refusals(401), "not accepted"),
        (faults.make_html_fault(503), "in trouble"),
        (faults.Fault("answer", 200, b'{"data": {}}'), "does not say it"),
    ],
    ids=["401", "503", "nothing"],
)
def test_a_count_that_does_not_come_is_told(tmp_path, fault, said):
    with serve_in_thread(posts(), limit=100_000) as mock:
        crawl(campaign_of(mock.url, tmp_path / "a.db", crawl={"steps": 1}))
    with serve_in_thread(posts(), fault=lambda endpoint, nth: fault) as mock, pytest.raises(SourceError, match=said):
        compared(campaign_of(mock.url, tmp_path / "a.db", crawl={"steps": 1}))


def test_a_campaign_that_has_not_begun_or_has_no_token_of_an_app_has_no_usage(ran, tmp_path):
    with pytest.raises(StoreError, match="run a campaign first"):
        compared(campaign_of(ran.source.base_url, tmp_path / "lost.db"))
    with pytest.raises(StoreError, match="no campaign 'other'"):
        compared(ran.model_copy(update={"name": "other"}))
    token = {"tokens": [{"env": ran.source.variable, "kind": "user"}]}
    with pytest.raises(SettingsError, match="bearer token of an app"):
        compared(campaign_of(ran.source.base_url, ran.database, source=token))


def test_the_command_compares_on_request_only(tmp_path):
    with serve_in_thread(posts(), limit=100_000) as mock:
        file = campaign_file(tmp_path, mock.url, steps=5)
        assert socialcrawl("run", file, folder=tmp_path).returncode == 0
        before = mock.report()["windows"]
        child = socialcrawl("report", "--db", tmp_path / "mine.db", folder=tmp_path, token=None)
        assert (child.returncode, "5 steps after" in child.stdout) == (0, True), child.stderr
        assert mock.report()["windows"] == before
        child = socialcrawl("report", "--usage", file, folder=tmp_path)
        assert (child.returncode, "our ledger" in child.stdout) == (0, True), child.stderr
        assert len(mock.report()["windows"]) == len(before) + 1
