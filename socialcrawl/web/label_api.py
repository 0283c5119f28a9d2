"""The HTTP API of labels and models."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from socialcrawl.web.edit_api import Turns
from socialcrawl.web.file_edits import describe_effect
from socialcrawl.web.http_api import ERRORS, REFUSED, Status, check_change
from socialcrawl.web.label_models import (
    LONGEST_ID,
    LabelCounts,
    LabelItem,
    LabelItems,
    LabelledItem,
    LabelQueueItem,
    ModelChange,
    ModelChoice,
    ModelItem,
    ModelItems,
    ModelPlanItem,
    NewLabel,
    SettingChangeItem,
    SidesItem,
    TrainingRequest,
    WaitingPost,
)
from socialcrawl.web.label_queues import BATCH, LabelQueues, TrainedModel, list_trained

label_api = APIRouter(prefix="/api/v1/campaigns/{key}", responses=ERRORS, tags=["labels"])
CHANGES = [Depends(check_change)]
PostId = Annotated[str, Query(min_length=1, max_length=LONGEST_ID, description="id of a post")]


def get_queues(request: Request) -> LabelQueues:
    """Return the queues of posts that wait for labels."""
    queues: LabelQueues = request.app.state.label_queues
    return queues


Queues = Annotated[LabelQueues, Depends(get_queues)]


@label_api.get("/label-queue")
def get_queue(
    status: Status,
    queues: Queues,
    limit: Annotated[int, Query(ge=1, le=BATCH, description="posts at most")] = 10,
    drawn: Annotated[bool, Query(description="draw them at random, also where there is a model")] = False,  # noqa: FBT002 (of the address)
    author: Annotated[
        str | None, Query(min_length=1, max_length=LONGEST_ID, description="only posts of this username or id")
    ] = None,
) -> LabelQueueItem:
    """Return the posts to label next: those of which the newest model is least sure, or posts drawn at random."""
    queue = queues.read(status, drawn=drawn, author=author)
    return LabelQueueItem(
        file=str(queue.labels.path),
        counts=LabelCounts(**queue.labels.counts),
        least=queue.labels.LEAST,
        model=None if queue.model is None else queue.model.name,
        posts=[WaitingPost.model_validate(post) for post in queue.posts[:limit]],
    )


@label_api.get("/labels")
def list_labels(
    status: Status,
    queues: Queues,
    limit: Annotated[int, Query(ge=1, le=500, description="labels of this page, at most")] = 50,
    after: Annotated[str, Query(max_length=LONGEST_ID, description="id of the last post of the page before")] = "",
) -> LabelItems:
    """Return the labels, the oldest first."""
    posts = queues.open_labels(status).posts
    begin = next((place for place, post in enumerate(posts, 1) if post["id"] == after), 0)
    rows = [LabelItem.model_validate(post) for post in posts[begin : begin + limit]]
    return LabelItems(labels=rows, next=rows[-1].id if begin + limit < len(posts) else None)


@label_api.put("/labels", dependencies=CHANGES, responses=REFUSED)
def put_label(status: Status, queues: Queues, label: NewLabel) -> LabelledItem:
    """Label a post of the queue, or change a label."""
    labels = queues.put(status, label.post, on_topic=label.on_topic)
    return LabelledItem(changed=True, counts=LabelCounts(**labels.counts))


@label_api.delete("/labels", dependencies=CHANGES, responses=REFUSED)
def delete_label(status: Status, queues: Queues, post: PostId) -> LabelledItem:
    """Delete a label; the post comes next again."""
    labels = queues.delete(status, post)
    counts = (labels or queues.open_labels(status)).counts
    return LabelledItem(changed=labels is not None, counts=LabelCounts(**counts))


@label_api.get("/models")
def list_models(status: Status, queues: Queues) -> ModelItems:
    """Return the models that were trained from the labels, the newest first."""
    found = list_trained(queues.find_file(status), queues.open_labels(status))
    return ModelItems(models=[_describe(one) for one in found])


@label_api.post("/models", dependencies=CHANGES, responses=REFUSED)
def train_model(status: Status, queues: Queues, wanted: TrainingRequest) -> ModelItem:
    """Train a model from the labels, into a new file; the answer comes when it is trained and measured."""
    file = queues.train(status, wanted.learner, wanted.without).to_dict()["file"]
    models = list_trained(queues.find_file(status), queues.open_labels(status))
    return _describe(next(one for one in models if str(one.path) == file))


@label_api.get("/models/preview")
async def preview_model(
    status: Status,
    queues: Queues,
    turns: Turns,
    model: Annotated[str, Query(min_length=1, max_length=LONGEST_ID, description="its name")],
    keep_keywords: Annotated[bool, Query(description="whether keywords stay")] = True,  # noqa: FBT002 (of the address)
) -> ModelPlanItem:
    """Return what it would change if the campaign used a model: settings, stored posts and accounts, and cost."""
    plan = await turns.run(lambda: queues.preview_model(status, model, keep_keywords=keep_keywords))
    return ModelPlanItem(
        digest=plan.file.digest,
        settings=[SettingChangeItem(key=key, before=before, after=after) for key, before, after in plan.settings],
        preview=None if plan.preview is None else SidesItem.model_validate(asdict(plan.preview)),
        at_most=dict(plan.at_most),
        effect=describe_effect(status, epoch=True),
        warnings=[*plan.warnings],
    )


@label_api.post("/model", dependencies=CHANGES, responses=REFUSED)
def change_model(status: Status, queues: Queues, wanted: ModelChoice) -> ModelChange:
    """Have a model decide which posts are on topic, by `model` under [topic] of the campaign file."""
    effect = queues.use_model(status, wanted.model, wanted.digest, keep_keywords=wanted.keep_keywords)
    return ModelChange(file=status.file or "", effect=effect)


def _describe(one: TrainedModel) -> ModelItem:
    return ModelItem.model_validate(
        {**one.report.to_dict(), "name": one.path.name, "used": one.used, "text": one.report.text}
    )
