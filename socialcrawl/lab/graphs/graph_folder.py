"""Known graphs on disk: a folder of `.npy` that is memory-mapped, or a `.npz`; and the file of nodes to start from.

A folder holds `indptr.npy, indices.npy, alpha.npy, beta.npy`, and `names.txt` (UTF-8, one name a line) where the nodes
have names. A folder that `write` wrote has a marker too, `graph.json`: such a folder is opened as it is, and a large
one without looking at the links; any other is checked. A `.npz` holds the same four arrays.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import overload

import numpy as np

from socialcrawl.errors import SettingsError
from socialcrawl.formats.documents import read_text
from socialcrawl.graph.known_graph import KnownGraph
from socialcrawl.lab.arrays import BROKEN, open_archive, open_mapped
from socialcrawl.lab.graphs.checks import check_graph, check_links
from socialcrawl.system.files import replace_folder

ARRAYS = ("indptr", "indices", "alpha", "beta")
MARKER, NAMES, VERSION = "graph.json", "names.txt", 1
LOOKED = 20_000_000  # links that are looked through in a tenth of a second; a larger graph is trusted
MAX_MARKER = 10_000  # bytes of the marker; it holds four values
NUMBER = r"[+-]?[0-9]{1,18}"
_OURS = {*(f"{name}.npy" for name in ARRAYS), MARKER, NAMES}


def read(path: Path | str) -> KnownGraph:
    """Return the graph of a folder of `.npy` (memory-mapped, so that a big one opens at once) or of a `.npz`.

    What `write` did not write goes through `check_graph`.

    Raises:
        SettingsError: there is no such file or folder, it is of another kind, lacks an array or is damaged, or the
            graph is not sound.
    """
    path = Path(path)
    if path.is_dir():
        return _read_folder(path)
    if path.suffix.lower() != ".npz":
        known = f"a folder with {', '.join(f'{name}.npy' for name in ARRAYS)}, or a .npz with the same arrays"
        raise SettingsError(f"{path} is {'no graph' if path.exists() else 'not there'}; give {known}.")
    if not path.is_file():
        raise SettingsError(f"There is no file {path}; give the path of a graph.")
    return _require_sound(path, _read_npz(path))


def write(graph: KnownGraph, folder: Path | str) -> None:
    """Write the graph as a folder that `read` opens at once: checked first, and complete or not there at all.

    It is written into a folder beside it, which is renamed at the end. A graph folder that is there already is replaced
    (between two renames, for a moment, there is none).

    Raises:
        SettingsError: the graph is not sound, a name holds a line break, the folder above is missing, or `folder`
            is there and holds anything but a graph.
    """
    folder = Path(folder).resolve()
    _check_place(folder)
    graph = check_graph(graph)
    part = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        part.mkdir()
        _fill(part, graph)
        replace_folder(part, folder)
    except OSError as error:
        raise SettingsError(f"{folder} cannot be written: {error}. Free space or give another place.") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def read_seeds(path: Path | str, graph: KnownGraph) -> list[int]:
    """Return the rows that a text file names, one a line, in the order given; a row named again counts once.

    Blank lines and lines that begin with # are skipped. Where the nodes have names, a file may give those instead: it
    does if any line is no whole number. A name may have @ before it, also so that a file of numbers is read as names.
    The case of letters counts only where names differ in nothing else.

    Raises:
        SettingsError: there is no such file, a line names no node of the graph or several, or none is left.
    """
    path = Path(path)
    if not path.is_file():
        raise SettingsError(f"There is no file {path}; give a text file of row numbers or names, one a line.")
    lines = ((number, line.strip()) for number, line in enumerate(_read_text(path, "utf-8-sig").split("\n"), 1))
    words = [(f"{path}, line {number}", word) for number, word in lines if word and not word.startswith("#")]
    if not words:
        raise SettingsError(f"{path} names no row; write at least one, a number or a name a line.")
    return find_rows(words, graph)


def find_rows(words: Sequence[tuple[str, str]], graph: KnownGraph) -> list[int]:
    """Return the rows that words name, as in a file of `read_seeds`; each comes with its place, for messages.

    Raises:
        SettingsError: a word names no node of the graph, or several.
    """
    if graph.names is None or all(re.fullmatch(NUMBER, word) for _, word in words):
        return list(dict.fromkeys(_find_row(place, word, graph.size) for place, word in words))
    return _find_names(words, graph.names)


def _find_row(place: str, word: str, size: int) -> int:
    if not re.fullmatch(NUMBER, word):
        raise SettingsError(
            f"{place}: {word[:60]!r} is not a row number; write one whole number per line. The nodes of this graph "
            f"have no names ({NAMES})."
        )
    if not 0 <= int(word) < size:
        raise SettingsError(f"{place}: row {int(word)} is outside the graph; its rows are 0 to {size - 1}.")
    return int(word)


def _find_names(words: Sequence[tuple[str, str]], names: Sequence[str]) -> list[int]:
    """Return the rows of the nodes that some words name."""
    wanted = {form for _, word in words for form in _list_forms(word)}
    found: dict[str, list[int]] = {}
    for row, name in enumerate(names):  # there may be millions
        for form in {name, name.lower()} & wanted:
            found.setdefault(form, []).append(row)
    seeds: dict[int, None] = {}
    for place, word in words:
        rows = next((found[form] for form in _list_forms(word) if form in found), [])
        exact = [row for row in rows if names[row] in (word, word.removeprefix("@"))] or rows
        if len(exact) != 1:
            wrong = f"{len(exact):,} nodes are called {word[:60]!r}" if exact else f"no node is called {word[:60]!r}"
            raise SettingsError(f"{place}: {wrong}; write names of nodes, or row numbers in all lines.")
        seeds[exact[0]] = None
    return list(seeds)


def _list_forms(word: str) -> list[str]:
    """Return what a node may be called whom a line names, best first."""
    bare = word.removeprefix("@")
    return [word, bare, word.lower(), bare.lower()]


class _FileLines(Sequence[str]):
    """The names in a file, read when the first one is asked for: they are many, and a crawl needs none."""

    def __init__(self, path: Path, size: int) -> None:
        self._path, self._size = path, size

    @cached_property
    def _lines(self) -> list[str]:
        lines = _read_text(self._path, "utf-8").removesuffix("\n").split("\n")
        if len(lines) != self._size:
            raise SettingsError(
                f"{self._path} has {len(lines):,} lines for {self._size:,} nodes; give one name a line."
            )
        return [line.removesuffix("\r") for line in lines]

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[str]: ...
    def __getitem__(self, row: int | slice) -> str | Sequence[str]:
        return self._lines[row]

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)


def _read_folder(folder: Path) -> KnownGraph:
    missing = [f"{name}.npy" for name in ARRAYS if not (folder / f"{name}.npy").is_file()]
    if missing:
        raise SettingsError(f"The folder {folder} lacks {', '.join(missing)}; give a folder that holds a graph.")
    indptr, indices, alpha, beta = (open_mapped(folder / f"{name}.npy") for name in ARRAYS)
    names = _FileLines(folder / NAMES, beta.size) if (folder / NAMES).is_file() else None
    graph = KnownGraph(indptr, indices, alpha, beta, names)
    if not (folder / MARKER).is_file():
        if graph.names is not None:
            list(graph.names)  # counts the lines
        return _require_sound(folder, graph)
    _check_marker(folder, graph)
    if graph.links <= LOOKED:
        try:
            check_links(graph)
        except SettingsError as error:
            raise SettingsError(f"{folder}: {error} Write the graph again.") from error
    return graph


def _read_npz(path: Path) -> KnownGraph:
    with open_archive(path) as file:
        missing = [name for name in ARRAYS if name not in file]
        arrays = [file[name] for name in ARRAYS] if not missing else []
    if missing:
        raise SettingsError(
            f"{path} lacks {', '.join(missing)}; a graph has {', '.join(ARRAYS)}: the rows of its out-links (CSR), "
            "a weight for each link, a value for each node (1 for all, where there are none)."
        )
    indptr, indices, alpha, beta = arrays
    return KnownGraph(indptr, indices, alpha, beta)


def _require_sound(path: Path, graph: KnownGraph) -> KnownGraph:
    try:
        return check_graph(graph)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error


def _check_marker(folder: Path, graph: KnownGraph) -> None:
    """Check that the arrays are the ones that were written: by number and type, in no time."""
    try:
        marker = json.loads(read_text(folder / MARKER, most=MAX_MARKER))
        version, nodes, links, named = (marker.get(key) for key in ("version", "nodes", "links", "names"))
        if type(nodes) is not int or type(links) is not int or not 0 < nodes < 2**62 or not 0 <= links < 2**62:
            raise ValueError("nodes and links are not numbers")
    except (*BROKEN, AttributeError) as error:
        raise SettingsError(f"{folder / MARKER} is damaged; remove it, and the folder is checked instead.") from error
    if version != VERSION:
        raise SettingsError(f"{folder} has the format {version}, this program knows {VERSION}; write the graph again.")
    arrays = [getattr(graph, name) for name in ARRAYS]
    types = [str(array.dtype) for array in arrays]
    known = types in (["int64", index, "float64", "float64"] for index in ("int32", "int64"))
    fits = known and tuple(len(array) for array in arrays) == (nodes + 1, links, links, nodes)
    fits = fits and graph.indptr[0] == 0 and graph.indptr[-1] == links
    if not fits or (named and graph.names is None):
        raise SettingsError(
            f"{folder} does not hold what its {MARKER} says; remove {MARKER}, and the folder is checked instead."
        )


def _check_place(folder: Path) -> None:
    if not folder.parent.is_dir():
        raise SettingsError(f"{folder}: the folder {folder.parent} does not exist; create it first.")
    if not folder.exists():
        return
    held = {entry.name for entry in folder.iterdir()} if folder.is_dir() else None
    if held is None or (held and not (MARKER in held and held <= _OURS)):
        raise SettingsError(f"{folder} is there and holds other things than a graph; give a new name.")


def _fill(folder: Path, graph: KnownGraph) -> None:
    for name in ARRAYS:
        np.save(folder / f"{name}.npy", getattr(graph, name))
    if graph.names is not None:
        _write_names(folder / NAMES, graph.names)
    marker = {"version": VERSION, "nodes": graph.size, "links": graph.links, "names": graph.names is not None}
    (folder / MARKER).write_text(json.dumps(marker) + "\n", encoding="utf-8")


def _write_names(path: Path, names: Sequence[str]) -> None:
    for row, name in enumerate(names):
        if "\n" in name or "\r" in name:
            raise SettingsError(
                f"The name of node {row}, {name[:60]!r}, holds a line break; names are saved one a line."
            )
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{name}\n" for name in names)


def _read_text(path: Path, encoding: str) -> str:
    try:
        with path.open(encoding=encoding, newline="\n") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read as UTF-8 text: {error}. Check the file.") from error
