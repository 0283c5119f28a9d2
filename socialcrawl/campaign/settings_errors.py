"""What is wrong in the settings of a campaign, in sentences: where it is, and what to write instead."""

import json
import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from socialcrawl.campaign import pasted_secrets
from socialcrawl.campaign.sections.values import Section
from socialcrawl.crawls.facts import find_kind_facts

FROM_PYTHON = "Campaign"  # the origin of settings that a Python program gave
INIT = "`socialcrawl init` writes a file that has it"
INSIDE = re.compile(r"\[|function-")  # parts of a place that pydantic adds where a value has several forms
NUMBERS = {"float_type": "20.0", "float_parsing": "20.0", "int_type": "300", "int_parsing": "300"}
# Settings into which a token or a secret address may be pasted: they are never shown.
SECRETS = {"source": ("token_env", "tokens", "base_url"), "notify": ("webhook_env", "apprise_env", "command")}
PATTERN_ADVICE: dict[str, str] = {
    "^[0-9a-f]{32}$": "write the checksum as 32 digits 0-9 and a-f, or leave it out: a run stores it",
    r"^(tcp|tls)://[^\s/@?#]+:\d+$": "write the scheduler's address as tcp://HOST:PORT, such as tcp://10.0.0.1:8786",
}
ADVICE = {
    "greater_than": "write a number above {gt:,}",
    "greater_than_equal": "write a number, {ge:,} or more",
    "less_than": "write a number below {lt:,}",
    "less_than_equal": "write a number, at most {le:,}",
    "finite_number": "write a finite number",
    "int_type": "write a whole number",
    "int_from_float": "write a whole number",
    "float_type": "write a number",
    "string_type": "write a text in quotes",
    "string_too_short": "write a text that is not empty",
    "string_pattern_mismatch": "write letters, digits and _ . - only",
    "bool_type": "write true or false",
    "list_type": 'write a list, such as ["a", "b"]',
    "too_long": "write a list of at most {max_length}",
    "path_type": "write a path in quotes",
    "literal_error": "write {expected}",
}


def explain_settings_error(
    error: ValidationError, settings: type[BaseModel], origin: str, text: str = ""
) -> Iterator[tuple[str, str, str]]:
    """Yield for each thing that is wrong its dotted key, a sentence, and the end of that: what to do, without a value.

    Args:
        error: what pydantic found.
        settings: the model of a campaign file.
        origin: what is named: the path of a file, or `FROM_PYTHON`.
        text: the text of the file, in which lines are found.
    """
    for problem in error.errors():
        place = [str(part) for part in problem["loc"] if not INSIDE.search(str(part))]
        if len(place) < len(problem["loc"]) and _has_other_form(problem):
            continue
        if not place:  # of the file as a whole
            said = problem["msg"].removeprefix("Value error, ")
            example = 'give topic={"keywords": ["telescope"]}'
            said = said.replace(INIT, example) if origin == FROM_PYTHON else said
            yield "", f"{origin}: {said}.", f"{said}."
            continue
        kept = SECRETS.get(place[0], ())
        hidden = place[0] in SECRETS and (len(place) < 2 or place[1] in kept) and place[-1] != "kind"
        form = _PythonForm() if origin == FROM_PYTHON else _FileForm(origin, text, settings)
        named = form.name(place, problem, hidden=hidden)
        key = ".".join(place[:2])
        if problem["type"] == "missing":
            yield key, f"{named.removesuffix(': ')} is missing: {INIT}.", "this is missing."
            continue
        advice = _explain_problem(problem, place, settings, form, hidden=hidden)
        yield key, f"{named}{advice}", advice


def list_unshown(error: ValidationError) -> list[str]:
    """Return the dotted keys whose values nobody shows, as they may hold a password: unknown ones, and a database."""
    places = [[str(part) for part in one["loc"] if not INSIDE.search(str(part))] for one in error.errors()]
    unknown = [one["type"] == "extra_forbidden" for one in error.errors()]
    found = (
        ".".join(at[:2])
        for at, is_unknown in zip(places, unknown, strict=True)
        if at and (is_unknown or at[0] == "database")
    )
    return list(dict.fromkeys(found))


class _FileForm:
    """How keys are named and written in a campaign file."""

    def __init__(self, origin: str, text: str, settings: type[BaseModel]) -> None:
        self.origin, self.text, self.settings = origin, text, settings

    def name(self, place: list[str], problem: Any, *, hidden: bool) -> str:
        line = find_key_line(self.text, place)
        origin = f"{self.origin}, line {line}: " if line else f"{self.origin}: "
        if problem["type"] == "extra_forbidden":
            return origin
        is_section = len(place) == 1 and problem["type"] == "value_error"  # of several keys of a section
        is_table = len(place) > 1 or place[0] in _list_sections(self.settings)
        where = f"[{place[0]}] {'.'.join(place[1:])}".rstrip() if is_table else place[0]
        if problem["type"] == "model_type" and len(place) == 1:
            where = place[0]
        where = f"[{place[0]}]" if is_section and isinstance(problem["input"], dict) else where
        silent = hidden or is_section or place[0] == "database" or problem["type"] == "missing"
        shown = "" if silent else f" = {problem['input']!r}"
        return f"{origin}{where}{shown}: "

    def write(self, place: list[str], value: str) -> str:
        return f"{place[-1]} = {value}"

    def write_section(self, name: str) -> str:
        return f"it is a table, so write [{name}] and its keys below"

    def put(self, homes: list[str], key: str) -> str:
        del key
        return f"It belongs under {' or '.join(f'[{name}]' for name in homes)}."


class _PythonForm:
    """How keys are named and written in a call of `Campaign`."""

    def name(self, place: list[str], problem: Any, *, hidden: bool) -> str:
        shown = "..." if hidden or problem["type"] == "missing" else repr(problem["input"])
        shown = shown if len(shown) <= 60 else f"{shown[:60]}..."
        if problem["type"] == "value_error" and len(place) == 1 and isinstance(problem["input"], dict):
            shown = "{...}"
        for key in reversed(place[1:]):
            shown = f'{{"{key}": {shown}}}' if not key.isdigit() else f"[{shown}]"
        return f"{FROM_PYTHON}({place[0]}={shown}): "

    def write(self, place: list[str], value: str) -> str:
        return f'"{place[-1]}": {value}' if len(place) > 1 else f"{place[-1]}={value}"

    def write_section(self, name: str) -> str:
        example = '"keywords": ["telescope"]' if name == "topic" else "..."
        return f"give its keys as a dict: {name}={{{example}}}"

    def put(self, homes: list[str], key: str) -> str:
        calls = [f'{name}={{"{key}": ...}}' for name in homes]
        return f"Write {' or '.join(calls)}."


def _explain_problem(
    problem: Any, place: list[str], settings: type[BaseModel], form: _FileForm | _PythonForm, *, hidden: bool
) -> str:
    """Return what is wrong with one value or key, and what to write."""
    kind, given = problem["type"], problem["input"]
    if kind == "extra_forbidden":
        under = f" under [{place[0]}]" if len(place) > 1 and isinstance(form, _FileForm) else ""
        unknown = f"unknown key {place[-1]!r}{under}."
        secret = pasted_secrets.KEYED.match(place[-1])
        return f"{unknown} {pasted_secrets.STAYS}" if secret else f"{unknown}{_suggest_key(place, settings, form)}"
    if kind == "model_type" and len(place) == 1:
        return f"{form.write_section(place[0])}."
    bounds = {
        key: int(n) if isinstance(n, float) and n.is_integer() else n for key, n in problem.get("ctx", {}).items()
    }
    message = ADVICE[kind].format(**bounds) if kind in ADVICE else problem["msg"]
    message = PATTERN_ADVICE.get(str(bounds.get("pattern")), message)
    if isinstance(given, str) and not hidden and kind in NUMBERS:
        example = re.search(r"\d+(?:[.,]\d+)?", given)
        number = example[0].replace(",", ".") if example else NUMBERS[kind]
        message = f"a number without quotes is wanted: write {form.write(place, number)}"
    if isinstance(given, str) and not hidden and kind == "list_type":
        message = f"a list is wanted: write {form.write(place, json.dumps([given], ensure_ascii=False))}"
    message = message.removeprefix("Value error, ")
    return f"{message[0].lower()}{message[1:].rstrip('.')}."


def find_key_line(text: str, place: list[str]) -> int | None:
    """Return the line in which a key of a file in TOML is set, from 1; None where it is not found, or not once."""
    section, lines = "", []
    key = re.compile(rf"""\s*["']?{re.escape(place[-1] if len(place) == 1 else place[1])}["']?\s*[=.]""")
    wanted = place[0] if len(place) > 1 else ""
    for number, line in enumerate(text.splitlines(), 1):
        if head := re.match(r"\s*\[\[?\s*([^\]]+?)\s*\]", line):
            section = head[1]
            if [section] == place:
                lines.append(number)
        elif section == wanted and key.match(line):
            lines.append(number)
    return lines[0] if len(lines) == 1 else None


def _has_other_form(problem: Any) -> bool:
    """Return whether a value has the wrong form: a list where a text is expected, or a text for a list."""
    return (problem["type"], isinstance(problem["input"], str)) in (("list_type", True), ("string_type", False))


def _list_sections(settings: type[BaseModel]) -> dict[str, type[Section]]:
    """Return the tables of a campaign file, which may all be left out."""
    fields = settings.model_fields.items()
    return {name: type(field.default) for name, field in fields if isinstance(field.default, Section)}


def _suggest_key(place: list[str], settings: type[BaseModel], form: _FileForm | _PythonForm) -> str:
    model = settings
    if len(place) > 1 and place[0] not in settings.model_fields:  # the section of a kind that another package adds
        model, place = find_kind_facts(place[0]).section or settings, place[1:]
    for part in place[:-1]:
        if not part.isdigit():  # the place in a list
            kind = next(field.annotation for name, field in model.model_fields.items() if part in (name, field.alias))
            (model,) = get_args(kind) or (kind,)
    homes = [name for name, section in _list_sections(settings).items() if place[-1] in _list_keys(section)]
    if homes:
        return f" {form.put(homes, place[-1])}"
    known = _list_keys(model)
    nearest = get_close_matches(place[-1], known, 1)
    return f" Did you mean {nearest[0]!r}?" if nearest else f" Known here are: {', '.join(known)}."


def _list_keys(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]
