r"""The console on which people read: what others wrote is shown as it is, never as markup, and steers no terminal.

Control characters become visible, as `\x1b`; see `socialcrawl.text.terminal`, which writes plain lines and data.
"""

import sys
from collections.abc import Callable, Iterable
from io import StringIO
from typing import Any

from rich import console as rich_console
from rich import text as rich_text
from rich.segment import Segment
from rich.style import Style

from socialcrawl.text.terminal import escape_controls


class Text(rich_text.Text):
    """A text of rich whose control characters are escaped before it is laid out, so that columns stay aligned."""

    def __init__(self, text: str = "", style: str | Style = "", **more: Any) -> None:
        super().__init__(escape_controls(text), style, **more)


class Console(rich_console.Console):
    """A console of rich that sends no control characters but rich's own."""

    def render_str(self, text: str, **more: Any) -> rich_text.Text:
        """Return `text` as rich lays it out, escaped."""
        return super().render_str(escape_controls(text), **more)

    def render(
        self, renderable: rich_console.RenderableType, options: rich_console.ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the pieces of `renderable`; all but control codes of rich itself are escaped."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else escape_controls(text), style, control)


def make_console(*, unfolded: bool = False, errors: bool = False) -> Console:
    """Return a console on stdout without markup, emoji codes and guessed colours.

    Args:
        unfolded: where it is no terminal, lines are as long as they are, so that other programs can read them.
        errors: on stderr instead.
    """
    width = 100_000 if unfolded and not sys.stdout.isatty() else None
    return Console(markup=False, emoji=False, highlight=False, width=width, stderr=errors)


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
