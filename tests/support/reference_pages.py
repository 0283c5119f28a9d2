"""The pages of docs/reference that are made from the program: commands, campaign keys, metrics, Python, tables.

`make reference` writes them all.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer
from python_page import render_python
from schema_page import render_page as render_tables

from socialcrawl.campaign.settings_schema import list_schema_sections, make_schema
from socialcrawl.cli.commands.run import DONE, FAILED, INTERRUPTED, STOPPED, USAGE
from socialcrawl.cli.main import app
from socialcrawl.daemon.metrics import METRICS

FOLDER = Path(__file__).parents[2] / "docs/reference"
MADE = "<!-- Made by `make reference`. Do not edit: change {where}. -->"

COMMANDS = f"""# Commands

{MADE.format(where="the command's options in socialcrawl/cli")}

Every command explains itself with `-h` or `--help`. Every command takes `-v` (`--verbose`), which logs the activity of
libraries to standard error, without tokens. `socialcrawl --install-completion` makes the shell complete commands,
options and the names that they take.

## Exit codes

| code | meaning |
|---|---|
| {DONE} | done |
| {FAILED} | failed; the message says why |
| {USAGE} | wrong usage or a wrong campaign file |
| {STOPPED} | stopped by a budget, a platform's monthly cap or a full disk; run it again to go on |
| {INTERRUPTED} | interrupted by Ctrl-C or SIGTERM; everything received is stored |

Results go to standard output, messages and errors to standard error.
"""

KEYS = f"""# Campaign keys

{MADE.format(where="the settings in socialcrawl/campaign and socialcrawl/crawls")}

All keys of a [campaign file](campaigns.md), which explains them with examples. `socialcrawl check --schema` prints the
same as a JSON Schema: editors complete keys and mark mistakes with it.
"""

METRIC_HEAD = f"""# Metrics

{MADE.format(where="METRICS in socialcrawl/daemon/metrics.py")}

A [daemon](../how-to/daemon.md#metrics) with `--health HOST:PORT` serves these metrics at `/metrics` in Prometheus' text
format.

| metric | type | labels | is |
|---|---|---|---|"""


def _cell(text: str) -> str:
    """Return a text as a cell of a table; `*`, `_` and `<` are meant as they are, outside of code."""
    parts = " ".join(text.split()).replace("|", "\\|").split("`")
    parts[::2] = (re.sub(r"([*_<])", r"\\\1", part) for part in parts[::2])
    return "`".join(parts)


def render_commands() -> str:
    """Return the page of commands and exit codes, Markdown."""
    root = typer.main.get_command(app)
    commands = list(_list_commands(root, typer.Context(root, info_name="socialcrawl")))
    lines, shown = [COMMANDS], None
    for panel, context in commands:
        if panel != shown:
            lines += [f"\n**{panel}**\n", "| command | |", "|---|---|"]
            shown = panel
        name, summary = context.command_path, " ".join((context.command.help or "").split()).partition(". ")[0]
        lines.append(f"| [`{name}`](#{name.replace(' ', '-')}) | {_cell(summary.rstrip('.'))} |")
    lines.append("")
    for _, context in commands:
        lines += _render_command(context)
    return "\n".join(lines)


def _list_commands(group: Any, own: typer.Context, inside: str = "") -> Iterator[tuple[str, typer.Context]]:
    """Yield the panel and the context of each command of a group and of the groups in it."""
    for child in group.commands:
        _, command, _ = group.resolve_command(own, [child])
        panel, context = inside or str(command.rich_help_panel), typer.Context(command, info_name=child, parent=own)
        if hasattr(command, "commands"):
            yield from _list_commands(command, context, panel)
        elif not command.hidden:
            yield panel, context


def _render_command(context: typer.Context) -> Iterator[str]:
    command = context.command
    usage = command.get_usage(context).removeprefix("Usage: ")
    description = " ".join((command.help or "").split())
    yield from (f"## {context.command_path}", "", description, "", "```sh", usage, "```", "")
    rows = [(param, param.get_help_record(context)) for param in command.params if param.name != "verbose"]
    for kind in ("argument", "option"):
        shown = [record for param, record in rows if record and param.param_type_name == kind]
        if shown:
            yield from (f"| {kind} | |", "|---|---|")
            yield from (f"| {_cell(f'`{left}`')} | {_cell(right)} |" for left, right in shown)
            yield ""


def render_keys() -> str:
    """Return the page of all keys of campaign files, Markdown."""
    schema = make_schema()
    top, *sections = list_schema_sections(schema)
    lines = [KEYS, "## Top level", "", *_render_keys(top.keys, schema)]
    for section in sections:
        lines += [f"## `[{section.name}]`", "", section.description, ""]
        lines += _render_keys(section.keys, schema)
    return "\n".join(lines)


def _render_keys(fields: dict[str, Any], schema: dict[str, Any]) -> Iterator[str]:
    yield from ("| key | type | default | meaning |", "|---|---|---|---|")
    for name, field in fields.items():
        default = _write_value(field["default"]) if field.get("default") is not None else ""
        yield f"| `{name}` | {_cell(_name_type(field, schema))} | {default} | {_cell(field.get('description', ''))} |"
    yield ""


def _write_value(value: object) -> str:
    if isinstance(value, dict) and value:
        return "`{ " + ", ".join(f"{key} = {_write_value(one).strip('`')}" for key, one in value.items()) + " }`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return "`" + repr(value).replace("'", '"') + "`"


def _name_type(field: dict[str, Any], schema: dict[str, Any]) -> str:
    if "$ref" in field:
        return _name_type(schema["$defs"][field["$ref"].rpartition("/")[2]], schema)
    if "anyOf" in field:
        names = (_name_type(one, schema) for one in field["anyOf"] if one.get("type") != "null")
        return " or ".join(dict.fromkeys(names))
    if "enum" in field or "const" in field:
        return ", ".join(_write_value(one) for one in field.get("enum", [field.get("const")]))
    kind = field.get("type", "value")
    if kind == "array":
        return f"list of {_name_type(field.get('items', {}), schema)}"
    low, high = field.get("minimum"), field.get("maximum")
    high = None if high is None or high >= 1e9 else high  # a guard against overflow says nothing to readers
    above = field.get("exclusiveMinimum")
    bounds = [f"above {above:g}"] if above is not None else [f"at least {low:g}"] if low is not None else []
    bounds += [f"at most {high:g}"] if high is not None else []
    words = {"object": "table", "string": "text", "boolean": "true or false"}
    return " ".join([words.get(kind, kind), ", ".join(bounds)]).strip()


def render_metrics() -> str:
    """Return the page of a daemon's metrics, Markdown."""
    rows = (f"| `{one.name}` | {one.kind} | {', '.join(one.labels)} | {_cell(one.help)} |" for one in METRICS.values())
    return "\n".join([METRIC_HEAD, *rows, ""])


PAGES: dict[str, Callable[[], str]] = {
    "campaign-keys.md": render_keys,
    "commands.md": render_commands,
    "metrics.md": render_metrics,
    "python.md": render_python,
    "schema.md": render_tables,
}

if __name__ == "__main__":
    for file, render in PAGES.items():
        (FOLDER / file).write_text(render(), "utf-8")
