"""A campaign file to begin with, every setting explained: `socialcrawl init` writes it, and so do Python programs."""

import json
import re
from pathlib import Path
from typing import Any

from socialcrawl.campaign.keywords import AS_OPTIONS, check_keywords
from socialcrawl.campaign.sections.values import Section
from socialcrawl.crawls.facts import BUILT_IN, DEFAULT, KindFacts, find_kind_facts
from socialcrawl.errors import SettingsError
from socialcrawl.platforms.base import Template
from socialcrawl.platforms.facts import BUILT_IN as PLATFORMS
from socialcrawl.platforms.facts import DEFAULT as DEFAULT_PLATFORM
from socialcrawl.platforms.facts import find_platform_facts
from socialcrawl.platforms.registry import find_platform
from socialcrawl.system.files import find_folder

OF_KINDS = ("crawl", *BUILT_IN)
"""Sections of the templates that are for campaigns of one kind."""
OWN = """{section}[crawl]
steps = 30                      # accounts to read after the seeds
refresh_rate = 1                # accounts picked together
"""
"""What a campaign of a kind without a file in the folder config has instead of these sections."""


def write_campaign_file(
    path: Path, keywords: list[str], platform: str = DEFAULT_PLATFORM.name, kind: str = DEFAULT.name
) -> str:
    """Return what is to be done next; a campaign file is written to `path`, about `keywords`, on a platform, of a kind.

    Raises:
        SettingsError: the file exists already, or its folder does not, or there is no such platform or kind, or none
            that has keywords; or a keyword cannot be meant.
    """
    text = make_template_text(path, platform, kind)
    template, dataset = _find_template(platform), "topic" in find_kind_facts(kind).idle
    if dataset and keywords:
        raise SettingsError("A campaign that refreshes a dataset has no topic: remove the keywords.")
    check_keywords(keywords, AS_OPTIONS)
    listed = ", ".join(_quote_word(word) for word in keywords)
    if keywords:
        text = re.sub(r"^keywords = \[.*?\]", lambda _: f"keywords = [{listed}]", text, count=1, flags=re.MULTILINE)
    write_new_file(path, text)
    if dataset:
        return f"{template.then_of_dataset}, bring the dataset: socialcrawl import FILES --as dataset --db {path}"
    return template.then


def write_new_file(path: Path, text: str) -> None:
    """Write a campaign file that is not there yet.

    Raises:
        SettingsError: it is there already, or cannot be written.
    """
    try:
        encoded = text.encode()
        with path.open("xb") as file:
            file.write(encoded)
    except FileExistsError as error:
        raise SettingsError(f"{path} already exists and was not overwritten. Choose another file name.") from error
    except FileNotFoundError as error:
        raise SettingsError(f"The folder {path.parent} does not exist: make it first.") from error
    except OSError as error:
        raise SettingsError(f"{path} cannot be written ({error.strerror}): name another file.") from error
    except UnicodeEncodeError as error:
        raise SettingsError("A keyword is not valid text: type it again.") from error


def make_template_text(path: Path, platform: str, kind: str) -> str:
    """Return the text of a campaign file called `path`, with the examples of the template as keywords.

    Raises:
        SettingsError: there is no such platform or kind, or no template.
    """
    template, facts = _find_template(platform), find_kind_facts(kind)
    text = (find_folder("config") / template.file).read_text("utf-8")
    if facts is not DEFAULT:
        reading = facts.reading if find_platform(platform).roles.match else ""
        text = _adapt_reading(_adapt_to_kind(text, facts, template), reading)
        text = _leave_out_others(_leave_out_unused(text, facts), find_platform_facts(platform).title)
    if "topic" in facts.idle:
        text = _adapt_to_dataset(text, template)
    name = re.sub(r"[^\w.-]+", "-", path.stem).strip("-") or "campaign"
    text = text.replace('name = "campaign"', f"name = {_quote_word(name)}", 1)
    return text.replace('database = "campaign.db"', f"database = {_quote_word(name + '.db')}", 1)


def _find_template(platform: str) -> Template:
    """Return the template of a platform.

    Raises:
        SettingsError: there is no such platform, or it has none.
    """
    template = find_platform(platform).template
    if template is None:
        raise SettingsError(f"There is no template for {platform!r}: write the campaign file by hand.")
    return template


def _adapt_to_kind(text: str, facts: KindFacts, template: Template) -> str:
    """Return a template for campaigns of another kind: its own sections in place of those that it has not."""
    lacking = (*facts.idle, *OF_KINDS)
    parts = re.split(r"^(?=#? ?\[\w+\])", text, flags=re.MULTILINE)
    head, *sections = (
        part for part in parts if (found := re.match(r"#? ?\[(\w+)\]", part)) is None or found[1] not in lacking
    )
    head = re.sub(r"^# kind = .*\n", "", head, flags=re.MULTILINE)
    head = re.sub(r"^(name = .*\n)", rf'\1kind = "{facts.name}"\n', head, count=1, flags=re.MULTILINE)
    file = find_folder("config") / f"kind-{facts.name}.toml"
    own = file.read_text("utf-8") if file.exists() else OWN.format(section=_format_section(facts))
    if facts.section is not None and "from_" in facts.section.model_fields:  # its own span of time is the topic's
        sections = [re.sub(r"^# (from|until) = .*\n", "", part, flags=re.MULTILINE) for part in sections]
        if template.sliced:
            words = re.compile(r"^keywords = .*\n(# also .*\n)?", re.MULTILINE)
            sections = [words.sub(f"{template.sliced}\n", part) for part in sections]
    place = next((i for i, part in enumerate(sections) if part.startswith("[budget]")), len(sections))
    if place and not sections[place - 1].endswith("\n"):
        sections[place - 1] += "\n"
    return "".join([head, *sections[:place], own + "\n", *sections[place:]])


def _adapt_reading(text: str, reading: str) -> str:
    """Return a template with one line on how accounts are read, or none, in place of the lines under [source]."""
    line = re.compile(r"^# read = .*\n(?: +# .*\n)*(?:# full_text = .*\n)?", re.MULTILINE)
    head, source, rest = text.partition("[source]\n")
    return head + source + line.sub(lambda _: reading and f"{reading}\n", rest, count=1)


def _leave_out_others(text: str, title: str) -> str:
    """Return a template without the keys in comments that are said to be those of other platforms ("# X: ...")."""
    titles = "|".join(re.escape(one.title) for one in PLATFORMS.values())
    line = re.compile(rf"^# \w+ = .*# ((?:(?:{titles})(?:, )?)+): .*\n", re.MULTILINE)
    return line.sub(lambda found: found[0] if title in found[1].split(", ") else "", text)


def _leave_out_unused(text: str, facts: KindFacts) -> str:
    """Return a template without the keys that have no effect in a kind."""
    for key in facts.unused:
        section, _, name = key.partition(".")
        text = re.sub(rf"(^\[{section}\](?:.*\n(?!\[))*?)(?:# )?{name} = .*\n", r"\1", text, flags=re.MULTILINE)
    return text


def _format_section(facts: KindFacts) -> str:
    """Return the section of a kind, with its keys and their defaults as comments; "" where it has none."""
    if facts.section is None:
        return ""
    usual: Section = facts.section()
    lines = [f"[{facts.name}]"]
    for name, value in usual.model_dump(mode="json").items():
        field = type(usual).model_fields[name]
        given = "" if value is None or isinstance(value, dict) else _quote_word(value)
        line = f"# {field.alias or name} = {given}"
        lines.append(f"{line:<31} # {field.description}" if field.description else line)
    return "\n".join(lines) + "\n\n"


def _adapt_to_dataset(text: str, template: Template) -> str:
    """Return a template whose accounts a dataset names: stored answers are not reused, hosts are the dataset's."""
    text = re.sub(r"^reuse_hours = .*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"^(hosts = .*?# ).*", lambda found: found[1] + template.hosts, text, flags=re.MULTILINE)


def _quote_word(word: Any) -> str:
    return json.dumps(word, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML writes text as JSON does
