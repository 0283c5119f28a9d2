"""What the HTTP API returns, as OpenAPI describes it. Instants are ISO 8601 in UTC."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field


class Problem(BaseModel):
    """An error (RFC 9457)."""

    type: str = Field(description="about:blank: the status says what kind of error it is")
    title: str = Field(description="the status in words")
    status: int = Field(description="the HTTP status")
    detail: str = Field(description="what went wrong, and what to do")


class CampaignItem(BaseModel):
    """A campaign: how it stands and how far it is; see `CampaignStatus`."""

    key: str = Field(description="its name in addresses")
    name: str
    kind: str = Field(description="collect, track, refresh, sample, capture or one that a package adds")
    platform: str
    state: str = Field(description="running, waiting, resting, paused, done, stopped, broken, stalled, down, idle ...")
    why: str = Field(description="what it waits for, or why it ended")
    since: datetime | None
    until: datetime | None = Field(description="when it goes on by itself")
    daemon: str | None = Field(description="the process that has it")
    watched: bool = Field(description="whether a daemon looks after it, also while it is paused, stopped or done")
    database: str
    file: str | None = Field(description="its campaign file")
    steps: int
    planned_steps: int | None = Field(description="null: no limit")
    requests: int
    max_requests: int | None = Field(description="null: no limit")
    dollars: float
    max_dollars: float | None = Field(description="null: no limit")
    posts_on_topic: int
    curve: list[float] = Field(description="what was found so far, at equal distances")
    ends: datetime | None = Field(description="when its budget of time is used up")
    alerts: list[str] = Field(description="what a person should look at")
    windows: list[int] = Field(description="requests in each of the latest windows of the endpoint it requests most")
    window_begins: list[datetime] = Field(description="when each of them began")
    window_limit: int | None = Field(description="requests that a window allows with one token; null: not known")
    window_length: float | None = Field(description="seconds of a window; null: not known")
    reserved_requests: int = Field(description="requests, of those sent, whose answer is awaited")
    reserved_dollars: float = Field(description="what they may cost at most, of the dollars")
    remaining_requests: int | None = Field(description="what the budget has left; null: no limit")
    remaining_dollars: float | None = Field(description="what the budget has left; null: no limit")
    test_server: bool = Field(description="whether the server is on this machine, so that nothing is paid")


class CampaignItems(BaseModel):
    """All campaigns, by name."""

    campaigns: list[CampaignItem]


class GoalItem(BaseModel):
    """What the end of a curve is estimated to be, with the ends of its 95 % interval."""

    value: float | None = Field(description="null: nothing estimates it, and the interval is what is possible")
    low: float
    high: float


class CurveItem(BaseModel):
    """What a campaign found, as a curve."""

    name: str
    x: str = Field(description="name of the x axis")
    y: str = Field(description="name of the y axis")
    points: list[tuple[int, float]] = Field(description="[step, sum so far]")
    references: dict[str, list[tuple[int, float]]] = Field(description="lines of what steps drawn for comparison found")
    baselines: dict[str, list[tuple[int, float]]] = Field(description="curves that were simulated")
    goal: GoalItem | None = Field(description="null: nothing estimates its end")


class DaysItem(BaseModel):
    """Matching posts over time."""

    length: int = Field(description="days of a bar")
    bars: list[tuple[str, int]] = Field(description="[first day in UTC, matching posts]")


class HoursItem(BaseModel):
    """Matching posts by the hour."""

    bars: list[tuple[datetime, int]] = Field(description="[begin of the hour, matching posts]")


class SpendingItem(BaseModel):
    """Requests and their price over time."""

    length: int = Field(description="seconds of a bar")
    bars: list[tuple[datetime, int, float]] = Field(description="[begin, requests, dollars by the price table]")


class MoveItem(BaseModel):
    """An account that rose or fell beyond chance."""

    account: str
    before: int = Field(description="its place then")
    place: int = Field(description="its place now")
    low: int = Field(description="95 % of moves by chance lead to this place or a later one")
    high: int = Field(description="... and to this place or an earlier one")


class MovesItem(BaseModel):
    """Accounts that rose or fell beyond chance."""

    compared: int = Field(description="accounts that were compared")
    moved: int = Field(description="those of them that moved beyond chance")
    accounts: list[MoveItem]


class SharesGroupItem(BaseModel):
    """Shares that belong together."""

    title: str
    bars: list[tuple[str, float | None, float | None, float | None]] = Field(description="[name, share, low, high]")


class SharesItem(BaseModel):
    """Shares of a sample."""

    counted: bool = Field(description="whether every account was read, so that shares are counts")
    groups: list[SharesGroupItem]


class QuerySpansItem(BaseModel):
    """The spans of time of a query of a capture."""

    query: str
    spans: list[tuple[datetime, datetime, str]] = Field(description="[begin, end, complete | left | failed]")


class CoverageItem(BaseModel):
    """Which spans of time a capture has read."""

    queries: list[QuerySpansItem]


class ChartsItem(BaseModel):
    """What the charts of a campaign show; null where it has none."""

    curve: CurveItem | None
    days: DaysItem | None
    hours: HoursItem | None = Field(description="null: the posts are of more than ten days")
    spending: SpendingItem | None
    moves: MovesItem | None = Field(description="of kind track")
    shares: SharesItem | None = Field(description="of kind sample, once there is enough data")
    coverage: CoverageItem | None = Field(description="of kind capture")


class AccountItem(BaseModel):
    """An account on topic that was read."""

    place: int = Field(description="1 for the most relevant")
    account: str | None
    account_id: str | None
    display_name: str | None
    relevance: float | None
    occurrences: int | None
    posts: int | None
    act: str = Field(description="how it came to be read")
    step: int | None
    read_at: datetime | None
    followers: int | None
    page: str | None = Field(description="where the platform shows it")


class AccountItems(BaseModel):
    """Accounts, the most relevant first."""

    accounts: list[AccountItem]
    next: int | None = Field(description="`after` of the next page; null: this is the last one")


class PostItem(BaseModel):
    """A post on topic."""

    id: str
    author: str | None
    author_id: str | None
    created_at: datetime | None
    text: str
    lang: str | None
    occurrences: int
    fetched_at: datetime | None
    page: str | None = Field(description="where the platform shows it")


class PostItems(BaseModel):
    """Posts on topic, the newest first."""

    posts: list[PostItem]
    next: str | None = Field(description="`after` of the next page; null: this is the last one")


class BestPosts(BaseModel):
    """Posts in which the topic occurs most often; of equals the newest first."""

    posts: list[PostItem]


class FoundPosts(PostItems):
    """Posts that match a query, the newest first."""

    count: int | None = Field(
        description="posts of all pages; 10,001: more than 10,000; null: they were not counted, or not in time"
    )


class ExplanationItem(BaseModel):
    """Why a campaign read an account, or did not."""

    text: str
    values: dict[str, Any] = Field(description="as `socialcrawl explain --json`")


class ReportItem(BaseModel):
    """The figures of a report."""

    values: dict[str, Any] = Field(description="as `socialcrawl report --json`")


class ChangedItem(BaseModel):
    """What became of a change."""

    changed: bool = Field(description="false: it was so already")
    campaign: CampaignItem
