"""What the command line says of a command before it runs: its function, its seeds, and the files that it reads."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import typer

from benchmarks.reproduce.catalog import Words
from socialcrawl.cli.main import app


@dataclass(frozen=True)
class ParsedCommand:
    """A command of socialcrawl, parsed and not run.

    Attributes:
        function: what runs it.
        seeds: the options that are seeds, with defaults, by name.
        inputs: the files and folders that it reads, as named.
        has_out: whether the words name its folder.
    """

    function: Callable[..., Any]
    seeds: dict[str, int]
    inputs: tuple[Path, ...]
    has_out: bool


def parse_command(words: Words) -> ParsedCommand:
    """Return what the command line says of a command.

    Args:
        words: without `socialcrawl`.

    Raises:
        ValueError: there is no such command. An option that does not exist is a usage error of typer's.
    """
    left, command = list(words), _load_commands()
    while commands := getattr(command, "commands", None):
        if not left or left[0] not in commands:
            raise ValueError(f"There is no such command: socialcrawl {' '.join(words)}.")
        command = commands[left.pop(0)]
    params = command.make_context(command.name or "", left).params
    assert command.callback is not None
    seeds = {name: value for name, value in params.items() if isinstance(value, int) and _is_seed(name)}
    inputs = [path for name, value in params.items() if name != "out" for path in _list_paths(value)]
    return ParsedCommand(command.callback, seeds, tuple(inputs), "--out" in words)


def compute_checksums(path: Path) -> dict[str, str]:
    """Return the SHA-256 of a file, or of all files in a folder, by path, in hexadecimal digits."""
    files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
    found = {}
    for file in files:
        with file.open("rb") as opened:
            found[str(file)] = hashlib.file_digest(opened, "sha256").hexdigest()
    return found


@cache
def _load_commands() -> Any:
    """Return the command line as typer builds it."""
    return typer.main.get_command(app)


def _is_seed(name: str) -> bool:
    return name == "seed" or name.endswith("_seed")


def _list_paths(value: Any) -> Iterator[Path]:
    if isinstance(value, Path):
        yield value
    elif isinstance(value, list | tuple):
        yield from (one for one in value if isinstance(one, Path))
