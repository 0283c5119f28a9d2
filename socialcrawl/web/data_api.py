"""The HTTP API of a campaign's data: search, SQL, the search index and exports."""

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.exceptions import HTTPException
from fastapi.responses import FileResponse, Response

from socialcrawl import CampaignStatus, Project
from socialcrawl.web.data_models import (
    AnswerColumn,
    ExportChoice,
    ExportOrder,
    ExportProgress,
    IndexItem,
    KeptExportItem,
    KeptExportItems,
    LimitedPostChoice,
    LimitedSqlQuery,
    QueryItem,
    QueryItems,
    SqlAnswer,
)
from socialcrawl.web.data_reading import count_hits, read_answer, search_posts
from socialcrawl.web.data_work import DataWork, get_work
from socialcrawl.web.export_downloads import export_campaign
from socialcrawl.web.http_api import (
    BUSY,
    ERRORS,
    OWN,
    PROBLEM,
    REFUSED,
    Campaigns,
    Status,
    check_change,
    describe_campaign,
)
from socialcrawl.web.http_models import ChangedItem, FoundPosts, PostItem
from socialcrawl.web.kept_exports import GONE, KEPT_FOR, KeptExport
from socialcrawl.web.page_answers import name_download

ZIP: dict[int | str, dict[str, Any]] = {200: {"content": {"application/zip": {}}, "description": "the export"}}
GONE_EXPORT: dict[int | str, dict[str, Any]] = {
    404: {**PROBLEM, "description": "There is no such campaign, or no such export."}
}
Work = Annotated[DataWork, Depends(get_work)]
ExportId = Annotated[str, Path(max_length=100, description="id of the export")]
data_api = APIRouter(prefix="/api/v1", responses=ERRORS, tags=["data"])


@data_api.get("/campaigns/{key}/search", dependencies=OWN, responses=BUSY)
def find_posts(
    status: Status, project: Campaigns, work: Work, wanted: Annotated[LimitedPostChoice, Query()]
) -> FoundPosts:
    """Return the posts that match a query, the newest first; without one, all that the other parameters leave."""
    with work.queries.hold():
        rows, following = search_posts(project, status, wanted, wanted.limit)
        count = count_hits(project, status, wanted) if wanted.count else None
    return FoundPosts(posts=[PostItem.model_validate(row) for row in rows], next=following, count=count)


@data_api.get("/campaigns/{key}/search-index")
def get_search_index(status: Status, project: Campaigns, work: Work) -> IndexItem:
    """Return whether searches need the search index, and how far it is."""
    return describe_index(project, status, work)


@data_api.post("/campaigns/{key}/search-index", dependencies=[Depends(check_change)], responses=REFUSED)
def update_search_index(status: Status, project: Campaigns, work: Work) -> IndexItem:
    """Begin to bring the search index up to date, for at most 30 minutes; campaigns may run meanwhile."""
    made = describe_index(project, status, work)  # a database that is not there is an error here
    return made.model_copy(update={"running": work.indexing.start(status) or True, "why": ""})


@data_api.get("/campaigns/{key}/queries")
def list_queries(status: Status, project: Campaigns) -> QueryItems:
    """Return the questions that the documentation answers, with their SQL."""
    with project.open(status.key) as data:
        return QueryItems(queries=[QueryItem.model_validate(row) for row in data.list_queries()])


@data_api.get("/campaigns/{key}/sql", dependencies=OWN, responses=BUSY)
def query_database(
    status: Status, project: Campaigns, work: Work, wanted: Annotated[LimitedSqlQuery, Query()]
) -> SqlAnswer:
    """Return the answer to one SELECT about the campaign's database, which has 20 s and 4 MB."""
    with work.queries.hold():
        answer = read_answer(project, status, wanted.query, wanted.limit)
    columns = [AnswerColumn(name=name, kind=kind) for name, kind in zip(answer.names, answer.kinds, strict=True)]
    return SqlAnswer(columns=columns, rows=[list(row) for row in answer.rows], more=answer.more)


@data_api.get(
    "/campaigns/{key}/export.zip",
    dependencies=OWN,
    responses={**BUSY, **ZIP},
    response_class=Response,
)
async def download_export(
    request: Request, status: Status, project: Campaigns, work: Work, choice: Annotated[ExportChoice, Query()]
) -> Response:
    """Return an export of the campaign with its datasheet, as a zip archive."""

    def tell(what: str, rows: int) -> None:
        work.writing[status.key] = what, rows

    try:
        return await export_campaign(request, project, status, choice.list_options(), work.exports, tell=tell)
    finally:
        work.writing.pop(status.key, None)


@data_api.get("/campaigns/{key}/export-progress")
def get_export_progress(status: Status, work: Work) -> ExportProgress:
    """Return how far the newest export of a campaign is that these pages write."""
    what, rows = work.writing.get(status.key, (None, 0))
    return ExportProgress(writing=what, rows=rows)


@data_api.get("/campaigns/{key}/exports")
def list_exports(status: Status, work: Work) -> KeptExportItems:
    """Return the exports of a campaign that these pages write or keep, the newest first."""
    return KeptExportItems(exports=[describe_export(one) for one in work.kept.list_exports(status)])


@data_api.post("/campaigns/{key}/exports", dependencies=[Depends(check_change)], responses={**REFUSED, 503: BUSY[503]})
def start_export(status: Status, work: Work, choice: ExportOrder) -> KeptExportItem:
    """Begin to write an export of the campaign, which is kept for a day."""
    return describe_export(work.kept.start(status, choice.list_options(), choice.describe()))


@data_api.get("/campaigns/{key}/exports/{number}.zip", responses={**ZIP, **GONE_EXPORT}, response_class=FileResponse)
def send_kept_export(status: Status, work: Work, number: ExportId) -> FileResponse:
    """Return an export that is kept, as a zip archive."""
    one = work.kept.find(status, number)
    if one is None or not one.is_ready:
        raise HTTPException(404, GONE if one is None else one.why or "This export is still being written.")
    return FileResponse(one.archive, media_type="application/zip", headers=name_download(f"{one.name}.zip"))


@data_api.delete("/campaigns/{key}/exports/{number}", dependencies=[Depends(check_change)], responses=REFUSED)
def delete_export(status: Status, work: Work, number: ExportId) -> ChangedItem:
    """Delete an export that is kept, or end one that is being written."""
    return ChangedItem(changed=work.kept.delete(status, number), campaign=describe_campaign(status))


def describe_export(one: KeptExport) -> KeptExportItem:
    """Return an export as the API shows it."""
    begun, deleted = (datetime.fromtimestamp(at, UTC).isoformat() for at in (one.begun, one.begun + KEPT_FOR))
    return KeptExportItem(
        id=one.id, title=one.title, begun=begun, deleted=deleted,
        writing=one.writing, rows=one.rows, size=one.size, why=one.why,
    )  # fmt: skip


def describe_index(project: Project, status: CampaignStatus, work: DataWork) -> IndexItem:
    """Return how the search index of a campaign's database is."""
    state = work.indexing.read(status)
    with project.open(status.key) as data:
        needed = data.needs_search_index
    return IndexItem(needed=needed, running=state.running, posts=state.posts, why=state.why)
