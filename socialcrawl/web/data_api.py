"""The HTTP API of a campaign's data: search, SQL, the search index and exports."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from socialcrawl import CampaignStatus, Project
from socialcrawl.web.data_models import (
    AnswerColumn,
    ExportChoice,
    ExportProgress,
    IndexItem,
    LimitedPostChoice,
    LimitedSqlQuery,
    QueryItem,
    QueryItems,
    SqlAnswer,
)
from socialcrawl.web.data_reading import count_hits, read_answer, search_posts
from socialcrawl.web.data_work import DataWork, get_work
from socialcrawl.web.export_downloads import export_campaign
from socialcrawl.web.http_api import BUSY, ERRORS, OWN, REFUSED, Campaigns, Status, check_change
from socialcrawl.web.http_models import FoundPosts, PostItem

ZIP: dict[int | str, dict[str, Any]] = {200: {"content": {"application/zip": {}}, "description": "the export"}}
Work = Annotated[DataWork, Depends(get_work)]
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
    options = choice.model_dump(exclude={"format"}) | {"formats": list(dict.fromkeys(choice.format))}

    def tell(what: str, rows: int) -> None:
        work.writing[status.key] = what, rows

    try:
        return await export_campaign(request, project, status, options, work.exports, tell=tell)
    finally:
        work.writing.pop(status.key, None)


@data_api.get("/campaigns/{key}/export-progress")
def get_export_progress(status: Status, work: Work) -> ExportProgress:
    """Return how far the newest export of a campaign is that these pages write."""
    what, rows = work.writing.get(status.key, (None, 0))
    return ExportProgress(writing=what, rows=rows)


def describe_index(project: Project, status: CampaignStatus, work: DataWork) -> IndexItem:
    """Return how the search index of a campaign's database is."""
    state = work.indexing.read(status)
    with project.open(status.key) as data:
        needed = data.needs_search_index
    return IndexItem(needed=needed, running=state.running, posts=state.posts, why=state.why)
