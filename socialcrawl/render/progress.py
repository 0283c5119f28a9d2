"""Show how far a long command has come: one line on stderr while that is a terminal, removed when the command ends.

Commands use it as `with show_progress("reading", unit="posts") as watch:` and report `watch("storing", 12_000)`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TimeElapsedColumn
from rich.table import Column

from socialcrawl.render.console import Text, make_console
from socialcrawl.text.terminal import is_quiet, write_error

MANY = 100_000  # items between two lines where stderr is no terminal
DRAWN = 10  # times a second
BYTES = "MB"  # the unit of what is counted in bytes


class Watch(Protocol):
    """What a command calls to report how far it has come. A call is cheap, but not made for every row."""

    def __call__(self, what: str, done: int = 0, total: int | None = None) -> None:
        """Report the current activity, how many items are done, and of how many, where that is known."""


@contextmanager
def show_progress(
    what: str, *, unit: str = "", lines: bool = False, size: Callable[[], tuple[int, int | None]] | None = None
) -> Iterator[Watch]:
    """Show how far a command has come, until the end of the `with` block; nothing with `--quiet`.

    Args:
        what: the first activity.
        unit: what is counted: "posts", or BYTES.
        lines: write a line to stderr every 100,000 items where stderr is no terminal; else nothing is written there.
        size: called each time the line is drawn, for work that reports nothing: items done, and of how many.

    Yields:
        what the command calls to report its progress.
    """
    console = make_console(errors=True)
    if is_quiet():
        yield _ignore
        return
    if not console.file.isatty() or console.is_dumb_terminal:
        yield _ProgressLines(unit) if lines else _ignore
        return
    columns = (
        SpinnerColumn(),
        _What(),
        _Bar(bar_width=20),
        _Count(unit),
        TimeElapsedColumn(),
    )
    # What is written to stderr meanwhile goes above the line. Stdout is for data, and stays as it is.
    progress = _Polled(*columns, console=console, transient=True, refresh_per_second=DRAWN, redirect_stdout=False)
    progress.size = size
    task = progress.add_task(what, total=None)
    with progress:

        def watch(what: str, done: int = 0, total: int | None = None) -> None:
            progress.update(task, description=what, completed=done, total=total)

        yield watch


def _ignore(what: str, done: int = 0, total: int | None = None) -> None:
    """Show nothing."""


class _ProgressLines:
    """A line every 100,000 items; a slow machine writes the same lines."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._last = ("", 0)

    def __call__(self, what: str, done: int = 0, total: int | None = None) -> None:
        now = what, done // MANY
        if now[1] and now != self._last:
            write_error(f"{what}: {done:,} {self._unit}")
        self._last = now


class _Polled(Progress):
    """Progress of work that reports nothing: `size` is called each time the line is drawn."""

    size: Callable[[], tuple[int, int | None]] | None = None

    def get_renderables(self) -> Iterator[RenderableType]:
        """Yield the line."""
        if self.size is not None:
            for task in self.tasks:
                task.completed, task.total = self.size()
        yield from super().get_renderables()


class _What(ProgressColumn):
    """The current activity, escaped before it is laid out."""

    def __init__(self) -> None:
        super().__init__(Column(no_wrap=True, overflow="ellipsis"))

    def render(self, task: Task) -> Text:
        """Return the description of a task."""
        return Text(task.description)


class _Bar(BarColumn):
    """A bar where the total is known."""

    def render(self, task: Task) -> RenderableType:  # type: ignore[override]
        """Return the bar of a task."""
        return super().render(task) if task.total else Text()


class _Count(ProgressColumn):
    """The items done: "12,000 posts", "2 of 5 folds", "1.5 of 20.0 MB"."""

    def __init__(self, unit: str) -> None:
        super().__init__(Column(no_wrap=True))
        self._unit = unit

    def render(self, task: Task) -> Text:
        """Return the count of a task."""
        if not task.completed and not task.total:
            return Text()
        parts = [task.completed, *([task.total] if task.total else [])]
        counted = [f"{part / 1e6:,.1f}" if self._unit == BYTES else f"{part:,.0f}" for part in parts]
        return Text(f"{' of '.join(counted)} {self._unit}")
