"""A file of pages: key, text, and the keys of the pages that it links to, as `lab.graphs.from_pages` reads it."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from socialcrawl.errors import SettingsError
from socialcrawl.graph.link_context import WebPage
from socialcrawl.lab.graphs.column_files import describe_missing_columns, read_csv, read_parquet, read_strings

COLUMNS = ("key", "text", "links")


def read_pages(path: Path) -> Mapping[str, WebPage]:
    """Return the pages of a file by key, in its order.

    Args:
        path: a Parquet file with the columns key (text), text (text) and links (lists of keys), or a CSV file in which
            links are JSON lists, or keys with blanks between them.

    Raises:
        SettingsError: the file cannot be read or lacks columns, or a key is missing or there twice.
    """
    table = read_csv(path) if path.suffix.lower() == ".csv" else read_parquet(path)
    if not set(COLUMNS) <= set(table.column_names):
        raise describe_missing_columns(path, table, COLUMNS)
    keys, texts = read_strings(table, "key").to_pylist(), read_strings(table, "text").to_pylist()
    return number_pages(zip(keys, texts, map(_parse_keys, table.column("links").to_pylist()), strict=True))


def number_pages(rows: Iterable[tuple[str | None, str | None, Iterable[str]]]) -> Mapping[str, WebPage]:
    """Return the pages by key, from (key, text, keys linked to); a page links to another one once.

    Raises:
        SettingsError: a key is missing or there twice.
    """
    pages: dict[str, WebPage] = {}
    for row, (key, text, links) in enumerate(rows, 1):
        if not key or key in pages:
            wrong = f"the key {key!r} is there twice" if key else "the key is empty"
            raise SettingsError(f"Page {row}: {wrong}; give every page a key of its own.")
        pages[key] = WebPage(text or "", list(dict.fromkeys(link for link in links if link)))
    return pages


def _parse_keys(value: Any) -> list[str]:
    """Return a cell of `links` as keys."""
    if not isinstance(value, str):
        return list(value or ())
    try:
        found = json.loads(value) if value.lstrip().startswith("[") else value.split()
    except ValueError:
        found = value.split()
    return [key for key in found if isinstance(key, str)]
