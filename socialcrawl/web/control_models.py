"""What the HTTP API takes and returns where campaigns are started, stopped and changed."""

from pydantic import BaseModel, Field

from socialcrawl.web.http_models import CampaignItem

MOST_ACCOUNTS = 200  # of one change
SEEN = "the digest of the file that was seen: a file that somebody has changed since is refused (409)"
DIGEST = Field(default=None, max_length=200, description=f"{SEEN}; null: whatever the file says now is added to")


class StartOptions(BaseModel):
    """How a campaign is started."""

    accept_cost: bool = Field(default=False, description="start it although it may cost more than confirm_above")


class BudgetValues(BaseModel):
    """What a campaign may spend; null: no limit."""

    steps: int | None = Field(default=None, description="accounts to read after the seeds")
    max_requests: int | None = Field(default=None, description="requests")
    max_money: float | None = Field(default=None, description="dollars")
    max_posts: int | None = Field(default=None, description="posts read")
    max_nodes: int | None = Field(default=None, description="accounts read, seeds included")
    max_time: str | None = Field(default=None, max_length=50, description="since the first request: 12h, 7d")


class BudgetItem(BaseModel):
    """The budget of a campaign, as its file says."""

    digest: str = Field(description="what tells this state of the file")
    values: BudgetValues


class BudgetChange(BudgetValues):
    """Keys that are given are changed; null removes one. Others stay as they are."""

    digest: str = Field(min_length=1, max_length=200, description=SEEN)


class AccountsChange(BaseModel):
    """Accounts that are added to a list of the file, or removed from it."""

    accounts: list[str] = Field(
        min_length=1, max_length=MOST_ACCOUNTS, description="usernames; or patterns, see exclude"
    )
    remove: bool = Field(False, description="whether they are removed")
    digest: str | None = DIGEST


class EditedItem(BaseModel):
    """What became of a change of the file."""

    changed: bool = Field(description="false: the file said so already")
    effect: str = Field(description="what happens now, and when")
    digest: str = Field(description="what tells the new state of the file")
    campaign: CampaignItem
