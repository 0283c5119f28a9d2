"""The fields of a campaign's form: made of the descriptions of its settings, and read back into values. Pure."""

import json
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from functools import cache
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from socialcrawl import describe_settings
from socialcrawl.web.field_labels import BASIC, HELP, SECTIONS, name_field

IF_IN_TEMPLATE = ("source.base_url", "source.contact", "source.hosts")
"""Those of BASIC that matter on some platforms only: their templates set them."""
CHOSEN = ("kind", "source.platform")
"""What is chosen before there is a form, and stays."""
BY_HAND = ("notify.command", "source.insecure", "fleet.scheduler")
"""What pages do not change: whoever has their token should not get to run programs of this machine, nor reach others
behind it, nor have a scheduler of theirs trusted."""
LOADED = ("crawl.estimator", "crawl.start", "crawl.strategy", "crawl.shadows", "sample.walk")
"""Names that may be module:Class, which pages do not load."""
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}(?:[,_ \u00a0\u202f]\d{3}){1,8}(?:\.\d{1,9})?")
"""Numbers with signs between thousands; a comma elsewhere may be a decimal one, which means another number."""
LONGEST_NUMBER = 40  # characters
EMPTY_LIST = "[]"  # typed where the default of a list is not empty
Described = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of the form.

    Attributes:
        key: its dotted key, which is its name in the form too.
        label: for people.
        form: text | list (one item a line) | number | switch | choice | toml.
        described: see `describe_settings`.
        value: what it holds, as text; "": the default.
        error: what is wrong with it.
        note: what else is to be said of it.
        locked: whether it cannot be changed here.
    """

    key: str
    label: str
    form: str
    described: Mapping[str, Any]
    value: str = ""
    error: str = ""
    note: str = ""
    locked: bool = False

    @property
    def help(self) -> str:
        """What it means, as sentences begin; without the symbol that papers have for it."""
        text = HELP.get(self.key) or re.sub(r"^[A-Za-z](?:: |, )", "", str(self.described["description"]))
        return f"{text[:1].upper()}{text[1:]}"

    @property
    def default(self) -> str:
        """Its default as text."""
        return format_setting(self.described["default"]).replace("\n", ", ")


@dataclass(frozen=True, slots=True)
class FormSection:
    """Fields that stand together, and whether they are shown at once."""

    name: str
    description: str
    fields: Sequence[FormField]

    @property
    def is_open(self) -> bool:
        """Whether one of the fields needs to be seen."""
        return any(field.error for field in self.fields)


def list_keys(described: Described) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the dotted key and the description of each setting."""
    for section in described:
        for key in section["keys"]:
            yield f"{section['name']}.{key['name']}".lstrip("."), key


def format_setting(value: Any) -> str:
    """Return a value of a campaign file as the text of a field; lists of texts have one item a line."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return "\n".join(value) or EMPTY_LIST
    if isinstance(value, list | Mapping):
        return _write_toml(value)
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


def show_values(described: Described, values: Mapping[str, Any], secrets: Collection[str] = ()) -> dict[str, str]:
    """Return the texts of all fields for the values of a file; what may be a secret is left out."""
    shown = {}
    for key, one in list_keys(described):
        section, _, name = key.rpartition(".")
        own = values.get(section, {}) if section else values
        text = format_setting(own.get(name)) if isinstance(own, Mapping) else ""
        empty = text == EMPTY_LIST and not one["default"]
        shown[key] = "" if key in secrets or empty else text
    return shown


def read_changes(
    described: Described, shown: Mapping[str, str], typed: Mapping[str, str], locked: Collection[str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what was changed in a form, as `CampaignFile.update` takes it, and what is wrong with values by key.

    Args:
        described: the settings.
        shown: the texts that the fields have for the file.
        typed: the texts that came back; one that is missing is empty.
        locked: dotted keys and sections that stay as they are.
    """
    changes: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for key, one in list_keys(described):
        text = normalize(typed.get(key, ""))
        if text == normalize(shown[key]) or is_locked(key, locked):
            continue
        section, _, name = key.rpartition(".")
        try:
            value = read_value(key, one, text) if text else None
        except ValueError as error:
            wrong[key] = str(error)
            continue
        if why := refuse_value(key, one, value):
            wrong[key] = why
            continue
        (changes.setdefault(section, {}) if section else changes)[name] = value
    return changes, wrong


def normalize(text: str) -> str:
    """Return a text as forms are compared: without blanks around, lines ended by line feeds."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def list_lines(text: str) -> list[str]:
    """Return the lines of a text that are not empty."""
    return [line.strip() for line in normalize(text).split("\n") if line.strip()]


def is_locked(key: str, locked: Collection[str]) -> bool:
    """Return whether a key, or its section as a whole, cannot be changed."""
    return key in locked or key.partition(".")[0] in locked or key in BY_HAND or key in CHOSEN


def find_form(key: str, described: Mapping[str, Any]) -> str:
    """Return the form of a field."""
    types = set(described["types"])
    if described["choices"]:
        return "choice"
    if types == {"boolean"}:
        return "switch"
    if types == {"array"} and described["schema"].get("items", {}).get("type") == "string":
        return "list"
    if types & {"array", "object"}:
        return "toml"
    return "number" if types <= {"integer", "number"} else "text"


def read_value(key: str, described: Mapping[str, Any], text: str) -> Any:
    """Return the value that a text means; whether it is allowed is another question.

    Raises:
        ValueError: it is none; the message says what to write.
    """
    form, types = find_form(key, described), described["types"]
    if CONTROL.search(text) or (form not in {"list", "toml"} and "\n" in text):
        raise ValueError("write one line, without control characters.")
    if form == "list":
        return [] if text == EMPTY_LIST else list_lines(text)
    if form == "switch":
        if text not in ("true", "false"):
            raise ValueError("choose yes or no.")
        return text == "true"
    if form == "toml":
        return _read_toml(text, plain="string" in types)
    if {"integer", "number"} & {*types}:
        return _read_number(text, types)
    return text


@cache
def list_prefixes() -> tuple[str, ...]:
    """Return how the names of variables begin that pages may set as a token: with a platform, or this program."""
    (names,) = (one["suggestions"] for key, one in list_keys(describe_settings()) if key == "source.platform")
    return (*(f"{name.upper().replace('-', '_')}_" for name in names), "SOCIALCRAWL_")


def refuse_value(key: str, described: Mapping[str, Any], value: Any) -> str:
    """Return why pages do not set a value, although a file may have it; "" where they do."""
    texts = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
    if key in BY_HAND:
        return "it is set in the file only: edit it by hand."
    if key in LOADED and any(":" in text for text in texts):
        return "code is named in the file only: edit it by hand."
    if key.endswith("_env") and any(not VARIABLE.fullmatch(text) for text in texts):
        return (
            "write the name of an environment variable, such as X_BEARER_TOKEN: capital letters, digits and _ only. "
            "What was typed was not kept, as it may be a secret."
        )
    if key == "source.token_env" and not all(text.startswith(list_prefixes()) for text in texts):
        return (
            f"pages name variables of platforms only: begin it with {', '.join(list_prefixes()[:-1])} or "
            f"{list_prefixes()[-1]}, or edit the file by hand. Otherwise, whoever uses these pages could send any "
            "variable of this server to a server of their choice."
        )
    is_path = key == "database" or '"format": "path"' in json.dumps(described["schema"])
    if key == "database" and any(":" in text or "=" in text for text in texts):
        return (
            "write the name of a file in the folder of the campaign file; edit the file by hand for a database on a "
            "server. What was typed was not kept, as it may hold a password."
        )
    if is_path and not all(map(_is_inside, texts)):
        return "write the name of a file in the folder of the campaign file; edit the file by hand for others."
    return ""


def make_fields(
    described: Described,
    values: Mapping[str, str],
    *,
    template: Collection[str],
    wrong: Mapping[str, str],
    notes: Mapping[str, str],
    locked: Collection[str],
) -> list[FormSection]:
    """Return the sections of the form: first what people need, then all else.

    Args:
        described: the settings.
        values: the text of each field.
        template: keys that are set in the template of the kind and platform.
        wrong: what is wrong, by key.
        notes: what else is to be said, by key.
        locked: see `read_changes`.
    """
    basic: dict[str, FormField] = {}
    others = []
    for section in described:
        fields = []
        for key, one in list_keys([section]):
            if key in CHOSEN:
                continue
            form, held = find_form(key, one), is_locked(key, locked)
            note = notes.get(key, "")
            field = FormField(key, name_field(key), form, one, values.get(key, ""), wrong.get(key, ""), note, held)
            is_basic = key in BASIC and (one["in_template"] or key in template)
            if is_basic and (key not in IF_IN_TEMPLATE or key in template):
                basic[key] = field
            else:
                fields.append(field)
        if fields:
            said = SECTIONS.get(section["name"]) or section["description"].split("; see")[0].rstrip(".")
            others.append(FormSection(section["name"] or "general", said, fields))
    return [FormSection("", "", [basic[key] for key in BASIC if key in basic]), *others]


def _read_number(text: str, types: Collection[str]) -> Any:
    plain = re.sub(r"[^\d.+-]", "", text) if GROUPED.fullmatch(text) else text if len(text) <= LONGEST_NUMBER else ""
    for read in (int, float) if "number" in types else (int,):
        try:
            return read(plain)
        except ValueError:
            continue
    if "string" in types:
        return text
    wanted = "a number, such as 20 or 0.5" if "number" in types else "a whole number, such as 300"
    raise ValueError(f"write {wanted}.")


def _read_toml(text: str, *, plain: bool) -> Any:
    """Return what a text means as a value of TOML; a single word may mean itself."""
    if plain and re.fullmatch(r"[\w-]+", text):
        return text
    try:
        found = tomllib.loads(f"value = {text}\n")
    except (tomllib.TOMLDecodeError, RecursionError):
        found = {}
    if [*found] != ["value"]:
        raise ValueError('write a value as TOML has it, such as { mentions = 1 } or ["mentions", "follows"].')
    return found["value"]


def _write_toml(value: Any) -> str:
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{json.dumps(key)} = {_write_toml(one)}" for key, one in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_write_toml, value))}]"
    return value.isoformat() if isinstance(value, date | time) else json.dumps(value, ensure_ascii=False)


def _is_inside(text: str) -> bool:
    """Return whether a path stays in its folder, whatever system reads it."""
    ways = PurePosixPath(text), PureWindowsPath(text)
    return not any(one.drive or one.root or ".." in one.parts for one in ways) and not text.startswith("~")
