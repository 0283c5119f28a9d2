"""Options that take one of some names: help shows the names, and shells complete them.

A wrong name is refused where it is used, in the same words as in a campaign file.
"""

from collections.abc import Callable, Sequence
from typing import Any

PLUGINS: dict[str, str] = {}
"""The group of entry points that adds names, by the metavar of the built-in ones."""


def offer(names: str, group: str | None = None) -> dict[str, Any]:
    """Return the arguments of `typer.Option` for an option that takes one of `names`.

    Args:
        names: the built-in ones, as help shows them: "table|csv|json".
        group: of entry points by which other packages add names.
    """
    if group is not None:
        PLUGINS[names] = group
    return {"metavar": names, "autocompletion": _complete(lambda: list_choices(names))}


def list_choices(metavar: str) -> list[str]:
    """Return the names that an option takes: the built-in ones of its metavar, and those that other packages add."""
    from socialcrawl.system.plugins import PluginGroup  # noqa: PLC0415 - only options with names look for packages

    names = tuple(metavar.split("|"))
    return PluginGroup(PLUGINS[metavar], "name", names).list_names() if metavar in PLUGINS else list(names)


def offer_estimators() -> dict[str, Any]:
    """Return the arguments of `typer.Option` for an option that takes the name of an estimator."""
    return {"metavar": "ESTIMATOR", "autocompletion": _complete(_list_estimators)}


def _list_estimators() -> Sequence[str]:
    from socialcrawl.crawls.collect.estimators.registry import ESTIMATORS  # noqa: PLC0415 - imports NumPy

    return ESTIMATORS.list_names()


def _complete(list_names: Callable[[], Sequence[str]]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [name for name in list_names() if name.startswith(incomplete)]

    return complete
