"""Labels by hand, in a CSV: accounts (account, on_topic) or texts (text, on_topic), with commas, semicolons or tabs.

`on_topic` is yes or no, in any of the words below. A spreadsheet's sheet will do: the order of columns does not count,
nor do other columns, and rows whose label is still empty are left out.
"""

import csv
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

from socialcrawl.errors import SettingsError
from socialcrawl.formats.documents import read_bytes

YES = frozenset({"1", "yes", "y", "true", "t", "on", "x"})
NO = frozenset({"0", "no", "n", "false", "f", "off"})
LABEL = ("on_topic", "on topic", "label")
ACCOUNT = ("account", "username", "handle", "name", "id", "url")
TEXT = ("text", "post")
BETWEEN = (",", ";", "\t")
FEW = 3  # bad lines that a message shows
LONGEST = 10_000_000  # characters of a cell


def read_account_labels(path: Path) -> dict[str, bool]:
    """Return whether accounts are on topic, by name, id or address as the file first writes them, each once.

    Args:
        path: a CSV with a column account (or username, handle, name, id, url) and a column on_topic (or label).

    Raises:
        SettingsError: the file cannot be read, lacks a column, or has a line that is no label or contradicts another.
    """
    found: dict[str, tuple[str, bool]] = {}
    for line, name, on in _read_rows(path, ACCOUNT):
        key = name if "://" in name else name.removeprefix("@").casefold()
        if found.setdefault(key, (name, on))[1] != on:
            raise SettingsError(f"{path}, line {line}: {name} is both on topic and off it: leave one of the lines.")
    return dict(found.values())


def read_text_labels(path: Path) -> list[tuple[str, bool]]:
    """Return the texts, and whether each is on topic, in the order of the file.

    Args:
        path: a CSV with a column text (or post) and a column on_topic (or label).

    Raises:
        SettingsError: the file cannot be read, lacks a column, or has a line that is no label.
    """
    return [(text, on) for _, text, on in _read_rows(path, TEXT)]


def _read_rows(path: Path, wanted: tuple[str, ...]) -> Iterator[tuple[int, str, bool]]:
    """Return (line, what is labelled, label) of the rows that have a label."""
    lines = read_cells(path)
    bad = []
    named, label = _find_columns(path, lines[0][1] if lines else [], wanted)
    for number, cells in lines[1:]:
        if len(cells) <= max(named, label) or not cells[label].strip() or not cells[named].strip():
            continue
        said = cells[label].strip().lower()
        if said in YES or said in NO:
            yield number, cells[named].strip(), said in YES
        else:
            bad.append(f"line {number} says {cells[label].strip()[:30]!r}")
    if bad:
        more = f" and {len(bad) - FEW:,} more" if len(bad) > FEW else ""
        raise SettingsError(f"{path}: {', '.join(bad[:FEW])}{more}: write yes or no, or 1 or 0.")


def read_cells(path: Path) -> list[tuple[int, list[str]]]:
    """Return (line, cells) of each row of a CSV that is not empty.

    Raises:
        SettingsError: the file cannot be read, or is no CSV.
    """
    try:
        text = read_bytes(path).decode("utf-8-sig")  # as it is: a cell may have line ends of its own
        first = text.split("\n", 1)[0].lower()
        between = max(BETWEEN, key=lambda mark: len(first.split(mark)))
        before = csv.field_size_limit(LONGEST)
        try:
            reader = csv.reader(StringIO(text, newline=""), delimiter=between, strict=True)
            return [(reader.line_num, cells) for cells in reader if cells]
        finally:
            csv.field_size_limit(before)
    except OSError as error:
        raise SettingsError(f"The labels {path} cannot be read ({error.strerror}): name a CSV file.") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"The labels {path} are not UTF-8: save the file as CSV in UTF-8.") from error
    except csv.Error as error:
        raise SettingsError(f"The labels {path} are not valid CSV ({error}): save the file as CSV.") from error


def _find_columns(path: Path, header: list[str], wanted: tuple[str, ...]) -> tuple[int, int]:
    names = [name.strip().lower() for name in header]
    places = [next((names.index(name) for name in some if name in names), -1) for some in (wanted, LABEL)]
    if min(places) < 0:
        lacking = wanted[0] if places[0] < 0 else LABEL[0]
        raise SettingsError(
            f"{path} has no column {lacking}; it has {', '.join(names)[:200] or 'none'}: name them in the first line."
        )
    return places[0], places[1]
