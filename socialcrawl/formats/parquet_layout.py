"""How a Parquet file lies on the disk: what its pages unpack to, and how many of its rows can be read at once.

What a reader unpacks is a page of each column, and then the texts of the rows that it reads. A text in the dictionary
of a column may stand in a million rows; a text may share its beginning with the one before. So the longest text of
each dictionary is looked up, and no more rows are read at once than could all have it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from socialcrawl.errors import PostsFileError
from socialcrawl.formats.lines import format_size
from socialcrawl.formats.parquet_pages import INDEXED, PREFIXED, ParquetPage, find_longest, read_pages
from socialcrawl.system.bounds import MAX_ITEMS, MAX_LINE, MAX_PAGES

WIDEST = 64  # bytes of a value of fixed width; decimals and UUIDs have 16
READ = MAX_PAGES // 8  # bytes of texts that rows which are read at once may have
LISTED = 2 * MAX_PAGES  # bytes of texts that the lists of a row group may have, however its rows are read
SHORT = 1_000  # bytes of a dictionary that need not be looked through
REWRITE = "Write it in smaller row groups"


def make_refusal(path: Path, why: str, remedy: str) -> PostsFileError:
    """Return the error that a file cannot be read."""
    return PostsFileError(f"{path} cannot be read: {why}. {remedy}.")


def check_footer(path: Path) -> None:
    """Refuse a file whose list of contents alone is too long.

    Raises:
        PostsFileError: it is.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - 8))
        footer = int.from_bytes(file.read(4), "little")
    if MAX_LINE < footer < size:
        raise make_refusal(path, f"its footer is longer than {format_size(MAX_LINE)}", "Write it in larger row groups")


def limit_rows(path: Path, about: Any, chosen: Sequence[str]) -> int:
    """Return how many rows of a file can be read at once.

    Args:
        path: the file.
        about: its metadata.
        chosen: the names of the columns that are read.

    Raises:
        PostsFileError: none, as too much would be unpacked.
        PageError: the file is damaged.
    """
    total, cost = 0, 1.0
    with path.open("rb") as file:
        for place in range(about.num_columns):
            if about.schema.column(place).path.split(".")[0] in chosen:
                chunks = [
                    ColumnChunk.from_file(file, about.row_group(group), place) for group in range(about.num_row_groups)
                ]
                _check_column(path, about.schema.column(place), chunks)
                total += max((chunk.largest for chunk in chunks), default=0)
                cost += max((chunk.row for chunk in chunks), default=0.0)
    if total > MAX_PAGES:
        raise make_refusal(path, f"the pages of its columns unpack to more than {format_size(MAX_PAGES)}", REWRITE)
    return max(1, int(READ / cost))


def _check_column(path: Path, column: Any, chunks: Sequence["ColumnChunk"]) -> None:
    """Refuse a column whose values or lists are too long."""
    if column.length > WIDEST:
        raise make_refusal(path, f"values of {column.path} have {column.length:,} bytes each", "Write them as text")
    for number, chunk in enumerate(chunks, 1):
        if column.max_repetition_level and (
            chunk.more > MAX_ITEMS or chunk.size > MAX_PAGES or chunk.more * chunk.longest > LISTED
        ):
            raise make_refusal(path, f"the lists of {column.path} in row group {number} may be too long", REWRITE)


@dataclass(frozen=True, slots=True)
class ColumnChunk:
    """A column in one row group.

    Attributes:
        largest: bytes of its largest page.
        size: bytes of all its pages.
        more: how many more values than rows it has.
        longest: bytes of the longest text that may stand in rows more often than in pages.
        density: bytes of a value, at most, in pages that hold the values themselves.
    """

    largest: int
    size: int
    more: int
    longest: int
    density: float

    @classmethod
    def from_file(cls, file: IO[bytes], group: Any, place: int) -> "ColumnChunk":
        """Return the column in this place of a row group."""
        chunk = group.column(place)
        first = chunk.data_page_offset
        start = min(chunk.dictionary_page_offset or first, first)
        largest = size = values = most = 0
        density = 0.0
        for page in list(read_pages(file, start, chunk.total_compressed_size)):
            largest, size = max(largest, page.unpacked), size + page.unpacked
            if page.is_dictionary:
                most = max(most, _find_longest(file, page, chunk))
            elif page.encoding is not None:
                values += page.values
                most = max(most, page.unpacked if page.encoding == PREFIXED else 0)
                density = max(density, 0.0 if page.encoding in INDEXED else page.unpacked / max(1, page.values))
        return cls(largest, size, max(0, values - group.num_rows), most, density)

    @property
    def row(self) -> float:
        """Bytes of a row, at most; lists are bounded as a whole."""
        return self.longest + (0.0 if self.more else self.density)


def _find_longest(file: IO[bytes], page: ParquetPage, chunk: Any) -> int:
    """Return an upper bound of the bytes of the longest text in a dictionary."""
    import pyarrow as pa  # noqa: PLC0415

    if chunk.physical_type != "BYTE_ARRAY":
        return WIDEST
    if page.unpacked <= SHORT or page.unpacked > MAX_PAGES:
        return page.unpacked
    file.seek(page.place)
    packed = file.read(page.packed)
    if chunk.compression == "UNCOMPRESSED":
        return find_longest(packed)
    try:
        return find_longest(pa.decompress(packed, page.unpacked, chunk.compression.lower(), asbytes=True))
    except (pa.ArrowException, OSError, ValueError):
        return page.unpacked  # packed in a way that is not known here
