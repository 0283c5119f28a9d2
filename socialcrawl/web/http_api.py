"""The HTTP API: `/api/v1`, described by OpenAPI at `/api/v1/openapi.json`. Errors are problem+json."""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.exceptions import HTTPException

from socialcrawl import CampaignStatus, Project
from socialcrawl.web.campaign_readings import CampaignReadings
from socialcrawl.web.guards import check_own_site
from socialcrawl.web.http_models import (
    AccountItem,
    AccountItems,
    BestPosts,
    CampaignItem,
    CampaignItems,
    ChangedItem,
    ChartsItem,
    ExplanationItem,
    PostItem,
    PostItems,
    Problem,
    ReportItem,
)
from socialcrawl.web.live_status import LiveStatus
from socialcrawl.web.security import may_change

MOST_ROWS = 500  # of a page
LONGEST = 2_000  # characters of a name or id
PROBLEM: dict[str, Any] = {"model": Problem}
ERRORS: dict[int | str, dict[str, Any]] = {
    400: {**PROBLEM, "description": "The body is not text in UTF-8."},
    401: {**PROBLEM, "description": "The token is missing or wrong."},
    404: {**PROBLEM, "description": "There is no such campaign."},
    409: {**PROBLEM, "description": "Its database cannot be used now, or the campaign has not begun."},
    422: {**PROBLEM, "description": "A parameter is missing or out of range."},
    429: {**PROBLEM, "description": "Too many wrong tokens came from this address."},
}
REFUSED: dict[int | str, dict[str, Any]] = {403: {**PROBLEM, "description": "The CSRF token is missing or wrong."}}
BUSY: dict[int | str, dict[str, Any]] = {
    403: {**PROBLEM, "description": "A page of another site sent the request."},
    409: {**PROBLEM, "description": "What is asked for is wrong, or the database cannot be used now."},
    503: {**PROBLEM, "description": "As much of this is running as may."},
}
UNKNOWN: dict[int | str, dict[str, Any]] = {
    404: {**PROBLEM, "description": "There is no such campaign, or its database does not have the account."}
}
CHANGED = frozenset({"saved", "used"})  # parameters of pages that say what became of a change
OWN = [Depends(check_own_site)]
"""Of what takes long: no page of another site may have a browser ask for it."""
Rows = Annotated[int, Query(ge=1, le=MOST_ROWS, description="rows of this page, at most")]
Account = Annotated[str, Query(min_length=1, max_length=LONGEST, description="a username, id or page")]
api = APIRouter(prefix="/api/v1", responses=ERRORS, tags=["campaigns"])


def get_live(request: Request) -> LiveStatus:
    """Return how campaigns stand."""
    live: LiveStatus = request.app.state.live
    return live


def get_readings(request: Request) -> CampaignReadings:
    """Return what reads campaigns where that takes long."""
    readings: CampaignReadings = request.app.state.readings
    return readings


Live = Annotated[LiveStatus, Depends(get_live)]
Readings = Annotated[CampaignReadings, Depends(get_readings)]


async def find_status(live: LiveStatus, key: str) -> CampaignStatus:
    """Return how the campaign with a key stands.

    Raises:
        HTTPException: there is none.
    """
    for fresh in (False, True):  # a new one is unknown until the next look
        if (found := next((one for one in await live.read(fresh=fresh) if one.key == key), None)) is not None:
            return found
    raise HTTPException(404, f"There is no campaign {key!r} here.")


async def read_status(
    request: Request, live: Live, key: Annotated[str, Path(max_length=300, description="key of the campaign")]
) -> CampaignStatus:
    """Return how the campaign with a key stands: at this instant, where something is changed or was just changed.

    Raises:
        HTTPException: there is none.
    """
    status = await find_status(live, key)
    looks_on = request.method == "GET" and CHANGED.isdisjoint(request.query_params)
    return status if looks_on else await asyncio.to_thread(live.project.find, key, fresh=True)


Status = Annotated[CampaignStatus, Depends(read_status)]


def get_project(live: Live) -> Project:
    """Return the campaigns."""
    return live.project


Campaigns = Annotated[Project, Depends(get_project)]


async def check_change(request: Request) -> None:
    """Check that a request of the API may change something.

    Raises:
        HTTPException: its CSRF token is missing or wrong.
    """
    if not may_change(request.state.visitor, request.headers.get("x-csrf-token", "")):
        raise HTTPException(403, "Send the token as `Authorization: Bearer TOKEN`, or the CSRF token of the session.")


def describe_campaign(status: CampaignStatus) -> CampaignItem:
    """Return a campaign as the API shows it."""
    return CampaignItem.model_validate(asdict(status))


@api.get("/campaigns")
async def list_campaigns(live: Live) -> CampaignItems:
    """Return all campaigns, by name."""
    return CampaignItems(campaigns=[describe_campaign(one) for one in await live.read()])


@api.get("/campaigns/{key}")
async def get_campaign(status: Status) -> CampaignItem:
    """Return one campaign."""
    return describe_campaign(status)


@api.get("/campaigns/{key}/charts", dependencies=OWN, responses=BUSY)
async def get_charts(status: Status, readings: Readings) -> ChartsItem:
    """Return the score curve and the matching posts over time."""
    return ChartsItem.model_validate((await readings.reports.read(status)).charts)


@api.get("/campaigns/{key}/report", dependencies=OWN, responses=BUSY)
async def get_report(status: Status, readings: Readings) -> ReportItem:
    """Return the figures of the report."""
    return ReportItem(values=dict((await readings.reports.read(status)).values))


@api.get("/campaigns/{key}/accounts")
def list_accounts(
    status: Status,
    project: Campaigns,
    limit: Rows = 50,
    after: Annotated[int, Query(ge=0, le=10**9, description="place of the last account of the page before")] = 0,
) -> AccountItems:
    """Return the accounts on topic that were read, the most relevant first."""
    with project.open(status.key) as data:
        rows = [*data.accounts(limit + 1, campaign=status.name, after=after)]
    made = [AccountItem.model_validate(row) for row in rows[:limit]]
    return AccountItems(accounts=made, next=made[-1].place if len(rows) > limit else None)


@api.get("/campaigns/{key}/posts")
def list_posts(
    status: Status,
    project: Campaigns,
    limit: Rows = 50,
    after: Annotated[
        str | None, Query(min_length=1, max_length=LONGEST, description="id of the last post of the page before")
    ] = None,
) -> PostItems:
    """Return the posts on topic, the newest first."""
    made = [PostItem.model_validate(row) for row in read_posts(project, status, limit + 1, after)]
    return PostItems(posts=made[:limit], next=made[limit - 1].id if len(made) > limit else None)


@api.get("/campaigns/{key}/best-posts")
def list_best_posts(
    status: Status,
    project: Campaigns,
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS, description="posts, at most")] = 15,
) -> BestPosts:
    """Return the posts in which the topic occurs most often, of equals the newest first."""
    with project.open(status.key) as data:
        rows = [*data.best_posts(limit, campaign=status.name)]
    return BestPosts(posts=[PostItem.model_validate(row) for row in rows])


@api.get("/campaigns/{key}/explain", dependencies=OWN, responses=BUSY | UNKNOWN)
async def explain_account(status: Status, readings: Readings, account: Account) -> ExplanationItem:
    """Return why the campaign read an account, or did not; 404 if its database does not have the account."""
    found = await readings.explanations.read(status, account)
    values = found.to_dict()
    if values.get("state") == "unknown":
        raise HTTPException(404, found.text)
    return ExplanationItem(text=found.text, values=values)


@api.post("/campaigns/{key}/pause", dependencies=[Depends(check_change)], responses=REFUSED)
async def pause_campaign(status: Status, live: Live) -> ChangedItem:
    """Pause the campaign: no daemon runs it until it is resumed."""
    return await _change(live, status, "pause")


@api.post("/campaigns/{key}/resume", dependencies=[Depends(check_change)], responses=REFUSED)
async def resume_campaign(status: Status, live: Live) -> ChangedItem:
    """Resume the campaign."""
    return await _change(live, status, "resume")


def read_posts(project: Project, status: CampaignStatus, limit: int, after: str | None) -> list[Mapping[str, Any]]:
    """Return posts on topic of a campaign, the newest first; those after one, by its id."""
    with project.open(status.key) as data:
        return [*data.posts(on_topic=True, campaign=status.name, after=after, limit=limit, newest_first=True)]


async def change_campaign(live: LiveStatus, status: CampaignStatus, what: str) -> bool:
    """Pause or resume a campaign; return whether that changed something."""
    act = live.project.pause if what == "pause" else live.project.resume
    return await asyncio.to_thread(act, status.key)


async def _change(live: LiveStatus, status: CampaignStatus, what: str) -> ChangedItem:
    changed = await change_campaign(live, status, what)
    found = next((one for one in await live.read(fresh=True) if one.key == status.key), status)
    return ChangedItem(changed=changed, campaign=describe_campaign(found))
