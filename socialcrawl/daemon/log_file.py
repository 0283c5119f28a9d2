"""A log file of bounded size: a daemon that nobody looks at may run for months."""

import os
from io import TextIOBase
from pathlib import Path

from socialcrawl.errors import SettingsError

MOST = 1_000_000  # bytes of a log file
MODE = 0o600  # a log names campaigns and accounts


class BoundedLogFile(TextIOBase):
    """A text file that others cannot read; when it is full, it is renamed to NAME.1, and a new one is begun.

    Args:
        path: the file, to whose end is written.
        most: bytes of it; NAME.1 has as many.

    Raises:
        SettingsError: it cannot be written.
    """

    def __init__(self, path: Path, most: int = MOST) -> None:
        self._path, self._most = path, most
        try:
            self._file = open_log(path)
        except OSError as error:
            raise SettingsError(f"The log file {path} cannot be written ({error.strerror}).") from error

    def write(self, text: str, /) -> int:
        """Write a text; return its length."""
        data = text.encode("utf-8", "backslashreplace")
        size = os.fstat(self._file).st_size
        if size and size + len(data) > self._most:
            os.close(self._file)
            self._path.replace(self._path.with_name(f"{self._path.name}.1"))
            self._file = open_log(self._path)
        os.write(self._file, data)
        return len(text)

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            os.close(self._file)
        super().close()


def open_log(path: Path) -> int:
    """Return the descriptor of a log file, to whose end is written; it is made if need be, for its owner only."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), MODE)
