"""The buttons and forms that start, stop and change a campaign. Only forms change something."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import RedirectResponse, Response

from socialcrawl import CampaignStatus, ConflictError, CostError, Project, SettingsError, SocialcrawlError
from socialcrawl.web.edit_problems import locate_problems, put_in_words
from socialcrawl.web.file_edits import (
    BUDGET,
    BudgetForm,
    EditableSettings,
    change_accounts,
    change_budget,
    describe_effect,
    find_next_button,
    open_budget,
    read_budget,
    read_editable,
    take_budget,
)
from socialcrawl.web.http_api import Campaigns, Status
from socialcrawl.web.page_answers import read_change, render
from socialcrawl.web.page_templates import is_spent

control_pages = APIRouter(include_in_schema=False)
Form = Annotated[dict[str, str], Depends(read_change)]
RESTART = " Then stop these pages, and start them again in the terminal in which the variable is set: export NAME=..."
SAVED = {"budget": False, "seeds": True, "exclude": True, "none": False}
"""What a change was about, and whether it begins a new epoch."""
MOST_NAMES = 100  # accounts of a list that a page shows


@control_pages.get("/campaigns/{key}/control")
def show_forms(
    request: Request, status: Status, project: Campaigns, saved: Annotated[str, Query(max_length=20)] = ""
) -> Response:
    """Show the forms of a campaign, and what became of the last change."""
    note = ""
    if saved == "none":
        note = "The file said so already: nothing has changed."
    elif saved in SAVED:
        note = f"Saved. {describe_effect(status, epoch=SAVED[saved])}"
    goes_on = saved in SAVED and saved != "none" and not is_spent(status)
    button = find_next_button(status) if goes_on else None
    return _show_forms(request, project, status, note=note, button=button)


@control_pages.post("/campaigns/{key}/start")
def start(request: Request, status: Status, project: Campaigns, form: Form) -> Response:
    """Start a campaign, by its button."""
    return _start(request, status, project, form, again=False)


@control_pages.post("/campaigns/{key}/restart")
def restart(request: Request, status: Status, project: Campaigns, form: Form) -> Response:
    """Stop a campaign and start it, so that it takes up its file."""
    return _start(request, status, project, form, again=True)


@control_pages.post("/campaigns/{key}/stop")
def stop(request: Request, status: Status, project: Campaigns, form: Form) -> Response:
    """Stop a campaign, by its button."""
    try:
        project.stop(status.key)
    except SocialcrawlError as error:
        return render(request, "control_answer.html", 409, status=status, title="Not stopped", text=str(error), cost="")
    return go_back(status, form)


@control_pages.post("/campaigns/{key}/budget")
def set_budget(request: Request, status: Status, project: Campaigns, form: Form) -> Response:
    """Change the budget in the file of a campaign."""
    shown: BudgetForm | None = None
    wrong: dict[str, str] = {}
    try:
        file = project.load_file(status.key)
        shown = take_budget(open_budget(read_editable(file)), form)
        if shown.conflict is None:
            values, wrong = read_budget(file, {key: shown.typed[key] for key in shown.typed if f"has_{key}" in form})
            if not wrong:
                changed = change_budget(status, file, values)
                return _end_change(request, status, project, form, "budget" if changed else "none")
    except ConflictError as error:  # in the moment since it was loaded
        shown = take_budget(open_budget(read_editable(project.load_file(status.key))), form)
        wrong = {"": str(error)} if shown.conflict is None else {}
    except SettingsError as error:
        known = [f"{section}.{key}" for key, (section, _, _) in BUDGET.items()]
        for key, sentence in locate_problems(error, status.file or "", known):
            at = key.rpartition(".")[2] if key in known else ""
            wrong[at] = " ".join(filter(None, (wrong.get(at), put_in_words(sentence, known))))
    return _show_forms(request, project, status, wrong=wrong, shown=shown)


@control_pages.post("/campaigns/{key}/seeds")
def add_seeds(request: Request, status: Status, project: Campaigns, form: Form) -> Response:
    """Add seeds to the file of a campaign, or remove one."""
    return _change_accounts(request, status, project, form, "seeds")


@control_pages.post("/campaigns/{key}/exclude")
def exclude(request: Request, status: Status, project: Campaigns, form: Form) -> Response:
    """Exclude accounts in the file of a campaign, or allow one again."""
    return _change_accounts(request, status, project, form, "exclude")


def fill_forms(
    project: Project, status: CampaignStatus, given: Mapping[str, str], shown: BudgetForm | None = None
) -> dict[str, Any]:
    """Return what the template of the forms needs.

    Args:
        project: where the campaign is.
        status: the campaign.
        given: what somebody gave that was wrong, by form.
        shown: the form of the budget as it came back; None: as the file has it.
    """
    forms: EditableSettings | None = None
    try:
        forms = read_editable(project.load_file(status.key))
    except SettingsError:  # it has no file here that can be read
        return {"forms": None}
    its = {"forms": forms, "shown": shown or open_budget(forms), "given": given}
    return {**its, "budget": BUDGET, "most_names": MOST_NAMES}


def _change_accounts(
    request: Request, status: CampaignStatus, project: Project, form: Mapping[str, str], what: str
) -> Response:
    removed = form.get("remove")
    only = removed or form.get("account")  # from the page of an account
    listed = form.get("accounts", "") if only is None else only
    names = [name for one in listed.split() if (name := one.strip(","))] if only is None else [only]
    given = {what: listed} if removed is None else {}  # the form adds: it gets no account that was to be removed
    try:
        file = project.load_file(status.key, digest=form.get("digest"))
        changed = change_accounts(file, what, names, remove=removed is not None)
    except ConflictError:
        again = "Press again to add these to" if removed is None else "Press Remove again to remove it from"
        said = f"Somebody else has changed the file meanwhile. {again} the file as it is now."
        return _show_forms(request, project, status, wrong={what: said}, given=given, code=409)
    except SettingsError as error:
        return _show_forms(request, project, status, wrong={what: str(error)}, given=given)
    return _end_change(request, status, project, form, what if changed else "none")


def _end_change(
    request: Request, status: CampaignStatus, project: Project, form: Mapping[str, str], saved: str
) -> Response:
    """Show what became of a change, or start the campaign with it."""
    if form.get("then") == "restart":
        return _start(request, status, project, form, again=True)
    return RedirectResponse(f"/campaigns/{status.key}/control?saved={saved}", 303)


def _start(
    request: Request, status: CampaignStatus, project: Project, form: Mapping[str, str], *, again: bool
) -> Response:
    act, cost = project.restart if again else project.start, ""
    try:
        if not again and is_spent(status):
            raise SettingsError(f"There is nothing left to do: {status.why}.")
        act(status.key, accept_cost=form.get("accept_cost") == "yes")
    except CostError as error:
        cost = put_in_words(error.excess)
        text = f"{cost}. Nothing was sent."
    except SocialcrawlError as error:
        text = put_in_words(str(error)) + (RESTART if str(error).startswith("No token") else "")
    else:
        return go_back(status, form)
    return render(request, "control_answer.html", 409, status=status, title="Not started", text=text, cost=cost)


def go_back(status: CampaignStatus, form: Mapping[str, str]) -> Response:
    """Lead to the page of a campaign; to the overview, with its choice of campaigns, from a button there."""
    back = form.get("back", "")
    return RedirectResponse(back if back == "/" or back.startswith("/?") else f"/campaigns/{status.key}", 303)


def _show_forms(
    request: Request,
    project: Project,
    status: CampaignStatus,
    *,
    note: str = "",
    button: tuple[str, str] | None = None,
    wrong: Mapping[str, str] | None = None,
    given: Mapping[str, str] | None = None,
    shown: BudgetForm | None = None,
    code: int = 422,
) -> Response:
    """Return the page of the forms, with what somebody gave and what was wrong with it."""
    wrong = wrong or {}
    conflict = None if shown is None else shown.conflict
    code = 409 if conflict is not None else code if wrong else 200
    return render(
        request, "control.html", code, status=status, note=note, button=button, wrong=wrong, conflict=conflict,
        **fill_forms(project, status, given or {}, shown),
    )  # fmt: skip
