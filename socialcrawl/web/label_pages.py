"""The page on which people label posts, train a model, and have their campaign use it."""

import asyncio
import re
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.exceptions import HTTPException
from fastapi.responses import RedirectResponse, Response

import socialcrawl as sc
from socialcrawl.web.control_pages import UNSEEN
from socialcrawl.web.edit_api import Turns
from socialcrawl.web.file_edits import describe_effect, find_next_button
from socialcrawl.web.http_api import Status
from socialcrawl.web.label_api import Queues
from socialcrawl.web.label_models import LONGEST_ID
from socialcrawl.web.label_queues import LabelQueue, LabelQueues, list_trained
from socialcrawl.web.page_answers import read_change, render

ANSWERS = {"on": True, "off": False, "skip": None}
UNDO = "undo"
PART = "x-part"  # the header by which the script wants the post to label alone
label_pages = APIRouter(include_in_schema=False)
Switch = Annotated[bool, Query()]
Choice = Annotated[str, Query(max_length=LONGEST_ID)]


@label_pages.get("/campaigns/{key}/label")
def show_labels(
    request: Request,
    status: Status,
    queues: Queues,
    *,
    drawn: Switch = False,
    used: Switch = False,
) -> Response:
    """Show the post to label next, how many labels there are, and the models that were trained from them."""
    return _render(request, status, queues, drawn=drawn, used=used)


@label_pages.post("/campaigns/{key}/label")
async def put_label(request: Request, status: Status, queues: Queues, drawn: Switch = False) -> Response:  # noqa: FBT002 (of the address)
    """Label a post, or take the last label back, by a button."""
    form = await read_change(request)
    answer, post = form.get("answer", ""), form.get("post", "")
    if not post or (answer not in ANSWERS and answer != UNDO):
        raise HTTPException(422, "This form names no post, or no answer: open its page again.")
    try:
        if answer == UNDO:
            await asyncio.to_thread(queues.delete, status, post)
        else:
            await asyncio.to_thread(partial(queues.put, status, post, on_topic=ANSWERS[answer]))
    except sc.SettingsError as error:
        return await asyncio.to_thread(_render, request, status, queues, drawn=drawn, code=409, wrong={"label": error})
    return RedirectResponse(f"/campaigns/{status.key}/label{'?drawn=true' if drawn else ''}", 303)


@label_pages.post("/campaigns/{key}/label/train")
async def train_model(request: Request, status: Status, queues: Queues) -> Response:
    """Train a model from the labels, by its button."""
    form = await read_change(request)
    without = [word for word in re.split(r"[\s,;]+", form.get("without", "")) if word]
    try:
        await asyncio.to_thread(queues.train, status, form.get("learner", "logistic"), without)
    except sc.SettingsError as error:
        return await asyncio.to_thread(_render, request, status, queues, code=409, wrong={"train": error})
    return RedirectResponse(f"/campaigns/{status.key}/label#models", 303)


@label_pages.get("/campaigns/{key}/label/use")
async def preview_model(
    request: Request, status: Status, queues: Queues, turns: Turns, *, model: Choice, keywords: Choice = "keep"
) -> Response:
    """Show what it would change if the campaign used a model, and ask."""

    def work() -> Response:
        try:
            plan = queues.preview_model(status, model, keep_keywords=keywords != "remove")
        except sc.SocialcrawlError as error:
            return _render(request, status, queues, code=409, wrong={"use": error})
        return render(
            request, "model_change.html", status=status, plan=plan, keywords=keywords,
            effect=describe_effect(status, epoch=True),
        )  # fmt: skip

    return await turns.run(work)


@label_pages.post("/campaigns/{key}/label/use")
async def change_model(request: Request, status: Status, queues: Queues) -> Response:
    """Have the campaign use a model, by the button of the page that says what this changes."""
    form = await read_change(request)

    def change() -> Response:
        try:
            keep = form.get("keywords") != "remove"
            queues.use_model(status, form.get("model", ""), form.get("digest") or UNSEEN, keep_keywords=keep)
        except sc.SocialcrawlError as error:
            return _render(request, status, queues, code=409, wrong={"use": error})
        return RedirectResponse(f"/campaigns/{status.key}/label?used=true", 303)

    return await asyncio.to_thread(change)


def _render(
    request: Request,
    status: sc.CampaignStatus,
    queues: LabelQueues,
    *,
    drawn: bool = False,
    code: int = 200,
    wrong: dict[str, Exception] | None = None,
    used: bool = False,
) -> Response:
    """Return the page, or the post to label alone where the script wants that.

    Args:
        request: what is answered.
        status: the campaign.
        queues: the posts that wait.
        drawn: whether they are drawn, also where there is a model.
        code: the HTTP status.
        wrong: what went wrong, by the part of the page where it is said: label, train or use.
        used: whether the campaign was just changed to a model.

    Raises:
        SocialcrawlError: the labels cannot be read.
    """
    said = {part: str((wrong or {}).get(part, "")) for part in ("label", "train", "use")}
    queue: LabelQueue | None = None
    try:
        queue = queues.read(status, drawn=drawn)
    except sc.SocialcrawlError as error:
        said["label"] = said["label"] or str(error)
    values = {"status": status, "queue": queue, "drawn": drawn, "wrong": said}
    if PART in request.headers:
        return render(request, "label_post.html", code, **values)
    labels, file = queues.open_labels(status), queues.find_file(status)
    models = list_trained(file, labels)
    note = f"The campaign file names the model now. {describe_effect(status, epoch=True)}" if used else ""
    return render(
        request, "label.html", code, **values, labels=labels, file=file, models=models, note=note,
        button=find_next_button(status),
    )  # fmt: skip
