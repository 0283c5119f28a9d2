"""The web application as a whole: its parts, its errors, and what every request passes before them."""

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from fastapi import FastAPI, Request
from fastapi.exceptions import HTTPException, RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException as AnyHTTPException

from socialcrawl import Project, SettingsError, SocialcrawlError, __version__
from socialcrawl.system.host_names import AllowedHosts, App, HostGuard
from socialcrawl.web.campaign_readings import CampaignReadings
from socialcrawl.web.control_api import control_api
from socialcrawl.web.control_pages import control_pages
from socialcrawl.web.data_api import data_api
from socialcrawl.web.data_pages import data_pages
from socialcrawl.web.data_work import DataWork
from socialcrawl.web.edit_api import edit_api
from socialcrawl.web.edit_pages import edit_pages
from socialcrawl.web.guards import API, PROBLEM_TYPE, AccessGuard, BodyGuard, SecureHeaders, make_problem
from socialcrawl.web.http_api import api
from socialcrawl.web.kept_readings import PATIENCE
from socialcrawl.web.label_api import label_api
from socialcrawl.web.label_pages import label_pages
from socialcrawl.web.label_queues import LabelQueues
from socialcrawl.web.live_status import INTERVAL, ExpireAfterChanges, LiveStatus
from socialcrawl.web.page_answers import render
from socialcrawl.web.page_templates import FOLDER, make_templates
from socialcrawl.web.pages import pages
from socialcrawl.web.picture_api import picture_api
from socialcrawl.web.picture_pages import picture_pages
from socialcrawl.web.security import Access

SCRIPT = "package_data/plotly.min.js"  # in the package plotly
ROUTERS = (
    *(api, control_api, edit_api, label_api, data_api, picture_api),
    *(control_pages, edit_pages, label_pages, data_pages, picture_pages, pages),
)
FORMS = {"budget": "/control", "seeds": "/control", "exclude": "/control"} | dict.fromkeys(
    ("start", "stop", "restart", "pause", "resume"), ""
)
"""What takes a form and has no page of its own: the page under a campaign's that has the form."""
SLOW_IMPORTS = ("pyarrow", "pandas")
STYLE_ID = re.compile(r'getElementById\("([0-9a-f]{64})"\)')
DESCRIPTION = """Campaigns of socialcrawl: how they stand, what they found; and starting, stopping and changing them.

Reading needs no token on the machine itself, unless the server was started with `--allow-remote`. Changes need the
token that `socialcrawl ui` shows when it starts: `Authorization: Bearer TOKEN`."""


@dataclass(frozen=True, slots=True)
class WebSettings:
    """How the pages are served.

    Attributes:
        access: who may do what.
        now: the clock, Unix seconds.
        hosts: the names by which the pages may be opened.
        interval: seconds between two looks at the databases.
        patience: seconds that a page waits for what takes long to read.
    """

    access: Access
    now: Callable[[], float]
    hosts: AllowedHosts = field(default_factory=AllowedHosts)
    interval: float = INTERVAL
    patience: float = PATIENCE


def find_plotly() -> Path:
    """Return the script of Plotly in its package, which is not imported.

    Raises:
        SettingsError: it is not installed.
    """
    found = find_spec("plotly")
    path = Path(found.origin).parent / SCRIPT if found is not None and found.origin else None
    if path is None or not path.is_file():
        raise SettingsError("ui needs Plotly: pip install 'socialcrawl[ui]'.")
    return path


def find_style_ids(script: Path) -> list[str]:
    """Return the ids by which Plotly knows that styles are there which it would otherwise write into the page.

    The policy of the pages allows no such styles. They are those of its maps, which no chart here is.
    """
    return sorted(set(STYLE_ID.findall(script.read_text("utf-8"))))


def make_app(project: Project, settings: WebSettings) -> App:
    """Return the pages and the API of some campaigns as an ASGI application.

    Raises:
        SettingsError: Plotly is not installed.
    """
    live = LiveStatus(project, settings.now, settings.interval)

    @asynccontextmanager
    async def watch_campaigns(app: FastAPI) -> AsyncIterator[None]:
        poller = asyncio.create_task(live.poll())
        threading.Thread(target=_warm_up, args=(project,), name="warm-up", daemon=True).start()
        yield
        poller.cancel()
        with suppress(asyncio.CancelledError):
            await poller
        app.state.data_work.kept.close()

    app = _DescribedApp(
        title="socialcrawl", version=__version__, description=DESCRIPTION, lifespan=watch_campaigns,
        openapi_url="/api/v1/openapi.json", docs_url=None, redoc_url=None, redirect_slashes=False,
    )  # fmt: skip
    app.state.live, app.state.access, app.state.plotly = live, settings.access, find_plotly()
    app.state.readings = CampaignReadings(project, settings.now, settings.patience)
    app.state.templates = make_templates()
    app.state.templates.globals["style_ids"] = find_style_ids(app.state.plotly)
    app.state.label_queues, app.state.data_work = LabelQueues(project), DataWork(project, settings.now)
    for router in ROUTERS:
        app.include_router(router)
    app.mount("/static", _StaticFiles(directory=FOLDER / "static"))
    app.add_exception_handler(AnyHTTPException, _answer_http_error)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(SocialcrawlError, _answer_failure)
    app.add_exception_handler(Exception, _answer_fault)
    guarded: App = AccessGuard(ExpireAfterChanges(app, live), settings.access)
    return SecureHeaders(HostGuard(BodyGuard(guarded), settings.hosts))


def _warm_up(project: Project) -> None:
    """Do what the first view would wait for: look at the databases, and import what reads their tables."""
    with suppress(SocialcrawlError):  # whoever looks on is told
        project.list_campaigns()
    for name in SLOW_IMPORTS:
        with suppress(ImportError):  # it is optional
            import_module(name)


class _DescribedApp(FastAPI):
    """An application whose description says that errors are problem+json."""

    def openapi(self) -> dict[str, Any]:
        """Return the description of the API."""
        made = super().openapi()
        for operations in made["paths"].values():
            for operation in operations.values():
                for status, response in operation["responses"].items():
                    if status >= "400" and "application/json" in response.get("content", {}):
                        response["content"][PROBLEM_TYPE] = response["content"].pop("application/json")
        return made


class _StaticFiles(StaticFiles):
    """Files that a browser may keep, and asks about before it uses them again."""

    def file_response(self, *args: object, **more: object) -> Response:
        """Return a file."""
        made = super().file_response(*args, **more)  # type: ignore[arg-type]
        made.headers["cache-control"] = "no-cache"
        return made


async def _answer_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, AnyHTTPException)
    found = re.fullmatch(r"/campaigns/([^/]+)/(\w+)", request.url.path)
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED and request.method == "GET" and found and found[2] in FORMS:
        return RedirectResponse(f"/campaigns/{quote(unquote(found[1]), safe='')}{FORMS[found[2]]}", 303)
    words = error.detail if isinstance(error, HTTPException) else _describe_status(error.status_code)
    return _answer(request, error.status_code, words, dict(error.headers or {}))


async def _answer_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    words = [f"{'.'.join(str(part) for part in one['loc'][1:])}: {one['msg']}" for one in error.errors()]
    return _answer(request, 422, "; ".join(words))


async def _answer_failure(request: Request, error: Exception) -> Response:
    key, live = request.path_params.get("key"), request.app.state.live
    if request.method == "GET" and key and not request.url.path.startswith(API):
        status = next((one for one in await live.read() if one.key == key), None)
        if status is not None:
            return render(request, "nothing.html", 409, status=status, text=str(error))
    return _answer(request, 409, str(error))


async def _answer_fault(request: Request, error: Exception) -> Response:
    return _answer(request, 500, "This page failed. The terminal of `socialcrawl ui` says why.")


def _describe_status(status: int) -> str:
    return "There is no such page." if status == HTTPStatus.NOT_FOUND else f"{HTTPStatus(status).phrase}."


def _answer(request: Request, status: int, words: str, headers: dict[str, str] | None = None) -> Response:
    """Return an error: as JSON of the API, else as a page."""
    if request.url.path.startswith(API):
        return JSONResponse(make_problem(status, words), status, headers, PROBLEM_TYPE)
    made = render(request, "message.html", status, title=HTTPStatus(status).phrase, text=words)
    made.headers.update(headers or {})
    return made
