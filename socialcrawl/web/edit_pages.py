"""The pages that create and edit campaign files, with what a campaign would cost and which posts would match."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from socialcrawl import (
    CampaignFile,
    CampaignStatus,
    ConflictError,
    MatchPreview,
    Project,
    SettingsError,
    SocialcrawlError,
)
from socialcrawl.web.edit_drafts import (
    MOST_TEXTS,
    QuoteView,
    describe,
    describe_conflict,
    describe_values,
    find_secrets,
    has_begun,
    list_fixed,
    make_draft,
    preview_stored,
    preview_texts,
    quote_file,
    show_file,
)
from socialcrawl.web.edit_fields import (
    CHOSEN,
    Described,
    FormSection,
    is_locked,
    list_keys,
    list_lines,
    make_fields,
    normalize,
    read_changes,
    show_values,
)
from socialcrawl.web.edit_problems import locate_problems, put_in_words
from socialcrawl.web.field_labels import name_field
from socialcrawl.web.file_edits import describe_effect, find_next_button
from socialcrawl.web.http_api import Campaigns, Live, Status
from socialcrawl.web.live_status import LiveStatus
from socialcrawl.web.page_answers import read_change, render

EXAMPLES = ("name", "database", "topic.keywords", "seeds.usernames", "capture.from")
"""What templates have as examples only."""
NOTES = {
    "created": "The campaign file is written. Nothing was requested yet.", "saved": "Saved.", "epoch": "Saved.",
}  # fmt: skip
"""What is said after a file was saved, by how that was."""
ENOUGH = {
    "topic.keywords": ["sky"], "capture.from": "2026-01-01", "source.contact": "mailto:me@example.org",
    "source.base_url": "https://social.example",
}  # fmt: skip
"""What campaigns need to be possible at all."""
TEXTS, PLACE, WAS, DIGEST, WHAT, UNKNOWN = "-texts", "-place", "-was", "-digest", "-do", "unknown"
"""Fields of the form that are no settings."""
UNSHOWN = "It is set in the file, and not shown, as it may hold a secret. It stays as long as this field is empty."
PART = "x-part"  # the header of a script that wants the answer only, without the page
edit_pages = APIRouter(include_in_schema=False)
Choice = Annotated[str, Query(max_length=100)]


@dataclass(slots=True)
class EditForm:
    """The form of a campaign file, new or not, and what is to be said of it.

    Attributes:
        described: the settings of its kind and platform.
        chosen: these two.
        shown: the texts of all fields for the file as it is.
        typed: the texts of all fields as they are in the form.
        status: the campaign; None: it is new.
        digest: that of the file.
        begun: whether the campaign has begun.
        locked: what cannot be changed.
        wrong: what is wrong, by key; "" for what concerns no key, a sentence a line.
        unshown: the keys whose values are in the file, and nobody is shown.
        unknown: keys of the file that no campaign has, and no field shows.
    """

    described: Described
    chosen: tuple[str, str]
    shown: Mapping[str, str]
    typed: dict[str, str]
    status: CampaignStatus | None = None
    digest: str = ""
    begun: bool = False
    locked: Sequence[str] = ()
    wrong: dict[str, str] = field(default_factory=dict)
    was: Mapping[str, str] = field(default_factory=dict)
    conflict: Sequence[tuple[str, str, str, str]] = ()
    texts: str = ""
    place: str = ""
    notes: dict[str, str] = field(default_factory=dict)
    unshown: Sequence[str] = ()
    unknown: list[str] = field(default_factory=list)

    def add_problems(self, error: SettingsError, file: str = "") -> None:
        """Say beside the fields what is wrong, and forget what may be a secret."""
        for key, sentence in locate_problems(error, file, self.shown):
            at, said = key if key in self.shown else "", put_in_words(sentence, self.shown)
            if key and not at and sentence.startswith("unknown key"):
                self.unknown.append(key)
            self.wrong[at] = "\n".join(filter(None, (self.wrong.get(at, ""), said)))
        for key in error.secrets:
            self.typed[key] = ""

    def read(self) -> dict[str, Any]:
        """Return what was changed; what is wrong with it goes beside the fields."""
        changes, wrong = read_changes(self.described, self.shown, self.typed, self.locked)
        self.wrong |= {key: put_in_words(why, self.shown) for key, why in wrong.items()}
        for key in wrong:
            if "was not kept" in wrong[key]:
                self.typed[key] = ""
        return changes


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown beside the form."""

    quote: QuoteView | None = None
    quote_error: str = ""
    previews: Sequence[tuple[str, MatchPreview]] = ()
    preview_error: str = ""


@edit_pages.get("/new")
def show_new(request: Request, project: Campaigns, kind: Choice = "", platform: Choice = "") -> Response:
    """Show the choice of kind and platform, or the form for a new campaign."""
    why = _explain_lack(kind, platform) if kind and platform else ""
    if not kind or not platform or why or project.folder is None:
        shown = {"choices": _list_choices(), "folder": project.folder, "chosen": (kind, platform), "why": why}
        return render(request, "new.html", 409 if why else 200, **shown)
    form = _open_new(kind, platform)
    form.typed |= dict.fromkeys(EXAMPLES, "")
    form.was = dict(form.shown)
    form.notes = _note_variables(lambda: make_draft(project, {"kind": kind, "source": {"platform": platform}}))
    return _show(request, project, form)


@edit_pages.post("/new")
async def save_new(request: Request, live: Live) -> Response:
    """Write a new campaign file, or show what it would cost and match."""
    given = await read_change(request)
    form = await asyncio.to_thread(_open_new, given.get("kind", ""), given.get("platform", ""))
    _take_typed(form, given)
    form.typed["database"] = form.typed["database"] or form.shown["database"]
    usual = dict(list_keys(form.described))["kind"]["default"]
    values = {**({} if form.chosen[0] == usual else {"kind": form.chosen[0]}), **form.read()}
    values["source"] = {**values.get("source", {}), "platform": form.chosen[1]}
    what = given.get(WHAT, "")
    if what in ("quote", "preview"):
        return await _show_beside(request, live, form, what, lambda: make_draft(live.project, values))
    file = await asyncio.to_thread(_create, live.project, form, values)
    if file is None:
        return await asyncio.to_thread(_show, request, live.project, form)
    return await _go_on(live, file.path, "created")


@edit_pages.get("/campaigns/{key}/edit")
def show_edit(request: Request, status: Status, project: Campaigns, saved: Choice = "") -> Response:
    """Show the form of a campaign's file."""
    try:
        form = _open_file(project, status, project.load_file(status.key))
    except SettingsError as error:
        return render(request, "edit_refused.html", status=status, why=str(error))
    form.was = dict(form.shown)
    warnings: Sequence[str] = ()
    try:
        warnings = project.load_file(status.key).check()
    except SettingsError as error:
        form.add_problems(error, status.file or "")
    form.notes = _note_variables(lambda: project.load_file(status.key))
    note = NOTES.get(saved, "")
    note += f" {describe_effect(status, epoch=saved == 'epoch')}" if note and saved != "created" else ""
    return _show(request, project, form, note=note, warnings=warnings)


@edit_pages.post("/campaigns/{key}/edit")
async def save_edit(request: Request, status: Status, live: Live) -> Response:
    """Save a campaign's file, or show what it would cost and match."""
    given = await read_change(request)
    project = live.project
    try:
        file = await asyncio.to_thread(project.load_file, status.key)
        form = await asyncio.to_thread(_open_file, project, status, file)
    except SettingsError as error:
        return render(request, "edit_refused.html", status=status, why=str(error))
    _take_typed(form, given)
    what = given.get(WHAT, "")
    if what not in ("quote", "preview") and given.get(DIGEST) != file.digest:
        _find_conflict(form)
    changes = form.read()
    if what == UNKNOWN:
        _remove_keys(changes, given.get(UNKNOWN, ""))
    if what in ("quote", "preview"):
        form.digest = given.get(DIGEST, "")  # saving compares
        return await _show_beside(request, live, form, what, lambda: _update(file, changes))
    epoch = None if form.conflict else await asyncio.to_thread(_save, file, form, changes)
    if epoch is None:
        if form.conflict:
            await asyncio.to_thread(_check_only, file, form, changes)
        return await asyncio.to_thread(_show, request, project, form)
    return await _go_on(live, file.path, "epoch" if epoch else "saved")


def _open_new(kind: str, platform: str) -> EditForm:
    described, values = _read_template(kind, platform)
    shown = show_values(described, values)
    return EditForm(described, (kind, platform), shown, dict(shown))


@cache
def _read_template(kind: str, platform: str) -> tuple[Described, Mapping[str, Any]]:
    """Return the settings of a kind and platform, and what the template sets.

    Raises:
        SettingsError: there is no such kind or platform.
    """
    file = CampaignFile.draft(Path("campaign.toml"), {"kind": kind, "source": {"platform": platform}})
    return describe(kind=kind, platform=platform), file.values


@cache
def _explain_lack(kind: str, platform: str) -> str:
    """Return why a platform cannot have campaigns of a kind; "" where it can.

    Raises:
        SettingsError: there is no such kind or platform.
    """
    keys = dict(list_keys(_read_template(kind, platform)[0]))
    try:
        _check_enough(kind, platform)
    except SettingsError as error:
        problems = locate_problems(error, "campaign.toml", keys)
        return next((put_in_words(text, keys) for key, text in problems if key not in keys), "")
    return ""


@cache
def _find_needed(kind: str, platform: str) -> frozenset[str]:
    """Return the keys without which no campaign of a kind and platform can be."""
    found = set[str]()
    with suppress(SettingsError):
        _check_enough(kind, platform)
        for key in ENOUGH:
            try:
                _check_enough(kind, platform, without=key)
            except SettingsError:
                found.add(key)
    return frozenset(found)


def _check_enough(kind: str, platform: str, without: str = "") -> None:
    """Check a campaign that has what is needed, but for a key.

    Raises:
        SettingsError: it cannot be.
    """
    keys = dict(list_keys(_read_template(kind, platform)[0]))
    values: dict[str, Any] = {"kind": kind}
    for key, value in {**ENOUGH, "source.platform": platform}.items():
        section, _, name = key.partition(".")
        if key in keys:
            values.setdefault(section, {})[name] = None if key == without else value
    CampaignFile.draft(Path("campaign.toml"), values).check()


def _open_file(project: Project, status: CampaignStatus, file: CampaignFile) -> EditForm:
    described = describe_values(file.values)
    unshown = find_secrets(file)
    shown = show_values(described, file.values, unshown)
    defaults = {key: str(one["default"]) for key, one in list_keys(described) if key in CHOSEN}
    kind, platform = (shown[key] or defaults[key] for key in CHOSEN)
    begun = has_begun(project, status)
    locked = list_fixed(file) if begun else ()
    return EditForm(
        described, (kind, platform), shown, dict(shown), status, file.digest, begun, locked, unshown=unshown
    )


def _take_typed(form: EditForm, given: Mapping[str, str]) -> None:
    """Put what came back into the form; what is locked stays as it is."""
    form.typed = {
        key: text if is_locked(key, form.locked) else normalize(given.get(key, "")) for key, text in form.shown.items()
    }
    form.texts, form.place, form.was = given.get(TEXTS, ""), given.get(PLACE, ""), form.shown
    try:
        was = json.loads(given.get(WAS, "") or "{}")
    except (ValueError, RecursionError):
        return
    if isinstance(was, dict):
        form.was = {key: str(was.get(key, "")) for key in form.shown}


def _find_conflict(form: EditForm) -> None:
    """Compare what was typed with a file that somebody else has changed; what nobody typed is as it is in the file."""
    typed = {key: text for key, text in form.typed.items() if text != normalize(form.was[key])}
    form.conflict = describe_conflict(form.described, form.was, form.shown, typed)
    form.typed = {**form.shown, **typed}
    form.was = form.shown


def _remove_keys(changes: dict[str, Any], keys: str) -> None:
    """Add to changes that keys are removed, which a text names with blanks between them."""
    for key in keys.split():
        section, _, name = key.partition(".")
        if not name:
            changes[section] = None
        elif isinstance(own := changes.setdefault(section, {}), dict):
            own[name] = None


def _create(project: Project, form: EditForm, values: Mapping[str, Any]) -> CampaignFile | None:
    """Write a new file; None, and what is wrong is in the form, where it cannot be."""
    try:
        file = project.draft(values)
        file.check()
        if not form.wrong:
            file.save()
            return file
    except SettingsError as error:
        form.add_problems(error, f"{project.folder}/{values.get('name')}.toml")
    if "name" in form.wrong:  # then nothing else was looked at
        path = Path(f"{project.folder}/campaign.toml")
        try:
            CampaignFile.draft(path, {key: one for key, one in values.items() if key != "name"}).check()
        except SettingsError as error:
            form.add_problems(error, str(path))
    return None


def _update(file: CampaignFile, changes: Mapping[str, Any]) -> CampaignFile:
    file.update(changes)
    return file


def _check_only(file: CampaignFile, form: EditForm, changes: Mapping[str, Any]) -> bool:
    """Say in the form what is wrong with changes; return whether nothing is."""
    try:
        _update(file, changes).check()
    except SettingsError as error:
        form.add_problems(error, str(file.path))
    return not form.wrong


def _save(file: CampaignFile, form: EditForm, changes: Mapping[str, Any]) -> list[str] | None:
    """Save a file, and return the keys that begin a new epoch; None, and what is wrong is in the form."""
    if not _check_only(file, form, changes):
        return None
    try:
        epoch = file.check_change() if form.begun else []
        file.save()
    except ConflictError:  # in the moment since it was loaded
        now = CampaignFile.load(file.path)
        form.shown, form.digest = show_file(now, form.described), now.digest
        _find_conflict(form)
    except SettingsError as error:
        form.add_problems(error, str(file.path))
    else:
        return epoch
    return None


async def _go_on(live: LiveStatus, path: Path, how: str) -> Response:
    """Lead to the form of a file that was saved."""
    found = [one.key for one in await live.read(fresh=True) if one.file == str(path)]
    return RedirectResponse(f"/campaigns/{found[0]}/edit?saved={how}" if found else "/", 303)


async def _show_beside(request: Request, live: LiveStatus, form: EditForm, what: str, make: Any) -> Response:
    """Show a quote or a preview beside the form, or alone to a script."""
    work = _quote if what == "quote" else _preview
    shown = await request.app.state.data_work.drafting.run(lambda: work(live.project, form, make))
    if request.headers.get(PART):
        return render(request, f"edit_{what}.html", shown=shown, form=form, campaigns=())
    form.wrong = {}  # as long as nothing is saved, only the quote says what is wrong
    return await asyncio.to_thread(_show, request, live.project, form, shown)


def _quote(project: Project, form: EditForm, make: Any) -> Shown:
    try:
        file = make()
        if not form.wrong:
            return Shown(quote=quote_file(file, begun=form.begun))
    except SettingsError as error:
        form.add_problems(error)
    except SocialcrawlError as error:
        form.wrong[""] = str(error)
    return Shown(
        quote_error="\n".join(f"{name_field(key)}: {text}" if key else text for key, text in form.wrong.items())
    )


def _preview(project: Project, form: EditForm, make: Any) -> Shown:
    try:
        find_secrets(make())
    except SettingsError as error:  # only secrets matter here: they are not shown again
        form.add_problems(error)
    words = [list_lines(form.typed.get(f"topic.{name}", "")) for name in ("keywords", "patterns", "languages")]
    texts = list_lines(form.texts)[:MOST_TEXTS]
    if not words[0] and not words[1]:
        return Shown(preview_error="Type a keyword first.")
    previews = []
    try:
        if form.place:
            status = project.find(form.place)
            previews.append((f"stored posts of {status.name}", preview_stored(project, status, words)))
        if texts:
            previews.append(("pasted posts", preview_texts(form.chosen[1], texts, words)))
    except SocialcrawlError as error:
        return Shown(preview_error=str(error))
    if not previews:
        return Shown(preview_error="Choose a campaign with stored posts, or paste some posts.")
    return Shown(previews=previews)


def _note_variables(make: Any) -> dict[str, str]:
    """Return whether the variables that a file names are set for this server, by key; no value is read."""
    try:
        campaign = make().to_campaign()
    except SettingsError:
        return {}
    own = {f"notify.{name}": campaign.settings["notify"][name] for name in ("webhook_env", "apprise_env")}
    notes = {key: [name] for key, name in own.items() if name}
    notes["source.token_env"] = [name for name in campaign.variables if name not in own.values()]
    here = campaign.variables
    said = {name: f"{name} is {'set' if here[name] else 'not set'} for this server." for name in here}
    return {key: " ".join(said[name] for name in names) for key, names in notes.items()}


def _list_choices() -> tuple[list[tuple[str, str]], list[str]]:
    """Return the kinds with their purposes, and the platforms."""
    keys = dict(list_keys(describe()))
    kind, platform = keys["kind"], keys["source.platform"]
    purposes = dict(part.split(": ", 1) for part in kind["description"].split("; ") if ": " in part)
    platforms = platform["choices"] or platform["suggestions"]
    return [(name, purposes.get(name, "")) for name in kind["suggestions"]], platforms


def _show(
    request: Request,
    project: Project,
    form: EditForm,
    shown: Shown | None = None,
    *,
    note: str = "",
    warnings: Sequence[str] = (),
) -> Response:
    """Return the page of a form; 422 where something is wrong, 409 where somebody else has changed the file."""
    _, template = _read_template(*form.chosen)
    set_there = {f"{name}.{key}" for name, keys in template.items() if isinstance(keys, Mapping) for key in keys}
    notes = dict.fromkeys(form.unshown, UNSHOWN) | form.notes
    sections: Sequence[FormSection] = make_fields(
        form.described, form.typed, template=set_there, wrong=form.wrong, notes=notes, locked=form.locked
    )
    needed = _find_needed(*form.chosen)
    labels = {one.key: one.label for section in sections for one in section.fields}
    stored = [one for one in project.list_campaigns() if one.requests or one.steps]
    own = form.status.key if form.status is not None else ""
    place = form.place or (own if any(one.key == own for one in stored) else stored[0].key if stored else "")
    code = 409 if form.conflict else 422 if form.wrong and request.method == "POST" else 200
    return render(
        request, "edit.html", code, form=form, sections=sections, labels=labels, shown=shown or Shown(), note=note,
        warnings=warnings, stored=stored, place=place, was=json.dumps({k: v for k, v in form.was.items() if v}),
        folder=project.folder, most_texts=MOST_TEXTS, sent=request.method == "POST", needed=needed,
        button=None if form.status is None else find_next_button(form.status),
    )  # fmt: skip
