"""What all pages are made with: templates become answers, and forms become fields that were checked."""

import re
from typing import Any
from urllib.parse import parse_qs

from fastapi import Request
from fastapi.exceptions import HTTPException
from fastapi.responses import HTMLResponse

from socialcrawl.web.security import make_login_path, may_change

MOST_FIELDS = 500  # of a form


def render(request: Request, template: str, code: int = 200, **values: Any) -> HTMLResponse:
    """Return a page."""
    return HTMLResponse(render_fragment(request, template, **values), code)


def render_fragment(request: Request, template: str, **values: Any) -> str:
    """Return the HTML of a template, which may be a part of a page."""
    common = {"visitor": request.state.visitor, "login": make_login_path(request.scope)}
    shown: str = request.app.state.templates.get_template(template).render(**common, **values)
    return shown


def name_download(name: str) -> dict[str, str]:
    """Return the header by which a browser keeps an answer as a file, under a name that every system takes."""
    return {"content-disposition": f'attachment; filename="{re.sub(r"[^A-Za-z0-9_.-]", "_", name)}"'}


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form: as browsers send those without files; the last one of each name."""
    text = (await request.body()).decode("utf-8", "replace")
    try:
        return {name: values[-1] for name, values in parse_qs(text, max_num_fields=MOST_FIELDS).items()}
    except ValueError:  # more fields than any of our forms has
        return {}


async def read_change(request: Request) -> dict[str, str]:
    """Return the fields of a form that changes something.

    Raises:
        HTTPException: its CSRF token is missing or wrong.
    """
    form = await read_form(request)
    if not may_change(request.state.visitor, form.get("csrf", "")):
        raise HTTPException(403, "This form is no longer valid: open its page again.")
    return form
