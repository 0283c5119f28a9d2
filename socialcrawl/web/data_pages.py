"""The pages of a campaign's data: posts and their search, SQL, exports.

Reading needs no login on this machine, so all of them are GET, and their addresses can be kept and shared. A link on
another site fills in a form and does not send it: what takes long is begun here only.
"""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter, Query, Request
from fastapi.exceptions import HTTPException
from fastapi.responses import FileResponse, RedirectResponse, Response
from markupsafe import Markup
from pydantic import ValidationError

from socialcrawl import SettingsError, SocialcrawlError
from socialcrawl.text.post_query import PostQuery, parse_query
from socialcrawl.text.post_words import normalize
from socialcrawl.text.terminal import escape_controls
from socialcrawl.text.wording import parse_instant
from socialcrawl.web.data_api import (
    ExportId,
    Work,
    describe_export,
    describe_index,
    download_export,
    send_kept_export,
)
from socialcrawl.web.data_models import LONGEST_QUERY, PRESETS, ExportChoice, PostChoice, SqlForm, SqlQuery
from socialcrawl.web.data_reading import MOST_COUNTED, QUERY_TIME, count_hits, include_day, read_answer, search_posts
from socialcrawl.web.http_api import OWN, Campaigns, Status
from socialcrawl.web.page_answers import name_download, read_change, render
from socialcrawl.web.query_charts import choose_chart
from socialcrawl.web.security import is_same_origin

POSTS = 50  # of a page
ROWS = 500  # of an answer that a page shows
MOST_ROWS = 100_000  # of one that is downloaded
LARGEST_FILE = "64MB"
LONGEST_TEXT, BEFORE = 2_000, 200  # characters of a post that are shown, and of those before the first mark
_MARK = Markup("<mark>{}</mark>")  # what it is given is escaped
data_pages = APIRouter(include_in_schema=False)


@data_pages.get("/campaigns/{key}/posts")
@data_pages.get("/campaigns/{key}/search")
def show_posts(
    request: Request, status: Status, project: Campaigns, work: Work, wanted: Annotated[PostChoice, Query()]
) -> Response:
    """Show posts, the newest first: all, or those that match words, an author, a time."""
    words, errors = _check_search(wanted)
    posts: list[dict[str, Any]] = []
    more = count = None
    if begun := not errors and _may_begin(request, wanted.query):
        try:
            with work.queries.hold():
                chosen = wanted.model_copy(update={"until": include_day(wanted.until)})
                posts, more = search_posts(project, status, chosen, POSTS)
                count = count_hits(project, status, chosen) if more or wanted.after else len(posts)
        except SocialcrawlError as error:
            if not wanted.author and not wanted.query:
                raise
            errors["author" if "username or id" in str(error) else "query"] = str(error)
    shown = [post | {"marked": mark_words(post["text"], words)} for post in posts]
    index = describe_index(project, status, work) if wanted.query or work.indexing.read(status).running else None
    return render(
        request, "search.html", 422 if errors else 200, status=status, wanted=wanted, posts=shown, errors=errors,
        begun=begun, index=index, count=count, most=MOST_COUNTED,
        wider=_list_wider(wanted) if begun and not posts else (),
        more=more and urlencode({**wanted.model_dump(exclude_defaults=True), "after": more}),
    )  # fmt: skip


@data_pages.post("/campaigns/{key}/search-index")
async def update_search_index(request: Request, status: Status, project: Campaigns, work: Work) -> Response:
    """Begin to bring the search index up to date, by its button."""
    await read_change(request)
    work.indexing.start(status)
    return RedirectResponse(f"/campaigns/{status.key}/search", 303)


@data_pages.get("/campaigns/{key}/sql")
def show_sql(
    request: Request, status: Status, project: Campaigns, work: Work, form: Annotated[SqlForm, Query()]
) -> Response:
    """Show the answer to a query in SQL, as a table and as a chart."""
    with project.open(status.key) as data:
        queries = [*data.list_queries()]
    chosen = next((one for one in queries if one["name"] == form.question), None)
    query = form.query or (chosen["sql"] if chosen else "")
    answer, chart, why = None, None, ""
    if begun := bool(query.strip()) and _may_begin(request, query):
        try:
            with work.queries.hold():
                answer = read_answer(project, status, query, ROWS)
            chart = choose_chart(answer.names, answer.kinds, answer.rows)
        except SocialcrawlError as error:
            why = str(error)
    return render(
        request, "sql.html", 422 if why else 200, status=status, query=query, queries=queries, chosen=chosen,
        answer=answer, chart=chart, why=why, begun=begun, longest=LONGEST_QUERY, seconds=QUERY_TIME.removesuffix("s"),
        most=ROWS, largest=MOST_ROWS,
    )  # fmt: skip


@data_pages.get("/campaigns/{key}/sql.csv", dependencies=OWN)
def download_answer(status: Status, project: Campaigns, work: Work, wanted: Annotated[SqlQuery, Query()]) -> Response:
    """Return the answer to a query as CSV that is safe to open in a spreadsheet."""
    with work.queries.hold(), TemporaryDirectory(prefix="socialcrawl-") as folder, project.open(status.key) as data:
        path = Path(folder) / "answer.csv"
        table = data.sql(wanted.query, timeout=QUERY_TIME, limit=MOST_ROWS, max_size=LARGEST_FILE)
        table.to_csv(path, safe=True)
        body = path.read_bytes()
    return Response(body, media_type="text/csv; charset=utf-8", headers=name_download(f"{status.name}-query.csv"))


@data_pages.get("/campaigns/{key}/export")
def show_export(request: Request, status: Status, project: Campaigns, work: Work) -> Response:
    """Show the form of an export, and the exports that are kept."""
    with project.open(status.key) as data:
        terms = data.describe_terms(campaign=status.name)
    return render(
        request, "export.html", status=status, terms=terms, has_key=bool(os.environ.get("SOCIALCRAWL_KEY")),
        presets=PRESETS, exports=[describe_export(one) for one in work.kept.list_exports(status)],
    )  # fmt: skip


@data_pages.get("/campaigns/{key}/exports")
def show_kept_exports(request: Request, status: Status, work: Work) -> Response:
    """Return the part of the page that lists the exports which are kept."""
    exports = [describe_export(one) for one in work.kept.list_exports(status)]
    return render(request, "kept_exports.html", status=status, exports=exports)


@data_pages.post("/campaigns/{key}/exports")
async def start_export(request: Request, status: Status, work: Work) -> Response:
    """Begin to write an export that is kept, by its button."""
    form = await read_change(request)
    formats = parse_qs((await request.body()).decode("utf-8", "replace")).get("format", [])
    try:
        choice = ExportChoice.model_validate({**form, "format": formats})
    except ValidationError as error:
        raise HTTPException(422, "This is no choice of the form: open its page again.") from error
    work.kept.start(status, choice.list_options(), choice.describe())
    return RedirectResponse(f"/campaigns/{status.key}/export#exports", 303)


@data_pages.post("/campaigns/{key}/exports/{number}/delete")
async def delete_export(request: Request, status: Status, work: Work, number: ExportId) -> Response:
    """Delete an export that is kept, by its button."""
    await read_change(request)
    work.kept.delete(status, number)
    return RedirectResponse(f"/campaigns/{status.key}/export#exports", 303)


@data_pages.get("/campaigns/{key}/exports/{number}.zip")
def download_kept_export(status: Status, work: Work, number: ExportId) -> FileResponse:
    """Return an export that is kept, as a file."""
    return send_kept_export(status, work, number)


@data_pages.get("/campaigns/{key}/export.zip", dependencies=OWN)
async def send_export(
    request: Request, status: Status, project: Campaigns, work: Work, choice: Annotated[ExportChoice, Query()]
) -> Response:
    """Return an export with its datasheet, to be kept."""
    return await download_export(request, status, project, work, choice)


def _check_search(wanted: PostChoice) -> tuple[PostQuery | None, dict[str, str]]:
    """Return what is searched for, None for all posts, and what is wrong with it, by field."""
    words, errors = None, {}
    try:
        words = parse_query(wanted.query) if wanted.query.strip() else None
    except SettingsError as error:
        errors["query"] = str(error)
    for name, given in (("since", wanted.since), ("until", wanted.until)):
        try:
            if given:
                parse_instant(given)
        except SettingsError as error:
            errors[name] = str(error)
    return words, errors


def _list_wider(wanted: PostChoice) -> list[tuple[str, str]]:
    """Return (what they search, parameters) of the searches that leave out a part of one that has found nothing."""
    fewer = {
        "the same among all posts, also those off topic": {"topic": "all"},
        "the same of all authors": {"author": ""},
        "the same at all times": {"since": "", "until": ""},
        "all posts that these filters leave, without the words": {"query": ""},
    }
    given = wanted.model_dump(exclude={"after"})
    return [
        (words, urlencode({name: value for name, value in {**given, **change}.items() if value}))
        for words, change in fewer.items()
        if any(given[name] != value for name, value in change.items())
    ]


def _may_begin(request: Request, query: str) -> bool:
    """Return whether a query is begun at once: not if another site's link asks for it."""
    return not query or is_same_origin(request.headers)


def mark_words(text: str, query: PostQuery | None) -> Markup:
    """Return the text of a post as HTML, with what was searched for marked; of a long one, the part around it."""
    shown = normalize(text) if query else text
    marks = query.find_marks(shown) if query else []
    begin = max(0, marks[0][0] - BEFORE) if marks and len(shown) > LONGEST_TEXT else 0
    end = min(len(shown), begin + LONGEST_TEXT)
    parts, place = ["\u2026" if begin else ""], begin
    for first, after in marks:
        if after <= end:
            parts += [escape_controls(shown[place:first]), _MARK.format(escape_controls(shown[first:after]))]
            place = after
    parts += [escape_controls(shown[place:end]), "\u2026" if end < len(shown) else ""]
    return Markup().join(parts)
