"""What other packages add by entry points: kinds of campaigns and platforms."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from socialcrawl.errors import SettingsError


@dataclass(frozen=True, slots=True)
class PluginGroup:
    """The entry points of one group, beside the names that come with this package.

    Attributes:
        group: the group of entry points, as `socialcrawl.platforms`.
        noun: what one of them is called in messages.
        built_in: the names that come with this package.
    """

    group: str
    noun: str
    built_in: tuple[str, ...]

    def list_names(self) -> list[str]:
        """Return all names, the built-in ones first, the others in order."""
        return list(dict.fromkeys([*self.built_in, *sorted(entry.name for entry in _find_entries(self.group))]))

    def load(self, name: str) -> Any:
        """Return the object that another package adds as `name`.

        Raises:
            SettingsError: no installed package adds it.
        """
        for entry in _find_entries(self.group):
            if entry.name == name:
                return entry.load()
        known = ", ".join(self.list_names())
        raise SettingsError(
            f"Unknown {self.noun} {name!r}. Choose one of: {known}, or install the package that adds it."
        )


@cache
def _find_entries(group: str) -> Iterable[Any]:
    return tuple(entry_points(group=group))
