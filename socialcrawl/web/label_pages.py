"""The page on which people label posts, train a model, and have their campaign use it."""

import asyncio
import re
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Self
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from fastapi.exceptions import HTTPException
from fastapi.responses import RedirectResponse, Response

import socialcrawl as sc
from socialcrawl.web.edit_api import Turns
from socialcrawl.web.edit_problems import put_in_words
from socialcrawl.web.file_edits import describe_effect, find_next_button
from socialcrawl.web.http_api import Status
from socialcrawl.web.label_api import Queues
from socialcrawl.web.label_models import LONGEST_ID
from socialcrawl.web.label_queues import LabelQueue, LabelQueues, list_trained
from socialcrawl.web.page_answers import read_change, render

ANSWERS = {"on": True, "off": False, "skip": None}
UNDO = "undo"
UNSEEN = "none"  # no file has this digest
PART = "x-part"  # the header by which the script wants the post to label alone
label_pages = APIRouter(include_in_schema=False)
Switch = Annotated[bool, Query()]
Choice = Annotated[str, Query(max_length=LONGEST_ID)]


@dataclass(frozen=True, slots=True)
class QueueChoice:
    """Which posts of a campaign somebody labels.

    Attributes:
        drawn: whether they are drawn at random, also where there is a model.
        author: only posts of this username or id; "": all.
    """

    drawn: Switch = False
    author: Choice = ""

    @property
    def query(self) -> str:
        """The part of the page's address that says so."""
        given = {"author": self.author} if self.author else {}
        return "?" + urlencode(given | ({"drawn": "true"} if self.drawn else {}))

    def replace(self, **changed: Any) -> Self:
        """Return another choice."""
        return replace(self, **changed)


Wanted = Annotated[QueueChoice, Depends()]
EVERYTHING = QueueChoice()


@label_pages.get("/campaigns/{key}/label")
def show_labels(
    request: Request,
    status: Status,
    queues: Queues,
    wanted: Wanted,
    *,
    used: Switch = False,
) -> Response:
    """Show the post to label next, how many labels there are, and the models that were trained from them."""
    return _render(request, status, queues, wanted, used=used)


@label_pages.post("/campaigns/{key}/label")
async def put_label(request: Request, status: Status, queues: Queues, wanted: Wanted) -> Response:
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
        return await asyncio.to_thread(_render, request, status, queues, wanted, code=409, wrong={"label": error})
    return RedirectResponse(f"/campaigns/{status.key}/label{wanted.query.removesuffix('?')}", 303)


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
    wanted: QueueChoice = EVERYTHING,
    *,
    code: int = 200,
    wrong: dict[str, Exception] | None = None,
    used: bool = False,
) -> Response:
    """Return the page, or the post to label alone where the script wants that.

    Args:
        request: what is answered.
        status: the campaign.
        queues: the posts that wait.
        wanted: which of them.
        code: the HTTP status.
        wrong: what went wrong, by the part of the page where it is said: label, train or use.
        used: whether the campaign was just changed to a model.

    Raises:
        SocialcrawlError: the labels cannot be read.
    """
    said = {part: put_in_words(str((wrong or {}).get(part, ""))) for part in ("label", "train", "use")}
    queue: LabelQueue | None = None
    try:
        queue = queues.read(status, drawn=wanted.drawn, author=wanted.author or None)
    except sc.SocialcrawlError as error:
        said["label"] = said["label"] or str(error)
    values = {"status": status, "queue": queue, "wanted": wanted, "wrong": said}
    if PART in request.headers:
        return render(request, "label_post.html", code, **values)
    labels, file = queues.open_labels(status), queues.find_file(status)
    models = list_trained(file, labels)
    note = f"The campaign file names the model now. {describe_effect(status, epoch=True)}" if used else ""
    return render(
        request, "label.html", code, **values, labels=labels, file=file, models=models, note=note,
        button=find_next_button(status),
    )  # fmt: skip
