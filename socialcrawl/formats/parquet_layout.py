"""How a Parquet file lies on the disk: what its pages unpack to, and how many of its rows can be read at once.

What a reader unpacks is a page of each column, and then the texts of the rows that it reads. A text in the dictionary
of a column may stand in a million rows; a text may share its beginning with the one before. So the longest text of
each dictionary is looked up, and no more rows are read at once than could all have it.

The footer of a file says this too, but nothing makes it true; readers go by the headers. A header is a structure of
Thrift's compact protocol (parquet.thrift, PageHeader), of which a few fields are read and the others passed over.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import IO, Any

from socialcrawl.errors import PostsFileError
from socialcrawl.formats.lines import format_size
from socialcrawl.system.bounds import MAX_ITEMS, MAX_LINE, MAX_PAGES

HEADER = 65_536  # bytes of a header; it holds counts, and perhaps the smallest and the largest value
SLACK = 100  # bytes that old writers forgot to count
DEEPEST = 8  # structures within each other
PREFIXED = 7  # the encoding DELTA_BYTE_ARRAY: a text says what it shares with the one before
INDEXED = (2, 8)  # encodings of places in a dictionary
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 12
_UNPACKED, _PACKED, _DATA, _DICTIONARY, _DATA_2 = 2, 3, 5, 7, 8  # fields of a header
_VALUES, _ENCODING, _ENCODING_2 = 1, 2, 4  # fields of what it says of data


class PageError(ValueError):
    """A header that is none."""


@dataclass(frozen=True, slots=True)
class ParquetPage:
    """A page of a column.

    Attributes:
        place: where its bytes begin in the file.
        packed: bytes in the file.
        unpacked: bytes when it is read.
        values: how many it holds; empty lists count as one.
        encoding: of its values, by number; None for a page without any, such as an index.
        is_dictionary: whether its values are the different ones of the column.
    """

    place: int
    packed: int
    unpacked: int
    values: int = 0
    encoding: int | None = None
    is_dictionary: bool = False


def read_pages(file: IO[bytes], start: int, size: int) -> Iterator[ParquetPage]:
    """Iterate over the pages of a column chunk.

    Args:
        file: the file.
        start: where the chunk begins.
        size: its bytes.

    Raises:
        PageError: a header is damaged, or a page ends behind its chunk.
    """
    at = start
    while at < start + size:
        file.seek(at)
        header = _Header(file.read(HEADER))
        try:
            page = _parse_page(header.read_structure(0), header, at)
        except IndexError as error:
            raise PageError("the header of a page does not end") from error
        at = page.place + page.packed
        if min(page.packed, page.unpacked, page.values) < 0 or at > start + size + SLACK:
            raise PageError("a page is longer than its column")
        yield page


def find_longest(page: bytes) -> int:
    """Return the length of the longest text in the unpacked page of a dictionary."""
    at = most = 0
    end, size_at = len(page) - 4, Struct("<I").unpack_from
    while at <= end:
        (size,) = size_at(page, at)
        at += 4 + size
        most = max(most, size)
    return most


def _parse_page(fields: dict[int, object], header: "_Header", at: int) -> ParquetPage:
    packed, unpacked = fields.get(_PACKED), fields.get(_UNPACKED)
    if not isinstance(packed, int) or not isinstance(unpacked, int):
        raise PageError("the header of a page lacks its size")
    for kind, place in ((_DATA, _ENCODING), (_DATA_2, _ENCODING_2), (_DICTIONARY, _ENCODING)):
        if isinstance(page_header := fields.get(kind), dict):
            values, encoding = page_header.get(_VALUES), page_header.get(place)
            if not isinstance(values, int) or not isinstance(encoding, int):
                raise PageError("the header of a page lacks the number of its values")
            return ParquetPage(at + header.at, packed, unpacked, values, encoding, kind == _DICTIONARY)
    return ParquetPage(at + header.at, packed, unpacked)


class _Header:
    """A structure in Thrift's compact protocol; `at` is how far it was read."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def read_structure(self, deep: int) -> dict[int, object]:
        """Return the fields of the structure that begins here, by their numbers."""
        fields: dict[int, object] = {}
        field = 0
        while (head := self._read_byte()) != _STOP:
            step, kind = head >> 4, head & 15
            field = field + step if step else self._read_signed()
            fields[field] = self._read_value(kind, deep)
        return fields

    def _read_value(self, kind: int, deep: int) -> object:
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind == _STRUCT and deep < DEEPEST:
            return self.read_structure(deep + 1)
        if kind == _BINARY:
            self._skip(self._read_unsigned())
        elif kind == _DOUBLE:
            self._skip(8)
        elif kind == _BYTE:
            self._skip(1)
        elif kind in (_LIST, _SET) and deep < DEEPEST:
            head = self._read_byte()
            for _ in range(self._read_unsigned() if head >> 4 == 15 else head >> 4):
                self._skip_item(head & 15, deep)
        elif kind < _DOUBLE:
            return self._read_signed()
        else:
            raise PageError("the header of a page holds what no header does")
        return None

    def _skip_item(self, kind: int, deep: int) -> None:
        if kind in (_TRUE, _FALSE):
            self._skip(1)  # within lists, booleans have a byte
        else:
            self._read_value(kind, deep + 1)

    def _skip(self, size: int) -> None:
        self.at += size
        if self.at > len(self.data):
            raise IndexError

    def _read_byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _read_unsigned(self) -> int:
        value = shift = 0
        while shift < 70:
            byte = self._read_byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
        raise PageError("the header of a page holds a number without an end")

    def _read_signed(self) -> int:
        value = self._read_unsigned()
        return (value >> 1) ^ -(value & 1)


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
