"""What other packages add by entry points: kinds of campaigns and platforms."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from socialcrawl.errors import SettingsError
from socialcrawl.text.wording import explain_unknown


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
            SettingsError: no installed package adds it, it cannot be imported, or it has another name.
        """
        for entry in _find_entries(self.group):
            if entry.name == name:
                return self._load_entry(entry)
        unknown = explain_unknown(self.noun, name, self.list_names()).removesuffix(".")
        raise SettingsError(f"{unknown}, or install the package that adds it.")

    def load_added(self) -> Iterator[Any]:
        """Yield the objects that other packages add, in the order of their names, without those that are broken."""
        for name in self.list_names():
            if name not in self.built_in:
                with suppress(SettingsError):  # told to commands that name it; others do not need it
                    yield self.load(name)

    def _load_entry(self, entry: Any) -> Any:
        package = f"the package {entry.dist.name!r}" if entry.dist else "an installed package"
        where = f"The {self.noun} {entry.name!r} that {package} adds (entry point {entry.value!r} of {self.group})"
        try:
            found = entry.load()
        except Exception as error:  # whatever the import of another package raises
            cause = " ".join(f"{type(error).__name__}: {error}".split())
            raise SettingsError(f"{where} cannot be loaded: {cause}. Repair or uninstall that package.") from error
        name = getattr(getattr(found, "facts", None), "name", None)
        if name != entry.name:
            said = "has no facts" if name is None else f"calls itself {name!r} in its facts"
            raise SettingsError(f"{where} {said}: its entry point and its facts need the same name.")
        return found


@cache
def _find_entries(group: str) -> Iterable[Any]:
    return tuple(entry_points(group=group))
