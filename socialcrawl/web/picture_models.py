"""What the HTTP API returns for pictures of a campaign, as OpenAPI describes it."""

from pydantic import BaseModel, Field


class MapNodeItem(BaseModel):
    """An account of the map."""

    account: str | None
    account_id: str | None
    relevance: float | None = Field(description="null: it was not read")
    act: str | None = Field(description="how it came to be read; null: it was not")
    mentioned_by: int = Field(description="accounts of the map that mention it")
    mentions: int = Field(description="accounts of the map that it mentions")
    x: float = Field(description="where it is drawn, from -1 to 1")
    y: float = Field(description="where it is drawn, from -1 to 1")
    page: str | None = Field(description="where the platform shows it")


class MapItem(BaseModel):
    """The part of the mention network that fits into a picture: see `Network.compute_map`."""

    nodes: list[MapNodeItem] = Field(description="accounts that were read, the most relevant first; then others")
    edges: list[tuple[int, int]] = Field(description="places in `nodes`, from 0: who mentions, who is mentioned")
    read: int = Field(description="accounts of the campaign that were read")
    unread: int = Field(description="accounts that were not read, and are mentioned by those of the map")
    alone: int = Field(description="accounts that are left out, as no mention joins them to the others")
    left_out: int = Field(description="mentions between these accounts that are left out, of smaller link weights")


class NextItem(BaseModel):
    """What a campaign would do next."""

    place: int
    account: str | None = Field(description="null: a search or a span of time")
    account_id: str | None
    act: str
    score: float = Field(description="what decided, where something is estimated; else 0")
    open: bool = Field(description="whether it was chosen already, and its answer has not come yet")
    drawn: bool = Field(description="whether it is drawn at random, to measure what the estimator gains")
    why: str = Field(description="why it is next")
    page: str | None = Field(description="where the platform shows it")


class NextItems(BaseModel):
    """What a campaign would do next, if no answer in between changes the order."""

    step: int = Field(description="steps that were done")
    left: int = Field(description="accounts that are known and were not read yet; spans of time of a capture")
    why: str = Field(description="why nothing is next, or why these would not be read; empty: they would be")
    accounts: list[NextItem]
