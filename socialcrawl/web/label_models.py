"""What the HTTP API takes and returns of labels and models, as OpenAPI describes it."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from socialcrawl.web.control_models import SEEN

LONGEST_ID = 2_000  # characters


class LabelCounts(BaseModel):
    """How many posts have a label."""

    on_topic: int
    off_topic: int
    skipped: int


class WaitingPost(BaseModel):
    """A post that waits for its label."""

    id: str
    text: str
    author: str | None = Field(None, description="username as last shown, or the platform's id")
    created_at: datetime | None = Field(None, description="when it was posted")
    page: str | None = Field(None, description="address where the platform shows it")


class LabelQueueItem(BaseModel):
    """The posts to label next."""

    file: str = Field(description="the CSV of the labels")
    counts: LabelCounts
    least: int = Field(description="posts of each kind that a model needs at least")
    model: str | None = Field(description="the model that is least sure of these posts; null: they were drawn")
    posts: list[WaitingPost]


class LabelItem(BaseModel):
    """A post and its label."""

    id: str
    text: str
    on_topic: bool | None = Field(description="null: it was skipped")


class LabelItems(BaseModel):
    """Labels, the oldest first."""

    labels: list[LabelItem]
    next: str | None = Field(description="`after` of the next page; null: this is the last one")


class NewLabel(BaseModel):
    """The label of a post of the queue, or another one for a post that has a label."""

    model_config = ConfigDict(extra="forbid")
    post: str = Field(min_length=1, max_length=LONGEST_ID, description="its id")
    on_topic: bool | None = Field(description="null: skip it")


class LabelledItem(BaseModel):
    """What became of a label."""

    changed: bool = Field(description="false: there was nothing to delete")
    counts: LabelCounts


class TrainingRequest(BaseModel):
    """How a model is trained."""

    model_config = ConfigDict(extra="forbid")
    learner: Literal["logistic", "tree"] = "logistic"
    without: list[str] = Field(default=[], max_length=100, description="words that the model must not use")


class ModelItem(BaseModel):
    """A model, and how well it judges posts that it was not learned from."""

    name: str
    used: bool = Field(description="whether the campaign file names it")
    title: str
    on_topic: int = Field(description="posts on topic that it was learned from")
    off_topic: int
    right: int = Field(description="posts on topic that it accepted")
    wrong: int = Field(description="posts off topic that it accepted")
    lost: int = Field(description="posts on topic that it rejected")
    kept_out: int = Field(description="posts off topic that it rejected")
    folds: int = Field(description="parts of the cross-validation")
    precision: float | None
    recall: float | None
    f1: float | None
    accuracy: float | None
    doubt: str = Field(description='why not to rely on it; "": nothing speaks against it')
    telling: list[tuple[str, float, bool]] = Field(
        description="[word, its part in all decisions, whether it speaks for the topic]"
    )
    text: str = Field(description="all this in words")


class ModelItems(BaseModel):
    """Models of a campaign, the newest first."""

    models: list[ModelItem]


class ModelChoice(BaseModel):
    """The model that a campaign is to use."""

    model_config = ConfigDict(extra="forbid")
    model: str = Field(min_length=1, max_length=LONGEST_ID, description="its name")
    keep_keywords: bool = Field(default=True, description="whether keywords stay, which are then only searched for")
    digest: str = Field(min_length=1, max_length=200, description=SEEN)


class SettingChangeItem(BaseModel):
    """A setting of the campaign file that would change."""

    key: str
    before: Any = Field(description="null: it is not set")
    after: Any = Field(description="null: it is not set")


class SidesItem(BaseModel):
    """Which stored posts, and accounts by their posts, would change sides."""

    stored: int = Field(description="stored posts of the campaign")
    examined: int = Field(description="posts that were judged, drawn from them")
    posts: int = Field(description="posts that are on topic now")
    posts_on: int = Field(description="posts that come on topic")
    posts_off: int = Field(description="posts that leave it")
    accounts: int = Field(description="authors on topic now: one of their posts is")
    accounts_on: int
    accounts_off: int
    on_examples: list[WaitingPost]
    off_examples: list[WaitingPost]


class ModelPlanItem(BaseModel):
    """What it would change if the campaign used a model; nothing is saved."""

    digest: str = Field(description="of the campaign file: send it with the change")
    settings: list[SettingChangeItem]
    preview: SidesItem | None = Field(description="null: the campaign has not begun")
    at_most: dict[str, Any] = Field(description="what the campaign can still request and cost with the change")
    effect: str = Field(description="what would happen to the campaign, and when")
    warnings: list[str] = Field(default=[], description="why somebody should think twice, a sentence each")


class ModelChange(BaseModel):
    """What became of the campaign."""

    file: str = Field(description="the campaign file, which now names the model")
    effect: str = Field(description="what happens to the campaign")
