"""The console on which people read: what platforms and users wrote is shown as it is, never read as markup."""

import sys

from rich.console import Console


def plain(*, unfolded: bool = False) -> Console:
    """A console on stdout without markup, emoji codes and guessed colours.

    Args:
        unfolded: where it is no terminal, lines are as long as they are, so that other programs can read them.
    """
    width = 100_000 if unfolded and not sys.stdout.isatty() else None
    return Console(markup=False, emoji=False, highlight=False, width=width)
