"""Rows by long lists of keys, on both databases."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Column, Connection, Select

CHUNK = 5_000  # keys a statement


def select_by_keys(
    connection: Connection, query: Select[Any], key: Column[Any], keys: Sequence[str | int]
) -> list[Any]:
    """Return the rows of `query` whose column `key` is one of the keys.

    Their order holds for some thousand keys only.
    """
    found: list[Any] = []
    for begin in range(0, len(keys), CHUNK):
        found += connection.execute(query.where(key.in_(keys[begin : begin + CHUNK]))).all()
    return found
