"""Groups of commands: help lists them by panel, and they share a few options, `-h` and old names of options."""

from itertools import takewhile
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from socialcrawl.cli.choices import PLUGINS, list_choices
from socialcrawl.cli.old_spellings import replace_old_names
from socialcrawl.text.terminal import escape_controls

SETTINGS = {"help_option_names": ["-h", "--help"]}
PROGRESS = frozenset(
    {"audit", "backup", "demo", "export", "forget", "import", "retain", "run", "simulate", "train", "verify"}
)
"""The commands that show their progress, which `--quiet` hides."""
FILES = 5  # campaign files that an error names
VALUES = {"str": "TEXT", "path": "PATH", "int": "N", "int range": "N", "float": "NUMBER", "float range": "NUMBER"}
"""What help writes for a value, by its type."""


class CommandGroup(TyperGroup):
    """The commands of `socialcrawl`, or of a part of it such as `socialcrawl lab`."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the summary of each command, under the heading of its panel."""
        panels: dict[str, list[tuple[str, str]]] = {}
        width = max(map(len, self.commands))
        commands: dict[str, Any] = dict(self.commands)
        for name, command in commands.items():
            summary = command.get_short_help_str(limit=formatter.width - width)
            panels.setdefault(command.rich_help_panel or "Commands", []).append((name.ljust(width), summary))
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options before the name of a command."""
        own = list(takewhile(lambda word: word.startswith("-"), args))
        new = replace_old_names([], own, hint=not ctx.resilient_parsing)
        return super().parse_args(ctx, [*new, *args[len(own) :]])

    def invoke(self, ctx: Any) -> Any:
        """Run the command; where it lacks its campaign file, the error names those of this folder."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            if error.param is not None and error.param.name == "campaign" and not error.message:  # it is missing
                error.message = _name_campaign_files()
            raise

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command that `args` name, with its name and arguments; it has the shared options too."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is None or hasattr(command, "commands"):
            return name, command, rest
        _share_options(ctx, command)
        for one in command.params:
            _name_value(ctx, one)
        path = [*ctx.command_path.split()[len(ctx.find_root().command_path.split()) :], str(name)]
        return name, command, replace_old_names(path, rest, hint=not ctx.resilient_parsing)


def _name_campaign_files() -> str:
    """Return which campaign files this folder has, for a person who named none."""
    from socialcrawl.storage.database.filetypes import find_campaigns  # noqa: PLC0415

    names = [escape_controls(str(found.path)) for found in find_campaigns(Path())]
    if not names:
        return "There is no campaign file in this folder: write one with `socialcrawl init`."
    return f"Name a campaign file. In this folder: {', '.join(names[:FILES])}{', ...' if len(names) > FILES else ''}."


def _share_options(ctx: Any, command: Any) -> None:
    """Give a command the options that all share, so that they can stand before and after its name."""
    root: Any = ctx.find_root().command
    for option in root.params:
        fits = option.name == "verbose" or (option.name == "quiet" and command.name in PROGRESS)
        if fits and option not in command.params:
            command.params.append(option)


def _name_value(ctx: Any, one: Any) -> None:
    """Set what help writes for the value of an option or argument."""
    if one.metavar in PLUGINS:
        one.metavar = "|".join(list_choices(one.metavar))
    elif one.metavar is None and one.param_type_name == "argument":
        one.metavar = one.name.upper().rstrip("_")
    elif one.metavar is None and not one.is_flag:
        kind = one.display_type(ctx).strip("<>").removeprefix("list[").removesuffix("]").lower()
        one.metavar = VALUES.get(kind, kind)
