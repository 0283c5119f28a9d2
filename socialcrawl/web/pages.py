"""The pages: overview, campaign, account, posts, login, downloads and the events that keep them up to date.

They work without a script; scripts add charts, and replace what has changed. Only forms change something.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.exceptions import HTTPException
from fastapi.responses import FileResponse, RedirectResponse, Response, StreamingResponse

from socialcrawl import CampaignStatus, Project, SettingsError, SocialcrawlError, TextReport
from socialcrawl.web.campaign_reports import ReadReport, make_account_path
from socialcrawl.web.control_pages import fill_forms, go_back
from socialcrawl.web.data_work import DataWork, get_work
from socialcrawl.web.http_api import LONGEST, OWN, Campaigns, Live, Readings, Status, change_campaign
from socialcrawl.web.kept_forms import ENDED, keep_form, read_kept_form
from socialcrawl.web.live_status import LiveStatus
from socialcrawl.web.overview_choice import FEW, OverviewChoice, list_states, make_choice, tell_apart
from socialcrawl.web.page_answers import name_download, read_change, read_form, render, render_fragment
from socialcrawl.web.security import COOKIE, LASTING, LONGEST_PATH, Access, choose_next, may_change

ACCOUNTS = 50  # of a page
SECTIONS = ("top", "steering", "curve", "days", "kind", "accounts", "gaps")
"""The parts of a report that a campaign's page shows, in this order; its download has all."""
UNREADABLE = ("outdated", "broken")
Choice = Annotated[OverviewChoice, Depends(make_choice)]
NextPage = Annotated[str, Query(alias="next", max_length=LONGEST_PATH)]
Name = Annotated[str, Query(min_length=1, max_length=LONGEST)]
Work = Annotated[DataWork, Depends(get_work)]
pages = APIRouter(include_in_schema=False)


@pages.get("/")
async def show_overview(request: Request, live: Live, choice: Choice) -> Response:
    """Show all campaigns, or those that somebody chooses."""
    campaigns = await live.read()
    return render(
        request, "overview.html", states=list_states(campaigns), few=FEW, **_fill_list(live.project, campaigns, choice)
    )


@pages.get("/events")
async def follow_overview(request: Request, live: Live, choice: Choice) -> Response:
    """Send the list of campaigns each time that it changes."""

    def make(campaigns: Sequence[CampaignStatus]) -> str:
        return render_fragment(request, "campaign_list.html", **_fill_list(live.project, campaigns, choice))

    return _stream(request, live, make)


@pages.get("/campaigns/{key}")
async def show_campaign(request: Request, status: Status, readings: Readings, live: Live) -> Response:
    """Show one campaign: at once, though its report may take long to read."""
    report: ReadReport | None = None
    why = ""
    readable = status.state not in UNREADABLE
    try:
        report = await readings.reports.find(status) if readable else None
    except SocialcrawlError as error:
        why = str(error)
    sections = [] if report is None else [report.sections[name] for name in SECTIONS if name in report.sections]
    later = readable and report is None and not why
    forms = await asyncio.to_thread(fill_forms, live.project, status, {})
    return render(
        request,
        "campaign.html",
        status=status,
        report=report,
        sections=sections,
        why=why,
        later=later,
        place=tell_apart(live.known, live.project.folder).get(status.key, ""),
        wrong={},
        **forms,
    )


@pages.get("/campaigns/{key}/events")
async def follow_campaign(request: Request, status: Status, live: Live) -> Response:
    """Send how a campaign stands each time that this changes."""

    def make(campaigns: Sequence[CampaignStatus]) -> str:
        found = next((one for one in campaigns if one.key == status.key), status)
        return render_fragment(request, "campaign_status.html", status=found)

    return _stream(request, live, make, status.key)


@pages.get("/campaigns/{key}/account", dependencies=OWN)
async def show_account(
    request: Request, status: Status, project: Campaigns, readings: Readings, name: Name
) -> Response:
    """Show why a campaign read an account, or did not."""
    found: TextReport | None = None
    why = ""
    try:
        found = await readings.explanations.find(status, name)
    except SettingsError as error:  # so kinds say it that explain no choice
        why = str(error)
    values = {} if found is None else found.to_dict()
    forms = (await asyncio.to_thread(fill_forms, project, status, {}))["forms"]
    if why or values.get("state") == "unknown":
        alike = values.get("alike", ())
        return render(request, "account_unknown.html", 404, status=status, name=name, why=why, alike=alike, forms=forms)
    return render(
        request, "account.html", status=status, name=name, page=values.get("page"), forms=forms,
        text=found and found.to_fragment(partial(make_account_path, status.key)),
    )  # fmt: skip


@pages.get("/campaigns/{key}/accounts")
def list_accounts(
    request: Request, status: Status, project: Campaigns, after: Annotated[int, Query(ge=0, le=10**9)] = 0
) -> Response:
    """Show the accounts on topic, the most relevant first."""
    with project.open(status.key) as data:
        rows = [*data.accounts(ACCOUNTS + 1, campaign=status.name, after=after)]
    more = rows[ACCOUNTS - 1]["place"] if len(rows) > ACCOUNTS else None
    return render(request, "accounts.html", status=status, accounts=rows[:ACCOUNTS], more=more)


@pages.get("/campaigns/{key}/report.html", dependencies=OWN)
def download_report(status: Status, project: Campaigns, work: Work) -> Response:
    """Return the report as one page, with counts and ids only, to be kept."""
    with work.exports.hold(), TemporaryDirectory(prefix="socialcrawl-") as folder, project.open(status.key) as data:
        path = Path(folder) / "report.html"
        data.report(campaign=status.name).to_html(path)
        body = path.read_bytes()
    return _make_download(body, f"{status.name}-report.html", "text/html; charset=utf-8")


@pages.get("/campaigns/{key}/datasheet.md", dependencies=OWN)
def download_datasheet(status: Status, project: Campaigns, work: Work) -> Response:
    """Return how the data came about, to be kept."""
    with work.exports.hold(), project.open(status.key) as data:
        text = data.datasheet(campaign=status.name).text
    return _make_download(text.encode(), f"{status.name}-datasheet.md", "text/markdown; charset=utf-8")


@pages.post("/campaigns/{key}/{what}")
async def change(request: Request, status: Status, live: Live, what: str) -> Response:
    """Pause or resume a campaign, by its button."""
    if what not in ("pause", "resume"):
        raise HTTPException(404, "There is no such button.")
    form = await read_change(request)
    await change_campaign(live, status, what)
    return go_back(status, form)


@pages.get("/login")
async def show_login(request: Request, next_page: NextPage = "/") -> Response:
    """Show the form for the token."""
    return render(request, "login.html", why="", next_page=choose_next(next_page), kept="")


@pages.post("/login")
async def log_in(request: Request) -> Response:
    """Begin a session for somebody who has the token."""
    access: Access = request.app.state.access
    client = request.client.host if request.client else ""
    form = await read_form(request)
    if refused := getattr(request.state, "refused", ""):
        made = render(request, "login.html", 401, why=ENDED, next_page="/", kept=keep_form(refused, form))
        made.headers["www-authenticate"] = "Bearer"
        return made
    next_page, kept = choose_next(form.get("next", "/")), form.get("kept", "")
    if wait := access.backoff.get_wait(client):
        why = f"Too many wrong tokens: try again in {wait + 1:.0f} s."
        made = render(request, "login.html", 429, why=why, next_page=next_page, kept=kept)
        made.headers["retry-after"] = f"{wait + 1:.0f}"
        return made
    if not access.sessions.is_token(form.get("token", "").strip()):
        access.backoff.fail(client)
        why = "This is not the token of these pages. It is 64 characters of 0 to 9 and a to f."
        return render(request, "login.html", 401, why=why, next_page=next_page, kept=kept)
    access.backoff.succeed(client)
    cookie = access.sessions.begin()
    done: Response = RedirectResponse(next_page, 303)
    if (again := read_kept_form(kept)) is not None:
        request.state.visitor = access.sessions.recognize(cookie)
        done = render(request, "kept_form.html", path=again.path, fields=again.fields)
    secure = request.url.scheme == "https"
    done.set_cookie(COOKIE, cookie, max_age=int(LASTING), httponly=True, samesite="strict",
                    secure=secure)  # fmt: skip
    return done


@pages.post("/logout")
async def log_out(request: Request) -> Response:
    """End the session of this browser: its cookie is worth nothing from then on, wherever it was copied."""
    done = RedirectResponse("/", 303)
    if may_change(request.state.visitor, (await read_form(request)).get("csrf", "")):
        access: Access = request.app.state.access
        await asyncio.to_thread(access.sessions.end, request.cookies.get(COOKIE, ""))
        done.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return done


@pages.get("/static/plotly.js")
async def send_plotly(request: Request) -> Response:
    """Return the script of Plotly, from its package."""
    return FileResponse(request.app.state.plotly, media_type="text/javascript", headers={"cache-control": "no-cache"})


def _fill_list(project: Project, campaigns: Sequence[CampaignStatus], choice: OverviewChoice) -> dict[str, Any]:
    """Return what the template of the list needs."""
    return {
        "campaigns": choice.select(campaigns),
        "choice": choice,
        "total": len(campaigns),
        "places": tell_apart(campaigns, project.folder),
    }


def _stream(
    request: Request, live: LiveStatus, make: Callable[[Sequence[CampaignStatus]], str], key: str | None = None
) -> Response:
    """Return a stream of events: what `make` makes of each change that changes it, while the sender may read it.

    `key`: of the campaign that is looked at; None: all are.
    """
    access: Access = request.app.state.access

    async def send() -> AsyncIterator[str]:
        before = None
        async for campaigns in live.watch(key):
            if not access.may_go_on_reading(request.state.visitor, request.headers):
                return
            made = before if campaigns is None else await asyncio.to_thread(make, campaigns)
            if made == before:
                yield ": nothing changed\n\n"
            else:
                before = made
                lines = "".join(f"data: {line}\n" for line in (made or "").splitlines())
                yield f"event: fragment\n{lines}\n"

    return StreamingResponse(send(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})


def _make_download(body: bytes, name: str, kind: str) -> Response:
    return Response(body, media_type=kind, headers=name_download(name))
