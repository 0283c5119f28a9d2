r"""The console on which people read: what others wrote is shown as it is, never as markup, and steers no terminal.

Control characters become visible, as `\x1b`; see `socialcrawl.text.terminal`, which writes plain lines and data.
"""

import sys
from collections.abc import Callable, Iterable
from copy import copy
from io import StringIO
from typing import Any

from rich import console as rich_console
from rich import text as rich_text
from rich.measure import Measurement
from rich.segment import Segment
from rich.style import Style
from rich.table import Column, Table

from socialcrawl.text.terminal import escape_controls

NARROWEST = 12  # characters of a column whose cells may fold


class Text(rich_text.Text):
    """A text of rich whose control characters are escaped before it is laid out, so that columns stay aligned."""

    def __init__(self, text: str = "", style: str | Style = "", **more: Any) -> None:
        super().__init__(escape_controls(text), style, **more)


class AccountText(Text):
    """The name of an account in a table, which a page may make a link to what is known of the account.

    Attributes:
        account: the name as it is.
        account_id: the platform's own id; None: nobody knows.
    """

    def __init__(self, account: str, account_id: str | None = None) -> None:
        super().__init__(account)
        self.account, self.account_id = account, account_id


class Console(rich_console.Console):
    """A console of rich that sends no control characters but rich's own.

    Where a table does not fit, its last columns are left out and named below it: else rich would narrow its first one
    to nothing. The title of a table may be wider than its columns.

    Args:
        shows_all: whether tables keep all of their columns, however narrow these become.
    """

    def __init__(self, *, shows_all: bool = False, **more: Any) -> None:
        super().__init__(**more)
        self.shows_all = shows_all

    def render_str(self, text: str, **more: Any) -> rich_text.Text:
        """Return `text` as rich lays it out, escaped."""
        return super().render_str(escape_controls(text), **more)

    def render(
        self, renderable: rich_console.RenderableType, options: rich_console.ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the pieces of `renderable`; all but control codes of rich itself are escaped."""
        shown, left_out = renderable, list[str]()
        if isinstance(renderable, Table) and renderable.show_header and not self.shows_all:
            shown, left_out = _drop_columns(self, options or self.options, renderable)
            if shown.title is not None:  # rich would fold it to the width of the columns
                yield from super().render(Text(str(shown.title), style=shown.title_style or "table.title"), options)
                shown = copy(shown)
                shown.title = None
        for text, style, control in super().render(shown, options):
            yield Segment(text if control else escape_controls(text), style, control)
        if left_out:
            advice = "widen the terminal" if self.is_terminal else "set COLUMNS to a larger number"
            note = f"no room for: {', '.join(left_out)} ({advice})"
            yield from super().render(Text(note, style="dim"), options)


def _drop_columns(console: Console, options: rich_console.ConsoleOptions, table: Table) -> tuple[Table, list[str]]:
    """Return a table without the last columns that do not fit into the width, and their names."""
    padding = table.padding[1] + table.padding[3]
    room, kept = options.max_width + padding, 0
    for column in table.columns:
        room -= _measure_column(console, options, column) + padding
        if room < 0 and kept:
            break
        kept += 1
    if kept == len(table.columns):
        return table, []
    fitting = copy(table)
    fitting.columns = table.columns[:kept]
    return fitting, [text for column in table.columns[kept:] if (text := str(column.header).strip())]


def _measure_column(console: Console, options: rich_console.ConsoleOptions, column: Column) -> int:
    """Return how many characters a column needs at least."""
    wide = options.update(width=100_000)
    widest = max(Measurement.get(console, wide, cell).maximum for cell in (column.header, *column.cells))
    return widest if column.no_wrap else min(widest, NARROWEST)


def make_console(*, unfolded: bool = False, errors: bool = False) -> Console:
    """Return a console on stdout without markup, emoji codes and guessed colours.

    Args:
        unfolded: where it is no terminal, lines are as long as they are, so that other programs can read them.
        errors: on stderr instead.
    """
    width = 100_000 if unfolded and not sys.stdout.isatty() else None
    return Console(markup=False, emoji=False, highlight=False, width=width, stderr=errors, shows_all=unfolded)


def render_text(show: Callable[[Console], object], width: int = 100) -> str:
    """Return what `show` prints on a console of that width, as plain text without colours."""
    buffer = StringIO()
    console = Console(
        file=buffer,
        width=width,
        markup=False,
        emoji=False,
        highlight=False,
        color_system=None,
        force_jupyter=False,  # else a notebook shows it at once
    )
    show(console)
    return buffer.getvalue()
