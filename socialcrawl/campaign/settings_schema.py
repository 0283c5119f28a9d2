"""The settings of campaign files as data: a JSON Schema for editors, and sections and keys for forms."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from socialcrawl.campaign.sections.access import READING_KEYS
from socialcrawl.campaign.settings import Settings
from socialcrawl.campaign.template_file import make_template_text
from socialcrawl.crawls.facts import BUILT_IN, KindFacts, find_kind_facts, list_added_facts, list_foreign_keys
from socialcrawl.platforms.base import Platform
from socialcrawl.platforms.registry import find_platform

BOUNDS = {
    "minimum": "minimum",
    "exclusiveMinimum": "above",
    "maximum": "maximum",
    "exclusiveMaximum": "below",
    "minLength": "min_length",
    "pattern": "pattern",
    "maxItems": "max_items",
}
"""What bounds the values of a key in a JSON Schema, and how it is called in the description of a key."""


class SchemaSection(NamedTuple):
    """A section of campaign files: its name ("" for the keys above all sections), and the schema of each key."""

    name: str
    description: str
    keys: Mapping[str, Mapping[str, Any]]


def make_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of campaign files: keys, their meaning and their values.

    Sections of kinds that other packages add are part of it.
    """
    schema = Settings.model_json_schema()
    for facts in list_added_facts():
        if facts.section is not None:
            within = f"#/properties/{facts.name}/$defs/{{model}}"
            schema["properties"][facts.name] = facts.section.model_json_schema(ref_template=within)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "A campaign of socialcrawl"}


def list_schema_sections(schema: Mapping[str, Any]) -> list[SchemaSection]:
    """Return the keys above all sections as one, and then the sections, in their order."""
    top: dict[str, Mapping[str, Any]] = {}
    sections = [SchemaSection("", "", top)]
    for name, field in schema["properties"].items():
        found = _resolve(field, schema)
        if "properties" in found:
            sections.append(SchemaSection(name, found.get("description", ""), found["properties"]))
        else:
            top[name] = field
    return sections


def describe_sections(kind: str, platform: str) -> list[dict[str, Any]]:
    """Return the sections and keys that have an effect in campaigns of a kind on a platform, as plain values of JSON.

    Raises:
        SettingsError: there is no such kind or platform.
    """
    facts, where, schema = find_kind_facts(kind), find_platform(platform), make_schema()
    shown = "" if where.template is None else make_template_text(Path("campaign.toml"), platform, kind)
    described = []
    for section in list_schema_sections(schema):
        if section.name in facts.idle or (section.name in _list_kinds() and section.name != kind):
            continue
        in_template = _find_template_keys(shown, section.name)
        keys = [
            {**_describe_key(name, field, schema), "in_template": name in in_template}
            for name, field in section.keys.items()
            if _has_effect(section.name, name, facts, where)
        ]
        described.append({"name": section.name, "description": section.description, "keys": keys})
    return described


def _list_kinds() -> set[str]:
    return {*BUILT_IN, *(facts.name for facts in list_added_facts())}


def _has_effect(section: str, key: str, facts: KindFacts, platform: Platform) -> bool:
    """Return whether a key can be set in a kind of campaign on a platform."""
    if section == "crawl" and key in list_foreign_keys(facts.name):
        return False
    if section == "source" and key in READING_KEYS and key not in ("read", *platform.reading_keys):
        return False
    return f"{section}.{key}" not in facts.unused


def _find_template_keys(text: str, section: str) -> set[str]:
    """Return the keys that a template has in a section, those in comments too."""
    head, *parts = re.split(r"^(?=#? ?\[\w+\])", text, flags=re.MULTILINE)
    own = [part for part in parts if re.match(rf"#? ?\[{re.escape(section)}\]", part)] if section else [head]
    return {key for part in own for key in re.findall(r"^(?:# )?(\w+) = ", part, re.MULTILINE)}


def _describe_key(name: str, field: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description of a key, made from its JSON Schema."""
    forms = [_resolve(form, schema) for form in field.get("anyOf", [field])]
    forms = [form for form in forms if form.get("type") != "null"]
    own = {key: value for key, value in field.items() if key not in ("title", "default", "description", "examples")}
    choices = [choice for form in forms if len(forms) == 1 for choice in form.get("enum", [])]
    bounds = {called: form[key] for form in forms for key, called in BOUNDS.items() if key in form}
    return {
        "name": name,
        "types": list(dict.fromkeys(_name_type(form) for form in forms)),
        "default": field.get("default"),
        "required": "default" not in field,
        "choices": choices,
        "suggestions": field.get("examples", field.get("items", {}).get("examples", [])),
        "bounds": bounds,
        "description": field.get("description", ""),
        "schema": _resolve_all(own, schema),
    }


def _name_type(form: Mapping[str, Any]) -> str:
    values = form.get("enum", [form.get("const")])
    return str(form.get("type", "string" if isinstance(values[0], str) else "object"))


def _resolve(field: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a part of a schema refers to, or the part itself."""
    if (reference := field.get("$ref")) is None:
        return field
    found: Any = schema
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return dict(found)


def _resolve_all(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return a part of a schema in which nothing refers to other parts."""
    if isinstance(value, Mapping):
        return {key: _resolve_all(one, schema) for key, one in _resolve(value, schema).items()}
    return [_resolve_all(one, schema) for one in value] if isinstance(value, list) else value
