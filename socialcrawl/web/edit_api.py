"""The HTTP API of campaign files: their settings, what they say, changes, quotes and previews."""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date, time
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.exceptions import HTTPException
from fastapi.responses import JSONResponse

from socialcrawl import CampaignFile, CampaignStatus, ConflictError, Project, SettingsError, describe_settings
from socialcrawl.web.edit_drafts import (
    describe_values,
    find_secrets,
    has_begun,
    list_fixed,
    make_draft,
    preview_stored,
    preview_texts,
    quote_file,
    refuse_values,
)
from socialcrawl.web.edit_models import (
    CreatedItem,
    FileChange,
    FileItem,
    NewFile,
    PreviewItem,
    PreviewRequest,
    QuoteItem,
    QuoteRequest,
    SettingsItem,
    ValuesProblem,
)
from socialcrawl.web.edit_problems import locate_problems
from socialcrawl.web.guards import PROBLEM_TYPE, make_problem
from socialcrawl.web.http_api import (
    ERRORS,
    PROBLEM,
    REFUSED,
    Campaigns,
    Live,
    Status,
    check_change,
    describe_campaign,
    find_status,
)
from socialcrawl.web.work_slots import WorkSlots

WRONG: dict[int | str, dict[str, Any]] = {
    **REFUSED,
    409: {**PROBLEM, "description": "Somebody else has changed the file, or the campaign has none here."},
    422: {"model": ValuesProblem, "description": "Values are wrong: `problems` names the keys."},
    503: {**PROBLEM, "description": "Too many quotes and previews are being computed."},
}
edit_api = APIRouter(prefix="/api/v1", responses=ERRORS, tags=["campaign files"])
Checked = Depends(check_change)
Name = Annotated[str, Query(min_length=1, max_length=100)]


def get_drafting(request: Request) -> WorkSlots:
    """Return the slot in which quotes and previews run."""
    found: WorkSlots = request.app.state.data_work.drafting
    return found


Turns = Annotated[WorkSlots, Depends(get_drafting)]


@edit_api.get("/settings", responses={422: WRONG[422]})
def get_settings(kind: Name = "collect", platform: Name = "x") -> Any:
    """Return the sections and keys of campaign files of a kind on a platform, with types, defaults and help."""
    try:
        return SettingsItem(kind=kind, platform=platform, sections=describe_settings(kind, platform))
    except SettingsError as error:
        return answer_wrong(error)


@edit_api.get("/campaigns/{key}/file")
def get_file(status: Status, project: Campaigns) -> FileItem:
    """Return what a campaign's file says."""
    return _describe(project.load_file(status.key), begun=has_begun(project, status))


@edit_api.post("/campaigns", status_code=201, dependencies=[Checked], responses=WRONG, response_model=CreatedItem)
async def create_file(given: NewFile, live: Live) -> Any:
    """Write a new campaign file into the first folder of the project."""
    try:
        file, warnings = await asyncio.to_thread(_create, live.project, given.values)
    except SettingsError as error:
        return answer_wrong(error)
    found = next((one for one in await live.read(fresh=True) if one.file == str(file.path)), None)
    if found is None:
        raise HTTPException(409, f"{file.path} was written, and is gone.")
    made = _describe(file, begun=False).model_copy(update={"warnings": warnings})
    return CreatedItem(file=made, campaign=describe_campaign(found))


@edit_api.patch("/campaigns/{key}/file", dependencies=[Checked], responses=WRONG, response_model=FileItem)
async def change_file(given: FileChange, status: Status, project: Campaigns) -> Any:
    """Change a campaign's file: comments stay, and it is saved only over the file that was seen."""
    try:
        return await asyncio.to_thread(_change, project, status, given)
    except SettingsError as error:
        return answer_wrong(error)


@edit_api.post("/quote", dependencies=[Checked], responses=WRONG, response_model=QuoteItem)
async def quote(given: QuoteRequest, live: Live, turns: Turns) -> Any:
    """Return what a campaign would need with some values. Nothing is saved, and nothing is sent."""
    status = None if given.campaign is None else await find_status(live, given.campaign)

    def work() -> QuoteItem:
        if status is None:
            refuse_values(describe_values(given.values), given.values)
            file, begun = make_draft(live.project, given.values), False
        else:
            file, begun = live.project.load_file(status.key), has_begun(live.project, status)
            refuse_values(describe_values(file.values), given.values)
            file.update(given.values)
        return QuoteItem.model_validate(asdict(quote_file(file, begun=begun)))

    try:
        return await turns.run(work)
    except SettingsError as error:
        return answer_wrong(error)


@edit_api.post("/preview", dependencies=[Checked], responses=WRONG, response_model=PreviewItem)
async def preview(given: PreviewRequest, live: Live, turns: Turns) -> Any:
    """Return which posts match a topic: of the database of a campaign, or those that are sent."""
    words = given.keywords, given.patterns, given.languages
    status = None if given.campaign is None else await find_status(live, given.campaign)

    def work() -> PreviewItem:
        if status is not None:
            found = preview_stored(live.project, status, words)
        elif given.texts:
            found = preview_texts(given.platform, given.texts, words)
        else:
            raise SettingsError("Name a campaign with stored posts, or send texts.")
        return PreviewItem.model_validate(asdict(found))

    try:
        return await turns.run(work)
    except SettingsError as error:
        return answer_wrong(error)


def answer_wrong(error: SettingsError) -> JSONResponse:
    """Return an error about values, by key; 409 where somebody else has changed the file."""
    if isinstance(error, ConflictError):
        return JSONResponse(make_problem(409, str(error)), 409, media_type=PROBLEM_TYPE)
    problems = [{"key": key, "detail": sentence} for key, sentence in locate_problems(error)]
    return JSONResponse({**make_problem(422, str(error)), "problems": problems}, 422, media_type=PROBLEM_TYPE)


def _create(project: Project, values: Mapping[str, Any]) -> tuple[CampaignFile, list[str]]:
    refuse_values(describe_values(values), values)
    file = project.draft(values)
    warnings = file.check()
    file.save()
    return file, warnings


def _change(project: Project, status: CampaignStatus, given: FileChange) -> FileItem:
    file, begun = project.load_file(status.key, digest=given.digest), has_begun(project, status)
    refuse_values(describe_values(file.values), given.values)
    file.update(given.values)
    warnings, epoch = file.check(), file.check_change() if begun else []
    file.save()
    return _describe(file, begun=begun).model_copy(update={"warnings": warnings, "epoch": epoch})


def _describe(file: CampaignFile, *, begun: bool) -> FileItem:
    values = _make_plain(file.values)
    for key in find_secrets(file):
        section, _, name = key.partition(".")
        if isinstance(own := values.get(section), dict) and name:
            own.pop(name, None)
        else:
            values.pop(section, None)
    return FileItem(
        file=str(file.path), digest=file.digest, values=values, unshown=[*find_secrets(file)], begun=begun,
        fixed=[*list_fixed(file)],
    )  # fmt: skip


def _make_plain(value: Any) -> Any:
    """Return a value of TOML as JSON has it."""
    if isinstance(value, Mapping):
        return {key: _make_plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_make_plain(one) for one in value]
    return value.isoformat() if isinstance(value, date | time) else value
