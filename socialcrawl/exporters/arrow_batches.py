"""Rows of tables as Arrow record batches: what Parquet files are written from, and what data frames are made of.

Times are UTC timestamps in microseconds; a text that is no time is NULL.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from socialcrawl.exporters.columns import Column

if TYPE_CHECKING:
    import pyarrow as pa


def make_schema(columns: Sequence[Column]) -> "pa.Schema":
    """Return the Arrow schema of columns."""
    import pyarrow as pa  # noqa: PLC0415  (costs 0.1 s)

    types = {
        "text": pa.string(),
        "int": pa.int64(),
        "float": pa.float64(),
        "bool": pa.bool_(),
        "time": pa.timestamp("us", tz="UTC"),
        "list": pa.list_(pa.string()),
    }
    return pa.schema([(column.name, types[column.kind]) for column in columns])


def make_batch(columns: Sequence[Column], schema: "pa.Schema", rows: Sequence[Sequence[Any]]) -> "pa.RecordBatch":
    """Return rows as one record batch.

    Args:
        columns: what the cells of a row are; times are ISO 8601 text.
        schema: as `make_schema` gives it for them.
        rows: the rows.
    """
    import pyarrow as pa  # noqa: PLC0415

    whole = zip(*rows, strict=True) if rows else ((),) * len(columns)
    cells = [
        [_parse_instant(cell) for cell in cells] if column.kind == "time" else list(cells)
        for column, cells in zip(columns, whole, strict=True)
    ]
    return pa.record_batch(cells, schema=schema)


def _parse_instant(cell: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(cell) if cell is not None else None
    except ValueError:
        return None
