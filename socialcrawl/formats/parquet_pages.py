"""The pages of a Parquet file, by their headers: how much each unpacks to, before any of them is unpacked.

The footer of a file says this too, but nothing makes it true; readers go by the headers. A header is a structure of
Thrift's compact protocol (parquet.thrift, PageHeader), of which a few fields are read and the others passed over.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import IO

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
