"""Arrays of numpy from files that people give: nothing is unpickled, and no more is unpacked than fits."""

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from socialcrawl.errors import PostsFileError, SettingsError
from socialcrawl.formats.lines import limit_unpacked, make_growth_error

BROKEN = (
    OSError,
    ValueError,
    EOFError,
    KeyError,
    TypeError,
    RecursionError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What damaged or forged arrays and JSON can raise."""


def open_mapped(path: Path) -> NDArray[Any]:
    """Return the array of a .npy file, which stays on the disk.

    Raises:
        SettingsError: it is none, or has another number of dimensions than one.
    """
    try:
        array = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))  # without the slower indexing of np.memmap
    except BROKEN as error:
        raise SettingsError(f"{path} cannot be read: {error}. Write the graph again.") from error
    if array.ndim != 1:
        raise SettingsError(f"{path} has {array.ndim} dimensions; give a plain array with one.")
    return array


@contextmanager
def open_archive(path: Path) -> Iterator[Mapping[str, NDArray[Any]]]:
    """Open the arrays of a .npz file; each is read when it is asked for.

    Raises:
        SettingsError: it is none, is damaged, or unpacks to more than it may.
    """
    try:
        with path.open("rb") as raw:
            with zipfile.ZipFile(raw) as packed:
                unpacked = sum(entry.file_size for entry in packed.infolist())
            if unpacked > limit_unpacked(path):
                raise SettingsError(str(make_growth_error(path, str(path))))
            raw.seek(0)
            with np.load(raw, allow_pickle=False) as file:  # np.load leaves a broken zip open
                yield file
    except (*BROKEN, PostsFileError) as error:
        raise SettingsError(f"{path} cannot be read as .npz: {error}. Write it with np.savez.") from error


def read_offsets(path: Path, *pairs: tuple[str, str]) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return the links of a web graph in a .npz: where the links of each page begin, int64[n + 1], and where they go.

    Args:
        path: the file.
        pairs: names that the two arrays may have, the first that are there count.

    Returns:
        None: the file has no such pair.

    Raises:
        SettingsError: the file cannot be read, or the arrays are no graph.
    """
    with open_archive(path) as arrays:
        names = next((pair for pair in pairs if {*pair} <= {*arrays}), None)
        if names is None:
            return None
        indptr, indices = (np.asarray(arrays[name], np.int64) for name in names)
    if indptr.ndim != 1 or indices.ndim != 1:
        raise SettingsError(f"{path}: {names[0]} and {names[1]} are plain arrays with one dimension; write them again.")
    size = len(indptr) - 1
    if size < 1 or indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
        raise SettingsError(f"{path}: {names[0]} do not index {names[1]}; write them again.")
    if len(indices) and not (indices.min() >= 0 and indices.max() < size):
        raise SettingsError(f"{path}: {names[1]} go to pages outside 0 to {size - 1}; write them again.")
    return indptr, indices
