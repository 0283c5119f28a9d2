"""What the HTTP API takes and returns about campaign files, as OpenAPI describes it."""

from typing import Any

from pydantic import BaseModel, Field

from socialcrawl.web.edit_drafts import MOST_TEXTS
from socialcrawl.web.http_models import CampaignItem, Problem

MOST_WORDS = 1_000  # keywords of a preview
Values = dict[str, Any]


class SettingsItem(BaseModel):
    """The settings of campaign files of a kind on a platform."""

    kind: str
    platform: str
    sections: list[dict[str, Any]] = Field(description="as `describe_settings` returns them")


class FileItem(BaseModel):
    """A campaign file."""

    file: str
    digest: str = Field(description="send it back with a change: a file that somebody else has changed is refused")
    values: Values = Field(description="what the file says, without defaults and without the keys in `unshown`")
    unshown: list[str] = Field(
        description="keys and sections that are set in the file and not sent, as they may be a secret: programs, a "
        "database with a password, unknown keys, and what looks like a token. A change leaves them as they are"
    )
    begun: bool = Field(description="whether the campaign has begun")
    fixed: list[str] = Field(description="keys and sections that cannot change once it has begun")
    epoch: list[str] = Field(default=[], description="keys whose change, just saved, begins a new epoch")
    warnings: list[str] = Field(default=[], description="those of `socialcrawl check`")


class NewFile(BaseModel):
    """A new campaign file."""

    values: Values = Field(description='keys and sections: {"name": "sky", "topic": {"keywords": ["telescope"]}}')


class CreatedItem(BaseModel):
    """A campaign file that was written."""

    file: FileItem
    campaign: CampaignItem


class FileChange(BaseModel):
    """A change of a campaign file."""

    digest: str = Field(min_length=1, max_length=100, description="of the file that was seen")
    values: Values = Field(description="keys and sections that change; null removes a key")


class QuoteRequest(BaseModel):
    """Values to quote; nothing is saved."""

    campaign: str | None = Field(default=None, max_length=300, description="key of a campaign whose file is changed")
    values: Values = {}


class QuoteItem(BaseModel):
    """What a campaign would need; nothing was sent."""

    text: str
    values: Values = Field(description="as `socialcrawl quote --json`, with `curve` where ways can be compared")
    warnings: list[str]
    variables: dict[str, bool] = Field(description="environment variables of tokens: whether each is set")
    epoch: list[str] = Field(description="keys whose change begins a new epoch")


class PreviewRequest(BaseModel):
    """A topic to try out on the stored posts of a campaign's database, or on texts."""

    campaign: str | None = Field(default=None, max_length=300, description="key of a campaign with stored posts")
    platform: str = Field(default="x", min_length=1, max_length=100, description="of the texts")
    keywords: list[str] = Field(default=[], max_length=MOST_WORDS)
    patterns: list[str] = Field(default=[], max_length=MOST_WORDS)
    languages: list[str] = Field(default=[], max_length=10)
    texts: list[str] = Field(default=[], max_length=MOST_TEXTS)


class PreviewItem(BaseModel):
    """Which posts match."""

    examined: int
    matching: int
    occurrences: int
    matches: list[dict[str, Any]] = Field(description="posts; `spans` are [from, to] in the text")
    others: list[dict[str, Any]] = Field(description="posts that do not match")


class KeyProblem(BaseModel):
    """What is wrong with one key."""

    key: str = Field(description='dotted, such as budget.max_money; "": no key is named')
    detail: str


class ValuesProblem(Problem):
    """An error (RFC 9457) about values, by key."""

    problems: list[KeyProblem] = Field(default=[])
