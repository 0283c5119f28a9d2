"""What other packages add by entry points, and classes that a person names as `module:Class`."""

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from traceback import walk_tb
from typing import Any

from socialcrawl.errors import SettingsError
from socialcrawl.text.wording import explain_unknown, suggest_nearest

_LOADED = set[str]()  # the top modules of loaded plug-ins
PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class InstalledPlugin:
    """An entry point of a group, as it is installed.

    Attributes:
        name: its name, by which campaign files call it.
        value: the object that it names, as `package.module:object`.
        package: the distribution that adds it; "" where none is known.
        version: that of the distribution; "" likewise.
        problem: why it cannot be used, as a sentence; "": it can.
    """

    name: str
    value: str
    package: str
    version: str
    problem: str = ""


def find_no_fault(_name: str, _found: Any) -> str:
    """Return "": any object will do."""
    return ""


def make_facts_check(kind: type[Any]) -> Callable[[str, Any], str]:
    """Return what finds the fault of an object that needs `facts` of this type, with the name of its entry point."""

    def find_fault(name: str, found: Any) -> str:
        if isinstance(found, type):
            return "is a class: the entry point needs to name an object of it, which its module makes"
        facts = getattr(found, "facts", None)
        if not isinstance(facts, kind):
            return f"has no facts: it needs an attribute `facts`, a {kind.__name__}"
        if facts.name != name:
            return f"calls itself {facts.name!r} in its facts: its entry point and its facts need the same name"
        return ""

    return find_fault


def find_call_fault(made: type[Any], method: str, arguments: Sequence[str], *, needed: bool) -> str:
    """Return what is wrong with a method of a class that is called with these arguments by position; "": nothing."""
    found = getattr(made, method, None)
    if not callable(found):
        return f"has no method {method}({', '.join(arguments)})" if needed or found is not None else ""
    try:
        inspect.signature(found).bind(made, *arguments)
    except (TypeError, ValueError) as error:
        return f"has a method {method} that cannot be called as {method}({', '.join(arguments)}): {error}"
    return ""


@dataclass(frozen=True, slots=True)
class PluginGroup:
    """The entry points of one group, beside the names that come with this package.

    Attributes:
        group: the group of entry points, as `socialcrawl.platforms`.
        noun: what one of them is called in messages.
        built_in: the names that come with this package.
        find_fault: returns what is wrong with an object of some name, as a predicate ("has no facts"); "": nothing.
        by_path: whether a class can also be named as `module:Class`, without an entry point.
        earlier: the name of the group in an earlier version; its entry points still count.
    """

    group: str
    noun: str
    built_in: tuple[str, ...]
    find_fault: Callable[[str, Any], str] = find_no_fault
    by_path: bool = False
    earlier: str = ""

    def list_names(self) -> list[str]:
        """Return all names, the built-in ones first, the others in order."""
        return list(dict.fromkeys([*self.built_in, *sorted(entry.name for entry in self._find_entries())]))

    def is_added(self, name: str) -> bool:
        """Return whether another package adds `name`, or it is a path that is allowed here. Imports nothing."""
        if self.by_path and PATH.fullmatch(name):
            return True
        return name not in self.built_in and any(entry.name == name for entry in self._find_entries())

    def describe_package(self, name: str) -> str:
        """Return the package and version, as "nearest 0.1", that adds an object by its name or path; "" if unknown."""
        found = (entry for entry in self._find_entries() if name in (entry.name, entry.value) and entry.dist)
        return next((f"{entry.dist.name} {entry.dist.version}" for entry in found), "")

    def load(self, name: str) -> Any:
        """Return the object that another package adds as `name`, or that is at the path `name`. Imports its module.

        Raises:
            SettingsError: no installed package adds it, several do, it cannot be imported, or it is of a wrong kind.
        """
        if self.by_path and PATH.fullmatch(name):
            return self._import_entry(name, f"The {self.noun} {name!r}", "", _import_path, name)
        found = [entry for entry in self._find_entries() if entry.name == name]
        if not found:
            raise SettingsError(self.explain_unknown(name))
        if len(found) > 1:
            packages = " and ".join(_name_package(entry) for entry in found)
            raise SettingsError(f"The {self.noun} {name!r} is added by {packages}. Uninstall all but one of them.")
        return self._load_entry(found[0])

    def explain_unknown(self, name: str) -> str:
        """Return the message about a name that nothing has, with the nearest one that something has."""
        unknown = explain_unknown(self.noun, name, self.list_names()).removesuffix(".")
        path = ", name a class as 'module:Class'" if self.by_path else ""
        return f"{unknown}{path}, or install the package that adds it."

    def load_added(self) -> Iterator[Any]:
        """Yield the objects that other packages add, in the order of their names, without those that are broken."""
        for name in self.list_names():
            if name not in self.built_in:
                with suppress(SettingsError):  # told to commands that name it; others do not need it
                    yield self.load(name)

    def list_installed(self, load: Callable[[str], Any] | None = None) -> list[InstalledPlugin]:
        """Return what other packages add, in the order of names, each tried by `load`, or else by the method of it."""
        entries = sorted(self._find_entries(), key=lambda one: (one.name, one.value))
        return [self._try_entry(entry, load or self.load) for entry in entries]

    def _try_entry(self, entry: Any, load: Callable[[str], Any]) -> InstalledPlugin:
        problem = ""
        if entry.name in self.built_in:
            problem = f"The name {entry.name!r} belongs to socialcrawl: the package needs to choose another one."
        else:
            try:
                load(entry.name)
            except SettingsError as error:
                problem = str(error)
        package, version = (entry.dist.name, entry.dist.version) if entry.dist else ("", "")
        return InstalledPlugin(entry.name, entry.value, package, version, problem)

    def _find_entries(self) -> Iterable[Any]:
        return (*_find_entries(self.group), *(_find_entries(self.earlier) if self.earlier else ()))

    def _load_entry(self, entry: Any) -> Any:
        where = (
            f"The {self.noun} {entry.name!r} that {_name_package(entry)} adds (entry point {entry.value!r} of "
            f"{entry.group})"
        )
        return self._import_entry(entry.name, where, " Repair or uninstall that package.", entry.load)

    def _import_entry(self, name: str, where: str, then: str, load: Callable[..., Any], *given: str) -> Any:
        try:
            found = load(*given)
        except Exception as error:  # whatever the import of another package raises
            said = describe_error(error)
            raise SettingsError(f"{where} cannot be loaded: {said}{'' if said[-1:] == '?' else '.'}{then}") from error
        if fault := self.find_fault(name, found):
            raise SettingsError(f"{where} {fault}.")
        home = found.__module__ if isinstance(found, type) else type(found).__module__
        _LOADED.add(home.partition(".")[0])
        return found


def describe_error(error: BaseException) -> str:
    """Return the kind and the message of an error in one line, without the full stop at its end."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}".rstrip(":. ")


def describe_place(error: BaseException, module: str) -> str:
    """Return where code of the package of a module led to an error, as " (FILE, line 7)"; "": nowhere in it."""
    home = module.partition(".")[0]
    for frame, line in reversed([*walk_tb(error.__traceback__)]):
        if home and str(frame.f_globals.get("__name__", "")).partition(".")[0] == home:
            return f" ({Path(frame.f_code.co_filename).name}, line {line})"
    return ""


def explain_failure(error: BaseException) -> str:
    """Return a sentence about an error that code of a loaded plug-in raised, or that it led to; "" of other errors."""
    for frame, line in reversed([*walk_tb(error.__traceback__)]):
        home = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if home in _LOADED - {"socialcrawl"}:
            file = Path(frame.f_code.co_filename).name
            return f"The plug-in {home!r} failed: {describe_error(error)} ({file}, line {line}). Tell its authors."
    return ""


def _name_package(entry: Any) -> str:
    return f"the package {entry.dist.name!r}" if entry.dist else "an installed package"


def _import_path(path: str) -> Any:
    """Return the object at `module:name`. The working folder is searched last, and from then on, as by `python -m`."""
    if (here := os.getcwd()) not in sys.path and "" not in sys.path:  # noqa: PTH109 - as sys.path has it
        sys.path.append(here)
    place, _, name = path.partition(":")
    try:
        module = import_module(place)
    except ModuleNotFoundError as error:
        if error.name != place.partition(".")[0]:
            raise
        raise ModuleNotFoundError(
            f"no installed package and no file in the working folder ({here}) is called {error.name!r}", name=error.name
        ) from error
    if not hasattr(module, name):
        raise AttributeError(f"module {place!r} has no attribute {name!r}.{suggest_nearest(name, vars(module))}")
    return getattr(module, name)


@cache
def _find_entries(group: str) -> Iterable[Any]:
    return tuple(entry_points(group=group))
