"""The part of the HTTP API that starts, stops and changes campaigns."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends

from socialcrawl import CampaignFile, CampaignStatus, Project, SettingsError
from socialcrawl.web.control_models import (
    AccountsChange,
    BudgetChange,
    BudgetItem,
    BudgetValues,
    EditedItem,
    StartOptions,
)
from socialcrawl.web.edit_api import WRONG, answer_wrong
from socialcrawl.web.file_edits import change_accounts, change_budget, describe_effect, read_editable
from socialcrawl.web.http_api import ERRORS, REFUSED, Campaigns, Status, check_change, describe_campaign
from socialcrawl.web.http_models import ChangedItem

control_api = APIRouter(prefix="/api/v1", responses=ERRORS, tags=["control"])
Change: dict[str, Any] = {"dependencies": [Depends(check_change)], "responses": REFUSED}
Edit: dict[str, Any] = {**Change, "responses": WRONG}


@control_api.post("/campaigns/{key}/start", **Change)
def start_campaign(
    status: Status, project: Campaigns, options: Annotated[StartOptions | None, Body()] = None
) -> ChangedItem:
    """Run the campaign in a process of its own, which goes on when the server of this API ends."""
    project.start(status.key, accept_cost=options is not None and options.accept_cost)
    return ChangedItem(changed=True, campaign=_describe(project, status))


@control_api.post("/campaigns/{key}/stop", **Change)
def stop_campaign(status: Status, project: Campaigns) -> ChangedItem:
    """Stop the campaign, whoever runs it; everything is stored, and it can be started again."""
    return ChangedItem(changed=project.stop(status.key), campaign=_describe(project, status))


@control_api.post("/campaigns/{key}/restart", **Change)
def restart_campaign(
    status: Status, project: Campaigns, options: Annotated[StartOptions | None, Body()] = None
) -> ChangedItem:
    """Stop the campaign, wait until it is let go of, and start it, so that it takes up its file."""
    project.restart(status.key, accept_cost=options is not None and options.accept_cost)
    return ChangedItem(changed=True, campaign=_describe(project, status))


@control_api.get("/campaigns/{key}/budget")
def get_budget(status: Status, project: Campaigns) -> BudgetItem:
    """Return the budget that the campaign file has."""
    found = read_editable(project.load_file(status.key))
    return BudgetItem(digest=found.digest, values=BudgetValues.model_validate(found.values))


@control_api.post("/campaigns/{key}/budget", response_model=EditedItem, **Edit)
def set_budget(status: Status, project: Campaigns, change: BudgetChange) -> Any:
    """Change the budget in the campaign file, if it still is the file that was seen."""
    given = change.model_dump(exclude_unset=True, exclude={"digest"})
    return _edit(project, status, change.digest, lambda file: change_budget(status, file, given), epoch=False)


@control_api.post("/campaigns/{key}/seeds", response_model=EditedItem, **Edit)
def change_seeds(status: Status, project: Campaigns, change: AccountsChange) -> Any:
    """Add seeds to the campaign file, or remove them."""
    return _change_accounts(status, project, change, "seeds")


@control_api.post("/campaigns/{key}/exclude", response_model=EditedItem, **Edit)
def exclude_accounts(status: Status, project: Campaigns, change: AccountsChange) -> Any:
    """Exclude accounts in the campaign file, which are not read from then on, or allow them again.

    `*` stands for any characters.
    """
    return _change_accounts(status, project, change, "exclude")


def _change_accounts(status: CampaignStatus, project: Project, change: AccountsChange, what: str) -> Any:
    def act(file: CampaignFile) -> bool:
        return change_accounts(file, what, change.accounts, remove=change.remove)

    return _edit(project, status, change.digest, act, epoch=True)


def _edit(
    project: Project, status: CampaignStatus, digest: str | None, act: Callable[[CampaignFile], bool], *, epoch: bool
) -> Any:
    """Return what comes of an edit of the file of a campaign, or what is wrong with it.

    Raises:
        ConflictError: somebody else has changed the file.
    """
    file = project.load_file(status.key, digest=digest or None)
    try:
        changed = act(file)
    except SettingsError as error:
        return answer_wrong(error)
    effect = describe_effect(status, epoch=epoch) if changed else "The file said so already: nothing has changed."
    return EditedItem(changed=changed, effect=effect, digest=file.digest, campaign=_describe(project, status))


def _describe(project: Project, status: CampaignStatus) -> Any:
    return describe_campaign(project.find(status.key))
