"""The code that made a result: a checksum of the source that decides it.

A result is kept under a key. If the source were not part of the key, an edited estimator would show results of its
earlier code. Comments, docstrings and layout do not change results and are not part of it.
"""

import ast
import hashlib
import platform
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

PACKAGE = "socialcrawl"
ROOT = Path(__file__).parents[2]  # the folder that holds the package


def compute_code_checksum(*made: Any, apart: str | None = None) -> str:
    """Return a checksum of the source of functions, classes and objects: 16 hexadecimal digits.

    Of this program these are the modules that define them, or a class that they inherit from, and all that those
    import. Of your own code and of plug-ins it is likewise the modules that define them and what those import from the
    same package, or, outside an installed package, from the same folder. Of an installed package that names its
    version, as scikit-learn, it is the file that defines the class and that version.

    Args:
        made: functions, classes, or objects, whose classes count.
        apart: a package of this program whose modules do not count where others import them.
    """
    return _compute_checksum(frozenset(module for one in made for module in _find_modules(one)), apart)


def _find_modules(made: Any) -> Iterator[str]:
    """Yield the names of the modules that define a function, or a class and those that it inherits from."""
    owner = made if isinstance(made, type) or hasattr(made, "__code__") else type(made)
    yield from (one.__module__ for one in getattr(owner, "__mro__", (owner,)) if one.__module__ != "builtins")


@lru_cache(maxsize=256)
def _compute_checksum(modules: frozenset[str], apart: str | None) -> str:
    left, seen, total = sorted(modules), set(modules), hashlib.sha256()
    while left:
        more = {one for one in _read_source(left.pop())[1] if not (apart and _is_within(one, apart))} - seen
        left, seen = [*left, *more], seen | more
    for name in sorted(seen):
        total.update(f"{name} {_find_release(name)} {_read_source(name)[0]}\n".encode())
    return total.hexdigest()[:16]


@lru_cache(maxsize=1024)
def _read_source(name: str) -> tuple[str, frozenset[str]]:
    """Return a checksum of what a module does, and the modules of this program that it imports, wherever it does."""
    file, root = _find_file(name), _find_root(name)
    if file is None or file.suffix != ".py":  # none, or compiled
        return hashlib.sha256(file.read_bytes() if file else b"").hexdigest(), frozenset()
    tree, found = ast.parse(file.read_bytes()), set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _resolve_import(name, node, is_package=file.name == "__init__.py")
            found.update((base, *(f"{base}.{alias.name}".lstrip(".") for alias in node.names)))
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [one for one in node.body if not _is_text(one)]
    near = frozenset(
        one for one in found - {""} if root and _belongs_together(name, one, root) and _find_file(one, root)
    )
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), near


def _resolve_import(name: str, node: ast.ImportFrom, *, is_package: bool) -> str:
    """Return the full name of the module that `from ... import` in a module names."""
    if not node.level:
        return node.module or ""
    parts = name.split(".")
    above = parts[: len(parts) - node.level + is_package]
    return ".".join([*above, *([node.module] if node.module else [])])


def _belongs_together(name: str, other: str, root: Path) -> bool:
    """Return whether a module that `name` imports is code of the same author, which may be edited."""
    if _is_within(other, name.partition(".")[0]):
        return _is_ours(name) or not (_is_installed(root) and _find_release(name))
    return not (_is_ours(name) or _is_ours(other) or _is_installed(root) or _find_release(other))


def _is_installed(root: Path) -> bool:
    """Return whether a folder holds installed packages, or the standard library."""
    return bool({"site-packages", "dist-packages"} & {*root.parts}) or root == Path(ast.__file__).parent


def _find_root(name: str) -> Path | None:
    """Return the folder from which a module is imported; None where it has no file."""
    if _is_ours(name):
        return ROOT
    file = _find_file(name)
    return file and file.parents[name.count(".") + (file.name == "__init__.py")]


def _is_text(statement: ast.stmt) -> bool:
    """Return whether it is a text that stands alone, as a docstring does."""
    text = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(text, ast.Constant) and isinstance(text.value, str)


def _is_ours(name: str) -> bool:
    return _is_within(name, PACKAGE)


def _is_within(name: str, package: str) -> bool:
    return f"{name}.".startswith(f"{package}.")


def _find_file(name: str, root: Path | None = None) -> Path | None:
    """Return the file of a module, loaded or in the folder `root`; None where it has none, or is no module."""
    if not _is_ours(name):
        loaded = getattr(sys.modules.get(name), "__file__", None)
        if loaded and Path(loaded).is_file():
            return Path(loaded) if root is None or Path(loaded).is_relative_to(root) else None
        if root is None:
            return None
    place = (root or ROOT).joinpath(*name.split("."))
    return next((file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()), None)


def _find_release(name: str) -> str:
    """Return the version that the package of a module names; "" for ours, whose source is all there is to know."""
    return "" if _is_ours(name) else str(getattr(sys.modules.get(name.partition(".")[0]), "__version__", ""))


def read_versions(libraries: Iterable[str]) -> dict[str, str]:
    """Return the versions of Python and of libraries, on which results may depend, by name."""
    return {"Python": platform.python_version()} | {name: version(name) for name in libraries}
