"""The changes of a campaign file that buttons make: its budget, further seeds, excluded accounts."""

import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from socialcrawl import CampaignFile, CampaignStatus, SettingsError
from socialcrawl.web.edit_drafts import describe_values
from socialcrawl.web.edit_fields import format_setting, list_keys, normalize, read_value
from socialcrawl.web.edit_problems import put_in_words

BUDGET = {
    "steps": ("crawl", "Accounts to read", "accounts after the seeds"),
    "max_requests": ("budget", "Requests", "sent, whatever they return"),
    "max_money": ("budget", "Dollars", "by the price table"),
    "max_posts": ("budget", "Posts", "read"),
    "max_nodes": ("budget", "Accounts in all", "read, seeds included; for track, visits"),
    "max_time": ("budget", "Time", "since the first request: 12h, 7d"),
}
"""The keys of a budget: their section, their name and a word of help."""
LISTS = {"seeds": ("seeds", "usernames"), "exclude": ("accounts", "exclude")}
"""Lists of accounts: where the file has them."""


@dataclass(frozen=True, slots=True)
class EditableSettings:
    """What the forms of a campaign show.

    Attributes:
        digest: what tells the state of the file.
        values: the keys of its budget that have an effect, with their values; None: no limit.
        lists: the lists of accounts that have an effect.
    """

    digest: str
    values: Mapping[str, Any]
    lists: Mapping[str, Sequence[str]]

    def has_account(self, what: str, name: str) -> bool:
        """Return whether a list names an account; a pattern names none."""
        return bool(_find_entries(self.lists.get(what, ()), name))


def read_editable(file: CampaignFile) -> EditableSettings:
    """Return what the forms of a campaign show.

    Raises:
        SettingsError: the file is wrong.
    """
    settings, known = file.settings, dict(list_keys(describe_values(file.values)))
    values = {key: settings[section][key] for key, (section, _, _) in BUDGET.items() if f"{section}.{key}" in known}
    lists = {name: settings[place[0]][place[1]] for name, place in LISTS.items() if ".".join(place) in known}
    return EditableSettings(file.digest, values, lists)


@dataclass(frozen=True, slots=True)
class BudgetForm:
    """The texts of the form of the budget.

    Attributes:
        digest: of the file to which `was` belongs.
        was: what the file says, by key.
        typed: what the fields hold.
        conflict: (name, `was` when the form was opened, text in the file now, typed text) of what others changed;
            None: nobody did.
    """

    digest: str
    was: Mapping[str, str]
    typed: Mapping[str, str]
    conflict: Sequence[tuple[str, str, str, str]] | None = None


def open_budget(editable: EditableSettings) -> BudgetForm:
    """Return the form of the budget that a file has."""
    was = {key: format_setting(value) for key, value in editable.values.items()}
    return BudgetForm(editable.digest, was, was)


def take_budget(form: BudgetForm, given: Mapping[str, str]) -> BudgetForm:
    """Return the form as it came back: if the file is another one by now, what was typed is put on top of it.

    Args:
        form: that of the file as it is now.
        given: the fields. `has_KEY` says that KEY was there, and `was_KEY` what it held when the form was opened;
            browsers send fields that are empty, `parse_qs` leaves them out.
    """
    here = [key for key in form.was if f"has_{key}" in given]
    if given.get("digest") == form.digest:
        return BudgetForm(form.digest, form.was, {**form.was, **{key: given.get(key, "") for key in here}})
    was = {key: given.get(f"was_{key}", "") for key in here}
    typed = {key: text for key in here if normalize(text := given.get(key, "")) != normalize(was[key])}
    rows = [
        (BUDGET[key][1], was[key], form.was[key], typed.get(key, form.was[key]))
        for key in here
        if was[key] != form.was[key]
    ]
    return BudgetForm(form.digest, form.was, {**form.was, **typed}, rows)


def read_budget(file: CampaignFile, given: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values of a form of the budget, and what is wrong with them, by key.

    Args:
        file: the campaign file.
        given: texts by key; an empty one is no limit.
    """
    known = dict(list_keys(describe_values(file.values)))
    values, wrong = dict[str, Any](), {}
    for key, text in given.items():
        dotted = f"{BUDGET[key][0]}.{key}"
        try:
            values[key] = read_value(dotted, known[dotted], normalize(text)) if text.strip() else None
        except ValueError as error:
            wrong[key] = put_in_words(str(error), known)
    return values, wrong


def change_budget(status: CampaignStatus, file: CampaignFile, values: Mapping[str, Any]) -> bool:
    """Change keys of the budget and save the file; return False if it said so already.

    Raises:
        SettingsError: with one line for each key that is wrong. Nothing is changed then.
        ConflictError: somebody else has changed the file.
    """
    before, given = file.values, dict[str, dict[str, Any]]()
    spent = {"max_money": status.dollars, "max_requests": status.requests}
    for key, value in values.items():
        if isinstance(value, int | float) and 0 <= value < spent.get(key, 0):
            why = f"this would be below what is spent, {spent[key]:,.6g}: stop the campaign to spend no more."
            raise SettingsError(f"[budget] {key}: {why}", [(f"budget.{key}", why)])
        section = BUDGET[key][0]
        if before.get(section, {}).get(key) != value:
            given.setdefault(section, {})[key] = value
    if not given:
        return False
    file.update(given)
    file.check()
    file.save()
    return True


def change_accounts(file: CampaignFile, what: str, names: Sequence[str], *, remove: bool = False) -> bool:
    """Add seeds or excluded accounts, or remove them, and save the file; return False if it said so already.

    Raises:
        SettingsError: with one line for each that is wrong. Nothing is changed then.
        ConflictError: somebody else has changed the file.
    """
    section, key = LISTS[what]
    if not names:
        raise SettingsError("Name at least one account.")
    if not remove and (several := next((name for name in names if len(name.split()) > 1), None)):
        raise SettingsError(f"{several!r} is no name of an account: it has a blank.")
    before = file.text
    for name in names:
        if not remove:
            file.add(section, key, name.removeprefix("@"))
            continue
        for entry in _find_entries(file.values.get(section, {}).get(key, ()), name):
            file.remove(section, key, entry)
    if file.text == before:
        return False
    file.check()
    file.save()
    return True


def _find_entries(entries: Sequence[str], name: str) -> list[str]:
    """Return the entries of a list that are an account's name, however it is written."""
    return [entry for entry in entries if entry.removeprefix("@").casefold() == name.removeprefix("@").casefold()]


def compare_settings(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return (dotted key, value before, value after) of what differs between the values of two campaign files."""
    old, new = (dict(_list_values(values)) for values in (before, after))
    return [(key, old.get(key), new.get(key)) for key in old | new if old.get(key) != new.get(key)]


def _list_values(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        yield from (
            ((f"{name}.{key}", one) for key, one in value.items()) if isinstance(value, Mapping) else ((name, value),)
        )


def describe_effect(status: CampaignStatus, *, epoch: bool) -> str:
    """Return what happens after a change of a campaign's file, and when.

    Args:
        status: the campaign.
        epoch: whether the change begins a new epoch if the campaign has begun, as one of seeds or topic does.
    """
    more = " Then a new epoch begins: stored posts are judged and scored again, and none is bought again."
    if not epoch or not (status.requests or status.steps):
        more = ""
    if status.watched:
        where = status.daemon is None or status.daemon.endswith(f" on {socket.gethostname()}")
        on = "" if where else f", if {status.daemon} reads this very file"
        after = "is paused until you resume it" if status.state == "paused" else "goes on"
        return f"The daemon takes this up within a few seconds{on}; the campaign {after}.{more}"
    if status.state == "running":
        return f"The campaign still runs with what the file said before ({status.why}): restart it.{more}"
    return f"This takes effect at the next start.{more}"


def find_next_button(status: CampaignStatus) -> tuple[str, str] | None:
    """Return (what, words) of the button by which a campaign takes up its changed file; None: it does so by itself."""
    if status.watched:
        return ("resume", "Resume it") if status.state == "paused" else None
    return ("restart", "Restart it") if status.state == "running" else ("start", "Start it")
