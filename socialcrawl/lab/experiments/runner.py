"""What all commands of the laboratory do around their work: a folder for what is found, a bar while it is made."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EACCES
from math import isnan
from pathlib import Path

from rich.progress import Progress

from socialcrawl.cli.render.console import plain
from socialcrawl.errors import SettingsError


def ready(out: Path, *inside: str) -> None:
    """Make the folder `out`, and those `inside` it, before the time is spent that what goes there takes.

    Raises:
        SettingsError: there can be no such folder, or nothing can be written into it.
    """
    for folder in (out, *(out / name for name in inside)):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not os.access(folder, os.W_OK | os.X_OK):
                raise PermissionError(EACCES, os.strerror(EACCES), str(folder))
        except OSError as error:
            why = f"{error.strerror}: {error.filename}"
            raise SettingsError(
                f"--out {out} cannot be a folder ({why}): name a folder that can be written."
            ) from error


def with_half(mean: float, half: float, form: str) -> str:
    """Return a mean as text with half of its 95 % interval, where it has one (NaN: it has none)."""
    return f"{mean:{form}}" + ("" if isnan(half) else f" ± {half:{form}}")


@contextmanager
def watching(title: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on the terminal that is told (done, total), and goes away at the end."""
    with Progress(console=plain(errors=True), transient=True) as progress:
        task = progress.add_task(title, total=None)

        def watch(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        yield watch
